#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What deploy/terraform is checked with: Terraform or OpenTofu, and a stub of the providers.

usage: programs.py

Builds what is not there yet into the user's cache folder. OpenTofu is built only where neither it
nor Terraform is installed: that takes minutes, once.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from object_servers import CACHE, Program, build  # noqa: E402

TOFU = Program(
    "github.com/opentofu/opentofu",
    "v1.12.6",
    "cmd/tofu",
    (
        "github.com/hashicorp/hcl/v2@v2.20.1="
        "github.com/opentofu/hcl/v2@v2.20.2-0.20251021132045-587d123c2828",
    ),
)


def terraform() -> str:
    """The path of Terraform, or of OpenTofu, which does the same."""
    return shutil.which("terraform") or shutil.which("tofu") or str(build(TOFU))


def stub() -> pathlib.Path:
    """The path of the stub; its name in the cache follows from its source."""
    sources = [HERE / name for name in ("go.mod", "go.sum", "main.go", "play.go", "schema.go")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    path = CACHE / f"terraform-stub-{digest}"
    if path.exists():
        return path
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        raise RuntimeError("the stub provider is built with Go, which is not here")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        for source in sources:
            shutil.copy(source, folder)
        environment = dict(os.environ, CGO_ENABLED="0", GOFLAGS="-mod=readonly")
        subprocess.run([go, "build", "-o", "stub", "."], check=True, cwd=folder, env=environment)
        os.replace(pathlib.Path(folder) / "stub", path)
    return path


def main() -> int:
    terraform()
    stub()
    return 0


if __name__ == "__main__":
    sys.exit(main())
