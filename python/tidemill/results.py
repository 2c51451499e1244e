# SPDX-License-Identifier: Apache-2.0
"""A row for each attempt: one by one, or as a frame of pandas, polars or Arrow, or as Parquet."""

import json
import os
from collections.abc import Iterator
from typing import Any, Union

from tidemill.client import PATIENT_S, Client, job_path
from tidemill.wire import Outcome, read

PAGE_ROWS = 1000

_COLUMNS = {
    "item": "int64",
    "text": "string",
    "round": "int64",
    "attempt": "int64",
    "last": "bool",
    "cause": "string",
    "exit": "int64",
    "started_at": "time",
    "duration_ms": "int64",
    "cpu_ms": "int64",
    "memory_bytes": "int64",
    "machine": "string",
    "log": "string",
    "error": "string",
    "result": "string",
    "devices": "string",
}


class Results:
    """What is recorded by now. It may be gone through again, and holds a page at a time."""

    def __init__(self, client: Client, job: str, last: bool = False) -> None:
        self._client, self._job, self._last = client, job, last

    def pages(self) -> Iterator[list[Outcome]]:
        query: dict[str, Any] = {"limit": PAGE_ROWS}
        while True:
            path = job_path(self._job, "/outcomes")
            page = self._client.get(path, query, PATIENT_S)
            rows = [read(Outcome, each) for each in page["outcomes"]]
            yield [row for row in rows if row.last or not self._last]
            if "next" not in page:
                return
            query["cursor"] = page["next"]

    def __iter__(self) -> Iterator[Outcome]:
        for page in self.pages():
            yield from page

    def to_pandas(self) -> Any:
        import pandas

        frame = pandas.DataFrame(_columns(list(self)))
        frame["started_at"] = pandas.to_datetime(frame["started_at"], utc=True, format="ISO8601")
        kinds = {name: kind for name, kind in _COLUMNS.items() if kind in ("int64", "bool")}
        return frame.astype(kinds)

    def to_polars(self) -> Any:
        import polars

        kinds = {"int64": polars.Int64, "string": polars.String, "bool": polars.Boolean}
        schema = {name: kinds.get(kind, polars.String) for name, kind in _COLUMNS.items()}
        frame = polars.DataFrame(_columns(list(self)), schema=schema)
        time = polars.col("started_at").str.to_datetime(time_unit="ms", time_zone="UTC")
        return frame.with_columns(time)

    def to_arrow(self) -> Any:
        import pyarrow

        batches = (_arrow_batch(page) for page in self.pages())
        return pyarrow.Table.from_batches(batches, schema=_arrow_schema())

    def to_parquet(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """A page at a time. The file has its name once it is whole."""
        import pyarrow.parquet

        fresh = f"{os.fspath(path)}.new"
        with pyarrow.parquet.ParquetWriter(fresh, _arrow_schema()) as writer:
            for page in self.pages():
                writer.write_batch(_arrow_batch(page))
        os.replace(fresh, path)


def _columns(rows: list[Outcome]) -> dict[str, list[Any]]:
    """By column. A result is JSON text: what the programs of a job send back has no one type."""
    columns = {name: [getattr(row, name) for row in rows] for name in _COLUMNS}
    columns["result"] = [None if each is None else json.dumps(each) for each in columns["result"]]
    return columns


def _arrow_schema() -> Any:
    import pyarrow

    kinds = {"int64": pyarrow.int64(), "string": pyarrow.string(), "bool": pyarrow.bool_()}
    time = pyarrow.timestamp("ms", "UTC")
    return pyarrow.schema([(name, kinds.get(kind, time)) for name, kind in _COLUMNS.items()])


def _arrow_batch(rows: list[Outcome]) -> Any:
    import datetime

    import pyarrow

    columns = _columns(rows)
    columns["started_at"] = [
        None if text is None else datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        for text in columns["started_at"]
    ]
    return pyarrow.RecordBatch.from_pydict(columns, schema=_arrow_schema())
