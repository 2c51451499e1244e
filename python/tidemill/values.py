# SPDX-License-Identifier: Apache-2.0
"""Arguments and results of functions as text, here and inside of containers.

Plain values are JSON, so that people can read them wherever items and results are shown; all others
are pickled. Python 3.6 or newer, and the standard library: it runs in containers too.
"""

import base64
import json
import pickle
from typing import Any, Callable

_PICKLE = "pickle:"

# Exit codes of the items of a map. But for the first, they are not tried again: it would be the
# same.
RAISED = 1
WRONG_PYTHON = 121
NOT_LOADED = 122
NO_RESULT = 123


def _is_plain(value: Any) -> bool:
    """Whether JSON gives back just this: a tuple, or a number as a key, would come back changed."""
    if value is None or type(value) in (str, int, bool):
        return True
    if type(value) is float:
        return value == value and abs(value) != float("inf")
    if type(value) is list:
        return all(_is_plain(each) for each in value)
    if type(value) is dict:
        return all(type(name) is str and _is_plain(each) for name, each in value.items())
    return False


def to_text(value: Any, dumps: Callable[[Any], bytes]) -> str:
    """One line of ASCII. `dumps` pickles."""
    if _is_plain(value):
        return json.dumps(value)
    return _PICKLE + base64.b64encode(dumps(value)).decode()


def from_text(text: str, plain: bool = False) -> Any:
    """`plain`: whoever wrote it is not trusted, and a pickle could do anything here."""
    if text.startswith(_PICKLE) and plain:
        raise ValueError("a result is no plain value, as plain=True demands: numbers, texts, lists")
    if text.startswith(_PICKLE):
        return pickle.loads(base64.b64decode(text[len(_PICKLE) :]))
    return json.loads(text)
