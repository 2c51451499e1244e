# SPDX-License-Identifier: Apache-2.0
"""Fixtures: `postgres`, one cluster for all tests; `env`, a fresh database and servers for one."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from env import Env, Postgres, tail  # noqa: E402


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


@pytest.fixture
def env(postgres, tmp_path):
    world = Env(postgres, tmp_path)
    try:
        yield world
    finally:
        world.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    world = getattr(item, "funcargs", {}).get("env")
    if report.failed and isinstance(world, Env):
        for log in world.logs():
            report.sections.append((f"end of {log.name}", tail(log)))
    return report
