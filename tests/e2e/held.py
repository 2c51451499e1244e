# SPDX-License-Identifier: Apache-2.0
"""Items that run until the test releases them, instead of items that sleep for a guessed time.

An item that runs HOLD leaves the file `held` in its scratch folder and waits there for the file
`release`. Scratch folders are below the agent's state folder, so the test sees the first file and
creates the second one. This works with containers and with processes.
"""

from __future__ import annotations

import contextlib
import pathlib
from typing import Any

from agents import Agent
from env import Http, found_below, wait_until
from load import show

# A line of a shell script without braces, which would be templates in a spec. At the end the file
# `held` is empty, because the folder is emptied some time after the item.
HOLD = (
    'echo "$TIDEMILL_JOB $TIDEMILL_INDEX" > "$TIDEMILL_SCRATCH/held";'
    ' until [ -e "$TIDEMILL_SCRATCH/release" ]; do sleep 0.05; done;'
    ' : > "$TIDEMILL_SCRATCH/held"'
)


def _held_in(agent: Agent) -> dict[pathlib.Path, str]:
    """The items that wait on this machine now, by their scratch folder."""
    found = {}
    for mark in found_below(agent.state / "engine/containers", "*/scratch/held"):
        try:
            text = mark.read_text()
        except FileNotFoundError:  # the item has just ended
            continue
        if text.endswith("\n") and not (mark.parent / "release").exists():
            found[mark.parent] = text.strip()
    return found


def held(agent: Agent) -> list[str]:
    """The items that wait on this machine now, each as "JOB INDEX"."""
    return sorted(_held_in(agent).values())


def wait_held(agent: Agent, count: int = 1, timeout_s: float = 120.0) -> list[str]:
    """Waits until that many items wait on this machine."""

    def waiting() -> list[str] | None:
        found = held(agent)
        return found if len(found) == count else None

    try:
        return list(wait_until(f"{count} held items on {agent.name}", waiting, timeout_s))
    except TimeoutError as error:
        raise TimeoutError(f"{error}; there are {held(agent)}") from None


def release(*agents: Agent, job: str = "") -> None:
    """Releases the items that wait on these machines now, or only those of one job."""
    for agent in agents:
        for folder, text in _held_in(agent).items():
            if job and text.split()[0] != job:
                continue
            with contextlib.suppress(FileNotFoundError):  # its container has just ended
                (folder / "release").touch()


def release_to_end(
    http: Http, job: str, *agents: Agent, timeout_s: float = 120.0
) -> dict[str, Any]:
    """Releases every item of these machines until the job has ended; what is shown of it then."""

    def ended() -> Any:
        release(*agents)
        shown = show(http, job)
        return shown if shown["state"] in ("finished", "cancelled") else None

    return dict(wait_until(f"{job} to end", ended, timeout_s))
