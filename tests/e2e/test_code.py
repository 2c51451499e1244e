# SPDX-License-Identifier: Apache-2.0
"""Code that a job brings with it: packed and sent once, unpacked once, where the items begin."""

import functools
import hashlib
import io
import os
import struct
import tarfile

import pytest
from agents import Agent
from api_client import JSON, Client
from env import found_below, wait_until

from cli import Cli

SPEC = """\
name: code
code: ./src
command: [/bin/sh, -c, ". ./lib/part.sh && say $TIDEMILL_ITEM && touch new; ls -A"]
retries: 0
"""


@pytest.fixture
def cli(env, tmp_path):
    source = tmp_path / "job" / "src"
    (source / "lib").mkdir(parents=True)
    (source / "lib/part.sh").write_text('say() { echo "item $1 of $(cat data.txt)"; }\n')
    (source / "data.txt").write_text("first")
    (source / ".git").mkdir()
    (source / ".git/HEAD").write_text("x")
    (source / "large.bin").write_bytes(os.urandom(20 << 20))
    (source / ".tidemillignore").write_text("*.bin\n")
    (tmp_path / "job/job.yaml").write_text(SPEC)
    return Cli(tmp_path, env.server("--objects", f"file://{tmp_path}/objects"))


def zstd_frame(data):
    """One frame of one block that is not packed at all (RFC 8878, section 3.1.1)."""
    head = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data))
    return head + struct.pack("<I", 1 | len(data) << 3)[:3] + data


def log_of(cli, job, item=0):
    """What it wrote, once its machine has stored it."""
    log = functools.partial(cli, "logs", job, "--item", str(item), "--json")
    wait_until("the log", lambda: log().json()["ended"], 60)
    return cli("logs", job, "--item", str(item)).out


def finish(cli, job):
    said = cli("watch", job)
    assert said.code in (0, 1), said
    return said


@pytest.mark.parametrize("engine", ["process", "docker"])
def test_items_begin_in_the_folder_that_came_with_the_job(env, cli, engine, request, tmp_path):
    socket = request.getfixturevalue("docker").socket if engine == "docker" else None
    agent = Agent(tmp_path, "agent", env.servers, docker=socket).start()
    try:
        if engine == "docker":
            spec = SPEC + "image: tidemill-test/alpine-like\n"
            (tmp_path / "job/job.yaml").write_text(spec)
        said = cli("submit", "job/job.yaml", "--range", "2")
        assert said.code == 0, said
        assert "code ./src: 2 files, " in said.err and "left out: .git, large.bin" in said.err, said
        finish(cli, "code-1")
        log = log_of(cli, "code-1", 1).splitlines()
        assert log[0] == "item 1 of first", log
        if engine == "docker":
            assert "Read-only file system" in log[1], log
            assert log[2:] == ["data.txt", "lib"], log
        elif os.geteuid() == 0:  # without containers, the folder is only as safe as its modes
            assert log[1:] == ["data.txt", "lib", "new"], log
        else:
            assert log[2:] == ["data.txt", "lib"], log
        blobs = list((tmp_path / "objects/blobs/default").iterdir())
        assert len(blobs) == 1
        before = blobs[0].stat().st_mtime_ns

        # The same files: nothing is sent, and nothing unpacked.
        assert cli("submit", "job/job.yaml").code == 0
        finish(cli, "code-2")
        assert blobs[0].stat().st_mtime_ns == before
        assert len(list((agent.state / "code").iterdir())) == 1

        # Others: another folder; the job before keeps its own.
        (tmp_path / "job/src/data.txt").write_text("second")
        assert cli("submit", "job/job.yaml").code == 0
        finish(cli, "code-3")
        assert log_of(cli, "code-3").startswith("item 0 of second\n")
        assert len(list((agent.state / "code").iterdir())) == 2
    finally:
        agent.kill9()


def test_an_archive_that_leads_out_stops_the_job(env, cli, tmp_path):
    agent = Agent(tmp_path, "agent", env.servers).start()
    try:
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            entry = tarfile.TarInfo("../../escaped")
            entry.size = 4
            tar.addfile(entry, io.BytesIO(b"evil"))
        (tmp_path / "evil.tar.zst").write_bytes(zstd_frame(packed.getvalue()))
        (tmp_path / "job/job.yaml").write_text(
            SPEC.replace("./src", f"file://{tmp_path}/evil.tar.zst")
        )
        said = cli("submit", "job/job.yaml")
        assert said.code == 0, said
        wait_until(
            "the job to be paused",
            lambda: cli("show", "code-1", "--json").json()["state"] == "paused",
            90,
        )
        assert "leads out of it" in cli("show", "code-1").out
        assert not found_below(tmp_path, "**/escaped")
        assert list((agent.state / "code").iterdir()) == []
    finally:
        agent.kill9()


def test_what_cannot_be_sent_says_why(env, cli, tmp_path):
    (tmp_path / "job/src/.tidemillignore").unlink()
    said = cli("submit", "job/job.yaml")
    assert said.code == 2 and "large.bin" in said.err and ".tidemillignore" in said.err, said
    (tmp_path / "job/job.yaml").write_text(SPEC.replace("./src", "./none"))
    said = cli("submit", "job/job.yaml")
    assert said.code == 2 and "none is not a folder" in said.err, said
    assert cli("jobs", "-q").out == ""
    # A server that keeps nothing.
    (tmp_path / "job/job.yaml").write_text(SPEC)
    (tmp_path / "job/src/large.bin").unlink()
    other = Cli(tmp_path, env.server())
    said = other("submit", "job/job.yaml")
    assert said.code == 1 and "--objects" in said.err, said


def test_paths_in_items_are_as_the_machines_find_them(cli, tmp_path):
    (tmp_path / "job/job.yaml").write_text(
        "name: paths\npaths: {/mnt/nas: s3://bucket/, /mnt/nas/raw: s3://raw}\n"
    )
    (tmp_path / "list.txt").write_text("/mnt/nas/a.jpg\n/mnt/nas/raw/b.jpg\n/mnt/nasty/c.jpg\n")
    assert cli("submit", "job/job.yaml", "--items", "list.txt").code == 0
    items = cli("items", "paths-1", "--json").json()["items"]
    assert [each["text"] for each in items] == [
        "s3://bucket/a.jpg",
        "s3://raw/b.jpg",
        "/mnt/nasty/c.jpg",
    ]
    (tmp_path / "list.csv").write_text("id,file\n1,/mnt/nas/a.jpg\n")
    assert cli("submit", "job/job.yaml", "--items", "list.csv").code == 0
    items = cli("items", "paths-2", "--json").json()["items"]
    assert items[0]["text"] == '{"file":"s3://bucket/a.jpg","id":"1"}'


def test_a_blob_is_kept_under_its_hash(env):
    client = Client(env.server())
    raw = {"Content-Type": "application/octet-stream"}
    keeper = Client(env.server("--objects", f"file://{env.folder}/objects"))
    code = b"code" * 1000
    name = hashlib.sha256(code).hexdigest()
    path = f"/v1/blobs/{name}"
    assert keeper.call("GET", path).status == 404
    assert keeper.call("GET", f"{path}/content").status == 404
    for _ in range(2):
        assert keeper.ok("PUT", path, code, headers=raw) == {"sha256": name, "bytes": 4000}
    assert keeper.ok("GET", path)["bytes"] == 4000
    assert keeper.call("GET", f"{path}/content").body == code
    assert (env.folder / "objects/blobs/default" / name).read_bytes() == code
    # Not what its name says, no name, too long, of another type; and a server that keeps nothing.
    assert keeper.call("PUT", path, b"other", raw).status == 400
    assert keeper.call("GET", "/v1/blobs/x").status == 400
    assert keeper.call("GET", "/v1/blobs/x/content").status == 400
    assert keeper.call("PUT", path, b"a" * (8 * 1024 * 1024 + 1), raw).status == 413
    assert keeper.call("PUT", path, code, JSON).status == 415
    assert client.call("GET", path).status == 409
    assert client.call("GET", f"{path}/content").status == 409
    assert client.call("PUT", path, code, raw).status == 409
