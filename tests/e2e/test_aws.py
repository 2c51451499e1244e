# SPDX-License-Identifier: Apache-2.0
"""Machines of AWS, from none to many and back, while they are taken away and servers die."""

import os
import random
import time

import pytest
from agents import submit
from conserved import Sampler, outcomes
from ec2 import Certificate, Ec2
from env import wait_until
from load import items_of, show

GROUP = "tidemill-default-spot"
NOTICE_S = 12
SLOTS = 2


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
        "idle": "2s",
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


def is_given_back(env, instance, tail):
    return not set(tail_of(env, instance)) & set(tail)


def waits(env, tail):
    """How many of them nobody has taken yet: others first do what they hold."""
    rows = env.sql("select chunk, ~ (done | leased | parked | resting) from chunk").split()
    free = {int(chunk): bits for chunk, bits in (row.split("|") for row in rows)}
    return sum(free[chunk][offset] == "1" for chunk, offset in tail)


@pytest.mark.alone
def test_interruptions_and_dead_servers_lose_nothing_and_nothing_is_left_billing(env, aws):
    """From no machine to no machine; a third of them is taken away, and a server is killed."""
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
    spec = {"command": ["sleep", "0.5"], "resources": {"cpus": 1}, "retries": 0}
    job = submit(http, spec, items)
    sampler = Sampler(env.conninfo)
    sampler.start()
    wait_until("all machines to work", lambda: joined(env) >= 6, 60)
    took, taken = [], []
    for instance in dice.sample(sorted(aws.running), 2):
        tail = wait_until("it to hold a tail", lambda name=instance: tail_of(env, name), 60)
        aws.running[instance].interrupt(NOTICE_S)
        begin = time.monotonic()
        wait_until("the tail back", lambda n=instance, t=tail: is_given_back(env, n, t), 60)
        took.append(time.monotonic() - begin)
        taken.append(1 - waits(env, tail) / len(tail))
        time.sleep(dice.uniform(0, 1))
        victim = dice.choice(servers)
        victim.kill9()
        victim.start()
    print(
        "tails came back after", [f"{each:.2f} s" for each in took], "and were then taken by", taken
    )
    wait_until("the job to end", lambda: show(http, job)["state"] == "finished", 240)
    counts = show(http, job)["counts"]
    assert counts["succeeded"] == items, counts
    # One that moto has made in place of another, and nobody has ordered, is ended after 5 minutes.
    wait_until("all machines to be gone", lambda: is_empty(aws), 420)
    sampler.finish()
    assert sampler.breaches == []
    assert outcomes(env) == items
    # What was interrupted lost no attempt.
    assert {item["outcome"]["attempt"] for item in items_of(http, job)} == {1}
    assert max(took) < 2
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
    time.sleep(3)
    assert len(aws.moto.instances()) == launched
