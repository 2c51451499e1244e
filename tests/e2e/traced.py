# SPDX-License-Identifier: Apache-2.0
"""Jobs whose items write down when they begin and end, on agents without containers."""

import pathlib
from typing import Any, Dict, List, NamedTuple

from env import whole_lines


class Step(NamedTuple):
    at: float
    job: str
    change: int  # +1: an item begins, -1: it ends


class Trace:
    """One file that all items append to; a line is written at once, so none is torn."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "trace"
        self.path.touch()

    def spec(self, job: str, seconds: Any, **more: Any) -> Dict[str, Any]:
        # `seconds` may be an expression of the shell.
        line = f'echo "$(date +%s.%N) {job} $1" >> {self.path}'
        script = f"say() {{ {line}; }}; say 1; sleep {seconds}; say -1"
        return {"command": ["sh", "-c", script], "resources": {"cpus": 1}, **more}

    def steps(self, job: str = "") -> List[Step]:
        rows = [line.split() for line in whole_lines(self.path)]
        steps = [Step(float(at), name, int(change)) for at, name, change in rows]
        return [step for step in steps if job in ("", step.job)]

    def begins(self, job: str) -> List[float]:
        return [step.at for step in self.steps(job) if step.change == 1]

    def most(self, job: str = "") -> int:
        """Items that ran at one time."""
        most = running = 0
        for step in sorted(self.steps(job)):
            running += step.change
            most = max(most, running)
        return most
