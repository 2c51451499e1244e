# SPDX-License-Identifier: Apache-2.0
"""deploy/terraform/gcp: held against the provider's schema and played; what its accounts may."""

import hashlib
import json
import re

import pytest
import yaml
from played import Played

GIVEN = {"project": "films-1", "zone": "europe-west4-a"}
SERVER = "serviceAccount:tidemill-main-server@films-1.iam.gserviceaccount.com"
MACHINES = "serviceAccount:tidemill-main-work@films-1.iam.gserviceaccount.com"
OBJECTS = "projects/_/buckets/tidemill-main-films-1/objects/"
OPTIONS = {"project", "zone", "type", "image", "disk_gb", "network", "subnet"}
OPTIONS |= {"service_account", "user_data", "labels", "accelerators"}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return Played(tmp_path_factory.mktemp("gcp"), "gcp")


@pytest.fixture(scope="module")
def whole(played):
    return played.apply(**GIVEN, allow_from=["198.51.100.0/24"], job_accounts=["a@b.example"])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Played(tmp_path_factory.mktemp("small"), "gcp").apply(**GIVEN, small=True)


def test_it_is_valid(played):
    valid = played.run("validate", "-no-color")
    assert valid.returncode == 0, valid.stdout


def test_a_fault_is_found(tmp_path):
    played = Played(tmp_path, "gcp")
    bucket = played.module / "bucket.tf"
    bucket.write_text(bucket.read_text().replace("uniform_bucket", "uniforn_bucket"))
    valid = played.run("validate", "-no-color")
    assert valid.returncode == 1
    assert 'named "uniforn_bucket_level_access" is not expected here' in valid.stdout


def test_two_pools_with_no_machine_at_rest(whole):
    settings = yaml.safe_load(whole.outputs["tidemill_yaml"])
    assert sorted(settings["pools"]) == ["cpu", "gpu"]
    for name, pool in settings["pools"].items():
        assert pool["provider"] == "gcp" and pool["spot"] is True and pool["min"] == 0
        assert 0 < pool["price"] < pool["on_demand"]
        options = pool["options"]
        assert set(options) <= OPTIONS, "what the provider understands"
        assert f"serviceAccount:{options['service_account']}" == MACHINES
        assert (
            f"--cloud gcp --server https://tidemill-main-private.address:8443 --pool {name} "
            in (yaml.safe_load(options["user_data"])["runcmd"][0][-1])
        )
        assert len(json.dumps(options)) < 16 * 1024, "what a pool's options may be"
        assert re.fullmatch("[a-z0-9-]+", options["labels"]["deployment"])
    assert settings["pools"]["gpu"]["shape"]["devices"] == {"nvidia.com/gpu": 1}
    assert settings["queues"] == {"default": {"pools": ["cpu"]}, "gpu": {"pools": ["gpu"]}}
    assert (
        whole["google_storage_bucket_object.pools"]["content"] == (whole.outputs["tidemill_yaml"])
    )
    assert len(whole.of("google_compute_instance")) == 1
    assert whole.of("google_compute_instance_group_manager") == []


def test_a_type_that_brings_no_gpu_gets_the_one_that_is_said(tmp_path):
    pool = {"type": "n1-standard-8", "accelerator": "nvidia-tesla-t4", "gpus": 2}
    state = Played(tmp_path, "gcp").apply(**GIVEN, gpu_pool=pool)
    options = yaml.safe_load(state.outputs["tidemill_yaml"])["pools"]["gpu"]["options"]
    assert options["accelerators"] == {"type": "nvidia-tesla-t4", "count": 2}


def test_only_people_who_are_named_and_machines_reach_the_server(whole, small):
    rules = {rule["name"]: rule for rule in whole.of("google_compute_firewall")}
    assert sorted(rules) == ["tidemill-main-agents", "tidemill-main-people"]
    for rule in rules.values():
        assert [f"serviceAccount:{a}" for a in rule["target_service_accounts"]] == [SERVER]
        assert [(a["protocol"], a["ports"]) for a in rule["allow"]] == [("tcp", ["8443"])]
    assert rules["tidemill-main-people"]["source_ranges"] == ["198.51.100.0/24"]
    agents = rules["tidemill-main-agents"]["source_service_accounts"]
    assert [f"serviceAccount:{a}" for a in agents] == [MACHINES]
    assert len(small.of("google_compute_firewall")) == 1
    (settings,) = whole["google_sql_database_instance.this[0]"]["settings"]
    (address,) = settings["ip_configuration"]
    assert address["ipv4_enabled"] is False and address["ssl_mode"] == "ENCRYPTED_ONLY"


def test_the_smallest_form_has_a_disk_in_the_place_of_the_database(small, whole):
    assert small.of("google_sql_database_instance") == []
    assert small.of("google_service_networking_connection") == []
    (disk,) = small["google_compute_instance.server"]["attached_disk"]
    assert disk["device_name"] == "database"
    script = small["google_compute_instance.server"]["metadata_startup_script"]
    assert "DATABASE_DISK='/dev/disk/by-id/google-database'" in script
    assert whole["google_compute_instance.server"]["attached_disk"] == []
    assert whole.of("google_compute_disk") == []
    (role,) = small.of("google_project_iam_custom_role")
    assert not any(each.startswith("cloudsql.") for each in role["permissions"])


def test_an_existing_network_is_used(tmp_path):
    network = {
        "network": "projects/films-1/global/networks/n",
        "subnet": "projects/films-1/regions/europe-west4/subnetworks/s",
    }
    state = Played(tmp_path, "gcp").apply(**GIVEN, network=network, server_public=False)
    for kind in ("network", "subnetwork", "router", "router_nat", "global_address"):
        assert state.of(f"google_compute_{kind}") == [], kind
    (interface,) = state["google_compute_instance.server"]["network_interface"]
    assert interface["subnetwork"] == network["subnet"] and interface["access_config"] == []
    pools = yaml.safe_load(state.outputs["tidemill_yaml"])["pools"]
    assert pools["cpu"]["options"]["network"] == network["network"]
    assert pools["cpu"]["options"]["subnet"] == network["subnet"]


def test_a_new_object_is_told_by_cloud_storage_alone(whole):
    told = whole["google_storage_notification.events"]
    assert (told["event_types"], told["object_name_prefix"]) == (["OBJECT_FINALIZE"], "data/in/")
    publishers = whole["google_pubsub_topic_iam_binding.events"]
    assert publishers["role"] == "roles/pubsub.publisher"
    agent = "serviceAccount:google_storage_project_service_account.email_address"
    assert publishers["members"] == [agent]


def test_no_secret_is_in_the_state(whole):
    assert whole.of("google_secret_manager_secret_version") == []
    assert whole.of("google_sql_user") == []
    for name, resource in whole.resources.items():
        assert "PRIVATE KEY" not in json.dumps(resource), name


def grants(state, member):
    """(where, role) of all that a member was given."""
    found = set()
    for name, each in state.resources.items():
        if each.get("member") == member and "_iam_member" in name:
            found.add((name.partition(".")[0].replace("google_", ""), each["role"]))
    return found


def test_each_account_has_these_roles_and_no_other(whole):
    assert grants(whole, SERVER) == {
        ("project_iam_member", "google_project_iam_custom_role.id"),
        ("project_iam_member", "roles/artifactregistry.reader"),
        ("pubsub_subscription_iam_member", "roles/pubsub.subscriber"),
        ("secret_manager_secret_iam_member", "roles/secretmanager.secretAccessor"),
        ("secret_manager_secret_iam_member", "roles/secretmanager.secretVersionAdder"),
        ("service_account_iam_member", "roles/iam.serviceAccountTokenCreator"),
        ("service_account_iam_member", "roles/iam.serviceAccountUser"),
        ("storage_bucket_iam_member", "roles/storage.objectUser"),
        ("storage_bucket_iam_member", "roles/storage.objectViewer"),
    }
    assert grants(whole, MACHINES) == {
        ("project_iam_member", "roles/artifactregistry.reader"),
        ("storage_bucket_iam_member", "roles/storage.objectUser"),
        ("storage_bucket_iam_member", "roles/storage.objectViewer"),
    }
    (role,) = whole.of("google_project_iam_custom_role")
    assert not any("*" in each or "IamPolicy" in each for each in role["permissions"])
    assert {each.split(".")[0] for each in role["permissions"]} == {"compute", "cloudsql"}


def allowed(state, member, role, key):
    """Whether a condition lets a member have an object; as Google's language says it."""
    resource_name, resource_type = OBJECTS + key, "storage.googleapis.com/Object"
    for each in state.of("google_storage_bucket_iam_member"):
        if (each["member"], each["role"]) != (member, f"roles/storage.{role}"):
            continue
        for part in each["condition"][0]["expression"].split(" || "):
            prefix = re.fullmatch(r'resource\.name\.startsWith\("(.*)"\)', part)
            same = re.fullmatch(r'resource\.(name|type) == "(.*)"', part)
            assert prefix or same, part
            if prefix and resource_name.startswith(prefix[1]):
                return True
            if same and {"name": resource_name, "type": resource_type}[same[1]] == same[2]:
                return True
    return False


@pytest.mark.parametrize(
    "key, machine_writes, machine_reads, server_writes",
    [
        ("data/in/1.jpg", True, True, True),
        ("tidemill/jobs/default/1", True, True, True),
        ("programs/tidemill-agent", False, True, False),
        ("server/ca.pem", False, True, True),
        ("server/tidemill.yaml", False, False, True),
        ("other", False, False, False),
    ],
)
def test_who_may_touch_which_object(whole, key, machine_writes, machine_reads, server_writes):
    writes = allowed(whole, MACHINES, "objectUser", key)
    assert writes == machine_writes
    assert (writes or allowed(whole, MACHINES, "objectViewer", key)) == machine_reads
    assert allowed(whole, SERVER, "objectUser", key) == server_writes


def test_programs_are_bound_by_their_hashes(whole):
    sums = whole["google_storage_bucket_object.files[SHA256SUMS]"]["content"]
    of_sums = hashlib.sha256(sums.encode()).hexdigest()
    assert of_sums in whole["google_compute_instance.server"]["metadata_startup_script"]
    assert of_sums in whole.outputs["tidemill_yaml"]
