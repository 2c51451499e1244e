# SPDX-License-Identifier: Apache-2.0
"""tidemill-runtime as people install it: under a Docker Engine, containerd and podman; its own
commands; and what it costs."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import figures
import pytest
import test_images
from bundles import Machine
from costs import run_measured
from env import binaries, wait_until
from with_docker import DockerEngine

IMAGE = "tidemill-test/runtime"
LOOK = "ls /dev; echo --; env"


@pytest.fixture
def machine(tmp_path):
    found = Machine(tmp_path)
    found.spec(
        {
            "0": {"deviceNodes": [found.node("accel0")], "env": ["ACCEL=0"]},
            "1": {"deviceNodes": [found.node("ruled", permissions="r")]},
            "gone": {"deviceNodes": [{"path": "/dev/no-such-accel"}]},
        }
    )
    return found


def ours(machine, *words, **more):
    return subprocess.run(
        [str(binaries() / "tidemill-runtime"), *map(str, words)],
        env=machine.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
        **more,
    )


def added(ours: str, plain: str):
    """What LOOK sees more in the one than in the other, where nothing may be missing: nodes, and
    variables but for the name, which no two containers share."""
    sights = [[set(part.split()) for part in text.split("--")] for text in (ours, plain)]
    (nodes, variables), (plain_nodes, plain_variables) = sights
    assert plain_nodes <= nodes
    more = {each for each in variables - plain_variables if not each.startswith("HOSTNAME=")}
    return nodes - plain_nodes, more


class Engine(DockerEngine):
    """One with a file of settings, which it reads again when it is told to."""

    def __init__(self) -> None:
        # One without a bridge removes that of another.
        super().__init__(own_network=True)
        self.settings = self.folder / "daemon.json"
        self.settings.write_text('{\n  "bridge": "none",\n  "iptables": false\n}\n')

    def _words(self):
        return [f"--config-file={self.settings}"]

    def reload(self) -> None:
        os.kill(self._process.pid, signal.SIGHUP)

    def runtimes(self):
        return json.loads(test_images.call(self.socket, "GET", "/info"))["Runtimes"]

    def cli(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            ["docker", "-H", f"unix://{self.socket}", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )


@pytest.fixture
def engine(machine, monkeypatch):
    monkeypatch.setenv("TIDEMILL_RUNTIME_CONFIG", str(machine.config))
    with Engine() as started:
        started.start()
        test_images.import_image(started.socket, IMAGE, test_images.busybox_tar())
        yield started


def test_docker_runs_it_from_its_installation_to_its_end(machine, engine):
    before = engine.settings.read_text()
    done = ours(machine, "install", "--docker", "--config", engine.settings)
    assert done.returncode == 0 and "systemctl reload docker" in done.stdout, done.stderr
    engine.reload()
    wait_until("the Engine to know it", lambda: "tidemill" in engine.runtimes())
    run = ["run", "--rm", "--network", "none", "--runtime", "tidemill"]
    plain = engine.cli("run", "--rm", "--network", "none", IMAGE, "sh", "-c", LOOK).stdout
    done = engine.cli(
        *run, "-e", "TIDEMILL_CDI=example.com/accel=0,example.com/accel=1", IMAGE, "sh", "-c", LOOK
    )
    assert done.returncode == 0, done.stderr
    assert added(done.stdout, plain) == ({"accel0", "ruled"}, {"ACCEL=0"})
    ruled = "busybox dd if=/dev/ruled of=/dev/null count=1 2>&1"
    done = engine.cli(*run, "-e", "TIDEMILL_CDI=example.com/accel=1", IMAGE, "sh", "-c", ruled)
    assert done.returncode == 0, done.stdout
    # Without a question it is runc.
    assert engine.cli(*run, IMAGE, "echo", "plain").stdout == "plain\n"
    refused_with_its_reason(engine, run)
    done = ours(machine, "uninstall", "--docker", "--config", engine.settings)
    assert done.returncode == 0, done.stderr
    assert engine.settings.read_text() == before
    engine.restart()
    assert "tidemill" not in engine.runtimes()


def refused_with_its_reason(engine, run):
    for name, why in {
        "7": "tidemill-runtime: no spec has the device example.com/accel=7; specs are looked for",
        "gone": "/dev/no-such-accel",
    }.items():
        done = engine.cli(*run, "-e", f"TIDEMILL_CDI=example.com/accel={name}", IMAGE, "true")
        assert done.returncode != 0
        assert why in done.stderr, done.stderr


def test_containerd_runs_it(machine, engine):
    address = f"{engine.folder}/exec/containerd/containerd.sock"
    root = machine.bundle("true").root
    program = str(binaries() / "tidemill-runtime")
    command = ["ctr", "--address", address, "--namespace", "tidemill-test", "run", "--rm"]
    command += ["--runc-binary", program, "--env", "PATH=/bin", "--rootfs"]

    def run(*words):
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=120, env=machine.environment
        )

    look = ["sh", "-c", "ls /dev/accel0; echo $ACCEL"]
    done = run("--env", "TIDEMILL_CDI=example.com/accel=0", str(root), "one", *look)
    assert done.stdout.split() == ["/dev/accel0", "0"], done.stderr
    done = run("--annotation", "cdi.k8s.io/a=example.com/accel=0", str(root), "two", *look)
    assert done.stdout.split() == ["/dev/accel0", "0"], done.stderr
    done = run("--env", "TIDEMILL_CDI=example.com/accel=7", str(root), "three", *look)
    assert done.returncode != 0 and "no spec has the device" in done.stderr, done.stderr


class Podman:
    """All that it keeps is in a folder; it knows tidemill-runtime as `tidemill`."""

    # conmon, which calls the runtime, gets no variables but these.
    CONF = """
[containers]
netns = "none"
default_ulimits = []
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
conmon_env_vars = ["PATH={path}", "TIDEMILL_RUNTIME_CONFIG={config}"]
[engine.runtimes]
tidemill = ["{program}"]
"""

    def __init__(self, machine, folder: str) -> None:
        self._folder = folder
        self.root = machine.bundle("true").root
        conf = machine.folder / "containers.conf"
        program = binaries() / "tidemill-runtime"
        path = os.environ["PATH"]
        conf.write_text(self.CONF.format(path=path, config=machine.config, program=program))
        self._environment = {**machine.environment, "CONTAINERS_CONF": str(conf)}
        self._command = ["podman", "--storage-driver", "vfs", "--root", f"{folder}/root"]
        self._command += ["--runroot", f"{folder}/run", "--tmpdir", f"{folder}/tmp"]

    def __call__(self, *words):
        command = [*self._command, *words]
        return subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=120
        )

    def run(self, runtime, flags, *command):
        rootfs = ["--rootfs", str(self.root)]
        return self("--runtime", runtime, "run", "--name", "one", *flags, *rootfs, *command)

    def containers(self):
        return self("ps", "--all", "--format", "{{.Names}} {{.Status}}").stdout

    def at_work(self):
        """A container's end is tidied up by a process that nobody waits for."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                if self._folder.encode() in path.read_bytes():
                    return True
        return False


@pytest.fixture
def podman(machine):
    # Of the folder of its sockets it takes no more than 50 letters.
    with tempfile.TemporaryDirectory() as folder:
        started = Podman(machine, folder)
        yield started
        done = started("rm", "--all", "--force", "--time", "0")
        assert done.returncode == 0, done.stderr
        wait_until("podman to be done", lambda: not started.at_work())


def test_podman_runs_it(podman):
    look = ["sh", "-c", LOOK]
    plain = podman.run("runc", ["--rm"], *look).stdout
    asks = {
        "a variable": ["--env", "TIDEMILL_CDI=example.com/accel=0"],
        "an annotation": ["--annotation", "cdi.k8s.io/x=example.com/accel=0"],
    }
    for how, flags in asks.items():
        done = podman.run("tidemill", ["--rm", *flags], *look)
        assert done.returncode == 0, (how, done.stderr)
        assert added(done.stdout, plain) == ({"accel0"}, {"ACCEL=0"}), how
    # Without a question it is runc. By its path it can be called without any file.
    by_path = str(binaries() / "tidemill-runtime")
    assert added(podman.run(by_path, ["--rm"], *look).stdout, plain) == (set(), set())


def test_podman_tells_why_not(podman):
    for name, why in {
        "7": "tidemill-runtime: no spec has the device example.com/accel=7; specs are looked for",
        "gone": "/dev/no-such-accel",
    }.items():
        asks = ["--env", f"TIDEMILL_CDI=example.com/accel={name}"]
        done = podman.run("tidemill", ["--rm", *asks], "true")
        assert done.returncode != 0 and why in done.stderr, done.stderr
        assert podman.containers() == ""


def test_podman_does_all_else_through_it(podman):
    """The container says which runtime it is of, so that no other command need be told."""
    asks = ["--env", "TIDEMILL_CDI=example.com/accel=0"]
    script = "trap 'exit 7' TERM; echo > /tmp/ready; while true; do sleep 0.1; done"
    done = podman.run("tidemill", ["--detach", *asks], "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert podman("exec", "one", "ls", "/dev/accel0").stdout == "/dev/accel0\n"
    assert podman("exec", "one", "sh", "-c", "exit 3").returncode == 3
    wait_until("the trap to be set", (podman.root / "tmp/ready").exists)
    done = podman("stop", "--time", "30", "one")
    assert done.returncode == 0, done.stderr
    assert podman.containers().startswith("one Exited (7)")
    # It asks once more when it is started once more.
    assert podman("start", "one").returncode == 0
    assert podman("exec", "one", "ls", "/dev/accel0").stdout == "/dev/accel0\n"
    assert podman("kill", "one").returncode == 0
    assert podman("wait", "one").stdout == "137\n"
    done = podman("rm", "one")
    assert done.returncode == 0, done.stderr
    assert podman.containers() == ""


def test_containerd_reads_what_is_installed(machine):
    config = machine.folder / "config.toml"
    config.write_text('version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "x"')
    before = config.read_bytes()
    done = ours(machine, "install", "--containerd", "--config", config, "--name", "accel")
    assert done.returncode == 0 and "systemctl restart containerd" in done.stdout, done.stderr
    words = ["containerd", "--config", str(config), "config", "dump"]
    dump = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    table = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.accel'
    assert f"[{table}]" in dump and f"[{table}.options]" in dump
    assert f'BinaryName = "{binaries() / "tidemill-runtime"}"' in dump
    done = ours(machine, "uninstall", "--containerd", "--config", config, "--name", "accel")
    assert done.returncode == 0, done.stderr
    assert config.read_bytes() == before


def test_crio_gets_a_file_of_its_own(machine):
    config = machine.folder / "crio.conf.d/50-x.conf"
    done = ours(machine, "install", "--crio", "--config", config)
    assert done.returncode == 0 and "systemctl restart crio" in done.stdout, done.stderr
    assert "[crio.runtime.runtimes.tidemill]" in config.read_text()
    assert ours(machine, "uninstall", "--crio", "--config", config).returncode == 0
    assert not config.exists()


def test_commands_say_what_they_do(machine):
    for words in ("", "cdi", "cdi list", "cdi generate", "cdi validate", "hook", "install"):
        done = ours(machine, *words.split(), "--help")
        assert done.returncode == 0 and "Example:" in done.stdout, words
    for words in ("cdi", "cdi lst", "cdi validate", "install", "install --docker --crio", "hook"):
        done = ours(machine, *words.split())
        assert done.returncode == 2 and done.stderr, words


def test_devices_are_listed(machine):
    done = ours(machine, "cdi", "list")
    names = [f"example.com/accel={name}" for name in ("0", "1", "gone")]
    assert done.stdout.splitlines() == names
    (machine.cdi / "wrong.json").write_text("{\n")
    done = ours(machine, "cdi", "list", "--json")
    found = json.loads(done.stdout)
    assert found["devices"] == names
    assert [trouble.partition(": ")[0] for trouble in found["troubles"]] == [
        f"{machine.cdi}/wrong.json"
    ]
    done = ours(machine, "cdi", "list", "--folder", machine.cdi / "none")
    says = f"no device is described in {machine.cdi}/none; see 'tidemill-runtime cdi generate'\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", says)


def test_specs_are_generated_and_validated(machine):
    output = machine.folder / "made.json"
    nodes = [machine.dev / "accel0", machine.dev / "ruled"]
    words = [word for node in nodes for word in ("--device", node)]
    words += ["--kind", "example.com/made"]
    done = ours(machine, "cdi", "generate", *words, "--output", output)
    assert done.returncode == 0, done.stderr
    assert ours(machine, "cdi", "generate", *words).stdout == output.read_text()
    done = ours(machine, "cdi", "validate", output)
    assert (done.returncode, done.stderr) == (0, "")
    shutil.copy(output, machine.cdi)
    done = ours(machine, "cdi", "list")
    assert "example.com/made=accel0\nexample.com/made=ruled\n" in done.stdout
    node = machine.dev / "accel0"
    bundle = machine.bundle("ls", str(node), env=["TIDEMILL_CDI=example.com/made=accel0"])
    assert bundle.output() == f"{node}\n"
    wrong = machine.folder / "wrong.yaml"
    wrong.write_text("cdiVersion: 0.6.0\nkind: a.com/b\ndevices:\n- name: '*'\n")
    done = ours(machine, "cdi", "validate", output, wrong)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{wrong}: line 4: devices[0]"), done.stderr
    done = ours(machine, "cdi", "generate", "--device", "/dev/no-such")
    assert done.returncode == 1 and "/dev/no-such" in done.stderr
    # This machine has neither of the drivers that are known.
    done = ours(machine, "cdi", "generate", "--driver-root", machine.folder)
    assert done.returncode == 1 and "--device" in done.stderr


@pytest.fixture
def below(machine):
    """A runtime that does nothing, below ours."""
    program = machine.folder / "below"
    program.write_bytes(test_images.noop_program())
    program.chmod(0o755)
    machine.configure(runtimes=[str(program)])
    return str(program)


def added_to_a_life(machine, below, count, spent):
    """What we add to create, start and delete together, each up to the exec of the runtime below,
    and what that takes alone; `spent` runs a command and gives what it took in ms."""
    # Annotations ask each time, so that the other runs what was edited before it.
    annotations = {"cdi.k8s.io/a": "example.com/accel=0"}
    calls = [["create", "--bundle", "{path}", "{id}"], ["start", "{id}"], ["delete", "{id}"]]
    program, rows = str(binaries() / "tidemill-runtime"), []
    for _ in range(count):
        each = machine.bundle("true", annotations=annotations)
        named = [[word.format(path=each.path, id=each.id) for word in call] for call in calls]
        ours, bare = ([spent(each, *call) for call in named] for each in (program, below))
        rows.append([*(a - b for a, b in zip(ours, bare)), sum(ours) - sum(bare), sum(bare)])
    medians = [round(statistics.median(column), 2) for column in zip(*rows)]
    print("\nms added by create, start, delete, in all; and bare:", medians)
    return [row[-2] for row in rows], [row[-1] for row in rows]


def test_it_adds_little_processor_time(machine, below):
    """To a container's whole life: less than twelve starts of a program that does nothing."""

    def spent(*words):
        seconds = run_measured(words, env=machine.environment, stdout=subprocess.DEVNULL)
        return seconds * 1000

    # The least of each: what else the machine does only ever adds.
    added_ms, bare_ms = map(min, added_to_a_life(machine, below, 20, spent))
    assert added_ms < 4 * bare_ms  # of three starts


@pytest.mark.long
def test_it_adds_less_than_5_ms(machine, below):
    def spent(*words):
        start = time.perf_counter()
        subprocess.run(words, env=machine.environment, stdout=subprocess.DEVNULL, check=True)
        return (time.perf_counter() - start) * 1000

    added_ms = [round(ms, 2) for ms in added_to_a_life(machine, below, 31, spent)[0]]
    figures.record("runtime_added_to_a_container", "ms", added_ms, maximum=5)
