# SPDX-License-Identifier: Apache-2.0
"""Fixtures: those of the end-to-end tests, and `system`, a server and an agent for all tests."""

import importlib.util
import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS.parent / "python"))
sys.path.insert(0, str(TESTS / "e2e"))

_spec = importlib.util.spec_from_file_location("e2e_conftest", TESTS / "e2e" / "conftest.py")
e2e = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(e2e)

import python_image  # noqa: E402
from agents import Agent  # noqa: E402
from env import Env, tail  # noqa: E402
from with_docker import DockerEngine  # noqa: E402

pytest_configure = e2e.pytest_configure
pytest_collection_modifyitems = e2e.pytest_collection_modifyitems
_cluster, postgres, env = e2e._cluster, e2e.postgres, e2e.env
docker, fleet = e2e.docker, e2e.fleet


@pytest.fixture(scope="session")
def _engine():
    """As that of the end-to-end tests, with one image."""
    with DockerEngine() as engine:
        engine.start()
        python_image.make(engine.socket)
        yield engine


class System:
    """A server with an object store, an agent without containers, and the SDK's way to them."""

    def __init__(self, world: Env) -> None:
        self.world = world
        self.server = world.server(*world.objects_flags)
        self.files = world.folder / "files"
        self.files.mkdir()
        flags = ["--cpus", "4", "--files", str(self.files)]
        self.agent = Agent(world.folder, "agent", world.servers, *flags).start()

    def variables(self):
        return {"TIDEMILL_SERVER": self.server.url, "TIDEMILL_TOKEN": self.server.token}


@pytest.fixture(scope="session")
def _system(_cluster, tmp_path_factory):
    world = Env(_cluster, tmp_path_factory.mktemp("system"))
    system = System(world)
    yield system
    system.agent.kill9()
    world.close()


@pytest.fixture
def system(_system, monkeypatch, tmp_path):
    """Found as the command line finds it, and nothing of this machine's user is seen."""
    for name in ("TIDEMILL_CONTEXT", "TIDEMILL_PROJECT", "TIDEMILL_CA", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in _system.variables().items():
        monkeypatch.setenv(name, value)
    return _system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    system = getattr(item, "funcargs", {}).get("system")
    if report.failed and isinstance(system, System):
        for log in [*system.world.logs(), system.agent.log]:
            report.sections.append((f"end of {log.name}", tail(log)))
    return report
