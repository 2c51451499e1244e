#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the images that the tests run, in a Docker Engine, over its plain HTTP interface.

usage: test_images.py [SOCKET]

Without a socket it fetches what needs the network, for later runs that have none.

  tidemill-test/scratch      one static program at /noop, and nothing else; ENTRYPOINT, HEALTHCHECK
  tidemill-test/alpine-like  busybox at /bin, /etc/passwd; CMD
  tidemill-test/user         the same with a numeric USER, WORKDIR, ENV, ENTRYPOINT and CMD
  tidemill-test/named-user   the same with a USER by name
  tidemill-test/no-such-user the same with a USER that is not in its /etc/passwd
  tidemill-test/nothing      an image without a command
  tidemill-test/probe        the same with /probe, which tries to get out; once more with setuid
  tidemill-test/probe-user   the same with a USER
  tidemill-test/loop         the same with /loop-probe, which takes items of a loop
  tidemill-test/debian-like  a minimal Debian; made once and kept in the user's cache folder
"""

import http.client
import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from typing import Iterable, List, Optional, Tuple
from urllib.parse import urlencode

SOURCES = pathlib.Path(__file__).resolve().parents[1] / "tests" / "images"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "tidemill"
DEBIAN = "bookworm"
APPLETS = "sh cat echo sleep env id ls pwd ps true false printf seq test kill mkdir touch".split()
PASSWD = "root:x:0:0:root:/root:/bin/sh\nworker:x:1234:1234::/home/worker:/bin/sh\n"
GROUP = "root:x:0:\nworker:x:1234:\n"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("docker", timeout=600)
        self.unix_path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.unix_path)


def call(path: str, method: str, target: str, body=None, kind: str = "") -> bytes:
    connection = UnixConnection(path)
    try:
        connection.request(method, target, body, {"Content-Type": kind} if kind else {})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status >= 300 or b'"error"' in text:
        raise RuntimeError(f"{method} {target}: {answer.status} {text.decode(errors='replace')}")
    return text


def has_image(path: str, name: str) -> bool:
    try:
        call(path, "GET", f"/images/{name}/json")
        return True
    except RuntimeError:
        return False


def tar_of(files: Iterable[Tuple[str, bytes, int]], links: Iterable[Tuple[str, str]] = ()) -> bytes:
    """A tar of files (name, content, mode; a name that ends with / is a folder) and links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content, mode in files:
            entry = tarfile.TarInfo(name.rstrip("/"))
            entry.mode = mode
            if name.endswith("/"):
                entry.type = tarfile.DIRTYPE
                tar.addfile(entry)
            else:
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    return out.getvalue()


def import_image(path: str, name: str, tar, changes: Optional[List[str]] = None) -> None:
    query = [("fromSrc", "-"), ("repo", name), ("tag", "latest")]
    query += [("changes", change) for change in changes or []]
    call(path, "POST", "/images/create?" + urlencode(query), tar, "application/x-tar")


def busybox_tar(more: Iterable[Tuple[str, bytes, int]] = ()) -> bytes:
    program = shutil.which("busybox")
    if not program:
        raise RuntimeError("busybox is missing: apt-get install busybox-static")
    files = [
        ("bin/busybox", pathlib.Path(program).read_bytes(), 0o755),
        ("etc/passwd", PASSWD.encode(), 0o644),
        ("etc/group", GROUP.encode(), 0o644),
        ("tmp/", b"", 0o1777),
        ("root/", b"", 0o700),
        ("srv/", b"", 0o777),
        *more,
    ]
    return tar_of(files, [(f"bin/{applet}", "busybox") for applet in APPLETS])


def compiled(*sources: pathlib.Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "program"
        command = ["g++", "-std=c++20", "-O1", "-static", "-o", program, *sources]
        subprocess.run([str(word) for word in command], check=True)
        return program.read_bytes()


def noop_program() -> bytes:
    return compiled(SOURCES / "noop.cc")


def make_probes(path: str) -> None:
    probe = compiled(*sorted((SOURCES / "probe").glob("*.cc")))
    tar = busybox_tar([("probe", probe, 0o755), ("setuid-probe", probe, 0o4755)])
    import_image(path, "tidemill-test/probe", tar)
    import_image(path, "tidemill-test/probe-user", tar, ["USER 1234:1234"])


NOT_NEEDED = (
    "dev/*",
    "usr/share/doc/*",
    "usr/share/locale/*",
    "usr/share/man/*",
    "var/cache/apt/*",
    "var/lib/apt/lists/*",
)


def debian_tar(*packages: str) -> pathlib.Path:
    """The files of a small Debian, with these packages too, without what no test reads: each test
    of environments packs, pushes and pulls it."""
    kept = CACHE / f"{'-'.join(['debian', DEBIAN, 'small', *packages])}.tar"
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree, tar = f"{folder}/tree", f"{folder}/tree.tar"
        more = [f"--include={','.join(packages)}"] if packages else []
        words = ["debootstrap", "--variant=minbase", *more, DEBIAN, tree]
        subprocess.run(words, check=True, stdout=2)
        without = [f"--exclude=./{pattern}" for pattern in NOT_NEEDED]
        subprocess.run(["tar", "-C", tree, *without, "-cf", tar, "."], check=True)
        # A copy beside it first: a tar under its final name is always whole.
        partial = kept.with_suffix(f".{os.getpid()}")
        shutil.copy(tar, partial)
        partial.rename(kept)
    return kept


def json_words(*words: str) -> str:
    return json.dumps(list(words))


def make_all(path: str, debian: bool = True) -> None:
    """Makes those that are missing."""
    if not has_image(path, "tidemill-test/scratch"):
        changes = [
            f"ENTRYPOINT {json_words('/noop', '7')}",
            f"HEALTHCHECK --interval=1s CMD {json_words('/noop')}",
        ]
        tar = tar_of([("noop", noop_program(), 0o755)])
        import_image(path, "tidemill-test/scratch", tar, changes)
    where = ["WORKDIR /srv", "ENV COLOUR=blue"]
    own = [f"ENTRYPOINT {json_words('/bin/echo', 'entry')}", f"CMD {json_words('cmd')}"]
    busybox = busybox_tar()
    kinds = {
        "alpine-like": ["CMD " + json_words("/bin/echo", "from the image")],
        "user": ["USER 1234:1234", *where, *own],
        "named-user": ["USER worker", *where, *own],
        "no-such-user": ["USER nobody-here"],
        "nothing": [],
    }
    for kind, changes in kinds.items():
        if not has_image(path, f"tidemill-test/{kind}"):
            import_image(path, f"tidemill-test/{kind}", busybox, changes)
    if not has_image(path, "tidemill-test/probe-user"):
        make_probes(path)
    if not has_image(path, "tidemill-test/loop"):
        probe = compiled(SOURCES / "loop_probe.cc")
        import_image(path, "tidemill-test/loop", busybox_tar([("loop-probe", probe, 0o755)]))
    if debian and not has_image(path, "tidemill-test/debian-like"):
        with open(debian_tar(), "rb") as tar:
            import_image(path, "tidemill-test/debian-like", tar, ["CMD " + json_words("/bin/true")])


def make_python(path: str) -> str:
    """An image that environments stand on, if it is missing; its name."""
    name = "tidemill-test/python-like"
    if not has_image(path, name):
        with open(debian_tar("python3-venv"), "rb") as tar:
            import_image(path, name, tar)
    return name


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.exit(__doc__.strip())
    if len(sys.argv) == 2:
        make_all(sys.argv[1])
    else:
        debian_tar()
        debian_tar("python3-venv")
