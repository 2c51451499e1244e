# SPDX-License-Identifier: Apache-2.0
"""`tidemill run`: one item of a job on this machine, without a server, as the fleet would."""

import json
import os
import signal

import pytest
from env import found_below, wait_until

from cli import Cli

SPEC = {
    "name": "here",
    "image": "tidemill-test/alpine-like",
    "command": ["busybox", "sh", "-c", "{item}"],
    "resources": {"cpus": 1, "memory": "64MiB"},
}


@pytest.fixture
def cli(docker, tmp_path):
    """With a Docker and no server."""
    cli = Cli(tmp_path)
    cli.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    return cli


def put(cli, items=(), **more):
    """A spec, which is JSON and so YAML, and its list."""
    (cli.folder / "job.yaml").write_text(json.dumps({**SPEC, **more}))
    (cli.folder / "list.txt").write_text("".join(f"{each}\n" for each in items))


def run(cli, item, *words, **env):
    return cli("run", "job.yaml", "--items", "list.txt", "--item", str(item), *words, **env)


def nothing_is_left(cli, docker):
    assert docker.containers("tidemill.agent") == []
    assert found_below(cli.folder / ".cache/tidemill/here", "*") == []


FACTS = (
    'echo "$TIDEMILL_INDEX of $TIDEMILL_COUNT: $TIDEMILL_ITEM"; '
    'echo "$TIDEMILL_JOB $TIDEMILL_ATTEMPT $COLOUR {params.size}"; echo wrong >&2'
)


@pytest.mark.parametrize("engine", ["docker", "process"])
def test_an_item_has_what_it_has_on_the_fleet(cli, docker, engine):
    put(
        cli,
        ["a", "b", "c", 'd "e"', "f"],
        command=["sh", "-c", FACTS],
        params={"size": 3},
        env={"COLOUR": "red"},
    )
    words = ["--engine", engine, "--set", "size=7", "--env", "COLOUR=blue"]
    said = run(cli, 3, *words)
    assert said.code == 0, said
    assert said.out == '3 of 5: d "e"\nhere-1 1 blue 7\nwrong\n', said
    assert "here-1 item 3: succeeded, after " in said.err, said
    assert run(cli, 3, "-q", *words).err == ""
    nothing_is_left(cli, docker)


def test_numbers_are_items_too(cli, tmp_path):
    put(cli, command=["sh", "-c", 'echo "$TIDEMILL_ITEM of $TIDEMILL_COUNT"'])
    assert cli("run", "job.yaml", "--range", "9", "--item", "4").out == "4 of 9\n"
    assert cli("run", "job.yaml").out == "0 of 1\n"
    said = cli("run", "job.yaml", "--range", "9", "--item", "9")
    assert said.code == 3 and "there is no item 9" in said.err, said
    (tmp_path / "list.txt").write_text("a\nb\n")
    said = run(cli, 2)
    assert said.code == 3 and "list.txt has 2 items, from number 0 on" in said.err, said


ENDS = {
    "exit 3": (3, "failed", 3),
    "busybox tail /dev/zero": (137, "out-of-memory", 137),
    "sleep 600": (124, "timeout", None),
    "kill -9 $$": (137, "failed", 137),
}


def test_an_items_end_is_the_commands(cli, docker):
    for item, (code, cause, exit) in enumerate(ENDS.values()):
        # Only the item that hangs has a time limit: on a busy machine the others may need longer.
        put(cli, ENDS, retries=5, **({"timeout": "1s"} if cause == "timeout" else {}))
        said = run(cli, item, "--json")
        told = said.json()
        assert (said.code, told["outcome"]["cause"]) == (code, cause), said
        assert exit in (None, told["outcome"]["exit"]), said
        assert told["job"] == "here-1" and told["outcome"]["item"] == item, said
    assert "here-1 item 1: out of memory, after " in run(cli, 1).err
    nothing_is_left(cli, docker)


def test_inputs_come_from_a_store_and_outputs_stay_here(cli, s3, docker, tmp_path):
    bucket = s3.bucket("data")
    (bucket / "a.txt").write_text("this is a\n")
    (tmp_path / "b.txt").write_text("this is b\n")
    put(
        cli,
        ["s3://data/a.txt", f"file://{tmp_path}/b.txt", "s3://data/none.txt"],
        command=["sh", "-c", "read line < {input}; echo $line, $(cat /etc/hostname) > {output}"],
        input="{item}",
        output="s3://data/out/{item.stem}.up",
    )
    # Twice: what is there is no hindrance.
    for _ in range(2):
        said = run(cli, 0, "--out", "kept", **s3.environment)
        assert said.code == 0, said
        assert f"Its outputs are in {tmp_path}/kept\n" in said.err, said
        assert (tmp_path / "kept/data/out/a.up").read_text().startswith("this is a, ")
    said = run(cli, 1, "--json", **s3.environment)
    assert said.code == 0, said
    assert said.json()["out"] == f"{tmp_path}/out/here-1-1"
    assert (tmp_path / "out/here-1-1/data/out/b.up").read_text().startswith("this is b, ")
    assert not (bucket / "out").exists()
    said = run(cli, 2, **s3.environment)
    assert said.code == 126 and "its input could not be fetched" in said.out, said
    nothing_is_left(cli, docker)


def test_an_output_that_was_promised_and_is_not_there(cli, tmp_path):
    put(cli, ["true"], output=f"file://{tmp_path}/store/x")
    said = run(cli, 0, "--json")
    assert said.code == 1 and said.json()["outcome"]["cause"] == "rejected-output", said


def test_secrets_come_from_the_person_and_are_masked(cli, docker, tmp_path):
    script = 'echo "it is $KEY"; cat "$TIDEMILL_SECRETS/cert"; test "$KEY" = "correct horse"'
    put(
        cli,
        [script],
        secrets=[{"name": "api-key", "env": "KEY"}, {"name": "cert", "file": "cert"}],
    )
    (tmp_path / "cert.pem").write_text("battery staple")
    said = run(cli, 0)
    assert said.code == 2 and "the secret 'api-key'" in said.err, said
    assert "--secret api-key=FILE, or in the variable KEY" in said.err, said
    said = run(cli, 0, "--secret", "cert=cert.pem", KEY="correct horse")
    assert said.code == 0, said
    assert said.out == "it is ***\n***", said
    (tmp_path / "key").write_text("correct horse")
    said = run(cli, 0, "--secret", "cert=cert.pem", "--secret", "api-key=key", KEY="wrong")
    assert said.code == 0, said
    said = run(cli, 0, "--secret", "other=key")
    assert said.code == 2 and "names no secret 'other'" in said.err, said
    nothing_is_left(cli, docker)


@pytest.mark.parametrize("engine", ["docker", "process"])
def test_code_is_its_working_folder(cli, tmp_path, engine):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/part.sh").write_text("echo from the code\n")
    put(cli, [". ./part.sh"], code="./src")
    said = run(cli, 0, "--engine", engine)
    assert (said.code, said.out) == (0, "from the code\n"), said


def test_a_device_that_is_not_here_is_a_reason(cli, docker):
    put(cli, ["true"], resources={"cpus": 1, "devices": {"nvidia.com/gpu": 1}})
    said = run(cli, 0)
    assert said.code == 125, said
    assert "it asks for 1 nvidia.com/gpu, and this machine has none" in said.err, said
    put(cli, ["test -c /dev/zero"], resources={"cpus": 1, "devices": {"toy": 1}})
    assert run(cli, 0, "--device", "toy=/dev/zero").code == 0
    nothing_is_left(cli, docker)


def test_what_cannot_be_run_says_why(cli, tmp_path):
    put(cli, ["true"], image="127.0.0.1:9/none:1")
    said = run(cli, 0)
    assert said.code == 125 and "here-1 item 0 could not be run: " in said.err, said
    assert "127.0.0.1:9" in said.err, said
    put(cli, ["true"])
    said = run(cli, 0, DOCKER_HOST=f"unix://{tmp_path}/none")
    assert said.code == 125 and f"cannot reach Docker at {tmp_path}/none" in said.err, said
    (tmp_path / "job.yaml").write_text("memry: 3\n")
    said = run(cli, 0)
    assert said.code == 2 and "job.yaml:1: unknown field 'memry'" in said.err, said


def test_more_processors_than_there_are_is_told(cli):
    asked = (os.cpu_count() or 1) + 1
    put(cli, ["true"], resources={"cpus": asked})
    said = run(cli, 0)
    assert said.code == 0 and f"It asks for {asked} cpus; here it has " in said.err, said


def test_a_volume_is_a_folder_that_the_person_names(cli, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models/a").write_text("of the volume\n")
    mounts = [{"volume": "models", "path": "/models", "readonly": True}]
    put(cli, ["cat /models/a; touch /models/b"], mounts=mounts)
    said = run(cli, 0)
    assert said.code == 2 and "--volume models=FOLDER" in said.err, said
    said = run(cli, 0, "--volume", "models=models")
    assert said.code == 1 and said.out.startswith("of the volume\n"), said
    assert "Read-only file system" in said.out, said


def test_ctrl_c_ends_the_item_with_its_grace(cli, docker):
    put(cli, ["trap 'echo asked; exit 0' TERM; echo on; while :; do sleep 0.1; done"])
    process = cli.start("run", "job.yaml", "--items", "list.txt")
    try:
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 130, (out, err)
        assert out.endswith("asked\n") and "interrupted" in err, (out, err)
        wait_until("its container to go", lambda: not docker.containers("tidemill.agent"), 60)
        nothing_is_left(cli, docker)
    finally:
        process.kill()
