# SPDX-License-Identifier: Apache-2.0
"""deploy/image/*.pkr.hcl, as far as Packer can say without a cloud."""

import os
import shutil
import subprocess

import pytest
from played import ROOT


@pytest.fixture
def packer(tmp_path):
    """Runs packer in a copy of deploy/, without the block that only newer ones know."""
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    (tmp_path / "deploy/image/plugins.pkr.hcl").unlink()
    (tmp_path / "release").mkdir()
    for name in ("tidemill-agent", "tidemill-init"):
        (tmp_path / "release" / name).touch()
    given = ["-var", f"programs={tmp_path}/release", "-var", "version=1.0", "-var", "project=p"]

    def run(command, *words):
        return subprocess.run(
            ["packer", command, *words, *(given if command == "validate" else []), "."],
            cwd=tmp_path / "deploy/image",
            env={**os.environ, "CHECKPOINT_DISABLE": "1", "AWS_EC2_METADATA_DISABLED": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )

    return run


def test_packer_finds_no_fault_in_the_images(packer, tmp_path):
    formatted = packer("fmt", "-check", "-diff")
    assert formatted.returncode == 0, formatted.stdout
    valid = packer("validate")
    assert valid.returncode == 0, valid.stdout
    build = tmp_path / "deploy/image/build.pkr.hcl"
    build.write_text(build.read_text().replace("expect_disconnect", "expect_disconect"))
    wrong = packer("validate")
    assert wrong.returncode == 1 and "expect_disconect" in wrong.stdout
