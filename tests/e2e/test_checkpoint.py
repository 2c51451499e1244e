# SPDX-License-Identifier: Apache-2.0
"""Items go on where they were on a machine that is gone, with a real S3 server and containers."""

import pytest
from agents import submit
from env import found_below, wait_until
from held import HOLD, release_to_end
from load import items_of, show, wait_for_end

IMAGE = "tidemill-test/alpine-like"
# Counts from where it was until the test releases it, and notes where it began each time.
STEP = "n=$((n + 1)); echo $n > n.new && mv n.new n; sleep 0.05"
COUNT = f"""\
cd $TIDEMILL_CHECKPOINT
n=$(cat n 2>/dev/null || echo 0)
echo begin $n >> lines
trap 'exit 1' TERM
{HOLD.replace("sleep 0.05", STEP)}
cat lines > {{output}}
"""


@pytest.fixture
def http(env, s3):
    s3.bucket("ours")
    return env.server("--session-seconds", "10", "--objects", "s3://ours/tm").http


def counting(**more):
    return {
        "image": IMAGE,
        "command": ["sh", "-c", COUNT],
        "output": "s3://data/out/{index}",
        "canary": False,
        "resources": {"cpus": 0.25},
        "checkpoint": {"every": "1s"},
        **more,
    }


def checkpoints(s3):
    return found_below(s3.folder / "ours/tm/jobs", "**/checkpoints/*/saves/*.json")


def begins(bucket):
    lines = (bucket / "out/0").read_text().splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("begin")]


def test_an_agent_that_leaves_saves_first(http, fleet, s3):
    bucket = s3.bucket("data")
    first = fleet("m1", "--cpus", "0.25")
    # It is never saved by the clock: only when the machine has its notice.
    job = submit(http, counting(checkpoint={"every": "1h"}))
    wait_until("it to run", lambda: show(http, job)["counts"]["running"] == 1, 60)
    wait_until("it to count", lambda: counted(first) > 20, 60)
    assert checkpoints(s3) == []
    assert first.terminate(60) == 0
    assert len(checkpoints(s3)) == 1
    ended = release_to_end(http, job, fleet("m2", "--cpus", "0.25"))
    assert ended["counts"]["succeeded"] == 1, items_of(http, job)
    began = begins(bucket)
    assert len(began) == 2 and began[0] == 0 and began[1] > 20, began
    wait_until("its checkpoints to be deleted", lambda: checkpoints(s3) == [], 60)


def counted(agent):
    for file in found_below(agent.state / "data", "*/checkpoint/*/n"):
        try:
            return int(file.read_text() or 0)
        except FileNotFoundError:  # the item has just ended
            continue
    return 0


def test_an_agent_that_is_killed_loses_what_came_after_its_last_save(http, fleet, s3, docker):
    bucket = s3.bucket("data")
    first = fleet("m1", "--cpus", "0.25")
    job = submit(http, counting())
    wait_until("it to be saved", lambda: checkpoints(s3) and counted(first) > 30, 60)
    first.kill9()
    for name in docker.containers("tidemill.agent"):
        docker.remove(name)
    ended = release_to_end(http, job, fleet("m2", "--cpus", "0.25"), timeout_s=180)
    assert ended["counts"]["succeeded"] == 1, items_of(http, job)
    began = begins(bucket)
    assert began[0] == 0 and began[-1] > 0, began


@pytest.mark.parametrize("image", [IMAGE, "tidemill-test/user"])
def test_a_failure_goes_on_and_so_does_a_retry(http, fleet, s3, image):
    bucket = s3.bucket("data")
    script = (
        "cd $TIDEMILL_CHECKPOINT; n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) > n.new;"
        " mv n.new n; test $n -ge 3 && echo $n > {output}"
    )
    fleet("m1", "--cpus", "0.25")
    job = submit(
        http,
        counting(
            image=image,
            entrypoint=[],
            command=["sh", "-c", script],
            checkpoint=True,
            retries=1,
            retry={"wait": 0.1},
            output="s3://data/out/n",
        ),
    )
    assert wait_for_end(http, job, 60)["counts"]["failed"] == 1
    answer = http.post(f"/v1/jobs/{job}/retry", {"failed": True})
    assert answer.status == 200, answer.body
    wait_until("it to succeed", lambda: show(http, job)["counts"]["succeeded"] == 1, 60)
    assert (bucket / "out/n").read_text() == "3\n"


def test_without_a_store_it_is_refused(env):
    http = env.server().http
    answer = http.post("/v1/jobs", {"name": "a", "spec": {"checkpoint": True}})
    assert answer.status == 400 and b"--objects" in answer.body, answer.body
