# SPDX-License-Identifier: Apache-2.0
"""Inputs and outputs of items, with a real S3 server and containers."""

import collections
import itertools
import json
import os
import random
import re
import subprocess
import time

import figures
import pytest
from agents import submit
from costs import file_bytes
from env import wait_until
from load import folder_of, is_paused, items_of, show, wait_for_end
from object_server import S3, Gcs

IMAGE = "tidemill-test/alpine-like"
UPPER = ["sh", "-c", 'read line < {input}; echo "$line for {index}" > {output}']


def spec(**more):
    return {"image": IMAGE, "canary": False, "resources": {"cpus": 0.25}, **more}


def put_inputs(bucket, names):
    for name in names:
        (bucket / name).write_text(f"this is {name}\n")


@pytest.mark.parametrize("image", [IMAGE, "tidemill-test/user"])
def test_a_file_in_and_a_file_out(env, http, fleet, s3, image):
    bucket = s3.bucket("data")
    names = [f"n{i}.txt" for i in range(40)]
    put_inputs(bucket, names)
    fleet("m1", "--cpus", "1")
    job = submit(
        http,
        spec(
            image=image,
            entrypoint=[],
            command=UPPER,
            input="{item}",
            output="s3://data/out/{item.stem}.up",
        ),
        [f"s3://data/{name}" for name in names],
    )
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 40
    for i, name in enumerate(names):
        stored = bucket / "out" / f"n{i}.up"
        assert stored.read_text() == f"this is {name} for {i}\n"


def test_folders_globs_and_names(env, http, fleet, s3):
    bucket = s3.bucket("data")
    put_inputs(bucket, ["a", "b"])
    (bucket / "ref").mkdir()
    put_inputs(bucket / "ref", ["x", "y"])
    fleet("m1", "--cpus", "1")
    script = (
        "cat {input.one} > {output.all}/one; ls {input.ref} > {output.all}/list;"
        "echo yes > {output.some}/yes.png; echo no > {output.some}/no.txt;"
        'test "$TIDEMILL_INPUT_ONE" = {input.one} && ! touch {input.ref}/z'
    )
    job = submit(
        http,
        spec(
            command=["sh", "-c", script],
            input={"one": "s3://data/{item}", "ref": "s3://data/ref/"},
            output={"all": "s3://data/out/{item}/", "some": "s3://data/png/{item}/*.png"},
        ),
        ["a", "b"],
    )
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 2, items_of(http, job)
    for name in "ab":
        pointer = json.loads((bucket / "out" / name / "_tidemill.json").read_text())
        assert sorted(file["name"] for file in pointer["files"]) == ["list", "one"]
        folder = bucket / "out" / name / pointer["attempt"]
        assert (folder / "one").read_text() == f"this is {name}\n"
        assert (folder / "list").read_text() == "x\ny\n"
        pointer = json.loads((bucket / "png" / name / "_tidemill.json").read_text())
        assert [file["name"] for file in pointer["files"]] == ["yes.png"]


@pytest.fixture
def gcs(monkeypatch):
    """Google's object store, which all that is started from now on knows."""
    server = Gcs().start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.url)
    yield server
    server.kill9()


def causes(http, job):
    return [item["outcome"]["cause"] for item in items_of(http, job)]


def test_what_is_missing_is_the_items_fault(env, http, fleet, s3):
    bucket = s3.bucket("data")
    put_inputs(bucket, ["a"])
    fleet("m1", "--cpus", "1")
    reads = spec(command=["true"], input="s3://data/{item}", retries=0)
    job = submit(http, reads, ["a", "none", "a"])
    wait_for_end(http, job, 120)
    assert causes(http, job) == ["succeeded", "failed", "succeeded"]
    writes = spec(
        command=["sh", "-c", "test {item} = b || echo x > {output}"],
        output="s3://data/out/{item}",
        retries=0,
    )
    job = submit(http, writes, ["a", "b"])
    wait_for_end(http, job, 120)
    assert causes(http, job) == ["succeeded", "rejected-output"]


def test_somebody_elses_object_and_skip(env, http, fleet, s3):
    bucket = s3.bucket("data")
    s3.client().put_object(Bucket="data", Key="out/a", Body=b"theirs")
    fleet("m1", "--cpus", "1")
    command = ["sh", "-c", "echo ours > {output}"]
    common = {"command": command, "output": "s3://data/out/{item}", "retries": 0}
    job = submit(http, spec(**common), ["a", "b"])
    wait_for_end(http, job, 120)
    assert causes(http, job) == ["rejected-output", "succeeded"]
    assert (bucket / "out" / "a").read_text() == "theirs"
    job = submit(http, spec(**common, skip="existing"), ["a", "b", "c"])
    wait_for_end(http, job, 120)
    assert causes(http, job) == ["succeeded"] * 3
    assert (bucket / "out" / "a").read_text() == "theirs"
    assert (bucket / "out" / "c").read_text() == "ours\n"
    job = submit(http, spec(**common, output_exists="replace"), ["a"])
    wait_for_end(http, job, 120)
    assert (bucket / "out" / "a").read_text() == "ours\n"


def test_a_store_that_refuses_pauses_the_job(env, http, fleet, s3, monkeypatch):
    s3.bucket("data")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    fleet("m1", "--cpus", "0.25")
    job = submit(http, spec(command=["true"], input="s3://data/{item}"), 3)
    paused = wait_until("it to be paused", lambda: is_paused(http, job), 60)
    assert "s3://data/" in paused["reason"], paused
    assert paused["counts"]["failed"] == 0


KILLS = int(os.environ.get("TIDEMILL_DATA_KILLS", "8"))
SEED = int(os.environ.get("TIDEMILL_DATA_SEED", "1"))


def whole(path, name, size):
    """What an item writes: lines that nobody else could have written, and their digest."""
    text = path.read_text()
    body, _, end = text.rpartition("end ")
    lines = body.splitlines()
    return len(lines) == size and set(lines) == {f"{name} of its own"} and end.strip() == str(size)


def log_is_whole(http, job, index, item):
    """If not it says that something is missing. It has nothing that is not the item's own."""

    def ask():
        answer = http.get(f"/v1/jobs/{job}/items/{index}/log?follow=true")
        # A project may make so many calls a second; these are more.
        return None if answer.status == 429 else answer

    answer = wait_until("its turn", ask, 60)
    assert answer.status == 200, answer.body
    page = answer.json()
    assert not page["more"], page
    said = "".join(f"{item} says {i}\n" for i in range(20))
    lives, holes = [""], not page["ended"]
    for part in page["parts"]:
        if part.get("lost_before"):
            lives.append("")
        holes |= part.get("missing_bytes", 0) > 0
        lives[-1] += part.get("text", "")
    assert all(line in said for line in "".join(lives).split("\n")), (index, page)
    if page["ended"] and lives[-1] == said:
        return True
    assert holes or len(lives) > 1, (index, page)
    return False


def done(http, job):
    """Items that are done; fails if none is left to be spoiled."""
    shown = show(http, job)
    assert shown["state"] == "active", "nothing is left to be spoiled"
    return shown["counts"]["succeeded"]


def test_kills_at_random_moments_leave_whole_outputs(env, fleet, s3):
    """Agents and store are killed KILLS times, each at its count of items that are done."""
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    bucket = s3.bucket("data")
    http = env.server("--objects", "s3://data/tidemill").http
    count = 100 * KILLS
    names = [f"n{i}" for i in range(count)]
    put_inputs(bucket, names)
    agents = [fleet(name, "--cpus", "1") for name in ("m1", "m2")]
    script = (
        'read line < {input}; i=0; while [ $i -lt 200 ]; do echo "{item} of its own"; i=$((i+1));'
        ' done > {output}; i=0; while [ $i -lt 20 ]; do echo "{item} says $i"; i=$((i+1)); done;'
        ' sleep 0.1; echo "end 200" >> {output}'
    )
    job = submit(
        http,
        spec(
            command=["sh", "-c", script],
            input="s3://data/{item}",
            output="s3://data/out/{item}",
            retries=10,
        ),
        names,
    )
    # Each kill at its count of items that are done, of the first two thirds.
    moments = sorted(chance.sample(range(1, 2 * count // 3), KILLS))
    victims = [agents[0], s3, agents[1], s3] * (KILLS // 4 + 1)
    for moment, victim in zip(moments, victims):
        wait_until(f"{moment} items", lambda m=moment: done(http, job) >= m, 120)
        victim.kill9()
        time.sleep(chance.uniform(0, 0.5))  # how long it is not there
        victim.start()
    shown = wait_for_end(http, job, 600)
    assert shown["counts"]["succeeded"] == count, shown
    for name in names:
        assert whole(bucket / "out" / name, name, 200), name
    assert len(list((bucket / "out").iterdir())) == count
    # The packs of the agents' last lives are stored two seconds after their last items.
    for agent in agents:
        assert agent.terminate() == 0
    logs = [log_is_whole(http, job, index, name) for index, name in enumerate(names)]
    print(f"{logs.count(True)} logs are whole, {logs.count(False)} say what they lack")
    # Each kill costs what was in one agent's memory: of the four that ran, and those just ended.
    assert logs.count(False) <= 10 * KILLS


def timed(http, job_spec, items):
    """Seconds from the submission to the end."""
    begin = time.monotonic()
    job = submit(http, job_spec, items)
    shown = wait_for_end(http, job, 300)
    assert shown["counts"]["succeeded"] == len(items), shown
    return time.monotonic() - begin


@pytest.fixture
def counted_s3(tmp_path, monkeypatch):
    """An S3 server that writes a line per request."""
    server = S3(tmp_path, logs=True).start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.kill9()


def copies(source, target):
    """A job whose items copy an object from one place to another."""
    return spec(
        command=["sh", "-c", "cat {input} > {output}"],
        input=source,
        output=target,
        resources={"cpus": 1},
    )


def calls(s3, prefix):
    """Requests for objects with that prefix, by operation."""
    return collections.Counter(re.findall(rf" s3_(\w+) {prefix}", s3.log.read_text()))


SMALL_BYTES, LARGE_BYTES = 65536, 64 << 20


def test_small_data_costs_two_calls_and_is_copied_twice(env, fleet, counted_s3):
    http = env.server().http
    bucket, body, count = counted_s3.bucket("data"), os.urandom(SMALL_BYTES), 200
    names = [f"n{i}" for i in range(count)]
    (bucket / "in").mkdir()
    for name in names:
        (bucket / "in" / name).write_bytes(body)
    agent = fleet("m1", "--cpus", "4")
    moved = file_bytes(agent)
    timed(http, copies("s3://data/in/{item}", "s3://data/out/{item}"), names)
    moved = (file_bytes(agent) - moved) / (count * SMALL_BYTES)
    fetched, stored = calls(counted_s3, "in/"), calls(counted_s3, "out/")
    print(f"\n{fetched}, {stored}; {moved:.2f} times the size through files")
    assert {(bucket / "out" / name).read_bytes() == body for name in names} == {True}
    assert (fetched, stored) == ({"GetObject": count}, {"PutObject": count})
    # The input is written to a file and the output read from one.
    assert moved <= 2.2


def test_a_large_file_goes_in_parts_and_is_copied_twice(env, fleet, counted_s3):
    http = env.server().http
    bucket = counted_s3.bucket("data")
    (bucket / "large").write_bytes(os.urandom(LARGE_BYTES))
    agent = fleet("m1", "--cpus", "1")
    moved = file_bytes(agent)
    timed(http, copies("s3://data/large", "s3://data/copy"), ["one"])
    moved = (file_bytes(agent) - moved) / LARGE_BYTES
    fetched, stored = calls(counted_s3, "large"), calls(counted_s3, "copy")
    print(f"\n{fetched}, {stored}; {moved:.2f} times the size through files")
    assert subprocess.run(["cmp", bucket / "large", bucket / "copy"], timeout=900).returncode == 0
    parts = LARGE_BYTES // (8 << 20)
    assert fetched == {"GetObject": parts}
    ends = {"CreateMultipartUpload": 1, "CompleteMultipartUpload": 1}
    assert stored == {"UploadPart": parts, **ends}
    assert moved <= 2.2


# --- objects of Google's ---


def test_items_read_and_write_objects_of_google(env, fleet, gcs):
    """Inputs, outputs, logs and ledger in gs://; fake-gcs-server stands for Google's store."""
    gcs.make_bucket("data")
    for number in range(10):
        gcs.put("data", f"in/n{number}", f"this is n{number}\n".encode())
    server = env.server("--objects", "gs://data/tidemill")
    fleet("m1", "--cpus", "1")
    job = submit(
        server.http,
        spec(
            command=["sh", "-c", 'read line < {input}; echo "$line for {index}" | tee {output}'],
            input="gs://data/in/{item}",
            output="gs://data/out/{item}",
        ),
        [f"n{number}" for number in range(10)],
    )
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 10, items_of(
        server.http, job
    )
    for number in range(10):
        assert gcs.get("data", f"out/n{number}") == f"this is n{number} for {number}\n".encode()

    def log():
        page = server.http.get(f"/v1/jobs/{job}/items/7/log?follow=true").json()
        return page.get("ended") and "".join(part.get("text", "") for part in page["parts"])

    assert wait_until("its log", log, 60) == "this is n7 for 7\n"
    ledger = f"tidemill/jobs/default/{folder_of(server.http, job)}/ledger/job.json"
    wait_until("its ledger", lambda: b'"finished"' in (gcs.get("data", ledger) or b""), 60)


# --- the long form ---


@pytest.mark.long
def test_small_data_costs_little(env, fleet, s3):
    """Items of 100 ms with 64 KiB in and out, on 20 slots, beside the same without data."""
    http = env.server().http
    bucket, count = s3.bucket("data"), 2_000
    names = [f"n{i}" for i in range(count)]
    for name in names:
        (bucket / name).write_bytes(os.urandom(SMALL_BYTES))
    fleet("m1", "--cpus", "20")
    # The same program, with a file of its image and its scratch folder.
    script = 'sleep 0.1; head -c 65536 /bin/busybox > "$TIDEMILL_SCRATCH/out"'
    plain = spec(command=["sh", "-c", script], resources={"cpus": 1})
    turns = itertools.count()

    def ratio():
        moving = copies("s3://data/{item}", f"s3://data/out{next(turns)}/{{item}}")
        moving["command"] = ["sh", "-c", "sleep 0.1; cat {input} > {output}"]
        bare = timed(http, plain, names)
        return round(bare / timed(http, moving, names), 3)

    figures.record("data_small_beside_none", "ratio", figures.repeated(3, ratio), minimum=0.8)


def by_hand(s3, folder):
    """Seconds that curl and cp need for what an item with one large file does."""
    client = s3.client()
    get = client.generate_presigned_url("get_object", {"Bucket": "data", "Key": "large"})
    put = client.generate_presigned_url("put_object", {"Bucket": "data", "Key": "by-hand"})
    first, second = str(folder / "first"), str(folder / "second")
    begin = time.monotonic()
    for command in (
        ["curl", "-fsS", "-o", first, get],
        ["cp", first, second],
        ["curl", "-fsS", "-T", second, put],
    ):
        subprocess.run(command, check=True, timeout=900)
    seconds = time.monotonic() - begin
    os.unlink(first)
    os.unlink(second)
    return seconds


@pytest.mark.long
def test_a_large_file_goes_at_the_rate_of_the_store(env, fleet, s3, tmp_path):
    """TIDEMILL_DATA_GIB sets its size."""
    gib = float(os.environ.get("TIDEMILL_DATA_GIB", "2"))
    http = env.server().http
    bucket = s3.bucket("data")
    with (bucket / "large").open("wb") as file:
        for _ in range(int(gib * 1024)):
            file.write(os.urandom(1 << 20))
    fleet("m1", "--cpus", "1")
    nothing = spec(command=["true"])
    timed(http, nothing, ["warm"])

    def ratio():
        bare = by_hand(s3, tmp_path)
        # A job of one item waits for a lease, a container and a poll, whatever it does.
        around = timed(http, nothing, ["one"])
        ours = timed(http, copies("s3://data/large", "s3://data/copy"), ["one"])
        stored = bucket / "copy"
        assert subprocess.run(["cmp", bucket / "large", stored], timeout=900).returncode == 0
        stored.unlink()
        return round(bare / (ours - around), 3)

    ratios = figures.repeated(3, ratio)
    figures.record("data_large_beside_curl_and_cp", "ratio", ratios, minimum=0.7, gib=gib)
