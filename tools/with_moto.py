#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside moto's server, a stand-in for AWS, that ends with it.

usage: with_moto.py -- COMMAND...

The command finds the server's URL in TIDEMILL_TEST_AWS. Its exit code is ours.
"""

import os
import sys

import beside
from env import free_port


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    port = free_port()
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    # Its AWS Batch would otherwise run containers on this machine.
    environment = dict(os.environ, DOCKER_HOST="tcp://127.0.0.1:1")
    with beside.server(program, port, environment):
        return beside.run(command, {"TIDEMILL_TEST_AWS": f"http://127.0.0.1:{port}"})


if __name__ == "__main__":
    sys.exit(main())
