# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the wheel, and a Python environment in which nothing but it was installed."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "e2e"))

from env import ROOT, binaries


def run(*command, **more):
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        **more,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(folder, programs):
    run(
        *(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder),
        cwd=ROOT / "python",
        env={**os.environ, "TIDEMILL_PROGRAMS": str(programs)},
    )
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    made = build(tmp_path_factory.mktemp("wheel"), binaries())
    print(f"{made.name}: {made.stat().st_size / 1e6:.1f} MB")
    return made


class Place:
    """A folder that everybody may enter, with an environment in it. Commands that run here see no
    PostgreSQL that is installed, and may use this Python even if it is in somebody's home."""

    HIDDEN = "/usr/lib/postgresql"

    def __init__(self, folder):
        self.folder, self.venv = folder, folder / "venv"
        folder.chmod(0o755)

    def command(self, *words):
        mounts = [f"mount -t tmpfs none {self.HIDDEN}"] if os.path.isdir(self.HIDDEN) else []
        python = pathlib.Path(sys.base_prefix)
        shut = [path for path in reversed(python.parents) if not path.stat().st_mode & 0o001]
        if shut:
            kept = self.folder / "python"
            kept.mkdir(exist_ok=True)
            mounts.append(f"mount --bind {python} {kept}")
            mounts.append(f"mount -t tmpfs -o mode=755 none {shut[0]}")
            mounts.append(f"mkdir -p {python} && mount --bind {kept} {python}")
        script = " && ".join([*mounts, f"exec {shlex.join(map(str, words))}"])
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script]


@pytest.fixture(scope="session")
def place():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-wheel-"))
    yield Place(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def venv(wheel, place):
    """Made without a network: all that the wheel needs is in a folder."""
    wheels = pathlib.Path(os.environ.get("TIDEMILL_WHEELS", ROOT / "build" / "wheels"))
    assert wheels.is_dir(), f"pip download -r tests/wheel/requirements.txt -d {wheels}"
    run(sys.executable, "-m", "venv", "--without-pip", place.venv)
    pip = (sys.executable, "-m", "pip", "--isolated", "--python", place.venv / "bin/python")
    run(*pip, "install", "--no-index", "--find-links", wheels, wheel)
    return place.venv
