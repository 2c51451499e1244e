# SPDX-License-Identifier: Apache-2.0
"""Who may do what, as a table: every operation of the document x caller x project x thing.

`right_answer` is the rule, and the only one: it knows the document and the callers, not the server.
"""

import dataclasses
import hashlib
import http.client
import itertools
import json
import uuid
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from api_client import CONTRACT, NO_TOKEN, Agent, Client, bearer
from env import Answer, Server, wait_until

OWN, OTHER, NOWHERE = "films", "books", "nowhere"
ROLES = ("viewer", "submitter", "operator", "admin")
# An operation that makes what its path names: whose name that is elsewhere does not matter.
MAKES = {"putProject", "putPool", "putQueue", "putSpec", "putSecret", "putBlob"}
# What operators set, by the name in the path, and what makes one.
SETTINGS = {"pool": None, "queue": {"share": 2}, "spec": {"spec": {}}}
ABSENT_JOB, ABSENT_ID = 999_999, str(uuid.UUID(int=5))


@dataclasses.dataclass
class Caller:
    """Somebody with a token. `kind` is person, join or session, or nobody for a token that is
    not good."""

    name: str
    kind: str
    secret: str = ""
    role: str = "viewer"
    project: Optional[str] = None  # None: all of them
    token: str = ""  # its id, or the session


class Cell(NamedTuple):
    operation: str
    caller: Caller
    header: Optional[str]  # Tidemill-Project
    thing: Tuple[str, ...]  # whose things the names of the path are


def is_write(method: str) -> bool:
    return method != "GET"


def suffices(caller: Caller, needs: str) -> bool:
    if needs in ("server", "server-admin"):
        return caller.project is None and (needs == "server" or caller.role == "admin")
    return ROLES.index(caller.role) >= ROLES.index(needs)


def person_enters(cell: Cell) -> int:
    """401 or 404 for a person who does not even come to the door of the operation; 0 if so."""
    caller = cell.caller
    if caller.kind != "person":
        return 401
    if caller.project is not None and cell.header not in (None, caller.project):
        return 404
    return 404 if cell.header == NOWHERE else 0


def agent_answer(cell: Cell, needs: str) -> int:
    """0: the operation's own success."""
    caller = cell.caller
    kinds = ("join", "session") if needs == "join-token" else ("session",)
    if caller.kind not in kinds:
        return 401
    if caller.kind == "join":
        return 0
    if cell.thing[0] != caller.project:
        return 410
    if len(cell.thing) > 1 and cell.thing[1] != "leased":
        return 403
    # The job has no role, and nobody waits for a stream.
    return 404 if cell.operation in ("fetchRole", "carryStream", "refuseStream") else 0


def right_answer(cell: Cell) -> int:
    """The status that the cell must have; 0: the operation's own success."""
    _, _, operation = operation_of(cell.operation)
    needs = operation["x-tidemill-needs"]
    if needs == "none":
        return 0
    if needs in ("join-token", "session-token"):
        return agent_answer(cell, needs)
    refused = person_enters(cell)
    if refused:
        return refused
    if not suffices(cell.caller, needs):
        return 403
    if not cell.thing or cell.operation in MAKES:
        return 0
    # Its path names the project, which putProject has made before if there was none.
    if cell.operation == "setCloudRoles":
        return 0
    # An admin for all projects who names none means the tokens of all.
    if cell.operation == "revokeToken" and cell.caller.project is None and cell.header is None:
        return 404 if cell.thing[0] == NOWHERE else 0
    project = cell.caller.project or cell.header or "default"
    return 0 if cell.thing[0] == project else 404


def is_recorded(cell: Cell) -> bool:
    """Whether the audit must have the call: a write that was let in, or refused for its role."""
    method, _, operation = operation_of(cell.operation)
    person = operation["x-tidemill-needs"] in (*ROLES, "server", "server-admin")
    return person and is_write(method) and person_enters(cell) == 0


def operation_of(name: str) -> Tuple[str, str, Mapping[str, Any]]:
    for (method, path), operation in CONTRACT.operations.items():
        if operation["operationId"] == name:
            return method, path, operation
    raise KeyError(name)


def cells(callers: List[Caller]) -> Iterator[Cell]:
    for (_, path), operation in CONTRACT.operations.items():
        name, needs = operation["operationId"], operation["x-tidemill-needs"]
        headers: Tuple[Optional[str], ...] = (None, OWN, OTHER, NOWHERE)
        things: List[Tuple[str, ...]] = [(OWN,), (OTHER,), (NOWHERE,)]
        if needs in ("join-token", "session-token"):
            headers = (None,)
            if "{job}" in path:
                things = [(OWN, job) for job in ("leased", OTHER, NOWHERE)]
                things += [(OTHER, "leased"), (NOWHERE, "leased")]
        elif "{" not in path:
            things = [()]
        for caller, header, thing in itertools.product(callers, headers, things):
            yield Cell(name, caller, header, thing)


class Connection:
    """Calls from one address, over one connection."""

    def __init__(self, server: Server, address: str) -> None:
        self._made = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=60, source_address=(address, 0)
        )

    def call(self, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        sent = dict(headers)
        if isinstance(body, bytes):
            sent["Content-Type"] = "application/octet-stream"
        elif body is not None:
            sent["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        self._made.request(method, path, body=body, headers=sent)
        answer = self._made.getresponse()
        got = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, got, answer.read())

    def close(self) -> None:
        self._made.close()


class World:
    """Two projects with one of each thing, and everybody who may call."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.secrets: List[str] = []  # all that must never be seen again
        for project in (OWN, OTHER, "default"):
            client.ok("PUT", f"/v1/projects/{project}", {"calls_per_second": 1_000_000})
        self.callers = self._callers()
        self.jobs = {project: self._jobs(project) for project in (OWN, OTHER)}
        self.tokens = {project: self.token("t", "viewer", project)[0] for project in (OWN, OTHER)}
        self.agents = {project: self._agent(project) for project in (OWN, OTHER)}
        for (_, path), operation in CONTRACT.operations.items():
            if operation["operationId"] not in MAKES:
                self.make_setting(path, operation["operationId"], OWN)
                self.make_setting(path, operation["operationId"], OTHER)
        for name, project in (("session", OWN), ("session of another", OTHER)):
            agent = self.agents[project]
            self.callers.append(Caller(name, "session", agent.token, "", project, agent.session))

    def token(self, name: str, role: str, project: str, **more: Any) -> Tuple[str, str]:
        """Its id and secret."""
        request = {"name": name, "project": project, "role": role, **more}
        if role == "join":
            request = {"kind": "join", "name": name, "project": project, "pool": "default", **more}
        made = self.client.ok("POST", "/v1/tokens", request)
        self.secrets.append(made["secret"])
        return made["token"]["id"], made["secret"]

    def person(self, name: str, role: str, project: Optional[str], **more: Any) -> Caller:
        token, secret = self.token(name, role, project or "*", **more)
        return Caller(name, "person", secret, role, project, token)

    def _callers(self) -> List[Caller]:
        found = [Caller("no token", "nobody"), Caller("garbage", "nobody", "hunter2")]
        found.append(Caller("a token never made", "nobody", NO_TOKEN))
        for name, life in (("revoked", 3600), ("expired", 1)):
            caller = self.person(name, "admin", OWN, life_seconds=life)
            found.append(dataclasses.replace(caller, kind="nobody"))
        self.client.ok("DELETE", f"/v1/tokens/{found[-2].token}")
        for project in (OWN, OTHER):
            found += [self.person(f"{role} of {project}", role, project) for role in ROLES]
        found += [self.person(f"{role} of all", role, None) for role in ("viewer", "admin")]
        token, secret = self.token("join", "join", OWN)
        found.append(Caller("join", "join", secret, "", OWN, token))
        expired = next(each for each in found if each.name == "expired")
        wait_until(
            "a token to expire",
            lambda: (
                self.client.call("GET", "/v1/whoami", headers=bearer(expired.secret)).status == 401
            ),
        )
        return found

    def _jobs(self, project: str) -> Dict[str, Dict[str, Any]]:
        """One for each operation, because some end it."""
        headers = {"Tidemill-Project": project}
        self.put_secret(project, "KEY")
        raw = {"Content-Type": "application/octet-stream"}
        for operation in ("getBlob", "readBlob"):
            blob = f"{operation}-{project}".encode()
            path = f"/v1/blobs/{hashlib.sha256(blob).hexdigest()}"
            self.client.ok("PUT", path, blob, headers={**headers, **raw})
        jobs = {}
        paths = [key[1] for key in CONTRACT.operations if "/v1/jobs/{job}" in key[1]]
        for path in [*paths, "leased"]:
            spec = {"secrets": ["KEY"]} if path == "leased" else {}
            request = {"name": "render", "spec": spec, "open": True}
            job = self.client.ok("POST", "/v1/jobs", request, headers=headers)
            self.client.ok("PUT", f"/v1/jobs/{job['id']}/parts/0", {"range": 9}, headers=headers)
            self.client.ok("POST", f"/v1/jobs/{job['id']}/seal", {"parts": 1}, headers=headers)
            # Paused, so that the agent gets a lease of one job and no other.
            if path != "leased":
                self.client.ok("POST", f"/v1/jobs/{job['id']}/pause", headers=headers)
            jobs[path] = job
        return jobs

    def make_setting(self, path: str, operation: str, project: str) -> None:
        """The pool, queue or spec that the path of this operation names in a project, if any."""
        for kind, body in SETTINGS.items():
            if "{" + kind + "}" in path:
                target = f"/v1/{kind}s/{operation}-{project}"
                self.client.ok("PUT", target, body, headers={"Tidemill-Project": project})

    def put_secret(self, project: str, name: str) -> None:
        headers = {"Tidemill-Project": project}
        value = {"value": "Y29ycmVjdGhvcnNlYmF0dGVyeQ=="}
        assert self.client.call("PUT", f"/v1/secrets/{name}", value, headers).status == 204

    def _agent(self, project: str) -> Agent:
        agent = Agent(self.client)
        agent.key = f"key of {agent.session}"
        answer = agent.try_join(self.token("join", "join", project)[1])
        assert answer.status == 200, answer
        agent.token = answer.json()["token"]
        self.secrets += [agent.token, agent.key]
        assert agent.lease()["job"] == self.jobs[project]["leased"]["number"]
        return agent

    # --- a cell's request ---

    def names(self, cell: Cell, path: str) -> Dict[str, str]:
        """What stands for the names of the path."""
        if not cell.thing:
            return {}
        whose = cell.thing[0]
        there = whose != NOWHERE
        names = {
            "number": "0",
            "chunk": "0",
            "item": "0",
            "port": "80",
            "stream": ABSENT_ID,
            "secret": f"{cell.operation}-{whose}",
            "sha256": hashlib.sha256(f"{cell.operation}-{whose}".encode()).hexdigest(),
            "token": self.tokens[whose] if there else ABSENT_ID,
            "project": whose if there else "made-up",
            **{kind: f"{cell.operation}-{whose}" for kind in SETTINGS},
            "session": self.agents[whose].session if there else ABSENT_ID,
            "machine": self.agents[whose].machine if there else "absent",
            "job": self.jobs[whose].get(path, {}).get("id", "") if there else "",
        }
        if len(cell.thing) > 1:
            # The one that its agent holds a lease of, or another's.
            holder = OTHER if OTHER in cell.thing else OWN
            job = self.jobs[holder]["leased"]
            names["job"] = str(ABSENT_JOB if cell.thing[1] == NOWHERE else job["number"])
        elif not there:
            names["job"] = f"render-{ABSENT_JOB}"
        return names

    def body(self, cell: Cell) -> Any:
        whose = cell.thing[0] if cell.thing else OWN
        session = self.agents[whose].session if whose != NOWHERE else ABSENT_ID
        viewer = next(each for each in self.callers if each.name == f"viewer of {OWN}")
        bodies = {
            "createJob": {"name": "render", "key": f"of {cell.caller.name}", "spec": {}},
            "putPart": {"range": 9},
            "addItems": {"items": [{"item": "a", "once": "a"}]},
            "sealJob": {"parts": 1},
            "retryJob": {"failed": True},
            "createToken": {"name": "made", "role": "viewer"},
            "login": {"token": viewer.secret},
            "putProject": {"calls_per_second": 1_000_000},
            "setCloudRoles": {"cloud_roles": ["arn:aws:iam::123456789012:role/a*"]},
            "putSecret": {"value": "Y29ycmVjdGhvcnNlYmF0dGVyeQ=="},
            "setMachines": {"max": 3},
            "putQueue": SETTINGS["queue"],
            "putSpec": SETTINGS["spec"],
            "pinImage": {"digest": "sha256:" + "0" * 64},
            "openShell": {},
            "refuseStream": {"reason": "not here"},
            "putBlob": f"{cell.operation}-{whose}".encode(),
            "syncAgent": {"session": session, "free": {"cpus": 0, "memory": 0}},
        }
        if cell.operation == "joinAgent":
            agent = self.agents.get(whose, self.agents[OWN])
            # A pool's token begins a session of its own; a session's token goes on with the named.
            fresh = cell.caller.kind == "join"
            name = f"joined {whose}"
            named = {"session": str(uuid.uuid5(uuid.UUID(int=1), name)) if fresh else session}
            named["machine"] = name if fresh else agent.machine
            free = {"cpus": 1, "memory": 0}
            return {"version": 1, **named, "machine_key": agent.key, "resources": free}
        return bodies.get(cell.operation)

    def request(self, cell: Cell) -> Tuple[str, str, Any, Dict[str, str]]:
        method, path, _ = operation_of(cell.operation)
        names = self.names(cell, path)
        target = path
        for name, value in names.items():
            target = target.replace("{" + name + "}", value)
        if cell.operation == "waitAgent":
            target += f"?session={names['session']}&wait_ms=0"
        if cell.operation == "searchLogs":
            target += "?grep=x"
        headers = {"Tidemill-Request": "1"}
        if cell.caller.secret:
            headers.update(bearer(cell.caller.secret))
        if cell.header is not None:
            headers["Tidemill-Project"] = cell.header
        return method, target, self.body(cell), headers

    def audit_target(self, cell: Cell) -> str:
        path = operation_of(cell.operation)[1]
        names = self.names(cell, path)
        return " ".join(names[word[1:-1]] for word in path.split("/") if word.startswith("{"))
