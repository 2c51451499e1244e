# SPDX-License-Identifier: Apache-2.0
"""Hostile items of a real agent: none gets out of its container, and none reaches metadata."""

import json
import os

import pytest
import test_images
import test_network
from agents import Agent, submit
from env import wait_until, whole_lines
from load import wait_for_end

PROBE = {
    "image": "tidemill-test/probe",
    "resources": {"cpus": 1, "memory": "128MiB"},
    "retries": 0,
}


@pytest.fixture
def cloud(tmp_path):
    around = test_network.Cloud(tmp_path)
    around.start()
    yield around
    around.close()


@pytest.fixture
def agent(env, docker):
    started = Agent(env.folder, "m1", [env.server()], "--cpus", "2", docker=docker.socket)
    yield started.start()
    started.kill9()


def said(agent):
    """All that items have written."""
    return agent.written().decode(errors="replace")


def gateway(docker):
    text = test_images.call(docker.socket, "GET", "/networks/tidemill")
    return json.loads(text)["IPAM"]["Config"][0]["Gateway"]


def test_no_item_gets_out_and_none_reaches_metadata(env, docker, agent, cloud):
    http = env.servers[-1].http
    canary = env.folder / "canary"
    canary.write_text("unharmed")
    bait = {
        "PROBE_CANARY": str(canary),
        "PROBE_DOCKER": docker.socket,
        "PROBE_PID": str(os.getpid()),
        "PROBE_SHM": "12345",
        "PROBE_ABSTRACT": "nobody",
    }
    out = {**PROBE, "entrypoint": ["/probe", "escape"], "env": bait}
    asks = {**PROBE, "entrypoint": ["/probe", "metadata", gateway(docker)]}
    reaches = {**PROBE, "entrypoint": ["/probe", "reach", f"tcp:{test_network.CLOUD}:80"]}
    for spec, exit_code in ((out, 0), (asks, 0), (reaches, 1)):
        job = submit(http, spec, 2, name=spec["entrypoint"][1])
        wait_for_end(http, job, 120)
        for item in http.get(f"/v1/jobs/{job}/items?outcomes=true").json()["items"]:
            assert item["outcome"]["exit"] == exit_code, said(agent)
    assert canary.read_text() == "unharmed"

    def found():
        return [json.loads(line) for line in whole_lines(cloud.hits)]

    # Who has a connection need not have been seen yet.
    through = f"tcp {test_network.CLOUD} 80"
    wait_until("both that got through", lambda: found().count(through) >= 2)
    hits = found()
    allowed = (f" {test_network.CLOUD} ", " 53")
    assert [hit for hit in hits if not any(part in f"{hit} " for part in allowed)] == []
    assert agent.events("agent.ready")
    wait_until("containers to be looked at", lambda: docker.watchers[-1].seen >= 3)
