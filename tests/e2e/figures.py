# SPDX-License-Identifier: Apache-2.0
"""Figures of the measuring tests: each is taken a fixed number of times, judged by its median, and
stored with commit and date.

`.ci/long` sets TIDEMILL_FIGURES to bench/results. Without that variable figures are only printed.
"""

import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
from typing import Any, Callable, Dict, List, Optional, Union

from env import ROOT

# A figure may get worse by this share against the committed one of the same kind of machine.
TOLERANCE = 0.2

Number = Union[int, float]


def repeated(times: int, measure: Callable[[], Number]) -> List[Number]:
    """The values of exactly `times` measurements: no measurement is discarded or taken again."""
    return [measure() for _ in range(times)]


def record(
    name: str,
    unit: str,
    values: List[Number],
    *,
    minimum: Optional[Number] = None,
    maximum: Optional[Number] = None,
    **context: Any,
) -> float:
    """Stores the values as NAME.json and returns their median. Fails if the median is outside its
    bound, or more than TOLERANCE worse than the committed figure of the same kind of machine."""
    assert (minimum is None) != (maximum is None), "a figure has one bound"
    median = statistics.median(values)
    figure = {
        "name": name,
        "unit": unit,
        "median": median,
        "values": values,
        **({"minimum": minimum} if maximum is None else {"maximum": maximum}),
        "context": context,
        "commit": _commit(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "machine": _machine(),
        "load_average": round(os.getloadavg()[0], 2),
    }
    print(f"\n{name}: median {median:g} {unit} of {values} {context or ''}", flush=True)
    folder = os.environ.get("TIDEMILL_FIGURES")
    before = _committed(name) if folder else None
    if folder:
        path = pathlib.Path(folder) / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(figure, indent=2) + "\n")
    judge(figure, before)
    return float(median)


def judge(figure: Dict[str, Any], before: Optional[Dict[str, Any]]) -> None:
    """Raises AssertionError if a figure breaks its bound or is much worse than the one before."""
    name, median = figure["name"], figure["median"]
    if "minimum" in figure:
        assert median >= figure["minimum"], f"{name}: {median:g} < {figure['minimum']:g}"
    else:
        assert median <= figure["maximum"], f"{name}: {median:g} > {figure['maximum']:g}"
    comparable = before and all(
        before.get(key) == figure[key] for key in ("unit", "machine", "context")
    )
    if not before or not comparable:
        return
    old = before["median"]
    worse = old - median if "minimum" in figure else median - old
    assert worse <= TOLERANCE * old, (
        f"{name}: {median:g} {figure['unit']}, but {old:g} at {before['commit']}"
        f" ({before['date']}); commit the new figure if that is intended"
    )


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _commit() -> str:
    """The commit of the sources, with '+' if they differ from it."""
    changed = _git("status", "--porcelain", "--", ".", ":!bench/results")
    return (_git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def _committed(name: str) -> Optional[Dict[str, Any]]:
    text = _git("show", f"HEAD:bench/results/{name}.json")
    return dict(json.loads(text)) if text else None


def _machine() -> str:
    """The kind of machine: figures of different kinds are not compared."""
    with open("/proc/cpuinfo") as info:
        lines = [line for line in info if line.startswith("model name")]
    model = lines[0].split(":", 1)[1].strip() if lines else platform.machine()
    return f"{os.cpu_count()} x {model}"


def main(folder: str) -> None:
    """Prints a table of the stored figures."""
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        figure = json.loads(path.read_text())
        kind = "minimum" if "minimum" in figure else "maximum"
        print(
            f"{figure['name']:<38} {figure['median']:>12,g} {figure['unit']:<14}"
            f" {kind} {figure[kind]:<10,g} {figure['commit']:<14} {figure['date'][:10]}"
        )


if __name__ == "__main__":
    main(sys.argv[1])
