#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a private S3 server that ends with it.

usage: with_s3.py -- COMMAND...

The command finds the server's URL in TIDEMILL_TEST_S3, and the folder in which a new folder is a
new bucket in TIDEMILL_TEST_S3_FOLDER. The key is "test", the secret "test-secret", the region
us-east-1. Its exit code is ours.
"""

import os
import sys
import tempfile

import beside
from env import free_port
from object_servers import VERSITYGW, build


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    program, port = build(VERSITYGW), free_port()
    with tempfile.TemporaryDirectory(prefix="tidemill-s3-") as folder:
        server = [str(program), "--port", f"127.0.0.1:{port}", "--quiet", "posix", folder]
        keys = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "test-secret"}
        with beside.server(server, port, dict(os.environ, **keys)):
            url = f"http://127.0.0.1:{port}"
            return beside.run(command, {"TIDEMILL_TEST_S3": url, "TIDEMILL_TEST_S3_FOLDER": folder})


if __name__ == "__main__":
    sys.exit(main())
