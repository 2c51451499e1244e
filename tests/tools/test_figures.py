# SPDX-License-Identifier: Apache-2.0
"""Figures of measuring tests are judged by their median, and stored with the commit."""

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import figures


def figure(median, **bound):
    return {"name": "x", "unit": "s", "median": median, "machine": "m", "context": {}, **bound}


def before(median, **more):
    return {**figure(median), "commit": "abc", "date": "2026-01-01", **more}


def test_a_measurement_is_taken_as_often_as_it_should():
    values = iter([3, 1, 2, 9])
    assert figures.repeated(3, lambda: next(values)) == [3, 1, 2]


@pytest.mark.parametrize(
    "new, old",
    [
        (figure(9, minimum=10), None),
        (figure(11, maximum=10), None),
        (figure(79, minimum=10), before(100)),
        (figure(8, maximum=10), before(6)),
    ],
)
def test_what_is_out_of_bounds_or_much_worse_fails(new, old):
    with pytest.raises(AssertionError):
        figures.judge(new, old)


@pytest.mark.parametrize(
    "new, old",
    [
        (figure(10, minimum=10), None),
        (figure(81, minimum=10), before(100)),
        (figure(7, maximum=10), before(6)),
        (figure(50, minimum=10), before(100, machine="another")),
        (figure(50, minimum=10), before(100, context={"items": 5})),
    ],
)
def test_what_is_as_good_or_not_comparable_passes(new, old):
    figures.judge(new, old)


def test_the_median_decides_and_all_values_are_stored(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TIDEMILL_FIGURES", str(tmp_path))
    assert figures.record("rate", "items/s", [5, 1, 100], minimum=4, items=7) == 5
    with pytest.raises(AssertionError, match="rate: 5 < 6"):
        figures.record("rate", "items/s", [5, 1, 100], minimum=6)
    figures.record("rate", "items/s", [5, 1, 100], minimum=4, items=7)
    stored = json.loads((tmp_path / "rate.json").read_text())
    assert stored["values"] == [5, 1, 100] and stored["context"] == {"items": 7}
    assert stored["commit"] and stored["date"].endswith("Z") and stored["machine"]
    capsys.readouterr()
    figures.main(str(tmp_path))
    assert capsys.readouterr().out.split()[:5] == ["rate", "5", "items/s", "minimum", "4"]


def test_nothing_is_stored_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("TIDEMILL_FIGURES", raising=False)
    monkeypatch.chdir(tmp_path)
    figures.record("rate", "items/s", [5], minimum=4)
    assert list(tmp_path.iterdir()) == []
