# SPDX-License-Identifier: Apache-2.0
"""How machines, containers and their disks end, and what becomes of items then."""

import os
import pathlib
import signal
import subprocess
import uuid

import pytest
from agents import submit
from env import found_below, wait_until
from load import items_of, show, wait_for_end
from test_items import ON_M1, causes_of, machines, sh


# Others may run these tests on the same machine.
POLITE, RUDE, BEREAVED, FATAL = (f"item-{uuid.uuid4()}" for _ in range(4))


def marked(word):
    """The processes of this machine with that word in their command line."""
    found = subprocess.run(["pgrep", "-f", word], stdout=subprocess.PIPE, check=False)
    return [int(each) for each in found.stdout.split()]


# --- a machine is taken away ---


def test_a_drain_asks_items_to_end_and_kills_those_that_do_not(http, fleet, docker):
    agent = fleet("m1", "--cpus", "2")
    rude, stay = "trap '' TERM HUP", f"while :; do sleep 1; done # {RUDE}"
    # Its mark is that of a child, which begins when the trap is set.
    first, last = POLITE[:20], POLITE[20:]
    child = f'sh -c "sleep 0.1; : ${{first}}{last}"'
    scripts = [
        f"trap 'echo asked; exit 0' TERM; first={first}; while :; do {child}; done",
        f'{rude}; (busybox setsid sh -c "{rude}; {stay}" &); {stay}',
    ]
    spec = sh("{item}", grace="2s", retries=0, canary=0)
    job = submit(http, spec, scripts)
    wait_until("both to run", lambda: marked(POLITE) and len(marked(RUDE)) >= 2, 60)
    assert agent.terminate() == 0
    assert not marked(POLITE) and not marked(RUDE)
    assert not docker.containers("tidemill.agent")
    wait_until("both to wait", lambda: show(http, job)["counts"]["waiting"] == 2, 60)
    told = {each["item"]: each["outcome"] for each in items_of(http, job)}
    assert {each["cause"] for each in told.values()} == {"interrupted"}, told
    assert told[0]["exit"] == 0 and told[1]["exit"] == 137, told
    # It cost nothing: without retries, both run elsewhere.
    fleet("m2", "--cpus", "2")
    wait_until("both to run", lambda: marked(POLITE) and marked(RUDE), 60)


# --- a container is taken away ---


def init_of(item):
    """The init of the container in which a process of an item runs."""
    status = pathlib.Path(f"/proc/{item}/status").read_text()
    init = int(status.split("PPid:")[1].split()[0])
    assert b"init" in pathlib.Path(f"/proc/{init}/cmdline").read_bytes()
    return init


def release(item):
    """Makes the file `go` in the scratch folder of an item that waits for it."""
    process = pathlib.Path(f"/proc/{item}")
    variables = process.joinpath("environ").read_bytes().split(b"\0")
    scratch = next(text for text in variables if text.startswith(b"TIDEMILL_SCRATCH="))
    folder = scratch.split(b"=", 1)[1].decode().lstrip("/")
    process.joinpath("root", folder, "go").touch()


def test_an_item_whose_init_was_killed_begins_anew_and_it_costs_nothing(http, fleet):
    agent = fleet("m1", "--cpus", "1")
    stay = 'while ! test -e "$TIDEMILL_SCRATCH/go"; do sleep 0.1; done'
    job = submit(http, sh(f"{stay} # {BEREAVED}", retries=0), 1)
    item = wait_until("it to run", lambda: marked(BEREAVED), 60)[0]
    os.kill(init_of(item), signal.SIGKILL)  # as the kernel does when memory is full
    wait_until("the agent to see it", lambda: agent.events("container.gone"), 60)
    others = lambda: [pid for pid in marked(BEREAVED) if pid != item]  # noqa: E731
    release(wait_until("it to run again", others, 60)[0])
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 1
    assert items_of(http, job)[0]["outcome"]["attempt"] == 1


def test_an_item_that_has_its_init_killed_again_and_again_has_failed(http, fleet):
    agent = fleet("m1", "--cpus", "1")
    job = submit(http, sh(f"echo runs; while :; do sleep 1; done # {FATAL}", retries=0), 1)
    for number in range(1, 4):
        # What it wrote is here, so the agent knows that it has begun.
        runs = lambda: agent.written().count(b"runs\n") == number
        wait_until("it to run", runs, 60)
        os.kill(init_of(marked(FATAL)[0]), signal.SIGKILL)
        gone = lambda: len(agent.events("container.gone")) == number
        wait_until("the agent to see it", gone, 60)
    wait_for_end(http, job, 60)
    assert len(agent.events("container.gone")) == 3
    told = items_of(http, job)[0]["outcome"]
    assert (told["cause"], told["exit"]) == ("failed", 137), told


# --- the disk is full ---


@pytest.fixture
def small_disk(env):
    """A state folder for m1 on a disk of 64 MiB. By its name items see that they are there."""
    state = env.folder / "m1-state"
    state.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", state.name, str(state)], check=True)
    yield state
    subprocess.run(["umount", "-l", str(state)], check=True)


# What an item does on m1 alone, with how much it writes there.
FILLS = {
    "a stranger": "true",
    # What the machine is too slow to keep of so much at once comes after it.
    "logs": "busybox head -c 60800000 /dev/urandom"
    "; while sleep 1; do busybox head -c 500000 /dev/urandom; done",
    "scratch": "busybox dd if=/dev/zero of=$TIDEMILL_SCRATCH/f bs=1M count=58",
}


@pytest.mark.parametrize("who", list(FILLS))
def test_a_full_disk_costs_items_nothing(http, fleet, small_disk, times, who):
    times("agent.fault_rest=10s")
    first = fleet("m1", "--cpus", "1")
    script = f"if {ON_M1}; then {FILLS[who]}; sleep 600; fi"
    job = submit(http, sh(script, retries=0, canary=0, grace="1s"), 6)
    wait_until("an item to run", lambda: show(http, job)["counts"]["running"], 60)
    if who == "a stranger":
        (small_disk / "filler").write_bytes(bytes(60 << 20))
    wait_until("the fault", lambda: first.events("machine.fault"), 90)
    wait_until("all to wait", lambda: show(http, job)["counts"]["waiting"] == 6, 60)
    says = "it takes no items: no space left on device"
    wait_until("it to say so", lambda: says in machines(http)["m1"]["status"]["engine"])
    second = fleet("m2", "--cpus", "2")
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 6
    causes = causes_of(http, job)
    assert causes["machine-fault"] == 1 and causes["failed"] == 0, causes
    if who == "scratch":
        return  # its room came back with its end; what is below is the same for all
    # Somebody makes room: after its rest it takes items again.
    (small_disk / "filler").unlink(missing_ok=True)
    for pack in found_below(small_disk / "logs", "*/*.pack"):
        os.truncate(pack, 0)
    second.terminate()
    job = submit(http, sh("true"), 3)
    assert wait_for_end(http, job, 90)["counts"]["succeeded"] == 3
    assert len(first.events("machine.fault")) == 1
