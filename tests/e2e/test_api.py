# SPDX-License-Identifier: Apache-2.0
"""The API, call by call, against the real program; every answer is held against the document."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import uuid
from typing import Any, Callable, List, Optional

import jsonschema
import pytest
from api_client import CONTRACT, JSON, TEXT, Agent, Client, report
from bad_requests import BAD
from env import ROOT, Answer, Env, Http, binaries, wait_until


@pytest.fixture
def client(env: Env) -> Client:
    return Client(env.server())


def test_the_document_is_sound():
    for reference in CONTRACT.references():
        assert CONTRACT.resolve({"$ref": reference}), reference
    for schema in CONTRACT.document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    examples = list(CONTRACT.examples())
    assert len(examples) > 12
    for where, schema, example in examples:
        CONTRACT.validate(CONTRACT.schema_of(schema), example, where)
    names = [operation["operationId"] for operation in CONTRACT.operations.values()]
    assert len(set(names)) == len(names)


def test_a_job_from_its_draft_to_its_end(client):
    request = {"name": "render", "key": "k", "spec": {"image": "a/b:3", "retries": 0}}
    created = client.call("POST", "/v1/jobs", request)
    assert created.status == 201
    job = created.json()
    assert created.headers["location"] == f"/v1/jobs/{job['id']}"
    assert job["id"] == f"render-{job['number']}"
    assert (job["state"], job["items"], job["spec"]) == ("draft", 0, request["spec"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", job["created_at"])

    path = f"/v1/jobs/{job['id']}"
    items = [f"scène {i}" for i in range(5)]
    part = "\n".join(items).encode()
    put = client.ok("PUT", f"{path}/parts/0", part, headers=TEXT)
    assert (put["parts"], put["items"]) == (1, 5)
    again = client.ok("PUT", f"{path}/parts/0", part, headers=TEXT)
    assert again == put
    assert client.call("POST", "/v1/jobs", request).status == 200
    other = {**request, "spec": {"image": "other"}}
    assert client.call("POST", "/v1/jobs", other).status == 409
    assert client.call("PUT", f"{path}/parts/0", b"else", headers=TEXT).status == 409
    assert client.call("PUT", f"{path}/parts/2", b"gap", headers=TEXT).status == 409
    assert client.call("POST", f"{path}/seal", {"parts": 2}).status == 409
    assert client.ok("POST", f"{path}/seal", {"parts": 1})["state"] == "active"

    agent = Agent(client, cpus=8)
    joined = agent.join()
    assert (joined["session"], joined["state"]) == (agent.session, "alive")
    assert (joined["heartbeat_ms"], joined["session_ms"]) == (10_000, 60_000)
    assert agent.join() == joined

    left = 5
    while left > 0:
        lease = agent.lease()
        assert lease["job"] == job["number"] and lease["length"] == 5
        first, _, last = lease["items"].partition("-")
        offsets = range(int(first), int(last or first) + 1)
        rows = [{"item": i, "duration_ms": 100 + i, "memory_bytes": 4096} for i in offsets]
        ok = f"{offsets[0]}-{offsets[-1]}" if len(offsets) > 1 else str(offsets[0])
        sent = {"ok": ok, "report": report(rows)}
        if 4 in offsets:  # the last item fails
            rows[-1]["cause"] = 1
            good = offsets[:-1]
            runs = f"{good[0]}-{good[-1]}" if len(good) else ""
            sent = {"ok": runs, "failed": "4", "report": report(rows)}
        agent.settle(lease, **sent)
        left -= len(offsets)
    measured = [{"job": job["number"], "items": 5, "run_ms": 510}]
    assert agent.sync(measured=measured) == {
        "leases": [],
        "gone": [],
        "refused": [],
        "draining": False,
    }
    client.state_is(job, "finished")
    assert client.counts(job) == {
        "total": 5,
        "succeeded": 4,
        "failed": 1,
        "running": 0,
        "waiting": 0,
        "cancelled": 0,
    }
    failed = client.ok("GET", f"{path}/items?state=failed")
    assert failed == {"items": [{"item": 4, "state": "failed", "text": "scène 4"}]}

    stats = client.ok("GET", f"{path}/stats")
    assert stats["outcomes"] == {"succeeded": 4, "failed": 1, "lost": 0, "timeout": 0, "total": 5}
    assert stats["duration_ms"]["count"] == 5 and stats["duration_ms"]["max"] == 104
    assert 96 <= stats["duration_ms"]["p50"] <= 104
    assert sum(bucket["count"] for bucket in stats["duration_ms"]["buckets"]) == 5
    assert stats["slowest"][0] == {"item": 4, "duration_ms": 104}
    assert len(stats["largest"]) == 5 and stats["unreadable"] == 0

    assert client.ok("POST", f"{path}/retry", {"failed": True}) == {"items": 1, "round": 1}
    assert client.ok("POST", f"{path}/retry", {"items": [0, 1]}) == {"items": 2, "round": 2}
    lease = agent.lease()
    assert lease["round"] >= 1


def test_jobs_and_items_come_in_pages(client):
    for i in range(5):
        client.submit([f"{i}"], name=f"job{i}")
    page = client.ok("GET", "/v1/jobs?limit=2")
    seen = [job["name"] for job in page["jobs"]]
    while "next" in page:
        page = client.ok("GET", f"/v1/jobs?limit=2&before={page['next']}")
        seen += [job["name"] for job in page["jobs"]]
    assert seen == ["job4", "job3", "job2", "job1", "job0"]
    assert len(client.ok("GET", "/v1/jobs?state=active")["jobs"]) == 5
    assert client.ok("GET", "/v1/jobs?state=paused") == {"jobs": []}

    texts = [f"item {i}" for i in range(250)]
    path = f"/v1/jobs/{client.submit(texts)['id']}/items"
    page = client.ok("GET", path)
    assert len(page["items"]) == 100
    found = page["items"]
    while "next" in page:
        page = client.ok("GET", f"{path}?limit=70&page={page['next']}&state=waiting")
        found += page["items"]
    assert [item["text"] for item in found] == texts
    assert [item["item"] for item in found] == list(range(250))


def test_chunks_are_fetched_as_they_are_stored(client):
    job = client.submit(["a", "b", "c"])
    answer = client.call("GET", f"/v1/jobs/{job['number']}/chunks/0/items")
    assert answer.body[:4] == b"\x28\xb5\x2f\xfd"
    assert "immutable" in answer.headers["cache-control"]
    assert (answer.headers["tidemill-first-item"], answer.headers["tidemill-length"]) == ("0", "3")

    job = client.ok("POST", "/v1/jobs", {"name": "numbers", "spec": {}})
    path = f"/v1/jobs/{job['id']}"
    assert client.ok("PUT", f"{path}/parts/0", {"range": 5000})["items"] == 5000
    client.ok("POST", f"{path}/seal", {"parts": 1})
    answer = client.call("GET", f"{path}/chunks/2/items")
    assert answer.status == 204
    assert answer.headers["tidemill-first-item"] == "4096"
    assert answer.headers["tidemill-length"] == "904"
    assert client.call("GET", f"{path}/chunks/3/items").status == 404
    assert client.ok("GET", f"{path}/items?limit=1")["items"][0]["text"] == ""


def test_a_job_is_paused_resumed_closed_and_cancelled(client):
    job = client.submit(["a", "b"], open=True)
    path = f"/v1/jobs/{job['id']}"
    assert client.ok("POST", f"{path}/pause")["state"] == "paused"
    assert client.ok("POST", f"{path}/resume", {})["state"] == "active"
    assert client.ok("PUT", f"{path}/parts/1", b"c", headers=TEXT)["items"] == 3
    assert client.ok("POST", f"{path}/close")["open"] is False
    assert client.call("PUT", f"{path}/parts/2", b"d", headers=TEXT).status == 409

    agent = Agent(client)
    agent.join()
    lease = agent.lease()
    assert client.ok("POST", f"{path}/cancel")["state"] in ("cancelling", "cancelled")
    client.state_is(job, "cancelled")
    assert agent.sync(leases=[lease["lease"]])["gone"] == [lease["lease"]]
    assert client.counts(job)["cancelled"] == 3
    for verb in ("pause", "resume"):
        assert client.call("POST", f"{path}/{verb}").status == 409
    assert client.call("POST", f"{path}/retry", {"failed": True}).status == 409


def test_a_job_is_found_by_its_whole_name_or_its_number(client):
    job = client.submit(["a"])
    number = job["number"]
    assert client.ok("GET", f"/v1/jobs/{number}")["id"] == job["id"]
    wrongs = [f"rendr-{number}", f"render-{number + 1}", f"render-0{number}", "render", "9" * 30]
    for wrong in wrongs:
        for verb, body in (("", None), ("/pause", None), ("/seal", {"parts": 1})):
            answer = client.call("POST" if verb else "GET", f"/v1/jobs/{wrong}{verb}", body)
            assert answer.status == 404, wrong
    assert client.ok("GET", f"/v1/jobs/{job['id']}")["state"] == "active"


def test_items_come_with_their_outcomes(client):
    agent = Agent(client, cpus=3)
    agent.join()
    job = client.submit(["a", "b", "c"], spec={"retries": 1})
    path = f"/v1/jobs/{job['id']}"
    lease = agent.lease()
    assert lease["items"] == "0-2"
    rows = [
        {"item": 0, "duration_ms": 2000, "cpu_ms": 3000, "memory_bytes": 4096},
        {"item": 1, "cause": 3, "duration_ms": 1000, "cpu_ms": 10},
        {"item": 2, "duration_ms": 5},
    ]
    # Of the third item nothing was settled: what is said of it is not believed.
    agent.settle(lease, ok="0", failed="1", back="2", report=report(rows))
    items = client.ok("GET", f"{path}/items?outcomes=true")["items"]
    assert [item["state"] for item in items] == ["succeeded", "waiting", "waiting"]
    assert [item.get("attempts") for item in items] == [1, 1, None]
    assert items[0]["outcome"]["cause"] == "succeeded"
    assert items[0]["outcome"]["cpu_ms"] == 3000
    assert items[1]["outcome"]["cause"] == "timeout"
    assert "outcome" not in items[2]
    assert "outcome" not in client.ok("GET", f"{path}/items")["items"][0]
    assert client.call("GET", f"{path}/items?outcomes=yes").status == 400

    # Nothing is rolled up yet, but the attempts show.
    stats = client.ok("GET", f"{path}/stats")
    assert stats["attempts"] == {"succeeded": 1, "failed": 0, "lost": 0, "timeout": 1, "total": 2}
    assert stats["cpu_millis"]["count"] == 2 and stats["cpu_millis"]["max"] == 1500
    assert stats["partial"] is False


def test_jobs_are_listed_with_their_counts(client):
    first = client.submit(["a", "b"])
    second = client.submit(["c"])
    client.ok("POST", f"/v1/jobs/{second['id']}/cancel")
    client.state_is(second, "cancelled")
    for _ in range(2):
        jobs = client.ok("GET", "/v1/jobs?counts=true")["jobs"]
        assert [job["id"] for job in jobs] == [second["id"], first["id"]]
        assert jobs[0]["counts"] == client.counts(second)
        assert jobs[0]["counts"]["cancelled"] == 1
        assert jobs[1]["counts"]["waiting"] == 2
    assert "counts" not in client.ok("GET", "/v1/jobs")["jobs"][0]
    page = client.ok("GET", "/v1/jobs?counts=true&limit=1")
    assert page["next"] == str(second["number"])


def test_machines_are_listed_with_what_they_do(client):
    agents = [Agent(client) for _ in range(3)]
    for agent in agents:
        agent.join()
    job = client.submit([str(i) for i in range(100)])
    busy = min(agents, key=lambda agent: agent.session)
    lease = busy.lease()
    use = {"job": job["number"], "running": 2, "cpus": 1.5, "memory": 1 << 20}
    status = {"engine": "docker", "enforces": True, "jobs": [use]}
    busy.sync(leases=[lease["lease"]], free={"cpus": 0, "memory": 0}, status=status)
    page = client.ok("GET", "/v1/machines?limit=2")
    machines = page["machines"]
    while "next" in page:
        page = client.ok("GET", f"/v1/machines?limit=2&after={page['next']}")
        machines += page["machines"]
    assert [machine["session"] for machine in machines] == sorted(a.session for a in agents)
    first, last = re.match(r"(\d+)-?(\d*)", lease["items"]).groups()
    assert machines[0]["items"] == int(last or first) - int(first) + 1
    assert machines[0]["status"] == status
    assert machines[0]["resources"] == {"cpus": 4, "memory": 1 << 30}
    assert machines[0]["seen_at"] >= machines[0]["joined_at"]
    assert "status" not in machines[1] and machines[1]["items"] == 0
    busy.sync(leaving=True)
    assert len(client.ok("GET", "/v1/machines")["machines"]) == 2
    assert client.call("GET", "/v1/machines?after=x").status == 400


def test_a_job_that_an_agent_cannot_run_is_paused(client):
    job = client.submit(["a", "b", "c"])
    agent, stranger = Agent(client, cpus=1), Agent(client)
    agent.join()
    stranger.join()
    lease = agent.lease()
    nothing = {"cpus": 0, "memory": 0}
    trouble = {"job": job["number"], "reason": "no such image: a/b:3"}
    stranger.sync(troubles=[{**trouble, "reason": "a lie"}], free=nothing)
    back = {"lease": lease["lease"], "seq": 0, "back": lease["items"]}
    agent.sync(troubles=[trouble], settlements=[back], free=nothing)
    client.state_is(job, "paused")
    path = f"/v1/jobs/{job['id']}"
    assert client.ok("GET", path)["reason"] == "no such image: a/b:3"
    assert "reason" not in client.ok("POST", f"{path}/resume")
    assert "reason" not in client.ok("POST", f"{path}/pause")


def test_a_wait_ends_when_there_is_work(client):
    agent = Agent(client)
    agent.join()
    agent.sync()
    wait = f"/v1/agents/wait?session={agent.session}"
    assert client.ok("GET", f"{wait}&wait_ms=1") == {"sync": False}

    answers: List[Answer] = []
    waiting = threading.Thread(target=lambda: answers.append(client.call("GET", wait)))
    waiting.start()
    wait_until("the agent to wait", lambda: client.metric("tidemill_waiting_agents") == 1)
    client.submit(["a"])
    waiting.join(10)
    assert answers[0].json() == {"sync": True}


def test_a_wait_costs_nothing_once_its_client_has_gone(client):
    sessions = [str(uuid.uuid4()) for _ in range(20)]
    sockets = []
    for session in sessions:
        sockets.append(socket.create_connection(("127.0.0.1", client.server.port)))
        line = f"GET /v1/agents/wait?session={session} HTTP/1.1\r\nHost: a\r\n\r\n"
        sockets[-1].sendall(line.encode())
    waiting = "tidemill_waiting_agents"
    wait_until("all to wait", lambda: client.metric(waiting) == len(sessions))
    # One of them comes back over another connection before the first is closed: it must stay.
    again = socket.create_connection(("127.0.0.1", client.server.port))
    again.sendall(f"GET /v1/agents/wait?session={sessions[0]} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert sockets[0].recv(4096).endswith(b'{"sync":false}')
    for each in sockets:
        each.close()
    wait_until("one to be left", lambda: client.metric(waiting) == 1)
    wait_until("connections to close", lambda: client.metric("tidemill_http_connections") == 2)
    again.close()
    wait_until("none to be left", lambda: client.metric(waiting) == 0)


def test_a_drained_agent_gets_nothing_and_leaves(client):
    agent = Agent(client)
    agent.join()
    client.submit(["a", "b", "c"])
    lease = agent.lease()
    assert client.call("POST", f"/v1/agents/{agent.session}/drain").status == 204
    assert agent.join()["state"] == "draining"
    synced = agent.sync(leases=[lease["lease"]])
    assert synced["draining"] and synced["leases"] == []
    agent.settle(lease, back=lease["items"])
    assert agent.sync(leaving=True)["gone"] == []

    assert agent.call().status == 410
    assert client.call("POST", f"/v1/agents/{agent.session}/drain").status == 410
    request = {"version": 1, "session": agent.session, "machine": "m", "resources": agent.free()}
    assert client.call("POST", "/v1/agents/join", request).status == 410
    problem = Agent(client).call()
    assert problem.status == 410 and problem.json()["type"] == "/problems/lost"


def test_settlements_may_be_repeated_and_lies_are_refused(client):
    agent = Agent(client, cpus=1)
    agent.join()
    job = client.submit(["a", "b"])
    lease = agent.lease()
    # An agent that has forgotten its lease is told again.
    assert agent.sync()["leases"][0]["lease"] == lease["lease"]
    lie = {"lease": lease["lease"], "seq": 0, "ok": "2000"}
    refused = agent.sync(settlements=[lie], leases=[lease["lease"]])["refused"]
    assert [(each["lease"], each["seq"]) for each in refused] == [(lease["lease"], 0)]
    assert refused[0]["reason"]
    settlement = {"lease": lease["lease"], "seq": 1, "ok": lease["items"], "report": ""}
    for _ in range(3):
        agent.sync(settlements=[settlement], leases=[], free={"cpus": 0, "memory": 0})
    wait_until("it to count", lambda: client.counts(job)["succeeded"] == 1)
    unknown = str(uuid.uuid4())
    assert agent.sync(leases=[unknown], free={"cpus": 0, "memory": 0})["gone"] == [unknown]


def test_bad_requests_say_what_is_wrong_and_what_to_do(client):
    draft = client.ok("POST", "/v1/jobs", {"name": "draft", "spec": {}})
    wrong = []
    for status, method, path, body, named in BAD:
        path = path.replace("{job}", f"/v1/jobs/{draft['id']}")
        answer = client.call(method, path, body, JSON if isinstance(body, bytes) else None)
        problem = answer.json()
        good = answer.status == status and named in problem["detail"] and problem["next"]
        if not good:
            wrong.append(f"{method} {path} {str(body)[:60]}: {answer.status} {problem['detail']}")
    assert not wrong, "\n".join(wrong)
    assert len(BAD) >= 40


def test_bodies_of_the_wrong_type_or_size_are_refused(client):
    path = f"/v1/jobs/{client.ok('POST', '/v1/jobs', {'name': 'a', 'spec': {}})['id']}"
    posts = ["/v1/jobs", f"{path}/seal", f"{path}/retry", f"{path}/pause", "/v1/agents/join"]
    posts += [f"{path}/resume", f"{path}/cancel", f"{path}/close", "/v1/agents/sync"]
    for post in posts:
        for headers in ({}, TEXT, {"Content-Type": "application/jsonx"}):
            assert client.call("POST", post, b"{}", headers).status == 415
    put = f"{path}/parts/0"
    assert client.call("PUT", put, b"a", {"Content-Type": "text/csv"}).status == 415
    assert client.call("PUT", put, b"a", {}).status == 415
    assert client.call("PUT", put, b"a" * (8 * 1024 * 1024 + 1), TEXT).status == 413
    assert client.call("PUT", put, b"", TEXT).status == 400
    assert client.call("PUT", put, b"\xff\xfe\n", TEXT).status == 400
    assert client.call("PUT", put, b"a" * 70_000, TEXT).status == 400
    for charset in ("text/plain; charset=utf-8", "Text/Plain ;charset=utf-8"):
        assert client.call("PUT", put, b"a\n", {"Content-Type": charset}).status == 200

    # What HTTP itself refuses is a problem too.
    with socket.create_connection(("127.0.0.1", client.server.port)) as raw:
        head = f"PUT {put} HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n"
        raw.sendall(head.encode() + b"Content-Length: 100000000\r\n\r\n")
        answer = raw.makefile("rb").read()
    assert b" 413 " in answer.split(b"\r\n")[0] and b"/problems/too_large" in answer


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


def test_the_check_tells_whether_anything_was_lost(env):
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
    assert bad.returncode == 1 and len(bad.stdout.splitlines()) >= 1
    assert json.loads(run(env, "check", "--json").stdout)["conserved"] is False


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
        sockets.append(socket.create_connection(("127.0.0.1", server.port)))
        sockets[-1].sendall(f"{head}Content-Type: application/json\r\n\r\n{body}".encode())
    waiter = socket.create_connection(("127.0.0.1", server.port))
    waiter.sendall(
        f"GET /v1/agents/wait?session={agents[0].session} HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    )
    wait_until("the wait", lambda: client.metric("tidemill_waiting_agents") == 1)
    assert server.terminate(timeout_s=10) == 0
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
    assert server.terminate(timeout_s=2) == 128 + signal.SIGTERM
    env.sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%'"
        " and pid <> pg_backend_pid()"
    )
    for thread in threads:
        thread.join(10)


# What each operation must have been seen to answer, beyond at least one success.
SEEN = {
    "createJob": {"200", "201", "400", "409", "413", "415", "503"},
    "listJobs": {"200", "400"},
    "showJob": {"200", "400", "404"},
    "putPart": {"200", "400", "404", "409", "413", "415"},
    "sealJob": {"200", "400", "404", "409", "415"},
    "pauseJob": {"200", "400", "404", "409", "415"},
    "resumeJob": {"200", "404", "409", "415"},
    "closeJob": {"200", "404", "415"},
    "cancelJob": {"200", "404", "415"},
    "retryJob": {"200", "400", "404", "409", "415"},
    "listItems": {"200", "400", "404"},
    "showStats": {"200", "400", "404", "503"},
    "fetchChunk": {"200", "204", "400", "404"},
    "listMachines": {"200", "400"},
    "joinAgent": {"200", "400", "410", "415"},
    "syncAgent": {"200", "400", "410", "413", "415", "503"},
    "waitAgent": {"200", "400"},
    "drainAgent": {"204", "400", "410"},
    "health": {"200"},
    "metrics": {"200"},
}


def test_every_operation_of_the_document_was_seen(request):
    """Comes last: it looks at what the others have seen."""
    ran = {item.originalname for item in request.session.items if item.path == request.path}
    if not {name for name in globals() if name.startswith("test_")} <= ran:
        pytest.skip("only some of the tests were run")
    assert set(SEEN) == {each["operationId"] for each in CONTRACT.operations.values()}
    missing = {name: sorted(wanted - CONTRACT.seen[name]) for name, wanted in SEEN.items()}
    assert not {name: statuses for name, statuses in missing.items() if statuses}
