# SPDX-License-Identifier: Apache-2.0
"""What the ground floor must carry, with real servers, a real PostgreSQL and a thousand agents.

TIDEMILL_LOAD_ITEMS sets the size: 500,000 in the gate, 5,000,000 for the whole form.
"""

import hashlib
import json
import os
import statistics
import subprocess
import time

import pytest
from conserved import Sampler, done_share, outcomes
from env import binaries, wait_until
from load import Load, failing_items, show, submit_range, wait_for_end
from tls import Tls

ITEMS = int(os.environ.get("TIDEMILL_LOAD_ITEMS", "500000"))
AGENTS = 1000
pytestmark = pytest.mark.alone


def test_nothing_is_lost_or_doubled_whatever_dies(env, tmp_path):
    first = env.server("--session-seconds", "8")
    second = env.server("--session-seconds", "8")
    seed, failing_ppm = 7, 1000
    job = submit_range(first.http, ITEMS)
    sampler = Sampler(env.conninfo)
    flags = ["--agents", str(AGENTS), "--session-seconds", "8", "--heartbeat-ms", "2000"]
    flags += ["--seed", str(seed), "--failing-ppm", str(failing_ppm), "--repeats", "0.1"]
    flags += ["--lies", "0.05", "--gives-back", "0.02", "--splits", "0.1", "--leaves", "0.002"]
    flags += ["--comes-late", "0.002", "--vanishes", "0.002"]
    sampler.start()
    with Load(tmp_path, [first, second], *flags) as load:
        wait_until("a fifth", lambda: done_share(second.http, job) > 0.2, 300)
        first.kill9()
        wait_until("two fifths", lambda: done_share(second.http, job) > 0.4, 300)
        env.postgres.kill9()
        env.postgres.start()
        first.start()
        shown = wait_for_end(second.http, job, 600)
        totals = load.stop()
    sampler.finish()

    assert sampler.breaches == []
    assert sampler.samples >= 5
    assert shown["state"] == "finished"
    counts = shown["counts"]
    assert counts["total"] == ITEMS
    assert counts["failed"] == failing_items(seed, failing_ppm, ITEMS)
    assert counts["succeeded"] + counts["failed"] == ITEMS
    assert outcomes(env) == ITEMS
    # Failing items are run three times; beyond those, some work was lost and done again.
    assert totals["items_run"] > ITEMS + 2 * counts["failed"]
    for fault in ("lies", "repeats", "vanished", "late", "sessions_lost", "errors"):
        assert totals[fault] > 0, fault
    print(f"\n{ITEMS} items, {sampler.samples} samples, {totals}")


@pytest.mark.parametrize("way", ["plain", "tls"])
def test_rates_through_http(env, tmp_path, way):
    tls = Tls(tmp_path / "tls") if way == "tls" else None
    servers = [env.server(tls=tls), env.server(tls=tls)]
    job = submit_range(servers[0].http, ITEMS)
    with Load(tmp_path, servers, "--agents", str(AGENTS)) as load:
        wait_for_end(servers[0].http, job, 300)
        totals = load.stop()
    took = (totals["last_settled_ms"] - totals["first_lease_ms"]) / 1000
    rate, leases = ITEMS / took, totals["leases"] / took
    print(f"\nthrough HTTP, {way}: {rate:,.0f} outcomes/s, {leases:,.0f} leases/s in {took:.1f} s")
    assert outcomes(env) == ITEMS
    assert rate >= 40_000
    assert leases >= 1_000


def test_rates_of_the_store_alone(env):
    command = [str(binaries() / "tidemill-store-bench"), "--database", env.conninfo, "--json"]
    command += ["--agents", str(AGENTS), "--lease-items", "40", "--seconds", "5"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rates = json.loads(done.stdout)
    print(f"\nthe store alone: {rates}")
    assert rates["outcomes_per_s"] >= 100_000
    assert rates["leases_per_s"] >= 2_500


def test_a_million_items_are_submitted(env):
    server = env.server()
    digests = (hashlib.md5(b"%d" % i).hexdigest().encode() for i in range(10**6))
    lines = [b"s3://bucket/img/%07d-%s.png" % pair for pair in enumerate(digests)]
    assert len(lines[0]) == 60
    size = 120_000
    parts = [b"\n".join(lines[i : i + size]) for i in range(0, len(lines), size)]
    begin = time.monotonic()
    job = server.http.post("/v1/jobs", {"name": "million", "spec": {}}).json()["id"]
    for number, part in enumerate(parts):
        assert len(part) <= 8 * 1024 * 1024
        answer = server.http.request(
            "PUT", f"/v1/jobs/{job}/parts/{number}", part, headers={"Content-Type": "text/plain"}
        )
        assert answer.status == 200, answer.body
    sealed = server.http.post(f"/v1/jobs/{job}/seal", {"parts": len(parts)})
    took = time.monotonic() - begin
    assert sealed.status == 200, sealed.body

    answers = []
    for _ in range(5):
        begin = time.monotonic()
        assert show(server.http, job)["counts"]["waiting"] == 10**6
        answers.append(time.monotonic() - begin)
        time.sleep(1.1)  # past the time for which counts are kept
    page = server.http.get(f"/v1/jobs/{job}/items?limit=3").json()
    assert [item["text"] for item in page["items"]] == [line.decode() for line in lines[:3]]
    high_water = peak_rss(server.pid)
    print(
        f"\nsubmitted in {took:.1f} s, peak memory {high_water / 2**20:.0f} MiB,"
        f" progress in {statistics.median(answers) * 1000:.0f} ms"
    )
    assert took < 20
    assert high_water < 300 * 10**6
    assert statistics.median(answers) < 0.050, answers


def peak_rss(pid):
    """The kernel's own high-water mark, so that no sample is missed."""
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_idle_agents_cost_little_and_learn_of_a_job_soon(env, tmp_path):
    server = env.server()
    flags = ["--agents", str(AGENTS), "--ramp-ms", "3000", "--lease-ms", "60000"]
    with Load(tmp_path, [server], *flags) as load:
        wait_until("all agents to wait", lambda: waiting(server) == AGENTS, 60)
        cpu, begin = server.cpu_seconds(), time.monotonic()
        time.sleep(20)
        share = (server.cpu_seconds() - cpu) / (time.monotonic() - begin)
        submit_range(server.http, 10 * AGENTS)
        begin = time.monotonic()
        reached = "select count(distinct session_id) from lease"
        wait_until("all to have a lease", lambda: int(env.sql(reached)) == AGENTS, 60)
        took = time.monotonic() - begin
        load.stop()
    print(f"\n{AGENTS} idle agents: {share:.1%} of a core; all reached in {took:.2f} s")
    assert share < 0.05
    # They are woken, which takes 1.5 to 2.4 s where nobody else is: by their heartbeats, 5.
    assert took < 4.0


def waiting(server):
    """Agents that hold a long poll, as the server counts them."""
    for line in server.http.get("/metrics").body.decode().splitlines():
        if line.startswith("tidemill_waiting_agents "):
            return int(float(line.split()[1]))
    raise AssertionError("the metric is missing")
