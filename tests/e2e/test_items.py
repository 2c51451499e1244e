# SPDX-License-Identifier: Apache-2.0
"""What becomes of items: causes, budgets, retries, bad machines, jobs that are paused.

An item finds out which machine it is on by the path that its scratch folder is mounted from.
"""

import os
import signal
import time

from agents import submit
from conserved import outcomes
from env import wait_until
from held import HOLD, held, release, release_to_end, wait_held
from load import items_of, show, wait_for_end

SHELL = {"image": "tidemill-test/alpine-like", "resources": {"cpus": 1, "memory": "64MiB"}}
ON_M1 = "grep -q m1-state /proc/self/mountinfo"


def sh(script, **more):
    return {**SHELL, "command": ["busybox", "sh", "-c", script], **more}


def causes_of(http, job):
    """How many attempts ended with each cause, all of them."""
    return http.get(f"/v1/jobs/{job}/stats").json()["attempts"]


def rolled_up(http, job, succeeded):
    causes = causes_of(http, job)
    return causes if causes["succeeded"] == succeeded and causes["total"] > 0 else None


def machines(http):
    return {each["machine"]: each for each in http.get("/v1/machines").json()["machines"]}


# --- budgets ---


def test_memory_has_a_budget_of_its_own_and_the_job_learns(env, http, fleet):
    fleet("m1", "--cpus", "2", "--memory", "2GiB")
    needs_150m = "busybox head -c 150000000 /dev/zero | busybox tail -c 150000000 | busybox wc -c"
    resources = {"cpus": 1, "memory": {"start": "64MiB", "max": "512MiB"}}
    job = submit(
        http, sh(f"set -e; test $({needs_150m}) = 150000000", resources=resources, retries=0), 30
    )
    shown = wait_for_end(http, job, 300)
    # There are no retries: none was used for memory.
    assert shown["counts"]["succeeded"] == 30, shown
    assert outcomes(env) == 30
    causes = wait_until("the roll-up", lambda: rolled_up(http, job, 30), 60)
    # The first ones step up from 64 to 128 and 256 MiB; the job learns, and the later ones start
    # there.
    assert 2 <= causes["out-of-memory"] < 30, causes
    assert shown["memory_bytes"] == 256 << 20, shown
    last = items_of(http, job)[-1]["outcome"]
    assert last["cause"] == "succeeded" and last["memory_bytes"] > 150_000_000


def test_an_item_that_needs_more_than_it_may_have_fails_for_that(http, fleet):
    fleet("m1", "--cpus", "1", "--memory", "1GiB")
    resources = {"cpus": 1, "memory": {"start": "32MiB", "max": "100MiB"}}
    job = submit(http, sh("busybox tail /dev/zero", resources=resources, retries=5), 1)
    assert wait_for_end(http, job, 120)["counts"]["failed"] == 1
    assert items_of(http, job)[0]["outcome"]["cause"] == "out-of-memory"
    # 32, 64, 100 MiB, and no retry beside them.
    causes = wait_until("the roll-up", lambda: rolled_up(http, job, 0), 60)
    assert causes["out-of-memory"] == causes["total"] == 3


def test_retry_rules_go_by_exit_code(http, fleet):
    fleet("m1", "--cpus", "2")
    script = "exit $TIDEMILL_ITEM"
    rules = {"on": [75], "wait": "10ms"}
    job = submit(http, sh(script, retries=2, retry=rules, canary=0), ["75", "76", "2"])
    wait_for_end(http, job, 120)
    assert [each["outcome"]["attempt"] for each in items_of(http, job)] == [3, 1, 1]
    rules = {"never": [2], "wait": "10ms"}
    job = submit(http, sh(script, retries=2, retry=rules, canary=0), ["75", "76", "2"])
    wait_for_end(http, job, 120)
    assert [each["outcome"]["attempt"] for each in items_of(http, job)] == [3, 3, 1]


def test_a_retry_waits_without_holding_a_slot(env, http, fleet):
    fleet("m1", "--cpus", "1")
    once = "test $TIDEMILL_ATTEMPT -gt 1 || exit 1"
    job = submit(http, sh(once, retries=1, retry={"wait": "5m"}), 1, name="waits")
    wait_until("a failed attempt", lambda: items_of(http, job)[0].get("attempts") == 1, 60)
    assert show(http, job)["counts"]["waiting"] == 1
    other = submit(http, sh("true"), 20, name="goes")
    wait_for_end(http, other, 60)
    assert show(http, job)["counts"]["waiting"] == 1
    # The five minutes are over.
    assert env.sql("update item_try set due_at = now() where due_at is not null returning 1") == "1"
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 1


# --- machines ---


def test_a_retry_prefers_another_machine(http, fleet):
    fleet("m1", "--cpus", "1")
    fleet("m2", "--cpus", "1")
    job = submit(http, sh(f"{ON_M1} && exit 1; exit 0", retries=1, retry={"wait": "10ms"}), 2)
    # With one retry all succeed only if none went to the bad machine twice.
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 2


def test_a_bad_machine_is_put_aside_and_says_why(env, http, fleet):
    for name in ("m1", "m2", "m3"):
        fleet(name, "--cpus", "1")
    script = f"{ON_M1} && exit 1; sleep 0.2"
    job = submit(http, sh(script, retries=8, retry={"wait": "10ms"}, canary=0), 200)
    aside = wait_until("m1 to be put aside", lambda: machines(http)["m1"].get("aside"), 120)
    assert "succeeded on other machines" in aside
    assert wait_for_end(http, job, 180)["counts"]["succeeded"] == 200
    assert not machines(http)["m2"].get("aside") and not machines(http)["m3"].get("aside")
    assert outcomes(env) == 200


def test_items_that_fail_everywhere_put_no_machine_aside(http, fleet):
    for name in ("m1", "m2", "m3"):
        fleet(name, "--cpus", "1")
    job = submit(http, sh("exit 1", retries=1, retry={"wait": "10ms"}, canary=0), 60)
    assert wait_for_end(http, job, 120)["counts"]["failed"] == 60
    assert not any(each.get("aside") for each in machines(http).values())


# --- the canary ---


def test_a_job_that_only_fails_is_paused_before_it_costs_money(env, http, fleet):
    for name in ("m1", "m2"):
        fleet(name, "--cpus", "2")
    job = submit(http, sh("exit 3", retries=0), 1000)
    shown = wait_until("the pause", lambda: paused(http, job), 60)
    assert "exit code 3" in shown["reason"] and "20" in shown["reason"], shown
    # Without a lease no item of a paused job can run. What is shown may be a second old.
    wait_until("its leases to end", lambda: env.sql("select count(*) from lease") == "0", 60)
    assert 20 <= outcomes(env) <= 40
    assert http.post(f"/v1/jobs/{job}/resume").status == 200
    # Somebody has looked: it goes on to its end.
    assert wait_for_end(http, job, 120)["counts"]["failed"] == 1000


def paused(http, job):
    shown = show(http, job)
    return shown if shown["state"] == "paused" else None


def test_a_canary_can_be_turned_off_and_lets_others_pass(http, fleet):
    fleet("m1", "--cpus", "2")
    job = submit(http, sh("exit 3", canary=0, retries=0), 100, name="off")
    mixed = submit(http, sh("exit $((TIDEMILL_INDEX % 2))", retries=0), 100, name="mixed")
    assert wait_for_end(http, job, 60)["counts"]["failed"] == 100
    assert wait_for_end(http, mixed, 60)["counts"]["failed"] == 50


# --- slots ---


class Limits:
    """The processors and memory that the containers of agents may use, those that run."""

    def __init__(self, docker):
        self._docker = docker
        self._known = {}

    def now(self):
        for found in self._docker.inspect("tidemill.agent"):
            config = found["HostConfig"]
            self._known[found["Id"]] = (config["NanoCpus"] / 1e9, config["Memory"])
        running = self._docker.running("tidemill.agent")
        return [self._known[each] for each in running if each in self._known]


def test_nothing_is_oversubscribed(http, fleet, docker):
    agent = fleet("m1", "--cpus", "2", "--memory", "1GiB")
    containers = Limits(docker)

    def make(cpus, memory, count):
        spec = sh(HOLD, resources={"cpus": cpus, "memory": memory})
        return submit(http, spec, count, name=f"cpus{int(100 * cpus)}")

    def check():
        limits = containers.now()
        assert sum(cpus for cpus, _ in limits) <= 2 + 1e-9, limits
        assert sum(memory for _, memory in limits) <= 1 << 30, limits
        return limits

    # These fit together, and fill the machine: several at a time, and of several jobs.
    jobs = [make(0.25, "64MiB", 4), make(0.5, "300MiB", 2)]
    wait_held(agent, 6)
    assert sorted(check()) == [(0.25, 64 << 20)] * 4 + [(0.5, 300 << 20)] * 2
    # Others wait for room, whatever they need.
    jobs += [make(1, "100MiB", 2), make(2, "1GiB", 1)]
    jobs.append(submit(http, sh(HOLD, resources="machine"), 2, name="whole"))
    left = list(jobs)

    def over():
        check()
        release(agent)
        if show(http, left[0])["state"] == "finished":
            left.pop(0)
        return not left

    wait_until("all jobs to end", over, 300)
    for job in jobs:
        assert show(http, job)["counts"]["failed"] == 0


def test_devices_that_flags_name_belong_to_one_item_at_a_time(http, fleet, docker):
    flags = ("--device", "example.com/zero=/dev/zero", "--device", "example.com/zero=/dev/full")
    agent = fleet("m1", "--cpus", "4", *flags)
    assert machines(http)["m1"]["resources"]["devices"]["example.com/zero"] == 2
    resources = {"cpus": 1, "memory": "64MiB", "devices": {"example.com/zero": 1}}
    job = submit(http, sh(HOLD, resources=resources), 4)
    wait_held(agent, 2)
    devices = [found["HostConfig"]["Devices"] for found in docker.inspect("tidemill.agent")]
    paths = [[each["PathOnHost"] for each in given] for given in devices]
    assert sorted(paths) == [["/dev/full"], ["/dev/zero"]], paths
    assert release_to_end(http, job, agent)["counts"]["succeeded"] == 4


# --- restarts ---


def test_a_restart_of_the_agent_leaves_items_running_and_takes_them_over(env, http, fleet, docker):
    agent = fleet("m1", "--cpus", "2")
    script = f"echo begins; {HOLD}; echo ends; exit $TIDEMILL_INDEX"
    job = submit(http, sh(script, retries=0, canary=0), 2)
    items = wait_held(agent, 2)
    begin = time.monotonic()
    before = sorted(docker.containers("tidemill.agent"))

    def adopted(count):
        assert held(agent) == items
        agent.start()
        found = "container.adopted"
        wait_until("both to be adopted", lambda: len(agent.events(found)) == count, 60)
        assert sorted(docker.containers("tidemill.agent")) == before

    # It is upgraded: what was in its memory is on disk before it ends.
    os.kill(agent.pid, signal.SIGUSR1)
    agent.wait()
    assert agent.written().count(b"begins\n") == 2
    adopted(2)
    agent.kill9()
    adopted(4)
    held_ms = (time.monotonic() - begin) * 1000
    release(agent)
    wait_for_end(http, job, 60)
    told = [each["outcome"] for each in items_of(http, job)]
    assert [each["exit"] for each in told] == [0, 1], told
    # The time of an item runs on while there is no agent.
    assert all(each["duration_ms"] >= held_ms - 100 for each in told), (told, held_ms)
    # Each ran once: nothing was given back, and nothing else is recorded.
    assert causes_of(http, job)["total"] == 2
    # An outcome does not wait for the log.
    wait_until("their logs", lambda: agent.written().count(b"ends\n") == 2)


def test_a_container_of_a_lease_that_is_gone_is_not_taken_over(http, fleet, docker):
    agent = fleet("m1", "--cpus", "1")
    job = submit(http, sh("sleep 600", grace="1s"), 1)
    wait_until("it to run", lambda: programs(docker), 60)
    agent.kill9()
    assert http.post(f"/v1/jobs/{job}/cancel").status == 200
    assert wait_for_end(http, job, 60)["counts"]["cancelled"] == 1
    agent.start()
    wait_until("its container to end", lambda: not docker.containers("tidemill.agent"), 60)


# --- ends ---


def programs(docker):
    """What runs in all containers of agents beside init."""
    tops = docker.inspect("tidemill.agent", "top")
    lines = [each[-1] for top in tops for each in top["Processes"]]
    return [line for line in lines if "init" not in line]


def test_cancelling_a_million_items_ends_those_that_run(http, fleet, docker):
    for name in ("m1", "m2"):
        fleet(name, "--cpus", "2")
    job = submit(http, sh("trap '' TERM; while :; do sleep 1; done", grace="1s"), 1_000_000)
    wait_until("items to run", lambda: len(programs(docker)) >= 4, 60)
    assert http.post(f"/v1/jobs/{job}/cancel").status == 200
    # The next heartbeat of each machine brings it.
    wait_until("nothing to run", lambda: not programs(docker), 60)
    assert wait_for_end(http, job, 60)["counts"]["cancelled"] == 1_000_000
