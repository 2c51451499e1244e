# SPDX-License-Identifier: Apache-2.0
"""Jobs whose items write down when they begin and end, on agents without containers."""

import pathlib
from typing import Any, Dict, List, NamedTuple

from env import wait_until, whole_lines


class Step(NamedTuple):
    at: float
    job: str
    change: int  # +1: an item begins, -1: it ends
    item: int


class Trace:
    """One file that all items append to; a line is written at once, so none is torn."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path, self._gates = folder / "trace", folder / "gates"
        self.path.touch()
        self._gates.mkdir()

    def spec(self, job: str, command: str = "true", **more: Any) -> Dict[str, Any]:
        """Items that run a command of the shell."""
        line = f'echo "$(date +%s.%N) {job} $1 $TIDEMILL_INDEX" >> {self.path}'
        script = f"say() {{ {line}; }}; say 1; {command}; say -1"
        return {"command": ["sh", "-c", script], "resources": {"cpus": 1}, **more}

    def held(self, job: str, first: int = 0, **more: Any) -> Dict[str, Any]:
        """Items that stay until they are released, from the item `first` on; others end at once."""
        gate = self._gates / job
        opened = (
            f"[ $TIDEMILL_INDEX -lt {first} ] || [ -e {gate} ] || [ -e {gate}-$TIDEMILL_INDEX ]"
        )
        return self.spec(job, f"until {opened}; do sleep 0.05; done", **more)

    def release(self, job: str, *items: int) -> None:
        """Lets these items of a job end; without any, all that there are or will be."""
        for name in [f"{job}-{item}" for item in items] or [job]:
            (self._gates / name).touch()

    def steps(self, job: str = "") -> List[Step]:
        rows = [line.split() for line in whole_lines(self.path)]
        steps = [Step(float(row[0]), row[1], int(row[2]), int(row[3])) for row in rows]
        return [step for step in steps if job in ("", step.job)]

    def begun(self, job: str = "") -> List[int]:
        """The items that have begun, in their order."""
        return [step.item for step in self.steps(job) if step.change == 1]

    def ended(self, job: str = "") -> List[int]:
        return [step.item for step in self.steps(job) if step.change == -1]

    def running(self, job: str = "") -> List[int]:
        return sorted(set(self.begun(job)) - set(self.ended(job)))

    def wait_for_begun(self, job: str, count: int, timeout_s: float = 60.0) -> List[int]:
        wait_until(
            f"{count} items of {job} to begin", lambda: len(self.begun(job)) >= count, timeout_s
        )
        return self.begun(job)

    def most(self, job: str = "") -> int:
        """Items that ran at one time."""
        most = running = 0
        for step in sorted(self.steps(job)):
            running += step.change
            most = max(most, running)
        return most
