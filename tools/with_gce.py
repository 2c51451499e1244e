#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a stand-in for Google's Compute that ends with it.

usage: with_gce.py -- COMMAND...

The command finds the server's host and port in TIDEMILL_TEST_GCE. Its exit code is ours.
"""

import os
import pathlib
import sys

import beside
from env import free_port

SERVER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "cloud" / "gce_server.py"


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    port = free_port()
    with beside.server([sys.executable, str(SERVER), str(port)], port, dict(os.environ)):
        return beside.run(command, {"TIDEMILL_TEST_GCE": f"127.0.0.1:{port}"})


if __name__ == "__main__":
    sys.exit(main())
