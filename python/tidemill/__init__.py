# SPDX-License-Identifier: Apache-2.0
"""tidemill from Python: docs/python.md."""

from tidemill import aio
from tidemill.client import Client
from tidemill.errors import Conflict, Error, Invalid, NotAllowed, NotFound, Paused, Unavailable
from tidemill.inside import Item, checkpoint, items, progress
from tidemill.job import Job
from tidemill.mapping import Failure, Mapped, map
from tidemill.draft import submit
from tidemill.wire import Outcome, Status

__all__ = [
    "Client",
    "Conflict",
    "Error",
    "Failure",
    "Invalid",
    "Item",
    "Job",
    "Mapped",
    "NotAllowed",
    "NotFound",
    "Outcome",
    "Paused",
    "Status",
    "Unavailable",
    "aio",
    "checkpoint",
    "items",
    "map",
    "progress",
    "submit",
]
