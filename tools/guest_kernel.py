#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches the kernel that guests of the tests run, once, into the user's cache folder.

usage: guest_kernel.py

Debian's cloud kernel, by apt, and the few modules that a guest needs for its network and to hear
its power button.
"""

import os
import pathlib
import shutil
import subprocess
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tidemill"
KERNEL = CACHE / "guest-kernel-2"  # another name when it holds something else
# Each after those it needs.
MODULES = "virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci".split()
MODULES += ["failover", "net_failover", "virtio_net", "evdev", "button"]


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
        for module in MODULES:
            shutil.copy(next(pathlib.Path(folder).rglob(f"{module}.ko")), part)
        part.rename(KERNEL)


if __name__ == "__main__":
    fetch()
