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
def agent(env, docker, request):
    """With one processor, so that items run one after the other, or as many as the test says."""
    cpus = getattr(request, "param", 1)
    server = env.server()
    started = Agent(env.folder, "m1", [server], "--cpus", str(cpus), docker=docker.socket)
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


# What may have to be ended by its time limit, which its good item has as well; what takes all of a
# processor or of its container; and what ends by itself.
HANG = [bad for bad in SIGNALS + SHORT if "timeout" in bad.causes and "bombs" not in bad.name]
BOMB = [bad for bad in SHORT if "timeout" in bad.causes and "bombs" in bad.name]
END = [bad for bad in SIGNALS + SHORT if bad not in HANG + BOMB]


def make(http, bads, timeout):
    """A job in whose one container a bad item and a good one take turns."""
    spec = {**SPEC, "max_parallel": 1, "timeout": timeout}
    return submit(http, spec, all_of(bads))


def warmed_up(http, agent):
    """The agent's memory after its first items."""
    warm = submit(http, {**SPEC, "command": ["true"]}, 200)
    wait_for_end(http, warm, 120)
    return agent.rss_bytes()


@pytest.mark.parametrize("bads", [END, LONG], ids=["end", "long"])
def test_each_ends_with_its_cause_and_the_next_runs_well(env, docker, agent, bads):
    http = env.servers[-1].http
    before = warmed_up(http, agent)
    job = make(http, bads, "120s")
    wait_for_end(http, job, 600)
    check(http, job, bads)
    assert agent.rss_bytes() - before < GROWTH_BYTES


@pytest.mark.parametrize("agent", [len(HANG)], indirect=True)
def test_each_that_hangs_is_ended_and_the_next_runs_well(env, docker, agent):
    http = env.servers[-1].http
    before = warmed_up(http, agent)
    # All at once but for the fork bomb, which would take the good ones' time.
    for group in (HANG, BOMB):
        jobs = [make(http, [bad], "8s") for bad in group]
        for bad, job in zip(group, jobs):
            wait_for_end(http, job, 300)
            check(http, job, [bad])
    assert agent.rss_bytes() - before < GROWTH_BYTES
