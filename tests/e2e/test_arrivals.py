# SPDX-License-Identifier: Apache-2.0
"""Objects are dropped into a bucket while servers, agents and watchers are killed at random: each
is processed, none is recorded twice, none is missed.

TIDEMILL_ARRIVALS=10000 python3 -m pytest -s tests/e2e/test_arrivals.py is the whole form, of which
the gate runs a twentieth; TIDEMILL_ARRIVALS_SEED plays another one."""

import collections
import concurrent.futures
import hashlib
import os
import random
import threading
import time

import pytest
from agents import Agent
from arrivals import Queue, Watcher, by_bridge, by_s3, by_sns, record
from conserved import Sampler, outcomes
from ec2 import Moto
from env import wait_until
from load import items_of, show

OBJECTS = int(os.environ.get("TIDEMILL_ARRIVALS", "500"))
SEED = int(os.environ.get("TIDEMILL_ARRIVALS_SEED", "1"))

# Between two kills. A watcher that begins lists all that is there: a large bucket takes longer.
PAUSE_S = (0.1, 0.8) if OBJECTS <= 1000 else (1.0, 3.0)

SPEC = """\
name: arrivals
command: ["{program}", "{{item}}"]
resources: {{cpus: 0.1}}
"""


class Killer:
    """Kills one of what runs at a time, and starts it again. For the main thread: what another one
    has started ends with that."""

    def __init__(self, programs, seed):
        self.programs, self.random = programs, random.Random(seed)
        self.killed = collections.Counter()

    def kill_until(self, what, is_over, timeout_s):
        deadline = time.monotonic() + timeout_s
        while not is_over():
            assert time.monotonic() < deadline, f"waited {timeout_s:g} s for {what}"
            time.sleep(self.random.uniform(*PAUSE_S))
            victim = self.random.choice(self.programs)
            victim.kill9()
            self.killed[type(victim).__name__.lower()] += 1
            time.sleep(self.random.uniform(0.0, 0.5))
            victim.start()


class Dropper:
    """Puts objects into the bucket, and messages about most of them into the queue."""

    def __init__(self, s3, queue, seed):
        self.random = random.Random(seed)
        self.queue, self.messages = queue, collections.Counter()
        self._local = threading.local()
        self._s3 = s3

    def put(self, number):
        if not hasattr(self._local, "client"):
            self._local.client = self._s3.client()
        key = f"day {number % 7}/{number:05}+é.bin"
        body = f"object {number}".encode()
        # Now and then the same bytes are put twice: that is the same version.
        for _ in range(2 if number % 50 == 0 else 1):
            self._local.client.put_object(Bucket="scans", Key=key, Body=body)
        return key, hashlib.md5(body).hexdigest()

    def tell(self, objects):
        """Some messages are lost, some come twice, some have several records."""
        bodies = []
        while objects:
            some = [objects.pop() for _ in range(min(len(objects), self.random.choice([1, 1, 3])))]
            kind = self.random.choice(["s3", "s3", "sns", "bridge", "lost", "twice"])
            self.messages[kind] += 1
            message = by_s3(*(record("scans", *one) for one in some))
            if kind == "bridge":
                bodies += [by_bridge("scans", *one) for one in some]
            elif kind != "lost":
                bodies += [by_sns(message) if kind == "sns" else message]
                bodies += [message] * (kind == "twice")
        self.random.shuffle(bodies)
        self.queue.send(*bodies)

    def drop(self, count):
        keys = []
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for at in range(0, count, 100):
                objects = list(pool.map(self.put, range(at, min(at + 100, count))))
                keys += [key for key, _ in objects]
                self.tell(objects)
        return keys


def succeeded(servers, job):
    try:
        return show(servers[0].http, job)["counts"]["succeeded"]
    except (OSError, AssertionError):
        return 0


@pytest.mark.alone
def test_each_object_is_one_item_whatever_dies(env, s3, noop_program, monkeypatch):
    s3.bucket("scans")
    moto = Moto(env.folder).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", moto.url)
    queue = Queue(moto)
    servers = [env.server("--session-seconds", "10") for _ in range(2)]
    agents = [
        Agent(env.folder, f"m{number}", servers, "--cpus", "1").start() for number in range(3)
    ]
    (env.folder / "spec.yaml").write_text(SPEC.format(program=noop_program))
    words = ["s3://scans/", "--job", "spec.yaml", "--queue", queue.url, "--every", "5s"]
    watchers = [
        Watcher(env.folder, f"watcher-{number}", server, *words).start()
        for number, server in enumerate(servers)
    ]
    watchers[0].wait_for("listed")
    killer, sampler = Killer([*servers, *agents, *watchers], SEED), Sampler(env.conninfo)
    dropper, began = Dropper(s3, queue, SEED), time.monotonic()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    try:
        sampler.start()
        dropping = pool.submit(dropper.drop, OBJECTS)
        patience_s = 300 + OBJECTS * 0.2
        killer.kill_until("all objects to be dropped", dropping.done, patience_s)
        keys, dropped = dropping.result(), time.monotonic() - began
        killer.kill_until(
            "most items to be done",
            lambda: succeeded(servers, "arrivals-1") >= OBJECTS * 0.8,
            patience_s,
        )
        wait_until(
            "all items to be done",
            lambda: succeeded(servers, "arrivals-1") >= OBJECTS,
            patience_s,
        )
        took = time.monotonic() - began
        sampler.finish()
        items = items_of(servers[0].http, "arrivals-1")
        counts = show(servers[0].http, "arrivals-1")["counts"]
    finally:
        pool.shutdown(wait=False)
        for program in [*watchers, *agents, moto]:
            program.kill9()
    by = {
        name: sum(watcher.added(name) for watcher in watchers) for name in ["messages", "listing"]
    }
    print(
        f"\n{OBJECTS} objects dropped in {dropped:.0f} s, all done after {took:.0f} s;"
        f" killed {dict(killer.killed)}; messages {dict(dropper.messages)}; added {by};"
        f" {sampler.samples} checks of the database"
    )
    assert sorted(item["text"] for item in items) == sorted(f"s3://scans/{key}" for key in keys)
    assert counts["succeeded"] == counts["total"] == OBJECTS, counts
    assert outcomes(env) == OBJECTS
    assert sampler.breaches == []
