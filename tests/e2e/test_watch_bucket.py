# SPDX-License-Identifier: Apache-2.0
"""Objects that arrive in a bucket become items, each version of one once."""

import hashlib
import json
import signal
import time

import figures
import pytest
from agents import Agent
from ec2 import Moto
from env import wait_until
from object_server import Gcs

from arrivals import PubSub, Queue, Watcher, by_bridge, by_s3, by_sns, record
from cli import PLAIN, Cli, read_line
from load import items_of

# An item says when it has begun.
TIMED = """\
name: timed
command: [sh, -c, 'date +%s.%N > "$0/${1##*/}"', FOLDER, "{item}"]
resources: {cpus: 1}
retries: 0
"""


@pytest.fixture
def cli(env, s3, tmp_path):
    """A command line that knows the S3 server, and specs in its folder."""
    (tmp_path / "plain.yaml").write_text(PLAIN)
    said = Cli(tmp_path, env.server("--session-seconds", "10"))
    said.env.update(s3.environment)
    return said


@pytest.fixture
def bucket(s3):
    return s3.bucket("scans")


@pytest.fixture
def moto(tmp_path, monkeypatch):
    server = Moto(tmp_path).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", server.url)
    yield server
    server.kill9()


@pytest.fixture
def watchers():
    """Those that are put in here end with the test."""
    started = []
    yield started
    for watcher in started:
        watcher.kill9()


def texts(env, job="render-1"):
    return sorted(item["text"] for item in items_of(env.servers[0].http, job))


def tag_of(text):
    return hashlib.md5(text.encode()).hexdigest()


def put(s3, key, text="x"):
    s3.client().put_object(Bucket="scans", Key=key, Body=text.encode())
    return tag_of(text)


def test_a_listing_makes_an_item_of_each_version_of_an_object(env, s3, bucket, cli):
    for key in ["a.png", "deep/er/b c+é.png", "no.txt"]:
        put(s3, key)
    once = ["watch-bucket", "s3://scans/**/*.png", "--job", "plain.yaml", "--once"]
    said = cli(*once)
    assert said.code == 0, said
    assert said.out.splitlines()[0] == "render-1 takes what arrives in s3://scans/**/*.png"
    assert "2 objects listed in" in said.out and "2 of them new" in said.out
    assert texts(env) == ["s3://scans/a.png", "s3://scans/deep/er/b c+é.png"]

    # The same again: nothing is new, and it is the same job.
    said = cli(*once)
    assert "render-1 takes" in said.out and "0 of them new" in said.out, said
    put(s3, "a.png")
    assert "0 of them new" in cli(*once).out, "the same bytes are the same version"
    put(s3, "a.png", "other bytes")
    put(s3, "c.png")
    assert "2 of them new" in cli(*once).out
    assert texts(env).count("s3://scans/a.png") == 2 and len(texts(env)) == 4

    # Another bucket's URL is another job; so is another name.
    said = cli("watch-bucket", "s3://scans/deep/", "--job", "plain.yaml", "--once", "-q")
    assert (said.code, said.out) == (0, "render-2\n")
    said = cli(*once, "--name", "again", "--json")
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [event["event"] for event in events] == ["watching", "added", "listed"], events
    assert events[0]["job"] == "again-3" and events[2]["added"] == 3

    # A job that somebody has opened takes what it is given.
    said = cli("watch-bucket", "s3://scans/no", "--into", "render-1", "--once")
    assert said.code == 0 and "s3://scans/no.txt" in texts(env), said


def test_what_goes_wrong_says_what_to_do(env, s3, bucket, cli):
    watch = ["watch-bucket", "s3://scans/", "--job", "plain.yaml", "--once"]
    assert cli(*watch).code == 0
    (cli.folder / "plain.yaml").write_text(PLAIN + "priority: 3\n")
    said = cli(*watch)
    assert said.code == 1 and "--into" in said.err and "--name" in said.err, said
    assert "render-1" in said.err, said
    (cli.folder / "plain.yaml").write_text(PLAIN)
    assert cli("close", "render-1").code == 0
    said = cli(*watch)
    assert said.code == 1 and "takes no more items" in said.err and "--name" in said.err, said
    assert cli(*watch, "--name", "next").code == 0

    watch[1] = "s3://nowhere/"
    said = cli(*watch)
    assert said.code == 3 and "Is the name right" in said.err, said
    for words, expected in [
        (["s3://scans/"], "which job?"),
        (["s3://scans/", "--job", "plain.yaml", "--every", "often"], "--every is a time"),
        (["gs://scans/", "--job", "plain.yaml", "--queue", "https://x/1/q"], "is for s3://"),
        (["s3://scans/", "--job", "plain.yaml", "--queue", "q"], "no URL of a queue"),
        (["s3://scans/", "--into", "none-9", "--once"], "no job 'none-9'"),
    ]:
        said = cli("watch-bucket", *words)
        assert said.code != 0 and expected in said.err, said


def test_a_folder_is_watched_too(env, tmp_path, cli):
    folder = tmp_path / "scans"
    folder.mkdir()
    (folder / "a").write_text("x")
    once = ["watch-bucket", f"file://{folder}/", "--job", "plain.yaml", "--once"]
    assert cli(*once).code == 0
    (folder / "b").write_text("x")
    assert "1 of them new" in cli(*once).out
    assert texts(env) == [f"file://{folder}/a", f"file://{folder}/b"]


def test_ctrl_c_leaves_the_job_open(env, s3, bucket, cli):
    put(s3, "a")
    process = cli.start("watch-bucket", "s3://scans/", "--job", "plain.yaml", "--every", "1s")
    try:
        lines = [read_line(process) for _ in range(4)]
        assert lines[0] == "render-1 takes what arrives in s3://scans/\n"
        assert lines[2] == "1 item added, by listing\n" and lines[3].startswith("1 object listed")
        put(s3, "b")
        assert read_line(process) == "1 item added, by listing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130 and out == ""
    assert "render-1 stays open" in err and "tidemill close render-1" in err
    job = env.servers[0].http.get("/v1/jobs/render-1").json()
    assert job["open"] and job["state"] == "active" and job["counts"]["total"] == 2


def test_messages_of_sqs_tell_of_arrivals_and_are_taken_away(env, s3, bucket, cli, moto, watchers):
    queue = Queue(moto)
    # All is listed once, at the beginning: what comes later comes by messages.
    words = ["s3://scans/**/*.png", "--job", "plain.yaml", "--queue", queue.url, "--every", "1h"]
    watcher = Watcher(env.folder, "watcher", env.servers[0], *words)
    watchers.append(watcher.start())
    watcher.wait_for("listed")
    keys = ["é +%.png", "two.png", "sns.png", "bridge+%20.png", "sns bridge.png", "copy.png"]
    tags = {key: put(s3, key, key) for key in keys}
    old = record("scans", "gone.png", "", "ObjectRemoved:Delete")
    queue.send(
        by_s3(*(record("scans", key, tags[key]) for key in keys[:2]), old),
        by_sns(by_s3(record("scans", keys[2], tags[keys[2]]))),
        by_bridge("scans", keys[3], tags[keys[3]]),
        by_sns(by_bridge("scans", keys[4], tags[keys[4]])),
        by_s3(record("scans", keys[5], tags[keys[5]], "ObjectCreated:Copy")),
        by_s3(record("scans", keys[5], tags[keys[5]], "ObjectCreated:Copy")),
        by_s3(record("other", "x.png", "0"), record("scans", "x.txt", "0")),
        {"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "scans"},
        "what is this?",
    )
    expected = sorted(f"s3://scans/{key}" for key in keys)
    wait_until("the items", lambda: texts(env) == expected)
    wait_until("all but the one that nobody can read to go", lambda: queue.left() == 1)
    assert watcher.added("messages") == len(keys) and watcher.added("listing") == 0
    assert watcher.events("trouble")[0]["with"] == "message"
    words = ["s3://scans/", "--job", "plain.yaml", "--queue", f"{moto.url}/123456789012/none"]
    said = cli("watch-bucket", *words)
    assert said.code == 3 and "the queue: SQS answers 400" in said.err, said
    # What messages have said, a listing knows.
    said = cli("watch-bucket", "s3://scans/**/*.png", "--job", "plain.yaml", "--once")
    assert "0 of them new" in said.out, said


def test_a_message_stays_until_the_server_has_answered_for_it(env, s3, bucket, cli, moto, watchers):
    queue = Queue(moto)
    words = ["s3://scans/", "--job", "plain.yaml", "--queue", queue.url, "--every", "1h"]
    watcher = Watcher(env.folder, "watcher", env.servers[0], *words)
    watchers.append(watcher.start())
    watcher.wait_for("listed")
    env.servers[0].kill9()
    queue.send(by_s3(record("scans", "a", put(s3, "a"))))
    log = watcher.log
    wait_until("the watcher to miss its server", lambda: "trying again" in log.read_text(), 60)
    assert queue.left() == 1
    env.servers[0].start()
    wait_until("the item", lambda: texts(env) == ["s3://scans/a"], 60)
    wait_until("the message to go", lambda: queue.left() == 0)


def test_messages_of_google_tell_of_arrivals(env, cli, monkeypatch, watchers):
    pubsub, google = PubSub(), Gcs().start()
    try:
        for name, value in pubsub.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", google.url)
        google.make_bucket("scans")
        first = google.put("scans", "a.png", b"1")
        words = ["gs://scans/", "--job", "plain.yaml", "--subscription", PubSub.NAME]
        watcher = Watcher(env.folder, "watcher", env.servers[0], *words, "--every", "1h")
        watchers.append(watcher.start())
        watcher.wait_for("listed")
        # What the listing has found, and a new content of it.
        pubsub.send("scans", "a.png", first)
        pubsub.send("scans", "a.png", google.put("scans", "a.png", b"1"))
        pubsub.send("scans", "b c.png", google.put("scans", "b c.png", b"2"))
        pubsub.send("scans", "a.png", first, "OBJECT_DELETE")
        pubsub.send("other", "a.png", "7")
        pubsub.put({"data": "aGVsbG8="})
        expected = ["gs://scans/a.png", "gs://scans/a.png", "gs://scans/b c.png"]
        wait_until("the items", lambda: texts(env) == expected)
        wait_until("the messages to go", lambda: pubsub.acknowledged == 5)
        assert len(pubsub.given) == 1 and watcher.events("trouble")
    finally:
        google.kill9()
        pubsub.close()


def start_times(env, s3, cli, moto, watchers, count):
    """Objects arrive one after the other; seconds from each arrival to the start of its item. All
    come by messages: the bucket is listed once, before."""
    begun = env.folder / "begun"
    begun.mkdir()
    (cli.folder / "timed.yaml").write_text(TIMED.replace("FOLDER", str(begun)))
    queue = Queue(moto)
    words = ["s3://scans/", "--job", "timed.yaml", "--queue", queue.url, "--every", "1h"]
    watcher = Watcher(env.folder, "watcher", env.servers[0], *words)
    watchers.append(watcher.start())
    agent = Agent(env.folder, "m1", env.servers, "--cpus", "2").start()
    client, took = s3.client(), []
    try:
        watcher.wait_for("listed")
        for number in range(count):
            key = f"k-{number}"
            client.put_object(Bucket="scans", Key=key, Body=b"x")
            arrived = time.time()
            queue.send(by_s3(record("scans", key, tag_of("x"))))
            took.append(time_begun(begun / key) - arrived)
    finally:
        agent.kill9()
    assert (watcher.added("messages"), watcher.added("listing")) == (count, 0)
    return took


def time_begun(path):
    wait_until(f"{path.name} to begin", lambda: path.exists() and path.read_text())
    return float(path.read_text())


def test_an_item_begins_when_its_object_has_arrived(env, s3, bucket, cli, moto, watchers):
    """Each before the next one arrives, and long before anything is listed again."""
    assert len(start_times(env, s3, cli, moto, watchers, 5)) == 5


@pytest.mark.long
def test_an_item_begins_soon_after_its_object_arrived(env, s3, bucket, cli, moto, watchers):
    took = start_times(env, s3, cli, moto, watchers, 110)[10:]
    took_ms = sorted(round(seconds * 1000) for seconds in took)
    figures.record("arrival_to_start_p50", "ms", took_ms, maximum=500)
    figures.record("arrival_to_start_p99", "ms", [took_ms[98]], maximum=2000)
