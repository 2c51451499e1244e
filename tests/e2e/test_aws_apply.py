# SPDX-License-Identifier: Apache-2.0
"""A pool of AWS as a person makes it: a file that is applied, with moto's server as AWS."""

import json

from cli import Cli
from ec2 import REGION

GROUP = "tidemill-default-spot"


def apply(cli, pools, *words):
    (cli.folder / "tidemill.yaml").write_text(json.dumps({"pools": pools}))
    return cli("apply", "-f", "tidemill.yaml", "--yes", *words)


def pool(options, **more):
    shape = {"cpus": 2, "memory": "1GiB"}
    return {"provider": "aws", "shape": shape, "spot": True, "max": 6, "options": options, **more}


def test_a_group_and_its_template_are_made_changed_and_removed(env, moto):
    cli = Cli(env.folder, env.server())
    options = moto.options()
    said = apply(cli, {"spot": pool(options)})
    assert said.code == 0 and "+ pool spot" in said.out, said
    group = moto.group(GROUP)
    assert (group["DesiredCapacity"], group["MinSize"]) == (0, 0)
    mixed = group["MixedInstancesPolicy"]
    assert mixed["InstancesDistribution"]["OnDemandPercentageAboveBaseCapacity"] == 0
    types = [each["InstanceType"] for each in mixed["LaunchTemplate"]["Overrides"]]
    assert types == options["types"]
    tags = {each["Key"]: each["Value"] for each in group["Tags"]}
    assert (tags["tidemill-project"], tags["tidemill-pool"]) == ("default", "spot")

    said = apply(cli, {"spot": pool({**options, "types": ["c5.xlarge"]}, max=9)})
    assert said.code == 0 and "~ pool spot" in said.out, said
    group = moto.group(GROUP)
    overrides = group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]
    assert [each["InstanceType"] for each in overrides] == ["c5.xlarge"]
    assert group["MaxSize"] >= 9

    said = apply(cli, {}, "--prune")
    assert said.code == 0 and "- pool spot" in said.out, said
    assert moto.group(GROUP) is None
    assert moto.client("ec2").describe_launch_templates()["LaunchTemplates"] == []


def test_what_is_wrong_with_it_is_said_and_nothing_is_kept(env, moto):
    cli = Cli(env.folder, env.server())
    options = moto.options()
    said = apply(cli, {"spot": pool({**options, "types": []})})
    assert said.code != 0 and "types" in said.err, said
    said = apply(cli, {"spot": pool({**options, "tipes": ["c5.large"]})})
    assert said.code != 0 and "tipes" in said.err, said
    said = apply(cli, {"spot": pool({"region": REGION, "group": "not-there"})})
    assert said.code != 0 and "not-there" in said.err, said
    assert moto.group(GROUP) is None
    assert "aws" not in cli("pools").out


def test_a_server_without_credentials_says_so_and_sends_nobody_to_sign_in(env, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(env.folder))
    cli = Cli(env.folder, env.server())
    options = {"region": REGION, "types": ["c5.large"], "image": "ami-1", "subnets": ["subnet-1"]}
    said = apply(cli, {"spot": pool(options)})
    assert said.code != 0 and "the server cannot have machines of aws" in said.err, said
    assert "tidemill login" not in said.err, said


def test_a_group_that_is_there_is_adopted_and_stays_when_the_pool_goes(env, moto):
    cli = Cli(env.folder, env.server())
    options = moto.options()
    moto.client("ec2").create_launch_template(
        LaunchTemplateName="theirs",
        LaunchTemplateData={"ImageId": options["image"], "InstanceType": "c5.large"},
    )
    moto.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="render",
        MinSize=0,
        MaxSize=4,
        DesiredCapacity=0,
        NewInstancesProtectedFromScaleIn=True,
        VPCZoneIdentifier=options["subnets"][0],
        LaunchTemplate={"LaunchTemplateName": "theirs", "Version": "$Latest"},
    )
    said = apply(cli, {"dear": pool({"region": REGION, "group": "render"}, max=4, spot=False)})
    assert said.code == 0, said
    assert moto.group("tidemill-default-dear") is None
    assert "dear" in cli("pools").out
    assert apply(cli, {}, "--prune").code == 0
    assert "dear" not in cli("pools").out
    group = moto.group("render")
    assert (group["MaxSize"], group["LaunchTemplate"]["LaunchTemplateName"]) == (4, "theirs")
