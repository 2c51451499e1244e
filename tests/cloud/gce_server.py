#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for Google's Compute, as far as tidemill calls it, and for its metadata server.

usage: gce_server.py PORT

It is strict: a call without a token, with a field, a parameter or a name that Google would not take
is refused as Google refuses it. Operations, instances and deletions take a moment. Pages are small.
A project is made, and its faults are set, at /_control; see `control`.
"""

import http.server
import json
import re
import sys
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import parse_qsl, urlsplit

import gce_schema as schema
from gce_schema import Refusal, invalid
from gce_state import Group, Managed, Operation, Project

TOKEN = "a-token-of-the-stand-in"
TOKEN_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
BATCH = 1000
PAGE_ROWS = 500
# What of a project a test may set.
SETTINGS = (
    "ahead_s",
    "operation_s",
    "boot_s",
    "stop_s",
    "retry_s",
    "page_rows",
    "capacity",
    "quota",
    "throttle",
    "forbidden",
)


def not_found(what: str) -> Refusal:
    return Refusal(404, "notFound", f"The resource '{what}' was not found")


class Call:
    """One request, with the project that it is for."""

    def __init__(self, project: Project, method: str, path: str, query: Dict[str, str]) -> None:
        self.project = project
        self.method = method
        self.path = path
        self.query = query
        self.body: Optional[Dict[str, Any]] = None

    def allow(self, *names: str) -> None:
        for name in self.query:
            if name not in names:
                raise invalid(f'Invalid JSON payload received. Unknown name "{name}"')

    def read(self, shape: Dict[str, Any], *needed: str) -> Dict[str, Any]:
        self.allow()
        if self.body is None:
            raise Refusal(400, "required", "Required field 'resource' not specified")
        schema.check(self.body, shape)
        schema.need(self.body, *needed)
        return self.body

    def empty(self) -> None:
        if self.body is not None:
            raise invalid("this call has no body")

    def page(self, rows: List[Dict[str, Any]], field: str, known: set) -> Dict[str, Any]:
        """One page of a list."""
        self.allow(*schema.LIST_QUERY)
        self.empty()
        most = int(self.query.get("maxResults", PAGE_ROWS))
        if not 0 <= most <= PAGE_ROWS:
            raise invalid("Invalid value for field 'maxResults'")
        if self.query.get("orderBy", "creationTimestamp desc") != "creationTimestamp desc":
            raise invalid("Invalid value for field 'orderBy'")
        if "filter" in self.query:
            rows = schema.filtered(rows, self.query["filter"])
        token = self.query.get("pageToken", "page-0")
        if not re.fullmatch(r"page-\d+", token):
            raise invalid("Invalid value for field 'pageToken'")
        begin = int(token[5:])
        end = begin + min(most, self.project.page_rows)
        answer: Dict[str, Any] = {}
        if rows[begin:end]:
            answer[field] = rows[begin:end]
        if end < len(rows):
            answer["nextPageToken"] = f"page-{end}"
        if "fields" in self.query:
            answer = schema.selected(answer, self.query["fields"], field, known)
        return answer

    def started(self, operation: Operation) -> Dict[str, Any]:
        return operation.shown(self.project.name, self.project.now())


# --- templates ---


def template_of(project: Project, url: str) -> str:
    match = re.fullmatch(r"(https://.*/)?projects/([^/]+)/global/instanceTemplates/([^/]+)", url)
    if not match or match[2] != project.name:
        raise invalid(f"Invalid value for field 'instanceTemplate': '{url}'. The URL is malformed.")
    if match[3] not in project.templates:
        raise not_found(url)
    return match[3]


def list_templates(call: Call) -> Dict[str, Any]:
    rows = [call.project.templates[name] for name in sorted(call.project.templates)]
    return call.page(rows, "items", schema.TEMPLATE_FIELDS)


def insert_template(call: Call) -> Dict[str, Any]:
    body = call.read(schema.TEMPLATE, "name", "properties")
    name = schema.check_name(body["name"])
    schema.need(body["properties"], "machineType", "disks", "networkInterfaces")
    scheduling = body["properties"].get("scheduling", {})
    if scheduling.get("provisioningModel") == "SPOT" and scheduling.get("automaticRestart", True):
        raise invalid("Scheduling must have automaticRestart be false when it is SPOT.")
    if name in call.project.templates:
        raise Refusal(409, "alreadyExists", f"The resource '{name}' already exists")
    operation = call.project.begin("insert", f"global/instanceTemplates/{name}", "global")
    operation.effect = lambda: call.project.templates.__setitem__(name, body)
    return call.started(operation)


def get_template(call: Call, name: str) -> Dict[str, Any]:
    call.allow()
    if name not in call.project.templates:
        raise not_found(call.path)
    return call.project.templates[name]


def delete_template(call: Call, name: str) -> Dict[str, Any]:
    get_template(call, name)
    if any(group.template == name for group in call.project.groups.values()):
        words = f"The instance_template resource '{name}' is already being used"
        raise Refusal(400, "resourceInUseByAnotherResource", words)
    operation = call.project.begin("delete", f"global/instanceTemplates/{name}", "global")
    operation.effect = lambda: call.project.templates.pop(name, None)
    return call.started(operation)


# --- groups ---


def group_at(call: Call, zone: str, name: str) -> Group:
    group = call.project.groups.get(f"{zone}/{name}")
    if group is None:
        raise not_found(call.path)
    return group


def begin(call: Call, kind: str, zone: str, name: str) -> Operation:
    place = f"zones/{zone}"
    return call.project.begin(kind, f"{place}/instanceGroupManagers/{name}", place)


def insert_group(call: Call, zone: str) -> Dict[str, Any]:
    needed = ("name", "baseInstanceName", "instanceTemplate", "targetSize")
    body = call.read(schema.GROUP, *needed)
    name = schema.check_name(body["name"])
    schema.check_name(body["baseInstanceName"], 58)
    template_of(call.project, body["instanceTemplate"])
    if f"{zone}/{name}" in call.project.groups:
        raise Refusal(409, "alreadyExists", f"The resource '{name}' already exists")
    operation = begin(call, "insert", zone, name)
    made = Group(dict(body), zone)
    operation.effect = lambda: call.project.groups.__setitem__(f"{zone}/{name}", made)
    return call.started(operation)


def get_group(call: Call, zone: str, name: str) -> Dict[str, Any]:
    call.allow()
    group = group_at(call, zone, name)
    url = call.project.url(f"global/instanceTemplates/{group.template}")
    return dict(group.body, instanceTemplate=url, selfLink=call.project.url(call.path))


def delete_group(call: Call, zone: str, name: str) -> Dict[str, Any]:
    group = group_at(call, zone, name)
    call.project.delete(group, list(group.managed))
    operation = begin(call, "delete", zone, name)
    operation.effect = lambda: call.project.groups.pop(f"{zone}/{name}", None)
    return call.started(operation)


def set_template(call: Call, zone: str, name: str) -> Dict[str, Any]:
    body = call.read(schema.SET_TEMPLATE, "instanceTemplate")
    group = group_at(call, zone, name)
    template_of(call.project, body["instanceTemplate"])
    operation = begin(call, "setInstanceTemplate", zone, name)
    operation.effect = lambda: group.body.update(instanceTemplate=body["instanceTemplate"])
    return call.started(operation)


def create_instances(call: Call, zone: str, name: str) -> Dict[str, Any]:
    body = call.read(schema.CREATE, "instances")
    group = group_at(call, zone, name)
    names = [schema.check_name(one.get("name")) for one in body["instances"]]
    if not 0 < len(names) <= BATCH or len(set(names)) != len(names):
        raise invalid("Invalid value for field 'instances': no, too many, or one twice")
    operation = begin(call, "compute.instanceGroupManagers.createInstances", zone, name)
    taken = [one for one in names if one in group.managed]
    if taken:
        words = f"The resource '{taken[0]}' already exists"
        operation.errors = [{"code": "RESOURCE_ALREADY_EXISTS", "message": words}]
    else:
        call.project.create(group, names)
    return call.started(operation)


def delete_instances(call: Call, zone: str, name: str) -> Dict[str, Any]:
    body = call.read(schema.DELETE, "instances")
    group = group_at(call, zone, name)
    names = []
    for url in body["instances"]:
        match = re.fullmatch(r"(https://.*/)?zones/([^/]+)/instances/([^/]+)", url)
        if not match or match[2] != zone:
            raise invalid(f"Invalid value for field 'instances': '{url}'. The URL is malformed.")
        names.append(match[3])
    if not 0 < len(names) <= BATCH:
        raise invalid("Invalid value for field 'instances': none, or too many")
    operation = begin(call, "compute.instanceGroupManagers.deleteInstances", zone, name)
    known = [
        one
        for one in dict.fromkeys(names)
        if one in group.managed and group.managed[one].action != "DELETING"
    ]
    if len(known) < len(names) and not body.get("skipInstancesOnValidationError", False):
        words = "Instance is not a member of the group"
        operation.errors = [{"code": "INVALID_USAGE", "message": words}]
    else:
        call.project.delete(group, known)
    return call.started(operation)


def resize(call: Call, zone: str, name: str) -> Dict[str, Any]:
    call.allow("size")
    group = group_at(call, zone, name)
    call.project.resize(group, int(call.query["size"]))
    return call.started(begin(call, "resize", zone, name))


def managed_row(call: Call, zone: str, one: Managed) -> Dict[str, Any]:
    row: Dict[str, Any] = {
        "instance": call.project.url(f"zones/{zone}/instances/{one.name}"),
        "currentAction": one.action,
        "lastAttempt": {"errors": {"errors": one.errors}} if one.errors else {},
    }
    if one.instance is not None:
        row["instanceStatus"] = one.instance.status
    return row


def list_managed(call: Call, zone: str, name: str) -> Dict[str, Any]:
    group = group_at(call, zone, name)
    rows = [managed_row(call, zone, one) for one in group.managed.values()]
    return call.page(rows, "managedInstances", schema.MANAGED_FIELDS)


# --- instances and operations ---


def list_instances(call: Call, zone: str) -> Dict[str, Any]:
    found = sorted(call.project.instances(zone), key=lambda one: one.name)
    url = call.project.url(f"zones/{zone}/instances/")
    return call.page([one.shown(url + one.name) for one in found], "items", schema.INSTANCE_FIELDS)


def list_operations(call: Call, zone: str) -> Dict[str, Any]:
    here = [one for one in call.project.operations if one.scope == f"zones/{zone}"]
    if "orderBy" in call.query:
        here.reverse()
    rows = [call.started(one) for one in here]
    return call.page(rows, "items", schema.OPERATION_FIELDS)


def get_operation(call: Call, scope: str, name: str) -> Dict[str, Any]:
    call.allow()
    for operation in call.project.operations:
        if operation.name == name and operation.scope == scope:
            return call.started(operation)
    raise not_found(call.path)


Z, N = r"zones/([a-z0-9-]+)", r"([a-z0-9-]+)"
GROUPS = Z + "/instanceGroupManagers"
ROUTES: List[Tuple[str, str, Callable[..., Dict[str, Any]]]] = [
    ("GET", "global/instanceTemplates", list_templates),
    ("POST", "global/instanceTemplates", insert_template),
    ("GET", "global/instanceTemplates/" + N, get_template),
    ("DELETE", "global/instanceTemplates/" + N, delete_template),
    ("POST", GROUPS, insert_group),
    ("GET", f"{GROUPS}/{N}", get_group),
    ("DELETE", f"{GROUPS}/{N}", delete_group),
    ("POST", f"{GROUPS}/{N}/setInstanceTemplate", set_template),
    ("POST", f"{GROUPS}/{N}/createInstances", create_instances),
    ("POST", f"{GROUPS}/{N}/deleteInstances", delete_instances),
    ("POST", f"{GROUPS}/{N}/resize", resize),
    ("POST", f"{GROUPS}/{N}/listManagedInstances", list_managed),
    ("GET", Z + "/instances", list_instances),
    ("GET", Z + "/operations", list_operations),
    ("GET", f"(global|zones/[a-z0-9-]+)/operations/{N}", get_operation),
]


def dispatch(call: Call) -> Dict[str, Any]:
    for method, pattern, handler in ROUTES:
        match = re.fullmatch(pattern, call.path)
        if match and method == call.method:
            return handler(call, *match.groups())
    raise not_found(call.path)


class Cloud:
    """All projects; one call at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.projects: Dict[str, Project] = {}

    def control(self, wish: Dict[str, Any]) -> Dict[str, Any]:
        """{"project": P, a setting: value, ...}; {"project": P, "end": NAME, "how": OPERATION}.

        Makes the project if it is not there, and tells how it is.
        """
        project = self.projects.setdefault(wish["project"], Project(wish["project"]))
        for name, value in wish.items():
            if name in SETTINGS:
                setattr(project, name, value)
            elif name not in ("project", "end", "how"):
                raise invalid(f"no setting is called {name}")
        project.step()
        if "end" in wish and not project.stop(wish["end"], wish["how"]):
            raise not_found(wish["end"])
        return {
            "templates": sorted(project.templates),
            "groups": {key: one.body["targetSize"] for key, one in project.groups.items()},
            "instances": sorted(
                one.name
                for zone in {group.zone for group in project.groups.values()}
                for one in project.instances(zone)
            ),
            "calls": project.calls,
        }

    def compute(self, method: str, target: str, token: str, body: bytes) -> Dict[str, Any]:
        url = urlsplit(target)
        match = re.fullmatch(r"/compute/v1/projects/([^/]+)/(.+)", url.path)
        if not match:
            raise not_found(url.path)
        if token != f"Bearer {TOKEN}":
            raise Refusal(401, "authError", "Invalid Credentials")
        project = self.projects.get(match[1])
        if project is None:
            raise not_found(f"projects/{match[1]}")
        project.step()
        project.calls.append(f"{method} {match[2]}")
        if project.throttle:
            status = project.throttle.pop(0)
            raise Refusal(status, "rateLimitExceeded", "Rate Limit Exceeded")
        if project.forbidden:
            raise Refusal(403, "forbidden", "Required 'compute.instances.list' permission")
        query = dict(parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
        call = Call(project, method, match[2], query)
        call.body = json.loads(body) if body else None
        return dispatch(call)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer in one piece: two would wait for each other
    cloud = Cloud()

    def answer(self, status: int, body: Dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_call(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.command == "POST" and "Content-Length" not in self.headers:
                raise Refusal(411, "required", "POST requests require a Content-length header.")
            with self.cloud.lock:
                self.answer(200, self.result(body))
        except Refusal as refusal:
            first = {"message": refusal.words, "domain": "global", "reason": refusal.reason}
            error = {"code": refusal.status, "message": refusal.words, "errors": [first]}
            self.answer(refusal.status, {"error": error})

    def result(self, body: bytes) -> Dict[str, Any]:
        if self.path == "/_control":
            return self.cloud.control(json.loads(body))
        if self.path == TOKEN_PATH:
            if self.headers.get("Metadata-Flavor") != "Google":
                raise Refusal(403, "forbidden", "Metadata-Flavor is missing")
            return {"access_token": TOKEN, "expires_in": 3599, "token_type": "Bearer"}
        token = self.headers.get("Authorization", "")
        return self.cloud.compute(self.command, self.path, token, body)

    do_GET = do_POST = do_DELETE = handle_call

    def log_message(self, *_: Any) -> None:
        pass


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 1
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
