# SPDX-License-Identifier: Apache-2.0
"""What with_postgres.py and its kin share: a command that runs beside a server of theirs."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
from typing import Iterator, List, Mapping, Optional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))

from env import ends_with_us, wait_until  # noqa: E402


def command_of(usage: str) -> Optional[List[str]]:
    """The command that we were given; without one the usage is printed."""
    command = sys.argv[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        print(usage.strip(), file=sys.stderr)
        return None
    # An exit, not a sudden death, so that the server is stopped and its folder removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    return command


def run(command: List[str], variables: Mapping[str, str]) -> int:
    """Runs it with these variables; its exit code. It ends with us."""
    environment = dict(os.environ, **variables)
    process = subprocess.Popen(ends_with_us(command, "SIGTERM"), env=environment)
    try:
        return process.wait()
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def answers(process: subprocess.Popen, port: int) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"{process.args} has ended with {process.returncode}")
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def server(command: List[str], port: int, environment: Mapping[str, str]) -> Iterator[None]:
    """Runs a server that listens on a port of loopback, from when it does."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            ends_with_us(command, "SIGKILL"), env=environment, stdout=log, stderr=log
        )
        try:
            wait_until(command[0], lambda: answers(process, port), 60)
            yield
        finally:
            process.kill()
            process.wait()
