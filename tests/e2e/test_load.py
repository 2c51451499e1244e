# SPDX-License-Identifier: Apache-2.0
"""A thousand synthetic agents on real servers and a real PostgreSQL: what must hold, and what an
outcome costs.

TIDEMILL_LOAD_ITEMS sets the size: 100,000 in the gate, 5,000,000 in `.ci/long load`.
"""

import hashlib
import json
import os
import subprocess
import time

import figures
import pytest
from cli import Cli
from conserved import Sampler, done_share, outcomes
from costs import Cpu, rows_written
from env import Env, Postgres, binaries, wait_until
from load import Load, failing_items, show, submit_range, wait_for_end
from tls import Tls

ITEMS = int(os.environ.get("TIDEMILL_LOAD_ITEMS", "100000"))
AGENTS = 1000


def test_nothing_is_lost_or_doubled_whatever_dies(env, tmp_path):
    first = env.server("--session-seconds", "5")
    second = env.server("--session-seconds", "5")
    seed, failing_ppm = 7, 1000
    job = submit_range(first.http, ITEMS)
    sampler = Sampler(env.conninfo)
    flags = ["--agents", str(AGENTS), "--session-seconds", "5", "--heartbeat-ms", "1000"]
    flags += ["--seed", str(seed), "--failing-ppm", str(failing_ppm), "--repeats", "0.1"]
    flags += ["--lies", "0.05", "--gives-back", "0.02", "--splits", "0.1", "--leaves", "0.002"]
    rare = str(max(0.002, 500 / ITEMS))  # so that each kind comes in a small run, too
    flags += ["--comes-late", rare, "--vanishes", rare]
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
    assert sampler.samples >= 3
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


@pytest.fixture(params=["plain", "tls"])
def tls(request, tmp_path):
    return Tls(tmp_path / "tls") if request.param == "tls" else None


# The database does work per lease and batch, never per item. A lease is written when it is granted
# and when it is settled: the row of the lease, of its chunk, of its report and of its session.
ROWS_PER_LEASE_MAX = 9
# Of two servers and PostgreSQL.
OUTCOME_US_MAX = {"plain": 60, "tls": 80}


def test_an_outcome_through_http_costs_little(env, tmp_path, tls):
    servers = [env.server(tls=tls), env.server(tls=tls)]
    items, before = 200_000, rows_written(env)
    cpu = Cpu(env, servers)
    job = submit_range(servers[0].http, items)
    with Load(tmp_path, servers, "--agents", str(AGENTS // 4)) as load:
        wait_for_end(servers[0].http, job, 300)
        totals = load.stop()
    spent = cpu.spent()
    for server in servers:
        assert server.terminate() == 0
    assert outcomes(env) == items
    rows = (rows_written(env) - before) / totals["leases"]
    costs = {name: round(seconds / items * 1e6, 1) for name, seconds in spent.items()}
    print(f"\n{totals['leases']} leases, {rows:.2f} rows each; us per outcome {costs}")
    assert rows <= ROWS_PER_LEASE_MAX
    assert sum(costs.values()) <= OUTCOME_US_MAX["tls" if tls else "plain"], costs


def store_bench(conninfo, *flags):
    command = [str(binaries() / "tidemill-store-bench"), "--database", conninfo, "--json"]
    done = subprocess.run(
        [*command, "--lease-items", "40", *flags], check=True, stdout=subprocess.PIPE, timeout=300
    )
    return json.loads(done.stdout)


def test_the_store_alone_writes_few_rows(env):
    rates = store_bench(env.conninfo, "--agents", "100", "--seconds", "1")
    # A job, its chunks and the sessions are made first.
    made = 1 + 100 + int(env.sql("select count(*) from chunk"))
    leases = rates["leases_per_s"] * rates["seconds"]
    rows = (rows_written(env) - made) / leases
    print(f"\n{leases:.0f} leases, {rows:.2f} rows each")
    assert rows <= 6


LINES = 10**6


def submit_lines(http):
    """A job of a million items of 60 bytes; its id and the first lines."""
    digests = (hashlib.md5(b"%d" % i).hexdigest().encode() for i in range(LINES))
    lines = [b"s3://bucket/img/%07d-%s.png" % pair for pair in enumerate(digests)]
    assert len(lines[0]) == 60
    size = 120_000
    parts = [b"\n".join(lines[i : i + size]) for i in range(0, len(lines), size)]
    begin = time.monotonic()
    job = http.post("/v1/jobs", {"name": "million", "spec": {}}).json()["id"]
    for number, part in enumerate(parts):
        assert len(part) <= 8 * 1024 * 1024
        answer = http.request(
            "PUT", f"/v1/jobs/{job}/parts/{number}", part, headers={"Content-Type": "text/plain"}
        )
        assert answer.status == 200, answer.body
    sealed = http.post(f"/v1/jobs/{job}/seal", {"parts": len(parts)})
    assert sealed.status == 200, sealed.body
    return job, [line.decode() for line in lines[:3]], time.monotonic() - begin


def peak_rss(pid):
    """The kernel's own high-water mark, so that no sample is missed."""
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def test_a_million_items_are_submitted(env):
    server = env.server()
    cpu = Cpu(env, [server])
    job, first, _ = submit_lines(server.http)
    spent = cpu.spent()
    # How many rows that reads: PlanTest.CountingReadsTheChunksOfOneJob.
    assert show(server.http, job)["counts"]["waiting"] == LINES
    page = server.http.get(f"/v1/jobs/{job}/items?limit=3").json()
    assert [item["text"] for item in page["items"]] == first
    line_us, high_water = sum(spent.values()) / LINES * 1e6, peak_rss(server.pid)
    print(f"\n{line_us:.1f} us per line {spent}, peak memory {high_water / 2**20:.0f} MiB")
    assert line_us <= 3
    assert high_water < 128 * 2**20


def metric(server, name):
    for line in server.http.get("/metrics").body.decode().splitlines():
        if line.startswith(f"{name} "):
            return int(float(line.split()[1]))
    raise AssertionError(f"there is no metric {name}")


def all_wait(server):
    """Every agent holds a long poll."""
    wait_until("all agents", lambda: metric(server, "tidemill_waiting_agents") == AGENTS, 60)


def with_lease(env):
    return int(env.sql("select count(distinct session_id) from lease"))


def test_an_idle_agent_costs_its_heartbeats(env, tmp_path):
    server = env.server()
    flags = ["--agents", str(AGENTS), "--ramp-ms", "2000", "--heartbeat-ms", "2000"]
    with Load(tmp_path, [server], *flags) as load:
        all_wait(server)
        cpu, begun = Cpu(env, [server]), metric(server, "tidemill_syncs_total")
        beats = 4 * AGENTS
        wait_until(
            "heartbeats", lambda: metric(server, "tidemill_syncs_total") >= begun + beats, 120
        )
        spent, synced = cpu.spent(), metric(server, "tidemill_syncs_total") - begun
        load.stop()
    print(f"\n{synced} heartbeats; us each {[round(s / synced * 1e6) for s in spent.values()]}")
    assert sum(spent.values()) / synced * 1e6 <= 1200, spent


def test_a_job_wakes_idle_agents(env, tmp_path):
    """They would sync by themselves after ten minutes."""
    server = env.server("--session-seconds", "3600")
    flags = ["--agents", str(AGENTS), "--ramp-ms", "2000", "--lease-ms", "600000"]
    flags += ["--heartbeat-ms", "600000", "--session-seconds", "3600"]
    with Load(tmp_path, [server], *flags) as load:
        all_wait(server)
        begun = metric(server, "tidemill_syncs_total")
        submit_range(server.http, 10 * AGENTS)
        wait_until("all to have a lease", lambda: with_lease(env) == AGENTS, 60)
        synced = metric(server, "tidemill_syncs_total") - begun
        load.stop()
    print(f"\n{synced} syncs of {AGENTS} agents")
    # One for each, and a few that came too early or found their items taken.
    assert synced <= 3 * AGENTS


# --- the long form ---


@pytest.fixture(scope="session")
def _durable():
    """A cluster that waits for the disk at each commit, as one in production does."""
    with Postgres({"fsync": "on", "full_page_writes": "on"}) as cluster:
        yield cluster.start()


@pytest.fixture
def worlds(_durable, tmp_path_factory):
    """Makes fresh databases: nobody joins under the name of another run's agent."""
    made = []

    def make():
        for world in made:
            world.close()
        made[:] = [Env(_durable, tmp_path_factory.mktemp("durable"))]
        return made[0]

    yield make
    for world in made:
        world.close()


@pytest.fixture
def durable(worlds):
    return worlds()


@pytest.mark.long
def test_rates_through_http(worlds, tmp_path, tls):
    leases = []

    def rate():
        world = worlds()
        servers = [world.server(tls=tls), world.server(tls=tls)]
        job = submit_range(servers[0].http, ITEMS)
        with Load(tmp_path, servers, "--agents", str(AGENTS)) as load:
            wait_for_end(servers[0].http, job, 600)
            totals = load.stop()
        assert outcomes(world) == ITEMS
        took = (totals["last_settled_ms"] - totals["first_lease_ms"]) / 1000
        leases.append(round(totals["leases"] / took))
        return round(ITEMS / took)

    rates, way = figures.repeated(3, rate), "tls" if tls else "plain"
    least = 50_000 if tls else 60_000
    figures.record(f"load_http_{way}", "outcomes/s", rates, minimum=least, items=ITEMS)
    figures.record(f"load_http_{way}_leases", "leases/s", leases, minimum=1_200, items=ITEMS)


@pytest.mark.long
def test_rates_of_the_store_alone(durable):
    flags = ["--agents", str(AGENTS), "--seconds", "10"]
    measured = [store_bench(durable.conninfo, *flags) for _ in range(3)]
    for name, minimum in (("outcomes_per_s", 300_000), ("leases_per_s", 7_500)):
        values = [each[name] for each in measured]
        figures.record(f"load_store_{name}", "1/s", values, minimum=minimum)


@pytest.mark.long
def test_a_million_items_are_submitted_in_seconds(durable):
    server = durable.server()
    answers = []

    def submitted():
        job, _, took = submit_lines(server.http)
        for _ in range(5):
            time.sleep(1.1)  # past the time for which counts are cached
            begin = time.monotonic()
            assert show(server.http, job)["counts"]["waiting"] == LINES
            answers.append(round((time.monotonic() - begin) * 1000, 1))
        return round(took, 2)

    seconds = figures.repeated(3, submitted)
    figures.record("load_submit_a_million_lines", "s", seconds, maximum=3)
    figures.record("load_counts_of_a_million_lines", "ms", answers, maximum=40)


@pytest.mark.long
def test_idle_agents_cost_little_and_learn_of_a_job_soon(durable, tmp_path):
    server = durable.server()
    flags = ["--agents", str(AGENTS), "--ramp-ms", "3000", "--lease-ms", "2000"]
    took = []
    with Load(tmp_path, [server], *flags) as load:

        def share():
            all_wait(server)
            cpu, begin = server.cpu_seconds(), time.monotonic()
            time.sleep(20)
            return round(100 * (server.cpu_seconds() - cpu) / (time.monotonic() - begin), 2)

        def reached():
            all_wait(server)
            job, begin = submit_range(server.http, 10 * AGENTS), time.monotonic()
            wait_until("all to have a lease", lambda: with_lease(durable) == AGENTS, 60)
            took.append(round(time.monotonic() - begin, 2))
            wait_for_end(server.http, job, 120)

        shares = figures.repeated(3, share)
        for _ in range(3):
            reached()
        load.stop()
    figures.record("load_idle_share_of_a_core", "%", shares, maximum=4, agents=AGENTS)
    figures.record("load_all_agents_reached", "s", took, maximum=3, agents=AGENTS)


@pytest.mark.long
def test_a_job_may_have_a_hundred_million_items(env, tmp_path):
    """One range, as one command; some of it runs, and the rest is cancelled."""
    server = env.server()
    (tmp_path / "spec.yaml").write_text("name: huge\ncommand: ['true']\n")
    cli, size = Cli(tmp_path, server), 100_000_000
    refused = cli("submit", "spec.yaml", "--range", str(size + 1), timeout_s=600)
    assert refused.code == 2 and f"{size}" in refused.err, refused
    begin = time.monotonic()
    said = cli("submit", "spec.yaml", "--range", str(size), "-q", timeout_s=600)
    took = round(time.monotonic() - begin, 2)
    assert said.code == 0, said
    job = said.out.strip()
    assert show(server.http, job)["counts"]["waiting"] == size
    with Load(tmp_path, [server], "--agents", "200") as load:
        wait_until("some outcomes", lambda: show(server.http, job)["counts"]["succeeded"] > 10**6)
        assert server.http.post(f"/v1/jobs/{job}/cancel").status == 200
        counts = wait_for_end(server.http, job, 600)["counts"]
        load.stop()
    assert counts["succeeded"] + counts["cancelled"] == counts["total"] == size, counts
    assert outcomes(env) == counts["succeeded"] > 10**6
    sampler = Sampler(env.conninfo)
    sampler.sample()
    assert (sampler.samples, sampler.breaches) == (1, [])
    figures.record("load_submit_a_range_of_100_million", "s", [took], maximum=60)
