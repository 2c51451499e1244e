# SPDX-License-Identifier: Apache-2.0
"""Work inside an environment's image on a machine of the fleet: from no machine, through the
server, and back to none. With a real Docker Engine and a registry. A notebook there is in
test_env_jupyter.py."""

import os
import signal

import pexpect
import pytest
from env import wait_until
from machines import Machines
from person import Person
from test_env import folder, index, init  # noqa: F401: fixtures


@pytest.fixture
def farm(env, docker):
    made = Machines(env, 1)
    made.pool(
        "spot",
        max=1,
        idle="2s",
        shape={"cpus": 2, "memory": "2GiB"},
        options={"engine": "docker", "args": ["--docker-socket", docker.socket]},
    )
    yield made
    made.close()


@pytest.fixture
def person(tmp_path, folder, docker, index, farm):  # noqa: F811
    someone = Person(folder, tmp_path / "tidemill")
    someone.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    someone.env["PIP_INDEX_URL"] = index.url
    someone.env["TIDEMILL_SERVER"] = farm.servers[0].url
    someone.env["TIDEMILL_TOKEN"] = farm.servers[0].token
    (folder / "requirements.txt").write_text("greet\n")
    init(someone, docker)
    return someone


@pytest.fixture
def where(module_registry):
    """Flags that lead to a machine."""
    return ("--pool", "spot", "--network", "host", "--to", f"{module_registry.host}/films")


def jobs(farm):
    return farm.http.get("/v1/jobs").json()["jobs"]


def all_is_over(farm):
    """No job holds a machine, or would bring one."""
    return all(job["state"] in ("cancelled", "finished") for job in jobs(farm))


def test_a_command_on_a_machine_that_is_made_for_it(person, farm, folder, where):  # noqa: F811
    (folder / "about.py").write_text(
        "import greet, os, sys\nprint(greet.VERSION, os.getcwd(), os.environ['TOLD'],"
        " sys.stdin.read())\nsys.exit(9)\n"
    )
    assert farm.pids() == []
    said = person("env", "run", *where, "--env", "TOLD=yes", "python", "about.py", stdin="typed",
                  timeout_s=600)  # fmt: skip
    assert (said.code, said.out) == (9, "1.1 /work yes typed\n"), said
    assert said.err.count("films-2-run-1: it waits for 1 machine of pool 'spot'") == 1, said
    wait_until("its end", lambda: all_is_over(farm), 60)
    wait_until("no machine to be left", lambda: farm.pids() == [], 120)
    wait_until("its bill", lambda: [row.pool for row in farm.bill()] == ["spot"], 60)
    # And a pool that is not there is said so at once.
    said = person("env", "run", "--pool", "none", "--network", "host", "true", timeout_s=300)
    assert said.code == 125 and "none" in said.err and "tidemill pools" in said.err, said


def test_a_shell_there(person, farm, where):
    shell = person.at_terminal("env", "shell", *where)
    shell.expect("Enter ~ . leaves", timeout=600)
    shell.sendline("python -c 'import greet; print(greet.VERSION, 6 * 7)'")
    shell.expect("[\r\n]1.1 42\r\n")
    assert len(farm.pids()) == 1
    shell.sendline("exit 3")
    shell.expect(pexpect.EOF)
    shell.close()
    assert shell.exitstatus == 3
    wait_until("its end", lambda: all_is_over(farm), 60)


def test_whoever_is_waiting_may_leave(person, farm, where):
    process = person.start("env", "run", *where, "sleep", "600")
    wait_until("it to run", lambda: jobs(farm) and len(farm.pids()) == 1, 600)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    wait_until("its end", lambda: all_is_over(farm), 60)


def test_nobody_keeps_the_machine_of_one_who_is_gone(person, farm, where):
    """A laptop that is shut says nothing. What holds the machine ends ten minutes after the last
    sign of it, which test_env_idle.py waits for; here the signs end."""
    process = person.start("env", "run", *where, "sleep", "600")
    wait_until("it to run", lambda: len(farm.pids()) == 1 and keepers(person) == "one", 600)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until("nobody to keep it", lambda: keepers(person) == "none", 60)
    person("cancel", jobs(farm)[0]["id"])
    wait_until("its end", lambda: all_is_over(farm), 60)


def keepers(person):
    """Whether a process in the container keeps it for a person; empty if it cannot be asked."""
    # The pattern does not match itself.
    look = "grep -qa 'while [:] >' /proc/[0-9]*/cmdline && echo one || echo none"
    return person("shell", "1", "--item", "0", "--", "sh", "-c", look).out.strip()
