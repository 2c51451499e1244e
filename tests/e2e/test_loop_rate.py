# SPDX-License-Identifier: Apache-2.0
"""What an item costs that goes through a loop: server, PostgreSQL, agent, container, program and
back.

A program that does nothing with its items is faster than they come: it asks for 64 and gets those
that wait, which are fewer. TIDEMILL_LOOP_ITEMS sets the size of the jobs whose rate is measured.
"""

import os
import pathlib
import sys
import time

import figures
import pytest
from agents import submit
from conserved import outcomes
from costs import Cpu
from load import wait_for_end

ITEMS = int(os.environ.get("TIDEMILL_LOOP_ITEMS", "200000"))
FEW = 20_000
# Processor time per item of server, PostgreSQL and agent together.
MANY_US_MAX, ONE_US_MAX = 70, 170
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


def run(env, spec, items):
    """Seconds from the submission to the end."""
    server, begin = env.servers[0], time.monotonic()
    shown = wait_for_end(server.http, submit(server.http, spec, items), 300)
    assert shown["counts"]["succeeded"] == items, shown
    return time.monotonic() - begin


def cost_of(env, agent, spec, items):
    """Processor time per item in microseconds, by program."""
    cpu = Cpu(env, [env.servers[0], agent])
    run(env, spec, items)
    costs = {name: round(spent / items * 1e6, 1) for name, spent in cpu.spent().items()}
    print(f"\n{spec['command']}: us per item {costs}")
    return costs


def test_an_item_of_a_container_costs_little(env, docker, fleet):
    env.server()
    agent = fleet("m1", "--cpus", "2")
    many = cost_of(env, agent, cpp(64), FEW)
    one_by_one = cost_of(env, agent, cpp(1), FEW // 4)
    assert outcomes(env) == FEW + FEW // 4
    assert sum(many.values()) <= MANY_US_MAX, many
    assert sum(one_by_one.values()) <= ONE_US_MAX, one_by_one


def test_an_item_of_a_process_costs_little(env, processes):
    env.server()
    agent = processes("m1", "--cpus", "2")
    many = cost_of(env, agent, python(64), FEW)
    one_by_one = cost_of(env, agent, python(1), FEW // 4)
    assert outcomes(env) == FEW + FEW // 4
    assert sum(many.values()) <= MANY_US_MAX, many
    assert sum(one_by_one.values()) <= ONE_US_MAX, one_by_one


@pytest.mark.long
def test_ten_thousand_items_a_second_with_a_program_that_asks_for_64(env, docker, fleet):
    env.server()
    fleet("m1", "--cpus", "2")
    rates = figures.repeated(3, lambda: round(ITEMS / run(env, cpp(64), ITEMS)))
    assert outcomes(env) == 3 * ITEMS
    figures.record("loop_cpp_64", "items/s", rates, minimum=10_000, items=ITEMS)
    rates = figures.repeated(3, lambda: round(ITEMS // 4 / run(env, cpp(1), ITEMS // 4)))
    figures.record("loop_cpp_1", "items/s", rates, minimum=3_000, items=ITEMS // 4)


@pytest.mark.long
def test_the_rate_of_a_program_in_python(env, processes):
    env.server()
    processes("m1", "--cpus", "2")
    rates = figures.repeated(3, lambda: round(ITEMS // 2 / run(env, python(64), ITEMS // 2)))
    figures.record("loop_python_64", "items/s", rates, minimum=5_000, items=ITEMS // 2)
    rates = figures.repeated(3, lambda: round(ITEMS // 20 / run(env, python(1), ITEMS // 20)))
    figures.record("loop_python_1", "items/s", rates, minimum=500, items=ITEMS // 20)
