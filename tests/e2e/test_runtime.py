# SPDX-License-Identifier: Apache-2.0
"""tidemill-runtime above real runc and crun: what is inside is what the specs say, and no more."""

import json
import shutil
import subprocess

import pytest
from bundles import LOOK, Machine, Seen
from env import binaries, wait_until

STAGES = "prestart createRuntime createContainer startContainer poststart poststop".split()


@pytest.fixture(params=["runc", "crun"])
def machine(request, tmp_path):
    return Machine(tmp_path, request.param)


def asks(*names):
    return "TIDEMILL_CDI=" + ",".join(f"example.com/accel={name}" for name in names)


def full_spec(machine):
    """Every kind of edit; gives the folder that is mounted."""
    data = machine.folder / "data"
    data.mkdir()
    (data / "file").write_text("from the machine")
    node = machine.node("accel0", permissions="rw", fileMode=0o640, uid=7, gid=8)
    one = {"deviceNodes": [node], "env": ["ACCEL=0", "TERM=accel"], "additionalGIDs": [4321, 0]}
    machine.spec(
        {"0": one, "1": {"deviceNodes": [machine.node("accel1")]}},
        edits={
            "env": ["VENDOR=example"],
            "mounts": [
                {"hostPath": str(data / "file"), "containerPath": "/opt/accel/file"},
                {"hostPath": str(data), "containerPath": "/opt/accel", "options": ["ro", "bind"]},
            ],
        },
    )
    return data


def test_inside_is_what_the_spec_says_and_nothing_else(machine):
    full_spec(machine)
    without = Seen(machine.bundle("sh", "-c", LOOK).plain())
    seen = Seen(machine.bundle("sh", "-c", LOOK, env=[asks("0", "1")]).output())
    more = seen.more_than(without)
    assert more["nodes"] == [
        "/dev/accel0 character special file 1:5 640 7:8",
        "/dev/accel1 character special file 1:3 666 0:0",
    ]
    assert [line.split()[1] for line in more["mounts"]] == ["/opt/accel", "/opt/accel/file"]
    assert more["mounts"][0].split()[3].startswith("ro,"), more["mounts"]
    assert more["variables"] == ["ACCEL=0", "TERM=accel", "VENDOR=example"]
    assert more["groups"] == ["4321"]
    assert without.more_than(seen) == {
        "nodes": [],
        "mounts": [],
        "variables": ["TERM=xterm"],
        "groups": [],
    }


def test_annotations_ask_too(machine):
    full_spec(machine)
    annotations = {"cdi.k8s.io/plugin": "example.com/accel=1", "other": "example.com/accel=0"}
    bundle = machine.bundle("sh", "-c", LOOK, annotations=annotations)
    more = Seen(bundle.output()).more_than(Seen(machine.bundle("sh", "-c", LOOK).plain()))
    assert [line.split()[0] for line in more["nodes"]] == ["/dev/accel1"]
    # Started once more, it is the same, and is edited no further.
    edited = bundle.config.read_text()
    bundle.output()
    assert bundle.config.read_text() == edited


def test_environment_asks_only_if_it_may(machine):
    full_spec(machine)
    machine.configure(from_environment=False)
    bundle = machine.bundle("env", env=[asks("0")])
    before = bundle.config.read_bytes()
    assert asks("0") in bundle.output().splitlines()
    assert bundle.config.read_bytes() == before


def test_node_is_the_users(machine):
    full_spec(machine)
    bundle = machine.bundle("sh", "-c", LOOK, env=[asks("0", "1")])
    bundle.change(lambda config: config["process"]["user"].update(uid=1000, gid=1001))
    nodes = Seen(bundle.output()).nodes
    assert "/dev/accel1 character special file 1:3 666 1000:1001" in nodes
    assert "/dev/accel0 character special file 1:5 640 7:8" in nodes


def test_devices_work_as_their_rules_say(machine):
    machine.spec(
        {
            "ruled": {"deviceNodes": [machine.node("ruled", permissions="r")]},
            "unruled": {"deviceNodes": [machine.node("unruled", permissions="none")]},
            "zero": {"deviceNodes": [machine.node("accel0")]},
            "full": {"deviceNodes": [machine.node("accel2")]},
        }
    )
    script = """
    dd if=/dev/accel0 bs=16 count=1 2> /dev/null | cat -v; echo
    echo x > /dev/accel2
    dd if=/dev/ruled of=/dev/null count=1 2> /dev/null && echo ruled is read
    (: <> /dev/ruled) 2> /dev/null || echo ruled is not written
    (: < /dev/unruled) 2> /dev/null || echo unruled is not read
    """
    bundle = machine.bundle("sh", "-c", script, env=[asks("ruled", "unruled", "zero", "full")])
    done = bundle.run()
    assert done.stdout.splitlines() == [
        "^@" * 16,
        "ruled is read",
        "ruled is not written",
        "unruled is not read",
    ], done.stderr
    assert "No space left on device" in done.stderr


def trace(word, log):
    """Takes the state first: crun fails if a hook ends before it has written it."""
    return f"cat > /dev/null; echo {word} >> {log}"


def hook(stage, machine):
    """Appends its name to a file, from outside or, at startContainer, from inside."""
    inside = stage == "startContainer"
    log = "/trace/log" if inside else machine.folder / "trace/log"
    path = "/bin/busybox" if inside else "/bin/sh"
    return {"hookName": stage, "path": path, "args": ["sh", "-c", trace(stage, log)]}


def test_hooks_run_at_every_stage(machine):
    folder = machine.folder / "trace"
    folder.mkdir()
    mount = {"hostPath": str(folder), "containerPath": "/trace", "options": ["rw", "bind"]}
    edits = {"hooks": [hook(stage, machine) for stage in STAGES], "mounts": [mount]}
    machine.spec({"0": {"deviceNodes": [machine.node("accel0")]}}, edits=edits)
    bundle = machine.bundle("sh", "-c", "echo process >> /trace/log", env=[asks("0")])
    own = {"path": "/bin/sh", "args": ["sh", "-c", trace("own", folder / "log")]}
    bundle.change(lambda config: config.update(hooks={"prestart": [own]}))
    bundle.output()
    lines = (folder / "log").read_text().split()
    assert sorted(lines) == sorted([*STAGES, "own", "process"])
    # It runs beside the process.
    lines.remove("poststart")
    stages = [stage for stage in STAGES if stage != "poststart"]
    assert lines == ["own", *stages[:-1], "process", stages[-1]]


def test_hook_files_are_for_every_container(machine):
    folder = machine.folder / "hooks.d"
    folder.mkdir()
    for name in ("20", "10"):
        script = trace(name, machine.folder / "trace")
        text = {"hooks": {"prestart": [{"path": "/bin/sh", "args": ["sh", "-c", script]}]}}
        (folder / f"{name}.json").write_text(json.dumps(text))
    machine.configure(hook_folders=[str(folder)])
    machine.bundle("true").output()
    assert (machine.folder / "trace").read_text().split() == ["10", "20"]


def test_own_hooks_bring_links_and_libraries(machine):
    program = str(binaries() / "tidemill-runtime")
    libraries = machine.folder / "lib"
    libraries.mkdir()
    shutil.copy("/lib/x86_64-linux-gnu/libz.so.1", libraries / "libz.so.1.9")
    commands = [
        ["hook", "create-symlinks", "--link", "libz.so.1.9::/usr/lib/accel/libz.so"],
        ["hook", "update-ldcache", "--folder", "/usr/lib/accel"],
    ]
    hooks = [
        {"hookName": "createContainer", "path": program, "args": ["tidemill-runtime", *words]}
        for words in commands
    ]
    mount = {"hostPath": str(libraries), "containerPath": "/usr/lib/accel", "options": ["bind"]}
    machine.spec({"0": {"hooks": hooks, "mounts": [mount]}})
    script = """
    cat /etc/ld.so.conf.d/00-tidemill.conf
    readlink /usr/lib/accel/libz.so
    readlink /usr/lib/accel/libz.so.1
    busybox grep -c /usr/lib/accel/libz.so.1 /etc/ld.so.cache
    """
    bundle = machine.bundle("sh", "-c", script, env=[asks("0")])
    assert bundle.output().split() == ["/usr/lib/accel", "libz.so.1.9", "libz.so.1.9", "1"]


def test_bundle_that_asks_for_nothing_is_left_as_it_is(machine):
    full_spec(machine)
    bundle = machine.bundle("sh", "-c", LOOK)
    before = bundle.config.read_bytes(), bundle.config.stat().st_ino
    seen = Seen(bundle.output())
    assert (bundle.config.read_bytes(), bundle.config.stat().st_ino) == before
    nothing = {"nodes": [], "mounts": [], "variables": [], "groups": []}
    assert seen.more_than(Seen(machine.bundle("sh", "-c", LOOK).plain())) == nothing
    # Not even specs that are wrong are its business.
    (machine.cdi / "wrong.json").write_text("{")
    bundle.output()


def test_other_commands_are_the_runtimes(machine):
    full_spec(machine)
    bundle = machine.bundle("sleep", "100", env=[asks("0")])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    done = machine.ours("create", "-b", str(bundle.path), bundle.id, **quiet)
    assert done.returncode == 0

    def status():
        return json.loads(machine.ours("state", bundle.id).stdout)["status"]

    assert status() == "created"
    assert machine.ours("start", bundle.id).returncode == 0
    assert status() == "running"
    done = machine.ours("exec", bundle.id, "sh", "-c", "ls /dev/accel0; echo $ACCEL")
    assert done.stdout.split()[0] == "/dev/accel0", done.stderr
    assert machine.ours("kill", bundle.id, "KILL").returncode == 0
    wait_until("its end", lambda: status() == "stopped")
    assert machine.ours("delete", bundle.id).returncode == 0
    assert machine.ours("state", bundle.id).returncode != 0
    assert machine.runtime in machine.ours("--version").stdout


def refusal(machine, *names):
    """What the user is told: the same in the engine's log, and the bundle stays as it is."""
    bundle = machine.bundle("echo", "started", env=[asks(*names)])
    before, log = bundle.config.read_bytes(), machine.folder / "log.json"
    done = bundle.run("--log", str(log), "--log-format", "json")
    assert (done.returncode, done.stdout) == (1, "")
    assert bundle.config.read_bytes() == before
    line = json.loads(log.read_text().splitlines()[-1])
    assert (line["level"], line["msg"] + "\n") == ("error", done.stderr)
    return done.stderr


def test_refusals_say_why_and_what_to_do(machine):
    full_spec(machine)
    assert refusal(machine, "7") == (
        "tidemill-runtime: no spec has the device example.com/accel=7; specs are looked for in "
        f"{machine.cdi}, and 'tidemill-runtime cdi list' shows what they have\n"
    )
    assert "'example.com/accel=' is no device" in refusal(machine, "")
    (machine.dev / "accel1").unlink()
    told = refusal(machine, "1")
    assert "example.com/accel=1" in told and str(machine.dev / "accel1") in told, told
    spec = machine.cdi / "other.yaml"
    spec.write_text("cdiVersion: 0.6.0\nkind: example.com/other\ndevices:\n- nam: x\n")
    assert f"{spec}: line 4: " in refusal(machine, "7")
    machine.config.write_text("runtimes: [runc]\nlgo: /x\n")
    assert f"{machine.config}:2: lgo: unknown field; did you mean 'log'?" in refusal(machine, "0")
    machine.config.write_text("runtimes: [/no/runc]\n")
    assert "there is no runtime to hand over to (/no/runc)" in refusal(machine, "0")


def test_log_tells_what_was_done(machine):
    full_spec(machine)
    bundle = machine.bundle("true", env=[asks("0")])
    bundle.output()
    line = json.loads(machine.log.read_text().splitlines()[-1])
    below = shutil.which(machine.runtime)
    assert line["msg"] == f"run {bundle.config}: example.com/accel=0, then {below}"
