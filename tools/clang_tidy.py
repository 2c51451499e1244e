#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources that differ from a base commit.

usage: clang_tidy.py BUILD [--base COMMIT] [--jobs N] [FILE...]

BUILD has the compile_commands.json of a build without unity sources. A header that differs is
looked at through the first source that includes it, which is mostly its own. The base is the merge
base with upstream, else the last commit whose gate passed on this machine, else the last one that
is four hours older than HEAD. What was found clean is not looked at again while nothing that it
includes changes.
"""

import argparse
import concurrent.futures
import functools
import hashlib
import os
import pathlib
import re
import subprocess
import sys

import durations

ROOT = pathlib.Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-19")
CLEAN = durations.CACHE / "tidemill" / "clang-tidy"
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def base_commit(named):
    """Where the change begins, and why we think so; an error if a named one is not there."""
    if named:
        commit = git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
        if not commit:
            sys.exit(f"clang_tidy.py: there is no commit {named}")
        return commit, "as named"
    head = git("rev-parse", "HEAD")
    upstream = git("merge-base", "HEAD", "@{upstream}") or git("merge-base", "HEAD", "origin/main")
    if upstream and upstream != head:
        return upstream, "the merge base with upstream"
    for gate in reversed(durations.read_history(durations.HISTORY)):
        commit = gate["commit"] if gate["whole"] else ""
        if commit and commit != head and git("merge-base", commit, "HEAD") == commit:
            return commit, "the last commit whose gate passed here"
    earlier = int(git("show", "-s", "--format=%ct", "HEAD")) - 4 * 3600
    commit = git("rev-list", "-1", f"--before={earlier}", "HEAD")
    return commit or git("rev-list", "--max-parents=0", "HEAD"), "four hours before HEAD"


@functools.lru_cache(maxsize=None)
def scan(path):
    """The hash of a file, and the headers of ours that it includes."""
    text = path.read_bytes()
    names = INCLUDE.findall(text.decode(errors="replace"))
    return hashlib.sha256(text).hexdigest(), [SRC / name for name in names]


def closure(source):
    """The source and all headers of ours that it includes, directly or not, with their hashes."""
    found, left = {}, [source]
    while left:
        path = left.pop()
        if path not in found and path.exists():
            found[path], included = scan(path)
            left += included
    return found


def with_headers(changed):
    """The sources among the changed files, and for each header one that includes it."""
    every = [path for path in sorted(SRC.rglob("*.cc")) if not path.name.endswith("_fuzz.cc")]
    sources = [path for path in every if path in changed]
    seen = set().union(*(closure(path) for path in sources))
    for header in sorted(path for path in changed if path.suffix == ".h" and path not in seen):
        own = header.with_suffix(".cc")
        for path in [own, *every]:
            if header in closure(path):
                sources.append(path)
                seen |= closure(path).keys()
                break
    return sources


def clean_mark(source):
    """The file that says that the source, with all that it includes, was found clean."""
    parts = [TIDY, (ROOT / ".clang-tidy").read_text()]
    parts += [f"{path.relative_to(SRC)} {sha}" for path, sha in sorted(closure(source).items())]
    return CLEAN / hashlib.sha256("\n".join(parts).encode()).hexdigest()


def look_at(build, source):
    # The warnings of the build are the compiler's business.
    command = [TIDY, "-p", str(build), "--quiet", "--extra-arg=-w", str(source)]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode == 0, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--base", default=os.environ.get("TIDEMILL_BASE", ""))
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.files:
        sources = [path.resolve() for path in options.files]
    else:
        base, why = base_commit(options.base)
        names = git("diff", "--name-only", "--diff-filter=d", base, "--", "src").splitlines()
        changed = {ROOT / name for name in names}
        sources = with_headers(changed)
        print(f"{len(sources)} sources differ from {base[:12]}, {why}")
    CLEAN.mkdir(parents=True, exist_ok=True)
    marks = {source: clean_mark(source) for source in sources}
    left = [source for source in sources if not marks[source].exists()]
    print(f"{len(left)} of them have not been found clean before", flush=True)
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, (good, output) in zip(
            left, pool.map(lambda s: look_at(options.build, s), left)
        ):
            if good:
                marks[source].touch()
            else:
                broken += 1
                print(output, flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
