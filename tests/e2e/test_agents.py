# SPDX-License-Identifier: Apache-2.0
"""Real items in real containers: nothing is lost whatever dies, and an item costs little.

TIDEMILL_ITEMS sets the size of the large job: 100,000 in the gate.
"""

import os
import subprocess
import time

import figures
import pytest
from agents import submit
from conserved import Sampler, done_share, outcomes
from costs import Cpu, containers_cpu, run_measured
from env import binaries, wait_until
from load import is_paused, wait_for_end

ITEMS = int(os.environ.get("TIDEMILL_ITEMS", "100000"))
NOOP = {
    "image": "tidemill-test/scratch",
    "entrypoint": ["/noop"],
    "resources": {"cpus": 1, "memory": "64MiB"},
}


def no_container_is_left(docker):
    wait_until("the containers to end", lambda: not docker.containers("tidemill.agent"), 60)


def attempts(env, job):
    """Recorded attempts of all rounds and machines, by cause."""
    return env.servers[-1].http.get(f"/v1/jobs/{job}/stats").json()["attempts"]


def test_nothing_is_lost_or_doubled_whatever_dies(env, docker, fleet):
    first = env.server("--session-seconds", "10")
    second = env.server("--session-seconds", "10")
    agents = [fleet(name, "--cpus", "1") for name in ("m1", "m2", "m3")]
    job = submit(first.http, NOOP, ITEMS)
    sampler = Sampler(env.conninfo)
    sampler.start()

    def wait_for_share(share):
        wait_until(f"{share:.0%}", lambda: done_share(second.http, job) > share, 300)

    wait_for_share(0.15)
    agents[0].kill9()
    wait_for_share(0.25)
    agents[0].start()
    wait_for_share(0.35)
    first.kill9()
    wait_for_share(0.45)
    first.start()
    wait_for_share(0.5)
    env.postgres.kill9()
    env.postgres.start()
    wait_for_share(0.65)
    docker.kill9()
    docker.start()
    wait_for_share(0.8)
    docker.restart()
    shown = wait_for_end(second.http, job, 600)
    sampler.finish()
    assert shown["counts"]["succeeded"] == ITEMS, shown
    assert outcomes(env) == ITEMS
    # Rolled up, each item has succeeded in exactly one attempt, and no attempt has failed.
    wait_until("the roll-up", lambda: attempts(env, job)["succeeded"] == ITEMS, 60)
    recorded = attempts(env, job)
    assert recorded["total"] == ITEMS + recorded["interrupted"], recorded
    assert not sampler.breaches, sampler.breaches[:3]
    assert sampler.samples >= 3
    no_container_is_left(docker)


def bare_loop(program, *flags):
    return [str(binaries() / "tidemill-init-bench"), *flags, "--item", program]


# Processor time of an item, in units of that of a bare loop of vfork, exec, pipe and wait4: of all
# that has to do with it, and of server, PostgreSQL and agents alone.
COST_MAX, OVERHEAD_MAX = 3.0, 0.5


def test_an_item_costs_at_most_three_times_the_processor_time_of_a_bare_loop(
    env, docker, fleet, noop_program
):
    """Of server, PostgreSQL, agents, inits and the items themselves together."""
    server = env.server()
    agents = [fleet(name, "--cpus", "1") for name in ("m1", "m2")]
    items, bare_items = 20_000, 2_500

    def bare():
        command = bare_loop(noop_program, "--bare-loops", "1", "--items", str(bare_items))
        seconds = run_measured(command, stdout=subprocess.DEVNULL, timeout=300)
        return seconds / bare_items * 1e6

    before = bare()
    cpu = Cpu(env, [server, *agents])
    job = submit(server.http, NOOP, items)
    assert wait_for_end(server.http, job, 300)["counts"]["succeeded"] == items
    # The warm containers stay for some seconds.
    spent = {**cpu.spent(), "containers": containers_cpu(docker)}
    shares = {name: round(seconds / items * 1e6, 1) for name, seconds in spent.items()}
    item_us, bare_us = sum(shares.values()), (before + bare()) / 2
    print(f"\n{item_us:.0f} us per item {shares}, bare loop {bare_us:.0f} us")
    assert shares["containers"] > bare_us / 2, "containers have ended before they were looked at"
    assert item_us <= COST_MAX * bare_us, (shares, bare_us)
    assert item_us - shares["containers"] <= OVERHEAD_MAX * bare_us, (shares, bare_us)


def bare_rate(program, loops):
    command = bare_loop(program, "--bare-loops", str(loops), "--items", "5000")
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    return float(done.stdout.split()[0])


@pytest.mark.long
def test_the_rate_is_at_least_half_of_a_bare_loop(env, docker, fleet, noop_program):
    server = env.server()
    for name in ("m1", "m2"):
        fleet(name, "--cpus", "1")
    rates = []

    def ratio():
        before = bare_rate(noop_program, 2)
        begin = time.monotonic()
        job = submit(server.http, NOOP, ITEMS)
        wait_for_end(server.http, job, 300)
        rates.append(round(ITEMS / (time.monotonic() - begin)))
        bare = (before + bare_rate(noop_program, 2)) / 2
        return round(rates[-1] / bare, 3)

    ratios = figures.repeated(5, ratio)
    # "Thousands of items per second on one machine", as the README has it.
    figures.record("agents_items_per_second", "items/s", rates, minimum=2000, items=ITEMS)
    figures.record("agents_rate_beside_a_bare_loop", "ratio", ratios, minimum=0.5, items=ITEMS)


def test_items_see_what_they_should(env, docker, fleet):
    server = env.server()
    agent = fleet("m1", "--cpus", "2")
    spec = {
        "image": "tidemill-test/alpine-like",
        "command": ["sh", "-c", "env | grep TIDEMILL_ | sort; echo $GREETING {item.size}"],
        "env": {"GREETING": "hello {item.name}"},
        "retries": 1,
    }
    items = ['{"name": "a", "size": 3}', '{"name": "b"}']
    job = submit(server.http, spec, items, name="see")
    shown = wait_for_end(server.http, job, 60)
    assert (shown["counts"]["succeeded"], shown["counts"]["failed"]) == (1, 1), shown
    page = server.http.get(f"/v1/jobs/{job}/items?outcomes=true").json()["items"]
    assert page[0]["outcome"]["exit"] == 0 and page[0]["outcome"]["machine"] == "m1"
    assert page[0]["outcome"]["memory_bytes"] > 0
    assert page[1]["outcome"]["exit"] == 126 and page[1]["outcome"]["attempt"] == 2
    # An outcome does not wait for the log.
    wait_until("its log", lambda: b"hello a 3\n" in agent.written())
    logs = agent.written()
    for line in (
        b'TIDEMILL_ITEM={"name": "a", "size": 3}\n',
        b"TIDEMILL_INDEX=0\n",
        b"TIDEMILL_COUNT=2\n",
        b"TIDEMILL_JOB=" + job.encode() + b"\n",
        b"TIDEMILL_ATTEMPT=1\n",
        b"TIDEMILL_SCRATCH=/",
        b"hello a 3\n",
    ):
        assert line in logs, line


def test_a_machine_outlives_images_that_cannot_be_pulled(env, docker, fleet, registry):
    late = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/late")
    missing = f"{registry.host}/not/there:3"
    server = env.server()
    fleet("m1")
    # The registry answers that there is no such image: the job is paused, no item has failed.
    job = submit(server.http, {"image": missing, "command": ["true"]}, 100)
    paused = wait_until("the job to be paused", lambda: is_paused(server.http, job), 60)
    assert missing in paused["reason"] and paused["counts"]["failed"] == 0, paused
    other = submit(server.http, NOOP, 10)
    assert wait_for_end(server.http, other, 60)["counts"]["succeeded"] == 10

    # The registry does not answer: the machine reports why, and the job runs once it does.
    registry.kill9()
    job = submit(server.http, {"image": late, "command": ["true"]}, 10)

    def troubles():
        machine = server.http.get("/v1/machines").json()["machines"][0]
        uses = machine.get("status", {}).get("jobs", [])
        return [use["trouble"] for use in uses if late in use.get("trouble", "")]

    wait_until("the machine to report why", troubles, 60)
    registry.start()
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 10
