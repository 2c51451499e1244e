# SPDX-License-Identifier: Apache-2.0
"""A server that has set itself up as Terraform says understands the pools that Terraform wrote."""

import pathlib
import re
import sys
import time

import pytest
from env import ROOT, binaries

sys.path.insert(0, str(ROOT / "tests" / "deploy"))

from booted import Cloud, Server  # noqa: E402

ADDRESS = "10.77.0.10"  # the one that the stub gives the server


@pytest.fixture
def machine(tmp_path):
    names = ("tidemill", "tidemill-server", "tidemill-agent", "tidemill-init")
    built = {name: (binaries() / name).read_bytes() for name in names}
    given = {"region": "eu-west-1", "account": "123456789012"}
    cloud = Cloud(tmp_path, "aws", given, built)
    machine = Server(cloud, "machine")
    machine.cloud = cloud
    yield machine
    machine.end()


def start_as_the_unit_says(machine):
    """Without what is said of proofs: the test has no certificate of AWS."""
    unit = (ROOT / "deploy/systemd/tidemill-server.service").read_text().replace("\\\n", "")
    words = re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1].split()
    words.remove("$TIDEMILL_SERVER_FLAGS")
    settings = machine.read("/etc/tidemill/server.env")
    database = re.search("^TIDEMILL_DATABASE=(.*)$", settings, re.MULTILINE)[1]
    # The log is there before anybody reads it: what runs beside makes it when its turn comes.
    command = f": > /var/log/tidemill; runuser -u tidemill -- {' '.join(words)}"
    command += " >> /var/log/tidemill 2>&1 &"
    machine.run("ip", "address", "add", f"{ADDRESS}/32", "dev", "lo").check_returncode()
    machine.run("sh", "-c", command, TIDEMILL_DATABASE=database).check_returncode()
    until = time.monotonic() + 120
    while "server.listening" not in machine.read("/var/log/tidemill"):
        assert time.monotonic() < until, machine.read("/var/log/tidemill")
        time.sleep(0.1)


def test_people_sign_in_with_what_the_server_left_and_its_pools_are_understood(machine):
    machine.boot()
    start_as_the_unit_says(machine)
    cloud = machine.cloud
    machine.write("/root/token", cloud.kept()["admin-token"], 0o600)
    machine.write("/root/ca.pem", pathlib.Path(cloud.bucket, "server/ca.pem").read_text(), 0o600)

    def tidemill(*words):
        return machine.run("/usr/local/bin/tidemill", *words, HOME="/root")

    login = ["login", f"https://{ADDRESS}:8443", "--token-file", "/root/token"]
    stranger = tidemill(*login)
    assert stranger.returncode != 0 and "certificate" in stranger.stdout
    done = tidemill(*login, "--ca", "/root/ca.pem")
    assert done.returncode == 0, done.stdout
    shown = tidemill("apply", "-f", "/etc/tidemill/tidemill.yaml", "--dry-run")
    assert shown.returncode == 1, shown.stdout
    for line in ("+ pool cpu", "+ pool gpu", "+ queue default", "4 to add, 0 to change"):
        assert line in shown.stdout
    assert "nvidia.com/gpu=1" in shown.stdout
