#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the object stores that tests run against, once, into the user's cache folder.

usage: object_servers.py

versitygw is as strict with signatures and conditions as S3 itself; fake-gcs-server plays Google's.
amazon-ec2-metadata-mock plays the instance metadata of EC2. All are Go programs, pinned by version;
a new version has another name in the cache.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tidemill"


class Program(NamedTuple):
    module: str
    version: str
    package: str  # within the module
    replaces: tuple = ()  # as in its own go.mod: "module@version=other@version"
    called: str = ""  # if not as the package is

    @property
    def name(self) -> str:
        return self.called or (self.package or self.module).rpartition("/")[2]

    @property
    def path(self) -> pathlib.Path:
        return CACHE / f"{self.name}-{self.version}"


VERSITYGW = Program("github.com/versity/versitygw", "v1.8.0", "cmd/versitygw")
FAKE_GCS = Program("github.com/fsouza/fake-gcs-server", "v1.56.1", "")

EC2_METADATA = Program(
    "github.com/aws/amazon-ec2-metadata-mock", "v1.12.0", "cmd", called="ec2-metadata-mock"
)


def build(program: Program) -> pathlib.Path:
    """The program's path; it is built if it is not there yet."""
    if program.path.exists():
        return program.path
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        raise RuntimeError(f"{program.name} is built with Go, which is not here")
    CACHE.mkdir(parents=True, exist_ok=True)
    package = f"{program.module}/{program.package}".rstrip("/")
    environment = dict(os.environ, GOFLAGS="-mod=mod", CGO_ENABLED="0")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        # A module of our own that needs this version: `go install` would ask for the newest first.
        for words in (
            ["mod", "init", "tidemill/servers"],
            ["mod", "edit", f"-require={program.module}@{program.version}"],
            *(["mod", "edit", f"-replace={each}"] for each in program.replaces),
            ["build", "-o", "program", package],
        ):
            subprocess.run([go, *words], check=True, cwd=folder, env=environment)
        os.replace(pathlib.Path(folder) / "program", program.path)
    return program.path


def main() -> int:
    for program in (VERSITYGW, FAKE_GCS, EC2_METADATA):
        build(program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
