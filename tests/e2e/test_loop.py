# SPDX-License-Identifier: Apache-2.0
"""Items that are turns in a program that stays up, in real containers; and the other two modes."""

import re
import sys
from collections import Counter

import pexpect
from agents import Agent, submit
from cli import Cli
from conserved import outcomes
from env import ROOT, wait_until
from held import HOLD, release, wait_held
from load import items_of, show, wait_for_end

RESOURCES = {"cpus": 1, "memory": "64MiB"}
# A whole loop program for an image that has nothing but busybox: one item at a time.
SHELL_LOOP = r"""
post() { busybox wget -q -O - --post-data "$2" "$TIDEMILL_URL$1"; }
results=
while answer=$(post "/next?wait=1000" "{\"results\":[$results]}"); do
  results=
  case $answer in *'"done":true'*) exit 0 ;; esac
  item=$(echo "$answer" | busybox sed -n 's/.*"item":\([0-9]*\),.*/\1/p')
  [ "$item" ] || continue
  results="{\"item\":$item,\"exit\":$((item % 10 == 3 ? 4 : 0))}"
done
exit 1
"""


def loop(batch, **more):
    """A job of the C++ loop program, which does what the items' texts say."""
    command = ["/loop-probe", str(batch)]
    return {
        "image": "tidemill-test/loop",
        "command": command,
        "mode": "loop",
        "resources": RESOURCES,
        "retries": 0,
        **more,
    }


def sh(script, **more):
    command = ["busybox", "sh", "-c", script]
    image = "tidemill-test/alpine-like"
    return {"image": image, "command": command, "resources": RESOURCES, "retries": 0, **more}


def attempts(http, job):
    return http.get(f"/v1/jobs/{job}/stats").json()["attempts"]


def only_these_failed(http, job, failed):
    """Each item had one attempt; `failed` gives cause and exit code of those that failed."""
    found = [each["outcome"] for each in items_of(http, job)]
    assert [each["attempt"] for each in found] == [1] * len(found), found
    told = {
        number: (each["cause"], each["exit"])
        for number, each in enumerate(found)
        if each["cause"] != "succeeded"
    }
    assert told == failed
    wait_until("the roll-up", lambda: attempts(http, job)["total"] == len(found), 60)


# --- what comes back ---


def test_each_item_of_many_batches_succeeds_exactly_once(env, http, fleet, docker):
    fleet("m1", "--cpus", "2")
    job = submit(http, loop(32), 5000)
    shown = wait_for_end(http, job, 120)
    assert shown["counts"]["succeeded"] == 5000, shown
    assert outcomes(env) == 5000
    wait_until("the roll-up", lambda: attempts(http, job)["total"] == 5000, 60)
    # A program without work hears that no more will come, and ends.
    wait_until("the containers to end", lambda: not docker.containers("tidemill.agent"), 60)


def test_a_shell_and_wget_are_enough(http, fleet):
    fleet("m1", "--cpus", "2")
    job = submit(http, sh(SHELL_LOOP, mode="loop"), 100)
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 90
    only_these_failed(http, job, {number: ("failed", 4) for number in range(3, 100, 10)})


def test_the_programs_of_the_documentation_work(env, http, fleet):
    text = (ROOT / "docs" / "loop.md").read_text()
    programs = dict(re.findall(r"^```(python|sh)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    tools = "".join(f'{tool}() {{ busybox {tool} "$@"; }}\n' for tool in ("wget", "sed"))
    fleet("m1", "--cpus", "1")
    shell = submit(http, sh(tools + programs["sh"], mode="loop"), 20)
    assert wait_for_end(http, shell, 60)["counts"]["succeeded"] == 20
    only_these_failed(http, shell, {})
    plain = Agent(env.folder, "plain", env.servers)
    try:
        plain.start()
        command = [sys.executable, "-c", programs["python"]]
        job = submit(http, {"command": command, "mode": "loop", "retries": 0}, 2000)
        assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 2000
    finally:
        plain.kill9()


def test_results_of_a_batch_settle_each_on_its_own(http, fleet):
    agent = fleet("m1", "--cpus", "1")
    texts = ["ok"] * 64
    texts[5], texts[6], texts[63] = "fail 9", "fail 255", "fail 1"
    texts[40] = "print a word of item 40"
    job = submit(http, loop(64), texts)
    wait_for_end(http, job, 60)
    failed = {5: ("failed", 9), 6: ("failed", 255), 63: ("failed", 1)}
    only_these_failed(http, job, failed)
    # An outcome does not wait for the log.
    wait_until("what they said", lambda: agent.written().count(b"it failed") == 3)
    wait_until("the word", lambda: b"a word of item 40\n" in agent.written())


def test_batches_grow_to_what_the_program_asks_for(http, fleet):
    fleet("m1", "--cpus", "1")
    # A batch takes as long as one item. Each item's result is the number of its batch.
    script = SHELL_LOOP.replace("wait=1000", "max=32&wait=1000").split("  item=")[0]
    script += r"""
      items=$(echo "$answer" | busybox grep -o '"item":[0-9]*')
      [ "$items" ] || continue
      n=$((n + 1))
      items=$(echo "$items" | busybox sed "s/.*/{&,\"result\":$n}/")
      results=$(echo $items | busybox sed 's/ /,/g')
      sleep 0.1
    done"""
    job = submit(http, sh(script, mode="loop"), 300)
    assert wait_for_end(http, job, 200)["counts"]["succeeded"] == 300
    rows = http.get(f"/v1/jobs/{job}/outcomes?limit=1000").json()["outcomes"]
    sizes = Counter(row["result"] for row in rows)
    # The first batch has one item, and no more than 32 were asked for.
    assert sizes[1] == 1 and max(sizes.values()) == 32, sizes


# --- programs that die ---


def test_a_program_that_dies_fails_only_the_item_it_held(http, fleet):
    """In batches of one, beside others in a batch, and several in one batch."""
    agent = fleet("m1", "--cpus", "3")
    ends = {"die 5": ("failed", 5), "die 0": ("failed", 1), "kill": ("failed", 137)}
    cases = [
        (1, 50, {20: "die 5", 21: "die 0", 30: "kill"}),
        (16, 200, {77: "kill"}),
        (64, 64, {0: "die 5", 1: "kill", 30: "die 5", 63: "die 0"}),
    ]
    jobs = []
    for batch, count, poison in cases:
        texts = [poison.get(number, "ok") for number in range(count)]
        jobs.append(submit(http, loop(batch, canary=0), texts, name=f"batch{batch}"))
    for job, (_, count, poison) in zip(jobs, cases):
        ended = wait_for_end(http, job, 120)
        assert ended["counts"]["succeeded"] == count - len(poison), ended
        only_these_failed(http, job, {number: ends[how] for number, how in poison.items()})
    # The containers are the same: only the programs were started again.
    assert not agent.events("container.gone")


def test_a_program_that_dies_at_its_start_pauses_the_job(http, fleet):
    fleet("m1", "--cpus", "1")
    job = submit(http, loop(16, env={"LOOP_PROBE_DIES": "3"}, retries=0), 1000)
    shown = wait_until("the pause", lambda: paused(http, job), 60)
    assert "exit code 3" in shown["reason"] and "20" in shown["reason"], shown
    # What is shown may be a second old.
    wait_until("what ran to end", lambda: show(http, job)["counts"]["failed"] >= 20, 60)
    assert show(http, job)["counts"]["failed"] <= 40
    assert show(http, job)["counts"]["succeeded"] == 0


def paused(http, job):
    shown = show(http, job)
    return shown if shown["state"] == "paused" else None


def test_a_hang_costs_the_item_that_hangs(http, fleet):
    fleet("m1", "--cpus", "4")
    texts = {how: ["ok"] * 9 + [how] + ["ok"] * 30 for how in ("hang", "deaf")}
    jobs = [
        submit(http, loop(batch, timeout="3s", grace="1s"), given, name=f"{how}{batch}")
        for batch in (1, 8)
        for how, given in texts.items()
    ]
    for job in jobs:
        assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 39
        found = [each["outcome"] for each in items_of(http, job)]
        assert found[9]["cause"] == "timeout" and found[9]["attempt"] == 1
        assert all(each["attempt"] == 1 for each in found)


def test_a_cancelled_loop_ends(http, fleet, docker):
    fleet("m1", "--cpus", "2")
    job = submit(http, loop(8, grace="1s"), ["hang"] * 100)
    wait_until("items to run", lambda: show(http, job)["counts"]["running"] >= 2, 60)
    assert http.post(f"/v1/jobs/{job}/cancel").status == 200
    assert wait_for_end(http, job, 60)["counts"]["cancelled"] == 100
    wait_until("the containers to end", lambda: not docker.containers("tidemill.agent"), 60)


# --- how far an item is ---

POST = "busybox wget -q -O - --post-data"
SAYS = POST + """ '{"fraction":0.4,"note":"epoch 3"}' $TIDEMILL_URL/progress"""
TAKES = f"{POST} '' $TIDEMILL_URL/next"


def test_an_item_says_how_far_it_is(env, http, fleet):
    agent = fleet("m1", "--cpus", "2")
    modes = {"process": "true", "loop": TAKES}
    jobs = [
        submit(http, sh(f"{take}; {SAYS}; {HOLD}; exit 2", mode=mode), 1, name=mode)
        for mode, take in modes.items()
    ]
    wait_held(agent, 2)

    def progress():
        jobs = http.get("/v1/machines").json()["machines"][0].get("status", {}).get("jobs", [])
        return [each for use in jobs for each in use.get("progress", [])]

    wait_until("progress", lambda: len(progress()) == 2, 60)
    assert progress() == [{"item": 0, "permille": 400, "note": "epoch 3"}] * 2
    cli = Cli(env.folder, env.servers[0])
    for job in jobs:
        watch = pexpect.spawn(
            cli.program,
            ["watch", job],
            cwd=str(cli.folder),
            env=cli.env,
            dimensions=(24, 100),
            encoding="utf-8",
            timeout=60,
        )
        watch.expect(r"item 0 [^\n]*40 %[^\n]*epoch 3")
        release(agent, job=job)
        watch.expect(pexpect.EOF)
        watch.close()
        assert watch.exitstatus == 1
        only_these_failed(http, job, {0: ("failed", 2)})
    wait_until("it to be forgotten", lambda: not progress(), 60)


# --- what items share ---


def test_what_an_item_leaves_in_the_file_system(http, fleet):
    fleet("m1", "--cpus", "1")
    script = "[ ! -e /tmp/mark ] && : > /tmp/mark"
    # One after the other: a machine with one slot does not keep the container of a job beside that
    # of another.
    for mode, clean in (("container", 8), ("process", 1)):
        job = submit(http, sh(script, mode=mode), 8, name=mode)
        counts = wait_for_end(http, job, 120)["counts"]
        assert (counts["succeeded"], counts["failed"]) == (clean, 8 - clean), mode


def test_a_loop_needs_no_network(env, http, fleet):
    policy = {"policy": {"no_network": True}}
    assert http.request("PUT", "/v1/pools/default?project=default", policy).status == 200
    fleet("m1", "--cpus", "1")
    job = submit(http, loop(16), 500)
    # Nothing but loopback is there, and that is up.
    devices = "[ $(busybox ls /sys/class/net) = lo ]"
    other = submit(http, sh(devices), 1, name="devices")
    assert wait_for_end(http, job, 60)["counts"]["succeeded"] == 500
    assert wait_for_end(http, other, 60)["counts"]["succeeded"] == 1
