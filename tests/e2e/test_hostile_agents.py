# SPDX-License-Identifier: Apache-2.0
"""Agents that lie, one lie at a time, beside one that tells the truth."""

import subprocess
from typing import Any

import pytest
from api_client import Agent, Client
from conserved import outcomes
from env import Env, binaries, wait_until
from hostile_agents import NOTHING, Scene, all_lies, bombs, offsets

# All rows that mean something, without times. The audit and the uses of join tokens grow with each
# join that is tried, as they should.
TABLES = {
    "job": ("created_at", "touched_at"),
    "part": (),
    "chunk": (),
    "chunk_items": (),
    "agent_session": ("expires_at", "seen_at", "joined_at", "ended_at", "token_at"),
    "lease": ("granted_at",),
    "item_try": (),
    "report": (),
    "chunk_stat": (),
    "change": (),
    "project": ("created_at",),
    "pool": (),
    "token": ("created_at", "used_at"),
    "browser": (),
    "secret": ("updated_at",),
}
STATE = "select md5(string_agg(h, '' order by h)) from ({}) rows"
ROWS = "select md5('{0}' || (to_jsonb(t) - '{{{1}}}'::text[])::text) as h from {0} t"
MEMORY = 250 * 10**6


def state_of(env: Env) -> str:
    """One hash over all that must not change by a lie."""
    parts = [ROWS.format(table, ",".join(times)) for table, times in TABLES.items()]
    return env.sql(STATE.format(" union all ".join(parts)))


def make_old(env: Env, agent: Agent) -> None:
    env.sql(
        "update agent_session set token_at = token_at - interval '31 minutes'"
        f" where session_id = '{agent.session}'"
    )


@pytest.fixture
def scene(env: Env) -> Scene:
    scene = Scene(Client(env.server("--session-seconds", "3600")))
    scene.turn_over(lambda agent: make_old(env, agent))
    return scene


def finish(scene: Scene) -> None:
    """The truthful agent does all that is left, a lease at a time."""
    scene.liar.sync(leaving=True, free=NOTHING)
    while True:
        sure = {"job": scene.job["number"], "items": len(offsets(scene.truth)), "run_ms": 1}
        settlement = {"lease": scene.truth["lease"], "seq": 1, "ok": scene.truth["items"]}
        scene.truthful.sync(settlements=[settlement], measured=[sure], free=NOTHING)
        leases = wait_until("work, or its end", lambda: next_of(scene))
        if leases == "finished":
            return
        scene.truth = leases[0]


def next_of(scene: Scene) -> Any:
    leases = scene.truthful.sync()["leases"]
    state = scene.client.ok("GET", f"/v1/jobs/{scene.job['id']}")["state"]
    return leases or (state if state == "finished" else None)


def check(env: Env) -> "subprocess.CompletedProcess[str]":
    command = [str(binaries() / "tidemill-server"), "check", "--database", env.conninfo]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True)


def test_no_lie_changes_anything(env, scene):
    lies = all_lies()
    assert len({lie.name for lie in lies}) == len(lies) >= 100
    server, wrong = scene.client.server, []
    before = state_of(env)
    for number, lie in enumerate(lies):
        told = lie.tell(scene)
        status = told if isinstance(told, int) else told.status
        after = state_of(env)
        if status not in lie.statuses:
            wrong.append(f"{lie.name}: {status}, not {lie.statuses}")
        if after != before:
            wrong.append(f"{lie.name}: {status}, and the state has changed")
        assert server.http.get("/healthz").status == 200, lie.name
        assert server.rss_bytes() < MEMORY, lie.name
        before = after
        if number % 4 == 0:
            scene.step()
            before = state_of(env)
    print(f"\n{len(lies)} lies, the server at {server.rss_bytes() / 2**20:.0f} MiB")
    assert not wrong, f"{len(wrong)} of {len(lies)}:\n" + "\n".join(wrong)

    finish(scene)
    counts = scene.client.counts(scene.job)
    assert (counts["succeeded"], counts["total"]) == (600, 600)
    assert outcomes(env) == 600
    assert check(env).returncode == 0
    assert "swordfish" not in server.log.read_text()
    # Of the others' work nothing was touched.
    assert scene.elsewhere.sync(leases=[scene.film_lease["lease"]], free=NOTHING)["gone"] == []
    for job, headers in ((scene.film, {"Tidemill-Project": "films"}), (scene.idle, {})):
        shown = scene.client.ok("GET", f"/v1/jobs/{job['id']}", headers=headers)
        assert (shown["state"], shown["counts"]["succeeded"]) == ("active", 0)


def test_reports_that_explode_do_no_harm(env, scene):
    """An agent is believed about items that it holds; what it adds may still be anything."""
    server = scene.client.server
    path = f"/v1/jobs/{scene.job['id']}"
    sent = 0
    for name, report in bombs().items():
        agent = Agent(scene.client, cpus=1)
        agent.join()
        lease = agent.lease()
        agent.settle(lease, ok=lease["items"], report=report)
        sent += len(offsets(lease))
        for target in (f"{path}/stats", f"{path}/items?outcomes=true&limit=1000"):
            assert scene.client.call("GET", target).status == 200, name
        assert server.rss_bytes() < MEMORY, name
        agent.sync(leaving=True, free=NOTHING)
    stats = scene.client.ok("GET", f"{path}/stats")
    # Nothing was said of the liar's first item, and of these nothing that can be read.
    assert stats["unreadable"] == sent + 1
    assert stats["duration_ms"]["count"] == 0
    finish(scene)
    wait_until(
        "the chunk to be rolled up", lambda: env.sql("select count(*) from chunk_stat") == "1"
    )
    # The items are done, though nobody can read how they went.
    assert scene.client.counts(scene.job)["succeeded"] == outcomes(env) == 600
    assert scene.client.ok("GET", f"{path}/stats")["unreadable"] == 600
    assert server.rss_bytes() < MEMORY
    assert check(env).returncode == 0
