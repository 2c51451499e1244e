# SPDX-License-Identifier: Apache-2.0
"""A secret reaches the item that names it, and nothing else."""

import base64
import glob
import json
import pathlib
import secrets as random
import subprocess
import urllib.parse

import test_images
from agents import submit
from env import found_below, server_tool, wait_until
from held import HOLD, release, wait_held
from load import show, wait_for_end

IMAGE = "tidemill-test/debian-like"
SMALL = {"cpus": 1, "memory": "64MiB"}


def put_secret(http, name, value):
    body = {"value": base64.b64encode(value.encode()).decode()}
    assert http.request("PUT", f"/v1/secrets/{name}", body).status == 204


def forms_of(canary):
    """Every way in which it must not be seen: as it is, encoded, cut by an encoding's border."""
    raw = canary.encode()
    return {
        "raw": raw,
        "base64": base64.b64encode(raw).rstrip(b"=")[:-1],
        "base64 shifted by one": base64.b64encode(b"x" + raw)[2:-4],
        "base64 shifted by two": base64.b64encode(b"xx" + raw)[3:-4],
        "URL": urllib.parse.quote(canary, safe="").encode(),
        "hex": raw.hex().encode(),
    }


def found_in(where, data, canary):
    for name, form in forms_of(canary).items():
        assert form not in data, f"the canary ({name}) is in {where}"


def files_below(folder):
    return [path for path in found_below(pathlib.Path(folder), "**") if path.is_file()]


def nothing_on_this_machine(docker, canary):
    """While the item runs: not in what the Engine tells, nor in any command line or foreign
    environment."""
    told = 0
    for container in docker.containers("tidemill.agent"):
        try:
            text = test_images.call(docker.socket, "GET", f"/containers/{container}/json")
        except RuntimeError:  # it has just ended
            continue
        found_in("docker inspect", text, canary)
        told += 1
    assert told > 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            found_in(path, pathlib.Path(path).read_bytes(), canary)
        except OSError:
            continue
    environs = 0
    for path in glob.glob("/proc/[0-9]*/environ"):
        process = pathlib.Path(path).parent
        try:
            data = path and pathlib.Path(path).read_bytes()
            words = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if canary.encode() in data and words:  # else it has just ended
            # The item's own processes, which are there to have it.
            program = words.split(b"\0")[0]
            own = b"holds-the-canary" in words or program in (b"cat", b"base64", b"sleep")
            assert own, words
            environs += 1
    assert environs > 0, "the item itself does not have it"


def test_a_canary_is_found_nowhere_it_should_not_be(env, docker, fleet, tmp_path):
    canary = "Canary+/" + random.token_urlsafe(24) + "=&%"
    server = env.server(*env.objects_flags)
    put_secret(server.http, "as-variable", canary)
    put_secret(server.http, "as-file", canary + " in a file")
    agent = fleet("m1", "--cpus", "2")
    script = (
        'echo "$CANARY"; cat "$TIDEMILL_SECRETS/key"; echo; printf %s "$CANARY" | base64;'
        ' echo "x${CANARY}x"; echo "$CANARY" >&2; test "$CANARY in a file" ='
        f' "$(cat "$TIDEMILL_SECRETS/key")" && echo it is the one; {HOLD}'
    )
    spec = {
        "image": IMAGE,
        "command": ["sh", "-c", script, "holds-the-canary"],
        "resources": SMALL,
        "secrets": [
            {"name": "as-variable", "env": "CANARY"},
            {"name": "as-file", "file": "key"},
        ],
    }
    job = submit(server.http, spec, 2)
    wait_held(agent, 2)
    nothing_on_this_machine(docker, canary)
    release(agent)
    shown = wait_for_end(server.http, job, 120)
    assert shown["counts"]["succeeded"] == 2, shown

    log = logs_of(server, job, tmp_path)
    assert "it is the one" in log
    assert log.count("***") >= 10, log
    found_in("the log", log.encode(), canary)
    agent.terminate()
    for path in [*files_below(agent.state), server.log, agent.log]:
        found_in(path, path.read_bytes(), canary)
    found_in("the dump", dump(env), canary)
    for path in files_below(env.postgres.data):
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # the database makes some of its files anew now and then
            continue
        found_in(path, data, canary)
    rows = server.http.get("/v1/audit").json()["audit"]
    fetched = [row for row in rows if row["action"].endswith("/secrets")]
    assert fetched and fetched[0]["who"] == "m1" and fetched[0]["target"] == job
    found_in("the audit", json.dumps(rows).encode(), canary)


def logs_of(server, job, folder):
    """As a person reads them; packs are compressed, so their bytes alone prove nothing."""
    from cli import Cli

    cli = Cli(folder, server)
    texts = []
    for item in ("0", "1"):
        said = cli("logs", job, "--item", item)
        assert said.code == 0, said
        texts.append(said.out)
    return "".join(texts)


def dump(env):
    tool = env.postgres.bin / "pg_dump"
    done = subprocess.run([str(tool), env.conninfo], stdout=subprocess.PIPE, check=True)
    assert b"as-variable" in done.stdout
    return done.stdout


def test_a_secret_that_does_not_exist_pauses_the_job(env, docker, fleet):
    server = env.server()
    fleet("m1", "--cpus", "2")
    spec = {"image": IMAGE, "command": ["true"], "resources": SMALL, "secrets": ["MISSING"]}
    job = submit(server.http, spec)
    wait_until("the pause", lambda: show(server.http, job)["state"] == "paused", 60)
    assert "tidemill secret set MISSING" in show(server.http, job)["reason"]
    put_secret(server.http, "MISSING", "here it is")
    assert server.http.post(f"/v1/jobs/{job}/resume").status == 200
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1


def test_secrets_of_another_project_are_not_given(env, docker, fleet):
    server = env.server()
    http = server.http
    assert http.request("PUT", "/v1/projects/other", {}).status == 200
    body = {"value": base64.b64encode(b"of the other").decode()}
    other = {"Tidemill-Project": "other"}
    assert http.request("PUT", "/v1/secrets/THEIRS", body, other).status == 204
    fleet("m1", "--cpus", "2")
    spec = {"image": IMAGE, "command": ["true"], "resources": SMALL, "secrets": ["THEIRS"]}
    job = submit(http, spec)
    wait_until("the pause", lambda: show(http, job)["state"] == "paused", 60)
    assert "does not exist in this project" in show(http, job)["reason"]


def test_a_server_without_keys_says_what_to_do(env):
    server = env.server(start=False)
    server.start()
    server.terminate()
    server.keys_flags = []
    server.start()
    answer = server.http.request("PUT", "/v1/secrets/X", {"value": "eA=="})
    assert answer.status == 409
    assert "--secret-keys" in answer.json()["detail"]


def test_sealed_with_one_key_and_opened_after_another_was_put_in_front(env, docker, fleet):
    server = env.server()
    put_secret(server.http, "OLD", "sealed before")
    server.terminate()
    new = server_tool("secret-key")
    server.keys_file.write_text(new + server.keys_file.read_text())
    server.start()
    put_secret(server.http, "NEW", "sealed after")
    fleet("m1", "--cpus", "2")
    command = ["sh", "-c", 'test "$OLD" = "sealed before" && test "$NEW" = "sealed after"']
    spec = {"image": IMAGE, "command": command, "resources": SMALL, "secrets": ["OLD", "NEW"]}
    job = submit(server.http, spec)
    assert wait_for_end(server.http, job, 120)["counts"]["succeeded"] == 1
