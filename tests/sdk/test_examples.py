# SPDX-License-Identifier: Apache-2.0
"""The examples do what they say, as they stand."""

import json
import os
import re
import subprocess
import sys

import tidemill
from agents import Agent
from cli import read_line
from env import ROOT, binaries, ends_with_us, found_below, wait_until

EXAMPLES = ROOT / "examples"


def environment():
    path = f"{binaries()}:{os.environ['PATH']}"
    return {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PATH": path}


def example(name, *words):
    command = [sys.executable, str(EXAMPLES / name), *words, "--python", sys.executable]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_all_of_them_are_told_and_tested():
    told = (EXAMPLES / "README.md").read_text()
    here = open(__file__).read()
    for path in EXAMPLES.iterdir():
        if os.access(path, os.X_OK):
            assert f"[{path.name}]({path.name})" in told and f'"{path.name}"' in here
    for target in re.findall(r"\]\(([^)#]+)\)", told):
        assert (EXAMPLES / target).exists(), target


def test_a_model_is_loaded_once_and_classifies(system):
    said = example("classify.py", "--items", "100")
    right = int(re.fullmatch(r"(\d+) of 100 digits are right\n", said)[1])
    assert right >= 95, said


def test_scenes_are_rendered(system):
    scenes = system.files / "scenes"
    scenes.mkdir()
    names = [f"frame-{number}.json" for number in range(6)]
    for number, name in enumerate(names):
        ball = {"centre": [number - 3, 0, 6], "radius": 1.5, "colour": [255, 40, 40]}
        scene = {"width": 48, "height": 32, "spheres": [ball]}
        (scenes / name).write_text(json.dumps(scene))
    listed = system.files / "list.txt"
    listed.write_text("\n".join([*names, "none.json"]) + "\n")
    said = example("render.py", f"file://{system.files}", str(listed))
    assert said == "6 of 7 scenes are rendered\n"
    images = [path.read_bytes() for path in sorted((system.files / "images").iterdir())]
    assert len(set(images)) == 6
    assert all(each.startswith(b"P6 48 32 255\n") for each in images)
    assert len(images[0]) == len(b"P6 48 32 255\n") + 48 * 32 * 3


def test_training_goes_on_on_the_next_machine(env, monkeypatch):
    server = env.server(*env.objects_flags)
    monkeypatch.setenv("TIDEMILL_SERVER", server.url)
    monkeypatch.setenv("TIDEMILL_TOKEN", server.token)
    first = Agent(env.folder, "first", env.servers).start()
    second = Agent(env.folder, "second", env.servers)
    command = [sys.executable, str(EXAMPLES / "train.py"), "--python", sys.executable]
    command += ["--seeds", "1", "--epochs", "100"]
    training = subprocess.Popen(
        ends_with_us(command, "SIGKILL"), env=environment(), stdout=subprocess.PIPE, text=True
    )
    try:
        job = tidemill.Job(read_line(training).split()[0])
        wait_until("some epochs", lambda: has_epochs(first.state), 60)
        first.terminate()  # as a spot machine gets its notice
        second.start()
        said, _ = training.communicate(timeout=120)
    finally:
        training.kill()
        first.kill9()
        second.kill9()
    assert re.fullmatch(r"seed 0: y = (2\.9|3\.\d) x \+ (0\.9|1\.\d)\n", said), said
    # The interruption has cost nothing: both are attempt 1.
    rows = {row.cause: (row.machine, row.attempt) for row in job.results()}
    assert rows == {"interrupted": ("first", 1), "succeeded": ("second", 1)}
    epoch = int(re.match(r"goes on at epoch (\d+)\n", job.logs(0))[1])
    assert epoch >= 3


def has_epochs(folder):
    """Whether a state of the third epoch or a later one is somewhere below."""
    for path in found_below(folder, "**/state"):
        try:
            if json.loads(path.read_text())["epoch"] >= 3:
                return True
        except (OSError, ValueError):  # it is being written, or gone
            continue
    return False


def test_a_sweep_finds_the_best_and_tells_what_failed(system):
    lines = example("sweep.py").splitlines()
    assert lines[0] == "0 m/s at 10 degrees: ValueError: nobody throws at 0 m/s"
    assert len(lines) == 14 + 4
    assert re.fullmatch(r"40 m/s: \d+\.\d+ m, at (35|40|45) degrees", lines[-1])


def test_a_command_over_a_list_of_files(system):
    script = str(EXAMPLES / "words.sh")
    done = subprocess.run(
        [script, str(ROOT / "docs")], env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    job = tidemill.Job(re.search(r"^(words-\d+) submitted", done.stdout, re.MULTILINE)[1])
    item = next(each for each in job.items() if each.text.endswith("/docs/loop.md"))
    assert int(job.logs(item.item)) == len((ROOT / "docs/loop.md").read_text().split())
