# SPDX-License-Identifier: Apache-2.0
"""Lies that an agent, or a thief who has its token, may tell a server. None changes anything.

Each has a name, the statuses that may answer it, and how it is told. Those that are answered 200
are syncs of a session that is good, in which the lie is not believed.
"""

import base64
import gzip
import json
import socket
import uuid
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

from api_client import NO_JOIN_TOKEN, NO_SESSION_TOKEN, NO_TOKEN, Agent, Client, bearer, varint
from env import Answer

NOTHING = {"cpus": 0, "memory": 0}
NOBODY = str(uuid.UUID(int=77))
JSON = {"Content-Type": "application/json"}
CLOSED = 0  # the server hung up without a word, which HTTP allows for what is not HTTP


class Scene:
    """Who is there. All are of the project default but `elsewhere`, who is of films."""

    def __init__(self, client: Client) -> None:
        self.client = client
        value = {"value": base64.b64encode(b"swordfish").decode()}
        spec = {"secrets": ["KEY"]}
        films = {"Tidemill-Project": "films"}
        client.ok("PUT", "/v1/projects/default", {"calls_per_second": 100_000})
        client.ok("PUT", "/v1/projects/films", {"calls_per_second": 100_000})
        for headers in ({}, films):
            assert client.call("PUT", "/v1/secrets/KEY", value, headers).status == 204
        self.job = client.submit([f"item {i}" for i in range(600)], spec=spec)
        self.truthful, self.liar = self.agent(4), self.agent(4)
        self.truth, self.lease = self.truthful.lease(), self.liar.lease()
        self.elsewhere = self.agent(4, "films")
        theirs = client.ok("POST", "/v1/jobs", {"name": "film", "spec": spec}, headers=films)
        client.ok("PUT", f"/v1/jobs/{theirs['id']}/parts/0", {"range": 50}, headers=films)
        self.film = client.ok("POST", f"/v1/jobs/{theirs['id']}/seal", {"parts": 1}, headers=films)
        self.film_lease = self.elsewhere.lease()
        self.idle = client.submit(["a", "b"], spec={**spec, "resources": {"cpus": 500}})
        self.left, self.turned = self.agent(4), self.agent(4)
        self.left.sync(leaving=True, free=NOTHING)
        self.settled = self._settle_one()
        self.ended = self._end_a_lease()

    def agent(self, cpus: int, project: str = "default") -> Agent:
        agent = Agent(self.client, cpus=cpus)
        agent.key = f"key of {agent.session}"
        token = {"kind": "join", "name": "j", "pool": "default", "project": project}
        secret = self.client.ok("POST", "/v1/tokens", token)["secret"]
        answer = agent.try_join(secret)
        assert answer.status == 200, answer
        agent.token = answer.json()["token"]
        return agent

    def _settle_one(self) -> Dict[str, Any]:
        """The first item of the liar's lease, in truth; the rest it keeps."""
        first = offsets(self.lease)[0]
        settlement = {"lease": self.lease["lease"], "seq": 0, "ok": str(first)}
        held = [self.lease["lease"]]
        self.liar.sync(settlements=[settlement], leases=held, free=NOTHING)
        self.mine = offsets(self.lease)[1:]
        return settlement

    def _end_a_lease(self) -> Dict[str, Any]:
        lease = self.truth
        back = {"lease": lease["lease"], "seq": 0, "back": lease["items"]}
        self.truthful.sync(settlements=[back], free=NOTHING)
        self.truth = self.truthful.lease()
        return lease

    def turn_over(self, age: Callable[[Agent], None]) -> None:
        """The token of `turned` is old, and its new one has been used."""
        self.stale = self.turned.token
        age(self.turned)
        self.turned.token = self.turned.sync(free=NOTHING)["token"]
        self.turned.sync(free=NOTHING)

    def step(self) -> None:
        """The truthful agent does some work."""
        settlement = {"lease": self.truth["lease"], "seq": 1, "ok": self.truth["items"]}
        self.truthful.sync(settlements=[settlement], free=NOTHING)
        self.truth = self.truthful.lease()

    def sync(self, token: Optional[str] = None, **fields: Any) -> Answer:
        """The liar's, unless somebody else's token is shown."""
        body = {"session": self.liar.session, "free": NOTHING, "leases": [self.lease["lease"]]}
        body.update(fields)
        shown = bearer(self.liar.token if token is None else token)
        return self.client.call("POST", "/v1/agents/sync", body, headers=shown)

    def settle(self, **fields: Any) -> Answer:
        settlement = {"lease": self.lease["lease"], "seq": 1, **fields}
        return self.sync(settlements=[settlement])

    def post(self, body: bytes, path: str = "sync", **headers: str) -> Answer:
        shown = bearer(self.liar.token if path == "sync" else self.client.server.join_token)
        sent = {**shown, **JSON, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return self.client.server.http.request("POST", f"/v1/agents/{path}", body, sent)

    def get(self, path: str, token: Optional[str] = None) -> Answer:
        shown = bearer(self.liar.token if token is None else token)
        return self.client.server.http.request("GET", path, headers=shown)

    def join(self, token: Optional[str] = None, **fields: Any) -> Answer:
        fresh = Agent(self.client)
        return fresh.try_join(self.client.server.join_token if token is None else token, **fields)

    def raw(self, *lines: str, body: bytes = b"") -> int:
        """The status of the first answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.client.server.port), timeout=60) as line:
            line.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
            line.shutdown(socket.SHUT_WR)
            try:
                answer = line.makefile("rb").read()
            except ConnectionResetError:
                answer = b""
        self.answers = answer.count(b"HTTP/1.1 ")
        return int(answer.split(b" ", 2)[1]) if answer else CLOSED


def offsets(lease: Dict[str, Any]) -> List[int]:
    found: List[int] = []
    for run in lease["items"].split(","):
        first, _, last = run.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


class Lie(NamedTuple):
    name: str
    statuses: Tuple[int, ...]
    tell: Callable[[Scene], Any]  # gives an Answer or a status


def calls(scene: Scene, token: str) -> Dict[str, Callable[[], Answer]]:
    """Each call of agents but the join, about what the liar holds, with any token."""
    here = f"/v1/agents/{scene.liar.session}/jobs/{scene.job['number']}"
    return {
        "sync": lambda: scene.sync(token, leaving=True),
        "wait": lambda: scene.get(f"/v1/agents/wait?session={scene.liar.session}&wait_ms=0", token),
        "job": lambda: scene.get(here, token),
        "items": lambda: scene.get(f"{here}/chunks/0/items", token),
        "secrets": lambda: scene.get(f"{here}/secrets", token),
    }


# Tokens that are not the liar's own, and what they must get.
TOKENS: Dict[str, Tuple[int, Callable[[Scene], str]]] = {
    "no token": (401, lambda s: ""),
    "garbage": (401, lambda s: "hunter2"),
    "a made-up token": (410, lambda s: NO_SESSION_TOKEN),
    "its join token": (401, lambda s: s.client.server.join_token),
    "a made-up API token": (401, lambda s: NO_TOKEN),
    "an admin's token": (401, lambda s: s.client.server.token),
    "another machine's token": (410, lambda s: s.truthful.token),
    "another project's token": (410, lambda s: s.elsewhere.token),
    "a token that was turned over": (410, lambda s: s.stale),
    "the token of one that left": (410, lambda s: s.left.token),
    "its machine key": (401, lambda s: s.liar.key),
    "its token in capitals": (401, lambda s: s.liar.token.upper()),
    "its token and more": (401, lambda s: s.liar.token + "0"),
    "its token cut short": (401, lambda s: s.liar.token[:-1]),
    "its own id": (401, lambda s: s.liar.session),
}


def with_wrong_tokens() -> Iterator[Lie]:
    for call in ("sync", "wait", "job", "items", "secrets"):
        for name, (status, token) in TOKENS.items():

            def tell(scene: Scene, call: str = call, token: Any = token) -> Answer:
                return calls(scene, token(scene))[call]()

            yield Lie(f"{call} with {name}", (status,), tell)
    # Somebody else's session with one's own, good token.
    for whose in ("truthful", "elsewhere", "left", "turned"):

        def sync(scene: Scene, whose: str = whose) -> Answer:
            return scene.sync(session=getattr(scene, whose).session, leaving=True)

        def fetch(scene: Scene, whose: str = whose) -> Answer:
            other = getattr(scene, whose).session
            return scene.get(f"/v1/agents/{other}/jobs/{scene.job['number']}/secrets")

        def wait(scene: Scene, whose: str = whose) -> Answer:
            other = getattr(scene, whose).session
            return scene.get(f"/v1/agents/wait?session={other}&wait_ms=0")

        yield Lie(f"sync as {whose}", (410,), sync)
        yield Lie(f"secrets as {whose}", (410,), fetch)
        yield Lie(f"wait as {whose}", (410,), wait)
    yield Lie("sync as nobody", (410,), lambda s: s.sync(session=NOBODY))
    yield Lie("an agent's token for a person's call", (401,), lambda s: s.get("/v1/jobs"))
    yield Lie("an agent's token for the audit", (401,), lambda s: s.get("/v1/audit"))
    yield Lie("an agent's token for metrics", (401,), lambda s: s.get("/metrics"))


def about_leases() -> Iterator[Lie]:
    """Syncs of a good session about what is not its own."""
    for kind in ("ok", "failed", "back"):

        def settle(scene: Scene, lease: Dict[str, Any], kind: str = kind) -> Answer:
            return scene.settle(lease=lease["lease"], **{kind: lease["items"]})

        yield Lie(f"another's lease, {kind}", (200,), lambda s, f=settle: f(s, s.truth))
        yield Lie(
            f"another project's lease, {kind}", (200,), lambda s, f=settle: f(s, s.film_lease)
        )
        yield Lie(f"a lease that has ended, {kind}", (200,), lambda s, f=settle: f(s, s.ended))
        yield Lie(
            f"items of another's lease as its own, {kind}",
            (200,),
            lambda s, k=kind: s.settle(**{k: s.truth["items"]}),
        )
        yield Lie(
            f"an offset past the chunk, {kind}", (200,), lambda s, k=kind: s.settle(**{k: "2047"})
        )
        yield Lie(
            f"an own item and one past the chunk, {kind}",
            (200,),
            lambda s, k=kind: s.settle(**{k: f"{s.mine[0]},2000"}),
        )
    yield Lie("a made-up lease", (200,), lambda s: s.settle(lease=NOBODY, ok="0-599"))
    yield Lie("an item settled before", (200,), lambda s: s.settle(failed=s.settled["ok"]))
    yield Lie("a settled sync once more", (200,), lambda s: s.sync(settlements=[s.settled]))
    yield Lie(
        "a seq once more, for another item", (200,), lambda s: s.settle(seq=0, ok=str(s.mine[0]))
    )
    yield Lie("the same not owed item in all sets", (200,), lambda s: three_sets(s))
    yield Lie("no items at all", (200,), lambda s: s.settle(ok="", failed="", back=""))
    yield Lie("a report for items not settled", (200,), lambda s: s.settle(report=bomb(1 << 40)))
    yield Lie(
        "too large a report for one item",
        (200,),
        lambda s: s.settle(ok=str(s.mine[0]), report=base64.b64encode(b"x" * 9000).decode()),
    )
    for name, lease in (("another's", "truth"), ("another project's", "film_lease")):
        yield Lie(
            f"to know {name} lease",
            (200,),
            lambda s, n=lease: s.sync(leases=[s.lease["lease"], getattr(s, n)["lease"]]),
        )
    for name, job in (("not held", "idle"), ("of another project", "film")):
        for reason in ("no such image", "\u202e\U0001f4a3", "x" * 500):
            yield Lie(
                f"a trouble about a job {name}: {reason[:13]}",
                (200,),
                lambda s, j=job, r=reason: s.sync(troubles=[trouble(getattr(s, j), r)]),
            )
        yield Lie(
            f"absurd times of a job {name}",
            (200,),
            lambda s, j=job: s.sync(measured=[measured(getattr(s, j), 10**8, 0)]),
        )
    yield Lie("years for an item", (200,), lambda s: s.sync(measured=[measured(s.job, 1, 1 << 50)]))
    yield Lie("times of no items", (200,), lambda s: s.sync(measured=[measured(s.job, 0, 1 << 50)]))
    yield Lie("times of no job", (200,), lambda s: s.sync(measured=[measured(None, 1, 1)]))


def three_sets(scene: Scene) -> Answer:
    item = str(offsets(scene.truth)[0])
    return scene.settle(ok=item, failed=item, back=item)


def trouble(job: Dict[str, Any], reason: str) -> Dict[str, Any]:
    return {"job": job["number"], "reason": reason}


def measured(job: Optional[Dict[str, Any]], items: int, run_ms: int) -> Dict[str, Any]:
    return {"job": job["number"] if job else 2**62, "items": items, "run_ms": run_ms}


def bomb(claims: int, body: bytes = b"\x01\x00\x00") -> str:
    """A zstd frame whose header claims so many bytes."""
    frame = b"\x28\xb5\x2f\xfd\xe0" + claims.to_bytes(8, "little") + body
    return base64.b64encode(frame).decode()


def bombs() -> Dict[str, str]:
    """Reports that an agent may send of items that it does hold: they must do no harm."""
    zeros = (((1 << 17) << 3) | 2).to_bytes(3, "little") + b"\x00"  # 128 KiB of one byte
    many = zeros * 128 + ((1 << 3) | 3).to_bytes(3, "little") + b"\x00"  # 16 MiB and a byte
    block = b"tmob" + varint(1) + varint(65_536)
    return {
        "claims a tebibyte": bomb(1 << 40),
        "claims all there is": bomb((1 << 64) - 1),
        "unpacks to 16 MiB of nothing": bomb((1 << 24) + 1, many),
        "claims less than it has": bomb(1, many),
        "claims rows that are not there": bomb(
            len(block), ((len(block) << 3) | 1).to_bytes(3, "little") + block
        ),
        "is not a frame": base64.b64encode(b"PK\x03\x04" * 100).decode(),
        "is a gzip": base64.b64encode(gzip.compress(b"\0" * 100_000)).decode(),
        "is empty": "",
    }


HUGE = ("-1", "2147483648", "9007199254740993", "9223372036854775808", "1e400", "-0.5", '"1"')
MORE = ("18446744073709551616", "null", "true", "[]", "{}", "NaN", "Infinity", "0x10", "1.5", "01")


def numbers() -> Iterator[Lie]:
    """In the place of a number, what is no number, or too large."""
    places = {
        "seq": '"settlements":[{"lease":"%s","seq":@}]' % NOBODY,
        "job of times": '"measured":[{"job":@,"items":1,"run_ms":1}]',
        "items of times": '"measured":[{"job":1,"items":@,"run_ms":1}]',
        "run_ms": '"measured":[{"job":1,"items":1,"run_ms":@}]',
        "job of a trouble": '"troubles":[{"job":@,"reason":"r"}]',
        "job of a status": '"status":{"jobs":[{"job":@,"running":1}]}',
        "running": '"status":{"jobs":[{"job":1,"running":@}]}',
        "memory of a status": '"status":{"jobs":[{"job":1,"running":1,"memory":@}]}',
    }
    fits = {"job of times", "job of a trouble", "job of a status", "memory of a status"}
    for place, text in places.items():
        for number in (*HUGE, *MORE):
            small = number in ("2147483648", "9007199254740993")
            # A number that 64 bits hold may be a job's, or so many milliseconds.
            if (small and (place in fits or place == "run_ms")) or (
                number == "2147483648" and place == "items of times"
            ):
                continue
            yield Lie(f"{place} {number}", (400,), in_sync(text.replace("@", number)))
    for field in ("cpus", "memory"):
        for number in (*HUGE, *MORE):
            if field == "cpus" and number in ("-0.5", "1.5", "2147483648"):
                continue
            if field == "memory" and number in ("2147483648", "9007199254740993"):
                continue
            free = {"cpus": "0", "memory": "0", field: number}
            text = ",".join(f'"{name}":{value}' for name, value in free.items())
            yield Lie(f"free {field} {number}", (400,), in_sync('"x":1', free="{%s}" % text))


def in_sync(field: str, free: str = '{"cpus":0,"memory":0}') -> Callable[[Scene], Answer]:
    def tell(scene: Scene) -> Answer:
        text = f'{{"session":"{scene.liar.session}","free":{free},{field}}}'
        return scene.post(text.encode())

    return tell


def shapes() -> Iterator[Lie]:
    """Bodies that are not what they should be."""
    for runs in (
        *("5,4", "0-", "-1", "1-0", "00", "0-2048", "99999", "0,0", "1-3,2", "0x1", " 1", "1 "),
        *("\uff11", "0-1,", ",", "1;2", "1-2-3", "0,,1", "1e1", "\u0000", "0" * 100_000),
    ):
        name = ascii(runs[:12])
        yield Lie(f"items {name}", (400,), lambda s, r=runs: s.settle(ok=r))
    wrong: Dict[str, Dict[str, Any]] = {
        "items as a list": {"settlements": [{"lease": NOBODY, "seq": 0, "ok": [1, 2]}]},
        "a lease that is no UUID": {"settlements": [{"lease": "x", "seq": 0}]},
        "a settlement without a lease": {"settlements": [{"seq": 0}]},
        "a settlement without a seq": {"settlements": [{"lease": NOBODY}]},
        "settlements as an object": {"settlements": {}},
        "257 settlements": {"settlements": [{"lease": NOBODY, "seq": 0}] * 257},
        "65 leases": {"leases": [NOBODY] * 65},
        "leases as numbers": {"leases": [1]},
        "17 troubles": {"troubles": [{"job": 1, "reason": "r"}] * 17},
        "257 times": {"measured": [{"job": 1, "items": 1, "run_ms": 1}] * 257},
        "a status of 65 jobs": {"status": {"jobs": [{"job": 1, "running": 1}] * 65}},
        "a status of words": {"status": "fine"},
        "too long an engine": {"status": {"engine": "e" * 501}},
        "an engine of control characters": {"status": {"engine": "\x1b[2J"}},
        "too long a trouble in a status": {
            "status": {"jobs": [{"job": 1, "running": 1, "trouble": "t" * 501}]}
        },
        "too long a reason": {"troubles": [{"job": 1, "reason": "r" * 501}]},
        "no reason": {"troubles": [{"job": 1, "reason": ""}]},
        "a reason of two lines": {"troubles": [{"job": 1, "reason": "a\nb"}]},
        "leaving as a word": {"leaving": "no"},
        "a session that is no UUID": {"session": "../../x"},
        "no session": {"session": None},
        "free as a number": {"free": 4},
        "nothing free at all": {"free": {}},
        "a report that is no base64": {"settlements": [{"lease": NOBODY, "seq": 0, "report": "?"}]},
        "a report with spaces": {"settlements": [{"lease": NOBODY, "seq": 0, "report": "eA ="}]},
        "a report of 513 KiB": {
            "settlements": [{"lease": NOBODY, "seq": 0, "report": "A" * 4 * 175_104}]
        },
    }
    for name, fields in wrong.items():
        yield Lie(name, (400,), lambda s, f=fields: s.sync(**f))
    for name, body in {
        "an empty body": b"",
        "a list": b"[]",
        "null": b"null",
        "two values": b"{} {}",
        "an open brace": b"{",
        "a comma too many": b'{"session":"x",}',
        "a comment": b"{/**/}",
        "deep lists": b"[" * 100_000,
        "33 levels": b'{"x":' * 33 + b"1" + b"}" * 33,
        "a key twice": b'{"session":"%s","session":"%s"}' % (NOBODY.encode(), NOBODY.encode()),
        "not UTF-8": b'{"session":"\xff\xfe"}',
        "half of a pair": b'{"session":"\\ud800"}',
        "a byte-order mark and rubbish": b"\xef\xbb\xbf{",
        "UTF-16": '{"session":1}'.encode("utf-16"),
        "zeros": b"\0" * 1000,
    }.items():
        yield Lie(f"body: {name}", (400,), lambda s, b=body: s.post(b))
    yield Lie("a lease twice in a settlement", (400,), lambda s: s.post(lease_twice(s)))
    yield Lie("5 MB", (413,), lambda s: s.post(b" " * 5_000_000))
    yield Lie("a gzip", (400,), lambda s: s.post(gzip.compress(b"{}"), Content_Encoding="gzip"))
    for kind in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "json", ""):
        yield Lie(f"as {kind}", (415,), lambda s, k=kind: s.post(b"{}", Content_Type=k))


def lease_twice(scene: Scene) -> bytes:
    settlement = f'{{"lease":"{scene.lease["lease"]}","seq":1,"ok":"0","lease":"{NOBODY}"}}'
    text = f'{{"session":"{scene.liar.session}","free":{{"cpus":0,"memory":0}},'
    return f'{text}"settlements":[{settlement}]}}'.encode()


def joins() -> Iterator[Lie]:
    for name, (status, token) in TOKENS.items():
        if name != "its join token":
            yield Lie(f"join with {name}", (status,), lambda s, t=token: s.join(t(s)))
    yield Lie("join with a made-up join token", (401,), lambda s: s.join(NO_JOIN_TOKEN))
    for whose in ("truthful", "elsewhere", "liar", "turned"):
        yield Lie(
            f"join as the session of {whose}",
            (409,),
            lambda s, w=whose: s.join(session=getattr(s, w).session, machine_key="stolen"),
        )
    yield Lie(
        "join under a name that is taken",
        (409,),
        lambda s: s.join(machine=s.truthful.machine, machine_key="another"),
    )
    yield Lie(
        "go on with the session without its key",
        (409,),
        lambda s: s.join(s.liar.token, session=s.liar.session, machine_key="another"),
    )
    yield Lie(
        "go on with a session that has ended",
        (410,),
        lambda s: s.join(session=s.left.session, machine_key=s.left.key),
    )
    yield Lie(
        "go on with another's session",
        (410,),
        lambda s: s.join(s.liar.token, session=s.truthful.session, machine_key=s.truthful.key),
    )
    for name, fields in {
        "version 0": {"version": 0},
        "version 2": {"version": 2},
        "version 2^53": {"version": 2**53},
        "a session that is a path": {"session": "../../etc"},
        "a session in braces": {"session": "{" + NOBODY + "}"},
        "a session of 10 kB": {"session": "0" * 10_000},
        "no name": {"machine": ""},
        "a name of 129 bytes": {"machine": "m" * 129},
        "a name of two lines": {"machine": "a\r\nSet-Cookie: b"},
        "a name with a zero": {"machine": "a\0b"},
        "no key": {"machine_key": ""},
        "a key of 129 bytes": {"machine_key": "k" * 129},
        "a key that is a number": {"machine_key": 7},
        "less than nothing": {"resources": {"cpus": -1, "memory": 0}},
        "a million machines' worth": {"resources": {"cpus": 10**9, "memory": 0}},
        "memory of 2^63": {"resources": {"cpus": 1, "memory": 2**63}},
    }.items():
        yield Lie(f"join: {name}", (400,), lambda s, f=fields: s.join(**f))


def paths() -> Iterator[Lie]:
    """Where a path has names, tricks; and jobs of which no lease is held."""
    for name, job in (("not held", "idle"), ("of another project", "film")):
        for rest in ("", "/chunks/0/items", "/secrets"):
            yield Lie(
                f"job {name}{rest}",
                (403,),
                lambda s, j=job, r=rest: s.get(in_path(s, getattr(s, j)["number"], r)),
            )
    for rest in ("", "/chunks/0/items", "/secrets"):
        yield Lie(f"job not there{rest}", (403,), lambda s, r=rest: s.get(in_path(s, 10**9, r)))
    for job in (
        *("0", "-1", "01", "+1", "1e0", "1.0", "0x1", "render-1", "9223372036854775808"),
        *("1%00", "%2e%2e", "1%20", "1;x", "%27%20or%201=1--", "1" * 5000),
    ):
        yield Lie(f"job {job[:16]}", (400,), lambda s, j=job: s.get(in_path(s, j, "/secrets")))
    for chunk in ("-1", "2147483648", "4294967296", "00", "0x0", "a", "%00", "1e1"):
        yield Lie(
            f"chunk {chunk}",
            (400,),
            lambda s, c=chunk: s.get(in_path(s, s.job["number"], f"/chunks/{c}/items")),
        )
    yield Lie(
        "a chunk past the end",
        (404,),
        lambda s: s.get(in_path(s, s.job["number"], "/chunks/2147483647/items")),
    )
    for tail in (
        "/secrets/../../1",
        "//secrets",
        "%2f..%2f1",
        "/chunks/0%2f..%2f1/items",
        "/chunks/0/items/",
        "/chunks//items",
        "/..",
    ):
        yield Lie(f"path {tail}", (404,), lambda s, t=tail: s.get(in_path(s, s.job["number"], t)))


def in_path(scene: Scene, job: Any, rest: str) -> str:
    return f"/v1/agents/{scene.liar.session}/jobs/{job}{rest}"


def on_the_wire() -> Iterator[Lie]:
    """Bytes that try to be more, or less, than one request."""
    post, host = "POST /v1/agents/sync HTTP/1.1", "Host: a"
    kind = "Content-Type: application/json"
    refused = (400, 401, CLOSED)
    for name, statuses, lines in (
        ("a header of 20 kB", (431,), ("GET /v1/agents/wait HTTP/1.1", host, "X: " + "y" * 20_000)),
        ("a token of 15 kB", (401,), (post, host, "Authorization: Bearer " + "t" * 15_000)),
        ("two lengths", (400,), (post, host, "Content-Length: 2", "Content-Length: 50")),
        ("a length below nothing", (400,), (post, host, "Content-Length: -1")),
        ("a length of 2^64", (400, 413), (post, host, "Content-Length: 18446744073709551616")),
        ("a length of 1 TB", (413,), (post, host, "Content-Length: 1000000000000")),
        ("a length in words", (400,), (post, host, "Content-Length: two")),
        ("a folded header", (400,), ("GET /healthz HTTP/1.1", host, "A: b", " c: d", "X")),
        ("a colon after a space", (400,), ("GET /healthz HTTP/1.1", host, "Content-Length : 5")),
        ("another encoding", (400, 501), (post, host, "Transfer-Encoding: gzip")),
        ("no method", (400, CLOSED), ("/v1/agents/sync HTTP/1.1", host)),
        ("a version of 9", (400, 505, CLOSED), ("GET /healthz HTTP/9.9", host)),
        ("no HTTP at all", (400, CLOSED), ("\x16\x03\x01\x02\x00\x01\x00",)),
        ("TRACE", (400, 404, 405), ("TRACE /v1/agents/sync HTTP/1.1", host)),
        ("CONNECT", (400, 404, 405), ("CONNECT localhost:5432 HTTP/1.1", host)),
        ("PATCH", (405,), ("PATCH /v1/agents/sync HTTP/1.1", host)),
    ):
        yield Lie(name, statuses, lambda s, given=lines: s.raw(*given))
    hidden = b"POST /v1/agents/sync HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"

    def smuggle(scene: Scene, *lines: str) -> int:
        status = scene.raw(post, host, kind, *lines, body=b"0\r\n\r\n" + hidden)
        assert scene.answers <= 2
        return status

    both = ("Content-Length: 5", "Transfer-Encoding: chunked")
    yield Lie("a length and chunks", refused, lambda s: smuggle(s, *both))
    yield Lie("chunks and a length", refused, lambda s: smuggle(s, *reversed(both)))
    chunked = "Transfer-Encoding: chunked"
    yield Lie("chunks twice", (*refused, 501), lambda s: smuggle(s, chunked, chunked))
    yield Lie(
        "chunks by another name",
        (*refused, 501),
        lambda s: smuggle(s, "Transfer-Encoding: xchunked"),
    )
    yield Lie(
        "a chunk of 2^64 bytes",
        (400, 413, CLOSED),
        lambda s: s.raw(
            post,
            host,
            kind,
            chunked,
            f"Authorization: Bearer {s.liar.token}",  # else its body is not read
            body=b"10000000000000000\r\n{}",
        ),
    )

    def behind(scene: Scene) -> int:
        """A sync without a token, hidden behind the body of one that is refused."""
        sent = json.dumps({"session": scene.truthful.session, "leaving": True}).encode()
        second = b"POST /v1/agents/sync HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        second += b"Content-Length: %d\r\n\r\n" % len(sent) + sent
        shown = f"Authorization: Bearer {scene.liar.token}"
        return scene.raw(post, host, kind, shown, "Content-Length: 2", body=b"{}" + second)

    yield Lie("a second request behind the first", (400,), behind)


def all_lies() -> List[Lie]:
    groups = (with_wrong_tokens, about_leases, numbers, shapes, joins, paths, on_the_wire)
    return [lie for group in groups for lie in group()]
