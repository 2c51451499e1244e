# SPDX-License-Identifier: Apache-2.0
"""A machine of the fleet is released when its user is gone.

A long test, `.ci/long idle`: the shortest idle time is a minute, and a lost connection holds a
machine for ten.
"""

import json
import os
import signal

import image_wheels
import pytest
from cli import read_until
from env import wait_until
from load import items_of
from notebook import Notebook
from test_env import folder, index  # noqa: F401: fixtures
from test_env_fleet import all_is_over, farm, jobs, keepers, person, where  # noqa: F401: fixtures

pytestmark = pytest.mark.long


def test_a_notebook_that_nobody_uses_ends(person, farm, index, where):  # noqa: F811
    for path in image_wheels.wheels():
        index.publish_file(path)
    process = person.start("env", "jupyter", "--json", "--idle", "1", *where)
    said = json.loads(read_until(process.stdout.fileno(), b"\n", 900))
    notebook = Notebook(said["port"], said["token"])
    # One that computes is in use, though nobody looks at it.
    assert notebook.execute("import time; time.sleep(150); 6 * 7") == "42"
    assert process.poll() is None
    # Its kernel waits from here on; nobody asks for anything.
    assert process.wait(400) == 0
    assert "it has ended there" in process.stderr.read()
    wait_until("its end", lambda: all_is_over(farm), 60)
    wait_until("no machine to be left", lambda: farm.pids() == [], 120)


def test_a_laptop_that_is_shut_holds_no_machine(person, farm, where):  # noqa: F811
    process = person.start("env", "shell", *where)
    wait_until(
        "somebody to be there", lambda: len(farm.pids()) == 1 and keepers(person) == "one", 600
    )
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    job = jobs(farm)[0]["id"]
    wait_until("its end", lambda: all_is_over(farm), 800)
    assert [each["state"] for each in items_of(farm.http, job)] == ["succeeded"]
    wait_until("no machine to be left", lambda: farm.pids() == [], 120)
