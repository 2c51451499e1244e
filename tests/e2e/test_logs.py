# SPDX-License-Identifier: Apache-2.0
"""What items wrote: stored as packs, read and searched through the server, also when the machine
is gone."""

import contextlib
import json
import shutil
import subprocess
import time

import figures
import pytest
from agents import Agent, submit
from cli import Cli, read_line
from env import binaries, found_below, wait_until
from load import show, wait_for_end


SMALL = {"cpus": 1, "memory": "64MiB"}


def spec(script, **more):
    return {"command": ["sh", "-c", script], "resources": SMALL, "retries": 0, **more}


@pytest.fixture(params=["file", "s3"])
def objects(request, env):
    """Where a deployment keeps its logs."""
    if request.param == "s3":
        return request.getfixturevalue("s3_objects")
    return f"file://{env.folder}/objects"


@pytest.fixture
def s3_objects(s3):
    s3.bucket("bucket")
    return "s3://bucket/tidemill"


@contextlib.contextmanager
def machine(env, name="m1", *flags):
    agent = Agent(env.folder, name, env.servers, "--cpus", "2", *flags).start()
    try:
        yield agent
    finally:
        agent.kill9()


def log_of(http, job, item, query=""):
    """All of it, page by page."""
    text, after, pages = b"", "", []
    while True:
        answer = http.get(f"/v1/jobs/{job}/items/{item}/log?{query}{after}")
        assert answer.status == 200, answer.body
        page = answer.json()
        pages.append(page)
        text += b"".join(part.get("text", "").encode() for part in page["parts"])
        if not page["more"]:
            return text.decode(), page
        after = f"&after={page['next']}"


def ended_log(http, job, item):
    def ask():
        text, page = log_of(http, job, item, "follow=true")
        return (text, page) if page["ended"] else None

    return wait_until(f"the log of item {item}", ask, 60)


def test_logs_are_there_when_the_machine_is_gone(env, objects, tmp_path):
    server = env.server("--objects", objects)
    cli = Cli(tmp_path, server)
    script = "echo item $TIDEMILL_INDEX begins; seq 1000; echo and ends >&2"
    with machine(env) as agent:
        job = submit(server.http, spec(script), 20, name="talk")
        assert wait_for_end(server.http, job, 60)["counts"]["succeeded"] == 20
        assert agent.terminate() == 0
        assert not list((agent.state / "logs").glob("*/*.pack")), "it leaves nothing behind"
        shutil.rmtree(agent.state)
    numbers = "".join(f"{i}\n" for i in range(1, 1001))
    for item in (0, 7, 19):
        text, page = log_of(server.http, job, item)
        assert text == f"item {item} begins\n{numbers}and ends\n"
        assert page["ended"] and not page["awaited"] and page["attempt"] == 1, page
        assert 0 < page["fetched_bytes"] < 100_000
    said = cli("logs", job, "--item", "7")
    assert (said.code, said.err) == (0, ""), said
    assert said.out == f"item 7 begins\n{numbers}and ends\n"
    assert cli("logs", job, "--item", "7", "--tail", "2").out == "1000\nand ends\n"
    said = cli("logs", job, "--item", "7", "--json")
    assert said.json()["ended"] is True
    said = cli("logs", job, "--item", "20")
    assert said.code == 3 and "no item 20" in said.err, said
    said = cli("logs", job, "--item", "7", "--attempt", "2")
    assert said.code == 3 and "attempt 2 of item 7" in said.err, said
    assert cli("logs", job).code == 2

    said = cli("logs", job, "--grep", "item (3|1[0-2]) begins$")
    assert said.code == 0, said
    lines = sorted(line.split("  ") for line in said.out.splitlines())
    assert [(line[0], line[2]) for line in lines] == [
        (n, f"item {n} begins") for n in ("10", "11", "12", "3")
    ]
    assert said.err.startswith("4 items (searched 20 logs, "), said.err
    assert "grep: " in cli("logs", job, "--grep", "(").err
    # A second server finds the same.
    other = env.server("--objects", objects)
    assert log_of(other.http, job, 7)[0].endswith("and ends\n")


def test_an_item_that_wrote_nothing_has_no_log(env, tmp_path):
    server = env.server("--objects", f"file://{env.folder}/objects")
    cli = Cli(tmp_path, server)
    with machine(env):
        job = submit(server.http, spec("true"), 1)
        wait_for_end(server.http, job, 60)
        said = cli("logs", job, "--item", "0")
        assert (said.code, said.out) == (3, ""), said
        assert "it has written nothing" in said.err


def test_all_attempts_are_kept(env, objects, tmp_path):
    server = env.server("--objects", objects)
    cli = Cli(tmp_path, server)
    script = "echo attempt $TIDEMILL_ATTEMPT of $TIDEMILL_INDEX; exit $((TIDEMILL_INDEX % 2))"
    with machine(env):
        job = submit(server.http, spec(script, retries=2), 4)
        counts = wait_for_end(server.http, job, 120)["counts"]
        assert (counts["succeeded"], counts["failed"]) == (2, 2), counts
        for item in range(4):  # a search finds what is stored
            ended_log(server.http, job, item)
        for attempt in (1, 2, 3):
            said = cli("logs", job, "--item", "1", "--attempt", str(attempt))
            assert said.out == f"attempt {attempt} of 1\n", said
        assert cli("logs", job, "--item", "1").out == "attempt 3 of 1\n"
        assert cli("logs", job, "--item", "2").out == "attempt 1 of 2\n"
        said = cli("logs", job, "--grep", "attempt", "--state", "failed", "-q")
        assert sorted(said.out.split()) == ["1", "3"], said
        said = cli("logs", job, "--grep", "attempt 1", "--state", "succeeded", "-q")
        assert sorted(said.out.split()) == ["0", "2"], said


def test_a_running_item_is_followed_line_by_line(env, objects, tmp_path):
    """Each line is seen while the item waits to write the next one."""
    server = env.server("--objects", objects)
    cli = Cli(tmp_path, server)
    script = "for i in 1 2 3; do echo line $i; until [ -e $0.$i ]; do sleep 0.05; done; done"
    seen = tmp_path / "seen"
    with machine(env):
        work = {"command": ["sh", "-c", script, str(seen)], "resources": SMALL, "retries": 0}
        job = submit(server.http, work, 1)
        wait_until("it to run", lambda: show(server.http, job)["counts"]["running"] == 1, 60)
        follow = cli.start("logs", job, "--item", "0", "--follow")
        try:
            for number in (1, 2, 3):
                assert read_line(follow) == f"line {number}\n"
                assert show(server.http, job)["counts"]["succeeded"] == 0
                (tmp_path / f"seen.{number}").touch()
            assert follow.wait(60) == 0
        finally:
            follow.kill()
        assert cli("logs", job, "--item", "0").out == "".join(f"line {i}\n" for i in (1, 2, 3))


@pytest.mark.long
def test_a_running_item_is_followed_within_about_a_second(env, objects, tmp_path):
    server = env.server("--objects", objects)
    cli = Cli(tmp_path, server)
    script = "for i in $(seq 200); do date +%s.%N; sleep 0.1; done; echo end"
    with machine(env):
        work = {"command": ["sh", "-c", script], "resources": SMALL, "retries": 0}
        job = submit(server.http, work, 1)
        wait_until("it to run", lambda: show(server.http, job)["counts"]["running"] == 1, 60)
        follow = cli.start("logs", job, "--item", "0", "--follow")
        late, lines = [], []
        while lines[-1:] != ["end\n"]:
            lines.append(read_line(follow))
            if lines[-1] != "end\n":
                late.append(round(time.time() - float(lines[-1]), 3))
        assert follow.wait(60) == 0
        assert cli("logs", job, "--item", "0").out == "".join(lines)
    # Without those written before anybody looked.
    late, kind = sorted(late[100:]), objects.partition(":")[0]
    figures.record(f"logs_followed_{kind}", "s", late, maximum=1.2)
    figures.record(f"logs_followed_{kind}_p99", "s", [late[98]], maximum=2.5)


def test_what_was_on_the_disk_of_a_killed_agent_is_stored_by_its_next_life(env, s3, tmp_path):
    bucket = s3.bucket("bucket")
    server = env.server("--objects", "s3://bucket/x")
    again = tmp_path / "again"
    script = f"echo begun $(date +%s%N); [ -e {again} ] || sleep 600; echo done"
    with machine(env) as agent:
        s3.kill9()  # so that nothing is uploaded before
        job = submit(server.http, spec(script), 2)
        wait_until("both to write", lambda: agent.written().count(b"begun") == 2, 60)
        agent.kill9()
        assert not found_below(bucket, "**/logs/*/0*")
        again.touch()
        s3.start()
        agent.start()
        assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 2
        for item in (0, 1):
            text, _ = ended_log(server.http, job, item)
            # What the first life ran, and then what the second did.
            assert [line.split()[0] for line in text.splitlines()] == ["begun", "begun", "done"]
            said = Cli(tmp_path, server)("logs", job, "--item", str(item))
            assert said.out.count("begun again") == 1, said
        assert found_below(bucket, "**/logs/*/0*")


def test_what_a_lost_machine_has_stored_is_shown_before_what_the_next_one_wrote(env, tmp_path):
    server = env.server("--objects", f"file://{env.folder}/objects", "--session-seconds", "5")
    cli = Cli(tmp_path, server)
    who = tmp_path / "who"
    who.write_text("m1\n")
    with machine(env, "m1") as first:
        job = submit(server.http, spec(f"echo on $(cat {who}); grep -q m2 {who} || sleep 600"), 1)

        def spoke():
            return "on m1" in log_of(server.http, job, 0, "follow=true")[0]

        wait_until("its first words", spoke, 60)
        who.write_text("m2\n")
        first.kill9()
    with machine(env, "m2"):
        assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1
        said = cli("logs", job, "--item", "0")
        assert said.code == 0, said
        assert said.out.startswith("on m1\n") and said.out.endswith("on m2\n"), said
        assert "begun again" in said.out, said


def test_a_limit_is_said_and_what_is_left_out_is_counted(env, tmp_path):
    server = env.server("--objects", f"file://{env.folder}/objects")
    answer = server.http.request("PUT", "/v1/projects/default", {"log_bytes": 10_000})
    if answer.status != 200:
        pytest.fail(f"{answer.status} {answer.body}")
    with machine(env):
        job = submit(server.http, spec("head -c 30000 /dev/zero | tr '\\0' x"), 1)
        wait_for_end(server.http, job, 60)
        said = Cli(tmp_path, server)("logs", job, "--item", "0")
        assert said.out.count("x") >= 10_000 and said.out.count("x") < 10_100, said.code
        assert "may have 10000 bytes and has them" in said.out
        assert "20,000 bytes are left out here: the log was too long]" in said.out, said.out[-300:]


def test_nothing_is_lost_while_the_store_is_away(env, s3):
    s3.bucket("bucket")
    server = env.server("--objects", "s3://bucket/x")
    s3.kill9()
    with machine(env) as agent:
        job = submit(server.http, spec("echo here"), 5)
        # The outcome does not wait for the log.
        assert wait_for_end(server.http, job, 60)["counts"]["succeeded"] == 5
        wait_until("it to try", lambda: agent.events("logs.not_stored"), 60)
        s3.start()

        def stored():
            answer = server.http.get(f"/v1/jobs/{job}/items/3/log?follow=true")
            return answer.status == 200 and answer.json()["ended"]

        wait_until("the log", stored, 90)
        assert log_of(server.http, job, 3)[0] == "here\n"


def test_a_server_without_a_store_says_so(env, tmp_path):
    server = env.server()
    job = submit(server.http, spec("true"), 1)
    said = Cli(tmp_path, server)("logs", job, "--item", "0")
    assert said.code == 3 and "--objects" in said.err, said


def logs_bench(objects, items):
    """What searches find and fetch in the logs of a job of that many items."""
    command = [str(binaries() / "tidemill-logs-bench"), "--objects", objects]
    command += ["--items", str(items)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=1200)
    print(done.stdout.decode())
    return json.loads(done.stdout)


def test_a_search_fetches_little(s3_objects):
    found = logs_bench(s3_objects, 50_000)
    one, stored = found["one"], found["stored_bytes"]
    assert one["hits"] == 1 and found["everywhere"]["hits"] >= 1000 and found["item"]["ended"]
    # Of a few packs, the one frame that has the hit is more than a fiftieth by itself.
    assert one["fetched_bytes"] <= 0.02 * stored + 1_000_000, found
    assert found["none"]["fetched_bytes"] <= 0.02 * stored, found


@pytest.mark.long
def test_a_search_of_a_million_logs_takes_seconds(s3_objects):
    found = logs_bench(s3_objects, 1_000_000)
    one, stored = found["one"], found["stored_bytes"]
    assert one["hits"] == 1 and found["everywhere"]["hits"] >= 1000 and found["item"]["ended"]
    assert one["fetched_bytes"] <= 0.02 * stored, found
    assert found["none"]["fetched_bytes"] <= 0.02 * stored, found
    figures.record("logs_search_one", "s", [one["s"]], maximum=5)
    first = [found["everywhere"]["first_page_s"]]
    figures.record("logs_search_first_page", "s", first, maximum=1)
    figures.record("logs_item", "s", [found["item"]["s"]], maximum=1)
