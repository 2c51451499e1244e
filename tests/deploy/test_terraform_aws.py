# SPDX-License-Identifier: Apache-2.0
"""deploy/terraform/aws: held against the provider's schema, and played."""

import hashlib
import json

import pytest
import yaml
from aws_names import EC2, GIVEN, REGION, ROLE, policies
from played import Played

OPTIONS = {"region", "types", "image", "disk_gb", "subnets", "security_groups", "role"}
OPTIONS |= {"user_data", "tags"}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return Played(tmp_path_factory.mktemp("small"), "aws").apply(**GIVEN, small=True)


def test_it_is_formatted_and_valid(played):
    formatted = played.run("fmt", "-check", "-diff", "-recursive", "..")
    assert formatted.returncode == 0, formatted.stdout
    valid = played.run("validate", "-no-color")
    assert valid.returncode == 0, valid.stdout


@pytest.mark.parametrize(
    "line, complaint",
    [
        ('  acces = "x"', 'An argument named "acces" is not expected here'),
        ("  bucket = aws_s3_bucket.thiss.id", "Reference to undeclared resource"),
        ("  bucket = aws_s3_bucket.this.nam", "Unsupported attribute"),
        ("  bucket = aws_s3_bucket.this.id\n  notify {}", 'type "notify" are not expected here'),
        ("", 'The argument "bucket" is required'),
    ],
)
def test_a_fault_is_found(tmp_path, line, complaint):
    played = Played(tmp_path, "aws")
    if "bucket =" not in line and line:
        line += "\n  bucket = aws_s3_bucket.this.id"
    text = f'resource "aws_s3_bucket_notification" "x" {{\n{line}\n}}\n'
    (played.module / "fault.tf").write_text(text)
    valid = played.run("validate", "-no-color")
    assert valid.returncode == 1
    assert complaint in " ".join(valid.stdout.split())


def test_a_plan_that_cannot_work_is_refused(tmp_path):
    played = Played(tmp_path, "aws")
    one_zone = {"vpc_id": "vpc-1", "server_subnet": "subnet-1", "machine_subnets": ["subnet-1"]}
    with pytest.raises(RuntimeError, match="two zones at least"):
        played.apply(**GIVEN, network=one_zone)
    with pytest.raises(RuntimeError, match="twelve digits"):
        played.apply(region=REGION, account="1234")
    with pytest.raises(RuntimeError, match="without wild cards"):
        played.apply(**GIVEN, job_roles=[ROLE + "*"])


def test_two_pools_with_no_machine_at_rest(whole):
    settings = yaml.safe_load(whole.outputs["tidemill_yaml"])
    assert sorted(settings["pools"]) == ["cpu", "gpu"]
    for name, pool in settings["pools"].items():
        assert pool["provider"] == "aws" and pool["spot"] is True and pool["min"] == 0
        assert 0 < pool["price"] < pool["on_demand"]
        options = pool["options"]
        assert set(options) <= OPTIONS, "what the provider understands"
        assert not any(key.startswith(("aws:", "tidemill-")) for key in options["tags"])
        assert options["role"] == "tidemill-main-machines"
        assert len(options["subnets"]) == 2 and options["image"] and options["types"]
        assert f"--pool {name} " in options["user_data"]
        assert len(json.dumps(options)) < 16 * 1024, "what a pool's options may be"
    assert settings["pools"]["gpu"]["shape"]["devices"] == {"nvidia.com/gpu": 1}
    assert settings["queues"] == {"default": {"pools": ["cpu"]}, "gpu": {"pools": ["gpu"]}}
    assert whole["aws_s3_object.pools"]["content"] == whole.outputs["tidemill_yaml"]
    running = {"aws_instance": 1, "aws_nat_gateway": 0, "aws_lb": 0, "aws_autoscaling_group": 0}
    assert {kind: len(whole.of(kind)) for kind in running} == running


def test_nobody_connects_to_machines_and_only_the_server_to_the_database(whole):
    rules = {
        name.partition(".")[2]: rule
        for name, rule in whole.resources.items()
        if name.startswith("aws_vpc_security_group_ingress_rule")
    }
    assert sorted(rules) == [
        "database_from_server[0]",
        "server_from_machines",
        "server_from_people[198.51.100.0/24]",
    ]
    assert {rule["from_port"] for rule in rules.values()} == {5432, 8443}
    assert all(rule["from_port"] == rule["to_port"] for rule in rules.values())
    open_to_all = [rule for rule in rules.values() if (rule["cidr_ipv4"] or "").endswith("/0")]
    assert open_to_all == []
    assert whole["aws_db_instance.this[0]"]["publicly_accessible"] is False


def test_no_secret_is_in_the_state(whole):
    database = whole["aws_db_instance.this[0]"]
    assert database["manage_master_user_password"] is True
    assert database["password"] == "aws_db_instance.password", "made up by the stub: none was given"
    for name, resource in whole.resources.items():
        text = json.dumps(resource)
        assert "PRIVATE KEY" not in text, name
        assert "tidemill_join_" not in text, name


def test_the_smallest_form_has_a_disk_in_the_place_of_the_database(small, whole):
    assert small.of("aws_db_instance") == [] and small.of("aws_db_subnet_group") == []
    assert small["aws_volume_attachment.database[0]"]["volume_id"] == "aws_ebs_volume.id"
    user_data = small["aws_instance.server"]["user_data"]
    assert "DATABASE_DISK='/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_" in user_data
    assert "DATABASE_HOST=''" in user_data
    assert "DATABASE_DISK=''" in whole["aws_instance.server"]["user_data"]
    assert whole.of("aws_ebs_volume") == []
    secrets = [s for s in policies(small, "server").statements if "secretsmanager" in str(s)]
    assert secrets == []


def test_an_existing_network_is_used(tmp_path):
    network = {
        "vpc_id": "vpc-7",
        "server_subnet": "subnet-a",
        "machine_subnets": ["subnet-b", "subnet-c"],
        "database_subnets": ["subnet-d", "subnet-e"],
    }
    state = Played(tmp_path, "aws").apply(**GIVEN, network=network, server_public=False)
    for kind in ("vpc", "subnet", "route", "internet_gateway", "eip", "vpc_endpoint"):
        assert state.of(f"aws_{kind}") == [], kind
    assert {group["vpc_id"] for group in state.of("aws_security_group")} == {"vpc-7"}
    assert state["aws_network_interface.server"]["subnet_id"] == "subnet-a"
    assert state["aws_db_subnet_group.this[0]"]["subnet_ids"] == ["subnet-d", "subnet-e"]
    pools = yaml.safe_load(state.outputs["tidemill_yaml"])["pools"]
    assert pools["cpu"]["options"]["subnets"] == ["subnet-b", "subnet-c"]
    assert policies(state, "server").allow(
        "ec2:RunInstances", EC2 + "subnet/subnet-b", template=EC2 + "launch-template/lt-1"
    )


def test_user_data_fits(whole):
    assert len(whole["aws_instance.server"]["user_data"]) < 16 * 1024
    assert whole["aws_instance.server"]["user_data"].startswith("#!/bin/bash\nexport ")


def test_the_bucket_is_shut_to_the_public_and_to_clear_text(whole):
    block = whole["aws_s3_bucket_public_access_block.this"]
    shut = ("block_public_acls", "block_public_policy", "ignore_public_acls")
    assert all(block[name] for name in (*shut, "restrict_public_buckets"))
    (statement,) = json.loads(whole["aws_s3_bucket_policy.tls_only"]["policy"])["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_programs_are_bound_by_their_hashes(whole):
    sums = whole["aws_s3_object.files[SHA256SUMS]"]["content"]
    agent = hashlib.sha256(b"tidemill-agent of a test\n").hexdigest()
    assert f"{agent}  tidemill-agent\n" in sums
    of_sums = hashlib.sha256(sums.encode()).hexdigest()
    assert of_sums in whole["aws_instance.server"]["user_data"]
    assert of_sums in whole.outputs["tidemill_yaml"]
