# SPDX-License-Identifier: Apache-2.0
"""tidemill-sim as a person uses it: seeds, plans in files, what it says of wrong ones."""

import json
import re
import subprocess

from env import ROOT, binaries


def sim(*arguments, folder=None):
    return subprocess.run(
        [binaries() / "tidemill-sim", *map(str, arguments)],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_seeds_side_by_side_are_the_seeds_one_after_the_other(tmp_path):
    figures = []
    for jobs in (1, 2):
        done = sim("--seed", 1, "--count", 3, "--jobs", jobs, "--json", folder=tmp_path)
        assert done.returncode == 0, done.stdout
        figures.append(json.loads(done.stdout))
    one, two = figures
    assert one["seeds"] == two["seeds"] == 3
    assert one["steps"] == two["steps"] > 0
    assert one["settlements"] == two["settlements"] > 0
    assert one["faults"] == two["faults"] > 0
    assert "failure" not in one


def test_the_plan_of_a_seed_is_played_as_the_seed_is(tmp_path):
    plan = sim("--seed", 3, "--plan")
    assert plan.returncode == 0
    (tmp_path / "plan.json").write_text(plan.stdout)
    replayed = json.loads(sim("--replay", "plan.json", "--json", folder=tmp_path).stdout)
    drawn = json.loads(sim("--seed", 3, "--json").stdout)
    assert replayed["steps"] == drawn["steps"]
    assert replayed["settlements"] == drawn["settlements"]


def test_a_plan_that_is_changed_by_hand_is_another_run(tmp_path):
    plan = json.loads(sim("--seed", 3, "--plan").stdout)
    before = sum(sum(job["parts"]) for job in plan["jobs"])
    plan["jobs"] = [{"parts": [before + 1]}]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = sim("--replay", "plan.json", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    changed, drawn = json.loads(done.stdout), json.loads(sim("--seed", 3, "--json").stdout)
    assert changed["settlements"] > 0 and changed["steps"] != drawn["steps"]


def test_it_says_what_is_wrong_with_a_file(tmp_path):
    (tmp_path / "plan.json").write_text('{"faults": {"persons": 1}}')
    done = sim("--replay", "plan.json", folder=tmp_path)
    assert done.returncode == 1
    assert done.stderr == (
        "tidemill-sim: plan.json: faults: unknown field 'persons'; did you mean 'person'?\n"
    )
    gone = sim("--replay", "gone.json", folder=tmp_path)
    assert gone.returncode == 1
    assert gone.stderr == "tidemill-sim: gone.json cannot be read\n"


def test_seconds_stop_it(tmp_path):
    done = sim("--seconds", 1, "--json", folder=tmp_path)
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["seeds"] >= 1


def test_wrong_use_exits_with_1():
    assert sim("--jobs", 0).returncode == 1
    assert sim("--shrink", "--no-shrink").returncode == 1
    assert sim("--help").returncode == 0


def test_the_page_names_every_fault_and_every_invariant():
    page = (ROOT / "docs" / "reliability.md").read_text()
    faults = json.loads(sim("--seed", 1, "--plan").stdout)["faults"]
    names = {name for name, value in faults.items() if not isinstance(value, dict)}
    for group, rates in faults.items():
        if isinstance(rates, dict):
            names |= {f"{group}.{rate.removesuffix('_us')}" for rate in rates}
    assert len(names) > 20
    assert {name for name in names if f"`{name}`" not in page} == set()

    sources = [*(ROOT / "src" / "sim").glob("*.cc"), ROOT / "src" / "store" / "check.cc"]
    code = "".join(path.read_text() for path in sources if not path.stem.endswith("_test"))
    ids = set(re.findall(r'"([SL][0-9]{2})"', code))
    assert len(ids) > 20
    assert {name for name in ids if f"| {name} |" not in page} == set()
