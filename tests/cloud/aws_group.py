#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what the AWS provider has made against what it should be, as botocore sees it.

usage: aws_group.py prepared|made|removed REGION GROUP

Prints one line for each thing that is wrong, and fails then. What is expected is what
aws_provider_test.cc says of its pool.
"""

import base64
import os
import sys
from typing import Any, Dict, Iterator, List

import botocore.session

TAGS = {"tidemill-project": "films", "tidemill-pool": "spot", "team": "a b"}


def client(service: str, region: str) -> Any:
    return botocore.session.get_session().create_client(
        service,
        region_name=region,
        endpoint_url=os.environ["TIDEMILL_TEST_AWS"],
        aws_access_key_id="AK",
        aws_secret_access_key="SK",
    )


def tags_of(tags: List[Dict[str, Any]]) -> Dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


def differing(name: str, seen: Any, expected: Any) -> Iterator[str]:
    if seen != expected:
        yield f"{name}: {seen!r}, not {expected!r}"


def check_template(ec2: Any, group: str) -> Iterator[str]:
    versions = ec2.describe_launch_template_versions(LaunchTemplateName=group)
    yield from differing("versions", len(versions["LaunchTemplateVersions"]), 1)
    data = versions["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    yield from differing("image", data["ImageId"], "ami-03cf127a")
    yield from differing("shutdown", data["InstanceInitiatedShutdownBehavior"], "terminate")
    options = data["MetadataOptions"]
    yield from differing("tokens", options["HttpTokens"], "required")
    yield from differing("hops", options["HttpPutResponseHopLimit"], 1)
    yield from differing("metadata tags", options["InstanceMetadataTags"], "enabled")
    text = base64.b64decode(data["UserData"]).decode()
    yield from differing("user data", text, "#!/bin/sh\necho 'é & + %'\n")
    disk = data["BlockDeviceMappings"][0]
    yield from differing("disk", disk["Ebs"]["VolumeSize"], 80)
    templates = ec2.describe_launch_templates(LaunchTemplateNames=[group])["LaunchTemplates"]
    yield from differing("template's tags", tags_of(templates[0]["Tags"]), TAGS)


def check_group(group: Dict[str, Any]) -> Iterator[str]:
    yield from differing("sizes", (group["MinSize"], group["MaxSize"]), (0, 50))
    yield from differing("protection", group["NewInstancesProtectedFromScaleIn"], True)
    suspended = sorted(each["ProcessName"] for each in group["SuspendedProcesses"])
    yield from differing("suspended", suspended, ["AZRebalance", "ReplaceUnhealthy"])
    yield from differing("group's tags", tags_of(group["Tags"]), TAGS)
    yield from differing("at launch", {tag["PropagateAtLaunch"] for tag in group["Tags"]}, {True})
    policy = group["MixedInstancesPolicy"]
    distribution = policy["InstancesDistribution"]
    yield from differing("on demand", distribution["OnDemandPercentageAboveBaseCapacity"], 0)
    yield from differing(
        "strategy", distribution["SpotAllocationStrategy"], "price-capacity-optimized"
    )
    types = [each["InstanceType"] for each in policy["LaunchTemplate"]["Overrides"]]
    yield from differing("types", types, ["m5.large", "m6i.large"])
    used = policy["LaunchTemplate"]["LaunchTemplateSpecification"]
    yield from differing("version", used["Version"], "$Latest")


def check_machines(ec2: Any, group: Dict[str, Any], names: List[str]) -> Iterator[str]:
    yield from differing("target", group["DesiredCapacity"], len(names))
    ids = [each["InstanceId"] for each in group["Instances"]]
    yield from differing("instances", len(ids), len(names))
    if not ids:
        return
    seen = []
    for reservation in ec2.describe_instances(InstanceIds=ids)["Reservations"]:
        for instance in reservation["Instances"]:
            tags = tags_of(instance["Tags"])
            seen.append(tags.pop("tidemill-machine", ""))
            yield from differing("instance's tags", TAGS.items() <= tags.items(), True)
    yield from differing("names", sorted(seen), names)


def check(phase: str, region: str, name: str) -> Iterator[str]:
    ec2, scaling = client("ec2", region), client("autoscaling", region)
    groups = scaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
    groups = groups["AutoScalingGroups"]
    if phase == "removed":
        yield from differing("groups", len(groups), 0)
        left = ec2.describe_launch_templates(Filters=[{"Name": "tag:team", "Values": ["a b"]}])
        yield from differing("templates", len(left["LaunchTemplates"]), 0)
        return
    yield from check_template(ec2, name)
    yield from check_group(groups[0])
    names = ["spot-1", "spot-2"] if phase == "made" else []
    yield from check_machines(ec2, groups[0], names)


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 1
    wrong = list(check(*sys.argv[1:]))
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
