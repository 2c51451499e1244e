# SPDX-License-Identifier: Apache-2.0
"""Requests that a server must refuse, and what its answer must name."""

import uuid
from typing import Any, Dict

NESTED = "[" * 40 + "]" * 40
SESSION = str(uuid.UUID(int=7))
LEASE = str(uuid.UUID(int=8))


def sync_with(**fields: Any) -> Dict[str, Any]:
    return {"session": SESSION, "free": {"cpus": 1, "memory": 0}, **fields}


def settle_with(**fields: Any) -> Dict[str, Any]:
    return sync_with(settlements=[{"lease": LEASE, "seq": 0}, {"lease": LEASE, "seq": 1, **fields}])


def join_with(**fields: Any) -> Dict[str, Any]:
    resources = {"cpus": 1, "memory": 0}
    return {"version": 1, "session": SESSION, "machine": "m", "resources": resources, **fields}


def job_with(**fields: Any) -> Dict[str, Any]:
    return {"name": "a", "spec": {}, **fields}


# Status, method, path, body, and what the detail must name. {job} is a draft without parts.
BAD = [
    (400, "POST", "/v1/jobs", b"", "not JSON"),
    (400, "POST", "/v1/jobs", b"{", "not JSON"),
    (400, "POST", "/v1/jobs", b'{"name": "a",}', "byte"),
    (400, "POST", "/v1/jobs", b"[]", "an object"),
    (400, "POST", "/v1/jobs", b"null", "an object"),
    (400, "POST", "/v1/jobs", b"{} {}", "not JSON"),
    (400, "POST", "/v1/jobs", b'{"name": "\xff"}', "not JSON"),
    (400, "POST", "/v1/jobs", b'{"name":"a","name":"b","spec":{}}', "twice"),
    (400, "POST", "/v1/jobs", b'{"spec":{"a":' + NESTED.encode() + b"}}", "deeper than 32"),
    (400, "POST", "/v1/jobs", b"[" * 100_000, "deeper than 32"),
    (400, "POST", "/v1/jobs", b'{"name":"a","spec":{"n":1' + b"0" * 40 + b"}}", "64 bits"),
    (400, "POST", "/v1/jobs", {"nam": "a", "spec": {}}, "did you mean 'name'?"),
    (400, "POST", "/v1/jobs", {"spec": {}}, "name: is missing"),
    (400, "POST", "/v1/jobs", {"name": "a"}, "spec: is missing"),
    (400, "POST", "/v1/jobs", job_with(name=""), "name"),
    (400, "POST", "/v1/jobs", job_with(name="-a"), "name"),
    (400, "POST", "/v1/jobs", job_with(name="a/b"), "name"),
    (400, "POST", "/v1/jobs", job_with(name="a" * 65), "name"),
    (400, "POST", "/v1/jobs", job_with(name=7), "name: must be a string"),
    (400, "POST", "/v1/jobs", job_with(name=None), "name: must be a string, not null"),
    (400, "POST", "/v1/jobs", job_with(key=""), "key"),
    (400, "POST", "/v1/jobs", job_with(key="k" * 129), "key: is longer"),
    (400, "POST", "/v1/jobs", job_with(key="a\u0000b"), "key: must not have control"),
    (400, "POST", "/v1/jobs", job_with(open="yes"), "open: must be true or false"),
    (400, "POST", "/v1/jobs", job_with(spec=[]), "spec: must be an object"),
    (400, "POST", "/v1/jobs", job_with(spec={"name": "b"}), "spec.name"),
    (400, "POST", "/v1/jobs", job_with(spec={"retries": -1}), "spec.retries"),
    (400, "POST", "/v1/jobs", job_with(spec={"retries": 101}), "from 0 to 100"),
    (400, "POST", "/v1/jobs", job_with(spec={"retries": "3"}), "spec.retries"),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": 4}), "spec.resources"),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": {"cpus": 0}}), "spec.resources.cpus"),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": {"cpus": "2"}}), "a number"),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": {"memory": -1}}), "resources.memory"),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": {"memory": "4 gigs"}}), '"4GiB"'),
    (400, "POST", "/v1/jobs", job_with(spec={"resources": {"memry": 1}}), "mean 'memory'?"),
    (400, "POST", "/v1/jobs", job_with(spec={"x": "y" * 65_536}), "spec: is more than 65536"),
    (413, "POST", "/v1/jobs", job_with(spec={"x": "y" * 300_000}), "at most 262144"),
    (400, "GET", "/v1/jobs?state=done", None, "state"),
    (400, "GET", "/v1/jobs?limit=0", None, "limit"),
    (400, "GET", "/v1/jobs?limit=201", None, "limit"),
    (400, "GET", "/v1/jobs?limit=1&limit=2", None, "twice"),
    (400, "GET", "/v1/jobs?before=x", None, "before"),
    (400, "GET", "/v1/jobs?stat=active", None, "did you mean 'state'?"),
    (404, "GET", "/v1/jobs/nothing-99", None, "no job"),
    (404, "GET", "/v1/jobs/99", None, "99"),
    (404, "POST", "/v1/jobs/99/pause", None, "99"),
    (404, "POST", "/v1/jobs/99/resume", None, "99"),
    (404, "POST", "/v1/jobs/99/cancel", None, "99"),
    (404, "POST", "/v1/jobs/99/close", None, "99"),
    (404, "POST", "/v1/jobs/99/seal", {"parts": 1}, "99"),
    (404, "POST", "/v1/jobs/99/retry", {"failed": True}, "99"),
    (404, "GET", "/v1/jobs/99/stats", None, "99"),
    (404, "GET", "/v1/jobs/99/items", None, "99"),
    (404, "GET", "/v1/jobs/99/chunks/0/items", None, "99"),
    (404, "PUT", "/v1/jobs/99/parts/0", {"range": 1}, "99"),
    (404, "GET", "/v1/jobs/%2e%2e", None, "no such job"),
    (400, "PUT", "{job}/parts/-1", {"range": 1}, "counted from 0"),
    (400, "PUT", "{job}/parts/00", {"range": 1}, "counted from 0"),
    (400, "PUT", "{job}/parts/2147483648", {"range": 1}, "counted from 0"),
    (400, "PUT", "{job}/parts/0", {"range": 0}, "range"),
    (400, "PUT", "{job}/parts/0", {"range": 10_000_001}, "range"),
    (400, "PUT", "{job}/parts/0", {"rang": 1}, "did you mean 'range'?"),
    (400, "POST", "{job}/seal", {}, "parts: is missing"),
    (400, "POST", "{job}/seal", {"parts": 1.5}, "parts"),
    (400, "POST", "{job}/pause", {"now": True}, "unknown field 'now'"),
    (400, "POST", "{job}/retry", {}, "either"),
    (400, "POST", "{job}/retry", {"failed": False}, "either"),
    (400, "POST", "{job}/retry", {"items": []}, "items"),
    (400, "POST", "{job}/retry", {"items": [1, "2"]}, "items[1]"),
    (400, "POST", "{job}/retry", {"items": list(range(10_001))}, "more than 10000"),
    (409, "POST", "{job}/resume", None, "draft"),
    (409, "POST", "{job}/retry", {"failed": True}, "draft"),
    (400, "GET", "{job}?counts=1", None, "unknown name"),
    (400, "GET", "{job}/stats?x=1", None, "unknown name"),
    (400, "GET", "{job}/items?limit=1001", None, "limit"),
    (400, "GET", "{job}/items?page=zzz", None, "page"),
    (400, "GET", "{job}/items?state=lost", None, "state"),
    (400, "GET", "{job}/chunks/x/items", None, "counted from 0"),
    (404, "GET", "{job}/chunks/7/items", None, "7"),
    (400, "POST", "/v1/agents/join", join_with(version=2), "serves 1"),
    (400, "POST", "/v1/agents/join", join_with(session="x"), "session"),
    (400, "POST", "/v1/agents/join", join_with(machine=""), "machine"),
    (400, "POST", "/v1/agents/join", join_with(pool="a b"), "pool"),
    (400, "POST", "/v1/agents/join", join_with(resources={"cpus": 1}), "resources.memory"),
    (400, "POST", "/v1/agents/sync", {}, "session: is missing"),
    (400, "POST", "/v1/agents/sync", sync_with(free=None), "free"),
    (400, "POST", "/v1/agents/sync", sync_with(free={"cpus": -1, "memory": 0}), "free.cpus"),
    (400, "POST", "/v1/agents/sync", sync_with(leases=["x"]), "leases[0]"),
    (400, "POST", "/v1/agents/sync", sync_with(leases=[LEASE] * 65), "leases: has more than 64"),
    (400, "POST", "/v1/agents/sync", sync_with(settlements={}), "settlements"),
    (400, "POST", "/v1/agents/sync", sync_with(settlements=[{}] * 257), "more than 256"),
    (400, "POST", "/v1/agents/sync", sync_with(leaving="no"), "leaving"),
    (400, "POST", "/v1/agents/sync", sync_with(measured=[{"job": 0}]), "measured[0].job"),
    (400, "POST", "/v1/agents/sync", settle_with(seq=-1), "settlements[1].seq"),
    (400, "POST", "/v1/agents/sync", settle_with(ok="5,4"), "settlements[1].ok"),
    (400, "POST", "/v1/agents/sync", settle_with(failed="0-2048"), "settlements[1].failed"),
    (400, "POST", "/v1/agents/sync", settle_with(back="01"), "settlements[1].back"),
    (400, "POST", "/v1/agents/sync", settle_with(report="a"), "settlements[1].report"),
    (400, "POST", "/v1/agents/sync", settle_with(report="A" * 699_056), "report: is more than"),
    (413, "POST", "/v1/agents/sync", sync_with(x="y" * 4_200_000), "at most 4194304"),
    (400, "GET", "/v1/agents/wait", None, "session"),
    (400, "GET", "/v1/agents/wait?session=x", None, "session"),
    (400, "GET", f"/v1/agents/wait?session={SESSION}&wait_ms=-1", None, "wait_ms"),
    (400, "POST", "/v1/agents/x/drain", None, "session"),
    (410, "POST", f"/v1/agents/{SESSION}/drain", None, "no live session"),
    (410, "POST", "/v1/agents/sync", sync_with(), "session has ended"),
    (404, "GET", "/", None, "path"),
    (404, "GET", "/v1", None, "path"),
    (404, "GET", "/v1/jobs/", None, "path"),
    (404, "GET", "//v1/jobs", None, "path"),
    (405, "DELETE", "/v1/jobs", None, "POST"),
    (405, "POST", "/healthz", {}, "GET"),
    (405, "GET", "/v1/agents/sync", None, "POST"),
    (405, "POST", "{job}", {}, "GET"),
]
