# SPDX-License-Identifier: Apache-2.0
"""Connections of nobody, which cost nothing and stay: who is known goes on all the same."""

import contextlib
import select
import socket
import time
from typing import Iterator, List

import figures
import pytest
from api_client import NO_JOIN_TOKEN, NO_SESSION_TOKEN, NO_TOKEN, Agent, Client

NOTHING = {"cpus": 0, "memory": 0}
LARGEST = 8 << 20
SYNC = "POST /v1/agents/sync HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"
JOIN = SYNC.replace("sync", "join")
PART = "PUT /v1/jobs/x/parts/0 HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\n"


def shown(token: str) -> str:
    return f"Authorization: Bearer {token}\r\n"


def announced(head: str) -> bytes:
    return f"{head}Content-Length: {LARGEST}\r\n\r\n".encode()


KINDS = [
    b"",
    b"POST /v1/agents/sy",
    announced(SYNC),
    announced(JOIN),
    announced("POST /v1/nothing HTTP/1.1\r\nHost: s\r\n"),
    f"{SYNC}Transfer-Encoding: chunked\r\n\r\n".encode(),
    announced(SYNC + shown(NO_SESSION_TOKEN)),
    announced(JOIN + shown(NO_JOIN_TOKEN)),
    announced(PART + shown(NO_TOKEN)),
    # Some of it comes, and is all that ever does.
    announced(SYNC + shown(NO_SESSION_TOKEN)) + b"[" * (1 << 20),
]


class Strangers:
    """Connections that say one thing and then nothing. One that is ended comes again."""

    def __init__(self, server, count: int) -> None:
        self._address = (server.http.host, server.http.port)
        self._says = {self._connect(kind): kind for kind in (KINDS * count)[:count]}

    def _connect(self, kind: bytes) -> socket.socket:
        line = socket.create_connection(self._address, timeout=60)
        with contextlib.suppress(OSError):  # it may be answered before it has said all
            line.sendall(kind)
        return line

    def come_again(self) -> int:
        """How many were answered, or cut off, since the last time."""
        poll = select.poll()
        for line in self._says:
            poll.register(line, select.POLLIN)
        files = {line.fileno(): line for line in self._says}
        gone = [files[file] for file, _ in poll.poll(0)]
        for line in gone:
            kind = self._says.pop(line)
            line.close()
            self._says[self._connect(kind)] = kind
        return len(gone)

    def close(self) -> None:
        for line in self._says:
            line.close()


@contextlib.contextmanager
def strangers(server, count: int) -> Iterator[Strangers]:
    crowd = Strangers(server, count)
    yield crowd
    crowd.close()


def joined(client: Client, count: int) -> List[Agent]:
    agents = [Agent(client) for _ in range(count)]
    for agent in agents:
        agent.join()
        agent.sync(free=NOTHING)  # from now on it is known
    return agents


def sessions(env) -> str:
    return env.sql("select session_id from agent_session order by session_id")


def test_a_thousand_strangers_keep_nobody_out(env):
    client = Client(env.server("--session-seconds", "3600"))
    agents = joined(client, 3)
    with strangers(client.server, 1_000) as crowd:
        for _ in range(20):
            crowd.come_again()
            for agent in agents:
                agent.sync(free=NOTHING)  # at the first try
            client.submit(["a" * 1000] * 100)
        # Also one that nobody knows yet.
        joined(client, 1)


def test_who_has_no_token_is_answered_before_its_body(env):
    server = env.server()
    line = socket.create_connection((server.http.host, server.http.port), timeout=60)
    line.sendall(announced(SYNC))
    assert line.recv(12) == b"HTTP/1.1 401"
    line.close()


@pytest.mark.long
def test_ten_minutes_of_a_thousand_strangers(env, processes):
    """Syncs of agents that are known, whose sessions live for 15 s, and a real one that works."""
    client = Client(env.server("--session-seconds", "15"))
    processes("m1", "--cpus", "1")
    agents = joined(client, 10)
    job = client.submit(["x"] * 100_000, spec={"command": ["true"], "resources": {"cpus": 1}})
    before, took, answered = sessions(env), [], 0
    end = time.monotonic() + 600
    with strangers(client.server, 1_000) as crowd:
        while time.monotonic() < end:
            answered += crowd.come_again()
            for agent in agents:
                begin = time.monotonic()
                agent.sync(free=NOTHING)
                took.append(time.monotonic() - begin)
            time.sleep(0.1)
    assert sessions(env) == before, "none was lost"
    assert client.ok("GET", f"/v1/jobs/{job}")["counts"]["succeeded"] > 0
    print(f"\n{len(took)} syncs, {answered} strangers came again; longest {max(took):.3f} s")
    figures.record("door_longest_sync", "s", [max(took)], maximum=1)
