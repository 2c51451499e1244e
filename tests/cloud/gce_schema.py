# SPDX-License-Identifier: Apache-2.0
"""Which fields Google's Compute takes, as far as tidemill may send them, and how it reads queries.

Whatever is not here is refused, so that a slip shows: Google itself refuses unknown fields, too.
"""

import re
from typing import Any, Dict, List, Tuple

NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile(r"[a-z0-9_-]{0,63}")
INT64 = "int64"  # text in Google's JSON
MAP = "map"

TEMPLATE = {
    "name": str,
    "description": str,
    "properties": {
        "machineType": str,
        "disks": [
            {
                "boot": bool,
                "autoDelete": bool,
                "initializeParams": {"sourceImage": str, "diskSizeGb": INT64, "diskType": str},
            }
        ],
        "networkInterfaces": [{"network": str, "subnetwork": str}],
        "scheduling": {
            "automaticRestart": bool,
            "provisioningModel": ("STANDARD", "SPOT"),
            "instanceTerminationAction": ("DELETE", "STOP"),
            "onHostMaintenance": ("MIGRATE", "TERMINATE"),
        },
        "labels": MAP,
        "metadata": {"items": [{"key": str, "value": str}]},
        "serviceAccounts": [{"email": str, "scopes": [str]}],
        "guestAccelerators": [{"acceleratorType": str, "acceleratorCount": int}],
    },
}
GROUP = {
    "name": str,
    "description": str,
    "baseInstanceName": str,
    "instanceTemplate": str,
    "targetSize": int,
    "updatePolicy": {"type": ("OPPORTUNISTIC", "PROACTIVE")},
    "instanceLifecyclePolicy": {"defaultActionOnFailure": ("REPAIR", "DO_NOTHING")},
    "listManagedInstancesResults": ("PAGELESS", "PAGINATED"),
}
CREATE = {"instances": [{"name": str}]}
DELETE = {"instances": [str], "skipInstancesOnValidationError": bool}
SET_TEMPLATE = {"instanceTemplate": str}

LIST_QUERY = {"maxResults", "pageToken", "filter", "orderBy", "fields"}
# What may be asked for with `fields`, and filtered by.
OPERATION_FIELDS = {
    "name",
    "operationType",
    "targetLink",
    "status",
    "insertTime",
    "endTime",
    "error",
    "selfLink",
}
INSTANCE_FIELDS = {"name", "status", "creationTimestamp", "lastStopTimestamp", "selfLink"}
MANAGED_FIELDS = {"instance", "instanceStatus", "currentAction", "lastAttempt"}
TEMPLATE_FIELDS = {"name", "description", "properties", "selfLink"}


class Refusal(Exception):
    """An answer that is no success."""

    def __init__(self, status: int, reason: str, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.reason = reason
        self.words = words


def invalid(words: str) -> Refusal:
    return Refusal(400, "invalid", words)


def check(value: Any, schema: Any, path: str = "body") -> None:
    """Refuses what is not of the schema."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            raise invalid(f"{path} must be an object")
        for key, inner in value.items():
            if key not in schema:
                raise invalid(f"Unknown name \"{key}\" at '{path}': Cannot find field.")
            check(inner, schema[key], f"{path}.{key}")
    elif isinstance(schema, list):
        if not isinstance(value, list):
            raise invalid(f"{path} must be a list")
        for inner in value:
            check(inner, schema[0], path)
    elif isinstance(schema, tuple):
        if value not in schema:
            raise invalid(f"Invalid value for field '{path}': '{value}'")
    elif schema == INT64:
        if not isinstance(value, str) or not value.isdigit():
            raise invalid(f"{path} must be a number in quotes")
    elif schema == MAP:
        check_labels(value, path)
    elif type(value) is not schema:
        raise invalid(f"{path} must be {schema.__name__}")


def check_labels(value: Any, path: str) -> None:
    if not isinstance(value, dict) or len(value) > 64:
        raise invalid(f"{path} must be an object of at most 64")
    for key, text in value.items():
        if not key or not key[0].isalpha() or not LABEL.fullmatch(key) or not LABEL.fullmatch(text):
            raise invalid(f"{path}.{key} is no label")


def check_name(name: Any, most: int = 63) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > most:
        raise invalid(f"Invalid value for field 'name': '{name}'")
    return name


def need(body: Dict[str, Any], *fields: str) -> None:
    for field in fields:
        if field not in body:
            raise Refusal(400, "required", f"Required field '{field}' not specified")


def filtered(rows: List[Dict[str, Any]], text: str) -> List[Dict[str, Any]]:
    """Of the forms that Google has, the regular expression alone."""
    match = re.fullmatch(r'(\w+) eq "([^"]*)"', text)
    if not match:
        raise invalid(f"Invalid value for field 'filter': '{text}'")
    field, pattern = match[1], re.compile(match[2])
    return [row for row in rows if pattern.fullmatch(row.get(field, ""))]


def selection(text: str) -> List[Tuple[str, List[str]]]:
    """Of "nextPageToken,items(name,status)": each field, and the fields in it."""
    parts = re.findall(r"(\w+)(?:\(([\w,]+)\))?(?:,|$)", text)
    joined = ",".join(name + (f"({inner})" if inner else "") for name, inner in parts)
    if joined != text:
        raise invalid(f"Invalid field selection {text}")
    return [(name, inner.split(",") if inner else []) for name, inner in parts]


def selected(answer: Dict[str, Any], text: str, rows: str, known: set) -> Dict[str, Any]:
    """The part of an answer that `fields` asks for."""
    part: Dict[str, Any] = {}
    for name, inner in selection(text):
        if name not in ("nextPageToken", rows) or not set(inner) <= known:
            raise invalid(f"Invalid field selection {name}({','.join(inner)})")
        if name not in answer:
            continue
        part[name] = answer[name]
        if inner:
            part[name] = [{k: row[k] for k in inner if k in row} for row in answer[name]]
    return part
