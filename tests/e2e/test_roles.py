# SPDX-License-Identifier: Apache-2.0
"""What a job is to a cloud: the keys of its role, where the clouds' own tools look for them."""

import http.server
import json
import os
import signal
import sys
import threading
import time

import pytest
from agents import Agent, submit
from cli import Cli
from ec2 import REGION
from env import wait_until
from held import HOLD, release, wait_held
from metadata import GceMetadata

from load import items_of, refusal, wait_for_end

RENDER = "arn:aws:iam::123456789012:role/render"
SERVICE_ACCOUNT = "render@films-1.iam.gserviceaccount.com"
IMAGE = "tidemill-test/alpine-like"

# Nothing in it is ours: a program as people have it.
BOTO3 = """
import boto3
print(boto3.client("sts").get_caller_identity()["Arn"])
s3 = boto3.client("s3")
s3.put_object(Bucket="films", Key="{item}", Body=b"frame")
keys = boto3.Session().get_credentials().get_frozen_credentials()
print("key", keys.access_key)
print("secret", keys.secret_key)
print("token", keys.token)
"""

GOOGLE = """
import google.auth, google.auth.transport.requests
credentials, project = google.auth.default()
credentials.refresh(google.auth.transport.requests.Request())
print(credentials.service_account_email, project, credentials.token)
assert credentials.token == "ya29." + "of-the-job"
"""


def machine(env, name, **environment):
    """An agent whose items are processes, with these variables of its own."""
    agent = Agent(env.folder, name, env.servers, "--cpus", "2")
    agent.spawn(environment)
    wait_until("it to join", lambda: agent.events("agent.ready"), 60)
    return agent


def allow(http, *roles):
    answer = http.request("PUT", "/v1/projects/default/cloud-roles", {"cloud_roles": list(roles)})
    assert answer.status == 200 and answer.json()["cloud_roles"] == list(roles), answer.body


def log_of(env, job, item=0):
    said = Cli(env.folder, env.servers[0])("logs", job, "--item", str(item))
    assert said.code == 0, said
    return said.out


def test_boto3_inside_is_the_role_of_its_job(env, moto):
    server = env.server(*env.objects_flags)
    moto.client("s3").create_bucket(Bucket="films")
    allow(server.http, RENDER)
    # The machine's own keys, which its items must not have.
    agent = machine(env, "m1", AWS_ACCESS_KEY_ID="MACHINE", AWS_SECRET_ACCESS_KEY="machine")
    try:
        spec = {"role": RENDER, "command": [sys.executable, "-c", BOTO3]}
        spec["env"] = {"AWS_DEFAULT_REGION": REGION}
        job = submit(server.http, spec, ["a", "b", "c"])
        ended = wait_for_end(server.http, job, 120)
        assert ended["counts"]["succeeded"] == 3, log_of(env, job)
        lines = log_of(env, job).splitlines()
        assert lines[0] == f"arn:aws:sts::123456789012:assumed-role/render/tidemill-{job}"
        assert lines[1].startswith("key ASIA")
        assert lines[2:] == ["secret ***", "token ***"]
        found = moto.client("s3").list_objects_v2(Bucket="films")["Contents"]
        assert [each["Key"] for each in found] == ["a", "b", "c"]

        # A job without one has nothing there.
        plain = "import os; print(sorted(name for name in os.environ if 'CREDENTIALS' in name))"
        job = submit(server.http, {"command": [sys.executable, "-c", plain]}, ["x"])
        wait_for_end(server.http, job, 60)
        assert log_of(env, job) == "[]\n"
        audit = server.http.get("/v1/audit?limit=100").json()["audit"]
        given = [each for each in audit if each["action"].endswith("/role")]
        assert len(given) == 1 and given[0]["target"].endswith(RENDER)
    finally:
        agent.kill9()


def test_only_what_its_project_may_have(env, moto):
    server = env.server(*env.objects_flags)
    spec = {"role": RENDER, "command": ["true"]}
    refused = server.http.post("/v1/jobs", {"name": "render", "spec": spec})
    assert refused.status == 400
    assert "spec.role: project default may not have" in refused.json()["detail"]
    assert "tidemill project set default --cloud-role" in refused.json()["detail"]
    cli = Cli(env.folder, server)
    said = cli("project", "set", "default", "--cloud-role", "arn:aws:iam::123456789012:role/r*")
    assert said.code == 0 and "role/r*" in said.out, said
    assert "role/r*" in cli("project", "list").out
    job = submit(server.http, spec, ["a"])
    # It was taken away again before a machine asked.
    assert cli("project", "set", "default", "--no-cloud-roles").code == 0
    agent = machine(env, "m1")
    try:
        assert "may not have" in refusal(server.http, job)
    finally:
        agent.kill9()
    said = cli("project", "set", "another", "--cloud-role", "*")
    assert said.code == 2 and "arn:aws:iam::123456789012:role/NAME" in said.err, said
    assert "another" not in cli("project", "list").out, "nothing is set by half"


def test_a_cloud_that_does_not_let_us_pauses_the_job_with_its_words(env, monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    server = env.server(*env.objects_flags)
    allow(server.http, RENDER)
    job = submit(server.http, {"role": RENDER, "command": ["true"]}, ["a"])
    agent = machine(env, "m1")
    try:
        assert f"the keys of role {RENDER} cannot be had" in refusal(server.http, job)
    finally:
        agent.kill9()


def test_in_a_container_too_and_in_no_other(env, docker, fleet, moto):
    server = env.server(*env.objects_flags)
    allow(server.http, RENDER)
    agent = fleet("m1", "--cpus", "2")
    small = {"cpus": 0.5, "memory": "64MiB"}
    # What listens on its loopback is its own init; the other's is not there.
    asks = f"wget -q -O - $AWS_CONTAINER_CREDENTIALS_FULL_URI && {HOLD}"
    spec = {"image": IMAGE, "resources": small, "retries": 0}
    job = submit(server.http, {**spec, "role": RENDER, "command": ["sh", "-c", asks]}, ["a"])
    wait_held(agent)
    other = submit(
        server.http,
        {**spec, "command": ["sh", "-c", 'test -z "$AWS_CONTAINER_CREDENTIALS_FULL_URI"']},
        ["a"],
    )
    for each in (other, job):
        ended = wait_for_end(server.http, each, 120)
        assert ended["counts"]["succeeded"] == 1, items_of(server.http, each)
        release(agent)
    assert '"AccessKeyId":"ASIA' in log_of(env, job)
    assert '"SecretAccessKey":"***"' in log_of(env, job)


def test_an_item_that_outlives_its_agent_keeps_its_role(env, docker, fleet, moto):
    """An upgrade: the next agent takes over what runs, and the item asks again."""
    server = env.server(*env.objects_flags)
    allow(server.http, RENDER)
    agent = fleet("m1", "--cpus", "1")
    ask = "wget -q -O - $AWS_CONTAINER_CREDENTIALS_FULL_URI | head -c 21; echo"
    spec = {"image": IMAGE, "resources": {"cpus": 0.5}, "retries": 0, "role": RENDER}
    spec["command"] = ["sh", "-c", f"{ask}; {HOLD}; {ask}"]
    job = submit(server.http, spec, ["a"])
    wait_held(agent)
    os.kill(agent.pid, signal.SIGUSR1)
    agent.wait()
    agent.start()
    wait_until("it to be adopted", lambda: agent.events("container.adopted"), 60)
    release(agent)
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1
    assert items_of(server.http, job)[0]["outcome"]["attempt"] == 1
    # The same, as they are good for an hour; between them the log may say that there was a restart.
    lines = log_of(env, job).splitlines()
    first, second = [line for line in lines if line.startswith('{"AccessKeyId":"ASIA')]
    assert first == second


class Iam(http.server.BaseHTTPRequestHandler):
    """generateAccessToken, from its reference: strict about what it takes."""

    asked = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = f"/v1/projects/-/serviceAccounts/{SERVICE_ACCOUNT}:generateAccessToken"
        good = self.path == path and self.headers["Authorization"] == "Bearer ya29"
        good &= body.keys() == {"scope", "lifetime"} and body["lifetime"] == "3600s"
        good &= self.headers["Content-Type"] == "application/json"
        self.asked.append(self.path)
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        answer = {"accessToken": "ya29.of-the-job", "expireTime": end}
        if not good:
            answer = {"error": {"code": 403, "message": "no", "status": "PERMISSION_DENIED"}}
        text = json.dumps(answer).encode()
        self.send_response(200 if good else 403)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


@pytest.fixture
def google(monkeypatch):
    metadata = GceMetadata()
    iam = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Iam)
    threading.Thread(target=iam.serve_forever, daemon=True).start()
    for name, value in metadata.environment.items():
        monkeypatch.setenv(name, value)
    url = f"http://127.0.0.1:{iam.server_port}"
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_IAMCREDENTIALS", url)
    yield metadata
    metadata.close()
    iam.shutdown()
    iam.server_close()


def test_googles_own_library_inside_is_the_service_account_of_its_job(env, google):
    server = env.server(*env.objects_flags)
    allow(server.http, SERVICE_ACCOUNT)
    agent = machine(env, "m1", GOOGLE_APPLICATION_CREDENTIALS="/nonexistent")
    try:
        spec = {"role": SERVICE_ACCOUNT, "command": [sys.executable, "-c", GOOGLE]}
        job = submit(server.http, spec, ["a"])
        ended = wait_for_end(server.http, job, 120)
        assert ended["counts"]["succeeded"] == 1, log_of(env, job)
        assert log_of(env, job) == f"{SERVICE_ACCOUNT} films-1 ***\n"
    finally:
        agent.kill9()
