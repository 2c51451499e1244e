# SPDX-License-Identifier: Apache-2.0
"""Runs inside of a container: loads the function of a map once, and calls it for each item.

It is sent with its job as a folder tidemill_map, and beside it inside.py as tidemill.py. It begins
on any Python 3, to be able to say that it is the wrong one.
"""

import json
import pathlib
import pickle
import sys
import traceback
from typing import Any, Callable, Optional

import tidemill
from tidemill_map import values  # type: ignore[import-not-found]

FOLDER = pathlib.Path(__file__).parent
# A result has at most 4096 bytes as JSON; what is left is for the names around the text.
TEXT_CHARACTERS_MAX = 3900


def end_of(text: str) -> str:
    """As much of its end as fits into a result, where a character may take 12 bytes."""
    while len(json.dumps(text)) > TEXT_CHARACTERS_MAX:
        text = text[len(text) // 8 + 1 :]
    return text


def fail(item: Any, error: str, code: int) -> None:
    item.result = {"error": end_of(error)}
    item.fail(error, code)


def fail_all(error: str, code: int) -> None:
    for item in tidemill.items():
        fail(item, error, code)


def wrong_python() -> Optional[str]:
    wanted = (FOLDER / "python.txt").read_text()
    here = "%d.%d" % sys.version_info[:2]
    if here == wanted:
        return None
    return (
        "the function was sent by Python %s, and here is Python %s: functions can be read by the"
        " same minor version only. Take an image with Python %s, or name its program with python="
        % (wanted, here, wanted)
    )


def run(function: Callable[[Any], Any], item: Any) -> None:
    import cloudpickle  # not at the top: a wrong Python may be too old for it

    try:
        value = function(values.from_text(item.text))
    except Exception:
        return fail(item, traceback.format_exc(), values.RAISED)
    try:
        text = values.to_text(value, cloudpickle.dumps)
    except Exception:
        return fail(item, traceback.format_exc(), values.NO_RESULT)
    if len(json.dumps(text)) > TEXT_CHARACTERS_MAX:
        error = (
            "the result has %d bytes; at most %d are kept with an item. Store it in an object"
            " store, and let the function return its name" % (len(text), TEXT_CHARACTERS_MAX)
        )
        return fail(item, error, values.NO_RESULT)
    item.result = {"value": text}


def main() -> None:
    error = wrong_python()
    if error:
        return fail_all(error, values.WRONG_PYTHON)
    try:
        function = pickle.loads((FOLDER / "function.pickle").read_bytes())
    except ModuleNotFoundError as missing:
        module = (missing.name or "").partition(".")[0]
        error = (
            "%s\nThe function needs the module %s, which is not in the image. Send it with"
            " modules=[%s], or take an image that has it" % (missing, module, module)
        )
        return fail_all(error, values.NOT_LOADED)
    except Exception:
        return fail_all(traceback.format_exc(), values.NOT_LOADED)
    for item in tidemill.items():
        run(function, item)


if __name__ == "__main__":
    main()
