# SPDX-License-Identifier: Apache-2.0
"""A job's record in the object store outlives its database, and others read it without us."""

import contextlib
import json
import sys

import duckdb
import pandas
import pytest
from agents import Agent, submit
from cli import Cli
from env import found_below, wait_until
from load import folder_of, wait_for_end


class Bucket:
    def __init__(self, s3):
        self.folder = s3.bucket("bucket")
        self.variables = s3.environment

    def files(self, pattern):
        return found_below(self.folder, pattern)


@pytest.fixture
def bucket(s3):
    """A bucket of a strict S3 server; the servers of the test find it by their environment."""
    return Bucket(s3)


@contextlib.contextmanager
def running(agent):
    try:
        yield agent.start()
    finally:
        agent.kill9()


def written(bucket, job):
    path = bucket.folder / f"deep/jobs/default/{job}/ledger/job.json"  # by the name of its folder
    return json.loads(path.read_text()) if path.exists() else {}


def ends_in_the_bucket(bucket, job, round_=0):
    def over():
        told = written(bucket, job)
        return told.get("state") == "finished" and told["round"] == round_

    wait_until("the job's end in the bucket", over, 60)


def test_a_job_outlives_its_database(env, bucket):
    server = env.server("--objects", "s3://bucket/deep", "--session-seconds", "10")
    # Every third item fails; a chunk has at most 2,048 items.
    script = "[ $(({item} % 3)) -ne 0 ] || { echo error: item {item} is bad >&2; exit 3; }"
    spec = {"command": ["sh", "-c", script.replace("{item}", "$1"), "sh", "{item}"], "retries": 0}
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "4")):
        job = submit(server.http, spec, 3000, name="thirds")
        # A server that dies before it has written all loses nothing for ever.
        folder = folder_of(server.http, job)
        wait_until("some items", lambda: bucket.files("deep/jobs/default/*/ledger/items/*"), 60)
        server.kill9()
        server.start()
        wait_for_end(server.http, job, 120)
        ends_in_the_bucket(bucket, folder)
        assert server.http.post(f"/v1/jobs/{job}/retry", {"items": [0, 1]}).json()["items"] == 2
        wait_for_end(server.http, job, 60)
        ends_in_the_bucket(bucket, folder, 1)
    told = server.http.get(f"/v1/jobs/{job}").json()
    server.kill9()
    env.postgres.drop_database(env.database)

    cli = Cli(env.folder)
    cli.env.update(bucket.variables)
    url = f"s3://bucket/deep/jobs/default/{job}"
    said = cli("history", "open", url, "--json", "-o", "all.csv")
    assert said.code == 0, said
    history = said.json()
    assert history["job"]["counts"] == told["counts"]
    assert (history["attempts"], history["succeeded"], history["failed"]) == (3002, 2000, 1000)
    [group] = history["failures"]["groups"]
    assert group["signature"] == "error: item # is bad" and group["count"] == 1000
    shown = cli("history", "open", f"s3://bucket/deep/jobs/default/{folder}/ledger/")
    assert shown.code == 0 and f"{job} finished" in shown.out, shown
    assert "1,000 items: error: item # is bad (items 0, 3, 6 ...)" in shown.out
    assert cli("history", "open", "s3://bucket/deep/jobs/default/none-9").code == 3

    # Others count the same.
    ledger = f"{bucket.folder}/deep/jobs/default/{folder}/ledger"
    outcomes = f"read_json('{ledger}/outcomes/*.jsonl.zst', format='newline_delimited')"
    by_cause = duckdb.sql(
        f"select cause, count(*) from {outcomes} where last group by cause order by cause"
    ).fetchall()
    assert by_cause == [("failed", 1000), ("succeeded", 2000)]
    items = f"read_json('{ledger}/items/*.jsonl.zst', format='newline_delimited')"
    assert duckdb.sql(f"select count(distinct item) from {items}").fetchall() == [(3000,)]
    frames = [
        pandas.read_json(path, lines=True, compression="zstd")
        for path in bucket.files(f"deep/jobs/default/{folder}/ledger/outcomes/*.jsonl.zst")
    ]
    table = pandas.concat(frames)
    assert len(table) == 3002 and table["last"].sum() == 3000
    assert (table[table["last"]]["exit"] == 3).sum() == 1000
    ours = pandas.read_csv(env.folder / "all.csv")
    assert len(ours) == 3002 and (ours["error"] == "error: item # is bad").sum() == 1001
    assert json.loads((bucket.folder / f"deep/jobs/default/{folder}/ledger/spec.json").read_text())


def test_a_folder_is_an_object_store_too(env, tmp_path):
    server = env.server("--objects", f"file://{tmp_path}/objects", "--session-seconds", "10")
    with running(Agent(env.folder, "m1", env.servers, "--cpus", "2")):
        job = submit(server.http, {"command": [sys.executable, "-c", ""], "retries": 0}, ["a", "b"])
        wait_for_end(server.http, job, 60)
        folder = folder_of(server.http, job)
        path = tmp_path / f"objects/jobs/default/{folder}/ledger/job.json"
        wait_until("the job's end", lambda: path.exists() and '"finished"' in path.read_text(), 60)
    said = Cli(env.folder)("history", "open", f"file://{tmp_path}/objects/jobs/default/{job}")
    assert said.code == 0 and "succeeded 2   failed 0" in said.out, said


@contextlib.contextmanager
def other_database(env):
    """The next server of the environment is of a deployment whose numbers begin anew."""
    before = env.database, env.conninfo
    env.database += "_other"
    env.conninfo = env.postgres.create_database(env.database, "template_e2e")
    yield
    env.postgres.drop_database(env.database)
    env.database, env.conninfo = before


def test_two_deployments_in_one_bucket_have_nothing_in_common(env, bucket):
    """Both have a render-1 that writes the same objects."""
    objects = ("--objects", "s3://bucket/deep", "--session-seconds", "10")
    said = {}

    def render(machine, word, **more):
        server = env.server(*objects)
        script = (
            f"cat $TIDEMILL_CHECKPOINT/at 2> /dev/null; echo {word} > $TIDEMILL_CHECKPOINT/at;"
            f" echo {word} | tee {{output}}; [ {{item}} != c ]"
        )
        spec = {
            "command": ["sh", "-c", script],
            "output": "s3://bucket/out/{item}",
            "checkpoint": {"every": "1h"},
            "retries": 0,
            **more,
        }
        with running(Agent(env.folder, machine, [server], "--cpus", "2")):
            job = submit(server.http, spec, ["a", "b", "c"], name="render")
            wait_for_end(server.http, job, 60)
            counts = server.http.get(f"/v1/jobs/{job}").json()["counts"]
            ends_in_the_bucket(bucket, folder_of(server.http, job))

            def log():
                """Of the one that fails, and leaves its checkpoint."""
                page = server.http.get(f"/v1/jobs/{job}/items/2/log?follow=true").json()
                return page.get("ended") and "".join(part.get("text", "") for part in page["parts"])

            said[word] = wait_until("its log", log, 60)
        server.kill9()
        return job, counts

    def stored():
        return [(bucket.folder / "out" / name).read_text().strip() for name in "ab"]

    job, counts = render("m1", "one")
    assert counts["succeeded"] == 2 and stored() == ["one", "one"]
    with other_database(env):
        assert render("m2", "two", output_exists="replace") == (job, counts)
        assert stored() == ["two", "two"]
        other, counts = render("m3", "three")
        assert counts["failed"] == 3, "theirs is not taken for its own"
    assert said["one"].split() == ["one"] and said["two"].split() == ["two"]
    cli = Cli(env.folder)
    cli.env.update(bucket.variables)
    several = cli("history", "open", f"s3://bucket/deep/jobs/default/{job}")
    assert several.code == 2 and several.err.count(f"{job}.") >= 2, several
    assert cli("history", "open", f"s3://bucket/deep/jobs/default/{other}").code == 0
