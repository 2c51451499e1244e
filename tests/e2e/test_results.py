# SPDX-License-Identifier: Apache-2.0
"""What became of a job's items: failures by what they have in common, a row for each attempt."""

import csv
import io
import json
import sys

import pytest
import zstandard
from agents import Agent, submit
from cli import Cli
from env import wait_until
from held import held, release_to_end
from load import show, wait_for_end

LOAD = """\
import sys


def load(name):
    if name.startswith("missing"):
        return open("/nowhere/" + name)
    if name.startswith("odd"):
        raise ValueError(f"{name} has {len(name)} columns")
    if name.startswith("quiet"):
        sys.exit(3)
    print("fine")


load(sys.argv[1])
"""
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: '...' at load.py:6"
ODD = "ValueError: {item} has # columns at load.py:8"
ITEMS = (
    [f"missing-{n}.csv" for n in range(6)]
    + [f"odd-{'x' * n}.csv" for n in range(3)]
    + ["quiet"]
    + [f"fine-{n}" for n in range(5)]
)

# Sends back the square of each item's number, and fails one.
SQUARES = """\
import http.client, json, os
from urllib.parse import urlsplit

url = urlsplit(os.environ["TIDEMILL_URL"])
connection = http.client.HTTPConnection(url.netloc)
results = []
while True:
    connection.request("POST", url.path + "/next?max=4", json.dumps({"results": results}))
    answer = json.load(connection.getresponse())
    if answer["done"]:
        break
    results = []
    for item in answer["items"]:
        number = item["item"]
        result = {"item": number, "result": {"square": number * number, "text": "a\\nb"}}
        if number == 7:
            result.update(exit=4, error="KeyError: 'seven' is item 7")
        results.append(result)
"""


@pytest.fixture
def agent(env, http):
    one = Agent(env.folder, "m1", env.servers, "--cpus", "4").start()
    yield one
    one.kill9()


def run_load(env, http):
    program = env.folder / "load.py"
    program.write_text(LOAD)
    command = [sys.executable, str(program), "{item}"]
    job = submit(http, {"command": command, "retries": 0}, ITEMS, name="load")
    wait_for_end(http, job, 60)
    return job


def test_items_that_failed_alike_are_one_group_and_are_retried_as_one(env, http, agent):
    job = run_load(env, http)
    failures = http.get(f"/v1/jobs/{job}/failures").json()
    assert failures["failed"] == 10 and failures["partial"] is False
    told = [(group["signature"], group["count"]) for group in failures["groups"]]
    assert told == [(MISSING, 6), (ODD, 3), ("exit code 3", 1)]
    assert failures["groups"][0]["first_items"] == [0, 1, 2, 3, 4]
    assert failures["groups"][1]["example"]["item"] == 6
    assert failures["groups"][1]["example"]["machine"] == "m1"

    cli = Cli(env.folder, env.servers[0])
    said = cli("failures", job)
    assert said.code == 0, said
    lines = " ".join(said.out.split())
    assert f"1 6 items: {MISSING} (items 0, 1, 2 ...)" in lines, said.out
    assert f"2 3 items: {ODD} (items 6, 7, 8)" in lines
    assert "3 1 item: exit code 3 (item 9)" in lines
    assert f"tidemill retry {job} --group 1" in said.out
    assert cli("failures", job, "--json").json() == failures
    assert f"3 items: {ODD}"[:40] in cli("show", job).out
    watched = cli("watch", job)
    assert watched.code == 1 and f"tidemill failures {job}" in watched.out
    assert "1  6 items: FileNotFoundError" in watched.out

    said = cli("retry", job, "--group", "2")
    assert said.code == 0, said
    assert " ".join(said.out.split()).startswith(
        f"group 2 is 3 items: {ODD} (items 6, 7, 8) 3 items"
    )
    wait_for_end(http, job, 60)
    again = http.get(f"/v1/jobs/{job}/failures").json()
    assert [group["count"] for group in again["groups"]] == [6, 3, 1]
    assert again["groups"][1]["example"]["round"] == 1
    assert cli("retry", job, "--group", "4").code == 3
    assert cli("retry", job, "--items", "0,9").out.startswith("2 items")
    assert cli("retry", job).code == 2
    wait_for_end(http, job, 60)


def test_a_row_for_each_attempt_in_each_format(env, http, agent):
    job = run_load(env, http)
    cli = Cli(env.folder, env.servers[0])
    assert cli("retry", job, "--failed").code == 0
    wait_for_end(http, job, 60)

    said = cli("results", job, "-o", "all.csv")
    assert said.code == 0 and "25 rows" in said.out, said
    with open(env.folder / "all.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 25
    assert [int(row["item"]) for row in rows if row["last"] == "true"] == list(range(15))
    assert [row["text"] for row in rows if row["round"] == "0"] == ITEMS
    odd = [row for row in rows if row["text"].startswith("odd")]
    assert {row["error"] for row in odd} == {ODD}
    assert {row["exit"] for row in odd} == {"1"}
    assert [row["last"] for row in odd] == ["false", "true"] * 3
    assert all(int(row["duration_ms"]) > 0 and row["machine"] == "m1" for row in rows)

    lines = [json.loads(line) for line in cli("results", job, "-o", "-").out.splitlines()]
    assert [line["item"] for line in lines] == [int(row["item"]) for row in rows]
    assert cli("results", job, "-o", "all.jsonl.zst").code == 0
    packed = (env.folder / "all.jsonl.zst").read_bytes()
    text = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed)).read().decode()
    assert [json.loads(line) for line in text.splitlines()] == lines
    assert cli("results", job, "-o", "all.parquet").code == 2
    assert cli("results", "none-1", "-o", "x.csv").code == 3
    assert not (env.folder / "x.csv").exists() and not (env.folder / "x.csv.part").exists()


def test_what_a_loop_program_sends_back_is_in_the_results(env, http, agent):
    program = env.folder / "squares.py"
    program.write_text(SQUARES)
    spec = {"command": [sys.executable, str(program)], "mode": "loop", "retries": 0}
    job = submit(http, spec, 20, name="squares")
    wait_for_end(http, job, 60)
    rows = http.get(f"/v1/jobs/{job}/outcomes").json()["outcomes"]
    assert [row["result"]["square"] for row in rows] == [n * n for n in range(20)]
    assert rows[3]["result"]["text"] == "a\nb"
    assert rows[7]["exit"] == 4 and rows[7]["error"] == "KeyError: '...' is item #"
    # The same when its chunk is rolled up.
    wait_until(
        "the roll-up",
        lambda: env.sql("select count(*) from report") == "0",
        30,
    )
    assert http.get(f"/v1/jobs/{job}/outcomes").json()["outcomes"] == rows


def test_no_result_is_lost_with_an_agent_that_is_killed(env, http, fleet):
    agent = fleet("m1", "--cpus", "2")
    spec = {
        "image": "tidemill-test/loop",
        "command": ["/loop-probe", "2"],
        "mode": "loop",
        "resources": {"cpus": 1, "memory": "64MiB"},
        "retries": 0,
    }
    # Both programs are in the middle of it when they come to the items that wait.
    texts = ["give"] * 20_000
    for number in range(5_000, 20_000, 5_000):
        texts[number] = "hold"
    job = submit(http, spec, texts, name="given")
    wait_until("some", lambda: show(http, job)["counts"]["succeeded"] > 500)
    wait_until("an item that waits", lambda: held(agent))
    agent.kill9()
    agent.start()
    release_to_end(http, job, agent)
    rows, cursor = [], ""
    while cursor is not None:
        page = http.get(f"/v1/jobs/{job}/outcomes?limit=5000{cursor}").json()
        rows += page["outcomes"]
        cursor = f"&cursor={page['next']}" if "next" in page else None
    last = [row for row in rows if row["last"]]
    assert [row["item"] for row in last] == list(range(len(texts)))
    assert all(row["result"] == {"number": row["item"]} for row in last)
