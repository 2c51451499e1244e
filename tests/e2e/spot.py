# SPDX-License-Identifier: Apache-2.0
"""Machines that hear, one after another, that they will be taken away; and what they hold then."""

import datetime
import math
import os
import time

from agents import Agent
from env import wait_until
from metadata import Ec2Metadata

NOTICES = int(os.environ.get("TIDEMILL_NOTICES", "4"))
MACHINES, SLOTS = 8, 4
# A second each. Those that begin on a machine that holds stay until it does not any more.
ITEM = """\
machine=${TIDEMILL_SCRATCH%%-state/*}
if [ ! -e $machine.hold ]; then exec sleep 1; fi
echo $TIDEMILL_INDEX >> $machine.held
while [ -e $machine.hold ]; do sleep 0.05; done
"""
SPEC = {
    "command": ["sh", "-c", ITEM],
    "resources": {"cpus": 1},
    "canary": False,
    "retries": 0,
}


class Machine:
    """An agent, and what its cloud tells it."""

    def __init__(self, env, number):
        self.name = f"m{number}"
        self.hold, self.held = (env.folder / f"{self.name}.{end}" for end in ("hold", "held"))
        self.cloud = Ec2Metadata(env.folder, f"metadata-{number}").say()
        flags = ["--cloud", "aws", "--cpus", str(SLOTS), "--memory", "1GiB"]
        self.agent = Agent(env.folder, self.name, env.servers, *flags)
        self.agent.spawn({**self.cloud.environment, "AWS_EC2_METADATA_DISABLED": "false"})

    def join(self):
        joined = wait_until(f"{self.name} to join", lambda: self.agent.events("agent.joined"))
        wait_until(f"{self.name} to be ready", lambda: self.agent.events("agent.ready"))
        self.session = joined[0]["session"]
        return self

    def interrupt(self):
        """The time from which on it can be read, or some hundredths of a second after that."""
        self.cloud.say(spot_in_s=120)
        return time.time()

    def leave(self):
        assert self.agent._process.wait(60) == 0
        self.cloud.kill9()

    def end(self):
        self.agent.kill9()
        self.cloud.kill9()


class SpotFleet:
    """MACHINES of them; the one that has been there longest goes first."""

    def __init__(self, env):
        self._env, self._made, self.machines = env, 0, []

    def fill(self):
        while len(self.machines) < MACHINES:
            self._made += 1
            self.machines.append(Machine(self._env, self._made))
        for machine in self.machines:
            machine.join()
        return self.machines[0]

    def leave(self, machine):
        machine.leave()
        self.machines.remove(machine)

    def end(self):
        for machine in self.machines:
            machine.end()


def owed(env, job):
    """The items of a job that are leased, by session."""
    rows = env.sql(
        "select l.session_id, c.first_item, l.mine from lease l join chunk c using (job_id, chunk)"
        f" where l.job_id = {number_of(job)}"
    ).split()
    found = {}
    for session, first, bits in (row.split("|") for row in rows):
        items = {int(first) + offset for offset, bit in enumerate(bits) if bit == "1"}
        found[session] = found.get(session, set()) | items
    return found


def is_back(env, job, machine, most):
    return len(owed(env, job).get(machine.session, ())) <= most


def number_of(job):
    return int(job.rsplit("-", 1)[1])


def is_done(env, job, items):
    rows = env.sql(f"select first_item, done from chunk where job_id = {number_of(job)}").split()
    done = {int(first): bits for first, bits in (row.split("|") for row in rows)}
    starts = sorted(done)
    for item in items:
        first = max(start for start in starts if start <= item)
        if done[first][item - first] != "1":
            return False
    return True


def begun_at(outcome):
    return datetime.datetime.fromisoformat(outcome["started_at"].replace("Z", "+00:00")).timestamp()


def say(what, seconds):
    """Prints how they are spread; gives what 99 of a hundred are within."""
    values = sorted(seconds)

    def at(share):
        return values[math.ceil(share * len(values)) - 1]

    print(
        f"{what}: {len(values)} values, half within {at(0.5):.2f} s, 90 % {at(0.9):.2f} s,"
        f" 99 % {at(0.99):.2f} s, all {values[-1]:.2f} s"
    )
    return at(0.99)
