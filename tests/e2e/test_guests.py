# SPDX-License-Identifier: Apache-2.0
"""Machines that really vanish: guests of qemu, one without power in the middle of an upload.

A long test: `.ci/long guests`.
"""

import threading
import time

import botocore.exceptions
import pytest
from agents import submit
from conserved import Sampler, outcomes
from env import binaries, wait_until
from guest import Guest
from load import items_of, wait_for_end

pytestmark = pytest.mark.long
ITEMS = 6
# Five parts of an upload, of which four are under way at once.
SIZE = 40 << 20
LINE = "{item} of its own " * 50  # long, so that a slow machine writes it fast
# Where /hold is, items stay until they are told to go.
ITEM = f"yes '{LINE}' | dd bs=1M count={SIZE >> 20} iflag=fullblock > {{output}};"
ITEM += " while [ -e /hold ]; do sleep 0.1; done"
# Without containers: what is tested here is below them, and an Engine takes a minute to come up
# where there is no hardware virtualisation.
MACHINE = """
export PATH=/bin HOME=/root {environment}
{first}
tidemill-agent --state /state --server http://127.0.0.1:8080 --join-token-file /join.token \\
  --engine process --machine {name} --cpus 2 --memory 1GiB
"""
BOOT_S = 240  # ten seconds if the machine has nothing else to do


def content(name):
    line = f"{LINE.replace('{item}', name)}\n".encode()
    return (line * (SIZE // len(line) + 1))[:SIZE]


class Watcher(threading.Thread):
    """Reads every output as soon as it is listed: under its name it is whole, or not there."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self.seen, self.wrong = [], []
        self._client, self._over = client, threading.Event()

    def run(self):
        while not self._over.wait(0.1):
            try:
                self.look()
            except BaseException as error:  # the test says so at its end
                self.wrong.append(error)
                return

    def look(self):
        listed = self._client.list_objects_v2(Bucket="data", Prefix="out/").get("Contents", [])
        for key in [each["Key"] for each in listed if each["Key"] not in self.seen]:
            self.seen.append(key)
            body = self._client.get_object(Bucket="data", Key=key)["Body"].read()
            if body != content(key[len("out/") :]):
                self.wrong.append((key, len(body)))

    def finish(self):
        """Once more from the beginning: what was whole has stayed so."""
        self._over.set()
        self.join(60)
        self.seen.clear()
        self.look()
        return self.seen


def machine(http, name):
    found = [
        each for each in http.get("/v1/machines").json()["machines"] if each["machine"] == name
    ]
    return found[0] if found else None


def held(env, session):
    """The items that it has leases of, by number. The job has one chunk."""
    rows = env.sql(f"select mine from lease where session_id = '{session}'").split()
    return {number for bits in rows for number, bit in enumerate(bits) if bit == "1"}


def lost_once(env):
    bits = env.sql("select lost1 from chunk")
    return {number for number, bit in enumerate(bits) if bit == "1"}


def uploads(client):
    """Those under way, as key and id."""
    listed = client.list_multipart_uploads(Bucket="data").get("Uploads", [])
    return {(each["Key"], each["UploadId"]) for each in listed}


def in_the_middle(env, client, session):
    """An upload from there of which some of the five parts have come, and at least two have not."""
    for key, upload in uploads(client):
        if int(key[len("out/n") :]) not in held(env, session):
            continue
        try:
            parts = client.list_parts(Bucket="data", Key=key, UploadId=upload).get("Parts", [])
        except botocore.exceptions.ClientError:  # it has ended meanwhile
            continue
        if 1 <= len(parts) <= 3:
            return key, upload
    return None


def running_on(http, name):
    """Items that run there, as it says itself."""
    jobs = (machine(http, name) or {}).get("status", {}).get("jobs", [])
    return sum(job["running"] for job in jobs)


@pytest.fixture
def guests(env, s3):
    """Starts machines that join the first server, and reach the store."""
    started = []

    def start(name, first=""):
        server = env.servers[0]
        files = {"join.token": server.join_file}
        for program in ("tidemill-agent", "tidemill-init"):
            files[f"bin/{program}"] = binaries() / program
        there = {**s3.environment, "AWS_ENDPOINT_URL_S3": f"http://10.0.2.2:{s3.port}"}
        environment = " ".join(f"{key}={value}" for key, value in there.items())
        script = MACHINE.format(name=name, environment=environment, first=first)
        started.append(Guest(env.folder, script, files, {8080: server.port}, name))
        return started[-1]

    yield start
    for guest in started:
        guest.kill9()


def join(http, guest, name):
    def joined():
        guest.must_run()
        return machine(http, name)

    return wait_until(f"{name} to join", joined, BOOT_S)["session"]


def cut_power_in_an_upload(env, client, guest, session):
    """The items that were on the machine then."""
    key, upload = wait_until(
        "an upload to be in its middle", lambda: in_the_middle(env, client, session), 120
    )
    guest.kill9()
    items = held(env, session)
    assert int(key[len("out/n") :]) in items
    assert (key, upload) in uploads(client), "the power was cut too late"
    return items


def press_button_under_items(env, http, guest, name):
    """The items that were on the machine then."""
    wait_until("items to run there", lambda: running_on(http, name) == 2, 120)
    items = held(env, machine(http, name)["session"])
    guest.press_power_button()
    assert "guest: button" in guest.wait(60)
    assert machine(http, name) is None
    return items


def test_power_cuts_and_shutdowns_cost_nothing_but_time(env, s3, guests):
    """One of two machines has its power cut, the other is shut down, and a third one comes."""
    s3.bucket("data")
    http = env.server("--objects", "s3://data/tidemill", "--session-seconds", "15").http
    sampler, watcher = Sampler(env.conninfo), Watcher(s3.client())
    begin = time.monotonic()

    def say(what):
        print(f"{time.monotonic() - begin:.0f} s: {what}", flush=True)
        sampler.sample()

    g1, g2 = guests("g1"), guests("g2", "touch /hold")
    session = join(http, g1, "g1")
    join(http, g2, "g2")
    say("two machines have joined")
    watcher.start()
    spec = {
        "command": ["sh", "-c", ITEM],
        "output": "s3://data/out/{item}",
        "resources": {"cpus": 1, "memory": "128MiB"},
        "canary": False,
        "retries": 0,
    }
    job = submit(http, spec, [f"n{number}" for number in range(ITEMS)])
    lost = cut_power_in_an_upload(env, s3.client(), g1, session)
    say(f"g1 has no power; it had items {sorted(lost)}")
    g3 = guests("g3")
    shut = press_button_under_items(env, http, g2, "g2")
    say(f"g2 has shut down; it had items {sorted(shut)}")
    wait_until("g1 to be given up", lambda: not held(env, session), 120)
    assert lost_once(env) == lost
    say("g1 is given up")
    join(http, g3, "g3")
    say("g3 has joined")
    shown = wait_for_end(http, job, 300)
    say("the job has ended")
    assert shown["counts"]["succeeded"] == ITEMS, shown
    assert sorted(watcher.finish()) == sorted(f"out/n{number}" for number in range(ITEMS))
    assert watcher.wrong == []
    assert sampler.breaches == []
    assert outcomes(env) == ITEMS
    told = [item["outcome"] for item in items_of(http, job)]
    # Neither a lost machine nor one that was shut down uses up an attempt.
    assert {outcome["attempt"] for outcome in told} == {1}
    assert {told[number]["machine"] for number in lost | shut} == {"g3"}
    attempts = http.get(f"/v1/jobs/{job}/stats").json()["attempts"]
    assert attempts["interrupted"] == len(shut) == 2
    assert attempts["total"] == ITEMS + len(shut)
