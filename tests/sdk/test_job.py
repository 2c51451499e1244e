# SPDX-License-Identifier: Apache-2.0
"""Jobs: submitted, waited for, looked at, changed."""

import concurrent.futures
import os
import pty
import subprocess
import sys

import pytest
import tidemill
from cli import read_all
from env import ROOT

ECHO = {"command": ["sh", "-c", 'echo "this is $TIDEMILL_ITEM"; exit ${TIDEMILL_ITEM#ok}']}
SPEC = {**ECHO, "name": "echo", "retries": 0, "resources": {"cpus": 0.5}}


def test_a_job_is_submitted_and_waited_for(system):
    job = tidemill.submit(SPEC, ["ok", "ok3", "ok0"])
    assert job.id.startswith("echo-")
    status = job.wait(60)
    assert (status.state, status.counts.succeeded, status.counts.failed) == ("finished", 2, 1)
    rows = list(job.results())
    assert [(row.item, row.text, row.exit) for row in rows] == [
        (0, "ok", 0),
        (1, "ok3", 3),
        (2, "ok0", 0),
    ]
    assert [(each.item, each.outcome.exit) for each in job.items("failed")] == [(1, 3)]
    assert job.logs(1) == "this is ok3\n"
    assert [(hit.item, hit.line) for hit in job.grep("is ok[0-9]")] == [
        (1, "this is ok3"),
        (2, "this is ok0"),
    ]
    groups = job.failures()
    assert [(group.count, group.cause, group.first_items) for group in groups] == [
        (1, "failed", [1])
    ]
    assert job.retry() == 1
    assert job.wait(60).round == 1
    assert [(row.round, row.last) for row in job.results() if row.item == 1][-1] == (1, True)
    assert job.retry([0]) == 1
    assert tidemill.Job(job.id).wait(60).round == 2


def test_items_are_numbers_texts_or_objects(system):
    numbers = tidemill.submit({**SPEC, "command": ["true"]}, 25)
    assert numbers.wait(60).counts.succeeded == 25
    assert [each.text for each in numbers.items()] == [""] * 25
    command = ["sh", "-c", 'test "$1" = "ü 1"', "sh", "{item.a}"]
    objects = tidemill.submit({**SPEC, "command": command}, ({"a": f"ü {n}"} for n in (1, 1)))
    assert objects.wait(60).counts.succeeded == 2


def test_many_items_go_in_parts(system, monkeypatch):
    monkeypatch.setattr(tidemill.draft, "PART_BYTES_MAX", 1000)
    job = tidemill.submit({**SPEC, "command": ["true"]}, (f"item {n}" for n in range(300)))
    assert [each.text for each in job.items()] == [f"item {n}" for n in range(300)]
    assert job.client.get(f"/v1/jobs/{job.id}")["parts"] == 3
    job.cancel()


def test_the_same_key_is_the_same_job(system):
    one = tidemill.submit(SPEC, ["ok"], key="once")
    assert tidemill.submit(SPEC, ["ok"], key="once").id == one.id


def test_what_is_wrong_is_told_in_the_servers_words(system):
    with pytest.raises(tidemill.Invalid, match="did you mean 'command'"):
        tidemill.submit({"comand": ["true"], "name": "a"})
    with pytest.raises(tidemill.NotFound):
        tidemill.Job("none-99").status()
    with pytest.raises(tidemill.Invalid, match="give a list of texts"):
        tidemill.submit(SPEC, "ok")
    for item in ("", "two\nlines"):
        with pytest.raises(tidemill.Invalid, match="item 1 is .* one line of text"):
            tidemill.submit(SPEC, ["ok", item])


def test_a_job_that_is_not_over_in_time_goes_on(system):
    job = tidemill.submit({**SPEC, "command": ["sleep", "60"]})
    with pytest.raises(TimeoutError, match=f"{job.id} is not over after 1 s; it goes on"):
        job.wait(1)
    job.pause()
    assert job.status().state == "paused"
    job.resume()
    assert job.status().state == "active"
    job.cancel()
    assert job.wait(60).state == "cancelled"
    with pytest.raises(tidemill.Conflict):
        job.resume()


def test_files_are_the_working_folder_of_the_items(system):
    files = {"main.sh": b"cat lib/words.txt", "lib/words.txt": b"words " * 100_000}
    job = tidemill.submit({**SPEC, "command": ["sh", "main.sh"]}, files=files)
    assert job.wait(60).counts.succeeded == 1
    assert job.logs(0) == "words " * 100_000
    with pytest.raises(tidemill.Invalid, match="9,437,184 bytes  large.bin\n"):
        tidemill.submit(SPEC, files={"large.bin": bytes(9 << 20)})


def test_a_server_that_is_away_is_said_to_be(system, monkeypatch):
    monkeypatch.setenv("TIDEMILL_SERVER", "http://127.0.0.1:1")
    with pytest.raises(tidemill.Unavailable, match="http://127.0.0.1:1 cannot be reached"):
        tidemill.Client().call("GET", "/v1/jobs", patience_s=0)
    monkeypatch.setenv("TIDEMILL_TOKEN", "tidemill_" + "0" * 64)
    monkeypatch.setenv("TIDEMILL_SERVER", system.server.url)
    with pytest.raises(tidemill.NotAllowed, match="tidemill login"):
        tidemill.submit(SPEC)


def test_a_server_that_is_started_anew_is_waited_for(system):
    job = tidemill.submit({**SPEC, "command": ["sleep", "1"]}, 4)
    system.server.kill9()
    with pytest.raises(tidemill.Unavailable):
        job.status(patience_s=0)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = pool.submit(job.status, patience_s=30)
        system.server.start()
        assert asked.result().id == job.id
    assert job.wait(60).counts.succeeded == 4
    # A connection that is kept, and whose other end is gone, is made anew at once.
    system.server.kill9()
    system.server.start()
    assert job.status(patience_s=0).state == "finished"


PROGRAM = """
import tidemill
job = tidemill.submit({"name": "bar", "command": ["true"]}, 20)
print(job.wait().counts.succeeded)
"""


def test_wait_draws_a_bar_on_a_terminal_and_only_there(system):
    master, slave = pty.openpty()
    subprocess.run(["stty", "cols", "80"], stdin=slave, check=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "TERM": "xterm"}
    environment["COLUMNS"] = "80"
    program = [sys.executable, "-c", PROGRAM]
    process = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    shown = read_all(master, 120.0).decode()
    os.close(master)
    assert process.communicate(timeout=60)[0] == b"20\n", shown
    frames = [frame.strip() for frame in shown.split("\r\x1b[K")]
    assert frames[-1].startswith("bar-") and frames[-1].endswith("20 / 20  finished"), frames
    assert "━" * 40 in frames[-1] and all(len(frame) < 80 for frame in frames)

    quiet = subprocess.run(program, env=environment, capture_output=True, timeout=60)
    assert (quiet.stdout, quiet.stderr) == (b"20\n", b"")
