# SPDX-License-Identifier: Apache-2.0
"""An image with the Python that runs the tests: its program, its library, and nothing else."""

import io
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile

import test_images

NAME = "tidemill-test/python"
LEFT_OUT = re.compile(
    r"(config-.*|test|tests|idlelib|lib2to3|tkinter|ensurepip|site-packages|__pycache__)/"
)


def _library() -> list[pathlib.Path]:
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not LEFT_OUT.search(str(path.relative_to(folder)))
    ]


def _shared(programs: list[pathlib.Path]) -> set[str]:
    """What the dynamic linker would load for them."""
    done = subprocess.run(["ldd", *map(str, programs)], capture_output=True, text=True)
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


def make(socket: str) -> None:
    python = pathlib.Path(sys.executable).resolve()
    library = _library()
    shared = _shared([python, *(path for path in library if path.suffix == ".so")])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for path in {str(python), *map(str, library), *shared}:
            tar.add(pathlib.Path(path).resolve(), arcname=path.lstrip("/"), recursive=False)
        link = tarfile.TarInfo("usr/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, str(python)
        tar.addfile(link)
        tmp = tarfile.TarInfo("tmp")
        tmp.type, tmp.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(tmp)
    test_images.import_image(socket, NAME, out.getvalue(), ["ENV PATH=/usr/bin"])
