#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches packages with pip, and what they depend on, once, into the user's cache folder.

usage: image_wheels.py

Tests install them in images, from an index on loopback: where they run there is no network.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tidemill"
WANTED = pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e" / "image_wheels.txt"
# Of the image, whatever runs this.
PYTHON = "3.11"
PLATFORMS = ["manylinux_2_28_x86_64", "manylinux2014_x86_64", "manylinux1_x86_64"]


def folder() -> pathlib.Path:
    digest = hashlib.sha256(PYTHON.encode() + WANTED.read_bytes()).hexdigest()
    return CACHE / f"image-wheels-{digest[:16]}"


def wheels(name: str = "*") -> list:
    """The files of all of them, or of one."""
    found = sorted(folder().glob(f"{name}-*.whl"))
    if not found:
        raise RuntimeError(f"no {name} in {folder()}: run tools/image_wheels.py")
    return found


def fetch() -> None:
    if folder().exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    flags = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    flags += [f"--python-version={PYTHON}", "--implementation=cp"]
    flags += [f"--platform={each}" for each in PLATFORMS]
    with tempfile.TemporaryDirectory(dir=CACHE) as made:
        whole = pathlib.Path(made) / "whole"
        words = [sys.executable, "-m", "pip", "download", *flags, f"--requirement={WANTED}"]
        subprocess.run([*words, f"--dest={whole}"], check=True)
        whole.rename(folder())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(__doc__.strip())
    fetch()
