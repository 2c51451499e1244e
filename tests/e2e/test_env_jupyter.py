# SPDX-License-Identifier: Apache-2.0
"""A real Jupyter in an environment's image, here and on a machine of the fleet: only on loopback,
only with its token. In one file, so that its packages are installed once."""

import contextlib
import json
import os
import signal
import socket

import image_wheels
import pytest
from cli import read_until
from env import wait_until
from notebook import Notebook
from person import UID
from test_env import build, docker_says, folder, index, init  # noqa: F401: fixtures
from test_env_fleet import all_is_over, farm, jobs, where  # noqa: F401: fixtures
from test_env_fleet import person as person_of_fleet  # noqa: F401: a fixture
from test_env_work import containers, person  # noqa: F401: a fixture

CELL = """\
import greet, os
open("cell.txt", "w").write(greet.VERSION + os.getcwd())
1 + 1
"""


@pytest.fixture
def jupyter(person):  # noqa: F811
    """Starts one; where it is, and its process."""
    started = []

    def start(*flags):
        process = person.start("env", "jupyter", "--network", "host", "--json", *flags)
        started.append(process)
        # The first time, some ninety packages are installed.
        said = json.loads(read_until(process.stdout.fileno(), b"\n", 900))
        assert said["url"] == f"http://127.0.0.1:{said['port']}/?token={said['token']}"
        found = Notebook(said["port"], said["token"])
        wait_until("Jupyter", found.answers, 300)
        return said, found, process

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def network(docker, field):
    """Of the one container there is."""
    (container,) = containers(docker)
    where = f"{{{{.NetworkSettings.{field}}}}}"
    return docker_says(docker, "inspect", "--format", where, container).strip()


def test_a_notebook_in_the_image(person, docker, folder, index, jupyter):  # noqa: F811
    for path in image_wheels.wheels():
        index.publish_file(path)
    (folder / "requirements.txt").write_text("greet\n")
    init(person, docker)
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # else another program of this machine has it
            stack.enter_context(socket.create_server(("127.0.0.1", 8888)))
        said, notebook, process = jupyter()
    assert 8888 < said["port"] < 8988, "the next that was free"
    assert len(said["token"]) == 48
    assert notebook.call("GET", "/lab")[0] == 200

    # A cell, as the person who began it.
    assert notebook.execute(CELL) == "2"
    assert (folder / "cell.txt").read_text() == "1.1/work"
    assert os.stat(folder / "cell.txt").st_uid == UID
    names = [each["name"] for each in notebook.call("GET", "/api/contents")[1]["content"]]
    assert "requirements.txt" in names

    # Nobody without the token, nobody from elsewhere, and nobody sees it in a list of processes.
    for token in ("", "0" * 48):
        assert notebook.call("GET", "/api/contents", token)[0] == 403
        assert notebook.call("POST", "/api/kernels", token)[0] == 403
    outside = network(docker, "Gateway")
    assert outside != "127.0.0.1"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((outside, said["port"]), 60)
    inside = network(docker, "IPAddress")
    other = Notebook(8888, said["token"], inside)
    assert other.call("GET", "/api/status")[0] == 403, "by another name than localhost"
    with open(f"/proc/{process.pid}/cmdline") as words:
        assert said["token"] not in words.read()

    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    assert not notebook.answers()
    wait_until("no container", lambda: containers(docker) == [], 60)

    # The second time it is there at once, whatever the code is; its token is another.
    index.taken.clear()
    (folder / "more.py").write_text("x = 1\n")
    port = str(said["port"])
    again, notebook, process = jupyter("--port", port)
    assert (again["port"], again["image"]) == (said["port"], said["image"])
    assert again["token"] != said["token"] and index.taken == []
    refused = person("env", "jupyter", "--network", "host", "--port", port)
    assert refused.code == 1 and refused.err.startswith(f"port {port} of this machine is taken")
    process.send_signal(signal.SIGTERM)
    process.wait(120)

    # What machines run has none of it.
    image, _ = build(person)
    has = "import importlib.util as u; print(bool(u.find_spec('jupyter_server')))"
    assert docker_says(docker, "run", "--rm", image, "python", "-c", has) == "False\n"


CELL_THERE = """\
import greet, os
open("cell.txt", "w").write("x")
greet.VERSION + os.getcwd()
"""


def test_a_notebook_there(person_of_fleet, farm, index, where):  # noqa: F811
    for path in image_wheels.wheels():
        index.publish_file(path)
    with socket.create_server(("127.0.0.1", 8888)):
        process = person_of_fleet.start("env", "jupyter", "--json", *where)
        said = json.loads(read_until(process.stdout.fileno(), b"\n", 900))
    assert said["port"] == 8889, "the next that was free"
    notebook = Notebook(said["port"], said["token"])
    assert notebook.answers()
    assert notebook.call("GET", "/lab")[0] == 200
    assert notebook.execute(CELL_THERE) == "'1.1/work'"
    names = [each["name"] for each in notebook.call("GET", "/api/contents")[1]["content"]]
    assert {"cell.txt", "main.py"} <= set(names)
    for token in ("", "0" * 48):
        assert notebook.call("GET", "/api/contents", token)[0] == 403
    # Nobody else has been told the token.
    spec = json.dumps(farm.http.get(f"/v1/jobs/{jobs(farm)[0]['id']}").json())
    assert said["token"] not in spec

    # It goes on while its server does not.
    kernels = notebook.call("GET", "/api/kernels")[1]
    farm.servers[0].terminate()
    farm.servers[0].start()
    wait_until("the tunnel", notebook.answers, 60)
    assert [each["id"] for each in notebook.call("GET", "/api/kernels")[1]] == [
        each["id"] for each in kernels
    ]

    process.send_signal(signal.SIGINT)
    process.wait(60)
    assert not notebook.answers()
    wait_until("its end", lambda: all_is_over(farm), 60)
