#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a private PostgreSQL that ends with it.

usage: with_postgres.py -- COMMAND...

The command finds an empty database's conninfo in TIDEMILL_TEST_PG. Its exit code is ours.
"""

import sys

import beside
from env import Postgres


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    with Postgres() as postgres:
        postgres.start()
        conninfo = postgres.create_database("tidemill_test")
        return beside.run(command, {"TIDEMILL_TEST_PG": conninfo})


if __name__ == "__main__":
    sys.exit(main())
