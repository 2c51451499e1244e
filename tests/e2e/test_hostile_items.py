# SPDX-License-Identifier: Apache-2.0
"""Programs that behave badly: each ends with the right cause, and the next item runs well."""

import pytest
from agents import Agent, submit
from hostile_items import LONG, SHORT, SIGNALS, all_of
from load import items_of, wait_for_end

SPEC = {
    "image": "tidemill-test/alpine-like",
    "command": ["sh", "-c", "{item.script}"],
    "resources": {"cpus": 1, "memory": "96MiB", "disk": "128MiB"},
    "retries": 0,
    "grace": "1s",
    "canary": 0,
}
# What an agent may have grown by: what waits of a flood of logs to be written, and what the
# allocator keeps of it. A gigabyte is printed.
GROWTH_BYTES = 64 << 20


@pytest.fixture
def agent(env, docker):
    """One processor, so that the items run one after the other."""
    started = Agent(env.folder, "m1", [env.server()], "--cpus", "1", docker=docker.socket)
    yield started.start()
    started.kill9()


def check(http, job, bads):
    wrong = []
    for item in items_of(http, job):
        bad = bads[item["item"] // 2]
        outcome = item["outcome"]
        told = f"{outcome['cause']} {outcome['exit']}"
        if item["item"] % 2 == 1:
            if outcome["cause"] != "succeeded":
                wrong.append(f"what came after '{bad.name}': {told}")
        elif outcome["cause"] not in bad.causes or bad.exit not in (None, outcome["exit"]):
            wrong.append(f"'{bad.name}': {told}, not {bad.causes} {bad.exit}")
    assert not wrong, "\n".join(wrong)


def test_there_are_more_than_forty():
    names = {bad.name for bad in SIGNALS + SHORT + LONG}
    assert len(names) == len(SIGNALS + SHORT + LONG) >= 40 + len(SIGNALS)


# A good item has as long as the bad one before it, on a machine that may be busy; only those that
# may have to be ended are given little.
HANG = [bad for bad in SIGNALS + SHORT if "timeout" in bad.causes]
END = [bad for bad in SIGNALS + SHORT if bad not in HANG]


@pytest.mark.parametrize("bads,timeout", [(HANG, "8s"), (END, "120s"), (LONG, "120s")])
def test_each_ends_with_its_cause_and_the_next_runs_well(env, docker, agent, bads, timeout):
    http = env.servers[-1].http
    warm = submit(http, {**SPEC, "command": ["true"]}, 200)
    wait_for_end(http, warm, 120)
    before = agent.rss_bytes()
    job = submit(http, {**SPEC, "timeout": timeout}, all_of(bads))
    wait_for_end(http, job, 600)
    check(http, job, bads)
    assert agent.rss_bytes() - before < GROWTH_BYTES
