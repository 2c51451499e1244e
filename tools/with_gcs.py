#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a private stand-in for Google's object store that ends with it.

usage: with_gcs.py -- COMMAND...

The command finds the server's URL in TIDEMILL_TEST_GCS. Its exit code is ours.
"""

import os
import sys

import beside
from env import free_port
from object_servers import FAKE_GCS, build


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    program, port = build(FAKE_GCS), free_port()
    url = f"http://127.0.0.1:{port}"
    server = [str(program), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1"]
    server += ["-port", str(port), "-external-url", url, "-public-host", f"127.0.0.1:{port}"]
    with beside.server(server, port, dict(os.environ)):
        return beside.run(command, {"TIDEMILL_TEST_GCS": url})


if __name__ == "__main__":
    sys.exit(main())
