# SPDX-License-Identifier: Apache-2.0
"""What a person types and sees, against a real server."""

import json
import re
import signal

import pytest
from env import wait_until
from projects import cli_in, new_project

from cli import PLAIN, SPEC, Cli
from load import Load

COMMANDS = ["up", "submit", "jobs", "show", "watch", "items", "usage", "logs", "cancel", "pause"]
COMMANDS += ["resume", "retry", "machines", "version", "login", "logout", "whoami", "audit"]
COMMANDS += ["failures", "results", "history", "history open", "run", "replay", "shell"]
COMMANDS += ["context", "context list", "context use", "context rm"]
COMMANDS += ["token", "token create", "token list", "token revoke"]
COMMANDS += ["secret", "secret set", "secret list", "secret rm"]
COMMANDS += ["pool", "pool list", "pool set", "project", "project list", "project set"]
COMMANDS += ["env", "env init", "env build", "env push", "env run", "env shell", "env jupyter"]
COMMANDS += ["env test"]
COMMANDS += ["apply", "queues", "pools", "spec", "spec put", "spec list", "spec show", "spec rm"]


def with_specs(cli):
    (cli.folder / "render.yaml").write_text(SPEC)
    (cli.folder / "plain.yaml").write_text(PLAIN)
    return cli


@pytest.fixture(scope="module")
def server(module_env):
    """One for all tests that neither kill it nor bring it machines."""
    return module_env.server()


@pytest.fixture
def cli(server, tmp_path):
    """In a project of its own."""
    return with_specs(cli_in(new_project(server), tmp_path, server))


@pytest.fixture
def own_cli(env, tmp_path):
    """With a server of its own, the first job of which is render-1."""
    return with_specs(Cli(tmp_path, env.server()))


def submit(cli, items, *words):
    said = cli("submit", "plain.yaml", "--range", str(items), "-q", *words)
    assert said.code == 0, said
    return said.out.strip()


def fits(text, columns=100):
    return all(len(line) <= columns for line in text.splitlines())


def test_a_job_is_submitted_listed_and_shown(cli):
    (cli.folder / "scenes.txt").write_text("a.blend\nb.blend\nc.blend\n")
    said = cli("submit", "render.yaml", "--items", "scenes.txt")
    assert said.code == 0, said
    job = said.out.split()[0]
    assert re.match(r"render-\d+ submitted: 3 items \(24 B, \S+ m?s\)\n", said.out), said
    assert said.out.endswith(f"Follow it with:  tidemill watch {job}\n")

    listed = cli("jobs")
    assert listed.code == 0, listed
    assert re.search(rf"^{job} +active +3 +0 +0 +0 +3 +\d\d:\d\d$", listed.out, re.MULTILINE), (
        listed
    )
    assert cli("jobs", "--state", "paused").out == "no job is paused\n"
    assert cli("jobs", "-q").out == f"{job}\n"

    shown = cli("show", job)
    assert shown.code == 0, shown
    assert "image      registry.example/render:3" in shown.out
    assert "1 cpu and 1 GiB an item; 0 retries" in shown.out
    assert fits(shown.out) and "\x1b" not in shown.out

    items = cli("items", job)
    assert [line.split()[-1] for line in items.out.splitlines()[1:4]] == [
        "a.blend",
        "b.blend",
        "c.blend",
    ], items


def test_programs_get_json(cli):
    assert cli("version", "--json").json()["version"]
    made = cli("submit", "render.yaml", "--range", "2", "--json").json()
    assert (made["items"], made["state"]) == (2, "active")
    job = made["id"]
    assert cli("jobs", "--json").json()["jobs"][0]["counts"]["waiting"] == 2
    assert cli("show", job, "--json").json()["counts"]["total"] == 2
    assert len(cli("items", job, "--json").json()["items"]) == 2
    assert "duration_ms" in cli("usage", job, "--json").json()
    assert cli("machines", "--json").json()["machines"] == []
    assert cli("pause", job, "--json").json()["state"] == "paused"
    assert cli("cancel", job).code == 0
    watched = cli("watch", job, "--json")
    assert watched.code == 6
    assert json.loads(watched.out)["state"] == "cancelled"


def test_many_items_are_streamed(cli):
    text = "".join(f"scenes/{i:07}.blend\n" for i in range(500_000))
    said = cli("submit", "render.yaml", "--items", "-", stdin=text)
    assert said.code == 0, said
    assert " submitted: 500,000 items (10 MB, " in said.out, said
    job = cli("show", said.out.split()[0], "--json").json()
    assert (job["items"], job["parts"]) == (500_000, 2)


def test_no_items_are_one_item(cli):
    said = cli("submit", "render.yaml", "--env", "A=b", "--set", "size=9", "--name", "other")
    one = r"(other-\d+) submitted: 1 item, image registry.example/render:3, 1 cpu"
    job = re.match(one, said.out)[1]
    spec = cli("show", job, "--json").json()["spec"]
    assert (spec["env"], spec["params"]) == ({"A": "b"}, {"size": "9"})


def test_the_example_needs_no_file(cli):
    said = cli("submit", "--example", "hello")
    job = said.out.split()[0]
    assert said.out == (
        f"{job} submitted: 100 items, image busybox:1.36, 1 cpu and 128 MiB each\n"
        f"Follow it with:  tidemill watch {job}\n"
    )


@pytest.mark.parametrize(
    "words, stdin, error",
    [
        (["bad.yaml"], "", "bad.yaml:7: unknown field 'memry' in resources; did you mean"),
        (["none.yaml"], "", "cannot read none.yaml: No such file"),
        (["render.yaml", "--set", "sise=1"], "", "unknown param 'sise'; did you mean 'size'?"),
        (["render.yaml", "--set", "size"], "", "'size' is not NAME=VALUE"),
        (["render.yaml", "--items", "none"], "", "cannot open none: No such file"),
        (["render.yaml", "--items", "-"], "a\n\nb\n", "standard input:2: an empty line"),
        (["render.yaml", "--items", "-"], "", "standard input has no items"),
        (["render.yaml", "--range", "0"], "", "--range"),
        (["--example", "helo"], "", "no example 'helo'"),
        ([], "", "which spec?"),
    ],
)
def test_wrong_use_is_told_and_sends_nothing(cli, words, stdin, error):
    (cli.folder / "bad.yaml").write_text(SPEC.replace("memory", "memry"))
    said = cli("submit", *words, stdin=stdin)
    assert said.code == 2, said
    assert error in said.err, said
    # A draft that was begun is given up: nothing is left that could run.
    assert "active" not in cli("jobs").out


def test_the_same_key_is_the_same_job(cli):
    first = cli("submit", "render.yaml", "--range", "7", "--key", "nightly", "-q")
    again = cli("submit", "render.yaml", "--range", "7", "--key", "nightly", "-q")
    assert first.out.startswith("render-") and again.out == first.out, again
    other = cli("submit", "render.yaml", "--set", "size=4", "--range", "7", "--key", "nightly")
    assert other.code == 1, other


def test_an_unknown_job_is_exit_3(cli):
    for command in ("show", "watch", "items", "usage", "cancel", "pause"):
        said = cli(command, "x-9")
        assert (said.code, said.err) == (3, "no job 'x-9'; tidemill jobs lists them\n"), command
    assert cli("retry", "x-9", "--failed").code == 3
    assert cli("logs", "x-9", "--item", "0").code == 3


def test_a_server_that_cannot_be_reached_is_exit_5(tmp_path):
    cli = Cli(tmp_path)
    said = cli("jobs", "--server", "http://127.0.0.1:1")
    assert said.code == 5
    assert said.err.startswith(
        "cannot reach the server at http://127.0.0.1:1: connection refused\n"
    )
    said = cli("jobs", "--server", "ftp://x")
    assert said.code == 2, said
    (tmp_path / "render.yaml").write_text(SPEC)
    said = cli("submit", "render.yaml", TIDEMILL_SERVER="http://127.0.0.1:1")
    assert said.code == 5, said


def test_commands_that_are_not_known_are_exit_2(tmp_path):
    cli = Cli(tmp_path)
    assert cli("sumbit").err == "no command 'sumbit'; did you mean 'submit'?\n"
    assert cli("sumbit").code == 2
    assert cli("token", "creat").err == "no command 'token creat'; did you mean 'create'?\n"
    assert cli("token").code == 2
    assert cli("jobs", "--stat", "x").code == 2
    assert cli("retry", "a-1").code == 2


def test_every_help_ends_with_an_example(tmp_path):
    cli = Cli(tmp_path)
    assert fits(cli("--help").out)
    for command in COMMANDS:
        said = cli(*command.split(), "--help")
        assert said.code == 0
        assert f"Example:\n  tidemill {command}" in said.out, said
        assert fits(said.out), said


def test_pause_resume_and_cancel(cli):
    job = submit(cli, 10)
    paused = cli("pause", job)
    assert paused.code == 0 and f"tidemill resume {job}" in paused.out, paused
    assert cli("show", job).out.startswith(f"{job} paused\n")
    assert cli("resume", job).out.startswith(f"{job} goes on\n")
    assert "cancelled" in cli("cancel", job).out
    said = cli("watch", job)
    assert said.code == 6, said
    assert f"{job} cancelled: 0 succeeded, 0 failed, 10 cancelled" in said.out
    said = cli("resume", job)
    assert said.code == 1 and said.err.startswith(f"{job}: "), said


def test_a_job_is_watched_to_its_end(own_cli, env):
    job = submit(own_cli, 5000)
    with Load(env.folder, env.servers, "--agents", "4", "--item-ms", "50"):
        machines = wait_until("machines", lambda: "4 machines" in own_cli("machines").out)
        assert machines
        said = own_cli("watch", job)
        assert said.code == 0, said
        assert "render-1 finished: all 5,000 items succeeded" in said.out
        usage = own_cli("usage", job)
        assert usage.code == 0 and re.search(r"^duration +- +- ", usage.out, re.MULTILINE), usage
        assert fits(usage.out)
    said = own_cli("watch", job)  # over already
    assert said.code == 0 and said.out == "render-1 finished: all 5,000 items succeeded\n", said


def test_failed_items_are_listed_and_retried(own_cli, env):
    job = submit(own_cli, 2000)
    with Load(env.folder, env.servers, "--agents", "2", "--failing-ppm", "5000"):
        said = own_cli("watch", job)
        assert said.code == 1, said
        failed = own_cli("show", job, "--json").json()["counts"]["failed"]
        assert failed > 0
        listed = own_cli("items", job, "--state", "failed")
        assert f"{failed} failed of 2,000." in listed.out, listed
        assert "tidemill retry render-1 --failed" in listed.out
        rows = listed.out.splitlines()[1:-1]
        assert len(rows) == failed and re.search(r" exit \d+ +1 +load-\d", rows[0]), listed
        first = rows[0].split()[0]
        assert own_cli("items", job, "--state", "failed", "--limit", "1", "-q").out == f"{first}\n"

        again = own_cli("retry", job, "--item", first)
        assert again.out.startswith("1 item of render-1 waits again\n"), again
        assert own_cli("watch", job).code == 1
        again = own_cli("retry", job, "--failed")
        assert again.out.startswith(f"{failed} items of render-1 wait again\n"), again


def test_ctrl_c_leaves_the_job_running(cli):
    job = submit(cli, 10)
    watch = cli.start("watch", job)
    assert watch.stdout.readline().startswith(f"{job}  0 / 10  0 %")
    watch.send_signal(signal.SIGINT)
    out, err = watch.communicate(timeout=60)
    assert watch.returncode == 130, (out, err)
    assert err.startswith(f"{job} goes on."), err
    assert cli("show", job, "--json").json()["state"] == "active"


def test_watch_outlives_a_server_that_is_replaced(own_cli, env):
    job = submit(own_cli, 10)
    watch = own_cli.start("watch", job)
    watch.stdout.readline()
    env.servers[0].kill9()
    assert "does not answer" in watch.stderr.readline()
    env.servers[0].start()
    assert watch.stderr.readline() == "the server answers again\n"
    assert own_cli("cancel", job).code == 0
    out, _ = watch.communicate(timeout=60)
    assert watch.returncode == 6, out


def test_submit_goes_on_when_the_server_was_away(own_cli, env):
    line = "x" * 99 + "\n"
    process = own_cli.start("submit", "render.yaml", "--items", "-")
    # More than a part, so that the job is made and the first part is sent.
    process.stdin.write(line * 100_000)
    process.stdin.flush()
    drafts = '{"jobs":[{"id":"render-1"'
    wait_until("a draft", lambda: own_cli("jobs", "--json").out.startswith(drafts))
    env.servers[0].kill9()
    # Less than a part with the rest of the first: it reads no further while it waits.
    process.stdin.write(line * 50_000)
    process.stdin.close()
    assert "trying again" in process.stderr.readline()
    env.servers[0].start()
    assert process.wait(120) == 0, process.stderr.read()
    assert process.stdout.readline().startswith("render-1 submitted: 150,000 items")
    assert own_cli("show", "render-1", "--json").json()["items"] == 150_000


def test_a_terminal_gets_a_block_that_is_redrawn_in_its_width(own_cli, env):
    job = submit(own_cli, 1000)
    with Load(env.folder, env.servers, "--agents", "2", "--lease-ms", "300"):
        said = own_cli.on_terminal(60, "watch", job)
    assert said.code == 0, said
    assert "\x1b[2A\x1b[J" in said.out or "\x1b[3A\x1b[J" in said.out, said
    assert "━" in said.out and "\x1b[32m" in said.out
    plain = re.sub(r"\x1b\[[0-9]*[a-zA-Z]", "", said.out).replace("\r", "")
    assert fits("\n".join(plain.splitlines()[:-1]), 60), plain
    own_cli.env["NO_COLOR"] = "1"
    assert "\x1b[32m" not in own_cli.on_terminal(60, "watch", job).out
