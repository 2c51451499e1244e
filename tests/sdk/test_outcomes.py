# SPDX-License-Identifier: Apache-2.0
"""Last words, read while a played server records them: each once, whatever the pages look like."""

import random

import pytest
import tidemill
from tidemill import outcomes
from tidemill.outcomes import OutcomeReader
from tidemill.wire import Counts, Status

ITEMS = 60


class PlayedJob:
    """A job whose outcomes are recorded step by step, in any order, with retries and interruptions.
    It is its own client."""

    def __init__(self, seed, cancelled=False):
        self.id, self.client, self.random = "played-1", self, random.Random(seed)
        self.rows = []  # (item, attempt, last)
        self.left = list(range(ITEMS))
        self.state = "active"
        self.cancelled = cancelled
        self.requests = 0

    def step(self):
        """Something becomes of some items that are near the front, as leases have it."""
        for _ in range(self.random.randrange(6)):
            if not self.left:
                break
            item = self.random.choice(self.left[:20])
            attempt = 1 + sum(row[0] == item and row[1] > 0 for row in self.rows)
            last = self.random.random() < 0.7
            self.rows.append((item, attempt, last))
            if last:
                self.left.remove(item)
        if not self.left:
            self.state = "finished"
        elif self.cancelled and len(self.left) < ITEMS // 2:
            self.state = "cancelled"

    def status(self):
        if self.state == "active":
            self.step()
        done = sum(last for _, _, last in self.rows)
        counts = Counts(ITEMS, done, 0, 0, ITEMS - done, 0)
        return Status(self.id, "played", self.state, ITEMS, 0, "", "default", counts)

    def get(self, path, query, patience_s):
        self.requests += 1
        assert self.requests < 10_000, "it asks for ever"
        at = tuple(map(int, (query["cursor"] or "-1.0").split(".")))
        rows = sorted(row for row in self.rows if row[:2] > at)
        page = {"outcomes": [self.row(*row) for row in rows[: self.random.randrange(1, 9)]]}
        # A page may end early, also without any row.
        if self.random.random() < 0.1 and rows:
            return {"outcomes": [], "next": query["cursor"] or "-1.0"}
        if len(page["outcomes"]) < len(rows):
            end = page["outcomes"][-1]
            page["next"] = f"{end['item']}.{end['attempt']}"
        return page

    @staticmethod
    def row(item, attempt, last):
        known = {"item": item, "attempt": attempt, "last": last, "text": str(item), "round": 0}
        times = {"started_at": None, "duration_ms": 0, "cpu_ms": 0, "memory_bytes": 0}
        said = {"cause": "succeeded" if last else "failed", "exit": 0, "result": None}
        return {**known, **times, **said, "machine": "", "log": "", "error": "", "devices": ""}


def read_all(job, ordered):
    reader = OutcomeReader(job, ITEMS, ordered)
    while not reader.ended:
        yield from reader.read()
        assert 0 <= reader.pause_s <= outcomes._LONGEST_PAUSE_S


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "as they come"])
def test_each_item_has_its_last_word_once(seed, ordered):
    found = list(read_all(PlayedJob(seed), ordered))
    assert sorted(row.item for row in found) == list(range(ITEMS))
    assert all(row.last and row.cause == "succeeded" for row in found)
    if ordered:
        assert [row.item for row in found] == list(range(ITEMS))


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "as they come"])
def test_what_never_ran_is_given_as_cancelled(seed, ordered):
    job = PlayedJob(seed, cancelled=True)
    found = list(read_all(job, ordered))
    assert sorted(row.item for row in found) == list(range(ITEMS))
    never = {row.item for row in found if row.cause == "cancelled"}
    assert never == set(job.left) and never
    if ordered:
        assert [row.item for row in found] == list(range(ITEMS))


def test_a_job_that_is_paused_is_not_waited_for():
    class Stuck(PlayedJob):
        def status(self):
            counts = Counts(ITEMS, 0, 0, 0, ITEMS, 0)
            return Status(
                self.id, "played", "paused", ITEMS, 0, "", "default", counts, "no such image"
            )

    with pytest.raises(tidemill.Paused, match="played-1 is paused: no such image"):
        list(read_all(Stuck(1), True))
