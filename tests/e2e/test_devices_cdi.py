# SPDX-License-Identifier: Apache-2.0
"""Devices of CDI specs, given to items by a Docker Engine that knows such specs itself.

Debian's Engine is too old for it: these are long tests, `.ci/long cdi`, and TIDEMILL_DOCKERD names
the dockerd of a newer one (25 or later), see HACKING.md. tidemill-runtime is not registered there.
"""

import json
import os

import pytest
import test_images
from agents import submit
from env import wait_until
from load import items_of, show, wait_for_end
from test_devices import (  # noqa: F401: what our runtime does, the Engine must do too
    ALONE,
    KIND,
    NEEDS,
    Accelerators,
    said_by,
    sh,
    test_a_device_that_fails_leaves_the_machine_and_comes_back,
    test_a_restart_of_the_agent_leaves_items_with_their_devices,
    test_an_engine_that_cannot_give_them_says_what_to_do,
    test_an_item_has_its_device_and_no_other_of_the_machine,
    test_two_items_never_share_a_device,
)
from with_docker import DockerEngine

pytestmark = pytest.mark.long


class CdiEngine(DockerEngine):
    """One whose settings differ from test to test."""

    def __init__(self) -> None:
        super().__init__(program=os.environ["TIDEMILL_DOCKERD"])
        self._settings = self.folder / "daemon.json"
        self._settings.write_text("{}")

    def _words(self):
        return [f"--config-file={self._settings}"]

    def read(self, *folders, **more) -> None:
        """It starts anew and reads the specs of these folders; of none: it has no CDI."""
        # Versions 25 to 27 must be told that they may.
        settings = {"features": {"cdi": bool(folders)}, "cdi-spec-dirs": list(map(str, folders))}
        self._settings.write_text(json.dumps({**settings, **more}))
        self.restart()
        assert self.info()["CDISpecDirs"] == settings["cdi-spec-dirs"]

    def info(self):
        return json.loads(test_images.call(self.socket, "GET", "/info"))


@pytest.fixture(scope="module")
def _device_engine():
    with CdiEngine() as engine:
        engine.start()
        test_images.make_all(engine.socket, debian=False)
        yield engine


@pytest.fixture
def docker(_device_engine):
    yield _device_engine
    for name in _device_engine.containers("tidemill.agent"):
        _device_engine.remove(name)
    assert _device_engine.wrong() == []


@pytest.fixture
def accelerators(docker, tmp_path):
    """Makes a number of them, which the Engine knows."""

    def make(count):
        made = Accelerators(tmp_path / "accelerators", count)
        docker.read(made.specs)
        return made

    return make


def test_it_is_the_engine_that_is_asked(http, fleet, accelerators, docker):
    made = accelerators(3)
    fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    wait = "touch /lock/begun; while ! test -e /lock/go; do sleep 0.1; done\n"
    resources = {**NEEDS, "devices": {KIND: 2}}
    job = submit(http, sh(wait, resources=resources))
    # Both mount it; the latter's stays.
    lock = made.folder / "lock1"
    wait_until("it to run", (lock / "begun").exists, 60)
    (container,) = docker.inspect("tidemill.agent")
    host = container["HostConfig"]
    (request,) = host["DeviceRequests"]
    assert (request["Driver"], request["DeviceIDs"]) == ("cdi", [f"{KIND}=a0", f"{KIND}=a1"])
    assert (host["Runtime"], host["Devices"] or []) == ("runc", [])
    (lock / "go").touch()
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 1, items_of(http, job)
    (item,) = items_of(http, job)
    assert item["outcome"]["devices"] == f"{KIND}=a0,a1", item


def test_the_engines_own_way_goes_before_our_runtime(http, fleet, accelerators, docker):
    made = accelerators(2)
    # Who asks for this one gets no container.
    docker.read(made.specs, runtimes={"tidemill": {"path": "/bin/false"}})
    assert "tidemill" in docker.info()["Runtimes"]
    fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    job = submit(http, sh(ALONE, mode="container"), 6)
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 6, items_of(http, job)


@pytest.mark.parametrize("reads", ["other specs", "no specs"])
def test_an_engine_that_does_not_know_a_device_is_not_asked_for_it(
    http, fleet, accelerators, docker, tmp_path, reads
):
    made = accelerators(1)
    other = tmp_path / "other"
    other.mkdir()
    docker.read(*([other] if reads == "other specs" else []))
    agent = fleet("m1", "--cpus", "2", *made.flags)
    why = f"it reads {other}, and not {made.specs}"
    if reads == "no specs":
        why = "it does not read such specs"
    says = f"{why}; run on the machine: sudo tidemill-runtime install --docker"
    wait_until("it to say so", lambda: says in said_by(http), 60)
    job = submit(http, sh(ALONE), 3)
    plain = submit(http, sh("test ! -e /lock", resources={"cpus": 1}))
    assert wait_for_end(http, plain, 60)["counts"]["succeeded"] == 1, items_of(http, plain)
    assert show(http, job)["counts"]["succeeded"] == 0
    assert agent.events("container.not_opened") == []
