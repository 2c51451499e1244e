# SPDX-License-Identifier: Apache-2.0
"""The last words of a job's items as they come, each once, while the job runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from tidemill.client import PATIENT_S, job_path
from tidemill.job import Job, check_not_paused
from tidemill.results import PAGE_ROWS
from tidemill.wire import Outcome, Status, read

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 2.0


class OutcomeReader:
    """Asks for page after page, a request or two a call, and says how long to wait between.

    A *sweep* goes through the pages from the first item that has not been given. It holds one page,
    and a bit for each item, however many items there are. The last sweep begins when the job is
    over: whatever it does not find never ran, and is given as cancelled.
    """

    def __init__(self, job: Job, items: int, ordered: bool) -> None:
        self._job, self._items, self._ordered = job, items, ordered
        self._given = bytearray(items // 8 + 1)
        self._first = 0  # all before it were given
        self._count = 0
        self._low = ""  # the page that has the first one
        self._at = ""  # the page that is read next
        self._status: Status | None = None  # when the sweep began; None: there is none
        self._began_s = 0.0
        self._idle_s = _FIRST_PAUSE_S
        # How long to wait before the next call.
        self.pause_s = 0.0
        # All were given, once what the last call gave is used up.
        self.ended = items == 0

    def read(self) -> Iterator[Outcome]:
        """What is new, to be used up before the next call. Paused: nothing more comes."""
        self.pause_s = 0.0
        status = self._status or self._begin()
        if status is None:
            return iter(())
        query: dict[str, Any] = {"limit": PAGE_ROWS, "cursor": self._at or None}
        answer = self._job.client.get(job_path(self._job.id, "/outcomes"), query, PATIENT_S)
        rows = [read(Outcome, each) for each in answer["outcomes"] if each["last"]]
        next_page = answer.get("next")
        if status.over:
            self._at, self.ended = next_page or "", next_page is None
            return self._rest(rows)
        found = list(self._new(rows))
        # Not if the last item of the page has none yet: what comes of it may belong to this page.
        whole = bool(answer["outcomes"]) and answer["outcomes"][-1]["item"] < self._first
        if next_page and whole:
            self._low = next_page
        if next_page and (whole or not self._ordered):
            self._at = next_page
        else:
            self._end(status, bool(found))
        return iter(found)

    def _begin(self) -> Status | None:
        status = self._job.status()
        if status.counts.done <= self._count and not status.over:
            check_not_paused(status)
            self._wait()
            return None
        self._status, self._at, self._began_s = status, self._low, time.monotonic()
        return status

    def _end(self, status: Status, found: bool) -> None:
        self._status = None
        self.ended = self._count == self._items
        if self.ended:
            return
        if found:
            self._idle_s = _FIRST_PAUSE_S
        else:
            check_not_paused(status)
        self._wait()
        # A sweep of very many pages is not the server's main business.
        self.pause_s = max(self.pause_s, time.monotonic() - self._began_s)

    def _wait(self) -> None:
        """Twice as long each time that nothing has come."""
        self.pause_s = self._idle_s
        self._idle_s = min(2 * self._idle_s, _LONGEST_PAUSE_S)

    def _new(self, rows: list[Outcome]) -> Iterator[Outcome]:
        for row in rows:
            if self._is_given(row.item):
                continue
            if self._ordered and row.item != self._first:
                return
            self._given[row.item // 8] |= 1 << row.item % 8
            self._count += 1
            while self._first < self._items and self._is_given(self._first):
                self._first += 1
            yield row

    def _rest(self, rows: list[Outcome]) -> Iterator[Outcome]:
        """A page of the last sweep, with what is missing before and, at the end, behind it."""
        for row in rows:
            yield from self._missing_before(row.item)
            if row.item == self._first:
                self._first += 1
                if not self._is_given(row.item):
                    yield row
        if self.ended:
            yield from self._missing_before(self._items)

    def _missing_before(self, end: int) -> Iterator[Outcome]:
        while self._first < end:
            item, self._first = self._first, self._first + 1
            if not self._is_given(item):
                yield _never_ran(item)

    def _is_given(self, item: int) -> bool:
        return bool(self._given[item // 8] >> item % 8 & 1)


def _never_ran(item: int) -> Outcome:
    return Outcome(
        item=item,
        text="",
        round=0,
        attempt=0,
        last=True,
        cause="cancelled",
        exit=0,
        started_at=None,
        duration_ms=0,
        cpu_ms=0,
        memory_bytes=0,
        machine="",
        log="",
        error="",
        result=None,
        devices="",
    )
