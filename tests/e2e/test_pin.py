# SPDX-License-Identifier: Apache-2.0
"""An image is what its tag stood for when the job was submitted, however it moves."""

import base64
import concurrent.futures
import hashlib
import json
import time

import pytest
from agents import submit
from api_client import Agent, Client, bearer
from cli import Cli
from env import Http, free_port, wait_until
from hostile_registry import DIGEST, FOUND, HOSTILE, says, serving, silent
from load import wait_for_end
from registry import LOGIN, Registry

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
# A registry has five seconds; that of a test would take two minutes.
SUBMIT_S = 60.0


def put_image(registry, name, text, tag="latest", login="", env=()):
    """An image of no layers; gives its digest."""
    who = {"Authorization": "Basic " + base64.b64encode(login.encode()).decode()} if login else {}
    http = Http(registry.port)
    inner = {"Labels": {"is": text}, "Env": list(env)}
    config = json.dumps({"os": "linux", "config": inner}).encode()
    blob = "sha256:" + hashlib.sha256(config).hexdigest()
    place = http.post(f"/v2/{name}/blobs/uploads/", headers=who).headers["location"]
    place = place.removeprefix(f"http://{registry.host}")
    answer = http.request("PUT", f"{place}&digest={blob}", config, who)
    assert answer.status == 201, answer
    described = {"mediaType": CONFIG, "digest": blob, "size": len(config)}
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": described, "layers": []}
    body = json.dumps(manifest).encode()
    target = f"/v2/{name}/manifests/{tag}"
    answer = http.request("PUT", target, body, {"Content-Type": MANIFEST, **who})
    assert answer.status == 201, answer
    return "sha256:" + hashlib.sha256(body).hexdigest()


def make(client, image, spec=None, **more):
    spec = {"image": image, **(spec or {})}
    return client.ok("POST", "/v1/jobs", {"name": "test", "spec": spec, **more})


def test_a_tag_that_moves_does_not_move_a_job(env, registry):
    client = Client(env.server("--registry", registry.host))
    image = f"{registry.host}/tools/sh:3"
    first = put_image(registry, "tools/sh", "first", "3")
    job = make(client, image, key="k")
    assert job["image_digest"] == first and "image_note" not in job
    second = put_image(registry, "tools/sh", "second", "3")
    assert first != second
    # The same job, whatever its tag stands for by now; and another one, which is new.
    assert make(client, image, key="k")["image_digest"] == first
    assert client.ok("GET", f"/v1/jobs/{job['id']}")["image_digest"] == first
    assert make(client, image)["image_digest"] == second
    registry.kill9()
    assert make(client, image, key="k")["image_digest"] == first


@pytest.mark.parametrize("listed", [True, False])
def test_all_machines_run_what_the_tag_stood_for(env, docker, fleet, registry, listed):
    """At submit if the server may ask; otherwise when the first machine pulled it."""
    server = env.server(*(["--registry", registry.host] if listed else []))
    image = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/sh")
    spec = {"image": image, "command": ["sh", "-c", "sleep 3"], "retries": 0}
    spec["resources"] = {"cpus": 1, "memory": "64MiB"}
    job = submit(server.http, spec, 12)
    path = f"/v1/jobs/{job}"
    assert ("image_digest" in server.http.get(path).json()) == listed
    if not listed:
        fleet("m0", "--cpus", "1")
        wait_until("a pin", lambda: "image_digest" in server.http.get(path).json(), 60)
    digest = server.http.get(path).json()["image_digest"]
    # From now on the tag is an image without a shell.
    registry.push(docker.socket, "tidemill-test/scratch", "tools/sh")
    for name in ("m1", "m2"):
        fleet(name, "--cpus", "1")
    shown = wait_for_end(server.http, job, 120)
    assert shown["counts"]["succeeded"] == 12 and shown["image_digest"] == digest, shown
    machines = {
        item["outcome"]["machine"]
        for item in server.http.get(f"{path}/items?outcomes=true").json()["items"]
    }
    assert {"m1", "m2"} <= machines, machines
    if listed:
        another = submit(server.http, spec, 1)
        assert server.http.get(f"/v1/jobs/{another}").json()["image_digest"] != digest


def test_an_agent_is_told_what_it_runs_and_people_see_it(env, registry):
    server = env.server("--registry", registry.host)
    client, cli = Client(server), Cli(env.folder, server)
    digest = put_image(registry, "tools/sh", "first")
    job = submit(server.http, {"image": f"{registry.host}/tools/sh"})
    agent = Agent(client)
    agent.join()
    lease = agent.lease()
    assert agent.fetch(f"/jobs/{lease['job']}").json()["image_digest"] == digest
    shown = cli("show", job)
    assert f"{registry.host}/tools/sh ({digest[:19]})" in shown.out, shown


def test_a_digest_in_the_spec_is_believed_and_nobody_is_asked(env):
    asked = []

    def listen(peer):
        asked.append(peer.recv(1))

    with serving(listen) as host:
        client = Client(env.server("--registry", host))
        for image in (f"{host}/a@{DIGEST}", f"{host}/a:3@{DIGEST}"):
            job = make(client, image)
            assert job["image_digest"] == DIGEST and "image_note" not in job
        # Nor is it for a job without an image.
        job = client.ok("POST", "/v1/jobs", {"name": "test", "spec": {}})
        assert "image_digest" not in job and "image_note" not in job
    assert not asked


def test_a_registry_that_is_away_leaves_the_job_unpinned_and_says_so(env):
    host = f"127.0.0.1:{free_port()}"
    server = env.server("--registry", host)
    cli = Cli(env.folder, server)
    (env.folder / "a.yaml").write_text(f"name: a\nimage: {host}/a:3\n")
    said = cli("submit", "a.yaml")
    assert said.code == 0, said
    assert f"The image is not pinned yet: {host} cannot be asked: connect: " in said.out, said
    shown = Client(server).ok("GET", "/v1/jobs/a-1")
    assert shown["state"] == "active" and "image_digest" not in shown
    assert "image_note" not in shown


def test_an_image_that_is_not_there_is_told_at_once(env, registry):
    client = Client(env.server("--registry", registry.host))
    job = make(client, f"{registry.host}/not/there:3")
    assert "image_digest" not in job
    assert job["image_note"].startswith(f"{registry.host} has no such image"), job


def test_a_login_is_shown_to_a_registry_that_wants_one(env):
    registry = Registry(env.folder, wants_login=True).start()
    try:
        server = env.server("--registry", registry.host)
        client = Client(server)
        digest = put_image(registry, "tools/sh", "first", login=LOGIN)
        image = f"{registry.host}/tools/sh"
        for name, value in (("right", LOGIN), ("wrong", LOGIN + "x"), ("odd", "no colon")):
            body = {"value": base64.b64encode(value.encode()).decode()}
            assert client.call("PUT", f"/v1/secrets/{name}", body).status == 204
        assert make(client, image, {"image_login": "right"})["image_digest"] == digest
        notes = {
            name: make(client, image, {"image_login": name} if name else {})["image_note"]
            for name in ("", "wrong", "odd", "absent")
        }
        assert notes[""].startswith(f"{registry.host} wants a login; image_login names"), notes
        assert notes["wrong"].startswith(f"{registry.host} refuses this login"), notes
        assert notes["odd"] == "a registry's login must be USER:PASSWORD", notes
        assert "secret 'absent' does not exist in this project" in notes["absent"], notes
        password = LOGIN.partition(":")[2]
        assert password not in server.log.read_text() and password not in str(notes)
    finally:
        registry.kill9()


def test_a_registry_that_nobody_lets_the_server_ask_is_not_mentioned(env):
    asked = []

    def listen(peer):
        asked.append(peer.recv(1))

    with serving(listen) as host:
        listed = Client(env.server())
        public = Client(env.server("--registry-lookups", "public"))
        port = host.rpartition(":")[2]
        # This machine by all its names: none of them is a public address.
        names = ("127.0.0.1", "localhost", "127.1", "2130706433", "0177.0.0.1", "0x7f.0.0.1")
        for client in (listed, public):
            for name in names:
                job = make(client, f"{name}:{port}/a:3")
                assert "image_digest" not in job and "image_note" not in job, (name, job)
    assert not asked


@pytest.mark.parametrize("how", HOSTILE)
def test_a_hostile_registry_costs_a_submit_a_few_seconds_at_most(env, how):
    with serving(HOSTILE[how]) as host:
        client = Client(env.server("--registry", host))
        began = time.monotonic()
        job = make(client, f"{host}/a:3")
        assert time.monotonic() - began < SUBMIT_S
        assert job["state"] == "draft" and "image_digest" not in job
        assert host in job["image_note"]


def test_others_go_on_while_registries_hang(env):
    found = says(FOUND + f"Docker-Content-Digest: {DIGEST}\r\nContent-Length: 0\r\n\r\n")
    with serving(silent) as slow, serving(found) as quick:
        server = env.server("--registry", slow, "--registry", quick)
        client = Client(server)
        with concurrent.futures.ThreadPoolExecutor(100) as threads:
            # More than may be under way at once.
            hanging = [threads.submit(make, client, f"{slow}/a:{n}") for n in range(80)]
            refused = 80 - 64
            wait_until("them", lambda: sum(each.done() for each in hanging) >= refused)
            client.ok("GET", "/v1/jobs")
            jobs = [make(client, f"{quick}/a:3") for _ in range(3)]
            assert not all(each.done() for each in hanging)
            notes = [each.result()["image_note"] for each in hanging]
        assert sum("too many registries are being asked" in note for note in notes) >= refused
        assert all("too many" in note or "in time" in note for note in notes), notes
        # Those that found no room were made without asking.
        assert all("image_note" in job for job in jobs)
        assert make(client, f"{quick}/a:3")["image_digest"] == DIGEST


def test_the_first_machine_that_pulls_pins_what_nobody_else_could(env):
    client = Client(env.server())
    job = client.submit(["a", "b"], spec={"image": "127.0.0.1:1/a:3", "retries": 0})
    agents = [Agent(client, cpus=1), Agent(client, cpus=1)]
    for agent in agents:
        agent.join()
    leases = [agent.lease() for agent in agents]
    other = "sha256:" + "cd" * 32

    def pin(agent, digest, number=leases[0]["job"]):
        target = f"/v1/agents/{agent.session}/jobs/{number}/pin"
        return client.call("POST", target, {"digest": digest}, headers=bearer(agent.token))

    assert "image_digest" not in client.ok("GET", f"/v1/jobs/{job['id']}")
    for bad in ("", "latest", DIGEST.upper(), DIGEST + "0", "sha512:12"):
        assert pin(agents[0], bad).status == 400
    assert pin(agents[0], DIGEST).json() == {"digest": DIGEST}
    assert pin(agents[1], other).json() == {"digest": DIGEST}
    assert pin(agents[0], DIGEST).json() == {"digest": DIGEST}
    assert client.ok("GET", f"/v1/jobs/{job['id']}")["image_digest"] == DIGEST
    assert agents[1].fetch(f"/jobs/{leases[1]['job']}").json()["image_digest"] == DIGEST
    # Of a job that it holds no lease of.
    unleased = make(client, "127.0.0.1:1/a:3")
    assert pin(agents[0], other, unleased["number"]).status == 403
    assert "image_digest" not in client.ok("GET", f"/v1/jobs/{unleased['id']}")


def test_an_image_that_needs_a_newer_driver_waits_for_no_machine(env, registry):
    client = Client(env.server("--registry", registry.host))
    gpu = {"count": 4, "model": "NVIDIA T4", "memory": 15 << 30, "version": "12.2"}
    shape = {"cpus": 4, "memory": "16GiB", "devices": {"nvidia.com/gpu": gpu}}
    pool = {"provider": "local", "shape": shape, "max": 0}
    made = client.ok("PUT", "/v1/pools/default/machines", pool)
    assert made["machines"]["shape"]["devices"] == {"nvidia.com/gpu": gpu}
    devices = {"resources": {"devices": {"nvidia.com/gpu": 1}}}

    def reasons(least, spec=devices):
        image = f"{registry.host}/tools/cuda:{least}"
        asks = f"NVIDIA_REQUIRE_CUDA=cuda>={least} brand=tesla,driver>=470,driver<471"
        put_image(registry, "tools/cuda", least, least, env=["PATH=/bin", asks])
        job = make(client, image, spec)
        client.ok("PUT", f"/v1/jobs/{job['id']}/parts/0", {"range": 3})
        client.ok("POST", f"/v1/jobs/{job['id']}/seal", {"parts": 1})

        def planned():
            found = client.ok("GET", f"/v1/jobs/{job['id']}/why")["reasons"]
            by_code = {reason["code"]: reason["sentence"] for reason in found}
            return by_code if "starting" not in by_code else None

        return wait_until("a plan", planned)

    assert reasons("12.4")["devices"] == (
        "pool 'default' has no machine with what an item asks for, "
        "1 nvidia.com/gpu (version 12.4): its machines have "
        "4 nvidia.com/gpu (NVIDIA T4, 15 GiB, version 12.2); use a pool that has them"
    )
    assert "devices" not in reasons("12.2")
    # What the spec says goes before, and a model is asked for by its words.
    own = {"nvidia.com/gpu": {"version": "12.1", "model": "t4", "memory": "15GiB"}}
    assert "devices" not in reasons("12.4", spec={"resources": {"devices": own}})
    own["nvidia.com/gpu"]["model"] = "A10G"
    assert "A10G" in reasons("12.0", spec={"resources": {"devices": own}})["devices"]
