# SPDX-License-Identifier: Apache-2.0
"""The API, call by call, against the real program; every answer is held against the document."""

import re
import socket
import subprocess
import sys
import threading
import uuid
from typing import List

import jsonschema
import pytest
from api_client import CONTRACT, JSON, NO_SESSION_TOKEN, TEXT, Agent, Client, bearer, report
from api_seen import SEEN
from bad_requests import BAD
from env import Answer, Env, answer_of, wait_until


@pytest.fixture
def client(env: Env) -> Client:
    return Client(env.server(*env.objects_flags))


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
    for (method, path), operation in CONTRACT.operations.items():
        needs, where = operation["x-tidemill-needs"], f"{method} {path}"
        agents = {"join-token", "session-token"}
        assert needs in {*agents, "none", "viewer", "submitter", "operator", "admin"} or (
            needs in {"server", "server-admin"}
        ), where
        security = operation.get("security", CONTRACT.document["security"])
        schemes = [name for each in security for name in each]
        assert set(schemes) <= set(CONTRACT.document["components"]["securitySchemes"])
        wanted = {"none": [], "session-token": ["sessionToken"]}
        wanted["join-token"] = ["joinToken", "sessionToken"]
        assert schemes == wanted.get(needs, ["apiToken", "cookie"]), where
        assert needs == "none" or "401" in operation["responses"], where


def counted(causes):
    """Those that are not zero."""
    return {cause: count for cause, count in causes.items() if count > 0}


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
    again = agent.join()
    assert again.pop("token") != joined.pop("token")
    assert again == joined

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
    nothing = {"leases": [], "gone": [], "refused": [], "draining": False}
    assert agent.sync(measured=measured) == nothing
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

    log = client.ok("GET", f"{path}/items/0/log?tail=5&follow=true")
    assert log["parts"] == [] and "attempt" not in log and log["state"] == "succeeded", log
    assert client.ok("GET", f"{path}/logs?grep=error&state=failed&limit=10")["hits"] == []
    stats = client.ok("GET", f"{path}/stats")
    assert counted(stats["outcomes"]) == {"succeeded": 4, "failed": 1, "total": 5}
    assert stats["duration_ms"]["count"] == 5 and stats["duration_ms"]["max"] == 104
    assert 96 <= stats["duration_ms"]["p50"] <= 104
    assert sum(bucket["count"] for bucket in stats["duration_ms"]["buckets"]) == 5
    assert stats["slowest"][0] == {"item": 4, "duration_ms": 104}
    assert len(stats["largest"]) == 5 and stats["unreadable"] == 0

    [group] = client.ok("GET", f"{path}/failures")["groups"]
    assert len(client.ok("GET", f"{path}/outcomes")["outcomes"]) == 5
    same = {"group": {"signature": group["signature"], "cause": group["cause"]}}
    assert client.ok("POST", f"{path}/retry", same) == {"items": 1, "round": 1}
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
    # Somebody else may sign in at the same browser; an agent keeps what never changes.
    assert answer.headers["cache-control"] == "no-store"
    agent = Agent(client)
    agent.join()
    agent.lease()
    answer = agent.fetch(f"/jobs/{job['number']}/chunks/0/items")
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


def test_an_agent_fetches_only_what_it_holds_a_lease_of(client):
    value = {"value": "aHVudGVyMg=="}
    assert client.call("PUT", "/v1/secrets/KEY", value).status == 204
    job = client.submit(["a", "b", "c"], spec={"secrets": ["KEY"]})
    agent = Agent(client)
    agent.join()
    paths = [f"/jobs/{job['number']}{rest}" for rest in ("", "/secrets", "/chunks/0/items")]
    pin = f"/v1/agents/{agent.session}/jobs/{job['number']}/pin"
    digest = {"digest": "sha256:" + "0" * 64}
    for path in [*paths, f"/jobs/{job['number']}/role", "/jobs/99"]:
        assert agent.fetch(path).status == 403
    assert client.call("POST", pin, digest, bearer(agent.token)).status == 403
    lease = agent.lease()
    assert client.call("POST", pin, digest, bearer(agent.token)).json() == digest
    assert agent.fetch(paths[0]).json()["id"] == job["id"]
    secrets = agent.fetch(paths[1])
    assert secrets.json() == {"secrets": {"KEY": value["value"]}}
    items = agent.fetch(paths[2])
    assert (items.headers["tidemill-first-item"], items.headers["tidemill-length"]) == ("0", "3")
    assert agent.fetch(f"/jobs/{job['number']}/chunks/1/items").status == 404
    agent.settle(lease, back=lease["items"])
    for path in paths:
        assert agent.fetch(path).status == 403

    numbers = client.ok("POST", "/v1/jobs", {"name": "numbers", "spec": {}})
    client.ok("PUT", f"/v1/jobs/{numbers['id']}/parts/0", {"range": 8})
    client.ok("POST", f"/v1/jobs/{job['id']}/cancel")
    client.ok("POST", f"/v1/jobs/{numbers['id']}/seal", {"parts": 1})
    held = wait_until(
        "its lease",
        lambda: [each for each in agent.sync()["leases"] if each["job"] == numbers["number"]],
    )
    assert held and agent.fetch(f"/jobs/{numbers['number']}/chunks/0/items").status == 204


def test_tokens_projects_pools_and_secrets_are_made_listed_and_ended(client):
    project = client.ok("PUT", "/v1/projects/films", {"items": 10})
    assert (project["name"], project["limits"]["items"]) == ("films", 10)
    assert project["limits"]["calls_per_second"] == 200
    assert client.ok("PUT", "/v1/projects/films")["limits"]["items"] == 10**9
    names = [each["name"] for each in client.ok("GET", "/v1/projects")["projects"]]
    assert names == ["default", "films"]
    page = client.ok("GET", "/v1/projects?limit=1")
    assert client.ok("GET", f"/v1/projects?after={page['next']}")["projects"][0]["name"] == "films"

    films = {"Tidemill-Project": "films"}
    policy = {"no_network": True, "firewall": True}
    pool = client.ok("PUT", "/v1/pools/gpu", {"policy": policy}, headers=films)
    assert {name for name, demanded in pool["policy"].items() if demanded} == set(policy)
    pools = client.ok("GET", "/v1/pools", headers=films)["pools"]
    assert [each["name"] for each in pools] == ["default", "gpu"]
    page = client.ok("GET", "/v1/pools?limit=1", headers=films)
    assert client.ok("GET", f"/v1/pools?after={page['next']}", headers=films)["pools"] == [pool]

    made = client.ok("POST", "/v1/tokens", {"name": "ci", "role": "submitter", "project": "films"})
    assert made["token"]["made_by"] == "test"
    life = made["token"]["expires_ms"] - made["token"]["created_ms"]
    assert abs(life - 90 * 86_400_000) < 10_000
    join = {"kind": "join", "name": "machines", "pool": "gpu", "uses": 2}
    joining = client.ok("POST", "/v1/tokens", join, headers=films)["token"]
    assert (joining["project"], joining["pool"], joining["uses_left"]) == ("films", "gpu", 2)
    assert abs(joining["expires_ms"] - joining["created_ms"] - 900_000) < 10_000
    me = client.ok("GET", "/v1/whoami", headers=bearer(made["secret"]))
    assert me == {
        "token": made["token"]["id"],
        "name": "ci",
        "project": "films",
        "role": "submitter",
    }
    listed = client.ok("GET", "/v1/tokens", headers=films)["tokens"]
    assert {each["id"] for each in listed} == {made["token"]["id"], joining["id"]}
    page = client.ok("GET", "/v1/tokens?limit=1", headers=films)
    rest = client.ok("GET", f"/v1/tokens?after={page['next']}", headers=films)["tokens"]
    assert sorted(each["id"] for each in [*page["tokens"], *rest]) == sorted(
        each["id"] for each in listed
    )
    # Those of all projects, and those for all: the two that the test itself began with.
    assert len(client.ok("GET", "/v1/tokens")["tokens"]) == 4
    revoked = client.ok("DELETE", f"/v1/tokens/{made['token']['id']}")
    assert revoked["revoked_ms"] > 0
    assert client.ok("DELETE", f"/v1/tokens/{made['token']['id']}") == revoked

    assert client.call("PUT", "/v1/secrets/KEY", {"value": "eA=="}, films).status == 204
    (secret,) = client.ok("GET", "/v1/secrets", headers=films)["secrets"]
    assert (secret["name"], secret["updated_by"]) == ("KEY", "test")
    assert client.ok("GET", "/v1/secrets") == {"secrets": []}
    assert client.call("DELETE", "/v1/secrets/KEY", headers=films).status == 204
    assert client.call("DELETE", "/v1/secrets/KEY", headers=films).status == 404

    rows = client.ok("GET", "/v1/audit", headers=films)["audit"]
    assert [row["action"] for row in rows] == [
        "DELETE /v1/secrets/{secret}",
        "DELETE /v1/secrets/{secret}",
        "PUT /v1/secrets/{secret}",
        "POST /v1/tokens",
        "PUT /v1/pools/{pool}",
    ]
    assert [row["target"] for row in rows] == ["KEY", "KEY", "KEY", "", "gpu"]
    page = client.ok("GET", "/v1/audit?limit=3", headers=films)
    before = client.ok("GET", f"/v1/audit?before={page['next']}", headers=films)["audit"]
    assert page["audit"] + before == rows
    # An admin for all projects who names none sees all.
    assert len(client.ok("GET", "/v1/audit")["audit"]) > len(rows)


def test_a_browser_signs_in_and_out(client):
    page = {"Tidemill-Request": "1"}
    login = {"token": client.server.token}
    given = client.call("POST", "/v1/login", login, page)
    assert given.status == 200 and given.json()["role"] == "admin"
    cookie = {"Cookie": given.headers["set-cookie"].partition(";")[0]}
    assert client.ok("GET", "/v1/whoami", headers=cookie) == given.json()
    for wrong in ({"token": "x"}, {"token": cookie["Cookie"].partition("=")[2]}):
        assert client.call("POST", "/v1/login", wrong, page).status == 401
    for wrong in ({}, {"token": 1}, {"token": ""}, {"token": "t" * 201}, {"tokn": "t"}):
        assert client.call("POST", "/v1/login", wrong, page).status == 400
    assert client.call("POST", "/v1/logout", headers={**cookie, **page}).status == 204
    assert client.call("GET", "/v1/whoami", headers=cookie).status == 401


def test_a_job_is_paused_resumed_closed_and_cancelled(client):
    job = client.submit(["a", "b"], open=True)
    path = f"/v1/jobs/{job['id']}"
    assert client.ok("POST", f"{path}/pause")["state"] == "paused"
    assert client.ok("POST", f"{path}/resume", {})["state"] == "active"
    assert client.ok("PUT", f"{path}/parts/1", b"c", headers=TEXT)["items"] == 3
    entries = {"items": [{"item": "d", "once": "d#1"}, {"item": "e", "once": "e#1"}]}
    added = client.ok("POST", f"{path}/items", entries)
    assert (added["first"], added["added"], added["known"], added["items"]) == (3, 2, 0, 5)
    again = client.ok("POST", f"{path}/items", entries)
    assert (again["first"], again["added"], again["known"], again["items"]) == (None, 0, 2, 5)
    for _ in range(2):
        keyed = client.ok("POST", f"{path}/items?key=k%201", b"f\n", headers=TEXT)
        assert (keyed["first"], keyed["added"], keyed["known"], keyed["items"]) == (5, 1, 0, 6)
    assert client.call("POST", f"{path}/items?key=k%201", b"g\n", headers=TEXT).status == 409
    assert client.call("POST", f"{path}/items?key=", b"g\n", headers=TEXT).status == 400
    assert client.call("POST", f"{path}/items?key={'k' * 201}", b"g\n", headers=TEXT).status == 400
    assert client.ok("POST", f"{path}/close")["open"] is False
    assert client.call("PUT", f"{path}/parts/2", b"d", headers=TEXT).status == 409
    assert client.call("POST", f"{path}/items", b"d", headers=TEXT).status == 409

    agent = Agent(client)
    agent.join()
    lease = agent.lease()
    assert client.ok("POST", f"{path}/cancel")["state"] in ("cancelling", "cancelled")
    client.state_is(job, "cancelled")
    assert agent.sync(leases=[lease["lease"]])["gone"] == [lease["lease"]]
    assert client.counts(job)["cancelled"] == 6
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
    assert counted(stats["attempts"]) == {"succeeded": 1, "timeout": 1, "total": 2}
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
    assert client.ok("GET", f"/v1/jobs/{job['id']}")["state"] == "active"
    # One machine may be at fault itself; if it is the only one, its word is enough.
    stranger.sync(leaving=True)
    back = {"lease": lease["lease"], "seq": 0, "back": lease["items"]}
    agent.sync(troubles=[trouble], settlements=[back], free=nothing)
    client.state_is(job, "paused")
    path = f"/v1/jobs/{job['id']}"
    assert client.ok("GET", path)["reason"] == "no such image: a/b:3 (one machine says so)"
    assert "reason" not in client.ok("POST", f"{path}/resume")
    assert "reason" not in client.ok("POST", f"{path}/pause")


def test_a_wait_ends_when_there_is_work(client):
    agent = Agent(client)
    agent.join()
    agent.sync()
    wait = f"/v1/agents/wait?session={agent.session}"
    headers = bearer(agent.token)
    assert client.ok("GET", f"{wait}&wait_ms=1", headers=headers) == {"sync": False}
    assert client.call("GET", wait).status == 401

    answers: List[Answer] = []
    waiting = threading.Thread(
        target=lambda: answers.append(client.call("GET", wait, headers=headers))
    )
    waiting.start()
    wait_until("the agent to wait", lambda: client.metric("tidemill_waiting_agents") == 1)
    client.submit(["a"])
    waiting.join(60)
    assert answers[0].json() == {"sync": True}


def test_a_wait_costs_nothing_once_its_client_has_gone(client):
    agents = [Agent(client) for _ in range(20)]
    sockets = []
    for agent in agents:
        agent.join()
        sockets.append(socket.create_connection(("127.0.0.1", client.server.port)))
        sockets[-1].sendall(agent.wait_request())
    waiting = "tidemill_waiting_agents"
    wait_until("all to wait", lambda: client.metric(waiting) == len(agents))
    # One of them comes back over another connection before the first is closed: it must stay.
    again = socket.create_connection(("127.0.0.1", client.server.port))
    again.sendall(agents[0].wait_request())
    assert answer_of(sockets[0]).endswith(b'{"sync":false}')
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
    assert client.call("POST", f"/v1/machines/{agent.session}/drain").status == 204
    assert agent.join()["state"] == "draining"
    synced = agent.sync(leases=[lease["lease"]])
    assert synced["draining"] and synced["leases"] == []
    agent.settle(lease, back=lease["items"])
    assert agent.sync(leaving=True)["gone"] == []

    assert agent.call().status == 410
    assert client.call("POST", f"/v1/machines/{agent.session}/drain").status == 404
    for token in (client.server.join_token, agent.token):
        assert agent.try_join(token).status == 410
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
        headers = dict(JSON) if isinstance(body, bytes) else {}
        if path == "/v1/agents/join":
            headers.update(bearer(client.server.join_token))
        elif path.startswith("/v1/agents/"):
            headers.update(bearer(NO_SESSION_TOKEN))
        answer = client.call(method, path, body, headers)
        problem = answer.json()
        good = answer.status == status and named in problem["detail"] and problem["next"]
        if not good:
            wrong.append(f"{method} {path} {str(body)[:60]}: {answer.status} {problem['detail']}")
    assert not wrong, "\n".join(wrong)
    assert len(BAD) >= 150


def test_bodies_of_the_wrong_type_or_size_are_refused(client):
    path = f"/v1/jobs/{client.ok('POST', '/v1/jobs', {'name': 'a', 'spec': {}})['id']}"
    posts = ["/v1/jobs", f"{path}/seal", f"{path}/retry", f"{path}/pause", "/v1/agents/join"]
    posts += [f"{path}/resume", f"{path}/cancel", f"{path}/close", "/v1/agents/sync"]
    posts += ["/v1/tokens", "/v1/logout", "/v1/login", f"/v1/machines/{uuid.uuid4()}/drain"]
    puts = ["/v1/projects/p", "/v1/pools/p", "/v1/pools/p/machines", "/v1/secrets/s"]
    puts += ["/v1/queues/q", "/v1/specs/s", "/v1/projects/p/cloud-roles"]
    pin = f"/v1/agents/{uuid.uuid4()}/jobs/1/pin"
    refusal = f"/v1/agents/{uuid.uuid4()}/streams/{uuid.uuid4()}/refusal"
    posts += [pin, "/v1/pools/p/forgive", f"{path}/items/0/shell", refusal]
    tokens = {"/v1/agents/join": client.server.join_token, "/v1/agents/sync": NO_SESSION_TOKEN}
    tokens[pin] = tokens[refusal] = NO_SESSION_TOKEN
    for method, target in [*(("POST", post) for post in posts), *(("PUT", put) for put in puts)]:
        shown = bearer(tokens.get(target, client.server.token))
        for headers in ({}, TEXT, {"Content-Type": "application/jsonx"}):
            assert client.call(method, target, b"{}", {**shown, **headers}).status == 415
        large = b" " * (300_000 if target != "/v1/agents/sync" else 4_300_000)
        assert client.call(method, target, large, {**shown, **JSON}).status == 413
    items = f"{path}/items"
    assert client.call("POST", items, b"a", {"Content-Type": "text/csv"}).status == 415
    for headers in (TEXT, JSON):
        assert client.call("POST", items, b"a" * (8 * 1024 * 1024 + 1), headers).status == 413
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


def test_every_operation_of_the_document_has_its_row():
    assert set(SEEN) == {each["operationId"] for each in CONTRACT.operations.values()}


def test_every_operation_of_the_document_was_seen(request):
    """Comes last: it looks at what the others have seen, and runs them if only some were run."""
    ran = {item.originalname for item in request.session.items if item.path == request.path}
    if not {name for name in globals() if name.startswith("test_")} <= ran:
        whole = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(request.path)]
        done = subprocess.run(whole, capture_output=True, text=True, timeout=900, check=False)
        assert done.returncode == 0, done.stdout
    else:
        assert not {name for name, wanted in SEEN.items() if wanted - CONTRACT.seen[name]}
