# SPDX-License-Identifier: Apache-2.0
"""People are told when a job is over, stands still or is out of budget: once at least, signed, and
nobody else is spoken to."""

import base64
import re
import socket
import time

import pytest
from agents import Agent, submit
from cli import Cli
from env import ROOT, wait_until
from load import wait_for_end
from receiver import Hole, Receiver

ALLOW = ("--notify-allow", "127.0.0.0/8")
KEY = "correct horse"
GOOD = {"command": ["true"]}
BAD = {"command": ["false"], "retries": 0, "canary": 0}


@pytest.fixture
def receiver():
    one = Receiver().start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def server(module_env):
    """One for all tests that neither kill it nor start it with other flags."""
    one = module_env.server("--session-seconds", "10", *ALLOW)
    put_secret(one.http, "hook-key", KEY)
    return one


@pytest.fixture(scope="module")
def agent(module_env, server):
    one = Agent(module_env.folder, "a", [server], "--cpus", "4").start()
    yield one
    one.kill9()


def put_secret(http, name, value):
    body = {"value": base64.b64encode(value.encode()).decode()}
    assert http.request("PUT", f"/v1/secrets/{name}", body).status == 204


def telling(spec, *urls, **more):
    return {**spec, "notify": [{"url": url, "secret": "hook-key", **more} for url in urls]}


def verify():
    """The function that docs/notifications.md shows."""
    page = (ROOT / "docs/notifications.md").read_text()
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL).group(1)
    names = {}
    exec(code, names)  # noqa: S102
    return names["verify"]


def notifications(http, job):
    answer = http.get(f"/v1/jobs/{job}/notifications")
    assert answer.status == 200, answer.body
    return answer.json()["notifications"]


def all_delivered(http, job):
    states = [one["state"] for one in notifications(http, job)]
    return states and set(states) == {"delivered"}


def test_success_and_failure_are_told_and_signed(server, agent, receiver):
    http = server.http
    good = submit(http, telling(GOOD, receiver.url), 3, "good")
    bad = submit(http, telling(BAD, receiver.url), 2, "bad")
    wait_until("both to be told", lambda: len(receiver.taken()) == 2)
    by_job = {one.news["job"]: one for one in receiver.taken()}
    news = by_job[good].news
    assert news["event"] == "succeeded" and news["state"] == "finished"
    assert news["name"] == "good" and news["project"] == "default" and news["round"] == 0
    assert news["counts"] == {
        "total": 3, "succeeded": 3, "failed": 0, "running": 0, "waiting": 0, "cancelled": 0,
    }  # fmt: skip
    assert by_job[bad].news["event"] == "failed" and by_job[bad].news["counts"]["failed"] == 2
    check = verify()
    for one in receiver.taken():
        assert one.headers["Tidemill-Event"] == one.news["event"]
        assert one.id == one.news["id"]
        assert one.headers["User-Agent"].startswith("tidemill")
        signature = one.headers["Tidemill-Signature"]
        assert check(KEY.encode(), signature, one.body)
        assert not check(b"another", signature, one.body)
        assert not check(KEY.encode(), signature, one.body + b" ")
        assert not check(KEY.encode(), signature, one.body, now=time.time() + 3600)
    wait_until("it to be marked", lambda: all_delivered(http, good) and all_delivered(http, bad))
    assert notifications(http, good)[0]["tries"] == 1
    # A round more is one notification more.
    assert http.post(f"/v1/jobs/{bad}/retry", {"failed": True}).status == 200
    wait_until("the second round to be told", lambda: len(receiver.taken()) == 3)
    assert receiver.taken()[-1].news["round"] == 1


def test_only_what_was_asked_for_is_told(server, agent, receiver):
    http = server.http
    for number, spec in enumerate((GOOD, BAD)):
        job = submit(http, telling(spec, receiver.url, on=["failed"]), 1, f"job{number}")
        wait_for_end(http, job, 60)
    wait_until("the failure to be told", lambda: receiver.events() == ["failed"])
    # One that a person pauses, and one that a person cancels.
    slow = {"command": ["sleep", "60"]}
    paused, cancelled = (submit(http, telling(slow, receiver.url), 1, name) for name in "pc")
    assert http.post(f"/v1/jobs/{paused}/pause", {}).status == 200
    assert http.post(f"/v1/jobs/{cancelled}/cancel", {}).status == 200
    wait_until("the end to be told", lambda: receiver.events() == ["failed", "cancelled"])
    assert receiver.taken()[1].news["job"] == cancelled
    assert notifications(http, paused) == []
    assert http.post(f"/v1/jobs/{paused}/cancel", {}).status == 200


def test_a_pause_by_the_system_is_told_with_its_reason(server, agent, receiver):
    spec = {"command": ["false"], "retries": 0, "canary": 3}
    job = submit(server.http, telling(spec, receiver.url), 100, "sick")
    wait_until("the pause to be told", lambda: receiver.events() == ["paused"])
    news = receiver.taken()[0].news
    assert news["state"] == "paused" and "fail" in news["reason"], news
    assert server.http.post(f"/v1/jobs/{job}/cancel", {}).status == 200
    wait_until("the end to be told", lambda: receiver.events() == ["paused", "cancelled"])


def test_a_budget_that_is_used_up_is_told(env, receiver, tmp_path):
    server = env.server("--session-seconds", "10", *ALLOW)
    http = server.http
    put_secret(http, "hook-key", KEY)
    settings = {"price": 3.6, "on_demand": 3.6, "shape": {"cpus": 4}}
    answer = http.request("PUT", "/v1/pools/default/machines", settings)
    assert answer.status == 200, answer.body
    agent = Agent(env.folder, "a", env.servers, "--cpus", "4").start()
    # A slot is given only if the job can pay for some minutes of it; of this not even one.
    job = submit(http, telling({**GOOD, "budget": "0.01"}, receiver.url), 5, "poor")
    wait_until("the budget to be told", lambda: receiver.events() == ["budget"], 60)
    news = receiver.taken()[0].news
    assert news["state"] == "active" and news["counts"]["waiting"] == 5
    assert "budget of $0.01" in news["reason"]
    cli = Cli(tmp_path, server)
    said = cli("watch", job, "--then", "echo $TIDEMILL_JOB $TIDEMILL_EVENT; exit 9")
    assert said.code == 9 and f"{job} budget" in said.out
    agent.kill9()


def test_a_receiver_that_is_away_or_ill_is_told_later(server, agent):
    """How the waits grow is tested with a virtual clock, see src/server/notify."""
    http = server.http
    receivers = {status: Receiver().start() for status in (500, 302, 429)}
    for status, receiver in receivers.items():
        receiver.statuses = [status]
    job = submit(http, telling(GOOD, *(each.url for each in receivers.values())), 1, "later")
    wait_until("it to be told in the end", lambda: all_delivered(http, job))
    assert [each["tries"] for each in notifications(http, job)] == [2, 2, 2]
    for status, receiver in receivers.items():
        assert [one.status for one in receiver.told] == [status, 204]
        assert {one.path for one in receiver.told} == {"/hook"}  # no redirect was followed
        assert len({one.id for one in receiver.told}) == 1
        assert len({one.body for one in receiver.told}) == 1
        receiver.stop()
    job = submit(http, telling(GOOD, receiver.url), 1, "away")
    wait_for_end(http, job, 60)
    wait_until("a try in vain", lambda: "error" in (notifications(http, job) or [{}])[0])
    shown = notifications(http, job)[0]
    assert shown["state"] == "due" and "refused" in shown["error"].lower()
    receiver.start()
    wait_until("it to be told in the end", lambda: all_delivered(http, job))
    assert "error" not in notifications(http, job)[0]
    receiver.stop()


def test_a_receiver_that_never_answers_holds_nobody_up(server, agent, receiver):
    """That a call is over after ten seconds is tested with a virtual clock, see src/net."""
    http = server.http
    hole = Hole()
    jobs = [submit(http, telling(GOOD, hole.url), 1, f"hole{i}") for i in range(6)]
    for job in jobs:
        wait_for_end(http, job, 60)
    job = submit(http, telling(GOOD, hole.url, receiver.url), 1, "heard")
    # The hole answers nobody, however long this takes.
    wait_until("the other receiver to be told", lambda: len(receiver.taken()) == 1)
    assert receiver.taken()[0].news["job"] == job
    states = {one["url"]: one["state"] for one in notifications(http, job)}
    assert states[hole.url] == "due", states
    hole.close()


def test_servers_that_are_killed_lose_no_notification(env, receiver):
    first = env.server("--session-seconds", "10", *ALLOW)
    put_secret(first.http, "hook-key", KEY)
    agent = Agent(env.folder, "a", env.servers, "--cpus", "4").start()
    receiver.stop()
    jobs = [submit(first.http, telling(GOOD, receiver.url), 1, f"job{i}") for i in range(20)]
    for job in jobs:
        wait_for_end(first.http, job, 60)
    first.kill9()  # of some it has told, and was refused; of some it may not even know yet
    agent.kill9()
    receiver.start()
    second, third = (env.server("--session-seconds", "10", *ALLOW) for _ in range(2))
    wait_until("all to be told", lambda: len(receiver.taken()) == len(jobs), 60)
    assert {one.news["job"] for one in receiver.taken()} == set(jobs)
    wait_until("all marks", lambda: all(all_delivered(second.http, job) for job in jobs))
    print(f"{len(receiver.told)} calls for {len(jobs)} notifications, of 2 servers")
    third.kill9()


def test_a_job_that_ended_just_before_its_server_was_killed_is_told(env, receiver):
    """The rows of jobs are all that a server needs: of this one nothing was put down yet."""
    first = env.server("--session-seconds", "10", *ALLOW)
    put_secret(first.http, "hook-key", KEY)
    agent = Agent(env.folder, "a", env.servers, "--cpus", "4").start()
    receiver.stop()
    job = submit(first.http, telling(GOOD, receiver.url), 1, "last")
    wait_for_end(first.http, job, 60)
    first.kill9()
    agent.kill9()
    # As it is left by a server that dies between the job's end and its next look.
    env.sql("delete from notification")
    env.sql("update job set told_state = 1")
    receiver.start()
    env.server("--session-seconds", "10", *ALLOW)
    wait_until("it to be told", lambda: len(receiver.taken()) == 1)
    assert receiver.taken()[0].news["job"] == job


def test_a_secret_that_changes_signs_the_next_try(server, agent, receiver):
    http = server.http
    spec = telling(GOOD, receiver.url)
    spec["notify"][0]["secret"] = "new-key"
    job = submit(http, spec, 1, "signed")
    wait_until("a try in vain", lambda: "error" in (notifications(http, job) or [{}])[0])
    assert "secret 'new-key' does not exist" in notifications(http, job)[0]["error"]
    assert receiver.told == []  # nothing goes out that should be signed and is not
    put_secret(http, "new-key", "another")
    wait_until("it to be told", lambda: all_delivered(http, job))
    one = receiver.told[0]
    assert verify()(b"another", one.headers["Tidemill-Signature"], one.body)


HOSTILE = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://2130706433:{port}/",
    "http://0x7f.1:{port}/",
    "http://0177.0.0.1:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "http://[::1]:{port}/",
    "http://0:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://192.168.0.1/",
    "http://[fd00:ec2::254]/",
]


def test_inner_addresses_are_refused_when_a_job_is_submitted(env, receiver):
    http = env.server("--session-seconds", "10").http
    for form in HOSTILE:
        url = form.format(port=receiver.port)
        answer = http.post("/v1/jobs", {"name": "a", "spec": {**GOOD, "notify": [{"url": url}]}})
        assert answer.status == 400, url
        assert "notify[0].url" in answer.json()["detail"], answer.body
    assert receiver.told == []


def test_a_name_that_stands_for_an_inner_address_is_not_called(env, receiver):
    """What a name stands for is known only when it is called. This machine's own name is in
    /etc/hosts with an address that is not public."""
    name = socket.gethostname()
    try:
        socket.gethostbyname(name)
    except OSError:
        name = "ip6-localhost"
    server = env.server("--session-seconds", "10")
    agent = Agent(env.folder, "a", env.servers, "--cpus", "4").start()
    url = f"http://{name}:{receiver.port}/"
    job = submit(server.http, {**GOOD, "notify": [{"url": url}]}, 1, "named")
    wait_until(
        "it to be given up",
        lambda: [one["state"] for one in notifications(server.http, job)] == ["given_up"],
    )
    assert "may not be connected to" in notifications(server.http, job)[0]["error"]
    assert receiver.told == []
    agent.kill9()


def test_a_command_of_ones_own_runs_when_the_job_is_over(server, agent, tmp_path):
    cli = Cli(tmp_path, server)
    (tmp_path / "job.yaml").write_text(
        "name: render\ncommand: [sh, -c, 'exit {item}']\nretries: 0\n"
    )
    (tmp_path / "items").write_text("0\n0\n7\n")
    say = 'echo "$TIDEMILL_JOB $TIDEMILL_EVENT $TIDEMILL_STATE $TIDEMILL_FAILED/$TIDEMILL_TOTAL"'
    said = cli("submit", "job.yaml", "--items", "items", "--then", f"{say}; exit 3")
    assert said.code == 3, said
    assert "failed finished 1/3" in said.out.splitlines()[-1], said.out
    job = said.out.split()[0]
    said = cli("watch", job, "--then", "test $TIDEMILL_SUCCEEDED = 2")
    assert said.code == 0, said


def test_show_says_who_was_told(server, agent, receiver, tmp_path):
    receiver.statuses = [500] * 100
    job = submit(server.http, telling(GOOD, receiver.url), 1, "seen")
    cli = Cli(tmp_path, server)
    wait_until("a try in vain", lambda: "it answers 500" in cli("show", job).out)
    receiver.statuses = []
    wait_until("it to be told", lambda: "1 delivered" in cli("show", job).out)
