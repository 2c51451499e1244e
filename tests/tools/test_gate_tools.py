# SPDX-License-Identifier: Apache-2.0
"""The tools of the gate: which failures it forgives, and what it says of its time."""

import json
import pathlib
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import clang_tidy  # noqa: E402
import durations  # noqa: E402
import run_tests  # noqa: E402

FAILS_ONCE = """
import pathlib

def test_fails_once():
    seen = pathlib.Path(__file__).with_name("{0}.seen")
    first = not seen.exists()
    seen.touch()
    assert not first, "the first time"
"""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Runs the tests of files with these texts; gives the exit code."""
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "REPORTS", tmp_path / "reports")

    def run(*texts):
        for number, text in enumerate(texts):
            (tmp_path / f"test_{number}.py").write_text(text)
        monkeypatch.setattr(sys, "argv", ["run_tests.py", "trial", str(tmp_path)])
        return run_tests.main()

    return run


def test_a_test_that_passes_alone_is_flaky(runs, tmp_path, capfd):
    assert runs(FAILS_ONCE.format("a"), "def test_good(): pass") == 0
    assert (tmp_path / "reports/trial.flaky").read_text() == "test_0.py::test_fails_once\n"
    shown = capfd.readouterr().out
    assert "FLAKY test_0.py::test_fails_once: its first run" in shown
    assert shown.count("AssertionError: the first time") >= 2 and "1 passed" in shown


def test_a_test_that_fails_twice_fails_the_run(runs, tmp_path):
    assert runs(FAILS_ONCE.format("a"), "def test_bad(): assert False") == 1
    assert not (tmp_path / "reports/trial.flaky").exists()


def test_three_flaky_tests_are_too_many(runs):
    assert runs(*(FAILS_ONCE.format(name) for name in "abc")) == 1


def test_a_run_that_cannot_begin_fails(runs):
    assert runs("import no_such_module") != 0


@pytest.fixture
def reports(tmp_path):
    folder = tmp_path / "reports"
    (folder / "ctest").mkdir(parents=True)
    (folder / "stages.tsv").write_text("release\t100\ne2e\t600\nctest\t50\n")
    (folder / "release.ninja").write_text(
        "# ninja log v5\n0\t7500\t0\ta.cc.o\tx\n0\t1\t0\tliba.a\tx\n"
    )
    case = '<testsuite><testcase classname="{}" name="{}" time="{}"/></testsuite>'
    (folder / "e2e.xml").write_text(case.format("tests.e2e.test_x", "test_y", 12.5))
    (folder / "ctest" / "base_test.xml").write_text(case.format("Id", "IsShort", 0.5))
    (folder / "e2e.flaky").write_text("tests/e2e/test_x.py::test_y\n")
    return folder


def show(monkeypatch, capsys, reports, *words):
    history = reports.parent / "history.jsonl"
    words = ["--reports", str(reports), "--history", str(history), *words]
    monkeypatch.setattr(sys, "argv", ["durations.py", *words])
    assert durations.main() == 0
    return capsys.readouterr().out, durations.read_history(history)


def test_durations_are_shown_and_recorded(reports, monkeypatch, capsys):
    shown, history = show(monkeypatch, capsys, reports, "--whole")
    for line in ("7.5 s  a.cc.o", "12.5 s  tests.e2e.test_x.test_y", "0.5 s  Id.IsShort"):
        assert line in shown
    assert "FLAKY tests/e2e/test_x.py::test_y" in shown and "WARNING" not in shown
    assert history[0]["seconds"] == 750 and history[0]["whole"]
    assert durations.seconds_by_file(history, "e2e") == {"test_x": 12.5}


def test_a_gate_that_takes_too_long_names_what_grew(reports, monkeypatch, capsys):
    show(monkeypatch, capsys, reports)
    (reports / "stages.tsv").write_text("release\t101\ne2e\t1500\nctest\t50\n")
    text = (reports / "e2e.xml").read_text()
    (reports / "e2e.xml").write_text(text.replace("12.5", "30.25"))
    shown, history = show(monkeypatch, capsys, reports)
    assert "WARNING: 1651 s, more than 1500 s" in shown
    grown = shown.partition("WARNING")[2].splitlines()[1:]
    assert [line.strip() for line in grown] == [
        "e2e: 1500.0 s, was 600.0 s",
        "e2e: tests.e2e.test_x.test_y: 30.2 s, was 12.5 s",
    ]
    assert len(history) == 2


def test_the_history_has_a_limit(reports, monkeypatch, capsys):
    history = reports.parent / "history.jsonl"
    run = {
        "time": 0,
        "commit": "",
        "whole": False,
        "seconds": 1,
        "stages": {},
        "parts": {},
        "flaky": [],
    }
    history.write_text((json.dumps(run) + "\n") * 100)
    _, kept = show(monkeypatch, capsys, reports)
    assert len(kept) == durations.RUNS_KEPT and kept[-1]["seconds"] == 750


def test_clang_tidy_looks_again_when_a_header_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(clang_tidy, "SRC", tmp_path)
    monkeypatch.setattr(clang_tidy, "CLEAN", tmp_path / "clean")
    source, header = tmp_path / "a.cc", tmp_path / "deep.h"
    source.write_text('#include "a.h"\n#include <vector>\n')
    (tmp_path / "a.h").write_text('#include "deep.h"\n')
    header.write_text("int x;\n")
    assert set(clang_tidy.closure(source)) == {source, tmp_path / "a.h", header}
    before = clang_tidy.clean_mark(source)
    assert clang_tidy.clean_mark(source) == before
    header.write_text("int y;\n")
    clang_tidy.scan.cache_clear()
    assert clang_tidy.clean_mark(source) != before
