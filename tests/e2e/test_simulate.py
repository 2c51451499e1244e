# SPDX-License-Identifier: Apache-2.0
"""tidemill simulate: what it says of itself, and against what really happened."""

import os
import time

import figures
import pytest
from agents import submit
from cli import Cli
from costs import children_cpu
from env import wait_until
from load import items_of
from machines import Machines

SPEC = """\
name: render
image: registry.example/render:3
command: [render, "{item}"]
input: {scene: "s3://scenes/{item}"}
resources: {cpus: 1, memory: 1GiB}
retries: 2
"""

POOL = "name=spot,cpus=4,memory=16GiB,max=5,price=0.36,boot=30s,idle=1m,spot"


@pytest.fixture
def here(tmp_path):
    """The command line without any server."""
    (tmp_path / "render.yaml").write_text(SPEC)
    return Cli(tmp_path)


def simulate(cli, *words, code=0, timeout_s=120.0):
    said = cli("simulate", *words, timeout_s=timeout_s)
    assert said.code == code, said
    return said


def test_a_job_is_played_without_a_server(here):
    words = ["render.yaml", "--items", "400", "--duration", "30s", "--pool", POOL, "--seeds", "2"]
    runs = simulate(here, *words, "--json").json()["runs"]
    assert [run["seed"] for run in runs] == [1, 2]
    for run in runs:
        assert run["succeeded"] == 400 and run["failed"] == 0
        assert run["most_machines"] == 5 and run["slots"] == 20
        assert run["ideal_seconds"] == 600
        # The boot; three machines come first, and the rest when it is known how long items take.
        assert 630 <= run["seconds"] <= 720
        assert run["useful_machine_seconds"] == 400 * 30 / 4
        parts = sum(run[name]["cost"] for name in ("work", "lost", "idle", "boot"))
        assert run["cost"] == pytest.approx(parts, abs=1e-5)
    assert simulate(here, *words, "--json").json()["runs"] == runs


def test_what_a_person_sees(here):
    words = ["render.yaml", "--items", "400", "--duration", "30s", "--pool", POOL]
    said = simulate(here, *words, "--seeds", "3", "--interruptions", "50%/h")
    print(said.out)
    assert "400 items on up to 5 machines of spot, played with 3 seeds" in said.out
    for word in ("MEDIAN", "LEAST", "MOST", "time", "cost", "useful", "taken away", "█"):
        assert word in said.out, word
    assert all(len(line) <= 100 for line in said.out.splitlines())
    assert said.err == ""


def test_a_trace_takes_machines_away(here, tmp_path):
    (tmp_path / "trace.csv").write_text("seconds,machines\n120,2\n300,1\n")
    words = ["render.yaml", "--items", "400", "--duration", "30s", "--pool", POOL, "--seeds", "1"]
    calm = simulate(here, *words, "--json").json()["runs"][0]
    run = simulate(here, *words, "--spot-trace", "trace.csv", "--json").json()["runs"][0]
    assert calm["interruptions"] == 0 and calm["lost"]["cost"] == 0
    assert run["interruptions"] == 3
    assert run["lost"]["cost"] > 0
    assert run["seconds"] > calm["seconds"]


@pytest.mark.parametrize(
    "words, hint",
    [
        ([], "which spec?"),
        (["render.yaml"], "--items N"),
        (["render.yaml", "--items", "9"], "--duration 60s"),
        (["render.yaml", "--items", "9", "--duration", "60s"], "--pool name=spot"),
        (["render.yaml", "--items", "9", "--duration", "60", "--pool", POOL], "write 60s"),
        (["render.yaml", "--items", "9", "--duration", "60s", "--pool", "cpus=4"], "has no name"),
        (["none.yaml", "--items", "9", "--duration", "60s", "--pool", POOL], "cannot read none"),
        (
            ["render.yaml", "--items", "9", "--duration", "60s", "--pool", "name=a,cpus=0.5,max=9"],
            "large enough",
        ),
        (
            ["render.yaml", "--items", "9", "--duration", "60s", "--pool", "name=a,cpus=2,max=9"]
            + ["--interruptions", "5%/h"],
            "',spot'",
        ),
        (
            ["render.yaml", "--items", "9", "--duration", "60s", "--pool", POOL]
            + ["--interruptions", "often"],
            "5%/h",
        ),
    ],
)
def test_an_error_says_what_to_do(here, words, hint):
    assert hint in simulate(here, *words, code=2).err


# `.ci/long simulate` plays those of docs/simulate.md: 1,000,000 items and 250,000 renders.
ITEMS = int(os.environ.get("TIDEMILL_SIM_ITEMS", "25000"))
RENDERS = int(os.environ.get("TIDEMILL_SIM_RENDERS", "5000"))
ITEMS_A_MACHINE = 500
ITEM_MS_MAX = 1.0


def test_nearly_all_that_is_billed_is_work(here):
    """Items whose lengths differ a lot, on spot machines of four slots of which 5 % are taken away
    in an hour: machines that have joined work, and the end is near what packing alone allows."""
    machines = ITEMS // ITEMS_A_MACHINE
    pool = f"name=spot,cpus=4,max={machines},price=0.05,boot=60s,idle=1m,spot"
    words = ["--items", str(ITEMS), "--duration", "lognormal(60s, 1)", "--pool", pool]
    words += ["--interruptions", "5%/h", "--seeds", "1", "--json"]
    run = simulate(here, "render.yaml", *words, timeout_s=1800).json()["runs"][0]
    run.pop("over_time")
    print(run)
    assert run["succeeded"] == ITEMS and run["most_machines"] >= machines
    assert run["useful"] >= 0.95
    assert run["seconds"] <= 1.1 * run["ideal_seconds"]


def renders(cli, count):
    """Renders of 0.12 CPU hours each, on machines of 16 processors: processor time per item, ms."""
    pool = "name=spot,cpus=16,memory=30GiB,price=0.27,boot=90s,idle=2m,spot"
    pool += f",max={count // ITEMS_A_MACHINE}"
    words = ["--items", str(count), "--duration", "lognormal(381s, 0.5)", "--pool", pool]
    words += ["--interruptions", "5%/h", "--seeds", "1", "--json"]
    before = children_cpu()
    run = simulate(cli, "render.yaml", *words, timeout_s=900).json()["runs"][0]
    run.pop("over_time")
    print(run)
    assert run["succeeded"] == count
    assert run["useful_machine_seconds"] * 16 / 3600 == pytest.approx(0.12 * count, rel=0.02)
    return (children_cpu() - before) / count * 1e3


def test_a_simulated_item_costs_little(here):
    spent_ms = renders(here, RENDERS)
    print(f"{spent_ms:.3f} ms per item")
    assert spent_ms <= ITEM_MS_MAX


@pytest.fixture
def farm(env):
    machines = Machines(env)
    yield machines
    machines.close()


def finished(farm, job):
    path = f"/v1/jobs/{job}"
    wait_until("the job to end", lambda: farm.http.get(path).json()["state"] == "finished", 180)


def test_a_job_that_ran_is_simulated_from_what_was_measured(env, farm, tmp_path):
    """The same items on the same pool; as long as their measured durations say."""
    farm.pool("spot", max=2, idle="5s")
    spec = {"command": ["sleep", "0.5"], "resources": {"cpus": 1}, "deadline": "1m"}
    job = submit(farm.http, spec, 20)
    finished(farm, job)
    measured_s = sum(each["outcome"]["duration_ms"] for each in items_of(farm.http, job)) / 1000
    words = ["--like", job, "--pool", "spot", "--boot", "1s", "--seeds", "3", "--json"]
    played = simulate(Cli(tmp_path, farm.servers[0]), *words).json()
    assert [run["succeeded"] for run in played["runs"]] == [20, 20, 20]
    for run in played["runs"]:
        slots = run["slots"] / run["most_machines"]
        assert run["useful_machine_seconds"] * slots == pytest.approx(measured_s, rel=0.15), run
        assert run["ideal_seconds"] < run["seconds"]


# --- the long form ---


@pytest.mark.long
def test_a_large_job_is_simulated_within_a_minute(here):
    def seconds():
        began = time.monotonic()
        renders(here, 250_000)
        return round(time.monotonic() - began, 1)

    taken = figures.repeated(3, seconds)
    figures.record("simulate_250000_renders", "s", taken, maximum=90)


@pytest.mark.long
def test_it_is_as_it_was(env, farm, tmp_path):
    """A job runs on real agents; simulated from its own measurements it takes as long and costs as
    much, within a tenth."""
    items, item_s = 300, 1.3
    farm.pool("spot", max=4, idle="5s")
    spec = {"command": ["sleep", str(item_s)], "resources": {"cpus": 1}, "deadline": "1m"}
    began = time.monotonic()
    job = submit(farm.http, spec, items)
    finished(farm, job)
    took_s = time.monotonic() - began
    wait_until("all machines to be gone", lambda: set(farm.states()) == {"gone"}, 120)
    bill = farm.bill()
    billed_s = sum(row.ended_us - row.since_us for row in bill) / 1e6
    boot = "select extract(epoch from avg(joined_at - billed_from)) from machine"
    boot_ms = round(float(env.sql(boot)) * 1000)
    cli = Cli(tmp_path, farm.servers[0])
    words = ["--like", job, "--pool", "spot", "--boot", f"{boot_ms}ms", "--seeds", "3", "--json"]
    played = simulate(cli, *words).json()
    run = sorted(played["runs"], key=lambda one: one["seconds"])[1]
    played_s = sum(run[name]["machine_seconds"] for name in ("work", "lost", "idle", "boot"))
    context = {"took_s": round(took_s, 1), "billed_s": round(billed_s, 1), "boot_ms": boot_ms}
    print(context, f"simulated {run['seconds']:.1f} s, {played_s:.1f} machine seconds")
    assert run["machines"] == len(bill)
    off = [round(abs(run["seconds"] / took_s - 1), 3)]
    figures.record("simulate_time_beside_a_real_run", "relative error", off, maximum=0.1)
    off = [round(abs(played_s / billed_s - 1), 3)]
    figures.record("simulate_cost_beside_a_real_run", "relative error", off, maximum=0.1)
