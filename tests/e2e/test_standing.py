# SPDX-License-Identifier: Apache-2.0
"""Jobs whose items arrive while they run."""

import concurrent.futures
import contextlib
import os
import time

import figures
import pytest
from agents import Agent
from cli import Cli
from conserved import Sampler
from env import wait_until
from load import Load, failing_items, folder_of
from machines import Machines, wait_for_rounds

TEXT = {"Content-Type": "text/plain"}
# Calls of the test of packing, and how often a server is killed meanwhile.
CALLS, KILLS = int(os.environ.get("TIDEMILL_STANDING_CALLS", "1500")), 5
# An item says when it has begun; one that is called bad fails, while it is called so.
SCRIPT = 'date +%s.%N >> "$0/$1"; case $1 in bad*) [ -e "$0/good" ] || exit 3;; esac'


@contextlib.contextmanager
def running(agent):
    try:
        yield agent.start()
    finally:
        agent.kill9()


@pytest.fixture
def begun(tmp_path):
    """A folder in which each item leaves a file: a line for each time that it began."""
    folder = tmp_path / "begun"
    folder.mkdir()
    return folder


def open_job(http, begun, **spec):
    command = ["sh", "-c", SCRIPT, str(begun), "{item}"]
    spec = {"command": command, "resources": {"cpus": 1}, "retries": 0, **spec}
    job = http.post("/v1/jobs", {"name": "in", "open": True, "spec": spec}).json()["id"]
    assert http.post(f"/v1/jobs/{job}/seal", {"parts": 0}).status == 200
    return job


def entries(names):
    return {"items": [{"item": name, "once": f"{name}#1"} for name in names]}


def add(http, job, names):
    answer = http.post(f"/v1/jobs/{job}/items", entries(names))
    assert answer.status == 200, answer.body
    return answer.json()


def counts(http, job):
    return http.get(f"/v1/jobs/{job}").json()["counts"]


def state(http, job):
    return http.get(f"/v1/jobs/{job}").json()["state"]


def wait_for(http, job, count, timeout_s=60):
    wait_until(f"{count} to succeed", lambda: counts(http, job)["succeeded"] == count, timeout_s)


def times_begun(begun):
    return {path.name: len(path.read_text().splitlines()) for path in begun.iterdir()}


def start_delays_ms(env, begun, items):
    """Adds items one by one, each when the one before is done; from its arrival to its start."""
    server = env.server()
    took = []
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "2")):
        job = open_job(server.http, begun)
        for number in range(items):
            said = time.time()
            add(server.http, job, [f"item-{number}"])
            wait_for(server.http, job, 1 + number)
            took.append(float((begun / f"item-{number}").read_text()) - said)
    return [round(seconds * 1000) for seconds in took]


def test_items_that_arrive_one_by_one_run_one_by_one(env, begun):
    assert len(start_delays_ms(env, begun, 4)) == 4
    assert times_begun(begun) == {f"item-{number}": 1 for number in range(4)}


@pytest.mark.long
def test_an_item_begins_soon_after_it_arrives(env, begun):
    took = start_delays_ms(env, begun, 51)[1:]  # the first one meets a cold agent
    figures.record("added_to_start_p50", "ms", took, maximum=500)
    figures.record("added_to_start_worst", "ms", [max(took)], maximum=2000)


def test_callers_that_say_the_same_add_it_once(env, begun):
    """Through two servers, of which one is killed again and again: each `once` is one item."""
    first, second = env.server(), env.server()
    names = [f"item-{number}" for number in range(400)]
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "4")):
        job = open_job(first.http, begun)
        sampler = Sampler(env.conninfo)
        sampler.start()

        answered = [0]

        def say(caller):
            """All of them in tens, in an order of its own, until each call has had an answer."""
            server = env.servers[caller % 2]
            for at in sorted(range(0, len(names), 10), key=lambda at: hash((at, caller))):
                body = entries(names[at : at + 10])
                for _ in range(200):
                    try:
                        answer = server.http.post(f"/v1/jobs/{job}/items", body)
                    except OSError:
                        time.sleep(0.1)
                        continue
                    if answer.status == 200:
                        answered[0] += 1
                        break
                    assert answer.status in (429, 503), answer.body
                    time.sleep(0.1)
                else:
                    raise AssertionError("no answer")

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            callers = [pool.submit(say, caller) for caller in range(4)]
            # At shares of all calls, so that some are under way.
            for share in range(1, 5):
                count = share * 4 * len(names) // 10 // 6
                wait_until(f"{count} answers", lambda: answered[0] >= count)
                second.kill9()
                second.start()
            for caller in callers:
                caller.result()
        wait_for(first.http, job, len(names), 120)
        sampler.finish()
    assert counts(first.http, job)["total"] == len(names)
    assert times_begun(begun) == dict.fromkeys(names, 1)
    again = add(first.http, job, names[:50])
    assert (again["first"], again["added"], again["known"]) == (None, 0, 50)
    assert sampler.breaches == [] and sampler.samples > 0


def test_a_list_is_added_by_the_command_line_and_the_job_is_closed(env, begun, tmp_path):
    server = env.server()
    cli = Cli(tmp_path, server)
    spec = tmp_path / "in.yaml"
    spec.write_text(f"name: in\ncommand: [sh, -c, 'touch {begun}/$1', sh, '{{item}}']\n")
    said = cli("submit", str(spec), "--open", "--json")
    assert said.code == 0, said
    job = said.json()["id"]
    assert said.json()["items"] == 0 and said.json()["open"]
    lines = tmp_path / "list.txt"
    lines.write_text("a\nb\n")
    for _ in range(2):
        said = cli("add", job, "--items", str(lines), "--key", "today", "--json")
        assert said.code == 0, said
        assert (said.json()["first"], said.json()["added"]) == (0, 2)
    lines.write_text("c\n")
    said = cli("add", job, "--items", str(lines), "--key", "today")
    assert said.code != 0 and "another" not in said.out and "use a new key" in said.err, said
    said = cli("add", job, "--items", str(lines))
    assert said.code == 0 and f"1 item added to {job}" in said.out, said
    lines.write_text("")
    assert cli("add", job, "--items", str(lines)).code == 2
    assert cli("add", "in-99", "--items", str(spec)).code == cli("show", "in-99").code
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "2")):
        wait_for(server.http, job, 3)
        assert state(server.http, job) == "active"
        said = cli("close", job)
        assert said.code == 0 and "takes no more items" in said.out, said
        wait_until("it to finish", lambda: state(server.http, job) == "finished")
    lines.write_text("d\n")
    said = cli("add", job, "--items", str(lines))
    assert said.code != 0 and "takes no more items" in said.err, said


def test_what_failed_is_listed_and_sent_again_while_more_arrives(env, begun):
    server = env.server()
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "2")):
        job = open_job(server.http, begun, canary=0)
        add(server.http, job, ["a", "bad-1", "b", "bad-2"])
        wait_until("two to fail", lambda: counts(server.http, job)["failed"] == 2)
        wait_for(server.http, job, 2)
        page = server.http.get(f"/v1/jobs/{job}/items?state=failed&outcomes=true").json()
        assert [each["text"] for each in page["items"]] == ["bad-1", "bad-2"]
        (begun / "good").touch()
        again = server.http.post(f"/v1/jobs/{job}/retry", {"failed": True})
        assert again.status == 200 and again.json()["items"] == 2
        add(server.http, job, ["c"])
        wait_for(server.http, job, 5)
        assert counts(server.http, job)["failed"] == 0
        assert state(server.http, job) == "active"


def test_no_machine_is_there_while_nothing_arrives(env, begun):
    farm = Machines(env)
    try:
        farm.pool("spot")
        job = open_job(farm.http, begun)
        for burst in range(2):
            made = farm.made()
            wait_for_rounds(env)
            assert farm.all_gone() and farm.made() == made
            add(farm.http, job, [f"{burst}-{number}" for number in range(6)])
            wait_for(farm.http, job, 6 * (burst + 1), 90)
            assert farm.made() > made
            wait_until("all machines to be gone", farm.all_gone, 90)
        assert state(farm.http, job) == "active"
    finally:
        farm.close()


def rows(env):
    """What is kept of items, by table."""
    tables = ("chunk", "chunk_items", "chunk_stat", "item_try", "report", "lease")
    return {table: int(env.sql(f"select count(*) from {table}")) for table in tables}


def test_what_is_done_is_packed_away_and_stays_counted(env, tmp_path, times):
    """CALLS of one item each, with a server that is killed again and again."""
    times("server.pack_every=500ms")
    flags = [*env.objects_flags, "--pack-seconds", "0", "--session-seconds", "8"]
    first, second = env.server(*flags), env.server(*flags)
    calls, seed, failing_ppm = CALLS, 3, 2000
    limits = {"calls_per_second": 1_000_000}
    assert first.http.request("PUT", "/v1/projects/default", limits).status == 200
    spec = {"retries": 0, "canary": 0}
    job = first.http.post("/v1/jobs", {"name": "in", "open": True, "spec": spec}).json()["id"]
    assert first.http.post(f"/v1/jobs/{job}/seal", {"parts": 0}).status == 200
    sampler = Sampler(env.conninfo)
    sampler.start()
    most, answered = 0, [0]

    def say(caller):
        for number in range(caller, calls, 4):
            answer = first.http.post(f"/v1/jobs/{job}/items", entries([f"item-{number}"]))
            assert answer.status == 200, answer.body
            answered[0] += 1

    load_flags = ["--agents", "20", "--session-seconds", "8", "--heartbeat-ms", "2000"]
    load_flags += ["--seed", str(seed), "--failing-ppm", str(failing_ppm)]
    with Load(tmp_path, [first, second], *load_flags):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            callers = [pool.submit(say, caller) for caller in range(4)]
            for share in range(KILLS):
                count = share * calls // KILLS
                wait_until(f"{count} answers", lambda: answered[0] >= count, 300)
                second.kill9()
                second.start()
                most = max(most, rows(env)["chunk"])
            for caller in callers:
                caller.result()

        def all_done():
            now = counts(first.http, job)
            return now["succeeded"] + now["failed"] == calls

        wait_until("all to be done", all_done, 120)
        failed = failing_items(seed, failing_ppm, calls)
        assert counts(first.http, job)["failed"] == failed > 0

        def packed():
            return rows(env)["chunk"] == failed

        wait_until("all but what failed to be packed", packed, 180)
    sampler.finish()
    left = rows(env)
    print(f"\n{calls} calls; at most {most} chunks, in the end {left}")
    assert left == {
        "chunk": failed,
        "chunk_items": failed,
        "chunk_stat": failed,
        "item_try": left["item_try"],
        "report": 0,
        "lease": 0,
    }
    assert left["item_try"] <= failed
    now = counts(first.http, job)
    assert now["total"] == calls and now["succeeded"] == calls - failed
    assert sampler.breaches == [] and sampler.samples > 0
    # What is left is listed, what is not has its record elsewhere.
    page = first.http.get(f"/v1/jobs/{job}/items?limit=1000&outcomes=true").json()
    kept = {each["item"] for each in page["items"]}
    assert len(kept) == failed and "next" not in page
    gone = next(item for item in range(calls) if item not in kept)
    log = first.http.get(f"/v1/jobs/{job}/items/{gone}/log")
    place = f"jobs/default/{folder_of(first.http, job)}/ledger"
    assert log.status == 404 and f"{place}/" in log.json()["detail"], log.body
    refused = first.http.post(f"/v1/jobs/{job}/retry", {"items": [gone]})
    assert refused.status == 409 and "packed away" in refused.json()["detail"], refused.body
    ledger = env.folder / "objects" / place
    assert len(list(ledger.glob("items/????????.jsonl.zst"))) == calls
    assert len(list(ledger.glob("outcomes/????????-0.jsonl.zst"))) == calls
    # What was said stays known.
    again = add(first.http, job, [f"item-{gone}"])
    assert (again["added"], again["known"]) == (0, 1)
