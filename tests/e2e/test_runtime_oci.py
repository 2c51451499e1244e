# SPDX-License-Identifier: Apache-2.0
"""OCI's own tests of runtimes, on runc alone and on tidemill-runtime above it: they see no
difference, even though each config.json is edited on its way.

A long test: `.ci/long oci`."""

import collections
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import oci_tests
import pytest
from bundles import Machine
from env import binaries

pytestmark = pytest.mark.long
LEFT_OUT = {
    "killsig": "sends its signal perhaps before its container has the trap",
    "linux_ns_itype": "runs a container in the machine's own mounts, and deletes what is in them",
    "pidfile": "kills a container that perhaps has ended",
    "process_rlimits": "gives less address space than runc itself needs now and then",
}
# Most of their time they wait.
AT_ONCE = 6
CONTROL_GROUPS = pathlib.Path("/sys/fs/cgroup")


def outcome(program: str, environment) -> collections.Counter:
    """The lines that tell what it found. It may walk through a map of Go's, in which the order is
    another each time, so they are counted."""
    # What they mount and leave is gone with the namespace.
    words = ["unshare", "--mount", "--propagation", "private", f"./{program}"]
    done = subprocess.run(
        words,
        cwd=oci_tests.FOLDER,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [re.sub(r"ocitest\d+", "BUNDLE", line).strip() for line in done.stdout.splitlines()]
    found = [re.sub(r"^((not )?ok) \d+", r"\1", line) for line in lines]
    found = [line for line in found if re.match(r'(not )?ok\b|"error"', line)]
    return collections.Counter([f"exit {done.returncode}", *found])


@contextlib.contextmanager
def control_groups():
    """Their names are the same each time, and some stay: only one run has them, and clears them."""
    with open(oci_tests.FOLDER / oci_tests.ROOT, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = set(CONTROL_GROUPS.rglob("testdir"))
        try:
            yield
        finally:
            for left in set(CONTROL_GROUPS.rglob("testdir")) - found:
                for folder, _, _ in os.walk(left, topdown=False):
                    os.rmdir(folder)


def outcomes(programs, environments):
    """Of each program, its outcome in each environment."""
    calls = [(program, name) for program in programs for name in environments]
    shared = [call for call in calls if re.search("cgroups|resources", call[0])]
    rows = [shared] + [[call] for call in calls if call not in shared]

    def run(row):
        return {call: outcome(call[0], environments[call[1]]) for call in row}

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return {call: seen for row in pool.map(run, rows) for call, seen in row.items()}


def edits_every_bundle(machine):
    hooks = machine.folder / "hooks"
    hooks.mkdir()
    text = {"hooks": {"poststop": [{"path": "/bin/true"}]}}
    (hooks / "nothing.json").write_text(json.dumps(text))
    machine.configure(hook_folders=[str(hooks)])


@pytest.fixture
def bundles():
    """A folder that other users may enter, as the one of a container with mapped users must."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield folder


def test_they_see_no_difference(tmp_path, bundles):
    machine = Machine(tmp_path)
    edits_every_bundle(machine)
    oci_tests.build()
    programs = [each for each in oci_tests.programs() if each not in LEFT_OUT]
    runtimes = {"runc": shutil.which("runc"), "ours": str(binaries() / "tidemill-runtime")}
    environments = {}
    for name, runtime in runtimes.items():
        environments[name] = {**machine.environment, "RUNTIME": runtime, "TMPDIR": bundles}
    with control_groups():
        seen = outcomes(programs, environments)
    for program in programs:
        ours, plain = seen[program, "ours"], seen[program, "runc"]
        assert ours == plain, (program, ours - plain, plain - ours)
    plain = sum((seen[program, "runc"] for program in programs), collections.Counter())
    good, bad = (
        sum(count for line, count in plain.items() if line.startswith(word))
        for word in ("ok", "not ok")
    )
    edited = machine.log.read_text().count(": 1 hooks, then")
    print(f"{len(programs)} programs: {good} ok, {bad} not ok; {edited} bundles edited")
    # They did look, and at what we had edited.
    assert good > 3000 and edited > len(programs)
