# SPDX-License-Identifier: Apache-2.0
"""Jobs that share a machine: each has its part of the slots, and keeps them busy.

Here no clock judges: a job that starves beside another would not end in time by far. The rates are
measured in the long form.
"""

import statistics
import time

import figures
import pytest
from agents import submit
from env import wait_until
from held import HOLD, held, release, wait_held
from load import show, wait_for_end

CONTAINER = {
    "image": "tidemill-test/alpine-like",
    "command": ["true"],
    "resources": {"cpus": 1, "memory": "64MiB"},
}
PROCESS = {"command": ["true"], "resources": {"cpus": 1, "memory": "64MiB"}}
MISSING = {**CONTAINER, "image": "127.0.0.1:9/tidemill-test/none:1"}


def sh(spec, script):
    return {**spec, "command": ["sh", "-c", script]}


def done(http, job):
    return show(http, job)["counts"]["succeeded"]


@pytest.fixture(params=["container", "process"])
def machine(request, env):
    """A spec, and a machine of two slots for it."""
    env.server()
    if request.param == "container":
        return CONTAINER, request.getfixturevalue("fleet")("m1", "--cpus", "2")
    return PROCESS, request.getfixturevalue("processes")("m1", "--cpus", "2")


def test_short_items_run_beside_long_ones(machine, env):
    spec, agent = machine
    http = env.servers[0].http
    long = submit(http, sh(spec, HOLD), 10_000, name="long")  # more than are released below
    wait_held(agent, 2)
    short = submit(http, spec, 5_000, name="short")

    def has_one_slot():
        """What has begun is not ended for another job: slots change hands as items end."""
        if len(held(agent)) == 1 and done(http, short) > 0:
            return True
        release(agent)
        return False

    wait_until("each job to have a slot", has_one_slot, 60)
    wait_for_end(http, short, 240)
    # The machine is the other job's again, with nothing released.
    wait_held(agent, 2)
    http.post(f"/v1/jobs/{long}/cancel", {})


def test_two_jobs_of_one_kind_get_the_same(machine, env):
    spec, _ = machine
    http = env.servers[0].http
    jobs = [submit(http, sh(spec, "sleep 0.01"), 1_500, name=f"job{n}") for n in range(2)]
    wait_until(
        "one to end", lambda: any(show(http, job)["state"] == "finished" for job in jobs), 240
    )
    counts = [done(http, job) for job in jobs]
    assert min(counts) > 0.7 * max(counts), counts
    for job in jobs:
        wait_for_end(http, job, 120)


def test_a_job_that_cannot_run_takes_no_share(env, fleet):
    env.server()
    fleet("m1", "--cpus", "2")
    http = env.servers[0].http
    missing = submit(http, MISSING, 100, name="missing")
    wait_for_end(http, submit(http, CONTAINER, 5_000), 240)
    assert done(http, missing) == 0


@pytest.mark.long
def test_rates_beside_others(env, fleet):
    """Each beside what the same work does alone in the same slots, in one run."""
    env.server()
    http = env.servers[0].http

    def rate(spec, items, jobs=1):
        begin = time.monotonic()
        started = [submit(http, spec, items // jobs) for _ in range(jobs)]
        for job in started:
            wait_for_end(http, job, 900)
        return items / (time.monotonic() - begin)

    one = fleet("m0", "--cpus", "1")
    rate(CONTAINER, 2_000)  # so that the program's files are in memory
    one_slot = rate(CONTAINER, 20_000)
    one.terminate()
    fleet("m1", "--cpus", "2")
    alone = rate(CONTAINER, 20_000)

    sleepers = submit(http, sh(CONTAINER, "sleep 25"), 4)
    beside_sleep = rate(CONTAINER, 20_000)
    wait_for_end(http, sleepers, 300)

    ten_ms = sh(CONTAINER, "sleep 0.01")
    alone_ms = rate(ten_ms, 10_000)
    begin = time.monotonic()
    both = [submit(http, ten_ms, 10_000, name=f"both{n}") for n in range(2)]
    wait_until(
        "one to end", lambda: any(show(http, job)["state"] == "finished" for job in both), 900
    )
    counts = [done(http, job) for job in both]
    for job in both:
        wait_for_end(http, job, 900)
    both_ms = 20_000 / (time.monotonic() - begin)

    # Each for several turns.
    ten_jobs = rate(CONTAINER, 200_000, jobs=10)
    submit(http, MISSING, 100, name="missing")
    learning = rate(CONTAINER, 20_000)  # it has its part until its first pull has failed
    beside_missing = statistics.median(rate(CONTAINER, 20_000) for _ in range(3))
    rates = {"one slot": one_slot, "alone": alone, "beside sleep": beside_sleep}
    rates |= {"ten jobs": ten_jobs, "beside a missing image": beside_missing}
    rates |= {"at its first pull": learning}
    rates |= {"10 ms alone": alone_ms, "10 ms, two jobs": both_ms}
    print("\nitems a second:", {name: round(each) for name, each in rates.items()}, counts)
    parts = {
        "sharing_beside_sleep": (beside_sleep / one_slot, 0.8),
        "sharing_two_jobs_part": (min(counts) / sum(counts), 0.45),
        "sharing_two_jobs": (both_ms / alone_ms, 0.9),
        "sharing_ten_jobs": (ten_jobs / alone, 0.8),
        "sharing_beside_missing_image": (beside_missing / alone, 0.9),
    }
    for name, (part, least) in parts.items():
        figures.record(name, "of the rate alone", [part], minimum=least)
