# SPDX-License-Identifier: Apache-2.0
"""Real items in real containers, whatever dies meanwhile.

TIDEMILL_ITEMS sets the size of the large jobs: 100,000 in the gate.
"""

import os
import subprocess
import time

import pytest
from agents import submit
from conserved import Sampler, done_share, outcomes
from env import binaries, wait_until
from load import show, wait_for_end

ITEMS = int(os.environ.get("TIDEMILL_ITEMS", "100000"))
NOOP = {
    "image": "tidemill-test/scratch",
    "entrypoint": ["/noop"],
    "resources": {"cpus": 1, "memory": "64MiB"},
}


def no_container_is_left(docker):
    wait_until("the containers to end", lambda: not docker.containers("tidemill.agent"), 60)


def attempts(env, job):
    """How many attempts were recorded, of all rounds and machines."""
    stats = env.servers[-1].http.get(f"/v1/jobs/{job}/stats").json()
    return stats["attempts"]["total"]


def test_a_hundred_thousand_items_each_exactly_once(env, docker, fleet):
    server = env.server()
    for name in ("m1", "m2", "m3"):
        fleet(name, "--cpus", "1")
    job = submit(server.http, NOOP, ITEMS)
    shown = wait_for_end(server.http, job, 600)
    assert shown["counts"]["succeeded"] == ITEMS, shown
    assert outcomes(env) == ITEMS
    wait_until("all chunks to be rolled up", lambda: attempts(env, job) == ITEMS, 60)
    no_container_is_left(docker)


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
    assert not sampler.breaches, sampler.breaches[:3]
    assert sampler.samples >= 3
    no_container_is_left(docker)


def bare_rate(program, loops):
    command = [str(binaries() / "tidemill-init-bench"), "--bare-loops", str(loops)]
    command += ["--items", "5000", "--item", program]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    return float(done.stdout.split()[0])


@pytest.mark.alone
def test_the_rate_is_at_least_half_of_a_bare_loop(env, docker, fleet, noop_program):
    server = env.server()
    for name in ("m1", "m2"):
        fleet(name, "--cpus", "1")
    ratios = []
    for _ in range(20):
        before = bare_rate(noop_program, 2)
        begin = time.monotonic()
        job = submit(server.http, NOOP, ITEMS)
        wait_for_end(server.http, job, 300)
        rate = ITEMS / (time.monotonic() - begin)
        bare = (before + bare_rate(noop_program, 2)) / 2
        ratios.append(rate / bare)
        print(f"{rate:.0f} items/s, bare loops {bare:.0f}/s, ratio {ratios[-1]:.2f}")
        if ratios[-1] >= 0.5:
            break
    # Whoever else is on the machine can only make it less.
    assert max(ratios) >= 0.5, ratios


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


def paused(http, job):
    shown = show(http, job)
    return shown if shown["state"] == "paused" else None


def test_an_image_is_pulled_from_its_registry(env, docker, fleet, registry):
    image = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/sh")
    server = env.server()
    fleet("m1")
    job = submit(server.http, {"image": image, "command": ["true"]}, 100)
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 100


def test_a_missing_image_pauses_the_job_with_a_reason(env, docker, fleet, registry):
    server = env.server()
    fleet("m1")
    image = f"{registry.host}/not/there:3"
    job = submit(server.http, {"image": image, "command": ["true"]}, 100)
    shown = wait_until("the job to be paused", lambda: paused(server.http, job), 60)
    assert image in shown["reason"], shown
    assert shown["counts"]["failed"] == 0
    # The machine has not been hurt by it.
    other = submit(server.http, NOOP, 10)
    assert wait_for_end(server.http, other, 60)["counts"]["succeeded"] == 10


def test_a_registry_that_is_away_is_shown_and_the_job_goes_on_later(env, docker, fleet, registry):
    image = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/late")
    registry.kill9()
    server = env.server()
    fleet("m1")
    job = submit(server.http, {"image": image, "command": ["true"]}, 10)

    def trouble():
        machine = server.http.get("/v1/machines").json()["machines"][0]
        uses = machine.get("status", {}).get("jobs", [])
        return [use["trouble"] for use in uses if "trouble" in use]

    assert image in wait_until("the machine to say why", trouble, 60)[0]
    registry.start()
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 10


def test_a_cancelled_job_stops_running(env, docker, fleet):
    server = env.server()
    fleet("m1", "--cpus", "2")
    spec = {"image": "tidemill-test/alpine-like", "command": ["sleep", "600"]}
    job = submit(server.http, {**spec, "grace": "1s"}, 100)
    wait_until("items to run", lambda: docker.containers("tidemill.agent"), 60)
    assert server.http.post(f"/v1/jobs/{job}/cancel").status == 200
    assert wait_for_end(server.http, job, 60)["counts"]["cancelled"] == 100
    no_container_is_left(docker)


def test_an_agent_that_is_told_to_end_gives_everything_back(env, docker, fleet):
    server = env.server()
    agent = fleet("m1", "--cpus", "2")
    spec = {"image": "tidemill-test/alpine-like", "command": ["sleep", "600"]}
    job = submit(server.http, spec, 10)
    wait_until("items to run", lambda: show(server.http, job)["counts"]["running"] > 0, 60)
    assert agent.terminate() == 0
    # What is shown may be a second old.
    wait_until("all to wait", lambda: show(server.http, job)["counts"]["waiting"] == 10, 60)
    assert not docker.containers("tidemill.agent")


def test_a_timeout_is_told_apart(env, docker, fleet):
    server = env.server()
    fleet("m1")
    spec = {"image": "tidemill-test/alpine-like", "command": ["sleep", "600"], "timeout": "500ms"}
    job = submit(server.http, spec, 1)
    wait_for_end(server.http, job, 120)
    page = server.http.get(f"/v1/jobs/{job}/items?outcomes=true").json()["items"]
    assert page[0]["outcome"]["cause"] == "timeout", page
    assert 400 <= page[0]["outcome"]["duration_ms"] < 60_000
