# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is, on real agents: shares, caps, order, and why something does not run."""

import time

import pytest
from agents import submit
from cli import Cli
from env import wait_until
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


@pytest.mark.alone
def test_ten_items_behind_ten_million_begin_within_one_items_time(env, http, agent, trace):
    agent("large", 20)
    item_s = 5.0  # on average: from 3 to 7, so that they do not end together
    many = submit(http, trace.spec("many", "$((3 + {item} % 5))"), 10_000_000, "many")
    wait_until("all slots to be in use", lambda: trace.most("many") == 20, 60)
    # Leases of more than one item a slot: what has not begun must be given back.
    wait_until("a second round", lambda: len(trace.begins("many")) >= 45, 60)
    before = time.time()
    few = submit(http, trace.spec("few", 0.2), 10, "few")
    wait_until("the ten to begin", lambda: len(trace.begins("few")) == 10, 60)
    took = sorted(at - before for at in trace.begins("few"))
    print(f"began {took[0]:.1f} to {took[-1]:.1f} s after the submit; an item takes {item_s} s")
    assert took[0] < item_s
    wait_until("the small job to finish", lambda: state_of(http, few) == "finished", 60)
    assert state_of(http, many) == "active"


def test_a_cap_is_kept_and_the_rest_is_for_others(http, agent, trace):
    agent("large", 8)
    capped = submit(http, trace.spec("capped", 1, max_parallel=3), 15, "capped")
    others = submit(http, trace.spec("others", 1), 40, "others")
    for job in (capped, others):
        wait_until(f"{job} to finish", lambda job=job: state_of(http, job) == "finished", 60)
    assert trace.most("capped") == 3
    assert trace.most("others") >= 5
    assert trace.most() == 8


@pytest.mark.alone
def test_two_jobs_share_and_a_third_with_priority_goes_first(http, agent, trace):
    agent("large", 8)
    for name in ("one", "two"):
        submit(http, trace.spec(name, 1), 10_000, name)
    wait_until("both to run", lambda: trace.begins("one") and trace.begins("two"), 60)
    begun = max(trace.begins("one")[0], trace.begins("two")[0]) + 4
    wait_until("some rounds", lambda: time.time() > begun + 12, 30)

    def rate(name):
        return sum(begun <= at < begun + 12 for at in trace.begins(name))

    one, two = rate("one"), rate("two")
    print(f"in 12 s of 8 slots: {one} and {two} items of one second")
    assert 0.7 < one / two < 1.4 and one + two > 60

    first = submit(http, trace.spec("first", 1, priority=10), 24, "first")
    wait_until("it to finish", lambda: state_of(http, first) == "finished", 60)
    span = trace.begins("first")[0] + 1, trace.begins("first")[-1]
    others = [at for name in ("one", "two") for at in trace.begins(name)]
    assert sum(span[0] < at < span[1] - 1 for at in others) <= 2


def test_a_job_comes_after_another(env, http, agent, trace):
    agent("large", 4)
    first = submit(http, trace.spec("first", 4), 8, "first")
    second = submit(http, trace.spec("second", 0.1, after=[first]), 4, "second")
    wait_until("a reason", lambda: codes(http, second) == ["after"], 60)
    wait_until("the second to finish", lambda: state_of(http, second) == "finished", 60)
    ends = [step.at for step in trace.steps("first") if step.change == -1]
    assert len(ends) == 8 and max(ends) < min(trace.begins("second"))

    fails = submit(http, {"command": ["false"], "canary": 0, "retries": 0}, 2, "fails")
    third = submit(http, trace.spec("third", 0.1, after=[fails]), 1, "third")
    wait_until("somebody to be asked", lambda: state_of(http, third) == "paused", 60)
    shown = http.get(f"/v1/jobs/{third}").json()
    assert shown["reason"] == f"{fails}, which it comes after, ended with 2 failed items"
    assert http.post(f"/v1/jobs/{third}/resume", {}).status == 200
    wait_until("the third to finish", lambda: state_of(http, third) == "finished", 60)


def test_why_says_what_keeps_a_job_with_numbers(env, http, agent, trace, tmp_path):
    agent("small", 2, "--memory", "1GiB")
    cli = Cli(tmp_path, env.servers[0])
    large = submit(http, {"command": ["true"], "resources": {"memory": "31GiB"}}, 1, "large")
    wait_until("a reason", lambda: codes(http, large) == ["too_large"], 60)
    said = cli("why", large)
    print(said.out)
    assert "31" in said.out and "1" in said.out and said.code == 0
    labelled = submit(http, trace.spec("x", 1, labels={"zone": "moon"}), 1, "labelled")
    wait_until("a reason", lambda: codes(http, labelled) == ["labels"], 60)
    paused = submit(http, trace.spec("x", 1), 1, "paused")
    http.post(f"/v1/jobs/{paused}/pause", {})
    wait_until("a reason", lambda: codes(http, paused) == ["paused"], 60)
    full = submit(http, trace.spec("full", 60), 50, "full")
    wait_until("it to run", lambda: trace.begins("full"), 60)
    wait_until("a reason", lambda: codes(http, full) == ["full"], 60)
    machine = http.get("/v1/machines/small/why").json()
    print(machine)
    assert machine["reasons"][0]["code"] == "machine_full"
    said = cli("why", full)
    print(said.out)
    assert f"{full} " in said.out
