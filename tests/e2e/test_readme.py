# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md, copied, work: in an empty folder, for a user who is not root."""

import contextlib
import csv
import ipaddress
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

import image_wheels
import pytest
import test_images
from env import ROOT, alive, binaries, ends_with_us, wait_until
from package_index import PackageIndex

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
    """Somebody without rights, with a home of their own and our programs on the PATH. Whoever may
    use Docker has all rights."""

    def __init__(self, docker=None):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-readme-"))
        self.home.chmod(0o755)
        (self.home / "bin").mkdir()
        for program in PROGRAMS:
            shutil.copy(binaries() / program, self.home / "bin" / program)
        self._account = {}
        if os.geteuid() == 0 and docker is None:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.home, nobody.pw_uid, nobody.pw_gid)
            self._account = dict(user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])
        self.env = {"HOME": str(self.home), "PATH": f"{self.home}/bin:{os.environ['PATH']}"}
        if docker is not None:
            self.env["DOCKER_HOST"] = f"unix://{docker.socket}"

    def start(self, script, **more):
        command = ["bash", "-e", "-o", "pipefail", "-c", script]
        return subprocess.Popen(
            ends_with_us(command, "SIGTERM"),
            cwd=self.home,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self._account,
            **more,
        )

    def run(self, script, timeout_s):
        process = self.start(script)
        try:
            out, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        print(out)
        assert process.returncode == 0, out
        return out


@pytest.fixture
def user():
    somebody = User()
    yield somebody
    shutil.rmtree(somebody.home, ignore_errors=True)


def test_the_commands_of_the_readme_work_as_they_stand(user):
    build, up_command, hello, own, _, _ = FENCE.findall((ROOT / "README.md").read_text())
    assert "cmake --preset release" in build
    with running(user, up_command):
        assert "succeeded" in user.run(hello, 180)
        out = user.run(own, 180)
        assert re.search(r"^\d+$", out.splitlines()[-1]), "what item 3 has printed"


@contextlib.contextmanager
def running(user, up_command):
    """`tidemill up` of somebody, from when it says that it is ready to its end by Ctrl-C. Gives
    what it has printed by then."""
    up = user.start("exec " + up_command)
    lines = []
    try:
        for line in up.stdout:
            print(line, end="")
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        yield lines
    finally:
        up.send_signal(signal.SIGINT)
        rest, _ = up.communicate(timeout=60)
        print(rest)
    assert up.returncode == 0, rest
    wait_until("its end", lambda: not alive(up.pid))


def test_from_nothing_to_the_results_of_a_thousand_items(docker):
    # The images that the registry would have, and the index that pip would find.
    tag = "repo=busybox&tag=1.36"
    test_images.call(docker.socket, "POST", f"/images/tidemill-test/alpine-like/tag?{tag}")
    base = test_images.make_python(docker.socket)
    test_images.call(docker.socket, "POST", f"/images/{base}/tag?repo=python&tag=3.11-slim")
    bridge = json.loads(test_images.call(docker.socket, "GET", "/networks/bridge"))
    subnet = ipaddress.ip_network(bridge["IPAM"]["Config"][0]["Subnet"])
    index = PackageIndex(str(next(subnet.hosts())))  # this machine, as containers see it
    index.publish_file(*image_wheels.wheels("ephem"))
    user = User(docker)
    user.env["PIP_INDEX_URL"], user.env["PIP_TRUSTED_HOST"] = index.url, index.host
    try:
        *_, moon, _ = FENCE.findall((ROOT / "README.md").read_text())
        # Root's own folder is the machine's, where job numbers go on from earlier runs; only that
        # folder is found by default.
        data = user.home / "data"
        with running(user, f"tidemill up --data {data}") as lines:
            up = json.loads((data / "up.json").read_text())
            user.env["TIDEMILL_SERVER"], user.env["TIDEMILL_CA"] = up["server"], up["ca"]
            user.env["TIDEMILL_TOKEN"] = pathlib.Path(up["token_file"]).read_text().strip()
            assert "docker 2" in lines[2], lines
            said = user.run(moon, 600)
            assert "succeeded" in user.run("tidemill submit --example hello --watch", 180)
            assert user.run("tidemill logs hello-2 --item 7", 60) == "hello from item 7 of 100\n"
            usage = user.run("tidemill usage hello-2", 60)
            assert re.search(r"^memory +128 MiB", usage, re.MULTILINE), usage
        # Docker takes its time to remove what the agent has told it to.
        wait_until("its containers' end", lambda: not docker.containers("tidemill.agent"))
        assert 75 < float(said.splitlines()[-1]) < 76, "percent, on January 8, 2026"
        rows = list(csv.DictReader((user.home / "moon" / "moon.csv").open()))
        assert len(rows) == 1000 and {row["cause"] for row in rows} == {"succeeded"}
    finally:
        index.end()
        shutil.rmtree(user.home, ignore_errors=True)
