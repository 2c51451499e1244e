# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is, on real agents: shares, caps, order, and why something does not run.

No test looks at a clock: items stay until they are released, so what has begun by then is what the
plan says."""

import pytest
from agents import submit
from cli import Cli
from env import wait_until
from machines import wait_for_rounds
from spot import owed
from traced import Trace


@pytest.fixture
def trace(tmp_path):
    return Trace(tmp_path)


@pytest.fixture
def agent(processes):
    """Makes agents of so many processors."""
    return lambda name, cpus, *flags: processes(name, "--cpus", str(cpus), *flags)


def state_of(http, job):
    return http.get(f"/v1/jobs/{job}").json()["state"]


def codes(http, job):
    return [reason["code"] for reason in http.get(f"/v1/jobs/{job}/why").json()["reasons"]]


def wait_for_finish(http, job):
    wait_until(f"{job} to finish", lambda: state_of(http, job) == "finished", 60)


def count_owed(env, job):
    """Items of a job under leases."""
    return sum(len(items) for items in owed(env, job).values())


def test_ten_items_behind_ten_million_begin_within_one_items_time(env, http, agent, trace):
    """Once the machine knows its part, all ten have begun when each item that ran before has ended;
    what else it holds of the other job waits."""
    agent("large", 20)
    first = 400  # those before it are fast, so that leases have many items
    many = submit(http, trace.held("many", first, canary=0), 10_000_000, "many")

    def held():
        running = trace.running("many")
        return running if len(running) == 20 and running[0] >= first else None

    running = wait_until("all slots to be in use", held)
    assert count_owed(env, many) > 20
    few = submit(http, trace.held("few", canary=0), 10, "few")

    def all_in_use():
        return len(trace.running("many")) + len(trace.running("few")) == 20

    while not trace.running("few"):
        wait_for_rounds(env, 1)
        trace.release("many", running.pop())
        wait_until("its slot to be in use again", all_in_use)
    assert len(running) >= 10, "it takes a second or two until the machine knows"
    trace.release("many", *running)
    trace.wait_for_begun("few", 10)
    wait_until("the other slots to be in use", lambda: len(trace.running("many")) == 10)
    assert count_owed(env, many) > 10, "nothing was given back"
    trace.release("few")
    wait_for_finish(http, few)
    assert state_of(http, many) == "active"


def test_a_cap_is_kept_and_the_rest_is_for_others(http, agent, trace):
    agent("large", 8)
    capped = submit(http, trace.held("capped", max_parallel=3, canary=0), 15, "capped")
    others = submit(http, trace.held("others", canary=0), 40, "others")
    trace.wait_for_begun("others", 5)
    trace.wait_for_begun("capped", 3)
    assert (trace.most("capped"), trace.most("others"), trace.most()) == (3, 5, 8)
    for job in ("capped", "others"):
        trace.release(job)
    for job in (capped, others):
        wait_for_finish(http, job)
    assert trace.most("capped") == 3
    assert trace.most() == 8


def test_two_jobs_share_and_a_third_with_priority_goes_first(env, http, agent, trace):
    for name in ("one", "two"):
        submit(http, trace.held(name, canary=0), 10_000, name)
    agent("large", 8)
    running = {name: trace.wait_for_begun(name, 4) for name in ("one", "two")}
    assert trace.most() == 8
    first = submit(http, trace.held("first", priority=10, canary=0), 8, "first")
    wait_for_rounds(env)
    for name, items in running.items():
        trace.release(name, *items)
    trace.wait_for_begun("first", 8)
    assert sorted(trace.begun()) == sorted([*running["one"], *running["two"], *range(8)])
    trace.release("first")
    wait_for_finish(http, first)
    for name in ("one", "two"):
        trace.wait_for_begun(name, 8)


def test_a_job_comes_after_another(env, http, agent, trace):
    agent("large", 4)
    first = submit(http, trace.held("first"), 8, "first")
    second = submit(http, trace.spec("second", after=[first]), 4, "second")
    trace.wait_for_begun("first", 4)
    wait_until("a reason", lambda: codes(http, second) == ["after"], 60)
    trace.release("first")
    wait_for_finish(http, second)
    steps = [(step.job, step.change) for step in trace.steps()]
    assert steps.count(("first", -1)) == 8
    assert ("second", 1) not in steps[: len(steps) - 8]

    fails = submit(http, {"command": ["false"], "canary": 0, "retries": 0}, 2, "fails")
    third = submit(http, trace.spec("third", after=[fails]), 1, "third")
    wait_until("somebody to be asked", lambda: state_of(http, third) == "paused", 60)
    shown = http.get(f"/v1/jobs/{third}").json()
    assert shown["reason"] == f"{fails}, which it comes after, ended with 2 failed items"
    assert http.post(f"/v1/jobs/{third}/resume", {}).status == 200
    wait_for_finish(http, third)


def test_why_says_what_keeps_a_job_with_numbers(env, http, agent, trace, tmp_path):
    agent("small", 2, "--memory", "1GiB")
    cli = Cli(tmp_path, env.servers[0])
    large = submit(http, {"command": ["true"], "resources": {"memory": "31GiB"}}, 1, "large")
    wait_until("a reason", lambda: codes(http, large) == ["too_large"], 60)
    said = cli("why", large)
    print(said.out)
    assert "31" in said.out and "1" in said.out and said.code == 0
    labelled = submit(http, trace.spec("x", labels={"zone": "moon"}), 1, "labelled")
    wait_until("a reason", lambda: codes(http, labelled) == ["labels"], 60)
    paused = submit(http, trace.held("x"), 1, "paused")
    http.post(f"/v1/jobs/{paused}/pause", {})
    wait_until("a reason", lambda: codes(http, paused) == ["paused"], 60)
    full = submit(http, trace.held("full"), 50, "full")
    wait_until("it to run", lambda: trace.begun("full"), 60)
    wait_until("a reason", lambda: codes(http, full) == ["full"], 60)
    machine = http.get("/v1/machines/small/why").json()
    print(machine)
    assert machine["reasons"][0]["code"] == "machine_full"
    said = cli("why", full)
    print(said.out)
    assert f"{full} " in said.out
