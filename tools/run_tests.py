#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs pytest, and a test that failed once more, alone.

usage: run_tests.py NAME ARGUMENT...

The arguments are pytest's. A test that fails and then passes alone is flaky: it is printed as FLAKY
with both outputs and listed in build/reports/NAME.flaky, and the run passes. More than two tests
that fail fail the run at once: either one of them is broken or there are too many flaky ones.
Durations go to build/reports/NAME.xml.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
REPORTS = ROOT / "build" / "reports"
PYTEST = [sys.executable, "-m", "pytest", "-q"]
FLAKY_MAX = 2
# pytest's own code for "some tests failed"; all others mean that not all tests have run.
TESTS_FAILED = 1


def pytest(name, arguments):
    """Its exit code, and the ids of the tests that failed."""
    cache = ROOT / "build" / "pytest" / name
    shutil.rmtree(cache, ignore_errors=True)
    command = [*PYTEST, f"--rootdir={ROOT}", "-o", f"cache_dir={cache}"]
    command += [f"--junitxml={REPORTS}/{name}.xml", *arguments]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    failed = cache / "v" / "cache" / "lastfailed"
    return status, sorted(json.loads(failed.read_text())) if failed.exists() else []


def failures(name):
    """What the report says of the tests that failed."""
    report = xml.etree.ElementTree.parse(REPORTS / f"{name}.xml")
    texts = []
    for case in report.iter("testcase"):
        for kind in ("failure", "error"):
            texts += [element.text or "" for element in case.findall(kind)]
    return "\n".join(texts)


def run_again(test):
    """Whether it passes alone, and what it prints."""
    command = [*PYTEST, f"--rootdir={ROOT}", "-p", "no:cacheprovider", "-rA", test]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode == 0, done.stdout


def main():
    if len(sys.argv) < 3:
        print(__doc__.splitlines()[2], file=sys.stderr)
        return 2
    name, arguments = sys.argv[1], sys.argv[2:]
    REPORTS.mkdir(parents=True, exist_ok=True)
    flaky = REPORTS / f"{name}.flaky"
    flaky.unlink(missing_ok=True)
    status, failed = pytest(name, arguments)
    if status != TESTS_FAILED:
        return status
    if not failed or len(failed) > FLAKY_MAX:
        print(f"{len(failed)} tests failed; at most {FLAKY_MAX} are run again", flush=True)
        return status
    first = failures(name)
    for test in failed:
        print(f"\n=== {test} failed and is run again, alone", flush=True)
        passes, output = run_again(test)
        if not passes:
            print(output)
            print(f"=== {test} failed again")
            return status
        print(f"=== FLAKY {test}: its first run\n{first}\n=== FLAKY {test}: alone\n{output}")
    flaky.write_text("".join(f"{test}\n" for test in failed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
