# SPDX-License-Identifier: Apache-2.0
"""The stand-in for Google's Compute refuses what Google refuses, and takes its time."""

import http.client
import json
import pathlib
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

sys.path.insert(0, str(TOOLS.parent / "tests" / "cloud"))

import beside  # noqa: E402
import gce_state  # noqa: E402
from env import free_port, wait_until  # noqa: E402
from with_gce import SERVER  # noqa: E402

TOKEN_PATH = "/computeMetadata/v1/instance/service-accounts/default/token"
ZONE = "zones/europe-west4-a"
GROUPS = f"{ZONE}/instanceGroupManagers"
TEMPLATE = {
    "name": "a-template",
    "properties": {"machineType": "e2-small", "disks": [], "networkInterfaces": []},
}
GROUP = {
    "name": "a-group",
    "baseInstanceName": "vm",
    "instanceTemplate": "projects/p/global/instanceTemplates/a-template",
    "targetSize": 0,
    "instanceLifecyclePolicy": {"defaultActionOnFailure": "DO_NOTHING"},
}


class Gce:
    def __init__(self, port):
        self.port = port
        self.token = self.ask("GET", TOKEN_PATH)

    def ask(self, method, target, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = headers or {"Metadata-Flavor": "Google"}
        connection.request(method, target, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def call(self, method, path, body=None):
        headers = {"Authorization": "Bearer " + self.token[1]["access_token"]}
        return self.ask(method, f"/compute/v1/projects/p/{path}", body, headers)

    def control(self, **wishes):
        status, state = self.ask("POST", "/_control", dict(wishes, project="p"))
        assert status == 200, state
        return state

    def run(self, method, path, body=None):
        """The operation, once it is done."""
        status, operation = self.call(method, path, body)
        assert status == 200, operation
        assert operation["status"] == "PENDING" or operation["status"] == "RUNNING"
        at = operation["selfLink"].partition("/projects/p/")[2]

        def done():
            state = self.call("GET", at)[1]
            return state if state["status"] == "DONE" else None

        return wait_until(path, done)

    def managed(self):
        rows, token = [], ""
        while True:
            status, page = self.call("POST", f"{GROUPS}/a-group/listManagedInstances?{token}")
            assert status == 200, page
            rows += page.get("managedInstances", [])
            if "nextPageToken" not in page:
                return rows
            token = "pageToken=" + page["nextPageToken"]


@pytest.fixture
def gce():
    port = free_port()
    with beside.server([sys.executable, str(SERVER), str(port)], port, {}):
        server = Gce(port)
        server.control()
        yield server


@pytest.fixture
def group(gce):
    gce.run("POST", "global/instanceTemplates", TEMPLATE)
    gce.run("POST", GROUPS, GROUP)
    return gce


def create(gce, *names):
    body = {"instances": [{"name": name} for name in names]}
    return gce.run("POST", f"{GROUPS}/a-group/createInstances", body)


def delete(gce, *names, **more):
    body = dict(more, instances=[f"{ZONE}/instances/{name}" for name in names])
    return gce.run("POST", f"{GROUPS}/a-group/deleteInstances", body)


def test_who_has_no_token_is_refused(gce):
    path = f"/compute/v1/projects/p/{ZONE}/instances"
    assert gce.ask("GET", path, None, {"Authorization": "Bearer x"})[0] == 401
    no_flavor = gce.ask("GET", TOKEN_PATH, None, {"X": "y"})
    assert no_flavor[0] == 403
    assert gce.ask("GET", path.replace("/p/", "/q/"))[0] == 401


@pytest.mark.parametrize(
    "change",
    [
        {"nmae": "x"},
        {"name": "Upper"},
        {"name": "x" * 64},
        {"baseInstanceName": "x" * 59},
        {"instanceTemplate": "a-template"},
        {"targetSize": "0"},
        {"updatePolicy": {"type": "SOON"}},
    ],
)
def test_what_google_would_not_take_is_refused(gce, change):
    gce.run("POST", "global/instanceTemplates", TEMPLATE)
    assert gce.call("POST", GROUPS, dict(GROUP, **change))[0] == 400


def test_queries_are_held_to_what_there_is(gce):
    for query in ("max=1", "filter=name%3Da", "fields=items(nmae)", "maxResults=501", "orderBy=x"):
        status, answer = gce.call("GET", f"{ZONE}/instances?{query}")
        assert status == 400, (query, answer)
    assert gce.call("GET", f"{ZONE}/instances?fields=items(name)")[0] == 200


def test_what_is_there_or_not_there_is_said(group):
    assert group.call("POST", GROUPS, GROUP)[0] == 409
    assert group.call("POST", "global/instanceTemplates", TEMPLATE)[0] == 409
    assert group.call("GET", f"{GROUPS}/another")[0] == 404
    status, answer = group.call("DELETE", "global/instanceTemplates/a-template")
    assert status == 400
    assert answer["error"]["errors"][0]["reason"] == "resourceInUseByAnotherResource"


def test_instances_take_a_moment_and_come_in_pages(group):
    create(group, "vm-1", "vm-2", "vm-3")
    wait_until("vm-3", lambda: all(row["currentAction"] == "NONE" for row in group.managed()))
    assert [row["instanceStatus"] for row in group.managed()] == ["RUNNING"] * 3
    first = group.call("GET", f"{ZONE}/instances")[1]
    assert len(first["items"]) == 2 and first["nextPageToken"]
    again = create(group, "vm-1")
    assert again["error"]["errors"][0]["code"] == "RESOURCE_ALREADY_EXISTS"


def test_what_finds_no_room_is_tried_again_until_it_is_taken_out(group):
    group.control(capacity=1)
    create(group, "vm-1", "vm-2")
    failed = wait_until("vm-2", lambda: [row for row in group.managed() if row["lastAttempt"]])
    code = failed[0]["lastAttempt"]["errors"]["errors"][0]["code"]
    assert code == "ZONE_RESOURCE_POOL_EXHAUSTED" and failed[0]["currentAction"] == "CREATING"
    assert group.control()["groups"] == {"europe-west4-a/a-group": 2}
    delete(group, "vm-2")
    assert group.control()["groups"] == {"europe-west4-a/a-group": 1}


def test_who_is_not_in_the_group_is_passed_over_only_if_asked(group):
    assert "error" in delete(group, "vm-9")
    assert "error" not in delete(group, "vm-9", skipInstancesOnValidationError=True)
    bad = {"instances": ["vm-9"]}
    assert group.call("POST", f"{GROUPS}/a-group/deleteInstances", bad)[0] == 400


def test_an_end_is_in_the_operations_and_a_group_that_repairs_makes_it_anew(gce):
    gce.run("POST", "global/instanceTemplates", TEMPLATE)
    gce.run("POST", GROUPS, {k: v for k, v in GROUP.items() if k != "instanceLifecyclePolicy"})
    create(gce, "vm-1")
    first = wait_until("vm-1", lambda: gce.call("GET", f"{ZONE}/instances")[1].get("items"))[0]
    gce.control(end="vm-1", how="delete")

    def made_anew():
        there = gce.call("GET", f"{ZONE}/instances")[1].get("items", [])
        return there and there[0]["creationTimestamp"] != first["creationTimestamp"]

    wait_until("another vm-1", made_anew)
    query = 'orderBy=creationTimestamp%20desc&filter=targetLink%20eq%20".*/instances/vm-1"'
    types = []
    page = gce.call("GET", f"{ZONE}/operations?{query.replace(chr(34), '%22')}")[1]
    types += [row["operationType"] for row in page["items"]]
    assert types == ["insert", "delete"]


def test_calls_can_be_throttled(gce):
    gce.control(throttle=[429, 403])
    for status in (429, 403):
        answer = gce.call("GET", f"{ZONE}/instances")
        assert answer[0] == status
        assert answer[1]["error"]["errors"][0]["reason"] == "rateLimitExceeded"
    assert gce.call("GET", f"{ZONE}/instances")[0] == 200


class SlowProject(gce_state.Project):
    """Each look at its clock is a millisecond later."""

    def now(self):
        self.ahead_s += 0.001
        return self.ahead_s


def test_an_instance_is_as_old_as_the_operation_that_made_it():
    project = SlowProject("p")
    project.templates["a-template"] = TEMPLATE
    group = project.groups["z/a-group"] = gce_state.Group(dict(GROUP), "z")
    project.create(group, ["vm-1"])
    project.ahead_s += project.operation_s
    project.step()
    made = project.instances("z")[0]
    assert made.created == project.operations[-1].begun
