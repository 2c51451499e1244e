# SPDX-License-Identifier: Apache-2.0
"""The server as a program: its words, its check, and how it stops."""

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
from typing import Any, Callable, Optional

import pytest
from api_client import Agent, Client
from env import ROOT, Env, Http, answer_of, binaries, wait_until


def run(
    env: Env, *words: str, database: Optional[str] = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [str(binaries() / "tidemill-server"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        env={"TIDEMILL_DATABASE": env.conninfo if database is None else database},
    )


def test_the_program_explains_itself(env):
    assert run(env, "--version").stdout.startswith("tidemill-server ")
    for words in (["--help"], ["serve", "--help"], ["migrate", "--help"], ["check", "--help"]):
        shown = run(env, *words)
        assert shown.returncode == 0 and "Example:" in shown.stdout
    for words in ([], ["srve"], ["serve", "--lisen", "x"], ["serve", "--listen", "nowhere"]):
        assert run(env, *words).returncode == 2, words
    nowhere = run(env, "check", database="")
    assert nowhere.returncode == 2 and "TIDEMILL_DATABASE" in nowhere.stderr
    away = run(env, "serve", "--database", "host=127.0.0.1 port=1")
    assert away.returncode == 5 and "Is PostgreSQL running" in away.stderr
    assert run(env, "check", "--database", "host=127.0.0.1 port=1").returncode == 5


def test_the_check_tells_whether_anything_was_lost(empty_env):
    env = empty_env
    migrations = len(list((ROOT / "src/store/postgres/migrations").glob("*.sql")))
    assert run(env, "migrate").stdout == f"{migrations} migrations applied\n"
    assert run(env, "migrate").stdout == "0 migrations applied\n"
    client = Client(env.server())
    job = client.submit(["a", "b", "c"])
    good = run(env, "check")
    url = f"postgresql://tidemill@127.0.0.1:{env.postgres.port}/{env.database}"
    assert run(env, "check", "--database", url).stdout == good.stdout
    assert good.returncode == 0 and good.stdout.startswith("conserved: 1 jobs, 3 items")
    report_of = json.loads(run(env, "check", "--json").stdout)
    assert report_of == {"conserved": True, "jobs": 1, "items": 3, "breaches": []}
    env.sql(f"update job set items = 4 where job_id = {job['number']}")
    bad = run(env, "check")
    assert bad.returncode == 1 and bad.stdout.startswith("S01 ")
    told = json.loads(run(env, "check", "--json").stdout)
    assert told["conserved"] is False and told["breaches"] == bad.stdout.splitlines()


def test_a_stop_answers_what_is_under_way(env):
    server = env.server()
    client = Client(server)
    agents = [Agent(client) for _ in range(20)]
    for agent in agents:
        agent.join()
    # Nothing to settle, nothing to get: these are gathered for a while, and the stop comes first.
    sockets = []
    for agent in agents:
        body = json.dumps({"session": agent.session, "free": {"cpus": 0, "memory": 0}})
        head = f"POST /v1/agents/sync HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n"
        head += f"Authorization: Bearer {agent.token}\r\n"
        sockets.append(socket.create_connection(("127.0.0.1", server.port)))
        sockets[-1].sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
    waiter = socket.create_connection(("127.0.0.1", server.port))
    waiter.sendall(agents[0].wait_request())
    wait_until("the wait", lambda: client.metric("tidemill_waiting_agents") == 1)
    assert server.terminate(timeout_s=60) == 0
    for each in [*sockets, waiter]:
        answer = each.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 "), answer
    assert answer.endswith(b'{"sync":false}')
    with pytest.raises(OSError):
        Http(server.port).get("/healthz")
    assert "server.stopped" in server.log.read_text()


def test_a_second_signal_ends_the_server_at_once(env):
    server = env.server()

    def quietly(call: Callable[[], Any]) -> None:
        try:
            call()
        except (OSError, RuntimeError, http.client.HTTPException):
            pass  # the server, or the database, goes away under it

    hold = "begin; lock table job; select pg_sleep(60)"
    locks = "select count(*) from pg_locks where relation = 'job'::regclass and {}granted"
    calls = [lambda: env.sql(hold), lambda: server.http.post("/v1/jobs", {"name": "a", "spec": {}})]
    threads = [threading.Thread(target=quietly, args=(call,)) for call in calls]
    threads[0].start()
    wait_until(
        "the lock", lambda: env.sql(locks.format("mode = 'AccessExclusiveLock' and ")) == "1"
    )
    threads[1].start()
    wait_until("a call that hangs", lambda: env.sql(locks.format("not ")) != "0")
    os.kill(server.pid, signal.SIGTERM)
    wait_until("the stop", lambda: "server.stopping" in server.log.read_text())
    assert server.terminate(timeout_s=60) == 128 + signal.SIGTERM
    env.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%'"
        " and pid <> pg_backend_pid()"
    )
    for thread in threads:
        thread.join(60)


def test_an_agent_that_waits_elsewhere_hears_of_a_job(env):
    """It has synced with one server, and waits at another that has never heard of it."""
    first, second = Client(env.server()), Client(env.server())
    agent = Agent(first)
    agent.join()
    agent.sync()
    wait = socket.create_connection(("127.0.0.1", second.server.port))
    wait.sendall(agent.wait_request())
    wait_until("the wait", lambda: second.metric("tidemill_waiting_agents") == 1)
    first.submit(["a"])
    assert answer_of(wait).endswith(b'{"sync":true}')
    wait.close()


def test_an_outage_of_the_database_is_said_and_outlived(env):
    client = Client(env.server())
    agent = Agent(client)
    agent.join()
    job = client.submit(["a"])
    lease = agent.lease()
    env.postgres.kill9()
    settlement = {"lease": lease["lease"], "seq": 0, "ok": lease["items"]}
    for answer in (
        agent.call(settlements=[settlement]),
        client.call("GET", f"/v1/jobs/{job['id']}/stats"),
        client.call("POST", "/v1/jobs", {"name": "b", "spec": {}}),
    ):
        assert answer.status == 503
        assert "127.0.0.1" not in answer.json()["detail"]
    assert client.call("GET", "/healthz").status == 200
    env.postgres.start()
    wait_until(
        "the settlement to be taken",
        lambda: agent.call(settlements=[settlement]).status == 200,
    )
    client.state_is(job, "finished")
