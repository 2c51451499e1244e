#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches each planted error on and sees whether the simulator finds it.

usage: plants.py PROGRAM [--search SECONDS] [--jobs N] [PLANT...]

PROGRAM is a tidemill-sim of the preset `planted`. Without --search each error is looked for with
the seed that is known to show it, which takes seconds; with it from seed 1 on, for so long at
most. Ends with 1 if one is not found, or if what was broken is not what it should be.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# The first seed that shows it, and the invariant that it breaks. After a change of how plans are
# drawn: plants.py PROGRAM --search 300.
KNOWN = json.loads((pathlib.Path(__file__).parent / "plants.json").read_text())


def look(program, plant, arguments, seconds):
    """(what was broken or None, with which seed, how long it took)"""
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--plant", plant, "--no-shrink", "--json", "--keep", folder, *arguments]
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        took = time.monotonic() - begin
    failure = json.loads(done.stdout).get("failure")
    if failure is None:
        return None, None, took
    return failure["id"], failure["seed"], took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("plants", nargs="*", help="all if none is named")
    parser.add_argument("--search", type=int, metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_intermixed_args()
    missed = 0
    for plant in options.plants or KNOWN:
        known = KNOWN.get(plant, {})
        if options.search:
            arguments = ["--seconds", str(options.search), "--jobs", str(options.jobs)]
        elif "seed" in known:
            arguments = ["--seed", str(known["seed"])]
        else:
            print(f"{plant}: not looked for: {known.get('why', 'no seed is known')}")
            continue
        found, seed, took = look(options.program, plant, arguments, (options.search or 0) + 600)
        if found is None:
            missed += "seed" in known
            print(f"{plant}: NOT FOUND in {took:.0f} s", flush=True)
        else:
            wrong = not options.search and found != known["breaks"]
            missed += wrong
            note = f", which should be {known['breaks']}" if wrong else ""
            print(f"{plant}: {found}{note}, seed {seed}, {took:.0f} s", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
