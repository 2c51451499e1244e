# SPDX-License-Identifier: Apache-2.0
"""From no machine to many and back, with real agents, and what it cost."""

import json
import os
import signal

import pytest
from agents import submit
from env import found_below, wait_until, whole_lines
from load import show, wait_for_end
from machines import BILLED_AT_LEAST_S, Machines, most_at_once, wait_for_rounds
from traced import Trace

# What a second costs in the pools of these tests, in millionths of a dollar.
MICROS_A_SECOND = 1000


@pytest.fixture
def machines(env, times):
    times("server.leader_silence=2s", "server.reap_every=1s")
    made = []

    def start(servers=1):
        made.append(Machines(env, servers))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture
def trace(tmp_path):
    return Trace(tmp_path)


def put_down(env):
    micros, time_us = env.sql("select sum(micros), sum(time_us) from spend").strip().split("|")
    return int(micros), int(time_us)


def wait_for_bill(env, farm):
    """Until all machines are gone, and the accounts are what the provider bills for them."""
    wait_until("all machines to be gone", farm.all_gone, 120)
    bill = farm.bill()
    lives = [row.ended_us - row.since_us for row in bill]
    billed = [max(life, BILLED_AT_LEAST_S * 1_000_000) for life in lives]
    cost = sum(life * MICROS_A_SECOND // 1_000_000 for life in billed)
    wait_until("the accounts to be the bill", lambda: put_down(env) == (cost, sum(lives)), 60)
    return bill


def test_from_none_to_many_to_none_and_every_second_is_paid_once(env, machines, trace):
    farm = machines()
    farm.pool("spot")
    assert farm.pids() == []
    job = submit(farm.http, trace.held("job", deadline="3m", canary=0), 12)
    trace.wait_for_begun("job", 6)
    assert len(farm.pids()) == 3
    for log in found_below(farm.folder, "*/*/*/agent.log"):
        assert "times.shortened" in log.read_text(), "a machine has the times of its server"
    cost = lambda: farm.http.get(f"/v1/jobs/{job}/cost").json()  # noqa: E731
    wait_until("some of it to be paid", lambda: cost()["spent"] > 0)
    trace.release("job")
    assert wait_for_end(farm.http, job, 120)["counts"]["succeeded"] == 12
    bill = wait_for_bill(env, farm)
    assert len(bill) == most_at_once(bill) == farm.made() == 3
    assert cost()["items_done"] == 12


def test_a_server_dies_and_two_lead_and_no_machine_is_left(env, machines, trace):
    """One of two servers is killed in the middle, the other stops for longer than a leader may."""
    farm = machines(servers=2)
    farm.pool("spot")
    job = submit(farm.http, trace.held("job", canary=0), 12)
    trace.wait_for_begun("job", 6)
    leader = leads(env, farm)
    leader.kill9()
    wait_until("the other to lead", lambda: leads(env, farm) is not leader, 60)
    leader.start()
    # A leader that sleeps wakes up believing that it leads.
    other = leads(env, farm)
    os.kill(other.pid, signal.SIGSTOP)
    wait_until("the first to lead again", lambda: leads(env, farm) is leader, 60)
    os.kill(other.pid, signal.SIGCONT)
    wait_for_rounds(env)
    trace.release("job")
    assert wait_for_end(leader.http, job, 120)["counts"]["succeeded"] == 12
    bill = wait_for_bill(env, farm)
    assert len({row.name for row in bill}) == len(bill)
    assert most_at_once(bill) <= 3


def leads(env, farm):
    """The server that leads, by who has said so last."""
    said = {}
    for server in farm.servers:
        for line in whole_lines(server.log):
            if '"leader.leads"' in line:
                said[json.loads(line)["epoch"]] = server
    return said[max(said)]


def test_what_was_lost_with_a_machine_is_paid_as_lost(env, machines, trace):
    farm = machines()
    farm.pool("spot", max=1)
    trace.release("job", 0, 1)
    job = submit(farm.http, trace.held("job", canary=0), 6)
    wait_until("two to be done", lambda: show(farm.http, job)["counts"]["succeeded"] == 2, 60)
    trace.wait_for_begun("job", 4)
    for pid in farm.pids():
        os.kill(pid, signal.SIGKILL)
    trace.release("job")
    assert wait_for_end(farm.http, job, 120)["counts"]["succeeded"] == 6
    cost = farm.http.get(f"/v1/jobs/{job}/cost").json()
    print(cost)
    assert 0 < cost["lost"] < cost["spent"]
    assert cost["cost_an_item"] == pytest.approx(cost["spent"] / 6, abs=1e-5)


def test_too_dear_and_not_to_be_had_falls_through(env, machines, trace):
    """Of three pools one is above its price cap, one has one machine, one has the rest."""
    farm = machines()
    farm.pool("dear", price=3.0, on_demand=3.6, max_price=50)
    farm.pool("scarce", max=3, options={"engine": "process", "capacity": 1})
    farm.pool("plenty", max=3)
    farm.queue("work", ["dear", "scarce", "plenty"])
    job = submit(farm.http, trace.held("job", queue="work", canary=0), 12)
    wait_until("both to work", lambda: joined(env) == {"scarce": 1, "plenty": 2}, 90)
    expected = {("dear", "price_cap"), ("scarce", "no_capacity")}

    def told():
        reasons = farm.http.get(f"/v1/jobs/{job}/why").json()["reasons"]
        said = {(reason.get("pool"), reason["code"]) for reason in reasons}
        return reasons if expected <= said else None

    reasons = wait_until("why to name both", told)
    print(reasons)
    assert any("local capacity is 1" in reason["sentence"] for reason in reasons)
    assert "dear" not in joined(env)


def joined(env):
    rows = env.sql("select pool, count(*) from machine where state = 2 group by pool").split()
    return {row.split("|")[0]: int(row.split("|")[1]) for row in rows}


def test_a_budget_ends_the_work_in_time(env, machines, trace):
    """What is spent stays below the budget and what machines cost until they are gone (S21)."""
    farm = machines()
    farm.pool("spot", max=2)
    farm.queue("work", ["spot"])
    # A slot costs half of a tenth of a cent a second, and 270 s of it and an item are set aside.
    budget = 0.14
    job = submit(farm.http, trace.spec("job", "sleep 0.2", budget=budget, queue="work"), 100_000)
    trace.wait_for_begun("job", 1)
    path = f"/v1/jobs/{job}"

    def is_held():
        why = farm.http.get(f"{path}/why").json()["reasons"]
        counts = farm.http.get(path).json()["counts"]
        return why[0]["code"] == "budget" and counts["running"] == 0

    wait_until("the budget to be spent", is_held, 240)
    wait_until("all machines to be gone", farm.all_gone, 120)
    spent = farm.http.get(f"{path}/cost").json()["spent"]
    print(f"spent {spent} of {budget}")
    assert 0 < spent <= budget + 2 * 3.6 * 270 / 3600
