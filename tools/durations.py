#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows what a gate spent its time on, and keeps it for the next one.

usage: durations.py [--reports FOLDER] [--history FILE] [--limit SECONDS] [--seconds N] [--whole]

Reads FOLDER (build/reports): stages.tsv with the stages and their seconds, and for each stage the
reports of its tests, NAME.xml and NAME/*.xml, as pytest and gtest write them, and the sources that
were compiled, NAME.ninja. Prints the 20 slowest of each, appends all of them to FILE and, if the
stages took longer than the limit together, says which stages and tests have grown since they were
last recorded.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
HISTORY = CACHE / "tidemill" / "gate" / "history.jsonl"
SLOWEST = 20
# A whole gate is about 300 KB.
RUNS_KEPT = 30
# What grew by less is noise on a machine that does other things too.
GROWN_SECONDS, GROWN_RATIO = 2.0, 1.25


def tests_of(report):
    """Yields the name of each test of a JUnit report, and its seconds."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        yield f"{case.get('classname')}.{case.get('name')}", float(case.get("time") or 0)


def sources_of(log):
    """Yields what a log of ninja says was built, and its seconds."""
    for line in log.read_text().splitlines():
        fields = line.split("\t")
        if len(fields) >= 4 and fields[3].endswith(".o"):
            yield fields[3], (int(fields[1]) - int(fields[0])) / 1000


def collect(reports):
    """The seconds of the stages, and of the parts of each stage."""
    stages, parts, flaky = {}, {}, []
    for line in (reports / "stages.tsv").read_text().splitlines():
        name, seconds = line.split("\t")
        stages[name] = stages.get(name, 0) + float(seconds)
    for name in stages:
        found = parts.setdefault(name, {})
        for report in [reports / f"{name}.xml", *sorted(reports.glob(f"{name}/*.xml"))]:
            if report.exists():
                found.update(tests_of(report))
        log = reports / f"{name}.ninja"
        if log.exists():
            found.update(sources_of(log))
        listed = reports / f"{name}.flaky"
        if listed.exists():
            flaky += listed.read_text().split()
    return {"stages": stages, "parts": parts, "flaky": flaky}


def read_history(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def last_seconds(history, stage, part=None):
    """How long it took when it was last recorded; None: it never was."""
    for gate in reversed(history):
        found = gate["stages"] if part is None else gate["parts"].get(stage, {})
        if (part or stage) in found:
            return found[part or stage]
    return None


def seconds_by_file(history, stage):
    """How long the tests of each Python file took when they were last recorded."""
    found = {}
    for name in {name for run in history for name in run["parts"].get(stage, {})}:
        # tests.e2e.test_x.test_name, perhaps with a class between
        file = next((word for word in name.split(".") if word.startswith("test_")), "")
        found[file] = found.get(file, 0) + last_seconds(history, stage, name)
    return found


def grown(history, gate):
    """Lines about what takes longer than it last did, the largest growth first."""
    found = []
    for stage, seconds in gate["stages"].items():
        found.append((stage, seconds, last_seconds(history, stage)))
        for part, part_seconds in gate["parts"][stage].items():
            found.append((f"{stage}: {part}", part_seconds, last_seconds(history, stage, part)))
    lines = []
    for name, now, before in found:
        before = before or 0
        if now - before > GROWN_SECONDS and now > before * GROWN_RATIO:
            lines.append((now - before, f"  {name}: {now:.1f} s, was {before:.1f} s"))
    return [line for _, line in sorted(lines, reverse=True)[:SLOWEST]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reports", type=pathlib.Path, default=ROOT / "build" / "reports")
    parser.add_argument("--history", type=pathlib.Path, default=HISTORY)
    parser.add_argument("--limit", type=float, default=25 * 60, help="seconds")
    parser.add_argument("--seconds", type=float, help="of the run; else those of its stages")
    parser.add_argument("--whole", action="store_true", help="all stages ran, and passed")
    options = parser.parse_args()
    gate = collect(options.reports)
    for stage, parts in gate["parts"].items():
        slowest = sorted(parts.items(), key=lambda part: -part[1])[:SLOWEST]
        if slowest:
            print(f"\n--- slowest of {stage} ({len(parts)} in all)")
        for name, seconds in slowest:
            print(f"{seconds:8.1f} s  {name}")
    print("\n--- stages")
    for stage, seconds in gate["stages"].items():
        print(f"{seconds:8.0f} s  {stage}")
    for test in gate["flaky"]:
        print(f"FLAKY {test}")
    history = read_history(options.history)
    total = options.seconds or sum(gate["stages"].values())
    if total > options.limit:
        print(f"\nWARNING: {total:.0f} s, more than {options.limit:.0f} s. Longer than last time:")
        print("\n".join(grown(history, gate)) or "  nothing")
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    run = {"time": int(time.time()), "commit": commit, "whole": options.whole, "seconds": total}
    history.append({**run, **gate})
    options.history.parent.mkdir(parents=True, exist_ok=True)
    written = options.history.with_suffix(".new")
    written.write_text("".join(json.dumps(gate) + "\n" for gate in history[-RUNS_KEPT:]))
    written.replace(options.history)
    return 0


if __name__ == "__main__":
    sys.exit(main())
