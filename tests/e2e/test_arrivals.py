# SPDX-License-Identifier: Apache-2.0
"""Objects are dropped into a bucket while servers, agents and watchers are killed: each is
processed, none is recorded twice, none is missed.

TIDEMILL_ARRIVALS sets the number of objects: 210 in the gate, 10,000 in `.ci/long arrivals`.
TIDEMILL_ARRIVALS_SEED chooses the order of the kills and the messages that are lost."""

import collections
import concurrent.futures
import hashlib
import os
import random
import threading
import time

from agents import Agent
from arrivals import Queue, Watcher, by_bridge, by_s3, by_sns, record
from conserved import Sampler, outcomes
from ec2 import Moto
from env import wait_until
from load import items_of, show

OBJECTS = int(os.environ.get("TIDEMILL_ARRIVALS", "210"))
SEED = int(os.environ.get("TIDEMILL_ARRIVALS_SEED", "1"))
# Objects between two kills. There are seven programs: in the gate each is killed twice.
BATCH = 15 if OBJECTS <= 1000 else 50
JOB = "arrivals-1"

SPEC = """\
name: arrivals
command: ["{program}", "{{item}}"]
resources: {{cpus: 0.1}}
"""


class Killer:
    """Kills the programs in turn, and starts them again. For the main thread: what another one has
    started ends with that."""

    def __init__(self, programs, seed):
        self.random = random.Random(seed)
        self.killed = collections.Counter()
        self._programs, self._turn = programs, []

    def kill_next(self):
        if not self._turn:
            self._turn = self.random.sample(self._programs, len(self._programs))
        victim = self._turn.pop()
        victim.kill9()
        self.killed[type(victim).__name__.lower()] += 1
        time.sleep(self.random.uniform(0.0, 0.5))  # how long it is not there
        victim.start()


class Dropper:
    """Puts objects into the bucket, and messages about most of them into the queue."""

    def __init__(self, s3, queue, seed):
        self.random = random.Random(seed)
        self.queue, self.messages = queue, collections.Counter()
        self.keys = []
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

    def drop(self, numbers):
        objects = []
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for one in pool.map(self.put, numbers):
                objects.append(one)
                self.keys.append(one[0])
        self.tell(objects)


def succeeded(servers, job):
    try:
        return show(servers[0].http, job)["counts"]["succeeded"]
    except (OSError, AssertionError):
        return 0


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
        patience_s = 120 + OBJECTS * 0.2
        batches = [range(at, min(at + BATCH, OBJECTS)) for at in range(0, OBJECTS, BATCH)]
        for turn, batch in enumerate(batches):
            dropping = pool.submit(dropper.drop, batch)
            # By turns when some of the batch are there, and when some of the one before are done.
            some = batch.start + killer.random.randrange(1, len(batch))
            if turn % 2 == 0:
                wait_until("some objects", lambda s=some: len(dropper.keys) >= s, patience_s)
            else:
                some -= BATCH
                wait_until("some items", lambda s=some: succeeded(servers, JOB) >= s, patience_s)
            killer.kill_next()
            dropping.result(patience_s)
        wait_until(
            "all items to be done",
            lambda: succeeded(servers, JOB) >= OBJECTS,
            patience_s,
        )
        took = time.monotonic() - began
        sampler.finish()
        items = items_of(servers[0].http, JOB)
        counts = show(servers[0].http, JOB)["counts"]
    finally:
        pool.shutdown(wait=False)
        for program in [*watchers, *agents, moto]:
            program.kill9()
    by = {
        name: sum(watcher.added(name) for watcher in watchers) for name in ["messages", "listing"]
    }
    print(
        f"\n{OBJECTS} objects done after {took:.0f} s;"
        f" killed {dict(killer.killed)}; messages {dict(dropper.messages)}; added {by};"
        f" {sampler.samples} checks of the database"
    )
    assert sorted(item["text"] for item in items) == sorted(
        f"s3://scans/{key}" for key in dropper.keys
    )
    assert counts["succeeded"] == counts["total"] == OBJECTS, counts
    assert outcomes(env) == OBJECTS
    assert sampler.breaches == []
    assert sum(killer.killed.values()) == len(batches) and len(killer.killed) == 3, killer.killed
