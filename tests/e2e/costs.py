# SPDX-License-Identifier: Apache-2.0
"""What work costs in figures that do not depend on what else the machine does: processor time,
rows written, system calls."""

import os
import pathlib
import resource
import subprocess
from typing import Any, Dict, Iterable, List, Sequence

from env import Env, Postgres, Program, children


def cpu_seconds(pid: int, reaped: bool = False) -> float:
    """User and system time of a process; `reaped` adds that of the children it has waited for."""
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in stat[11 : 15 if reaped else 13])
    return ticks / os.sysconf("SC_CLK_TCK")


def postgres_cpu(postgres: Postgres) -> float:
    """Of the whole cluster, including backends that have ended."""
    total = cpu_seconds(postgres.pid, reaped=True)
    for pid in children(postgres.pid):
        try:
            total += cpu_seconds(pid)
        except OSError:  # it has just ended, and counts with the postmaster from now on
            pass
    return total


def containers_cpu(docker: Any) -> float:
    """Of the inits of all containers that run, and of the items that have ended in them."""
    pids = [found["State"]["Pid"] for found in docker.inspect("tidemill.agent")]
    return sum(cpu_seconds(pid, reaped=True) for pid in pids if pid)


class Cpu:
    """Processor time of programs and of PostgreSQL, counted from its construction."""

    def __init__(self, env: Env, programs: Iterable[Program]) -> None:
        self._env, self._programs = env, list(programs)
        self._before = self._now()

    def _now(self) -> Dict[str, float]:
        spent = {program.name: program.cpu_seconds() for program in self._programs}
        return {**spent, "postgres": postgres_cpu(self._env.postgres)}

    def spent(self) -> Dict[str, float]:
        """Seconds by program."""
        return {name: now - self._before[name] for name, now in self._now().items()}


def rows_written(env: Env) -> int:
    """Rows inserted, updated and deleted in the database. Backends tell what they did when they
    end: terminate the servers first."""
    counted = "coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)"
    return int(env.sql(f"select {counted} from pg_stat_user_tables"))


def children_cpu() -> float:
    """Processor time of all processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_measured(command: Sequence[str], **more: Any) -> float:
    """Runs a command that must succeed; gives the processor time of it and its children. Only for
    tests that wait for no other process meanwhile."""
    before = children_cpu()
    subprocess.run(list(command), check=True, **more)
    return children_cpu() - before


def file_bytes(program: Program) -> int:
    """Bytes that a program has read from files and written to files."""
    fields = pathlib.Path(f"/proc/{program.pid}/io").read_text().split()
    counted: List[str] = ["rchar:", "wchar:"]
    return sum(int(fields[fields.index(name) + 1]) for name in counted)
