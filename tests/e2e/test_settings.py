# SPDX-License-Identifier: Apache-2.0
"""What operators set: pools, queues, kept specs, and a file that is applied."""

import re

import pytest
from cli import SPEC
from env import ROOT
from projects import ProjectClient, cli_in, new_project


@pytest.fixture(scope="module")
def server(module_env):
    return module_env.server()


@pytest.fixture
def client(server):
    """In a project of its own."""
    return ProjectClient(server, new_project(server))


@pytest.fixture
def cli(server, tmp_path):
    """In a project of its own."""
    return cli_in(new_project(server), tmp_path, server)


FILE = """\
pools:
  spot:
    provider: local
    shape: {cpus: 4, memory: 16GiB}
    max: 20
queues:
  night:
    pools: [spot, default]
    limits: {running: 1000}
"""

ADDED = """\
+ pool spot
    provider    local
    shape       4 cpus, 16 GiB
    max         20
+ queue night
    pools       spot, default
    limits      1,000 running items
2 to add, 0 to change, 0 to remove
"""


def apply(cli, *words, **more):
    return cli("apply", "-f", "tidemill.yaml", *words, **more)


def test_pools_and_queues_are_set_shown_and_removed(client):
    client.ok("PUT", "/v1/pools/spot", {"policy": {"firewall": True}})
    machines = {
        "provider": "local",
        "shape": {"cpus": 4, "memory": "16GiB", "devices": {"nvidia.com/gpu": 1}},
        "spot": True,
        "price": 0.1,
        "on_demand": 0.34,
        "max": 64,
        "unit": "vcpus",
        "max_price": 60,
        "idle": "90s",
        "labels": {"zone": "a"},
        "steps": {"1": 1, "101": 2},
        "options": {"subnet": "s-1"},
    }
    spot = client.ok("PUT", "/v1/pools/spot/machines", machines)
    shape = {"cpus": 4, "memory": 16 << 30, "devices": {"nvidia.com/gpu": 1}}
    usual = {"min": 0, "boot_limit": 600, "billed_at_least": 60, "disabled": False}
    assert spot["machines"] == {**machines, **usual, "shape": shape, "idle": 90}
    assert spot["policy"]["firewall"]
    assert client.ok("PUT", "/v1/pools/spot/machines", spot["machines"]) == spot
    shown = client.ok("GET", "/v1/pools/spot")
    assert shown.pop("now")["limit"] == 16
    assert shown == spot
    assert "spot" in [pool["name"] for pool in client.ok("GET", "/v1/pools")["pools"]]

    night = {"priority": 5, "pools": ["spot", "default"], "limits": {"cost_an_hour": 2.5}}
    queue = client.ok("PUT", "/v1/queues/night", night)
    assert queue == {"name": "night", "share": 1, "disabled": False, **night}
    assert client.ok("GET", "/v1/queues/night") == queue
    client.ok("PUT", "/v1/queues/day", {})
    page = client.ok("GET", "/v1/queues?limit=1")
    assert client.ok("GET", f"/v1/queues?after={page['next']}")["queues"] == [queue]
    refused = client.call("DELETE", "/v1/pools/spot")
    assert refused.status == 409
    assert "queue night names pool spot" in refused.json()["detail"]
    assert client.call("DELETE", "/v1/queues/night").status == 204
    assert client.call("DELETE", "/v1/pools/spot").status == 204
    assert client.call("GET", "/v1/pools/spot").status == 404


def test_specs_are_kept_with_versions(client):
    first = client.ok("PUT", "/v1/specs/render", {"spec": {"image": "a:1"}})
    assert (first["version"], first["made_by"]) == (1, "test")
    assert client.ok("PUT", "/v1/specs/render", {"spec": {"image": "a:1"}}) == first
    second = client.ok("PUT", "/v1/specs/render", {"spec": {"image": "a:2"}})
    assert second["version"] == 2
    assert client.ok("GET", "/v1/specs/render") == second
    assert client.ok("GET", "/v1/specs/render?version=1") == first
    assert client.call("GET", "/v1/specs/render?version=3").status == 404
    (listed,) = client.ok("GET", "/v1/specs")["specs"]
    assert (listed["name"], listed["version"]) == ("render", 2) and "spec" not in listed
    assert client.call("DELETE", "/v1/specs/render").status == 204
    assert client.ok("GET", "/v1/specs") == {"specs": []}


def test_a_file_is_applied_and_applied_again(cli):
    file = cli.folder / "tidemill.yaml"
    file.write_text(FILE)
    said = apply(cli, "--dry-run")
    assert (said.code, said.out) == (1, ADDED), said
    said = apply(cli)
    assert said.code == 2 and "nothing was changed: say --yes" in said.err, said
    assert cli("queues", "-q").out == ""
    said = apply(cli, "--yes")
    assert (said.code, said.out) == (0, ADDED + "Applied\n"), said
    said = apply(cli, "--yes")
    assert (said.code, said.out) == (0, "Nothing to do: all is as tidemill.yaml says\n"), said
    assert apply(cli, "--dry-run").code == 0
    assert re.search(
        r"^night +0 +1 +on +spot, default +1,000 running items$", cli("queues").out, re.M
    )
    assert re.search(
        r"^spot +local +on +0 to 20 machines +- +4 cpus, 16 GiB +-$", cli("pools").out, re.M
    )
    assert [each["name"] for each in cli("queues", "--json").json()["queues"]] == ["night"]

    file.write_text(FILE.replace("max: 20", "max: 30").replace("1000", "2000"))
    said = apply(cli, "--yes", "--json")
    assert said.code == 0, said
    changes = said.json()["changes"]
    assert [(each["op"], each["name"]) for each in changes] == [
        ("change", "spot"),
        ("change", "night"),
    ]
    assert changes[0]["fields"] == [{"field": "max", "before": "20", "after": "30"}]

    file.write_text("queues: {day: {}}\n")
    assert apply(cli, "--yes").code == 0
    assert cli("queues", "-q").out == "day\nnight\n"
    said = apply(cli, "--yes", "--prune")
    assert said.code == 0 and "- queue night\n- pool spot\n" in said.out, said
    assert cli("queues", "-q").out == "day\n"
    assert cli("pools", "-q").out == "default\n"


def test_what_a_pool_lends_is_applied_and_stays(cli):
    volumes = 'models: {host: /srv/models, readonly: true}, s: {nfs: "10.0.0.5:/e", options: hard}'
    file = cli.folder / "tidemill.yaml"
    file.write_text(f"pools: {{lab: {{policy: {{volumes: {{{volumes}}}}}}}}}\n")
    line = "    volumes     models = /srv/models read-only, s = 10.0.0.5:/e (hard)\n"
    said = apply(cli, "--yes")
    assert said.code == 0 and line in said.out, said
    assert apply(cli, "--dry-run").code == 0
    assert cli("pool", "set", "lab", "--firewall").code == 0
    assert "models = /srv/models read-only" in cli("pool", "list").out
    file.write_text("pools: {lab: {}}\n")  # says nothing of a policy
    assert apply(cli, "--dry-run").code == 0
    file.write_text("pools: {lab: {policy: {volumes: {m: {host: ../m}}}}}\n")
    said = apply(cli, "--yes")
    assert said.code == 2 and "pools.lab.policy.volumes.m.host: must be an absolute" in said.err


def test_somebody_at_a_terminal_is_asked(cli):
    (cli.folder / "tidemill.yaml").write_text(FILE)
    said = cli.on_terminal(100, "apply", "-f", "tidemill.yaml", typed=["n\n"])
    assert said.code == 1 and "Nothing was changed" in said.out, said
    assert "\x1b[" in said.out
    said = cli.on_terminal(100, "apply", "-f", "tidemill.yaml", typed=["y\n"])
    assert said.code == 0 and "Applied" in said.out, said
    assert cli("queues", "-q").out == "night\n"


@pytest.mark.parametrize(
    "text, error",
    [
        ("pools:\n  a:\n    shap: {}\n", "tidemill.yaml:3: unknown field 'shap' in pools.a; did"),
        ("queues:\n  q: {pools: [spot]}\n", "names pool spot, which is neither in the file nor"),
        ("pools: {a: {provider: local}}\n", "tidemill.yaml:1: pools.a.shape: write what a machine"),
        ("pools: [a]\n", "tidemill.yaml:1: pools: must be"),
    ],
)
def test_a_wrong_file_changes_nothing(cli, text, error):
    (cli.folder / "tidemill.yaml").write_text(text)
    said = apply(cli, "--yes")
    assert said.code == 2 and error in said.err, said
    assert cli("pools", "-q").out == "default\n"


def test_the_examples_of_the_docs_are_applied(cli):
    text = (ROOT / "docs" / "pools.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", text, re.S)
    assert len(examples) == 4
    for example in examples:
        # No cloud is there to make a group.
        text = re.sub("provider: (aws|gcp)", "provider: ''", example)
        (cli.folder / "tidemill.yaml").write_text(text)
        said = apply(cli, "--yes")
        assert said.code == 0, said
        assert apply(cli, "--dry-run").code == 0


def test_a_kept_spec_is_submitted_by_its_name(cli):
    (cli.folder / "r.yaml").write_text(SPEC)
    assert cli("spec", "put", "render", "r.yaml", "-q").out == "render@1\n"
    assert cli("spec", "put", "render", "r.yaml", "-q").out == "render@1\n"
    (cli.folder / "r.yaml").write_text(SPEC.replace("render:3", "render:4"))
    assert cli("spec", "put", "render", "r.yaml", "-q").out == "render@2\n"
    assert re.search(r"^render +2 +just now +test$", cli("spec", "list").out, re.M)
    assert '"image": "registry.example/render:3"' in cli("spec", "show", "render@1").out
    said = cli("submit", "render@1", "--set", "size=7", "--range", "2", "-q")
    assert said.code == 0 and said.out.startswith("render-"), said
    shown = cli("show", said.out.strip())
    assert "image      registry.example/render:3" in shown.out, shown
    job = cli("submit", "render", "-q").out.strip()
    assert "registry.example/render:4" in cli("show", job).out
    said = cli("submit", "blur")
    assert said.code == 3 and "no such file, and there is no spec blur" in said.err, said
    assert cli("submit", "render@9").code == 3
    assert cli("spec", "rm", "render").code == 0
    assert cli("spec", "show", "render").code == 3
    assert cli("spec", "put", "x.yaml", "r.yaml").code == 2
