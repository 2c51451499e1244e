# SPDX-License-Identifier: Apache-2.0
"""The programs that go to other people's machines run in a root folder that holds nothing else."""

import json
import os
import shutil
import subprocess

import pytest
from agents import Agent
from env import binaries
from tls import Tls

PROGRAMS = ("tidemill", "tidemill-agent", "tidemill-init")


@pytest.fixture
def empty_root(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    for program in PROGRAMS:
        shutil.copy(binaries() / program, root / program)
    return root


def run(root, *command, token=""):
    def enter():
        os.chroot(root)
        os.chdir("/")

    return subprocess.run(
        [f"/{command[0]}", *command[1:]],
        preexec_fn=enter,
        env={"TIDEMILL_TOKEN": token} if token else {},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
    )


def test_they_need_no_library_and_no_file(empty_root):
    for program in ("tidemill", "tidemill-agent"):
        done = run(empty_root, program, "--version")
        assert done.returncode == 0 and "0.1" in done.stdout, done.stdout
    # It has nothing to say without an agent.
    assert run(empty_root, "tidemill-init").returncode == 2


def test_the_command_line_works_there(env, empty_root):
    server = env.server()
    url = f"http://127.0.0.1:{server.port}"
    (empty_root / "job.yaml").write_text("name: there\ncommand: [echo, '{item}']\n")
    done = run(
        empty_root,
        "tidemill",
        "submit",
        "/job.yaml",
        "--server",
        url,
        "--range",
        "3",
        "-q",
        token=server.token,
    )
    assert done.returncode == 0, done.stdout
    job = done.stdout.strip()
    done = run(empty_root, "tidemill", "show", job, "--server", url, "--json", token=server.token)
    assert json.loads(done.stdout)["counts"]["waiting"] == 3, done.stdout


def test_the_command_line_speaks_tls_there(env, empty_root, tmp_path):
    tls = Tls(tmp_path / "tls")
    server = env.server(tls=tls)
    words = ["tidemill", "jobs", "--server", server.url]
    done = run(empty_root, *words)
    assert done.returncode == 5
    assert "is not trusted" in done.stdout, done.stdout
    shutil.copy(tls.ca, empty_root / "ca.pem")
    done = run(empty_root, *words, "--ca", "/ca.pem", token=server.token)
    assert done.returncode == 0, done.stdout
    # Where some Linux keeps whom it believes.
    (empty_root / "etc/pki/tls/certs").mkdir(parents=True)
    shutil.copy(tls.ca, empty_root / "etc/pki/tls/certs/ca-bundle.crt")
    done = run(empty_root, *words, token=server.token)
    assert done.returncode == 0, done.stdout


def test_the_agent_works_there(env, empty_root):
    server = env.server()
    agent = Agent(env.folder, "there", [server])
    # Where it finds it from inside.
    inside = empty_root / server.join_file.relative_to("/")
    inside.parent.mkdir(parents=True)
    shutil.copy(server.join_file, inside)
    agent.run_in(empty_root, "/tidemill-agent", "/state")
    agent.start()
    machines = server.http.get("/v1/machines").json()["machines"]
    assert [machine["machine"] for machine in machines] == ["there"]
    assert agent.terminate() == 0
