# SPDX-License-Identifier: Apache-2.0
"""What an environment stands on: a base of a registry, by its digest, and packages of apt's."""

import hashlib
import shutil
import subprocess

import pytest
import test_images
from env import Http
from test_env import build, docker_says, folder, index, init, ran, tidemill  # noqa: F401: fixtures

TELL = """\
import json, os
print(json.dumps({"base": os.environ.get("BASE")}))
"""
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def made_image(docker, lines, *files):
    """The id of an image on the one that has Python, by a Dockerfile's lines."""
    base = test_images.make_python(docker.socket)
    context = test_images.tar_of([("Dockerfile", f"FROM {base}\n{lines}".encode(), 0o644), *files])
    done = subprocess.run(
        ["docker", "-H", f"unix://{docker.socket}", "build", "--quiet", "-"],
        input=context,
        capture_output=True,
        timeout=120,
        env={"DOCKER_BUILDKIT": "0", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    assert done.returncode == 0, done
    return done.stdout.decode().strip()


def publish(docker, registry, word):
    """A base of that word is what the registry has by one name; its digest. It is not here."""
    name = f"{registry.host}/bases/python:{word}"
    docker_says(docker, "tag", made_image(docker, f"ENV BASE={word}\n"), name)
    docker_says(docker, "push", name)
    docker_says(docker, "image", "rm", name)
    http, path = Http(registry.port), "/v2/bases/python/manifests/"
    got = http.get(path + word, headers={"Accept": MANIFEST})
    assert got.status == 200, got
    put = http.request("PUT", f"{path}3", got.body, headers={"Content-Type": MANIFEST})
    assert put.status == 201, put
    return got.headers["docker-content-digest"]


def forget(docker, registry):
    """As on another machine."""
    for pattern in ("films-2", f"{registry.host}/*/*"):
        words = ("images", "--quiet", "--no-trunc", "--filter", f"reference={pattern}")
        for image in set(docker_says(docker, *words).split()):
            docker_says(docker, "image", "rm", "--force", image)
    docker_says(docker, "builder", "prune", "--all", "--force")


def base_of(folder):  # noqa: F811
    return (folder / "tidemill-env.lock").read_text().splitlines()[1].split()[-1]


@pytest.fixture(params=["", "buildkit"])
def builder(request, tidemill):  # noqa: F811
    """Docker's two builders; the newer one does not keep the base as an image."""
    tidemill.env["DOCKER_BUILDKIT"] = "1" if request.param else "0"
    # The client of the Engine under test, which has both.
    tidemill.env["PATH"] = "/usr/bin:/bin"
    return tidemill


def test_a_base_is_locked_by_its_digest(builder, docker, folder, registry):  # noqa: F811
    (folder / "main.py").write_text(TELL)
    first = publish(docker, registry, "first")
    init(builder, docker, f"{registry.host}/bases/python:3")
    image, _ = build(builder)
    assert base_of(folder) == f"{registry.host}/bases/python@{first}"
    assert ran(docker, image) == {"base": "first"}
    # It is here now: a change of code asks nobody for it.
    registry.kill9()
    (folder / "main.py").write_text(f"{TELL}# changed\n")
    changed, _ = build(builder)
    assert changed != image and ran(docker, changed) == {"base": "first"}
    registry.start()

    # Another base of that name. Who asks for what is newer gets it.
    second = publish(docker, registry, "second")
    assert second != first
    lock = (folder / "tidemill-env.lock").read_bytes()
    image, _ = build(builder, "--upgrade")
    assert base_of(folder) == f"{registry.host}/bases/python@{second}"
    assert ran(docker, image) == {"base": "second"}

    # Who has the lock builds on what that says, also where nothing has been built before.
    (folder / "tidemill-env.lock").write_bytes(lock)
    forget(docker, registry)
    image, _ = build(builder)
    assert ran(docker, image) == {"base": "first"}
    assert (folder / "tidemill-env.lock").read_bytes() == lock


def test_the_digest_is_that_of_its_own_registry(tidemill, docker, folder, registry):  # noqa: F811
    """An image that was pushed under another name has that name's digest."""
    base = made_image(docker, "ENV BASE=own\n")
    docker_says(docker, "tag", base, "films-base")
    docker_says(docker, "tag", base, f"{registry.host}/bases/other")
    docker_says(docker, "push", f"{registry.host}/bases/other")
    init(tidemill, docker, "films-base")
    build(tidemill)
    assert base_of(folder) == "films-base", "which nobody can pull"


def test_a_base_that_nobody_has_is_said(tidemill, docker, registry):  # noqa: F811
    base = f"{registry.host}/bases/none:1"
    init(tidemill, docker, base)
    said = tidemill("env", "build", "--network", "host", timeout_s=120)
    assert said.code == 1 and "'docker pull' failed" in said.err, said
    assert f"{base} not found" in said.err, said


# --- apt ---

PACKAGE = """Package: reel-tool
Version: 1.5
Architecture: all
Maintainer: nobody
Description: says which one it is
"""


def package_source(folder):  # noqa: F811
    """The files of a base whose apt knows one package, from a folder in it."""
    root = folder / "package"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN" / "control").write_text(PACKAGE)
    tool = root / "usr" / "bin" / "reel-tool"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\necho \'{"reel": "1.5"}\'\n')
    tool.chmod(0o755)
    file = folder / "reel-tool.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", root, file], check=True)
    shutil.rmtree(root)
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    listed = f"{PACKAGE}Filename: ./reel-tool.deb\nSize: {len(content)}\nSHA256: {digest}\n"
    return (
        ("packages/reel-tool.deb", content, 0o644),
        ("packages/Packages", listed.encode(), 0o644),
    )


def test_what_apt_has_is_installed(tidemill, docker, folder, tmp_path):  # noqa: F811
    files = package_source(tmp_path)
    sources = (
        "COPY packages /packages\n"
        "RUN rm -rf /etc/apt/sources.list.d"
        " && echo 'deb [trusted=yes] file:/packages ./' > /etc/apt/sources.list\n"
    )
    docker_says(docker, "tag", made_image(docker, sources, *files), "films-base")
    (folder / "requirements.txt").write_text("greet\n")
    init(tidemill, docker, "films-base")
    file = folder / "tidemill-env.yaml"
    file.write_text(file.read_text() + "apt: [reel-tool]\n")
    image, _ = build(tidemill)
    assert ran(docker, image, "reel-tool") == {"reel": "1.5"}
    assert docker_says(docker, "run", "--rm", image, "ls", "/var/lib/apt/lists") == ""
    greet = "import greet, json; print(json.dumps(greet.VERSION))"
    assert ran(docker, image, "python", "-c", greet) == "1.1"

    file.write_text(file.read_text().replace("reel-tool", "real-tool"))
    said = tidemill("env", "build", "--network", "host", timeout_s=120)
    assert said.code == 1 and "'docker build' failed" in said.err, said
    assert "Unable to locate package real-tool" in said.out + said.err, said
