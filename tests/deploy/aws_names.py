# SPDX-License-Identifier: Apache-2.0
"""What things are called in the account that the tests of AWS play in."""

from iam import Policies

ACCOUNT, REGION = "123456789012", "eu-west-1"
GIVEN = {"region": REGION, "account": ACCOUNT}
BUCKET = f"arn:aws:s3:::tidemill-main-{ACCOUNT}-{REGION}"
GROUP = f"arn:aws:autoscaling:{REGION}:{ACCOUNT}:autoScalingGroup:u:autoScalingGroupName/"
EC2 = f"arn:aws:ec2:{REGION}:{ACCOUNT}:"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/"
KEPT = f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/tidemill/main/"


def policies(state, role: str) -> Policies:
    """All that a role, server or machines, was given."""
    of_role = [p for p in state.of("aws_iam_role_policy") if p["role"] == f"tidemill-main-{role}"]
    return Policies([policy["policy"] for policy in of_role])
