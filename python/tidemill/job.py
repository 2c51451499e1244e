# SPDX-License-Identifier: Apache-2.0
"""A job, as a program uses it."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tidemill.client import PATIENT_S, Client, job_path
from tidemill.display import make_display
from tidemill.errors import Paused
from tidemill.results import Results
from tidemill.watch import Watch
from tidemill.wire import FailureGroup, ListedItem, LogHit, Status, read

# A server's counts are at most a second old: to ask more often tells nothing new.
POLL_S = 1.0


class Job:
    """One job of a server, by its id (`render-7`) or its number. It keeps nothing of the job."""

    def __init__(self, id: str, client: Client | None = None) -> None:
        self.id = id
        self.client = client or Client()

    def __repr__(self) -> str:
        return f"Job({self.id!r})"

    def status(self, patience_s: float = PATIENT_S) -> Status:
        return read(Status, self.client.get(job_path(self.id), patience_s=patience_s))

    def wait(self, timeout_s: float | None = None, show: bool = True) -> Status:
        """Until the job is over, with a bar on a terminal and in a notebook.

        Items that have failed are no error: see `failures`. Paused: the servers have paused it, and
        it would be waited for in vain. TimeoutError: it is not over by then, and goes on.
        """
        with Waiting(timeout_s, show) as waiting:
            while not waiting.add(self.status()):
                time.sleep(POLL_S)
            return waiting.watch.last

    def results(self, last: bool = False) -> Results:
        """A row for each attempt that is recorded by now; `last`: only the last words."""
        return Results(self.client, self.id, last)

    def items(self, state: str | None = None) -> Iterator[ListedItem]:
        """All of them, or those in a state: waiting, running, succeeded, failed, cancelled."""
        query: dict[str, Any] = {"limit": 1000, "outcomes": "true", "state": state}
        while True:
            page = self.client.get(job_path(self.id, "/items"), query)
            yield from (read(ListedItem, each) for each in page["items"])
            if "next" not in page:
                return
            query["page"] = page["next"]

    def failures(self) -> list[FailureGroup]:
        """Why items have failed: groups of those that failed alike, the largest first."""
        answer = self.client.get(job_path(self.id, "/failures"))
        return [read(FailureGroup, each) for each in answer["groups"]]

    def logs(self, item: int, attempt: int | None = None, wait_s: float = 30.0) -> str:
        """What an item wrote: its newest attempt, or the one that is named.

        What it wrote last may take some seconds to be stored; that is waited for, but not for ever:
        the end of a log on a machine that was lost never comes.
        """
        path = job_path(self.id, f"/items/{item}/log")
        query: dict[str, Any] = {"attempt": attempt, "follow": "true"}
        deadline = time.monotonic() + wait_s
        text = ""
        while True:
            page = self.client.get(path, query)
            text += "".join(_text_of(part) for part in page["parts"])
            query["after"] = page.get("next")
            if page["more"]:
                continue
            if page["ended"] or not page["awaited"] or time.monotonic() > deadline:
                return text
            time.sleep(POLL_S)

    def grep(self, expression: str, state: str | None = None) -> Iterator[LogHit]:
        """The lines of all items' logs that match, in RE2's syntax."""
        query: dict[str, Any] = {"grep": expression, "state": state}
        while True:
            page = self.client.get(job_path(self.id, "/logs"), query)
            yield from (read(LogHit, each) for each in page["hits"])
            if "next" not in page:
                return
            query["cursor"] = page["next"]

    def pause(self) -> None:
        """Starts nothing new; what runs goes on."""
        self.client.post(job_path(self.id, "/pause"), {})

    def resume(self) -> None:
        self.client.post(job_path(self.id, "/resume"), {})

    def cancel(self) -> None:
        """Stops what runs, for good."""
        self.client.post(job_path(self.id, "/cancel"), {})

    def retry(self, items: Sequence[int] | None = None) -> int:
        """Runs items that are done once more, or all that have failed; says how many."""
        body: dict[str, Any] = {"failed": True} if items is None else {"items": list(items)}
        return int(self.client.post(job_path(self.id, "/retry"), body)["items"])


class Waiting:
    """What is known and shown while a job is waited for."""

    def __init__(self, timeout_s: float | None, show: bool) -> None:
        self.watch = Watch()
        self._display = make_display(show)
        self._timeout_s = timeout_s
        self._began_s = time.monotonic()

    def add(self, status: Status) -> bool:
        """Whether the job is over."""
        now_s = time.monotonic()
        self.watch.add(now_s, status)
        self._display.show(self.watch)
        if status.over:
            return True
        check_not_paused(status)
        if self._timeout_s is not None and now_s + POLL_S > self._began_s + self._timeout_s:
            raise TimeoutError(f"{status.id} is not over after {self._timeout_s:g} s; it goes on")
        return False

    def __enter__(self) -> Waiting:
        return self

    def __exit__(self, *_: object) -> None:
        self._display.close()


def check_not_paused(status: Status) -> None:
    """One that a person has paused has no reason: whoever did it will go on with it."""
    if status.state == "paused" and status.reason:
        raise Paused(
            f"{status.id} is paused: {status.reason}\n"
            f"Go on with it:  tidemill resume {status.id}     Give it up:  tidemill cancel"
            f" {status.id}"
        )


def _text_of(part: dict[str, Any]) -> str:
    text = ""
    if part.get("missing_bytes"):
        text = f"[tidemill: {part['missing_bytes']} bytes are missing here]\n"
    elif part.get("lost_before"):
        text = "[tidemill: the attempt was begun again here]\n"
    if "base64" in part:
        return text + base64.b64decode(part["base64"]).decode(errors="replace")
    return text + str(part.get("text", ""))
