# SPDX-License-Identifier: Apache-2.0
"""A function over many arguments, each call an item of one job."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import pathlib
import re
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Callable, Generic, TypeVar

from tidemill import values
from tidemill.client import Client
from tidemill.draft import submit
from tidemill.errors import Conflict, Error, Paused
from tidemill.job import Job
from tidemill.outcomes import OutcomeReader
from tidemill.wire import Outcome

A = TypeVar("A")
R = TypeVar("R")

_HERE = pathlib.Path(__file__).parent
# It would be the same once more.
_NEVER_AGAIN = [values.WRONG_PYTHON, values.NOT_LOADED, values.NO_RESULT]
# No item can succeed.
_HOPELESS = (values.WRONG_PYTHON, values.NOT_LOADED)


@dataclasses.dataclass(frozen=True)
class Failure:
    """What stands in the place of a result: the item has failed, or never ran."""

    job: Job = dataclasses.field(repr=False)
    item: int
    cause: str  # as docs/spec.md has them: failed, timeout, out-of-memory, cancelled ...
    exit: int
    error: str  # the end of the traceback, or what the failure is known by
    machine: str

    def logs(self) -> str:
        """All that its last attempt wrote."""
        return self.job.logs(self.item)


class Mapped(Generic[R]):
    """The results of a map, as they come. Going through them again begins anew."""

    def __init__(self, job: Job, items: int, ordered: bool, plain: bool) -> None:
        self.job = job
        self._items, self._ordered, self._plain = items, ordered, plain

    def __len__(self) -> int:
        return self._items

    def __iter__(self) -> Iterator[R | Failure]:
        reader = self._reader()
        while not reader.ended:
            for outcome in self._read(reader):
                yield self._value(outcome)
            time.sleep(reader.pause_s)

    async def __aiter__(self) -> AsyncIterator[R | Failure]:
        reader = self._reader()
        while not reader.ended:
            for outcome in await asyncio.to_thread(self._read, reader):
                yield self._value(outcome)
            await asyncio.sleep(reader.pause_s)

    def _reader(self) -> OutcomeReader:
        return OutcomeReader(self.job, self._items, self._ordered)

    def _read(self, reader: OutcomeReader) -> Iterator[Outcome]:
        try:
            return reader.read()
        except Paused as error:
            first = next(self.job.results().pages())
            told = (row.result["error"] for row in first if row.result and "error" in row.result)
            raise Paused(f"{error}\n{next(told, '')}") from None

    def _value(self, outcome: Outcome) -> R | Failure:
        result = outcome.result or {}
        if "value" in result:
            value: R = values.from_text(result["value"], self._plain)
            return value
        said = result.get("error", outcome.error)
        if outcome.cause == "succeeded":
            said = "its result was not kept: see the limits of docs/results.md"
        if outcome.exit in _HOPELESS and result:
            with contextlib.suppress(Conflict):  # it is over already
                self.job.cancel()
            raise Error(f"{self.job.id} cannot run: {said}")
        return Failure(self.job, outcome.item, outcome.cause, outcome.exit, said, outcome.machine)


def map(
    function: Callable[[A], R],
    items: Iterable[A],
    *,
    image: str = "",
    cpus: float | None = None,
    memory: None | int | str | Mapping[str, str] = None,
    name: str = "",
    key: str = "",
    ordered: bool = True,
    plain: bool = False,
    python: str = "python3",
    modules: Sequence[ModuleType] = (),
    client: Client | None = None,
    **spec: Any,
) -> Mapped[R]:
    """Calls the function for each item, on machines; gives the results in the items' order, or
    with ordered=False as they come. What fails is a Failure in the place of its result.

    `python` is the program in the image; it must have the minor version of this one. The function
    is sent with what it refers to; modules that it imports must be in the image, or be named in
    `modules`. With `plain`, nothing that a machine sends back is unpickled here. `spec` takes all
    other fields of docs/spec.md.
    """
    resources = {"cpus": cpus, "memory": memory, **spec.pop("resources", {})}
    retry = dict(spec.pop("retry", {}))
    retry["never"] = [*retry.get("never", ()), *_NEVER_AGAIN]
    document: dict[str, Any] = {
        **({"image": image} if image else {}),
        "mode": "loop",
        "command": [python, "-u", "-m", "tidemill_map"],
        "resources": {name: value for name, value in resources.items() if value is not None},
        "retry": retry,
        **spec,
    }
    count = 0

    def texts() -> Iterator[str]:
        nonlocal count
        for item in items:
            yield values.to_text(item, _dumps)
            count += 1

    job = submit(
        document,
        texts(),
        name=name or _name_of(function),
        key=key,
        files=_files(_pickled(function, modules)),
        client=client,
    )
    return Mapped(job, count, ordered, plain)


def _name_of(function: Callable[..., Any]) -> str:
    """A job's name begins with a letter or digit, and fits in a path."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", getattr(function, "__name__", ""))
    return name.strip("._-")[:64] or "map"


def _dumps(value: Any) -> bytes:
    import cloudpickle

    dumped: bytes = cloudpickle.dumps(value)
    return dumped


def _pickled(function: Callable[..., Any], modules: Sequence[ModuleType]) -> bytes:
    import cloudpickle

    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        return _dumps(function)
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)


def _files(function: bytes) -> dict[str, bytes | pathlib.Path]:
    """What a container needs: nothing of it must be installed there."""
    import cloudpickle

    theirs = pathlib.Path(cloudpickle.__file__).parent
    return {
        **{f"cloudpickle/{path.name}": path for path in theirs.glob("*.py")},
        "tidemill_map/__init__.py": b"",
        "tidemill_map/__main__.py": _HERE / "run_map.py",
        "tidemill_map/values.py": _HERE / "values.py",
        "tidemill_map/python.txt": b"%d.%d" % sys.version_info[:2],
        "tidemill_map/function.pickle": function,
    }
