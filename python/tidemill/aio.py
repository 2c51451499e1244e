# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio: `await tidemill.aio.submit(...)`.

Calls to the server are made on threads, one at a time; nothing waits there between them, so a task
that is cancelled leaves no thread behind for longer than one call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, Callable, TypeVar

from tidemill import mapping
from tidemill.job import POLL_S, Job, Waiting
from tidemill.draft import submit as _submit
from tidemill.wire import Status

A = TypeVar("A")
R = TypeVar("R")


async def submit(*arguments: Any, **more: Any) -> Job:
    """As tidemill.submit."""
    return await asyncio.to_thread(_submit, *arguments, **more)


async def map(function: Callable[[A], R], items: Iterable[A], **more: Any) -> mapping.Mapped[R]:
    """As tidemill.map. Its results: `async for value in mapped`."""
    return await asyncio.to_thread(lambda: mapping.map(function, items, **more))


async def wait(job: Job, timeout_s: float | None = None, show: bool = True) -> Status:
    """As Job.wait."""
    with Waiting(timeout_s, show) as waiting:
        while not waiting.add(await asyncio.to_thread(job.status)):
            await asyncio.sleep(POLL_S)
        return waiting.watch.last
