# SPDX-License-Identifier: Apache-2.0
"""How many items a second go through loops: server, PostgreSQL, agent, container, program and back.

A program that does nothing with its items is faster than they come: it asks for 64 and gets those
that wait, which are fewer. TIDEMILL_LOOP_ITEMS sets the size of the largest jobs.
"""

import os
import pathlib
import statistics
import sys
import time

import pytest
from agents import Agent, submit
from conserved import outcomes
from env import children
from load import wait_for_end

ITEMS = int(os.environ.get("TIDEMILL_LOOP_ITEMS", "200000"))
pytestmark = pytest.mark.alone
PROGRAM = pathlib.Path(__file__).with_name("loop_program.py")


def cpp(batch):
    return {
        "image": "tidemill-test/loop",
        "command": ["/loop-probe", str(batch)],
        "mode": "loop",
        "resources": {"cpus": 1, "memory": "64MiB"},
    }


def python(batch):
    return {"command": [sys.executable, str(PROGRAM), str(batch)], "mode": "loop"}


def cpu_of(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")


def cpu_of_postgres(env):
    return sum(cpu_of(pid) for pid in [env.postgres.pid, *children(env.postgres.pid)])


def rate_of(env, agent, spec, items, what):
    """Items a second, from the submission to the end; prints where the processors' time went."""
    server = env.servers[0]

    def spent():
        return server.cpu_seconds(), cpu_of_postgres(env), agent.cpu_seconds()

    before, begin = spent(), time.monotonic()
    shown = wait_for_end(server.http, submit(server.http, spec, items), 300)
    took = time.monotonic() - begin
    assert shown["counts"]["succeeded"] == items, shown
    shares = [(b - a) / items * 1e6 for a, b in zip(before, spent())]
    print(
        f"{what}: {items / took:,.0f} items/s; us of an item:"
        f" server {shares[0]:.1f}, PostgreSQL {shares[1]:.1f}, agent {shares[2]:.1f}"
    )
    return items / took


def test_ten_thousand_items_a_second_with_a_program_that_asks_for_64(env, docker):
    server = env.server()
    agent = Agent(env.folder, "m1", [server], "--cpus", "2", docker=docker.socket).start()
    try:
        print()
        rates = [rate_of(env, agent, cpp(64), ITEMS, "C++, up to 64 at a time") for _ in range(3)]
        rate_of(env, agent, cpp(1), ITEMS // 4, "C++, one by one")
    finally:
        agent.kill9()
    assert outcomes(env) == 3 * ITEMS + ITEMS // 4
    assert statistics.median(rates) >= 10_000, rates


def test_the_same_with_a_program_in_python(env):
    server = env.server()
    agent = Agent(env.folder, "m1", [server], "--cpus", "2").start()
    try:
        print()
        rate_of(env, agent, python(64), ITEMS // 2, "Python, up to 64 at a time")
        rate_of(env, agent, python(1), ITEMS // 20, "Python, one by one")
    finally:
        agent.kill9()
