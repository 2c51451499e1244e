# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md, copied, work: in an empty folder, for a user who is not root."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest
from env import ROOT, alive, binaries, ends_with_us, wait_until

FENCE = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = ("tidemill", "tidemill-server", "tidemill-agent", "tidemill-init")


# Libraries that only tests are built with.
FOR_TESTS = {"libgtest-dev", "librapidcheck-dev", "libclang-rt-14-dev"}
LIBRARY = re.compile(r"\blib[a-z0-9.+-]+-dev\b")


def test_the_packages_are_those_that_the_gate_builds_with():
    gate = (ROOT / ".ci" / "run").read_text()
    packages = gate.partition("packages=(")[2].partition(")")[0]
    wanted = set(LIBRARY.findall(packages)) - FOR_TESTS
    assert wanted <= set(LIBRARY.findall((ROOT / "README.md").read_text()))


class User:
    """Somebody without rights, with a home of their own and our programs on the PATH."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-readme-"))
        self.home.chmod(0o755)
        (self.home / "bin").mkdir()
        for program in PROGRAMS:
            shutil.copy(binaries() / program, self.home / "bin" / program)
        self._account = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.home, nobody.pw_uid, nobody.pw_gid)
            self._account = dict(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        self._env = {"HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}"}

    def start(self, script, **more):
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.Popen(
            ends_with_us(command, "SIGTERM"),
            cwd=self.home,
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._account,
            **more,
        )

    def run(self, script, timeout_s):
        process = self.start(script)
        out, _ = process.communicate(timeout=timeout_s)
        print(out)
        assert process.returncode == 0, out
        return out


@pytest.fixture
def user():
    somebody = User()
    yield somebody
    shutil.rmtree(somebody.home, ignore_errors=True)


def test_the_commands_of_the_readme_work_as_they_stand(user):
    build, up_command, hello, own, _ = FENCE.findall((ROOT / "README.md").read_text())
    assert "cmake --preset release" in build
    begin = time.monotonic()
    up = user.start("exec " + up_command)
    try:
        for line in up.stdout:
            print(line, end="")
            if line.startswith("Ctrl-C"):
                break
        assert "succeeded" in user.run(hello, 60)
        assert time.monotonic() - begin < 60, "from up to the first result it took over a minute"
        out = user.run(own, 180)
        assert re.search(r"^\d+$", out.splitlines()[-1]), "what item 3 has printed"
    finally:
        up.send_signal(signal.SIGINT)
        rest, _ = up.communicate(timeout=60)
        print(rest)
    assert up.returncode == 0, rest
    wait_until("its end", lambda: not alive(up.pid))
