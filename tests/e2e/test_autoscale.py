# SPDX-License-Identifier: Apache-2.0
"""From no machine to many and back, with real agents, and what it cost."""

import json
import os
import signal

import pytest
from agents import submit
from env import wait_until, whole_lines
from machines import Machines

# What a provider bills at least, and what a second costs in the pools of these tests.
LEAST_US, MICROS_A_SECOND = 60_000_000, 1000


@pytest.fixture
def machines(env):
    made = []

    def start(servers=1):
        made.append(Machines(env, servers))
        return made[-1]

    yield start
    for one in made:
        one.close()


def sleep_spec(seconds, **more):
    return {"command": ["sleep", str(seconds)], "resources": {"cpus": 1}, **more}


def is_finished(http, job):
    return http.get(f"/v1/jobs/{job}").json()["state"] == "finished"


def wait_for_end(http, job, timeout_s=120):
    wait_until(f"{job} to finish", lambda: is_finished(http, job), timeout_s)
    assert http.get(f"/v1/jobs/{job}").json()["counts"]["failed"] == 0


def cost_us(row):
    """What the provider bills for one machine, in millionths of a dollar."""
    lived = max(row.ended_us - row.since_us, LEAST_US)
    return lived * MICROS_A_SECOND // 1_000_000


def put_down(env):
    micros, time_us = env.sql("select sum(micros), sum(time_us) from spend").strip().split("|")
    return int(micros), int(time_us)


def nothing_is_left(farm):
    states = farm.states()
    return set(states) == {"gone"} and not farm.pids()


def test_from_none_to_many_to_none_and_every_second_is_paid_once(env, machines):
    farm = machines()
    farm.pool("spot")
    assert farm.pids() == []
    job = submit(farm.http, sleep_spec(1, deadline="3m"), 360)
    most = 0

    def is_over():
        nonlocal most
        most = max(most, len(farm.pids()))
        assert most <= 3
        return is_finished(farm.http, job)

    wait_until("all items to be done", is_over, 150)
    assert most == 3
    wait_until("all machines to be gone", lambda: nothing_is_left(farm), 120)
    bill = farm.bill()
    assert len(bill) == 3

    def adds_up():
        return put_down(env) == (
            sum(cost_us(row) for row in bill),
            sum(row.ended_us - row.since_us for row in bill),
        )

    wait_until("the accounts to be the bill", adds_up, 60)
    cost = farm.http.get(f"/v1/jobs/{job}/cost").json()
    assert cost["items_done"] == 360
    assert cost["spent"] > 0, env.sql("select * from spend")


def test_a_server_dies_and_two_lead_and_no_machine_is_left(env, machines):
    """One of two servers is killed in the middle, the other stops for longer than a leader may."""
    farm = machines(servers=2)
    farm.pool("spot")
    job = submit(farm.http, sleep_spec(1, deadline="3m"), 360)
    wait_until("machines to work", lambda: farm.states().get("joined", 0) >= 2, 60)
    leader = leads(env, farm)
    leader.kill9()
    wait_until("the other to lead", lambda: leads(env, farm) is not leader, 60)
    leader.start()
    # A leader that sleeps wakes up believing that it leads.
    other = leads(env, farm)
    os.kill(other.pid, signal.SIGSTOP)
    wait_until("the first to lead again", lambda: leads(env, farm) is leader, 60)
    os.kill(other.pid, signal.SIGCONT)
    most = 0

    def is_over():
        nonlocal most
        most = max(most, len(farm.pids()))
        return is_finished(leader.http, job)

    wait_until("all items to be done", is_over, 150)
    assert most <= 3
    wait_until("all machines to be gone", lambda: nothing_is_left(farm), 120)
    counts = farm.http.get(f"/v1/jobs/{job}").json()["counts"]
    assert counts["succeeded"] == 360
    bill = farm.bill()
    assert len({row.name for row in bill}) == len(bill)

    def adds_up():
        return put_down(env) == (
            sum(cost_us(row) for row in bill),
            sum(row.ended_us - row.since_us for row in bill),
        )

    wait_until("the accounts to be the bill", adds_up, 60)


def leads(env, farm):
    """The server that leads, by who has said so last."""
    said = {}
    for server in farm.servers:
        for line in whole_lines(server.log):
            if '"leader.leads"' in line:
                said[json.loads(line)["epoch"]] = server
    return said[max(said)]


def test_what_was_lost_with_a_machine_is_paid_as_lost(env, machines):
    farm = machines()
    farm.pool("spot", max=1)
    job = submit(farm.http, sleep_spec(3), 16)
    path = f"/v1/jobs/{job}"
    wait_until(
        "some to be done", lambda: farm.http.get(path).json()["counts"]["succeeded"] >= 2, 60
    )
    for pid in farm.pids():
        os.kill(pid, signal.SIGKILL)
    wait_for_end(farm.http, job)
    cost = farm.http.get(f"{path}/cost").json()
    print(cost)
    assert 0 < cost["lost"] < cost["spent"]
    assert cost["cost_an_item"] == pytest.approx(cost["spent"] / 16, abs=1e-5)


def test_too_dear_and_not_to_be_had_falls_through(env, machines):
    """Of three pools one is above its price cap, one has one machine, one has the rest."""
    farm = machines()
    farm.pool("dear", price=3.0, on_demand=3.6, max_price=50)
    farm.pool("scarce", max=3, options={"engine": "process", "capacity": 1})
    farm.pool("plenty", max=3)
    farm.queue("work", ["dear", "scarce", "plenty"])
    job = submit(farm.http, sleep_spec(1, deadline="3m", queue="work"), 300)
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


def test_a_budget_ends_the_work_in_time(env, machines):
    """What is spent stays below the budget and what machines cost until they are gone (S21)."""
    farm = machines()
    farm.pool("spot", max=2)
    farm.queue("work", ["spot"])
    # A slot costs half of a tenth of a cent a second, and 270 s of it and an item are set aside.
    budget = 0.17
    job = submit(farm.http, sleep_spec(1, budget=budget, queue="work"), 100_000)
    wait_until("it to run", lambda: farm.states().get("joined", 0) >= 1, 60)
    path = f"/v1/jobs/{job}"

    def is_held():
        why = farm.http.get(f"{path}/why").json()["reasons"]
        counts = farm.http.get(path).json()["counts"]
        return why[0]["code"] == "budget" and counts["running"] == 0

    wait_until("the budget to be spent", is_held, 240)
    wait_until("all machines to be gone", lambda: nothing_is_left(farm), 120)
    spent = farm.http.get(f"{path}/cost").json()["spent"]
    print(f"spent {spent} of {budget}")
    assert 0 < spent <= budget + 2 * 3.6 * 270 / 3600
