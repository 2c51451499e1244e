#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a private PostgreSQL that ends with it.

usage: with_postgres.py -- COMMAND...

The command finds an empty database's conninfo in TIDEMILL_TEST_PG. Its exit code is ours.
"""

import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))

from env import Postgres, ends_with_us  # noqa: E402


def main() -> int:
    command = sys.argv[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        print(__doc__.strip(), file=sys.stderr)
        return 1
    # An exit, not a sudden death, so that the cluster is stopped and its folder removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with Postgres() as postgres:
        postgres.start()
        conninfo = postgres.create_database("tidemill_test")
        environment = dict(os.environ, TIDEMILL_TEST_PG=conninfo)
        process = subprocess.Popen(ends_with_us(command, "SIGTERM"), env=environment)
        try:
            return process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


if __name__ == "__main__":
    sys.exit(main())
