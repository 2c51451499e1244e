# SPDX-License-Identifier: Apache-2.0
"""`pip install tidemill && tidemill up` on a machine that has a Python and nothing else."""

import contextlib
import os
import pathlib
import pwd
import re
import signal
import subprocess
import tempfile
import zipfile

import pytest
from cli import read_line
from conftest import build, run
from env import ROOT, alive, children, wait_until

VERSION = (ROOT / "VERSION").read_text().strip()
PROGRAMS = {"tidemill", "tidemill-server", "tidemill-agent", "tidemill-init", "tidemill-runtime"}


class Machine:
    """Runs the programs of an environment as one user, who has an empty home."""

    def __init__(self, place, user):
        self.place, self.user = place, pwd.getpwnam(user)
        self.home = place.folder / f"home-{user}"
        self.home.mkdir(exist_ok=True)
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        path = f"{place.venv}/bin:/usr/bin:/bin"
        self.env = {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8"}

    def _command(self, *words):
        become = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}"]
        return self.place.command(*become, "--clear-groups", "--pdeathsig", "SIGKILL", *words)

    def start(self, *words):
        return subprocess.Popen(
            self._command(*words),
            cwd=self.home,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words):
        return run(*self._command(*words), cwd=self.home, env=self.env, timeout=120)


class Up:
    """A `tidemill up` that is ready, and all processes of it."""

    def __init__(self, machine, *flags):
        self.process = machine.start("tidemill", "up", "--engine", "process", *flags)
        self.lines, self.family = [], []

    def __enter__(self):
        while not (self.lines and self.lines[-1].startswith("Ctrl-C")):
            self.lines.append(read_line(self.process, 120).rstrip("\n"))
        ahead = [self.process.pid]
        while ahead:
            self.family.append(ahead.pop())
            ahead += children(self.family[-1])
        return self

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, out
        wait_until("all of it to end", lambda: not any(map(alive, self.family)))
        return out

    def __exit__(self, *_):
        for pid in filter(alive, self.family):
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, signal.SIGKILL)
        self.process.wait(60)


def nothing_runs_of(folder):
    """What began after `up` was ready is not of its family, and may end a moment later."""
    wait_until("the last of it", lambda: processes_of(folder) == [])


def processes_of(folder):
    found = []
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            if os.readlink(exe).startswith(f"{folder}/"):
                found.append(exe)
        except OSError:  # it has ended
            pass
    return found


def script_of(page):
    return re.search(r"```python\n(.*?)```", page.read_text(), re.DOTALL)[1]


def test_it_is_for_any_linux_and_has_what_people_run(wheel, venv):
    assert "requires no external shared libraries" in run("auditwheel", "show", wheel)
    tags = r"py3-none-manylinux_2_17_(\w+)\.musllinux_1_1_\1"
    assert re.fullmatch(rf"tidemill-{re.escape(VERSION)}-{tags}\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    scripts = {name.rpartition("/")[2] for name in names if ".data/scripts/" in name}
    assert scripts == PROGRAMS
    assert "tidemill/py.typed" in names
    assert any(name.endswith("licenses/linked/libssl-dev.txt") for name in names)
    for program in ("tidemill", "tidemill-server", "tidemill-agent"):
        assert run(venv / "bin" / program, "--version").split()[-1] == VERSION
    # Compressed, of which a server and a command line are the most.
    assert wheel.stat().st_size < 25e6


def test_the_sdk_alone_is_for_any_machine(tmp_path):
    made = build(tmp_path, "none")
    assert made.name == f"tidemill-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(made) as archive:
        assert not any(".data/" in name for name in archive.namelist())


def test_a_program_that_is_not_static_is_refused(tmp_path):
    for program in PROGRAMS:
        (tmp_path / program).symlink_to("/bin/true")
    with pytest.raises(AssertionError, match="is not static"):
        build(tmp_path, tmp_path)


@pytest.mark.usefixtures("venv")
def test_the_first_minute_of_an_ordinary_user(place):
    machine = Machine(place, "nobody")
    with Up(machine) as up:
        assert up.lines[-2].startswith("Ready. In another terminal:  tidemill submit"), up.lines
        assert (machine.home / ".local/share/tidemill/pg/PG_VERSION").read_text() == "18\n"
        said = machine.run("tidemill", "submit", "--example", "hello", "--range", "5", "--watch")
        assert "hello-1 finished: all 5 items succeeded" in said
        logged = machine.run("tidemill", "logs", "hello-1", "--item", "3")
        assert logged == "hello from item 3 of 5\n"
        script = place.folder / "first.py"
        script.write_text(script_of(ROOT / "python/README.md"))
        said = machine.run("python", script)
        assert said.split() == [str(len(str(2**number))) for number in range(100)]
        assert "digits-2" in machine.run("tidemill", "jobs")
        assert up.stop().startswith("Stopping ...\nStopped.")
    nothing_runs_of(place.folder)


@pytest.mark.usefixtures("venv")
def test_root_runs_it_too(place):
    machine = Machine(place, "root")
    data = place.folder / "data"
    with Up(machine, "--data", data) as up:
        assert up.lines[0] == f"PostgreSQL   private cluster in {data}/pg", up.lines
        assert (data / "pg").stat().st_uid != 0
        up.stop()
    nothing_runs_of(place.folder)


@pytest.mark.usefixtures("venv")
def test_root_is_told_where_postgres_cannot_run(place):
    machine = Machine(place, "root")
    with tempfile.TemporaryDirectory(prefix="tidemill-up-") as data:
        os.chmod(data, 0o755)
        place.venv.chmod(0o700)
        try:
            up = machine.start("tidemill", "up", "--engine", "process", "--data", data)
            said, _ = up.communicate(timeout=60)
        finally:
            place.venv.chmod(0o755)
    assert up.returncode == 1
    assert f"may not enter {place.venv}, where its programs are" in said
