# SPDX-License-Identifier: Apache-2.0
"""That nothing is lost or doubled, asked of the database from outside."""

import subprocess
import threading

from env import binaries
from load import show


class Sampler(threading.Thread):
    """Checks conservation again and again while a test runs."""

    def __init__(self, conninfo):
        super().__init__(daemon=True)
        self.conninfo = conninfo
        self.samples, self.unreachable, self.breaches = 0, 0, []
        self._over = threading.Event()

    def run(self):
        while not self._over.wait(0.5):
            self.sample()

    def sample(self):
        command = [str(binaries() / "tidemill-server"), "check", "--database", self.conninfo]
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
            )
        except subprocess.TimeoutExpired:
            self.breaches.append("the check took more than two minutes")
            return
        if done.returncode == 0:
            self.samples += 1
        elif done.returncode == 5:
            self.unreachable += 1
        else:
            self.breaches.append(done.stdout)

    def finish(self):
        self._over.set()
        self.join(180)
        self.sample()


def outcomes(env):
    """Counted by the database alone, from what the reports and their roll-ups say they ended."""
    return int(
        env.sql(
            "select coalesce((select sum(bit_count(ended)) from report), 0)"
            " + coalesce((select sum(bit_count(ended)) from chunk_stat), 0)"
        )
    )


def done_share(http, job):
    try:
        counts = show(http, job)["counts"]
    except (OSError, AssertionError):
        return 0.0
    return (counts["succeeded"] + counts["failed"]) / counts["total"]
