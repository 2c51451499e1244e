#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the programs by which OCI validates runtimes, once, into the user's cache folder.

usage: oci_tests.py

Each is a Go program of opencontainers/runtime-tools that calls the runtime which RUNTIME names and
prints what it found, as TAP. They are run where they are: beside them is what they put into
containers. No release has them as they are now, so a commit is pinned.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import List

from object_servers import CACHE

MODULE, VERSION = "github.com/opencontainers/runtime-tools", "v0.9.1-0.20251205004911-5e639034dcdc"
FOLDER = CACHE / f"oci-tests-{VERSION}"
ROOT = "rootfs-amd64.tar.gz"  # they look for it by this name
INSIDE = "runtimetest"


def programs() -> List[str]:
    return sorted({path.name for path in build().iterdir()} - {ROOT, INSIDE})


def build() -> pathlib.Path:
    """The folder of the programs; they are built if they are not there yet."""
    if FOLDER.exists():
        return FOLDER
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        raise RuntimeError("the tests of OCI runtimes are built with Go, which is not here")
    CACHE.mkdir(parents=True, exist_ok=True)
    # Their vendor folder is cut down in a module's archive.
    environment = dict(os.environ, GOFLAGS="-mod=readonly", CGO_ENABLED="0")
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        made = pathlib.Path(folder) / "made"
        made.mkdir()
        told = subprocess.check_output(
            [go, "mod", "download", "-json", f"{MODULE}@{VERSION}"], cwd=folder, env=environment
        )
        source = json.loads(told)["Dir"]
        words = ["build", "-trimpath", "-ldflags", "-s -w", "-o", f"{made}/"]
        packages = ["./validation/...", f"./cmd/{INSIDE}"]
        subprocess.run([go, *words, *packages], check=True, cwd=source, env=environment)
        shutil.copy(pathlib.Path(source) / ROOT, made)
        os.rename(made, FOLDER)
    return FOLDER


def main() -> int:
    build()
    return 0


if __name__ == "__main__":
    sys.exit(main())
