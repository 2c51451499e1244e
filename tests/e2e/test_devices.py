# SPDX-License-Identifier: Apache-2.0
"""Devices of CDI specs, given to items by tidemill-runtime below a real Docker Engine.

The devices are real ones of the kernel (null, zero and so on) under other names. The spec mounts a
folder of its own with each device: whoever has the device can make its lock there, which is how an
item finds out that somebody else has it too. TIDEMILL_DEVICE_ITEMS=10000 is the whole form of the
test that two items never share one.
"""

import json
import os
import pathlib
import stat
import time
from collections import Counter

import pytest
import test_images
from agents import Agent, submit
from env import binaries, wait_until
from load import items_of, show, wait_for_end
from with_docker import DockerEngine

ITEMS = int(os.environ.get("TIDEMILL_DEVICE_ITEMS", "400"))
KIND = "example.com/accel"
# Of the driver `mem`, which every kernel has: null, zero, full, random, urandom.
MINORS = (3, 5, 7, 8, 9, 3, 5, 7)
SHELL = {"image": "tidemill-test/alpine-like", "canary": 0, "retries": 0}
NEEDS = {"cpus": 1, "memory": "32MiB", "devices": {KIND: 1}}

# Exactly one device, the one that it is told of, and nobody else has it.
ALONE = """
set -e
set -- /dev/accel*
test $# = 1
test -c "$1"
n=${1#/dev/accel}
test "$TIDEMILL_DEVICES" = "example.com/accel=a$n"
test "$ACCEL" = "a$n"
test -z "$TIDEMILL_CDI"
mkdir /lock/held || { echo "two have $1"; exit 99; }
head -c 16 "$1" > /dev/null
echo "$TIDEMILL_JOB $TIDEMILL_INDEX" >> /lock/ran
rmdir /lock/held
"""


class Accelerators:
    """Device nodes, and a spec that names them."""

    def __init__(self, folder: pathlib.Path, count: int) -> None:
        self.folder = folder
        self.specs = folder / "cdi"
        self.count = count
        self.specs.mkdir(parents=True)
        for index in range(count):
            self.make(index)
            (folder / f"lock{index}").mkdir()
        self.write()

    def node(self, index: int) -> pathlib.Path:
        return self.folder / f"node{index}"

    def make(self, index: int) -> None:
        os.mknod(self.node(index), 0o666 | stat.S_IFCHR, os.makedev(1, MINORS[index]))

    def write(self) -> None:
        devices = [
            {
                "name": f"a{index}",
                "containerEdits": {
                    "env": [f"ACCEL=a{index}"],
                    "deviceNodes": [
                        {"path": f"/dev/accel{index}", "hostPath": str(self.node(index))}
                    ],
                    "mounts": [
                        {
                            "hostPath": str(self.folder / f"lock{index}"),
                            "containerPath": "/lock",
                            "options": ["bind", "rw"],
                        }
                    ],
                },
            }
            for index in range(self.count)
        ]
        spec = {"cdiVersion": "0.6.0", "kind": KIND, "devices": devices}
        (self.specs / "accel.json").write_text(json.dumps(spec))

    def ran(self, index: int) -> list:
        """The items that have had it, in their order."""
        file = self.folder / f"lock{index}" / "ran"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def flags(self) -> tuple:
        return ("--cdi-folder", str(self.specs))


@pytest.fixture(scope="module")
def _cdi(tmp_path_factory):
    """Where the runtime looks for specs; each test puts its own there."""
    return tmp_path_factory.mktemp("devices")


@pytest.fixture(scope="module")
def _device_engine(_cdi):
    """An Engine with tidemill-runtime."""
    config = _cdi / "runtime.yaml"
    config.write_text(f"cdi-folders: [{_cdi}/now/cdi]\n")
    wrapper = _cdi / "runtime"
    program = binaries() / "tidemill-runtime"
    wrapper.write_text(f'#!/bin/sh\nTIDEMILL_RUNTIME_CONFIG={config} exec {program} "$@"\n')
    wrapper.chmod(0o755)
    with DockerEngine(runtimes={"tidemill": str(wrapper)}) as engine:
        engine.start()
        test_images.make_all(engine.socket, debian=False)
        yield engine


@pytest.fixture
def docker(_device_engine):
    yield _device_engine
    for name in _device_engine.containers("tidemill.agent"):
        _device_engine.remove(name)
    assert _device_engine.wrong() == []


@pytest.fixture
def accelerators(_cdi, docker, tmp_path):
    """Makes a number of them."""
    link = _cdi / "now"

    def make(count):
        made = Accelerators(tmp_path / "accelerators", count)
        link.unlink(missing_ok=True)
        link.symlink_to(made.folder)
        return made

    return make


@pytest.fixture(autouse=True)
def _looks_often(times):
    """Agents look at their devices more often than every half minute."""
    times("agent.device_rest=500ms")


def sh(script, **more):
    spec = {**SHELL, "resources": NEEDS, "command": ["busybox", "sh", "-c", script]}
    return {**spec, **more}


def machine_of(http, name="m1"):
    return {each["machine"]: each for each in http.get("/v1/machines").json()["machines"]}[name]


def said_by(http, name="m1"):
    """What a machine says of itself; nothing until it has."""
    return machine_of(http, name).get("status", {}).get("engine", "")


def test_two_items_never_share_a_device(http, fleet, accelerators):
    """Jobs compete, so that devices go from one's containers to another's again and again."""
    made = accelerators(8)
    fleet("m1", "--cpus", "8", "--memory", "4GiB", *made.flags)
    names = [f"a{index}" for index in range(8)]
    assert machine_of(http)["resources"]["devices"] == {KIND: {"count": 8, "ids": names}}
    begin = time.monotonic()
    # A few in containers of their own: each of these binds a device anew.
    jobs = {submit(http, sh(ALONE, mode="container"), 16, name="once"): 16}
    count = 24
    for number in range(count):
        share = (ITEMS - 16) // count + (number < (ITEMS - 16) % count)
        jobs[submit(http, sh(ALONE), share, name=f"warm{number}")] = share
    for job, items in jobs.items():
        shown = wait_for_end(http, job, 1800)
        assert shown["counts"]["succeeded"] == items, (shown, items_of(http, job)[:3])
    took = time.monotonic() - begin
    ran = [made.ran(index) for index in range(made.count)]
    assert all(ran), [len(each) for each in ran]
    # Each item once, on one device.
    seen = Counter(line for each in ran for line in each)
    assert len(seen) == ITEMS and set(seen.values()) == {1}, seen.most_common(3)
    for index, lines in enumerate(ran):
        job, item = lines[0].split()
        outcome = items_of(http, job)[int(item)]["outcome"]
        assert outcome["devices"] == f"{KIND}=a{index}", outcome
    changes = sum(
        first.split()[0] != second.split()[0]
        for each in ran
        for first, second in zip(each, each[1:])
    )
    print(f"\n{ITEMS} items on 8 devices in {took:.1f} s; a device changed its job {changes} times")
    assert changes >= 8


def test_an_item_has_its_device_and_no_other_of_the_machine(http, fleet, accelerators):
    made = accelerators(3)
    fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    resources = {**NEEDS, "devices": {KIND: 2}}
    script = 'test "$(echo /dev/accel*)" = "/dev/accel0 /dev/accel1"; ls /dev > /lock/seen'
    job = submit(http, sh("set -e\n" + script, resources=resources))
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 1, items_of(http, job)
    plain = submit(
        http, sh("ls /dev/accel* /lock 2>/dev/null; test $? != 0", resources={"cpus": 1})
    )
    assert wait_for_end(http, plain, 60)["counts"]["succeeded"] == 1, items_of(http, plain)


def named(*names):
    return {**NEEDS, "devices": {KIND: {"ids": list(names)}}}


def test_devices_are_had_by_their_names(http, fleet, accelerators):
    made = accelerators(3)
    fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    wait = "touch /lock/begun; while ! test -e /lock/go; do sleep 0.1; done\n"
    holder = submit(http, sh(wait + ALONE, resources=named("a1")), name="holder")
    begun = made.folder / "lock1" / "begun"
    wait_until("it to have a1", begun.exists, 60)
    same = submit(http, sh(ALONE, resources=named("a1")), 5, name="same")
    last = submit(http, sh(ALONE, resources=named("a2")), 10, name="last")
    assert wait_for_end(http, last, 60)["counts"]["succeeded"] == 10, items_of(http, last)
    assert [len(made.ran(index)) for index in range(3)] == [0, 0, 10]
    assert show(http, same)["counts"]["succeeded"] == 0, "a1 is held"
    (made.folder / "lock1" / "go").touch()
    for job, items in ((holder, 1), (same, 5)):
        assert wait_for_end(http, job, 60)["counts"]["succeeded"] == items, items_of(http, job)
    assert [len(made.ran(index)) for index in range(3)] == [0, 6, 10]
    other = submit(http, sh(ALONE, resources=named("a9")), name="other")
    says = lambda: json.dumps(http.get(f"/v1/jobs/{other}/why").json())  # noqa: E731
    wait_until("why to name both", lambda: "named a9" in says() and "named a0, a1" in says(), 60)


def test_a_device_that_fails_leaves_the_machine_and_comes_back(http, fleet, accelerators):
    made = accelerators(2)
    agent = fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    # The first two items stay until they are told to go; the third finds no device.
    wait = "touch /lock/begun; while ! test -e /lock/go; do sleep 0.1; done\n"
    first = submit(http, sh(wait + ALONE), 2, name="first")
    begun = [made.folder / f"lock{index}" / "begun" for index in range(2)]
    wait_until("both to run", lambda: all(file.exists() for file in begun), 60)
    made.node(0).unlink()
    wait_until("the failure to be seen", lambda: agent.events("devices.left_out"), 60)
    reason = f"it does not give out {KIND}=a0: there is no {made.node(0)}"
    wait_until("the machine to say so", lambda: reason in said_by(http), 60)
    second = submit(http, sh(ALONE), 30, name="second")
    assert show(http, first)["counts"]["running"] == 2, "what runs goes on"
    for index in range(2):
        (made.folder / f"lock{index}" / "go").touch()
    assert wait_for_end(http, first, 60)["counts"]["succeeded"] == 2, items_of(http, first)
    assert wait_for_end(http, second, 60)["counts"]["succeeded"] == 30, items_of(http, second)
    assert (len(made.ran(0)), len(made.ran(1))) == (1, 31)
    made.make(0)
    wait_until("it to be back", lambda: agent.events("devices.well"), 60)
    wait_until("it to say so", lambda: reason not in said_by(http), 60)
    # Both at a time, again.
    both = "touch /lock/third; while ! test -e /lock/on; do sleep 0.1; done\n"
    third = submit(http, sh(both + ALONE), 2, name="third")
    locks = [made.folder / f"lock{index}" for index in range(2)]
    wait_until("both to run", lambda: all((lock / "third").exists() for lock in locks), 60)
    for lock in locks:
        (lock / "on").touch()
    assert wait_for_end(http, third, 60)["counts"]["succeeded"] == 2


def test_a_check_of_ones_own_has_the_last_word(http, fleet, accelerators, tmp_path):
    made = accelerators(2)
    check = tmp_path / "check"
    check.write_text(f"#!/bin/sh\necho $1 >> {tmp_path}/checked\ntest $1 != {KIND}=a1\n")
    check.chmod(0o755)
    flags = ("--cpus", "4", "--memory", "4GiB", "--device-check", str(check))
    agent = fleet("m1", *flags, *made.flags)
    wait_until("the failure to be seen", lambda: agent.events("devices.left_out"), 60)
    job = submit(http, sh(ALONE), 10)
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 10, items_of(http, job)
    assert (len(made.ran(0)), len(made.ran(1))) == (10, 0)
    assert set((tmp_path / "checked").read_text().split()) == {f"{KIND}=a0", f"{KIND}=a1"}


def test_an_engine_that_cannot_give_them_says_what_to_do(env, http, fleet, accelerators, _engine):
    made = accelerators(1)
    plain = Agent(env.folder, "m1", env.servers, "--cpus", "2", *made.flags, docker=_engine.socket)
    try:
        plain.start()
        says = "run on the machine: sudo tidemill-runtime install --docker"
        wait_until("it to say so", lambda: says in said_by(http), 60)
        job = submit(http, sh(ALONE), 3)
        fleet("m2", "--cpus", "2", *made.flags)
        assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 3, items_of(http, job)
        assert {each["outcome"]["machine"] for each in items_of(http, job)} == {"m2"}
        assert plain.events("container.not_opened") == []
    finally:
        plain.kill9()


def test_a_restart_of_the_agent_leaves_items_with_their_devices(http, fleet, accelerators, docker):
    made = accelerators(2)
    agent = fleet("m1", "--cpus", "4", "--memory", "4GiB", *made.flags)
    wait = "touch /lock/begun; while ! test -e /lock/go; do sleep 0.1; done\n"
    first = submit(http, sh(wait + ALONE), 1, name="first")
    # A container that has met no agent yet is not taken over.
    begun = [made.folder / f"lock{index}" / "begun" for index in range(2)]
    wait_until("it to run", lambda: any(file.exists() for file in begun), 60)
    before = docker.running("tidemill.agent")
    agent.kill9()
    agent.start()
    wait_until("it to be adopted", lambda: agent.events("container.adopted"), 60)
    second = submit(http, sh(ALONE), 20, name="second")
    assert wait_for_end(http, second, 60)["counts"]["succeeded"] == 20, items_of(http, second)
    assert before <= docker.running("tidemill.agent")
    # All on the other one.
    assert sorted(len(made.ran(index)) for index in range(2)) == [0, 20]
    for index in range(2):
        (made.folder / f"lock{index}" / "go").touch()
    assert wait_for_end(http, first, 60)["counts"]["succeeded"] == 1, items_of(http, first)
    assert sorted(len(made.ran(index)) for index in range(2)) == [1, 20]


def test_a_device_that_a_flag_names_is_not_there_twice(http, fleet, accelerators):
    made = accelerators(2)
    broken = made.specs / "broken.yaml"
    broken.write_text("cdiVersion: 0.6.0\nkind: nonsense\n")
    device = f"example.com/other={made.node(0)}"
    agent = fleet("m1", "--cpus", "2", "--device", device, *made.flags)
    devices = machine_of(http)["resources"]["devices"]
    assert devices == {KIND: {"count": 1, "ids": ["a1"]}, "example.com/other": 1}, devices
    (trouble,) = agent.events("cdi.trouble")
    assert str(broken) in trouble["reason"], trouble


def test_no_device_is_taken_from_specs_if_a_flag_says_so(http, fleet, accelerators):
    made = accelerators(1)
    fleet("m1", "--cpus", "2", "--no-cdi", *made.flags)
    assert KIND not in machine_of(http)["resources"].get("devices", {})
