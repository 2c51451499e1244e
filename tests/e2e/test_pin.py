# SPDX-License-Identifier: Apache-2.0
"""An image is what its tag stood for when the job was submitted, however it moves."""

import base64
import concurrent.futures
import contextlib
import hashlib
import json
import socket
import threading

from agents import submit
from api_client import Agent, Client, bearer
from cli import Cli
from env import Http, wait_until
from held import HOLD, release_to_end, wait_held
from hostile_registry import DIGEST, FOUND, HOSTILE, says, serving, silent
from registry import LOGIN, Registry

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"


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
    absent = make(client, f"{registry.host}/not/there:3")
    assert "image_digest" not in absent
    assert absent["image_note"].startswith(f"{registry.host} has no such image"), absent
    registry.kill9()
    assert make(client, image, key="k")["image_digest"] == first


def test_all_machines_run_what_the_tag_stood_for_at_submit(env, docker, fleet, registry):
    server = env.server("--registry", registry.host)
    image = registry.push(docker.socket, "tidemill-test/alpine-like", "tools/sh")
    spec = {"image": image, "command": ["sh", "-c", HOLD], "retries": 0}
    spec["resources"] = {"cpus": 1, "memory": "64MiB"}
    job = submit(server.http, spec, 4)
    digest = server.http.get(f"/v1/jobs/{job}").json()["image_digest"]
    # From now on the tag is an image without a shell.
    registry.push(docker.socket, "tidemill-test/scratch", "tools/sh")
    machines = [fleet(name, "--cpus", "1") for name in ("m1", "m2")]
    for machine in machines:
        wait_held(machine)
    shown = release_to_end(server.http, job, *machines)
    assert shown["counts"]["succeeded"] == 4 and shown["image_digest"] == digest, shown
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
    # The port is taken, so that nobody else listens there, and refuses connections.
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    host = f"127.0.0.1:{taken.getsockname()[1]}"
    server = env.server("--registry", host)
    cli = Cli(env.folder, server)
    (env.folder / "a.yaml").write_text(f"name: a\nimage: {host}/a:3\n")
    said = cli("submit", "a.yaml")
    assert said.code == 0, said
    assert f"The image is not pinned yet: {host} cannot be asked: connect: " in said.out, said
    shown = Client(server).ok("GET", "/v1/jobs/a-1")
    assert shown["state"] == "active" and "image_digest" not in shown
    assert "image_note" not in shown
    taken.close()


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


def test_a_hostile_registry_does_not_hold_up_a_submit(env):
    """All at once. The slow ones never end by themselves. How long the server waits for them is
    tested with a virtual clock: RegistriesTest.OneThatHangsIsLeftAtTheDeadline."""
    with contextlib.ExitStack() as stack:
        hosts = {how: stack.enter_context(serving(behave)) for how, behave in HOSTILE.items()}
        flags = [word for host in hosts.values() for word in ("--registry", host)]
        client = Client(env.server(*flags))
        with concurrent.futures.ThreadPoolExecutor(len(hosts)) as threads:
            made = {how: threads.submit(make, client, f"{host}/a:3") for how, host in hosts.items()}
        for how, host in hosts.items():
            job = made[how].result()
            assert job["state"] == "draft" and "image_digest" not in job, how
            assert host in job["image_note"], how


def test_others_go_on_while_registries_hang(env):
    found = says(FOUND + f"Docker-Content-Digest: {DIGEST}\r\nContent-Length: 0\r\n\r\n")
    over, notes = threading.Event(), []
    with serving(silent) as slow, serving(found) as quick:
        server = env.server("--registry", slow, "--registry", quick)
        client = Client(server)

        def submit_again_and_again(number):
            while not over.is_set():
                notes.append(make(client, f"{slow}/a:{number}")["image_note"])
                over.wait(0.5)  # calls are limited

        # More than may be under way at once, however long the machine takes for them.
        with concurrent.futures.ThreadPoolExecutor(80) as threads:
            hanging = [threads.submit(submit_again_and_again, number) for number in range(80)]
            try:
                wait_until("a refusal", lambda: any("too many" in note for note in list(notes)))
                client.ok("GET", "/v1/jobs")
                # One that finds no room is made without asking.
                wait_until("no room", lambda: "image_note" in make(client, f"{quick}/a:3"))
            finally:
                over.set()
            for each in hanging:
                each.result()
        for note in notes:
            assert "too many registries are being asked" in note or "in time" in note, note
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
