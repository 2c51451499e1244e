# SPDX-License-Identifier: Apache-2.0
"""`tidemill replay`: an item of the fleet on this machine gives what it gave there."""

import os
import pty
import subprocess

import pytest
from agents import submit
from env import ends_with_us, wait_until
from load import items_of, show, wait_for_end

from cli import Cli, own_terminal, read_all, read_until

IMAGE = "tidemill-test/alpine-like"
SMALL = {"cpus": 1, "memory": "64MiB"}


def spec(script="{item}", **more):
    base = {"image": IMAGE, "resources": SMALL, "retries": 0, "canary": 0}
    return {**base, "command": ["busybox", "sh", "-c", script], **more}


@pytest.fixture
def server(env):
    return env.server(*env.objects_flags)


@pytest.fixture
def cli(server, docker, tmp_path):
    cli = Cli(tmp_path, server)
    cli.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    return cli


def log_of(cli, job, item):
    """What it wrote there, once its machine has stored it."""
    wait_until("the log", lambda: cli("logs", job, "--item", item, "--json").json()["ended"], 60)
    return cli("logs", job, "--item", item).out


ENDS = {
    "echo fine; echo $TIDEMILL_INDEX $TIDEMILL_COUNT $TIDEMILL_JOB": "succeeded",
    "echo bad >&2; exit 3": "failed",
    "echo much; busybox tail /dev/zero && echo not here": "out-of-memory",
    "echo long; sleep 600; echo not here": "timeout",
}


def test_it_ends_as_it_ended_there(env, docker, fleet, registry, server, cli):
    image = registry.push(docker.socket, IMAGE, "tools/sh")
    fleet("m1", "--cpus", "2")
    # Only the item that hangs has a time limit: on a busy machine the others may need longer.
    late = [text for text, cause in ENDS.items() if cause == "timeout"]
    others = [text for text in ENDS if text not in late]
    job = submit(server.http, spec(image=image), others)
    hangs = submit(server.http, spec(image=image, timeout="3s"), late, name="hangs")
    there = {}
    for made in (job, hangs):
        wait_for_end(server.http, made, 180)
        for each in items_of(server.http, made):
            there[(made, each["item"])] = each["outcome"]
    assert [each["cause"] for each in there.values()] == list(ENDS.values()), there
    # From now on the tag is an image without a shell.
    registry.push(docker.socket, "tidemill-test/scratch", "tools/sh")
    codes = {"succeeded": 0, "failed": 3, "out-of-memory": 137, "timeout": 124}
    for (made, item), outcome in there.items():
        said = cli("replay", made, str(item), "--json")
        here = said.json()
        assert said.code == codes[outcome["cause"]], said
        same = ("cause", "exit", "attempt", "round")
        for field in same:
            assert here["outcome"][field] == outcome[field] == here["fleet"][field], (field, said)
        assert said.err == log_of(cli, made, str(item)), said
    said = cli("replay", job, "1")
    assert said.out == "bad\n", said
    assert f"{job} item 1: exit 3, after " in said.err, said
    assert "On the fleet: exit 3, after " in said.err and ", on m1" in said.err, said
    said = cli("replay", job, "3")
    assert said.code == 3 and f"{job} has no item 3; it has 3 items" in said.err, said
    assert cli("replay", "none-99", "0").code == 3


def test_it_is_the_last_attempt_with_its_memory(fleet, server, cli):
    fleet("m1", "--cpus", "2", "--memory", "1GiB")
    script = "echo attempt $TIDEMILL_ATTEMPT; exit 4"
    again = submit(server.http, spec(script, retries=2, retry={"wait": "10ms"}), 1)
    resources = {"cpus": 1, "memory": {"start": "32MiB", "max": "100MiB"}}
    much = submit(server.http, spec("busybox tail /dev/zero", resources=resources), 1)
    for job in (again, much):
        wait_for_end(server.http, job, 180)
    said = cli("replay", again, "0")
    assert (said.code, said.out) == (4, "attempt 3\n"), said
    said = cli("replay", much, "0", "--json")
    told = said.json()["outcome"]
    assert said.code == 137 and told["cause"] == "out-of-memory", said
    assert 80 << 20 < told["memory_bytes"] < 110 << 20, said
    said = cli("replay", much, "0", "--memory", "40MiB", "--json")
    assert said.json()["outcome"]["memory_bytes"] < 50 << 20, said


def test_it_has_the_code_that_its_job_had(fleet, server, cli, tmp_path):
    (tmp_path / "src").mkdir()
    part = tmp_path / "src/part.sh"
    part.write_text("echo first; exit 5\n")
    (tmp_path / "job.yaml").write_text(
        f"name: code\ncode: ./src\nimage: {IMAGE}\nretries: 0\n"
        "command: [sh, -c, '. ./part.sh']\nresources: {cpus: 1, memory: 64MiB}\n"
    )
    fleet("m1", "--cpus", "1")
    assert cli("submit", "job.yaml").code == 0
    wait_for_end(server.http, "code-1", 120)
    part.write_text("echo second\n")
    said = cli("replay", "code-1", "0")
    assert (said.code, said.out) == (5, "first\n"), said
    said = cli("replay", "code-1", "0", "--code", "src")
    assert said.code == 2 and "src is not the code that code-1 ran with" in said.err, said
    part.write_text("echo first; exit 5\n")
    said = cli("replay", "code-1", "0", "--code", "src")
    assert (said.code, said.out) == (5, "first\n"), said


def test_inputs_outputs_and_secrets(fleet, server, s3, cli, tmp_path):
    bucket = s3.bucket("data")
    (bucket / "a.txt").write_text("of the store\n")
    assert cli("secret", "set", "key", stdin="correct horse\n").code == 0
    fleet("m1", "--cpus", "1")
    script = 'read line < {input}; echo "$line"; echo "$KEY" | busybox tee {output}'
    job = submit(
        server.http,
        spec(
            script,
            input="s3://data/{item}",
            output="s3://data/out/{item.stem}",
            secrets=[{"name": "key", "env": "KEY"}],
        ),
        ["a.txt"],
    )
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1
    before = (bucket / "out/a").stat().st_mtime_ns
    said = cli("replay", job, "0", **s3.environment)
    assert said.code == 2 and "--secret key=FILE, or in the variable KEY" in said.err, said
    said = cli("replay", job, "0", "--out", "mine", KEY="correct horse", **s3.environment)
    assert said.code == 0, said
    assert said.out == "of the store\n***\n" == log_of(cli, job, "0"), said
    assert (tmp_path / "mine/data/out/a").read_text() == "correct horse\n"
    assert (bucket / "out/a").stat().st_mtime_ns == before


def test_an_item_that_never_ran_runs_here(server, cli):
    job = submit(server.http, spec('echo "$TIDEMILL_ITEM $TIDEMILL_ATTEMPT"'), ["a", "b"])
    said = cli("replay", job, "1")
    assert (said.code, said.out) == (0, "b 1\n"), said
    assert "On the fleet" not in said.err
    assert show(server.http, job)["counts"]["waiting"] == 2


def test_a_shell_in_its_place(fleet, server, cli, docker, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a").write_text("of the input\n")
    fleet("m1", "--cpus", "1", "--files", str(tmp_path))
    job = submit(
        server.http,
        spec(
            "exit 3",
            input=f"file://{tmp_path}/in/{{item}}",
            output=f"file://{tmp_path}/out/{{item}}",
            env={"COLOUR": "it's red"},
            timeout="2s",
        ),
        ["a"],
    )
    wait_for_end(server.http, job, 120)
    said = cli("replay", job, "0", "--shell")
    assert said.code == 2 and "--shell needs a terminal" in said.err, said
    master, slave = pty.openpty()
    process = subprocess.Popen(
        ends_with_us([cli.program, "replay", job, "0", "--shell", "--out", "mine"], "SIGKILL"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        cwd=cli.folder,
        env=cli.env,
        preexec_fn=own_terminal,
    )
    os.close(slave)
    try:
        read_until(master, b"in place", 120)
        os.write(master, b'echo "$TIDEMILL_INDEX-$COLOUR-$((40 + 2))"\n')
        assert b"0-it's red-42" in read_until(master, b"-42", 60)
        os.write(master, b'cat "$TIDEMILL_INPUT" > "$TIDEMILL_OUTPUT"; cat "$TIDEMILL_INPUT"\n')
        read_until(master, b"of the input", 60)
        os.write(master, b"exit 0\n")
        rest = read_all(master, 120)
        assert process.wait(60) == 0, rest
        assert b"succeeded" in rest, rest
    finally:
        process.kill()
        os.close(master)
    found = [path for path in (tmp_path / "mine").glob("**/a") if path.is_file()]
    assert [path.read_text() for path in found] == ["of the input\n"]
    wait_until("its container to go", lambda: len(docker.containers("tidemill.agent")) <= 1, 60)
