# SPDX-License-Identifier: Apache-2.0
"""What is shown of a job while it runs: a pure function of the answers that came and their time."""

from __future__ import annotations

import collections

from tidemill.wire import Status

_RATE_WINDOW_S = 30.0
_LEAST_RATE_S = 2.0  # a rate over less is noise
_BAR_COLUMNS = 40


class Watch:
    def __init__(self) -> None:
        # Of the last half minute, and one before.
        self._points: collections.deque[tuple[float, Status]] = collections.deque()

    def add(self, now_s: float, status: Status) -> None:
        points = self._points
        # A retry puts items back: what was done before says nothing of the rate.
        if points and status.counts.done < self.last.counts.done:
            points.clear()
        points.append((now_s, status))
        while len(points) > 2 and points[1][0] <= now_s - _RATE_WINDOW_S:
            points.popleft()

    @property
    def last(self) -> Status:
        return self._points[-1][1]

    def rate(self) -> float | None:
        """Items a second; None until there is something to say."""
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        done = last.counts.done - first.counts.done
        if last_s - first_s < _LEAST_RATE_S or done <= 0:
            return None
        return done / (last_s - first_s)

    def left_s(self) -> float | None:
        rate = self.rate()
        left = self.last.counts.running + self.last.counts.waiting
        return left / rate if rate and left else None

    def fraction(self) -> float:
        counts = self.last.counts
        return counts.done / counts.total if counts.total else 1.0

    def words(self) -> list[str]:
        """What is said beside the bar."""
        counts = self.last.counts
        words = [f"{counts.done:,} / {counts.total:,}"]
        words += [f"{counts.failed:,} failed"] if counts.failed else []
        words += [f"{counts.cancelled:,} cancelled"] if counts.cancelled else []
        words += [f"{counts.running:,} running"] if counts.running else []
        rate, left_s = self.rate(), self.left_s()
        if rate is not None and not self.last.over:
            words.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
        if left_s is not None:
            words.append(f"{duration(left_s)} left")
        if self.last.state != "active":
            words.append(self.last.state)
        return words

    def line(self, columns: int) -> str:
        """A bar and what is said beside it, in so many columns."""
        said = "  ".join(self.words())
        width = min(_BAR_COLUMNS, columns - len(self.last.id) - len(said) - 4)
        if width < 10:
            return f"{self.last.id}  {said}"[:columns]
        # Full only when all is done.
        full = min(int(self.fraction() * width), width if self.fraction() >= 1 else width - 1)
        return f"{self.last.id}  {'━' * full}{'─' * (width - full)}  {said}"


def duration(seconds: float) -> str:
    for unit, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"
