# SPDX-License-Identifier: Apache-2.0
"""Machines of AWS, from none to many and back, while they are taken away and servers die."""

import os
import random

import pytest
from agents import submit
from conserved import Sampler, outcomes
from ec2 import Certificate, Ec2
from env import wait_until
from load import items_of, wait_for_end
from machines import BILLED_AT_LEAST_S, wait_for_rounds

GROUP = "tidemill-default-spot"
SLOTS = 2
# The first ones are fast, so that leases are long; all others stay until the file is gone.
ITEM = "sleep 0.1; while [ $TIDEMILL_INDEX -ge 60 -a -e FOLDER/hold ]; do sleep 0.1; done"


@pytest.fixture
def aws(env, moto):
    cloud = Ec2(moto, env.folder, Certificate(env.folder), "spot")
    yield cloud
    cloud.close()
    assert cloud.errors == []


def start_server(env, cloud):
    flags = ["--aws-certificates", str(cloud.certificate.path), "--session-seconds", "10"]
    server = env.server(*flags)
    cloud.servers.append(server)
    return server


def make_pool(http, cloud, **more):
    settings = {
        "provider": "aws",
        "shape": {"cpus": SLOTS, "memory": "1GiB"},
        "spot": True,
        "price": 3.6,
        "on_demand": 7.2,
        "max": 6,
        "idle": "1s",
        "billed_at_least": BILLED_AT_LEAST_S,
        "options": cloud.moto.options(),
        **more,
    }
    assert http.request("PUT", "/v1/pools/spot", {"policy": {}}).status in (200, 201)
    answer = http.request("PUT", "/v1/pools/spot/machines", settings)
    assert answer.status == 200, answer.body


def is_empty(cloud):
    group = cloud.moto.group(GROUP)
    return not cloud.moto.there() and group["DesiredCapacity"] == 0 and not group["Instances"]


def tail_of(env, instance):
    """What the leases of the machine owe beyond what it can run at once, as chunk and offset."""
    rows = env.sql(
        "select l.chunk, l.mine from lease l join machine m on m.session_id = l.session_id"
        f" where m.provider_id = '{instance}'"
    ).split()
    owed = []
    for row in rows:
        chunk, bits = row.split("|")
        owed += [(int(chunk), offset) for offset, bit in enumerate(bits) if bit == "1"]
    return owed[SLOTS:]


def with_tails(env, aws):
    """Instances whose machines hold a tail. A thread adds and removes instances meanwhile."""
    return sorted(instance for instance in list(aws.running) if tail_of(env, instance))


def is_given_back(env, instance, tail):
    return not set(tail_of(env, instance)) & set(tail)


def test_interruptions_and_dead_servers_lose_nothing_and_nothing_is_left_billing(env, aws, times):
    """From no machine to no machine; a third of them is taken away, and a server is killed."""
    # An instance that moto makes in place of another, and nobody has ordered, is ended soon.
    times("server.aws_unordered=15s")
    seed = int(os.environ.get("TIDEMILL_AWS_SEED", "1"))
    dice = random.Random(seed)
    servers = [start_server(env, aws), start_server(env, aws)]
    http = servers[0].http
    make_pool(http, aws, steps={"1": 6})
    group = aws.moto.group(GROUP)
    assert group["DesiredCapacity"] == 0
    policy = group["MixedInstancesPolicy"]
    assert policy["InstancesDistribution"]["SpotAllocationStrategy"] == "price-capacity-optimized"
    aws.start()
    items = int(os.environ.get("TIDEMILL_AWS_ITEMS", "1200"))
    hold = env.folder / "hold"
    hold.touch()
    script = ITEM.replace("FOLDER", str(env.folder))
    spec = {"command": ["sh", "-c", script], "resources": {"cpus": 1}, "retries": 0, "canary": 0}
    job = submit(http, spec, items)
    sampler = Sampler(env.conninfo)
    sampler.start()
    wait_until("all machines to work", lambda: joined(env) >= 6, 60)
    for _ in range(2):
        holders = wait_until("one to hold a tail", lambda: with_tails(env, aws), 60)
        instance = dice.choice(holders)
        tail = tail_of(env, instance)
        machine = aws.running[instance]
        machine.give_notice()
        wait_until("the tail back", lambda n=instance, t=tail: is_given_back(env, n, t), 60)
        victim = dice.choice(servers)
        victim.kill9()
        victim.start()
        assert machine.agent.wait(120) == 0, "it leaves before it is taken"
        aws.take(instance)
    hold.unlink()
    counts = wait_for_end(http, job, 240)["counts"]
    assert counts["succeeded"] == items, counts
    wait_until("all machines to be gone", lambda: is_empty(aws), 180)
    sampler.finish()
    assert sampler.breaches == []
    assert outcomes(env) == items
    # What was interrupted lost no attempt.
    assert {item["outcome"]["attempt"] for item in items_of(http, job)} == {1}
    # What AWS has is looked at each few seconds.
    wait_until("the servers to know", lambda: live_rows(env) == 0, 60)


def live_rows(env):
    return int(env.sql("select count(*) from machine where state < 4"))


def joined(env):
    return int(env.sql("select count(*) from machine where state = 2"))


def test_launches_that_never_join_end_and_the_pool_says_why(env, aws):
    server = start_server(env, aws)
    make_pool(server.http, aws, boot_limit="3s", max=1)
    aws.comes_up = lambda instance: False
    aws.start()
    job = submit(server.http, {"command": ["true"], "resources": {"cpus": 1}}, 10)

    def is_protected():
        now = server.http.get("/v1/pools/spot").json()["now"]
        return now.get("hold") == "protected" and now["never_joined"] == 3

    wait_until("the pool to be protected", is_protected, 120)
    why = server.http.get(f"/v1/jobs/{job}/why").json()
    assert "joined" in str(why), why
    wait_until("nothing to be left", lambda: is_empty(aws), 60)
    launched = len(aws.moto.instances())
    wait_for_rounds(env)
    assert len(aws.moto.instances()) == launched
