# SPDX-License-Identifier: Apache-2.0
"""Fixtures: `postgres` and `docker`, one for all tests; `env`, a fresh database and its servers."""

import contextlib
import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parents[1] / "tools"))

import durations  # noqa: E402
import test_images  # noqa: E402
import test_network  # noqa: E402
from agents import Agent  # noqa: E402
from ec2 import Moto  # noqa: E402
from env import Env, Postgres, tail  # noqa: E402
from object_server import S3  # noqa: E402
from registry import Registry  # noqa: E402
from spot import SpotFleet  # noqa: E402
from with_docker import DockerEngine  # noqa: E402


def pytest_configure(config):
    """Before any server: two runs on one machine would meet in a bridge and its rules."""
    config.addinivalue_line("markers", "alone: measures time, and wants the machine to itself")
    config.addinivalue_line("markers", "long: left to .ci/long, runs only if -m names it")
    if os.geteuid() == 0:
        test_network.enter_own_network()


def pytest_collection_modifyitems(config, items):
    """Leaves out tests marked `long`, which measure time or take minutes: see .ci/long. Files that
    took longest when they were last recorded come first, so that no worker begins one last."""
    took = durations.seconds_by_file(durations.read_history(durations.HISTORY), "e2e")
    items.sort(key=lambda item: (-took.get(item.path.stem, 0), item.path))
    if "long" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(scope="session")
def _cluster():
    with Postgres() as cluster:
        yield cluster.start()


@pytest.fixture
def postgres(_cluster):
    """The cluster, running: a test before may have killed it."""
    if _cluster._process is None or _cluster._process.poll() is not None:
        _cluster.kill9()
        _cluster.start()
    return _cluster


@pytest.fixture(scope="session")
def _engine():
    with DockerEngine() as engine:
        engine.start()
        test_images.make_all(engine.socket)
        yield engine


@pytest.fixture
def docker(_engine):
    """The Engine, running: a test before may have killed it. Every container is looked at."""
    if not _engine.answers():
        _engine.kill9()
        _engine.start()
    yield _engine
    # Containers outlive an agent that was killed, for the next one to take them over.
    for name in _engine.containers("tidemill.agent"):
        _engine.remove(name)
    assert _engine.wrong() == []


@contextlib.contextmanager
def _agents(env, docker):
    """Makes agents of the servers that there are by then, and ends them."""
    started = []

    def start(name, *flags):
        agent = Agent(env.folder, name, env.servers, *flags, docker=docker)
        started.append(agent)
        return agent.start()

    yield start
    for agent in started:
        agent.kill9()


@pytest.fixture
def fleet(env, docker):
    """Makes agents whose items are containers. They end with the test."""
    with _agents(env, docker.socket) as start:
        yield start


@pytest.fixture
def processes(env):
    """Makes agents whose items are processes. They end with the test."""
    with _agents(env, None) as start:
        yield start


@pytest.fixture
def spots(env):
    """Machines that will hear that they are taken away."""
    fleet = SpotFleet(env)
    yield fleet
    fleet.end()


@pytest.fixture
def moto(env, monkeypatch):
    """AWS, as whose account the servers act that are started from now on."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    server = Moto(env.folder).start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.kill9()


@pytest.fixture
def times(monkeypatch):
    """Shortens internal times of the programs that are started from now on."""
    set_so_far = []

    def shorten(*entries):
        set_so_far.extend(entries)
        monkeypatch.setenv("TIDEMILL_TIMES", ",".join(set_so_far))

    return shorten


@pytest.fixture
def registry(env):
    """A registry of images that anybody may have."""
    server = Registry(env.folder).start()
    yield server
    server.kill9()


@pytest.fixture(scope="module")
def module_registry(tmp_path_factory):
    """As `registry`, for all tests of a module: what one has pushed no other has to push again."""
    server = Registry(tmp_path_factory.mktemp("registry")).start()
    yield server
    server.kill9()


@pytest.fixture
def s3(tmp_path, monkeypatch):
    """An S3 server, which all that is started from now on knows."""
    server = S3(tmp_path).start()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.kill9()


@pytest.fixture
def http(env):
    """A server whose sessions end soon."""
    return env.server("--session-seconds", "10").http


@pytest.fixture(scope="session")
def noop_program(tmp_path_factory):
    """The program of the scratch image, here."""
    path = tmp_path_factory.mktemp("noop") / "noop"
    path.write_bytes(test_images.noop_program())
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def env(postgres, tmp_path):
    world = Env(postgres, tmp_path)
    try:
        yield world
    finally:
        world.close()


@pytest.fixture
def empty_env(postgres, tmp_path):
    """As `env`, with a database that has no tables."""
    world = Env(postgres, tmp_path, empty=True)
    try:
        yield world
    finally:
        world.close()


@pytest.fixture(scope="module")
def module_env(_cluster, tmp_path_factory):
    """As `env`, for all tests of a module: for servers that no test kills or configures. Tests
    are kept apart by projects, see projects.py."""
    if _cluster._process is None or _cluster._process.poll() is not None:
        _cluster.kill9()
        _cluster.start()
    world = Env(_cluster, tmp_path_factory.mktemp("module"))
    try:
        yield world
    finally:
        world.close()


def pytest_runtest_logreport(report):
    """Names a test that fails at once: the whole output comes at the end, perhaps minutes later."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nFAILED {report.nodeid} ({report.when})", file=sys.__stdout__, flush=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    worlds = [getattr(item, "funcargs", {}).get(name) for name in ("env", "module_env")]
    for world in worlds:
        if not report.failed or not isinstance(world, Env):
            continue
        for log in world.logs():
            report.sections.append((f"end of {log.name}", tail(log)))
    return report
