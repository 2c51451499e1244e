# SPDX-License-Identifier: Apache-2.0
"""A spec and its items become a job."""

from __future__ import annotations

import contextlib
import json
import pathlib
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Union

from tidemill import inside
from tidemill.client import PATIENT_S, Client, job_path
from tidemill.code import send_code
from tidemill.errors import Error, Invalid, Unavailable
from tidemill.job import Job

ITEM_BYTES_MAX = 64 << 10
PART_BYTES_MAX = 8 << 20
RANGE_ITEMS_MAX = 10_000_000

Items = Union[int, Iterable[Union[str, Mapping[str, Any]]]]


def submit(
    spec: Mapping[str, Any],
    items: Items = 1,
    *,
    name: str = "",
    key: str = "",
    files: Mapping[str, bytes | pathlib.Path] | None = None,
    client: Client | None = None,
) -> Job:
    """A job of this spec (docs/spec.md has its fields) and these items: texts, or mappings that
    become JSON objects, or a number of items that are nothing but their numbers. They are sent in
    parts as they come, never held whole. `files`, by name, are the items' working folder;
    tidemill.py, for the programs among them, is put there too.

    The same key means the same job: a call that broke off is taken up where it was.
    """
    client = client or Client()
    document = dict(spec)
    if files is not None:
        document["code"] = send_code(client, _contents(files))
    key = key or f"python-{uuid.uuid4()}"
    body: dict[str, Any] = {"key": key, "spec": document}
    if name:
        body["name"] = name
    job = Job(client.post("/v1/jobs", body)["id"], client)
    parts = 0
    try:
        for kind, part in _parts(items):
            client.call("PUT", job_path(job.id, f"/parts/{parts}"), part, PATIENT_S, kind)
            parts += 1
        client.post(job_path(job.id, "/seal"), {"parts": parts}, PATIENT_S)
    except Unavailable as error:
        raise Unavailable(
            f"{error}\n{job.id} is not submitted; the same call with key={key!r} takes it up where"
            " it was"
        ) from error
    except BaseException:
        # The items are wrong, so the draft is of no use to anybody.
        with contextlib.suppress(Error):
            job.cancel()
        raise
    return job


def _contents(files: Mapping[str, bytes | pathlib.Path]) -> dict[str, bytes]:
    contents = {"tidemill.py": pathlib.Path(inside.__file__).read_bytes()}
    for name, file in files.items():
        contents[name] = file if isinstance(file, bytes) else file.read_bytes()
    return contents


def _parts(items: Items) -> Iterator[tuple[str, bytes]]:
    if isinstance(items, int):
        while items > 0:
            some = min(items, RANGE_ITEMS_MAX)
            yield "application/json", json.dumps({"range": some}).encode()
            items -= some
        return
    if isinstance(items, str):
        raise Invalid(f"the items are the one text {items[:40]!r}; give a list of texts")
    part = bytearray()
    for number, item in enumerate(items):
        line = _line(number, item)
        if len(part) + len(line) + 1 > PART_BYTES_MAX:
            yield "text/plain", bytes(part)
            part.clear()
        part += line + b"\n"
    if part:
        yield "text/plain", bytes(part)


def _line(number: int, item: str | Mapping[str, Any]) -> bytes:
    text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
    line = text.encode()
    if not line or b"\n" in line or b"\r" in line:
        raise Invalid(f"item {number} is {text[:40]!r}; an item is one line of text, not empty")
    if len(line) > ITEM_BYTES_MAX:
        raise Invalid(
            f"item {number} has {len(line):,} bytes; at most {ITEM_BYTES_MAX:,} are taken. Put it"
            " into an object store, and let the item be its name"
        )
    return line
