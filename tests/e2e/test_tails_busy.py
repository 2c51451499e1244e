# SPDX-License-Identifier: Apache-2.0
"""The same as test_tails.py where no machine has room, with a quarter of the notices.

A long test: `.ci/long tails`.
"""

import time

import figures
import pytest
from agents import submit
from env import wait_until
from load import items_of, show
from spot import MACHINES, NOTICES, SLOTS, SPEC, begun_at, is_back, is_done, owed, say


@pytest.mark.long
def test_a_tail_waits_for_its_turn_where_all_are_busy(env, spots):
    """Others first do what they hold, some 15 seconds of work; so no slot stands still."""
    http = env.server("--session-seconds", "30").http
    turns = max(1, NOTICES // 4)
    spots.fill()
    job = submit(http, SPEC, (turns + 2) * 60 * MACHINES * SLOTS)
    back, tails = [], []
    for _ in range(turns):
        machine = spots.fill()
        wait_until("it to hold a tail", lambda m=machine: not is_back(env, job, m, 3 * SLOTS), 60)
        mine = owed(env, job)[machine.session]
        begin = machine.interrupt()
        wait_until("the tail back", lambda m=machine: is_back(env, job, m, SLOTS))
        back.append(time.time() - begin)
        tails.append((machine, begin, mine))
        spots.leave(machine)
        # The next machine comes when the others have done it: clouds need a minute for that.
        wait_until("the tail to be done", lambda t=mine: is_done(env, job, t), 120)
    assert show(http, job)["state"] == "active", "there is nothing left to be busy with"
    assert http.post(f"/v1/jobs/{job}/cancel").status == 200
    told = {item["item"]: item.get("outcome") for item in items_of(http, job)}
    begun = [
        begun_at(told[item]) - begin
        for machine, begin, mine in tails
        for item in mine
        if told[item]["machine"] != machine.name
    ]
    assert {told[item]["attempt"] for _, _, mine in tails for item in mine} == {1}
    worst = say("tails are back", back)
    figures.record("tail_returned_by_the_busy_p99", "s", [round(worst, 2)], maximum=2)
    # No longer than what somebody held before, and a lease of their own.
    worst = say("their items run where all are busy", begun)
    figures.record("tail_runs_where_all_are_busy_p99", "s", [round(worst, 2)], maximum=40)
