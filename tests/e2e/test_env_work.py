# SPDX-License-Identifier: Apache-2.0
"""Work inside an environment's image: commands and shells, with a real Docker Engine and a real
terminal, as somebody who is not root."""

import json
import os
import signal

import pytest
from cli import read_until
from env import wait_until
from person import UID, Person
from test_env import docker_says, folder, index, init  # noqa: F401: fixtures

ABOUT = """\
import getpass, json, os, sys
import greet, mine
home = os.path.expanduser("~")
open(home + "/kept", "w").close()
open("made.txt", "w").write("by a command")
print(json.dumps({
    "greet": greet.VERSION, "mine": mine.WORD, "folder": os.getcwd(), "uid": os.getuid(),
    "gid": os.getgid(), "user": getpass.getuser(), "told": os.environ.get("TOLD"),
    "terminal": sys.stdin.isatty() or sys.stdout.isatty(), "typed": sys.stdin.read(),
}))
"""


@pytest.fixture
def person(tmp_path, folder, docker, index):  # noqa: F811
    someone = Person(folder, tmp_path / "tidemill")
    someone.env["DOCKER_HOST"] = f"unix://{docker.socket}"
    someone.env["PIP_INDEX_URL"] = index.url
    return someone


def containers(docker):
    return docker_says(docker, "ps", "--quiet").split()


def all_images(docker):
    return set(docker_says(docker, "images", "--quiet", "--all").split())


def run(person, *words, **more):
    return person("env", "run", "--network", "host", *words, timeout_s=600, **more)


def test_a_command_runs_in_the_folder_as_oneself(person, docker, folder, index):  # noqa: F811
    (folder / "requirements.txt").write_text("greet\n")
    (folder / "about.py").write_text(ABOUT)
    (folder / "mine.py").write_text('WORD = "one"\n')
    init(person, docker)
    said = run(person, "--env", "TOLD=yes", "python", "about.py", stdin="typed")
    assert said.code == 0, said
    expected = {
        "greet": "1.1", "mine": "one", "folder": "/work", "uid": UID, "gid": UID, "user": "ann",
        "told": "yes", "terminal": False, "typed": "typed",
    }  # fmt: skip
    assert json.loads(said.out) == expected
    made = os.stat(folder / "made.txt")
    assert (made.st_uid, made.st_gid) == (UID, UID)

    # Other code: nothing is built, nothing is said.
    index.taken.clear()
    images = all_images(docker)
    (folder / "mine.py").write_text('WORD = "two"\n')
    said = run(person, "python", "-c", "import mine; print(mine.WORD)")
    assert said == (0, "two\n", "")
    assert index.taken == [] and all_images(docker) == images
    assert "latest" not in docker_says(docker, "images", "--format", "{{.Tag}}", "films-2")
    assert containers(docker) == []


def test_what_follows_a_command_is_its_own(person, docker):
    init(person, docker)
    assert run(person, "true").code == 0
    said = run(person, "echo", "--json", "-q", "--help", "--", "[1,2]", "", "build")
    assert said == (0, "--json -q --help -- [1,2]  build\n", "")
    assert run(person, "--", "echo", "-n", "--", "submit") == (0, "-- submit", "")
    assert run(person, "sh", "-c", "exit 3").code == 3
    assert run(person, "no-such-program").code == 127
    said = run(person)
    assert (said.code, said.err) == (2, "which command?  tidemill env run python main.py\n")
    said = run(person, "--nope", "ls")
    assert (said.code, said.err) == (2, "tidemill env run has no flag '--nope'\n")
    said = run(person, "--folder", "/nowhere", "true")
    assert said.code == 125 and "tidemill env init" in said.err, said
    said = run(person, "--device", "gpu", "true")
    assert said.code == 125 and said.err.startswith("--device: must be "), said
    said = run(person, "--device", "example.com/fpga=0", "true")
    assert said.code == 125 and "sudo tidemill-runtime install --docker" in said.err, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_the_command(person, docker, number):
    init(person, docker)
    assert run(person, "true").code == 0
    # A program that knows nothing of being a container's first.
    process = person.start("env", "run", "sh", "-c", "echo begun; exec sleep 1000")
    try:
        read_until(process.stdout.fileno(), b"begun\n", 120)
        process.send_signal(number)
        assert process.wait(120) == 128 + number
    finally:
        process.kill()
        process.communicate()
    wait_until("no container", lambda: containers(docker) == [], 60)


def test_a_shell_on_a_terminal(person, docker, folder):  # noqa: F811
    init(person, docker)
    assert run(person, "true").code == 0
    shell = person.at_terminal("env", "shell")
    prompt = "films-2:/work\\$ "
    try:
        shell.expect(prompt)
        shell.sendline("stty size; id -u; echo $0")
        shell.expect(f"24 80\r\n{UID}\r\nbash\r\n")
        shell.expect(prompt)

        def resized():
            shell.sendline("stty size")
            shell.expect("[\r\n](\\d+ \\d+)\r\n")
            size = shell.match.group(1)
            shell.expect(prompt)
            return size == "40 100"

        shell.setwinsize(40, 100)
        wait_until("the new size", resized, 60)
        shell.sendline("sh -c 'echo begun; exec sleep 1000'; echo not")
        shell.expect("begun\r\n")
        shell.sendintr()
        shell.expect(prompt)
        assert "not" not in shell.before
        shell.sendline("echo from a shell > said.txt")
        shell.expect(prompt)
        shell.sendline("exit 3")
        shell.expect("exit\r\n")
        assert shell.read() == ""
        shell.close()
    finally:
        shell.close(force=True)
    assert (shell.exitstatus, shell.signalstatus) == (3, None)
    assert os.stat(folder / "said.txt").st_uid == UID
    wait_until("no container", lambda: containers(docker) == [], 60)


def test_a_shell_without_bash_and_without_a_terminal(person, folder):  # noqa: F811
    (folder / "Dockerfile").write_text(
        'FROM tidemill-test/alpine-like\nENTRYPOINT ["/bin/false"]\nUSER 7\n'
    )
    assert person("env", "init", "--name", "films-own").code == 0
    said = person("env", "shell", stdin="pwd; id -u\nexit 4\n", timeout_s=300)
    assert (said.code, said.out) == (4, f"/work\n{UID}\n"), said
    again = person("env", "shell", stdin="true\n")
    assert (again.code, again.out) == (0, "")
    # Docker itself may say that it is too old, or too new.
    assert "Step 1" not in again.err, "nothing is said of a build that has nothing to do"
