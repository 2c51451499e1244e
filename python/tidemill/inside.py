# SPDX-License-Identifier: Apache-2.0
"""What a program uses inside of a job's container: its items, its checkpoint, how far it is.

This one file needs nothing but Python 3.6 or newer. Where the package is not installed, copy it
beside the program as tidemill.py: `import tidemill` then means the same.

    import tidemill

    model = load()  # once in each container
    for item in tidemill.items():
        item.result = model.score(item.text)
"""

import http.client
import json
import os
import pathlib
from typing import Any, Dict, Iterator, List, Optional
from urllib.parse import urlsplit

RESULT_BYTES_MAX = 4096
# A request has at most 1 MiB; of an error that is longer the end tells most.
_ERROR_CHARACTERS_MAX = 60000
# `/next` is answered within 20 seconds, with no items if there are none.
_ANSWER_SECONDS_MAX = 90


def _variable(name: str, needs: str) -> str:
    value = os.environ.get(name)
    if not value:
        raise RuntimeError(
            "there is no $%s here: it is set inside of a job's container%s" % (name, needs)
        )
    return value


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class _Channel:
    """A connection to the container's own tidemill-init, kept for all requests."""

    def __init__(self) -> None:
        url = urlsplit(_variable("TIDEMILL_URL", ""))
        self._path = url.path
        self._connection = http.client.HTTPConnection(url.netloc, timeout=_ANSWER_SECONDS_MAX)

    def post(self, target: str, body: str) -> Any:
        self._connection.request("POST", self._path + target, body.encode())
        answer = self._connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise RuntimeError("%s was refused: %s" % (target, json.loads(text)["title"]))
        return json.loads(text) if text else None


class Item:
    """An item that this program holds. It has succeeded when the next one is asked for."""

    def __init__(self, told: Dict[str, Any]) -> None:
        self.index: int = told["item"]
        self.text: str = told.get("text", "")
        # The text as a JSON object, if it is one.
        self.value: Any = told.get("value")
        self.job: str = told.get("job", "")
        self.attempt: int = told.get("attempt", 1)
        # Paths, as the spec's `input` and `output` say; one, or several by name.
        self.input: Any = told.get("input")
        self.output: Any = told.get("output")
        self._settled: Dict[str, Any] = {"item": self.index}

    @property
    def result(self) -> Any:
        return self._settled.get("result")

    @result.setter
    def result(self, value: Any) -> None:
        """Any JSON of at most 4096 bytes. It is kept with the attempt, for `tidemill results`."""
        length = len(_dump(value))
        if length > RESULT_BYTES_MAX:
            raise ValueError(
                "the result of item %d has %d bytes as JSON; at most %d are kept: store it as an"
                " output, and let the result name it" % (self.index, length, RESULT_BYTES_MAX)
            )
        self._settled["result"] = value

    def fail(self, error: str, exit: int = 1) -> None:
        """This item has failed, and the program goes on. The error is the end of its log."""
        self._settled["exit"] = exit
        self._settled["error"] = error[-_ERROR_CHARACTERS_MAX:]


def items() -> Iterator[Item]:
    """The items of a job with `mode: loop`, one after the other, until no more will come.

    An item is settled when the next one is asked for, so leave the loop by its end. An exception
    that ends the program fails the item that it holds.
    """
    channel = _Channel()
    results: List[Dict[str, Any]] = []
    while True:
        answer = channel.post("/next?max=1", _dump({"results": results}))
        results = []
        if answer["done"]:
            return
        for told in answer["items"]:
            item = Item(told)
            yield item
            results.append(item._settled)


def progress(fraction: float, note: str = "") -> None:
    """Says how far the item is, from 0 to 1; `tidemill watch` shows it. In every mode."""
    told: Dict[str, Any] = {"fraction": min(1.0, max(0.0, float(fraction)))}
    if note:
        told["note"] = note
    _Channel().post("/progress", _dump(told))


class Checkpoint:
    """What the next attempt at this item finds as it was, on whatever machine."""

    @property
    def folder(self) -> pathlib.Path:
        return pathlib.Path(_variable("TIDEMILL_CHECKPOINT", " whose spec has checkpoint: true"))

    def read(self, name: str = "state") -> Optional[bytes]:
        """What was written last under this name; None if nothing was."""
        path = self.folder / name
        return path.read_bytes() if path.exists() else None

    def write(self, content: bytes, name: str = "state") -> None:
        """Under another name first: a save that comes between sees the file before or after."""
        path = self.folder / name
        fresh = path.with_name(path.name + ".new")
        fresh.write_bytes(content)
        os.replace(str(fresh), str(path))


checkpoint = Checkpoint()
