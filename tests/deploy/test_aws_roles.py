# SPDX-License-Identifier: Apache-2.0
"""What the roles of deploy/terraform/aws may, and may not."""

import json
import re

import pytest
from aws_names import ACCOUNT, BUCKET, EC2, GROUP, KEPT, REGION, ROLE, policies
from iam import Policies, as_list

# AWS knows no resource for these.
ANY_RESOURCE = {
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeScalingActivities",
    "ec2:DescribeImages",
    "ec2:DescribeInstances",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:DescribeLaunchTemplates",
    "ecr:GetAuthorizationToken",
}
# Images belong to those who made them; the secret's name is the stub's.
NOT_OF_THE_ACCOUNT = {
    "*",
    f"arn:aws:ec2:{REGION}::image/*",
    f"arn:aws:ec2:{REGION}::snapshot/*",
    "aws_db_instance.master_user_secret.secret_arn",
}


@pytest.fixture(scope="module")
def server(whole):
    return policies(whole, "server")


@pytest.fixture(scope="module")
def machines(whole):
    return policies(whole, "machines")


def test_a_new_object_is_told_to_the_queue_by_this_bucket_alone(whole):
    told = whole["aws_s3_bucket_notification.events"]["queue"]
    assert [(t["events"], t["filter_prefix"]) for t in told] == [
        (["s3:ObjectCreated:*"], "data/in/")
    ]
    statement = json.loads(whole["aws_sqs_queue_policy.events"]["policy"])["Statement"]
    assert [s["Principal"] for s in statement] == [{"Service": "s3.amazonaws.com"}]
    queue = Policies([whole["aws_sqs_queue_policy.events"]["policy"]])
    arn = f"arn:aws:sqs:{REGION}:{ACCOUNT}:tidemill-main-events"
    assert queue.allow("sqs:SendMessage", arn, source=BUCKET, account=ACCOUNT)
    assert not queue.allow("sqs:SendMessage", arn, source="arn:aws:s3:::other", account=ACCOUNT)
    assert not queue.allow("sqs:SendMessage", arn, source=BUCKET, account="999999999999")
    assert not queue.allow("sqs:ReceiveMessage", arn, source=BUCKET, account=ACCOUNT)


def test_no_policy_has_a_wild_card_action_or_a_wild_resource_where_aws_knows_one(server, machines):
    for statement in server.statements + machines.statements:
        assert statement["Effect"] == "Allow"
        for action in as_list(statement["Action"]):
            assert re.fullmatch(r"[a-z0-9-]+:[A-Za-z]+", action), action
            if "*" in as_list(statement["Resource"]):
                assert action in ANY_RESOURCE, action
        for resource in as_list(statement["Resource"]):
            assert ACCOUNT in resource or resource in NOT_OF_THE_ACCOUNT, resource


SERVER_MAY = [
    ("autoscaling:SetDesiredCapacity", GROUP + "tidemill-default-cpu", {}),
    ("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP + "tidemill-default-cpu", {}),
    ("ec2:CreateLaunchTemplate", EC2 + "launch-template/*", {"new_tag_project": "default"}),
    ("ec2:DeleteLaunchTemplate", EC2 + "launch-template/lt-1", {"tag_project": "default"}),
    ("ec2:RunInstances", EC2 + "launch-template/lt-1", {"tag_project": "default"}),
    ("ec2:RunInstances", EC2 + "instance/*", {"template": EC2 + "launch-template/lt-1"}),
    ("ec2:CreateTags", EC2 + "instance/*", {"made_by": "RunInstances"}),
    (
        "ec2:CreateTags",
        EC2 + "instance/i-1",
        {"tag_project": "default", "tag_keys": ["tidemill-machine"]},
    ),
    ("ec2:TerminateInstances", EC2 + "instance/i-1", {"tag_project": "default"}),
    ("iam:PassRole", ROLE + "tidemill-main-machines", {"passed_to": "ec2.amazonaws.com"}),
    ("s3:PutObject", BUCKET + "/tidemill/jobs/1", {}),
    ("s3:PutObject", BUCKET + "/server/ca.pem", {}),
    ("s3:GetObject", BUCKET + "/programs/tidemill-server", {}),
    ("ssm:GetParameter", KEPT + "secret-keys", {}),
    ("sqs:ReceiveMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:tidemill-main-events", {}),
    ("sts:AssumeRole", ROLE + "films", {}),
]
SERVER_MAY_NOT = [
    ("autoscaling:SetDesiredCapacity", GROUP + "web", {}),
    ("autoscaling:DeleteAutoScalingGroup", GROUP + "web", {}),
    ("ec2:CreateLaunchTemplate", EC2 + "launch-template/*", {}),
    ("ec2:DeleteLaunchTemplate", EC2 + "launch-template/lt-1", {}),
    ("ec2:RunInstances", EC2 + "instance/*", {}),
    ("ec2:RunInstances", EC2 + "launch-template/lt-1", {}),
    (
        "ec2:RunInstances",
        EC2 + "subnet/subnet-other",
        {"template": EC2 + "launch-template/lt-1"},
    ),
    ("ec2:CreateTags", EC2 + "instance/i-1", {"tag_keys": ["tidemill-project"]}),
    (
        "ec2:CreateTags",
        EC2 + "instance/i-1",
        {"tag_project": "default", "tag_keys": ["tidemill-project"]},
    ),
    ("ec2:TerminateInstances", EC2 + "instance/i-1", {}),
    ("iam:PassRole", ROLE + "tidemill-main-server", {"passed_to": "ec2.amazonaws.com"}),
    ("iam:PassRole", ROLE + "tidemill-main-machines", {"passed_to": "lambda.amazonaws.com"}),
    ("iam:PassRole", ROLE + "admin", {"passed_to": "ec2.amazonaws.com"}),
    ("s3:PutObject", BUCKET + "/programs/tidemill-agent", {}),
    ("s3:GetObject", "arn:aws:s3:::other/key", {}),
    ("s3:DeleteBucket", BUCKET, {}),
    ("ssm:GetParameter", f"arn:aws:ssm:{REGION}:{ACCOUNT}:parameter/other", {}),
    ("sts:AssumeRole", ROLE + "admin", {}),
]
MACHINE_MAY = [
    ("s3:GetObject", BUCKET + "/data/in/1.jpg", {}),
    ("s3:PutObject", BUCKET + "/data/out/1.jpg", {}),
    ("s3:PutObject", BUCKET + "/tidemill/jobs/1/logs/2", {}),
    ("s3:GetObject", BUCKET + "/programs/tidemill-agent", {}),
    ("s3:GetObject", BUCKET + "/server/ca.pem", {}),
    ("s3:ListBucket", BUCKET, {"prefix": "data/in/"}),
    (
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        GROUP + "tidemill-default-cpu",
        {"tag_project": "default"},
    ),
    ("ecr:BatchGetImage", f"arn:aws:ecr:{REGION}:{ACCOUNT}:repository/films", {}),
]
MACHINE_MAY_NOT = [
    ("s3:PutObject", BUCKET + "/programs/tidemill-agent", {}),
    ("s3:PutObject", BUCKET + "/server/ca.pem", {}),
    ("s3:GetObject", BUCKET + "/server/tidemill.yaml", {}),
    ("s3:ListBucket", BUCKET, {}),
    ("ssm:GetParameter", KEPT + "secret-keys", {}),
    ("ssm:GetParameter", KEPT + "admin-token", {}),
    ("secretsmanager:GetSecretValue", "aws_db_instance.master_user_secret.secret_arn", {}),
    ("sqs:ReceiveMessage", f"arn:aws:sqs:{REGION}:{ACCOUNT}:tidemill-main-events", {}),
    ("autoscaling:SetDesiredCapacity", GROUP + "tidemill-default-cpu", {}),
    ("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP + "tidemill-default-cpu", {}),
    (
        "autoscaling:TerminateInstanceInAutoScalingGroup",
        GROUP + "web",
        {"tag_project": "default"},
    ),
    ("ec2:RunInstances", EC2 + "instance/*", {"template": EC2 + "launch-template/lt-1"}),
    ("ec2:TerminateInstances", EC2 + "instance/i-1", {"tag_project": "default"}),
    ("iam:PassRole", ROLE + "tidemill-main-machines", {"passed_to": "ec2.amazonaws.com"}),
    ("sts:AssumeRole", ROLE + "films", {}),
]


@pytest.mark.parametrize("action, resource, context", SERVER_MAY)
def test_the_server_may(server, action, resource, context):
    assert server.allow(action, resource, **context)


@pytest.mark.parametrize("action, resource, context", SERVER_MAY_NOT)
def test_the_server_may_not(server, action, resource, context):
    assert not server.allow(action, resource, **context)


@pytest.mark.parametrize("action, resource, context", MACHINE_MAY)
def test_a_machine_may(machines, action, resource, context):
    assert machines.allow(action, resource, **context)


@pytest.mark.parametrize("action, resource, context", MACHINE_MAY_NOT)
def test_a_machine_may_not(machines, action, resource, context):
    assert not machines.allow(action, resource, **context)
