# SPDX-License-Identifier: Apache-2.0
"""Notebooks, executed: the bar's states, and a map whose results are streamed with little memory.

TIDEMILL_MAP_ITEMS=100000 is the whole form of the map, of which the gate runs a twentieth; `-s`
shows the figures.
"""

import json
import os
import re
import sys

import nbformat
from env import ROOT
from nbclient import NotebookClient

ITEMS = int(os.environ.get("TIDEMILL_MAP_ITEMS", "5000"))
# Of a page of results and what Python keeps of it; not of the items.
GROWTH_BYTES_MAX = 8 << 20

WAIT = """
import tidemill
job = tidemill.submit({"name": "cells", "command": ["sleep", "1"], "resources": {"cpus": 1}}, 40)
job.wait()
None
"""

LARGE = """
import json, os, sys, time
import tidemill

def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def square(number):
    return number * number

began = time.monotonic()
mapped = tidemill.map(square, range(ITEMS), python=sys.executable, cpus=2, name="large")
submitted = time.monotonic()
early, in_order = 0, True
for number, value in enumerate(mapped):
    in_order = in_order and value == number * number
    if number == ITEMS // 10:
        early = memory()
ended = time.monotonic()
figures = {"values": number + 1, "in_order": in_order, "growth": memory() - early}
figures.update(memory=memory(), submit_s=submitted - began, results_s=ended - submitted)
print(json.dumps(figures))
"""


class Watched(NotebookClient):
    """Keeps all that was shown, in order: a cell's output has the last of it only."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.shown = []

    def process_message(self, message, cell, cell_index):
        if message["msg_type"] in ("display_data", "update_display_data"):
            self.shown.append((message["msg_type"], message["content"]["data"]["text/html"]))
        return super().process_message(message, cell, cell_index)


def execute(code, tmp_path, monkeypatch):
    """A notebook of one cell, by a kernel of this very Python."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    folder = tmp_path / "kernels" / "this"
    folder.mkdir(parents=True)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    kernel = {"argv": argv, "display_name": "this", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(kernel))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    client = Watched(notebook, timeout=1200, kernel_name="this")
    client.execute()
    return client, notebook.cells[0].outputs


def test_the_bar_of_a_notebook_goes_with_its_job(system, tmp_path, monkeypatch):
    client, outputs = execute(WAIT, tmp_path, monkeypatch)
    assert [kind for kind, _ in client.shown] == ["display_data"] + ["update_display_data"] * (
        len(client.shown) - 1
    )
    states = [
        (re.search('data-state="(.*?)"', text)[1], int(re.search('data-done="(.*?)"', text)[1]))
        for _, text in client.shown
    ]
    done = [each[1] for each in states]
    assert done == sorted(done) and states[-1] == ("finished", 40)
    assert ("active" in {state for state, _ in states}) and len(set(done)) > 2, states
    # What is kept in the notebook is the last of it.
    (output,) = outputs
    assert output.data["text/html"] == client.shown[-1][1]
    assert re.search(r"<b>cells-\d+</b> <progress value=\"1.0000\"", output.data["text/html"])


def test_a_large_map_is_streamed_in_order_with_little_memory(system, tmp_path, monkeypatch):
    _, outputs = execute(f"ITEMS = {ITEMS}\n{LARGE}", tmp_path, monkeypatch)
    figures = json.loads(outputs[0].text)
    print(f"\n{ITEMS:,} items: {figures}")
    assert figures["values"] == ITEMS and figures["in_order"]
    assert figures["growth"] < GROWTH_BYTES_MAX
