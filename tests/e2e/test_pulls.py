# SPDX-License-Identifier: Apache-2.0
"""Images from a real registry: how far they are, who may have them, and which one it was."""

import json
import os
import re
import subprocess
import threading

import pexpect
import pytest
import test_images
from agents import submit
from cli import Cli
from env import wait_until
from held import HOLD, release, release_to_end, wait_held
from load import show, wait_for_end
from registry import LOGIN, ROLE_LOGIN, Ecr, Registry, SlowRoad
from test_secrets import files_below, found_in, put_secret

SMALL = {"cpus": 1, "memory": "64MiB"}
LARGE_BYTES = 12_000_000
HOW_FAR = re.compile(r"pulling its image: (\d+) of (\d+) MB")


@pytest.fixture
def slow_road(registry):
    """A layer stops on its way at a third and at two thirds until the test lets it go on."""
    road = SlowRoad(registry, stops=[LARGE_BYTES // 3, 2 * LARGE_BYTES // 3])
    yield road
    road.close()


def drop_image(docker, image):
    if test_images.has_image(docker.socket, image):
        test_images.call(docker.socket, "DELETE", f"/images/{image}?force=true")


class Waits(threading.Thread):
    """What machines say that jobs wait for, as it changes."""

    def __init__(self, http):
        super().__init__(daemon=True)
        self.said = {}  # by job's number
        self._http = http
        self._over = threading.Event()

    def run(self):
        while not self._over.wait(0.3):
            for machine in self._http.get("/v1/machines").json()["machines"]:
                for use in machine.get("status", {}).get("jobs", []):
                    said = self.said.setdefault(use["job"], [])
                    if "waits_for" in use and use["waits_for"] not in said:
                        said.append(use["waits_for"])

    def all_from(self, count, megabytes):
        """Whether all of so many jobs have said that at least so much is here."""
        told = [numbers_in(list(said)) for said in list(self.said.values())]
        return len(told) == count and all(each and each[-1][0] >= megabytes for each in told)

    def finish(self):
        self._over.set()
        self.join()


def numbers_in(texts):
    """Of each that says so, how many megabytes are here, and of how many."""
    found = [HOW_FAR.search(text) for text in texts]
    return [(int(match[1]), int(match[2])) for match in found if match]


def test_a_slow_pull_shows_how_far_it_is_and_happens_once(env, docker, fleet, registry, slow_road):
    large = "tidemill-test/large"
    tar = test_images.busybox_tar([("weights", os.urandom(LARGE_BYTES), 0o644)])
    test_images.import_image(docker.socket, large, tar)
    registry.push(docker.socket, large, "models/large")
    drop_image(docker, large)
    image = f"{slow_road.host}/models/large"
    server = env.server("--session-seconds", "10")
    fleet("m1", "--cpus", "4")
    waits = Waits(server.http)
    waits.start()
    spec = {"image": image, "command": ["true"], "resources": SMALL}
    jobs = [submit(server.http, spec, 1, name=f"job{i}") for i in range(3)]
    cli = Cli(env.folder, server)
    watch = pexpect.spawn(
        cli.program,
        ["watch", jobs[0]],
        cwd=str(cli.folder),
        env=cli.env,
        dimensions=(24, 100),
        encoding="utf-8",
        timeout=120,
    )
    on_screen = []
    for megabytes in (1, LARGE_BYTES // 3_000_000 + 1):
        # The progress is shown everywhere: by each job's machine, and by `watch`.
        wait_until("a figure", lambda least=megabytes: waits.all_from(3, least))
        while not on_screen or on_screen[-1][0] < megabytes:
            watch.expect(HOW_FAR)
            on_screen.append((int(watch.match[1]), int(watch.match[2])))
        slow_road.go_on()
    watch.expect(pexpect.EOF)
    watch.close()
    assert watch.exitstatus == 0
    for job in jobs:
        assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1
    waits.finish()
    drop_image(docker, image)

    assert on_screen == sorted(on_screen), on_screen
    for job, said in waits.said.items():
        numbers = numbers_in(said)
        assert len(numbers) >= 2 and numbers == sorted(numbers), (job, said)
        # Compressed, and with busybox.
        assert all(LARGE_BYTES / 1e6 <= total < LARGE_BYTES / 1e6 + 5 for _, total in numbers)
    layers = [asked for asked in slow_road.asked if asked.startswith("GET") and "/blobs/" in asked]
    assert len(layers) == len(set(layers)) == 2, slow_road.asked  # its config, and its one layer


@pytest.fixture
def private(env):
    server = Registry(env.folder, wants_login=True).start()
    yield server
    server.kill9()


def why_paused(http, job):
    def reason():
        shown = show(http, job)
        return shown["state"] == "paused" and shown["reason"]

    return wait_until("the job to be paused", reason, 60)


def test_a_private_image_is_had_with_its_login_alone(env, docker, fleet, private):
    private.push(docker.socket, "tidemill-test/alpine-like", "team/tool")
    road = SlowRoad(private)
    image = f"{road.host}/team/tool"
    server = env.server()
    fleet("m1", "--cpus", "2")
    put_secret(server.http, "right", LOGIN + "\n")
    put_secret(server.http, "wrong", "reader:another-password")
    put_secret(server.http, "no-login", "just-a-password")
    spec = {"image": image, "command": ["true"], "mode": "container"}
    spec["resources"] = {"cpus": 0.25, "memory": "64MiB"}

    # All at once: after a job that it cannot run, a machine asks for no other for some seconds.
    logins = ("", "wrong", "missing", "no-login")
    jobs = {
        login: submit(server.http, {**spec, **({"image_login": login} if login else {})})
        for login in logins
    }
    why = {login: why_paused(server.http, job) for login, job in jobs.items()}
    assert f"registry {road.host} wants a login, name a secret" in why[""], why
    assert f"registry {road.host} refuses the login of image_login" in why["wrong"], why
    assert "another-password" not in why["wrong"]
    assert "tidemill secret set missing" in why["missing"], why
    assert "must be USER:PASSWORD" in why["no-login"], why
    assert "just-a-password" not in why["no-login"], why

    road.asked.clear()
    job = submit(server.http, {**spec, "image_login": "right"}, 20)
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 20
    heads = [asked for asked in road.asked if asked.endswith("/manifests/latest")]
    assert len(heads) == len(set(heads)), road.asked  # however many containers it had
    # It is on the machine now. Whoever shows a login that is no good does not get it.
    wrong = why_paused(server.http, submit(server.http, {**spec, "image_login": "wrong"}))
    assert "refuses the login" in wrong, wrong
    drop_image(docker, image)
    road.close()


def test_the_login_of_a_registry_is_found_nowhere(env, docker, fleet, private):
    image = private.push(docker.socket, "tidemill-test/alpine-like", "team/tool")
    server = env.server(*env.objects_flags)
    agent = fleet("m1", "--cpus", "2")
    put_secret(server.http, "reg", LOGIN)
    password = LOGIN.partition(":")[2]
    # The first item has no right to it; the second has, and tells it to its log.
    script = 'env; ls -laR /run /.tidemill/run; echo "reg: $REG"; echo "alone: ${REG#*:}"; '
    script += HOLD
    spec = {"image": image, "image_login": "reg", "command": ["sh", "-c", script]}
    spec["resources"] = SMALL
    plain = submit(server.http, spec, name="plain")
    told = {**spec, "secrets": [{"name": "reg", "env": "REG"}]}
    telling = submit(server.http, told, name="telling")
    wait_held(agent, 2)
    seen = [json.dumps(found).encode() for found in docker.inspect("tidemill.agent")]
    assert len(seen) == 2
    for text in seen:
        found_in("docker inspect", text, password)
    release(agent)
    for job in (plain, telling):
        assert wait_for_end(server.http, job, 60)["counts"]["succeeded"] == 1
    cli = Cli(env.folder, server)
    logs = {}
    for job in (plain, telling):
        said = cli("logs", job, "--item", "0")
        assert said.code == 0, said
        logs[job] = said.out
        found_in("the log", said.out.encode(), password)
    assert "reg: \n" in logs[plain] and "***" not in logs[plain], logs[plain]
    assert "reg: ***\nalone: ***\n" in logs[telling], logs[telling]
    agent.terminate()
    for path in [*files_below(agent.state), server.log, agent.log, docker.log]:
        found_in(path, path.read_bytes(), password)
    tool = env.postgres.bin / "pg_dump"
    dump = subprocess.run([str(tool), env.conninfo], stdout=subprocess.PIPE, check=True).stdout
    assert b"image_login" in dump
    found_in("the dump", dump, password)
    drop_image(docker, image)


@pytest.mark.parametrize("path, login", [("not/there", "right"), ("team/closed", None)])
def test_three_machines_agree_before_a_job_is_paused(env, docker, fleet, private, path, login):
    drop_image(docker, private.push(docker.socket, "tidemill-test/alpine-like", "team/closed"))
    server = env.server()
    put_secret(server.http, "right", LOGIN)
    image = f"{private.host}/{path}"
    spec = {"image": image, "command": ["true"], "resources": SMALL}
    if login:
        spec["image_login"] = login
    machines = [fleet(f"m{number}", "--cpus", "1") for number in range(4)]
    job = submit(server.http, spec, 10_000)
    assert image in why_paused(server.http, job)
    assert sum(bool(each.events("container.not_opened")) for each in machines) >= 3
    assert show(server.http, job)["counts"]["failed"] == 0


@pytest.fixture
def ecr(monkeypatch):
    cloud = Ecr("AKIDEXAMPLE")
    monkeypatch.setenv("AWS_ENDPOINT_URL_ECR", cloud.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-example")
    yield cloud
    cloud.close()


def test_a_cloud_registry_is_open_to_the_role_of_a_machine(env, docker, fleet, private, ecr):
    image = private.push(docker.socket, "tidemill-test/alpine-like", "team/cloud")
    server = env.server()
    agent = fleet("m1", "--cloud-registry", f"{private.host}=aws:eu-west-1")
    spec = {"image": image, "command": ["true"], "resources": SMALL, "mode": "container"}
    jobs = [submit(server.http, spec, 5, name=f"job{i}") for i in range(2)]
    for job in jobs:
        assert wait_for_end(server.http, job, 60)["counts"]["succeeded"] == 5
    assert ecr.asked == 1
    # A job that names a login has that one, and no other.
    put_secret(server.http, "wrong", "reader:another-password")
    wrong = why_paused(server.http, submit(server.http, {**spec, "image_login": "wrong"}))
    assert "refuses the login of image_login" in wrong, wrong
    agent.terminate()
    for path in [*files_below(agent.state), server.log, agent.log, docker.log]:
        found_in(path, path.read_bytes(), ROLE_LOGIN.partition(":")[2])
    drop_image(docker, image)


def test_a_role_that_a_cloud_does_not_know_is_told(env, docker, fleet, private, ecr, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDSOMEBODY")
    image = private.push(docker.socket, "tidemill-test/alpine-like", "team/cloud")
    server = env.server()
    fleet("m1", "--cloud-registry", f"{private.host}=aws:eu-west-1")
    job = submit(server.http, {"image": image, "command": ["true"], "resources": SMALL})
    why = why_paused(server.http, job)
    assert "this machine's role gives none" in why and "not authorized" in why, why


def make_image(docker, name, which):
    tar = test_images.busybox_tar([("which", which.encode(), 0o644)])
    test_images.import_image(docker.socket, name, tar)


def test_a_tag_that_moves_changes_nothing_for_a_job_that_runs(env, docker, fleet, registry):
    for which in ("one", "two"):
        make_image(docker, f"tidemill-test/{which}", which)
    image = registry.push(docker.socket, "tidemill-test/one", "team/moving")
    server = env.server(*env.objects_flags)
    first = fleet("m1", "--cpus", "1")
    script = f"cat /which; {HOLD}"
    spec = {"image": image, "command": ["sh", "-c", script], "resources": SMALL, "grace": "1s"}
    job = submit(server.http, spec, 3)
    wait_held(first)
    release(first)
    wait_until("one item", lambda: show(server.http, job)["counts"]["succeeded"] > 0, 60)
    wait_held(first)
    digest = show(server.http, job)["image_digest"]
    assert digest.startswith("sha256:")
    assert first.terminate() == 0
    # Another image has its name now, and nothing of it is left here.
    registry.push(docker.socket, "tidemill-test/two", "team/moving")
    for name in (image, f"{image}@{digest}", "tidemill-test/one"):
        drop_image(docker, name)
    assert not test_images.has_image(docker.socket, f"{image}@{digest}")
    second = fleet("m2", "--cpus", "1")
    assert release_to_end(server.http, job, second)["counts"]["succeeded"] == 3
    assert show(server.http, job)["image_digest"] == digest
    cli = Cli(env.folder, server)
    said = cli("logs", job, "--item", "2")
    assert said.out.strip().endswith("one"), said
    # A new job has what the name stands for now.
    other = submit(server.http, spec, 1)
    assert release_to_end(server.http, other, second)["counts"]["succeeded"] == 1
    said = cli("logs", other, "--item", "0")
    assert said.out.strip().endswith("two"), said
    assert show(server.http, other)["image_digest"] != digest
    for name in (image, f"{image}@{digest}", "tidemill-test/two"):
        drop_image(docker, name)
