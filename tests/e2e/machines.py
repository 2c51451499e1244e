# SPDX-License-Identifier: Apache-2.0
"""Pools whose machines the autoscaler makes: agents on this machine."""

import contextlib
import os
import pathlib
import signal
from typing import Any, Dict, List, NamedTuple

from env import Env, Http, Server, found_below, free_port, wait_until, whole_lines

# The minimum time for which the pools of tests bill a machine.
BILLED_AT_LEAST_S = 4


class Billed(NamedTuple):
    project: str
    pool: str
    name: str
    since_us: int
    ended_us: int


class Machines:
    """Servers that make machines in one folder, and what is there of them."""

    def __init__(self, env: Env, servers: int = 1) -> None:
        self.env, self.folder = env, env.folder / "machines"
        ports = [free_port() for _ in range(servers)]
        flags = ["--machines", str(self.folder), "--session-seconds", "10"]
        for port in ports:
            flags += ["--machine-server", f"http://127.0.0.1:{port}"]
        self.servers: List[Server] = []
        for port in ports:
            server = env.server(*flags, start=False)
            server.http = Http(port)
            self.servers.append(server.start())

    @property
    def http(self) -> Http:
        return self.servers[0].http

    def pool(self, name: str, **machines: Any) -> None:
        """Makes a pool with machines of two processors, a price of 1 cent in 10 seconds."""
        settings: Dict[str, Any] = {
            "provider": "local",
            "shape": {"cpus": 2, "memory": "1GiB"},
            "price": 3.6,
            "on_demand": 3.6,
            "max": 3,
            "idle": "1s",
            "billed_at_least": BILLED_AT_LEAST_S,
            "options": {"engine": "process"},
            **machines,
        }
        assert self.http.request("PUT", f"/v1/pools/{name}", {"policy": {}}).status in (200, 201)
        answer = self.http.request("PUT", f"/v1/pools/{name}/machines", settings)
        assert answer.status == 200, answer.body

    def queue(self, name: str, pools: List[str], **more: Any) -> None:
        answer = self.http.request("PUT", f"/v1/queues/{name}", {"pools": pools, **more})
        assert answer.status in (200, 201), answer.body

    def pids(self) -> List[int]:
        """Of machines that are there."""
        found = []
        for made in found_below(self.folder, "*/*/*/made"):
            if (made.parent / "ended").exists():
                continue
            try:
                found.append(int(made.read_text().split()[1]))
            except FileNotFoundError:  # its folder has just been removed
                continue
        return [pid for pid in found if is_alive(pid)]

    def bill(self) -> List[Billed]:
        rows = [line.split() for line in whole_lines(self.folder / "bill")]
        return [Billed(row[0], row[1], row[2], int(row[3]), int(row[4])) for row in rows]

    def made(self) -> int:
        """Machines that were ever ordered."""
        return int(self.env.sql("select count(*) from machine"))

    def all_gone(self) -> bool:
        return set(self.states()) <= {"gone"} and not self.pids()

    def states(self) -> Dict[str, int]:
        """Machines by their state, as the server has them."""
        rows = self.env.sql("select state, count(*) from machine group by state").split()
        names = ["ordered", "booting", "joined", "draining", "gone"]
        return {names[int(row.split("|")[0])]: int(row.split("|")[1]) for row in rows}

    def close(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):  # it ends by itself, too
                os.kill(pid, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


def wait_for_rounds(env: Env, rounds: int = 3) -> None:
    """Until the leader has begun that many rounds from now on, and so has ended all but one."""

    def renewed() -> str:
        return env.sql("select epoch, until from leader")

    for _ in range(rounds):
        before = renewed()
        wait_until("a round of the leader", lambda text=before: renewed() != text)


def most_at_once(bill: List[Billed]) -> int:
    """Machines that were billed at the same moment."""
    changes = [(row.since_us, 1) for row in bill] + [(row.ended_us, -1) for row in bill]
    most = there = 0
    for _, change in sorted(changes):
        there += change
        most = max(most, there)
    return most
