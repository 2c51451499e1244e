# SPDX-License-Identifier: Apache-2.0
"""The one file for the inside of containers: alone, without the package."""

import ast
import functools
import pathlib
import subprocess
import sys

import pytest
import tidemill
from env import ROOT

PACKAGE = ROOT / "python" / "tidemill"
INSIDE = (PACKAGE / "inside.py").read_bytes()

LOOP = b"""
import pathlib, sys, tidemill
assert tidemill.__file__.endswith("/tidemill.py"), tidemill.__file__
start = "this program says so once"
for item in tidemill.items():
    print("item", item.index)
    tidemill.progress(0.5, "half of " + item.text)
    if item.text == "fail":
        item.fail("it is not to be", 9)
    elif item.text == "die":
        raise ValueError("it dies")
    elif item.text == "too-long":
        try:
            item.result = "x" * 5000
        except ValueError as error:
            item.result = str(error)
    else:
        item.result = {"text": item.text, "value": item.value, "start": start}
"""

CHECKPOINT = b"""
import sys, tidemill
step = int(tidemill.checkpoint.read() or b"0")
print("begins at", step)
while step < 3:
    step += 1
    tidemill.checkpoint.write(b"%d" % step)
    tidemill.progress(step / 3, "step %d" % step)
    if step == 2:
        sys.exit(7)
"""


def program(source, **spec):
    files = {"main.py": source}
    command = [sys.executable, "-u", "main.py"]
    document = {"name": "inside", "command": command, "retries": 0, "resources": {"cpus": 1}}
    return functools.partial(tidemill.submit, {**document, **spec}, files=files)


def test_items_of_a_loop(system):
    items = ["plain", '{"a": 1}', "fail", "die", "too-long", "plain"]
    job = program(LOOP, mode="loop")(items)
    job.wait(60)
    rows = list(job.results())
    assert [row.exit for row in rows] == [0, 0, 9, 1, 0, 0]
    start = "this program says so once"
    assert rows[1].result == {"text": '{"a": 1}', "value": {"a": 1}, "start": start}
    assert rows[4].result.startswith("the result of item 4 has 5002 bytes as JSON; at most 4096")
    assert rows[2].error == "it is not to be" and rows[3].error.startswith("ValueError: it dies")
    assert "item 2\nit is not to be" in job.logs(2)


def test_a_checkpoint_is_there_in_the_next_attempt(system):
    job = program(CHECKPOINT, checkpoint=True, retries=1, retry={"wait": 0.1})()
    assert job.wait(90).counts.succeeded == 1
    assert [row.exit for row in job.results()] == [7, 0]
    assert job.logs(0, attempt=1) == "begins at 0\n"
    assert job.logs(0) == "begins at 2\n"


def test_outside_of_a_container_it_says_where_it_belongs(monkeypatch):
    monkeypatch.delenv("TIDEMILL_URL", raising=False)
    monkeypatch.delenv("TIDEMILL_CHECKPOINT", raising=False)
    with pytest.raises(RuntimeError, match="no .TIDEMILL_URL here: it is set inside of a job"):
        next(tidemill.items())
    with pytest.raises(RuntimeError, match="whose spec has checkpoint: true"):
        tidemill.checkpoint.read()


# What goes into containers, where Python may be old.
@pytest.mark.parametrize("name", ["inside.py", "values.py", "run_map.py"])
def test_it_is_python_3_6_and_its_standard_library(name):
    tree = ast.parse((PACKAGE / name).read_text(), feature_version=(3, 6))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.partition(".")[0])
    sent = {"tidemill", "tidemill_map", "cloudpickle"} if name == "run_map.py" else set()
    known = set("base64 http json os pathlib pickle sys traceback typing urllib".split())
    assert imported <= known | sent


def test_every_python_of_this_machine_reads_it():
    found = {sys.executable, *map(str, pathlib.Path("/usr/bin").glob("python3.?*[0-9]"))}
    for python in sorted(found):
        subprocess.run([python, "-c", INSIDE.decode()], check=True)
