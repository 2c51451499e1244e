# SPDX-License-Identifier: Apache-2.0
"""What servers answer, as values. schema/openapi.yaml is their source; a test holds them to it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Counts:
    """Where a job's items are; the others add up to `total`."""

    total: int
    succeeded: int
    failed: int
    running: int
    waiting: int
    cancelled: int

    @property
    def done(self) -> int:
        return self.succeeded + self.failed + self.cancelled


@dataclasses.dataclass(frozen=True)
class Status:
    """A job as it is now."""

    id: str
    name: str
    state: str
    items: int
    round: int
    created_at: str
    queue: str
    counts: Counts
    reason: str = ""  # why it is paused, if no person has paused it

    @property
    def over(self) -> bool:
        return self.state in ("finished", "cancelled")


@dataclasses.dataclass(frozen=True)
class Attempt:
    """What became of the newest attempt at an item."""

    cause: str
    exit: int
    attempt: int
    round: int
    started_at: str
    duration_ms: int
    cpu_ms: int
    memory_bytes: int
    machine: str
    devices: str = ""  # that it had, by kind: "nvidia.com/gpu=0,1"


@dataclasses.dataclass(frozen=True)
class ListedItem:
    """An item, and where it is."""

    item: int
    state: str
    text: str  # empty for an item that is nothing but its number
    attempts: int = 0
    outcome: Attempt | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of one attempt at an item; docs/results.md has the columns."""

    item: int
    text: str
    round: int
    attempt: int
    last: bool
    cause: str
    exit: int
    started_at: str | None
    duration_ms: int
    cpu_ms: int
    memory_bytes: int
    machine: str
    log: str
    error: str
    result: Any
    devices: str  # that it had, by kind: "nvidia.com/gpu=0,1"


@dataclasses.dataclass(frozen=True)
class FailureGroup:
    """Items that have failed alike."""

    group: int
    signature: str
    cause: str
    count: int
    first_items: list[int]


@dataclasses.dataclass(frozen=True)
class LogHit:
    """A line of a log that a search has found."""

    item: int
    round: int
    attempt: int
    time_ms: int
    line: str


_NESTED: dict[str, type[Any]] = {"counts": Counts, "outcome": Attempt}


def read(kind: type[T], answer: Mapping[str, Any]) -> T:
    """Passes over fields that it does not know: later versions may have more."""
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values = {name: value for name, value in answer.items() if name in known}
    for name, nested in _NESTED.items():
        if name in values:
            values[name] = read(nested, values[name])
    return kind(**values)
