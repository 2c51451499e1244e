# SPDX-License-Identifier: Apache-2.0
"""Results as rows and as frames."""

import json
import sys

import pytest
import tidemill
from tidemill import results

PROGRAM = """
import json, tidemill
for item in tidemill.items():
    if item.attempt == 1 and item.index % 3 == 0:
        item.fail("not at once", 5)
    else:
        item.result = {"square": item.index ** 2}
"""


@pytest.fixture(scope="module")
def job(_system):
    """One for all: 9 items, of which 3 succeed at the second attempt."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _system.variables().items():
            patch.setenv(name, value)
        command = [sys.executable, "main.py"]
        spec = {"name": "frames", "command": command, "mode": "loop", "retry": {"wait": 0.1}}
        made = tidemill.submit(spec, 9, files={"main.py": PROGRAM.encode()})
        assert made.wait(60).counts.succeeded == 9
        yield made


SQUARES = [json.dumps({"square": number**2}) for number in range(9)]


@pytest.fixture(autouse=True, params=[1000, 4], ids=["one page", "pages"])
def page(request, monkeypatch):
    monkeypatch.setattr(results, "PAGE_ROWS", request.param)


def test_rows(job):
    rows = list(job.results())
    assert [(row.item, row.attempt) for row in rows[:4]] == [(0, 1), (0, 2), (1, 1), (2, 1)]
    assert len(rows) == 12
    assert [row.result["square"] for row in job.results(last=True)] == [n * n for n in range(9)]


def test_pandas(job):
    frame = job.results().to_pandas()
    assert frame.shape == (12, 16)
    assert frame[frame["last"]]["result"].tolist() == SQUARES
    assert str(frame["started_at"].dtype).endswith("UTC]")
    assert frame.groupby("cause")["item"].count().to_dict() == {"failed": 3, "succeeded": 9}


def test_polars(job):
    frame = job.results(last=True).to_polars()
    assert frame["result"].to_list() == SQUARES
    assert frame["started_at"].dtype.time_zone == "UTC"
    rows = list(job.results(last=True))
    assert frame["duration_ms"].to_list() == [row.duration_ms for row in rows]
    assert frame["attempt"].to_list() == [row.attempt for row in rows] == [2, 1, 1] * 3


def test_arrow_and_parquet(job, tmp_path):
    table = job.results().to_arrow()
    assert table.num_rows == 12 and table.schema.field("item").type == "int64"
    path = tmp_path / "results.parquet"
    job.results().to_parquet(path)
    import duckdb

    query = f"select item, result from '{path}' where last order by item"
    assert duckdb.sql(query).fetchall() == list(enumerate(SQUARES))
    assert [each.name for each in tmp_path.iterdir()] == ["results.parquet"]


@pytest.mark.parametrize("to", ["to_pandas", "to_polars", "to_arrow"])
def test_a_job_without_outcomes_has_empty_frames(job, to):
    none = tidemill.submit({"name": "none", "command": ["true"]}, [])
    assert len(getattr(none.results(), to)()) == 0
