# SPDX-License-Identifier: Apache-2.0
"""`tidemill shell`: into the container of an item that runs, with real terminals, servers, agents
and a real Docker Engine."""

import hashlib
import os
import signal
import subprocess

import pexpect
import pytest
from agents import Agent, submit
from env import wait_until
from frames import PortStream
from load import items_of, show
from tls import Tls

from cli import Cli

IMAGE = "tidemill-test/alpine-like"


def held(image=IMAGE, script="echo begun; sleep 600", **more):
    """A job whose items wait in the shell's own folder until they are let go."""
    base = {"retries": 0, "canary": 0, "resources": {"cpus": 1, "memory": "64MiB"}}
    return {**base, **({"image": image} if image else {}), "command": ["sh", "-c", script], **more}


def running(http, job, count=1):
    """Whether so many run by now, or are about to."""
    states = [each["state"] for each in items_of(http, job)]
    return states.count("running") == count


def entered(cli, job, item=0):
    """Whether it has begun: its machine may still have to make a container for it."""
    return cli("shell", job, "--item", str(item), "--", "true").code == 0


@pytest.fixture
def server(env):
    return env.server(*env.objects_flags)


@pytest.fixture
def cli(server, tmp_path):
    return Cli(tmp_path, server)


@pytest.fixture
def job(server, fleet, cli):
    """One item that runs in a container."""
    fleet("m1", "--cpus", "2")
    made = submit(server.http, held(), 1)
    wait_until("the item to run", lambda: entered(cli, made), 60)
    return made


# What is entered again and again: a server, a machine of each engine and one item on each. Tests of
# these come first, because those with `docker` remove the containers that they find.


@pytest.fixture(scope="module")
def shared(module_env, _engine):
    """The server, and its items by engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIDEMILL_TIMES", "server.stream_look=1s")
        server = module_env.server(*module_env.objects_flags)
    cli, items = Cli(module_env.folder, server), {}
    agents = {
        "docker": Agent(module_env.folder, "m1", [server], docker=_engine.socket),
        "process": Agent(module_env.folder, "m2", [server]),
    }
    try:
        for engine, agent in agents.items():
            agent.start()
            items[engine] = submit(server.http, held(IMAGE if engine == "docker" else ""), 1)
            made = items[engine]
            wait_until("the item to run", lambda made=made: entered(cli, made), 60)
        yield server, items
    finally:
        for agent in agents.values():
            agent.kill9()
        for name in _engine.containers("tidemill.agent"):
            _engine.remove(name)


@pytest.fixture
def shared_server(shared):
    return shared[0]


@pytest.fixture
def shared_cli(shared_server, tmp_path):
    return Cli(tmp_path, shared_server)


@pytest.fixture
def contained(shared):
    """One item that runs in a container."""
    return shared[1]["docker"]


def at_terminal(cli, *words, rows=24, columns=80, **env):
    return pexpect.spawn(
        cli.program,
        list(words),
        cwd=str(cli.folder),
        env={**cli.env, **env},
        dimensions=(rows, columns),
        encoding="utf-8",
        timeout=30,
        # As in a window, also if the tests were started to outlive theirs.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )


def say(shell, text, answer):
    """Types a line; its answer stands alone, so that an echo is none."""
    shell.sendline(text)
    shell.expect(f"\n{answer}\r\n")


def code_of(shell):
    shell.expect(pexpect.EOF)
    shell.close()
    return shell.exitstatus


@pytest.fixture(params=["docker", "process"])
def item(request, shared):
    """One item that runs, of either engine."""
    return shared[1][request.param]


def test_a_terminal_in_the_container_of_an_item(shared_server, contained, shared_cli):
    shell = at_terminal(shared_cli, "shell", contained, "--item", "0", rows=33, columns=101)
    shell.expect("Enter ~ . ")  # how to leave
    say(shell, "echo $TIDEMILL_INDEX-$((40+2))", "0-42")
    say(shell, "stty size", "33 101")
    shell.setwinsize(44, 111)
    # The program is told of it by a signal, so the next line may come too early.
    wait_until(
        "its size",
        lambda: shell.sendline("stty size") and shell.expect(["\n44 111\r\n", "\n33 101\r\n"]) == 0,
        20,
    )
    say(shell, "tty > /dev/null && echo on-$TERM", "on-xterm")
    # Ctrl-C ends what runs there and not the shell. What says `go` is what it ends: the child of a
    # shell may lose a signal before it has become another program.
    shell.sendline("sh -c 'echo go; sleep 100'")
    shell.expect("\ngo\r\n")
    shell.sendintr()
    say(shell, "echo code-$?", "code-130")
    # The item is in the same container.
    say(shell, "ps | grep -c 'sleep 60[0]'", "1")
    shell.sendline("exit 7")
    assert code_of(shell) == 7
    assert running(shared_server.http, contained)


def test_what_is_typed_there_is_not_in_the_log_of_the_item(contained, shared_cli):
    said = shared_cli(
        "shell", contained, "--item", "0", "--", "sh", "-c", "echo typed; cat", stdin="secret"
    )
    assert said == (0, "typed\nsecret", ""), said
    wait_until("the log", lambda: "begun" in shared_cli("logs", contained, "--item", "0").out, 60)
    assert shared_cli("logs", contained, "--item", "0").out == "begun\n"


def test_in_a_script(item, shared_cli):
    script = "cat; echo err >&2; exit 5"
    said = shared_cli("shell", item, "--item", "0", "--", "sh", "-c", script, stdin="one\ntwo")
    assert said == (5, "one\ntwo", "err\n"), said
    said = shared_cli("shell", item, "--item", "0", "--", "sh", "-c", "kill -9 $$")
    assert said.code == 137, said
    said = shared_cli("shell", item, "--item", "0", "--", "no-such-program", "x")
    assert said.code == 127 and "no-such-program" in said.err, said
    # A shell reads its commands from a pipe too.
    said = shared_cli("shell", item, "--item", "0", stdin="echo $TIDEMILL_INDEX; exit 3\n")
    assert said == (3, "0\n", ""), said
    # Without any input at all.
    done = subprocess.run(
        ["sh", "-c", f"exec {shared_cli.program} shell {item} --item 0 -- cat <&-"],
        env=shared_cli.env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_much_of_it_goes_through_both_ways(item, shared_cli, tmp_path):
    much = os.urandom(20 << 20)
    (tmp_path / "much").write_bytes(much)
    with open(tmp_path / "much", "rb") as given, open(tmp_path / "back", "wb") as back:
        done = subprocess.run(
            [shared_cli.program, "shell", item, "--item", "0", "--", "cat"],
            stdin=given, stdout=back, env=shared_cli.env, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0
    back = (tmp_path / "back").read_bytes()
    assert hashlib.sha256(back).digest() == hashlib.sha256(much).digest()


def test_whoever_does_not_read_is_waited_for(item, shared_cli):
    """And nobody holds in memory meanwhile what he does not read."""
    reader = shared_cli.start(
        "shell", item, "--item", "0", "--", "sh", "-c", "yes | head -c 300000000"
    )
    assert reader.stdout.read(2) == "y\n"
    # Others get through all the same, and so does the item's end.
    said = shared_cli("shell", item, "--item", "0", "--", "echo", "hello")
    assert said == (0, "hello\n", ""), said
    count = 2
    while some := reader.stdout.read(1 << 20):
        count += len(some)
    assert count == 300_000_000
    assert reader.wait(60) == 0


def test_roles_decide_and_the_audit_says_who(shared_server, contained, shared_cli):
    tokens = {}
    for role in ("viewer", "submitter"):
        made = shared_server.http.post("/v1/tokens", {"name": f"a-{role}", "role": role})
        tokens[role] = made.json()["secret"]
    words = ("shell", contained, "--item", "0", "--", "echo", "in")
    said = shared_cli(*words, TIDEMILL_TOKEN=tokens["viewer"])
    assert said.code == 4 and "submitter" in said.err, said
    assert shared_cli(*words, TIDEMILL_TOKEN=tokens["submitter"]) == (0, "in\n", "")
    rows = shared_server.http.get("/v1/audit").json()["audit"]
    asked = [row for row in rows if row["who"].startswith("a-")]
    assert all(row["action"].endswith("/shell") for row in asked), asked
    assert [(row["who"], row["allowed"]) for row in asked] == [
        ("a-submitter", True),
        ("a-viewer", False),
    ]
    assert all(row["target"] == f"{contained} 0" for row in asked), asked


def test_a_revoked_token_ends_its_shell_and_no_other(shared_server, contained, shared_cli):
    made = shared_server.http.post("/v1/tokens", {"name": "a-guest", "role": "submitter"}).json()
    guest = at_terminal(
        shared_cli, "shell", contained, "--item", "0", TIDEMILL_TOKEN=made["secret"]
    )
    other = at_terminal(shared_cli, "shell", contained, "--item", "0")
    for shell in (guest, other):
        say(shell, "echo in-$TIDEMILL_INDEX", "in-0")
    assert shared_server.http.delete(f"/v1/tokens/{made['token']['id']}").status == 200
    guest.expect("connection")
    assert code_of(guest) == 5
    say(other, "echo still-$TIDEMILL_INDEX", "still-0")


def test_one_leaves_without_the_shell(shared_server, contained, shared_cli):
    shell = at_terminal(shared_cli, "shell", contained, "--item", "0")
    shell.sendline("trap '' HUP INT TERM; echo in-$$")
    shell.expect("\nin-([0-9]+)\r\n")
    looks = f"kill -0 {shell.match[1]} 2> /dev/null; echo $?"

    def there():
        return shared_cli("shell", contained, "--item", "0", "--", "sh", "-c", looks).out

    assert there() == "0\n"
    shell.send("\r~.")
    assert code_of(shell) == 130
    # And nothing of it is left there.
    wait_until("its end", lambda: there() == "1\n", 30)
    # Closing the window ends the shell too.
    shell = at_terminal(shared_cli, "shell", contained, "--item", "0")
    say(shell, "echo in-$TIDEMILL_INDEX", "in-0")
    os.kill(shell.pid, signal.SIGHUP)
    shell.expect(pexpect.EOF)


def test_it_ends_with_the_item(server, fleet, cli):
    fleet("m1", "--cpus", "2")
    script = "while ! [ -e let-go ]; do sleep 0.1; done"
    made = submit(server.http, held(script=f"echo begun; {script}"), 1)
    wait_until("the item to run", lambda: entered(cli, made), 60)
    shell = at_terminal(cli, "shell", made, "--item", "0")
    shell.expect("Enter ~ . ")
    say(shell, "pwd > /dev/null; echo in-$TIDEMILL_INDEX", "in-0")
    shell.sendline("touch let-go; exec sleep 100")
    shell.expect("the item has ended, and the shell with it")
    assert code_of(shell) != 0
    wait_until("its end", lambda: show(server.http, made)["state"] == "finished", 30)
    assert [each["state"] for each in items_of(server.http, made)] == ["succeeded"]


def test_what_does_not_run_is_not_entered(server, fleet, cli):
    fleet("m1", "--cpus", "1")
    made = submit(server.http, held(script="[ {item} = 0 ] || sleep 600"), 3)
    wait_until("the second to run", lambda: entered(cli, made, 1), 60)
    said = cli("shell", made, "--item", "0", "--", "true")
    assert said.code == 1 and "item 0" in said.err and "succeeded" in said.err, said
    assert "--state running" in said.err, said
    said = cli("shell", made, "--item", "2", "--", "true")
    assert said.code == 1 and "item 2" in said.err, said
    assert cli("shell", made, "--item", "3", "--", "true").code == 3
    assert cli("shell", "none-99", "--item", "0", "--", "true").code == 3
    said = cli("shell", made)
    assert said.code == 2 and "--item" in said.err, said


def test_a_machine_that_lets_nobody_in(server, processes, cli):
    processes("m1", "--no-shell")
    made = submit(server.http, held(""), 1)
    wait_until("the item to run", lambda: running(server.http, made), 60)
    said = cli("shell", made, "--item", "0", "--", "true")
    assert said.code == 1 and "--no-shell" in said.err, said


def test_any_server_reaches_any_agent(env, processes, tmp_path):
    servers = [env.server(*env.objects_flags) for _ in range(3)]
    agents = [processes(f"m{n}", "--cpus", "1") for n in range(3)]
    made = submit(servers[0].http, held(""), len(agents))
    wait_until("all to run", lambda: running(servers[0].http, made, len(agents)), 60)
    for server in servers:
        cli = Cli(tmp_path, server)
        for item in range(len(agents)):
            said = cli("shell", made, "--item", str(item), "--", "sh", "-c", "echo $TIDEMILL_INDEX")
            assert said == (0, f"{item}\n", ""), said


def test_a_server_that_is_killed_ends_the_shell_and_not_the_item(server, job, cli):
    shell = at_terminal(cli, "shell", job, "--item", "0")
    say(shell, "echo in-$TIDEMILL_INDEX", "in-0")
    server.kill9()
    shell.expect("connection")
    assert code_of(shell) == 5
    server.start()
    assert cli("shell", job, "--item", "0", "--", "echo", "again") == (0, "again\n", "")


def test_a_server_that_stops_does_not_wait_for_shells(server, job, cli):
    shell = at_terminal(cli, "shell", job, "--item", "0")
    say(shell, "echo in-$TIDEMILL_INDEX", "in-0")
    assert server.terminate() == 0
    assert code_of(shell) == 5


def test_over_tls(env, fleet, tmp_path):
    server = env.server(*env.objects_flags, tls=Tls(tmp_path / "tls"))
    fleet("m1")
    made = submit(server.http, held(), 1)
    cli = Cli(tmp_path, server)
    wait_until("the item to run", lambda: entered(cli, made), 60)
    words = ("shell", made, "--item", "0", "--", "sh", "-c", "cat; exit 4")
    assert cli(*words, stdin="hello") == (4, "hello", "")


def test_a_port_of_the_container(server, fleet, cli):
    fleet("m1")
    serve = "echo there > page; exec busybox httpd -f -p 127.0.0.1:8080"
    made = submit(server.http, held(script=serve), 1)
    wait_until("the item to run", lambda: entered(cli, made), 60)

    def ask(port):
        with PortStream(server, made, 0, port) as stream:
            stream.give(b"GET /page HTTP/1.0\r\n\r\n")
            return stream.read_all()

    wait_until("the page", lambda: ask(8080)[0].endswith(b"there\n"), 30)
    body, over = ask(8081)
    assert body == b"" and over.error == 111  # refused: nobody listens there
