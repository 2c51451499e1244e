# SPDX-License-Identifier: Apache-2.0
"""An agent and a Docker Engine on a machine of its own, with version 2 of control groups and a
power button: a guest of qemu."""

import shutil

import pytest
from agents import submit
from env import binaries, wait_until
from guest import Guest, with_libraries
from load import items_of, wait_for_end

ENGINE = ["dockerd", "containerd", "containerd-shim-runc-v2", "runc"]
SCRIPT = """
export PATH=/bin:/usr/bin:/usr/sbin:/sbin HOME=/root DOCKER_RAMDISK=true
mkdir -p /var/lib/docker /etc/docker /state
mount -t tmpfs none /var/lib/docker
# An Engine gives up if its containerd does not answer within some seconds, which happens on a guest
# that is emulated beside other tests.
containerd > /tmp/containerd.log 2>&1 &
until [ -S /run/containerd/containerd.sock ]; do sleep 0.1; done
while :; do
  dockerd --storage-driver vfs --iptables=false --ip6tables=false --bridge=none \\
    --containerd /run/containerd/containerd.sock --host unix:///run/docker.sock
  sleep 1
done > /tmp/dockerd.log 2>&1 &
n=0; until [ -S /run/docker.sock ] || [ $n -gt 900 ]; do sleep 0.1; n=$((n+1)); done
tidemill-agent --state /state --server http://127.0.0.1:8080 --join-token-file /join.token \\
  --engine docker --docker-socket /run/docker.sock --machine guest --cpus 2 --memory 1GiB
tail -30 /tmp/dockerd.log
"""


@pytest.fixture
def guest(env, registry):
    server = env.server()
    # Its kernel has no bridges here.
    policy = {"policy": {"no_network": True}}
    assert server.http.request("PUT", "/v1/pools/default?project=default", policy).status == 200
    files = {"join.token": server.join_file}
    for program in ENGINE:
        files.update(with_libraries(str(shutil.which(program))))
    for program in ("tidemill-agent", "tidemill-init"):
        files[f"bin/{program}"] = binaries() / program
    ports = {8080: server.port, registry.port: registry.port}
    with Guest(env.folder, SCRIPT, files, ports) as machine:
        yield machine


def test_out_of_memory_is_told_apart_there_too(env, docker, registry, guest):
    image = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/sh")
    http = env.servers[-1].http

    def joined():
        guest.must_run()
        return http.get("/v1/machines").json()["machines"]

    wait_until("the guest to join", joined, 900)
    scripts = [
        "busybox tail /dev/zero",
        "busybox tail /dev/zero || exit 9",
        "busybox tail /dev/zero; exit 0",
        "kill -9 $$",
        "exit 0",
    ]
    spec = {
        "image": image,
        "command": ["sh", "-c", "{item}"],
        "resources": {"cpus": 1, "memory": "64MiB"},
    }
    job = submit(http, spec, scripts)
    wait_for_end(http, job, 900)
    told = [(each["outcome"]["cause"], each["outcome"]["exit"]) for each in items_of(http, job)]
    assert told == [
        ("out-of-memory", 137),
        ("out-of-memory", 9),
        ("succeeded", 0),
        ("failed", 137),
        ("succeeded", 0),
    ]
    assert all(each["outcome"]["machine"] == "guest" for each in items_of(http, job))
    goes_in_good_order_when_its_button_is_pressed(http, guest, spec)


def goes_in_good_order_when_its_button_is_pressed(http, guest, spec):
    """As Google ends a machine that it takes back: an ACPI event, and 30 seconds."""
    job = submit(http, {**spec, "retries": 0}, ["sleep 600"] * 6)
    wait_until(
        "two to run", lambda: http.get(f"/v1/jobs/{job}").json()["counts"]["running"] >= 2, 900
    )
    wait_until("both to have begun", lambda: progress(http) == 2, 900)
    guest.press_power_button()
    # A cloud gives 30 seconds to a machine that is not emulated beside other tests.
    lines = guest.wait(300)
    assert "guest: button" in lines
    # What is shown may be a second old.
    wait_until("all to wait", lambda: http.get(f"/v1/jobs/{job}").json()["counts"]["waiting"] == 6)
    assert http.get("/v1/machines").json()["machines"] == []
    attempts = http.get(f"/v1/jobs/{job}/stats").json()["attempts"]
    assert attempts["interrupted"] == 2 and attempts["total"] == 2, attempts


def progress(http):
    """Items that run on the guest, as it says itself."""
    machines = http.get("/v1/machines").json()["machines"]
    jobs = [job for each in machines for job in each.get("status", {}).get("jobs", [])]
    return sum(job["running"] for job in jobs)
