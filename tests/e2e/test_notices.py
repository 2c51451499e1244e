# SPDX-License-Identifier: Apache-2.0
"""Agents whose machines are taken away, or that nobody wants any more."""

import pytest
from agents import Agent, submit
from conserved import outcomes
from env import wait_until, whole_lines
from load import items_of, show, wait_for_end
from metadata import Ec2Metadata, GceMetadata

# Fast until the file `hold` is there; those that begin then stay until it is gone, or they are told
# to go and `stay` is gone. Each begins where its last checkpoint was.
ITEM = """\
trap 'echo x >> FOLDER/asked; while [ -e FOLDER/stay ]; do sleep 0.1; done; exit 1' TERM
cd $TIDEMILL_CHECKPOINT
echo "$TIDEMILL_INDEX $TIDEMILL_ATTEMPT from $(cat n 2>/dev/null || echo 0)" >> FOLDER/begun
if [ -e FOLDER/hold ]; then echo 7 > n; echo $TIDEMILL_INDEX >> FOLDER/held; fi
while [ -e FOLDER/hold ]; do sleep 0.1; done
sleep 0.1
"""


@pytest.fixture
def agents(env, monkeypatch):
    """Makes agents without containers, in the environment that there is by then."""
    started = []
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)

    def make(name, *flags):
        agent = Agent(env.folder, name, env.servers, "--cpus", "2", *flags)
        started.append(agent)
        return agent

    yield make
    for agent in started:
        agent.kill9()


@pytest.fixture
def ec2(env, monkeypatch):
    cloud = Ec2Metadata(env.folder).say()
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    yield cloud
    cloud.kill9()


@pytest.fixture
def gce(monkeypatch):
    cloud = GceMetadata()
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    yield cloud
    cloud.close()
    assert cloud.refused == []


def spec_in(folder, **more):
    script = ITEM.replace("FOLDER", str(folder))
    return {
        "command": ["sh", "-c", script],
        "resources": {"cpus": 1},
        "checkpoint": {"every": "1h"},
        "grace": "4m",
        "canary": False,
        "retries": 0,
        **more,
    }


def held_by(http, name):
    machines = http.get("/v1/machines").json()["machines"]
    return sum(machine["items"] for machine in machines if machine["machine"] == name)


def exit_code(agent, timeout_s=60):
    return agent._process.wait(timeout_s)


def hold_two_and_a_tail(env, http, job):
    """Two items of m1 stay, and others wait behind them there."""

    def holds():
        running = show(http, job)["counts"]["running"]
        return running > 0 and held_by(http, "m1") > 10

    wait_until("m1 to have many", holds, 60)
    (env.folder / "stay").touch()
    (env.folder / "hold").touch()
    wait_until("two to hold", lambda: len(whole_lines(env.folder / "held")) == 2, 60)


def wait_for_the_tail(env, http, agent):
    """All that has not begun is given back while the two that run still do."""
    wait_until("the tail to be free", lambda: held_by(http, "m1") == 2, 60)
    wait_until("both to be asked", lambda: len(whole_lines(env.folder / "asked")) == 2, 60)
    assert held_by(http, "m1") == 2
    (env.folder / "stay").unlink()
    assert exit_code(agent) == 0


# The items that are asked to end have minutes for it, so that a test does not race with them.
LONG_GRACE = "agent.notice_grace=5m"


def test_a_spot_notice_gives_the_tail_back_at_once_and_costs_no_attempt(env, agents, ec2, times):
    times(LONG_GRACE)
    http = env.server("--session-seconds", "30", *env.objects_flags).http
    m1 = agents("m1", "--cloud", "aws").start()
    items = 300
    job = submit(http, spec_in(env.folder), items)
    hold_two_and_a_tail(env, http, job)
    ec2.say(spot_in_s=300)
    wait_for_the_tail(env, http, m1)
    assert m1.events("agent.left")
    agents("m2").start()
    (env.folder / "hold").unlink()
    shown = wait_for_end(http, job, 120)
    assert shown["counts"]["succeeded"] == items, shown
    assert outcomes(env) == items
    assert {item["outcome"]["attempt"] for item in items_of(http, job)} == {1}
    # The two that were told to go have gone on where they were.
    words = [line.split() for line in (env.folder / "begun").read_text().splitlines()]
    assert len([line for line in words if line[3] == "7"]) == 2


def test_a_machine_that_is_taken_away_does_not_join_again(env, agents, ec2):
    http = env.server().http
    m1 = agents("m1", "--cloud", "aws").start()
    ec2.say(spot_in_s=100)
    assert exit_code(m1) == 0
    m1._spawn(m1._command)
    wait_until("it to say so", lambda: m1.events("agent.not_joining"), 60)
    assert http.get("/v1/machines").json()["machines"] == []
    assert m1.terminate() == 0


def test_a_rebalance_lets_what_runs_end_and_takes_no_more(env, agents, ec2):
    http = env.server("--session-seconds", "30", *env.objects_flags).http
    m1 = agents("m1", "--cloud", "aws").start()
    items = 300
    job = submit(http, spec_in(env.folder), items)
    hold_two_and_a_tail(env, http, job)
    ec2.say(rebalance=True)
    wait_until("the tail to be free", lambda: held_by(http, "m1") <= 2, 60)
    assert m1._process.poll() is None
    begun = len((env.folder / "begun").read_text().splitlines())
    (env.folder / "hold").unlink()
    assert exit_code(m1) == 0
    # Those that ran have ended well, and no other was begun.
    assert len((env.folder / "begun").read_text().splitlines()) == begun
    wait_until("all to be told", lambda: show(http, job)["counts"]["succeeded"] == begun, 60)
    assert outcomes(env) == begun


def test_a_preempted_machine_of_google_leaves(env, agents, gce, times):
    times(LONG_GRACE)
    http = env.server("--session-seconds", "30", *env.objects_flags).http
    m1 = agents("m1", "--cloud", "gcp").start()
    job = submit(http, spec_in(env.folder), 300)
    hold_two_and_a_tail(env, http, job)
    gce.change("instance/preempted", "TRUE")
    wait_for_the_tail(env, http, m1)
    assert m1.events("agent.left")


def test_a_machine_that_nobody_wants_is_ended_by_its_group(env, agents, gce):
    server = env.server()
    off = env.folder / "off"
    m1 = agents("m1", "--cloud", "gcp", "--give-up", "3s", "--power-off", f"touch {off}").start()
    server.kill9()
    wait_until("its group to be asked", lambda: gce.deleted, 60)
    assert gce.deleted == [{"instances": ["zones/us-central1-b/instances/mill-x1"]}]
    wait_until("the agent to say so", lambda: m1.events("machine.ended_by_group"))
    # The group has a while for it before the machine powers itself off.
    assert not off.exists()


def test_a_machine_that_never_reached_a_server_powers_itself_off(env, agents, gce):
    server = env.server()
    server.kill9()
    del gce.values["instance/attributes/created-by"]
    off = env.folder / "off"
    m1 = agents("m1", "--cloud", "gcp", "--give-up", "3s", "--power-off", f"touch {off}")
    m1._spawn(m1._command)
    assert exit_code(m1, 60) == 0
    assert off.exists()
    assert m1.events("agent.gave_up") and not m1.events("agent.joined")
    assert m1.events("machine.not_ended_by_group")
