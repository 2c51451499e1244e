# SPDX-License-Identifier: Apache-2.0
"""A client whose every answer is held against the document, and an agent that is played by hand."""

import base64
import itertools
import re
import uuid
from typing import Any, Dict, Iterable, List, Mapping, Optional

from env import Answer, Server, wait_until
from openapi import Contract

CONTRACT = Contract()
JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain"}


# As one could be made by a server, but was not.
NO_TOKEN, NO_JOIN_TOKEN = "tidemill_" + "0" * 64, "tidemill_join_" + "0" * 64
NO_SESSION_TOKEN = "tidemill_sess_" + "0" * 64


def bearer(token: str) -> Dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Client:
    """Calls a server and holds each answer against the document."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def call(
        self, method: str, path: str, body: Any = None, headers: Optional[Mapping[str, str]] = None
    ) -> Answer:
        answer = self.server.http.request(method, path, body, headers)
        CONTRACT.check(method, path, answer, sent=body)
        return answer

    def ok(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = self.call(method, path, body, **more)
        assert answer.status in (200, 201), answer
        return answer.json()

    def submit(self, items: Iterable[str], **request: Any) -> Dict[str, Any]:
        """A sealed job."""
        job = self.ok("POST", "/v1/jobs", {"name": "render", "spec": {}, **request})
        path = f"/v1/jobs/{job['id']}"
        self.ok("PUT", f"{path}/parts/0", "\n".join(items).encode(), headers=TEXT)
        return self.ok("POST", f"{path}/seal", {"parts": 1})

    def counts(self, job: Mapping[str, Any]) -> Dict[str, int]:
        return self.ok("GET", f"/v1/jobs/{job['id']}")["counts"]

    def state_is(self, job: Mapping[str, Any], state: str) -> None:
        path = f"/v1/jobs/{job['id']}"
        wait_until(f"{job['id']} to be {state}", lambda: self.ok("GET", path)["state"] == state)

    def metric(self, name: str) -> int:
        text = self.call("GET", "/metrics").body.decode()
        return int(re.search(rf"^{name} (\d+)$", text, re.MULTILINE).group(1))


class Agent:
    """An agent, played by hand."""

    def __init__(self, client: Client, cpus: float = 4) -> None:
        self.client, self.cpus = client, cpus
        self.session = str(uuid.uuid4())
        self.machine, self.key = f"m-{self.session[:8]}", "key"
        self.token = NO_SESSION_TOKEN
        self.seq = itertools.count()

    def try_join(self, token: str, **fields: Any) -> Answer:
        request = {"version": 1, "session": self.session, "machine": self.machine}
        request.update(machine_key=self.key, resources=self.free())
        request.update(fields)
        return self.client.call("POST", "/v1/agents/join", request, headers=bearer(token))

    def join(self) -> Dict[str, Any]:
        answer = self.try_join(self.client.server.join_token)
        assert answer.status == 200, answer
        self.token = answer.json()["token"]
        return answer.json()

    def fetch(self, path: str) -> Answer:
        """What agents ask for of their jobs: /jobs/{job}..."""
        target = f"/v1/agents/{self.session}{path}"
        return self.client.call("GET", target, headers=bearer(self.token))

    def wait_request(self) -> bytes:
        """A whole request for a long poll."""
        head = f"GET /v1/agents/wait?session={self.session} HTTP/1.1\r\nHost: a\r\n"
        return f"{head}Authorization: Bearer {self.token}\r\n\r\n".encode()

    def free(self) -> Dict[str, Any]:
        return {"cpus": self.cpus, "memory": 1 << 30}

    def call(self, **fields: Any) -> Answer:
        body = {"session": self.session, "free": self.free(), **fields}
        return self.client.call("POST", "/v1/agents/sync", body, headers=bearer(self.token))

    def sync(self, **fields: Any) -> Dict[str, Any]:
        answer = self.call(**fields)
        assert answer.status == 200, answer
        return answer.json()

    def lease(self) -> Dict[str, Any]:
        """Syncs until there is work: the server needs a moment to see a new job."""
        return wait_until("a lease", lambda: self.sync()["leases"])[0]

    def settle(self, lease: Mapping[str, Any], **fields: Any) -> Dict[str, Any]:
        settlement = {"lease": lease["lease"], "seq": next(self.seq), **fields}
        return self.sync(settlements=[settlement], leases=[], free={"cpus": 0, "memory": 0})


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def report(rows: List[Mapping[str, int]]) -> str:
    """A column block (src/report/block.h) in a zstd frame of one raw block, as base64."""
    items = [row["item"] for row in rows]
    steps = [here - before for here, before in zip(items, [0, *items])]
    columns = {1: [step << 1 if step >= 0 else -step * 2 - 1 for step in steps]}
    names = ((3, "cause"), (6, "duration_ms"), (7, "cpu_ms"), (8, "memory_bytes"))
    for number, name in names:
        columns[number] = [row.get(name, 0) for row in rows]
    body = b"tmob" + varint(1) + varint(len(rows))
    for number, values in columns.items():
        data = b"".join(map(varint, values))
        body += varint(number) + varint(len(data)) + data
    frame = b"\x28\xb5\x2f\xfd\xa0" + len(body).to_bytes(4, "little")
    frame += (len(body) << 3 | 1).to_bytes(3, "little") + body
    return base64.b64encode(frame).decode()
