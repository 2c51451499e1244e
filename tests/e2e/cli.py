# SPDX-License-Identifier: Apache-2.0
"""The command line as a test uses it."""

from __future__ import annotations

import fcntl
import json
import os
import pathlib
import pty
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from env import Server, binaries, ends_with_us

SPEC = """\
name: render
image: registry.example/render:3
command: [render, "{item}", "{params.size}"]
params: {size: 3}
resources:
  cpus: 1
  memory: 1GiB
retries: 0
"""

# What played agents can run: they have a processor and no memory.
PLAIN = """\
name: render
command: [render]
retries: 0
"""


class Said(NamedTuple):
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Cli:
    """Runs `tidemill` in a folder of its own, so that nothing of this machine's user is seen."""

    def __init__(self, folder: pathlib.Path, server: Server | None = None) -> None:
        self.folder = folder
        self.program = str(binaries() / "tidemill")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "TERM": "xterm",
        }
        if server:
            self.env["TIDEMILL_SERVER"] = server.url
            self.env["TIDEMILL_TOKEN"] = server.token
            if server.tls:
                self.env["TIDEMILL_CA"] = str(server.tls.ca)

    def __call__(self, *words: str, stdin: str = "", timeout_s: float = 120.0, **env: str) -> Said:
        done = subprocess.run(
            [self.program, *words],
            input=stdin,
            capture_output=True,
            check=False,
            text=True,
            cwd=self.folder,
            env={**self.env, **env},
            timeout=timeout_s,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, env: Mapping[str, str] | None = None) -> subprocess.Popen:
        return subprocess.Popen(
            ends_with_us([self.program, *words], "SIGKILL"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**self.env, **(env or {})},
        )

    def on_terminal(self, columns: int, *words: str, typed: Sequence[str] = ()) -> Said:
        """Runs it on a terminal of so many columns; what is said there comes as `out`. Each of
        `typed` is typed when a question, which ends with ': ', has been asked."""
        master, slave = pty.openpty()
        try:
            size = subprocess.run(
                ["stty", "cols", str(columns), "rows", "24"], stdin=slave, check=True
            )
            assert size.returncode == 0
            process = subprocess.Popen(
                ends_with_us([self.program, *words], "SIGKILL"),
                stdin=slave,
                stdout=slave,
                stderr=slave,
                cwd=self.folder,
                env=self.env,
                preexec_fn=own_terminal,
            )
            os.close(slave)
            slave = -1
            out = b""
            for text in typed:
                out += read_until(master, b": ", 60.0)
                os.write(master, text.encode())
            out += read_all(master, 120.0)
            code = process.wait(60)
            # Whatever has ended it: whoever sits there sees what they type.
            assert termios.tcgetattr(master)[3] & termios.ECHO
            return Said(code, out.decode(), "")
        finally:
            os.close(master)
            if slave >= 0:
                os.close(slave)


def own_terminal() -> None:
    """So that Ctrl-C there reaches the one who sits at it."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def read_until(fd: int, end: bytes, timeout_s: float) -> bytes:
    """What comes, up to and with these bytes."""
    deadline = time.monotonic() + timeout_s
    got = b""
    while not got.endswith(end):
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError(f"no {end!r} within {timeout_s:g} s: {got!r}")
        piece = os.read(fd, 1)
        if not piece:
            raise EOFError(f"it ended without {end!r}: {got!r}")
        got += piece
    return got


def read_line(process: subprocess.Popen, timeout_s: float = 60.0) -> str:
    """The next line of a program's standard output, of which nothing is read ahead."""
    return read_until(process.stdout.fileno(), b"\n", timeout_s).decode()


def read_all(fd: int, timeout_s: float) -> bytes:
    """What comes until the other end is closed."""
    deadline = time.monotonic() + timeout_s
    pieces = []
    while True:
        ready, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise TimeoutError(f"no end within {timeout_s:g} s: {b''.join(pieces)!r}")
        try:
            piece = os.read(fd, 65536)
        except OSError:  # the terminal's way to say that it has ended
            piece = b""
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
