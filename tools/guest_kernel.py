#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the kernel that guests of the tests run, once, into the user's cache folder.

usage: guest_kernel.py

Debian's cloud kernel, by apt, and the few modules that a guest needs for its network and to hear
its power button.
"""

import graphlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import Dict, List

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tidemill"
KERNEL = CACHE / "guest-kernel-3"  # another name when it holds something else
WANTED = ["virtio_pci", "virtio_net", "evdev", "button"]


def modules() -> List[pathlib.Path]:
    """What a guest loads, each after those it needs."""
    return [KERNEL / name for name in (KERNEL / "modules").read_text().split()]


def _in_order(folder: pathlib.Path) -> List[pathlib.Path]:
    """Kernels differ in who needs whom, so the modules are asked."""
    needs: Dict[str, List[str]] = {}
    left = list(WANTED)
    while left:
        name = left.pop()
        if name not in needs:
            found = re.search(rb"\0depends=([^\0]*)\0", _path(folder, name).read_bytes())
            needs[name] = found[1].decode().replace(",", " ").split() if found else []
            left += needs[name]
    return [_path(folder, name) for name in graphlib.TopologicalSorter(needs).static_order()]


def _path(folder: pathlib.Path, name: str) -> pathlib.Path:
    return next(folder.rglob(f"{name}.ko"))


def fetch() -> None:
    if KERNEL.exists():
        return
    meta = subprocess.run(
        ["apt-cache", "depends", "linux-image-cloud-amd64"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    package = next(line.split()[1] for line in meta.splitlines() if "Depends: linux-image" in line)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        # As root apt would fetch as another user, who may not write here.
        command = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package]
        subprocess.run(command, check=True, cwd=folder)
        deb = next(pathlib.Path(folder).glob("*.deb"))
        subprocess.run(["dpkg", "-x", str(deb), folder], check=True)
        part = pathlib.Path(folder) / "part"
        part.mkdir()
        shutil.copy(next(pathlib.Path(folder, "boot").glob("vmlinuz-*")), part / "vmlinuz")
        order = _in_order(pathlib.Path(folder))
        for path in order:
            shutil.copy(path, part)
        (part / "modules").write_text("".join(f"{path.name}\n" for path in order))
        part.rename(KERNEL)


if __name__ == "__main__":
    fetch()
