# SPDX-License-Identifier: Apache-2.0
"""A folder becomes an image: with a real Docker Engine, and packages from an index on loopback."""

import json
import subprocess
import tarfile
import time

import image_wheels
import pytest
import test_images
from agents import submit
from cli import Cli
from conda_channel import PLACEHOLDER, CondaChannel
from load import items_of, wait_for_end
from package_index import PackageIndex

MAIN = """\
import json, sys
import greet, words
print(json.dumps({"greet": greet.VERSION, "words": words.VERSION, "says": "SAYS"}))
"""


@pytest.fixture
def index():
    found = PackageIndex()
    found.publish("words", "0.5")
    found.publish("greet", "1.0", "words")
    found.publish("greet", "1.1", "words>=0.5")
    yield found
    found.end()


@pytest.fixture
def folder(tmp_path, docker):
    made = tmp_path / "Films (2)"
    made.mkdir()
    (made / "main.py").write_text(MAIN)
    yield made
    for line in docker_says(docker, "images", "--format", "{{.Repository}}:{{.Tag}}").split():
        if "films" in line:
            docker_says(docker, "image", "rm", "--force", line)


@pytest.fixture
def tidemill(folder, docker, index):
    cli = Cli(folder)
    cli.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    cli.env["PIP_INDEX_URL"] = index.url
    return cli


def docker_says(docker, *words):
    done = subprocess.run(
        ["docker", "-H", f"unix://{docker.socket}", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done
    return done.stdout


def init(tidemill, docker, base=None):
    """An environment on an image that is here; a person who has a network leaves that out."""
    said = tidemill("env", "init")
    assert said.code == 0, said
    file = tidemill.folder / "tidemill-env.yaml"
    text = file.read_text()
    assert "base: cpu" in text
    base = base or test_images.make_python(docker.socket)
    file.write_text(text.replace("base: cpu", f"base: {base}"))
    return said


def build(tidemill, *flags):
    """The image's name, and how long it took."""
    begin = time.monotonic()
    said = tidemill("env", "build", "--network", "host", "--quiet", *flags, timeout_s=300)
    assert said.code == 0, said
    return said.out.strip(), time.monotonic() - begin


def layers(docker, image):
    """The digests of an image's layers, from the base to the top."""
    shown = docker_says(docker, "image", "inspect", "--format", "{{json .RootFS.Layers}}", image)
    return json.loads(shown)


def ran(docker, image, *words):
    return json.loads(docker_says(docker, "run", "--rm", image, *(words or ("python", "main.py"))))


def test_a_list_of_packages_becomes_an_image(tidemill, docker, folder, index):
    (folder / "requirements.txt").write_text("-r more.txt\n")
    (folder / "more.txt").write_text("greet\n")
    said = init(tidemill, docker)
    assert "image films-2 from requirements.txt. Next: tidemill env build" in said.out
    image, _ = build(tidemill)
    assert image.startswith("films-2:")
    assert ran(docker, image) == {"greet": "1.1", "words": "0.5", "says": "SAYS"}
    assert ran(docker, "films-2:latest")["greet"] == "1.1"
    pins = (folder / "tidemill-env.lock").read_text().splitlines()[2:]
    assert [line.split(" --hash=sha256:")[0] for line in pins] == ["greet==1.1", "words==0.5"]

    # Another code, the same packages: nothing is fetched, and one layer is new.
    index.taken.clear()
    (folder / "main.py").write_text(MAIN.replace("SAYS", "more"))
    changed, _ = build(tidemill)
    assert changed != image
    before, after = layers(docker, image), layers(docker, changed)
    assert after[:-1] == before[:-1] and after[-1] != before[-1], (before, after)
    assert ran(docker, changed) == {"greet": "1.1", "words": "0.5", "says": "more"}
    assert index.taken == []
    assert build(tidemill)[0] == changed, "the same has the same name"

    # What is newer is taken when somebody says so, or asks for something else.
    index.publish("greet", "1.2", "words")
    assert build(tidemill)[0] == changed
    newest, _ = build(tidemill, "--upgrade")
    assert ran(docker, newest)["greet"] == "1.2"
    (folder / "more.txt").write_text("greet<1.1\n")
    assert ran(docker, build(tidemill)[0])["greet"] == "1.0"


def test_a_lock_is_what_another_machine_builds(tidemill, docker, folder, index):
    (folder / "requirements.txt").write_text("greet\n")
    init(tidemill, docker)
    image, _ = build(tidemill)
    docker_says(docker, "image", "rm", "--force", image, "films-2:latest")
    docker_says(docker, "image", "prune", "--force")
    index.publish("greet", "1.2")
    index.taken.clear()
    again, _ = build(tidemill)
    assert again == image, "made of the same"
    assert ran(docker, again)["greet"] == "1.1"
    assert sorted(index.taken) == ["greet-1.1-py3-none-any.whl", "words-0.5-py3-none-any.whl"]


@pytest.mark.parametrize(
    "name, text",
    [
        ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\ndependencies = ["greet<1.1"]\n'),
        ("Pipfile", '[packages]\ngreet = "<1.1"\nwords = {version = "*"}\n'),
    ],
)
def test_other_files_say_it_too(tidemill, docker, folder, name, text):
    (folder / name).write_text(text)
    init(tidemill, docker)
    assert ran(docker, build(tidemill)[0])["greet"] == "1.0"


def test_a_dockerfile_of_ones_own_is_built_as_it_is(tidemill, docker, folder):
    (folder / "Dockerfile").write_text(
        "FROM tidemill-test/alpine-like\nCOPY main.py /\nENV OWN=1\n"
    )
    said = tidemill("env", "init", "--name", "films-own", "--json")
    assert (said.code, said.json()["name"], said.json()["from"]) == (0, "films-own", "Dockerfile")
    image, _ = build(tidemill)
    assert image.startswith("films-own:")
    said = docker_says(docker, "run", "--rm", image, "busybox", "sh", "-c", 'echo "[$OWN]"')
    assert json.loads(said) == [1]
    assert not (folder / "tidemill-env.lock").exists()


def test_what_cannot_be_is_said(tidemill, docker, folder):
    said = tidemill("env", "build")
    assert (said.code, said.out) == (3, "")
    assert said.err == "there is no ./tidemill-env.yaml; 'tidemill env init' makes one\n"
    for flags in (("--name", "Films"), ("--name", "films:3"), ("--from", "setup.py")):
        said = tidemill("env", "init", *flags)
        assert said.code == 2 and said.err.startswith(f"{flags[0]}: must be "), said
    assert not (folder / "tidemill-env.yaml").exists()
    init(tidemill, docker)
    assert (folder / "requirements.txt").exists(), "an empty list to begin with"
    assert tidemill("env", "init").code == 2, "what is there stays"
    (folder / "requirements.txt").write_text("greet>=7\n")
    said = tidemill("env", "build", "--network", "host", timeout_s=300)
    assert said.code == 2 and "what requirements.txt asks for cannot be had" in said.err, said
    assert "No matching distribution found for greet>=7" in said.err, said
    file = folder / "tidemill-env.yaml"
    file.write_text(file.read_text() + "appt: [ffmpeg]\n")
    said = tidemill("env", "build")
    lines = len(file.read_text().splitlines())
    assert said.code == 2 and said.err.startswith(f"./tidemill-env.yaml:{lines}: "), said
    assert "did you mean 'apt'" in said.err, said
    said = tidemill("env", "build", PATH="/nowhere")
    assert said.code == 2


def test_it_is_pushed_and_runs_on_the_fleet(tidemill, docker, folder, http, fleet, registry):
    (folder / "requirements.txt").write_text("greet\n")
    init(tidemill, docker)
    to = f"{registry.host}/films"
    said = tidemill("env", "push", "--network", "host", "--to", to, "--json", timeout_s=300)
    assert said.code == 0, said
    image = said.json()["image"]
    assert image.startswith(f"{to}:") and said.json()["bytes"] > 1_000_000
    docker_says(docker, "image", "rm", "--force", image)
    fleet("m1", "--cpus", "2", "--memory", "2GiB")
    job = submit(http, {"image": image, "command": ["python", "main.py"]}, 5)
    shown = wait_for_end(http, job, 120)
    assert shown["counts"]["succeeded"] == 5, items_of(http, job)


# --- conda ---

ENVIRONMENT = """\
name: films
channels: [films, nodefaults]
dependencies:
  - python=3.11
  - grade <2
  - pip:
    - -r more.txt
"""
GRADE = f"#!/bin/sh\nexec cat {PLACEHOLDER}/share/reel\n"


def debians_python():
    """What a package of Python brings: the program and its library."""
    files = {}
    with tarfile.open(test_images.debian_tar("python3-venv")) as tar:
        for entry in tar:
            name = entry.name.removeprefix("./usr/")
            wanted = name == "bin/python3.11" or name.startswith("lib/python3.11/")
            # The latter says that Python is apt's, which this one is not.
            left_out = "/__pycache__/" in name or name.endswith("/EXTERNALLY-MANAGED")
            if entry.isfile() and wanted and not left_out:
                files[name] = tar.extractfile(entry).read()
    return files, {"bin/python": "python3.11", "bin/python3": "python3.11"}


@pytest.fixture
def channel():
    found = CondaChannel()
    files, links = debians_python()
    found.publish("python", "3.11.2", files, links=links)
    found.publish("reel", "0.5", {"share/reel": b'{"reel": "0.5"}\n'})
    found.publish("grade", "1.0", {"bin/grade": GRADE.encode()}, ("reel",))
    found.publish("grade", "1.1", {"bin/grade": GRADE.encode()}, ("reel >=0.5",))
    found.publish("grade", "2.0", {"bin/grade": GRADE.encode()}, ("reel",))
    yield found
    found.end()


@pytest.fixture
def conda(tidemill, folder, index, channel, docker):
    """A folder with an environment of conda's, and all that it needs on loopback."""
    index.publish_file(*image_wheels.wheels("py_rattler"))
    tidemill.env["CONDA_CHANNEL_ALIAS"] = channel.alias
    (folder / "environment.yml").write_text(ENVIRONMENT)
    (folder / "requirements.txt").write_text("never-asked-for\n")
    (folder / "more.txt").write_text("greet\n")
    assert "from environment.yml" in init(tidemill, docker).out
    return tidemill


def test_a_conda_environment_becomes_an_image(conda, docker, folder, channel, index):
    image, _ = build(conda)
    assert ran(docker, image) == {"greet": "1.1", "words": "0.5", "says": "SAYS"}
    assert ran(docker, image, "grade") == {"reel": "0.5"}
    where = "import json, sys; print(json.dumps(sys.prefix))"
    assert ran(docker, image, "python", "-c", where) == "/opt/env"
    # What has installed it is not in it.
    assert docker_says(docker, "run", "--rm", image, "ls", "/opt").split() == ["env"]
    file = folder / "tidemill-env.lock"
    lock = file.read_text()
    for name in ("python-3.11.2", "grade-1.1", "reel-0.5"):
        assert f"{channel.alias}films/linux-64/{name}-0.tar.bz2" in lock
    assert "\n# pip greet==1.1 --hash=sha256:" in lock and "grade-1.0" not in lock

    # Another code, the same packages, though there are newer ones: nothing is fetched.
    channel.publish("grade", "1.2", {"bin/grade": b"#!/bin/sh\necho 12\n"})
    channel.taken.clear()
    index.taken.clear()
    (folder / "main.py").write_text(MAIN.replace("SAYS", "more"))
    changed, _ = build(conda)
    assert ran(docker, changed)["says"] == "more"
    assert (channel.taken, index.taken) == ([], [])

    # A package that is another than the one that was locked is not installed.
    digest = channel.digest("reel-0.5-0.tar.bz2")
    assert f"sha256: {digest}\n" in lock
    file.write_text(lock.replace(digest, digest[::-1]))
    said = conda("env", "build", "--network", "host", timeout_s=300)
    assert said.code == 1 and "'docker build' failed" in said.err, said
    assert "reel-0.5" in said.out + said.err and digest in said.out + said.err, said


def test_what_is_wrong_in_a_conda_environment_is_said(conda, folder):
    file = folder / "environment.yml"
    file.write_text("channels: [films]\ndependencies:\n  - python\n  - npm: [left-pad]\n")
    said = conda("env", "build")
    assert said.code == 2 and said.err.startswith("./environment.yml:4: "), said
    file.write_text(ENVIRONMENT.replace("<2", ">=3"))
    said = conda("env", "build", "--network", "host", timeout_s=300)
    assert said.code == 2 and "grade >=3" in said.err, said
    assert "what environment.yml asks for cannot be had" in said.err, said
    assert not (folder / "tidemill-env.lock").exists()
