# SPDX-License-Identifier: Apache-2.0
"""Says what AWS's policies allow: the part of IAM's rules that ours use, and no other."""

import fnmatch
import json


def as_list(value) -> list:
    return value if isinstance(value, list) else [value]


def like(value: str, patterns) -> bool:
    return any(fnmatch.fnmatchcase(value, pattern) for pattern in as_list(patterns))


def equal(value: str, wanted) -> bool:
    return value in as_list(wanted)


TESTS = {
    "StringEquals": equal,
    "ArnEquals": equal,
    "Bool": equal,
    "StringLike": like,
    "ArnLike": like,
}


def holds(operator: str, key: str, wanted, context: dict) -> bool:
    """One condition; a key that the call does not have fails it, but for a set of none."""
    each, _, plain = operator.rpartition(":")
    if each == "ForAllValues":
        return all(TESTS[plain](value, wanted) for value in as_list(context.get(key, [])))
    assert not each, operator
    return key in context and TESTS[plain](context[key], wanted)


def applies(statement: dict, action: str, resource: str, context: dict) -> bool:
    return (
        like(action, statement["Action"])
        and like(resource, statement["Resource"])
        and all(
            holds(operator, key, wanted, context)
            for operator, keys in statement.get("Condition", {}).items()
            for key, wanted in keys.items()
        )
    )


class Policies:
    """What a role may by all its policies."""

    def __init__(self, texts: list):
        self.statements = [each for text in texts for each in json.loads(text)["Statement"]]

    def allow(self, action: str, resource: str, **context) -> bool:
        """Whether a call is allowed; context_of says what the words of its context stand for."""
        hits = [s for s in self.statements if applies(s, action, resource, context_of(context))]
        effects = {each["Effect"] for each in hits}
        return effects == {"Allow"}


def context_of(words: dict) -> dict:
    names = {
        "tag_project": "aws:ResourceTag/tidemill-project",
        "new_tag_project": "aws:RequestTag/tidemill-project",
        "tag_keys": "aws:TagKeys",
        "made_by": "ec2:CreateAction",
        "template": "ec2:LaunchTemplate",
        "passed_to": "iam:PassedToService",
        "service": "iam:AWSServiceName",
        "prefix": "s3:prefix",
        "source": "aws:SourceArn",
        "account": "aws:SourceAccount",
        "tls": "aws:SecureTransport",
    }
    return {names[name]: value for name, value in words.items()}
