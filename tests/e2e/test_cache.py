# SPDX-License-Identifier: Apache-2.0
"""What every item needs is fetched once a machine, with a real S3 server and containers."""

import re

import pytest
from agents import Agent, submit
from env import wait_until
from load import is_paused, items_of, wait_for_end
from object_server import S3

IMAGE = "tidemill-test/alpine-like"


@pytest.fixture
def s3(tmp_path, monkeypatch):
    """An S3 server that tells what it was asked."""
    server = S3(tmp_path, logs=True).start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.kill9()


def spec(**more):
    return {"image": IMAGE, "canary": False, "resources": {"cpus": 0.25}, "retries": 0, **more}


def gets(s3, path):
    """How often the store was asked for an object, whole or in part."""
    log = s3.log.read_text() if s3.log.exists() else ""
    return len(re.findall(rf"s3_GetObject \S+ /{re.escape(path)}[ ?]", log))


def shell(script):
    return ["sh", "-c", script]


def test_twenty_items_fetch_it_once_and_so_do_two_jobs(http, fleet, s3):
    bucket = s3.bucket("data")
    (bucket / "weights").write_text("heavy\n")
    (bucket / "ref").mkdir()
    (bucket / "ref" / "a").write_text("1\n")
    (bucket / "ref" / "b").write_text("2\n")
    fleet("m1", "--cpus", "1")
    check = shell(
        'test "$TIDEMILL_CACHE" = /.tidemill/cache && cd $TIDEMILL_CACHE'
        ' && test "$(cat w.bin)" = heavy && test "$(cat ref/a ref/b)" = "$(printf \'1\\n2\')"'
        " && ! echo x > w.bin && ! echo x > ref/a && ! touch ref/c"
        ' && test "$(ls)" = "$(printf \'ref\\nw.bin\')"'
    )
    cached = spec(command=check, cache={"w.bin": "s3://data/weights", "ref": "s3://data/ref/"})
    job = submit(http, cached, 20)
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 20, items_of(http, job)
    names = ["data/weights", "data/ref/a", "data/ref/b"]
    assert [gets(s3, name) for name in names] == [1, 1, 1]
    job = submit(http, cached, 4)
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 4, items_of(http, job)
    assert [gets(s3, name) for name in names] == [1, 1, 1]


def test_what_changed_is_fetched_anew(http, fleet, s3):
    s3.bucket("data")
    fleet("m1", "--cpus", "1")
    for content in ("old", "new"):
        s3.client().put_object(Bucket="data", Key="weights", Body=content.encode())
        command = shell(f"test $(cat $TIDEMILL_CACHE/w) = {content}")
        job = submit(http, spec(command=command, cache={"w": "s3://data/weights"}))
        assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 1
    assert gets(s3, "data/weights") == 2


def test_the_unused_makes_way_and_what_is_too_large_says_so(http, fleet, s3, docker, times):
    times("agent.idle_container=300ms", "agent.tick=200ms")
    bucket = s3.bucket("data")
    for name in ("a", "b"):
        (bucket / name).write_bytes(b"x" * 600_000)
    (bucket / "huge").write_bytes(b"x" * 1_000_001)
    fleet("m1", "--cpus", "1", "--cache", "1MB")
    for name in ("a", "b", "a"):
        job = submit(http, spec(command=["true"], cache={"x": f"s3://data/{name}"}))
        assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 1
        # While the job's container is warm, there would be no room.
        wait_until("its container to end", lambda: not docker.containers("tidemill.agent"), 60)
    assert gets(s3, "data/a") == 2
    job = submit(http, spec(command=["true"], cache={"x": "s3://data/huge"}))
    paused = wait_until("it to be paused", lambda: is_paused(http, job), 90)
    assert "it has 1000001 bytes, and this machine keeps 1000000" in paused["reason"]
    assert paused["counts"]["failed"] == 0


def test_what_is_missing_pauses_the_job_with_its_url(http, fleet, s3):
    s3.bucket("data")
    fleet("m1", "--cpus", "1")
    job = submit(http, spec(command=["true"], cache={"x": "s3://data/none"}), 3)
    paused = wait_until("it to be paused", lambda: is_paused(http, job), 90)
    assert "s3://data/none" in paused["reason"], paused
    assert paused["counts"]["failed"] == 0


@pytest.mark.parametrize("scheme", ["s3", "file"])
def test_without_containers(env, http, s3, tmp_path, scheme):
    bucket = s3.bucket("data")
    (bucket / "weights").write_text("heavy")
    agent = Agent(tmp_path, "m1", env.servers, "--cpus", "1").start()
    try:
        url = "s3://data/weights" if scheme == "s3" else f"file://{bucket}/weights"
        command = shell("test $(cat $TIDEMILL_CACHE/w) = heavy")
        job = submit(http, {"command": command, "cache": {"w": url}, "retries": 0}, 4)
        assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 4
    finally:
        agent.kill9()
