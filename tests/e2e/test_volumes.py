# SPDX-License-Identifier: Apache-2.0
"""Folders that a pool lends to jobs, in real containers."""

import subprocess

import pytest
from agents import Agent, submit
from env import binaries

from load import items_of, refusal, wait_for_end

IMAGE = "tidemill-test/alpine-like"


@pytest.fixture
def folders(tmp_path):
    """A folder to read and one to write, of a machine whose items may be anybody."""
    for name in ("models", "scratch"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o777)
    (tmp_path / "models" / "weights").write_text("heavy\n")
    (tmp_path / "models" / "weights").chmod(0o666)
    return tmp_path


def lend(http, volumes):
    """The default pool lends these from the next join on."""
    policy = {"policy": {"volumes": volumes}}
    answer = http.request("PUT", "/v1/pools/default?project=default", policy)
    assert answer.status == 200, answer.body
    assert answer.json()["policy"]["volumes"].keys() == volumes.keys()


def spec(script, *mounts):
    return {
        "image": IMAGE,
        "command": ["sh", "-c", script],
        "resources": {"cpus": 0.25},
        "retries": 0,
        "mounts": [{"volume": volume, "path": path, **more} for volume, path, more in mounts],
    }


def test_what_is_lent_is_read_and_written_as_the_pool_and_the_job_say(http, fleet, folders):
    models, scratch = str(folders / "models"), str(folders / "scratch")
    lend(http, {"models": {"host": models, "readonly": True}, "scratch": {"host": scratch}})
    fleet("m1", "--cpus", "1", "--allow-host-folders", models, "--allow-host-folders", scratch)
    script = (
        'test "$(cat /models/weights)" = heavy && ! echo x > /models/weights'
        " && ! touch /models/new && ! mount -o remount,rw /models && ! touch /models/new"
        " && echo $TIDEMILL_INDEX > /data/deep/$TIDEMILL_INDEX && ! touch /again/x"
        " && ls /again"
    )
    job = submit(
        http,
        spec(
            script,
            ("models", "/models", {"readonly": False}),
            ("scratch", "/data/deep", {}),
            ("scratch", "/again", {"readonly": True}),
        ),
        3,
    )
    assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 3, items_of(http, job)
    assert sorted(path.name for path in (folders / "scratch").iterdir()) == ["0", "1", "2"]
    assert [path.name for path in (folders / "models").iterdir()] == ["weights"]
    assert (folders / "models" / "weights").read_text() == "heavy\n"


def test_what_is_mounted_below_a_folder_is_not_lent_with_it(http, fleet, folders):
    models = folders / "models"
    (models / "below").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(models / "below")], check=True)
    try:
        (models / "below" / "secret").write_text("x")
        lend(http, {"models": {"host": str(models), "readonly": True}})
        fleet("m1", "--cpus", "1", "--allow-host-folders", str(models))
        script = "test -d /models/below && test -z $(ls /models/below) && ! touch /models/below/x"
        job = submit(http, spec(script, ("models", "/models", {})))
        assert wait_for_end(http, job, 120)["counts"]["succeeded"] == 1, items_of(http, job)
    finally:
        subprocess.run(["umount", "-l", str(models / "below")], check=True)


def test_what_is_not_declared_or_not_allowed_pauses_the_job_with_the_reason(http, fleet, folders):
    models = str(folders / "models")
    # A bad server may declare what it likes: the machine's owner has the last word.
    lend(http, {"models": {"host": models}, "root": {"host": "/etc"}, "up": {"host": str(folders)}})
    fleet("m1", "--cpus", "1", "--allow-host-folders", models)
    # All at once: after a job that it cannot run, a machine asks for no other for some seconds.
    expected = {}
    job = submit(http, spec("true", ("other", "/a", {})))
    expected[job] = "this machine's pool declares no volume other"
    for volume, folder in (("root", "/etc"), ("up", str(folders))):
        job = submit(http, spec("true", ("models", "/m", {}), (volume, "/a", {})))
        without = f"volume {volume}: this machine's agent was not started with"
        expected[job] = f"{without} --allow-host-folders {folder}"
    assert {job: refusal(http, job) for job in expected} == expected


def test_an_agent_without_containers_takes_no_job_with_mounts(env, http, folders):
    models = str(folders / "models")
    lend(http, {"models": {"host": models}})
    agent = Agent(env.folder, "m1", env.servers, "--allow-host-folders", models).start()
    try:
        job = submit(http, spec("true", ("models", "/m", {})))
        assert refusal(http, job) == "the job has mounts, and this machine runs no containers"
    finally:
        agent.kill9()


def test_the_agent_wants_folders_that_are_there_and_apart(env, http, folders):
    (folders / "link").symlink_to("models")
    (folders / "models" / "deep").mkdir()
    join = env.servers[0].join_file
    base = [str(binaries() / "tidemill-agent"), "--server", env.servers[0].url, "--state"]
    base += [str(folders / "state"), "--join-token-file", str(join), "--engine", "process"]
    for wrong, why in (
        ([folders / "none"], "is no folder, or is reached by a link"),
        ([folders / "link"], "is no folder, or is reached by a link"),
        ([folders / "models" / "weights"], "is no folder"),
        ([f"{folders}/models/../scratch"], "not like /srv/models"),
        (["/"], "not like /srv/models"),
        ([folders / "scratch", folders / "scratch"], "are not apart"),
        ([folders / "models" / "deep", folders / "models"], "are not apart"),
        ([folders], "are not apart"),  # the agent's own are in there
    ):
        flags = [word for path in wrong for word in ("--allow-host-folders", str(path))]
        said = subprocess.run(
            [*base, *flags], capture_output=True, text=True, timeout=60, check=False
        )
        assert said.returncode == 2 and why in said.stderr, said
