# SPDX-License-Identifier: Apache-2.0
"""Holds schema/job.schema.json, schema/openapi.yaml and docs/spec.md to what a server takes."""

import json
import re

import jsonschema
import pytest
import yaml
from env import ROOT
from spec_examples import BAD, BAD_BEYOND_SCHEMA, GOOD

SCHEMA = json.loads((ROOT / "schema" / "job.schema.json").read_text(encoding="utf-8"))
OPENAPI = yaml.safe_load((ROOT / "schema" / "openapi.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
JOB = jsonschema.Draft202012Validator(SCHEMA)
SPEC = jsonschema.Draft202012Validator(
    {**OPENAPI["components"]["schemas"]["Spec"], "components": OPENAPI["components"]}
)


class Yaml12(yaml.SafeLoader):
    """As tidemill reads YAML: 'on' is a word, as are 'yes' and 'no'."""


Yaml12.yaml_implicit_resolvers = {
    first: [each for each in rules if first in "tTfF" or not each[0].endswith(":bool")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


@pytest.fixture(scope="module")
def submit(module_env):
    """Gives the status and, if it was refused, why."""
    server = module_env.server(*module_env.objects_flags)
    roles = ["arn:aws:iam::123456789012:role/films/*", "render@films-1.iam.gserviceaccount.com"]
    allowed = {"cloud_roles": roles}
    assert server.http.request("PUT", "/v1/projects/default/cloud-roles", allowed).status == 200

    def call(spec):
        request = {"spec": spec} if "name" in spec else {"name": "a", "spec": spec}
        answer = server.http.post("/v1/jobs", request)
        return answer.status, answer.json().get("detail", "")

    return call


def known_to(submit, spec):
    """The fields that an error lists."""
    status, why = submit(spec)
    assert status == 400 and "known are" in why, why
    return set(re.findall(r"'(\w+)'", why.partition("known are")[2]))


def test_the_schemas_have_the_fields_that_the_server_knows(submit):
    spec = OPENAPI["components"]["schemas"]["Spec"]["properties"]
    fields = known_to(submit, {"zzzzzzzzzzzz": 1})
    assert fields == set(SCHEMA["properties"]) == set(spec)
    fields = known_to(submit, {"resources": {"zzzzzzzzzzzz": 1}})
    assert fields == set(SCHEMA["properties"]["resources"]["properties"])
    assert fields == set(spec["resources"]["properties"])


def test_every_field_is_in_the_table_of_the_page(submit):
    section = PAGE.partition("## Fields")[2].partition("\n## ")[0]
    table = set(re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE))
    fields = known_to(submit, {"zzzzzzzzzzzz": 1}) - {"resources"}
    fields |= {f"resources.{f}" for f in known_to(submit, {"resources": {"zzzzzzzzzzzz": 1}})}
    assert table == fields


def test_schema_and_server_take_and_refuse_the_same(submit):
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for spec in GOOD:
        status, why = submit(spec)
        assert status == 201, f"{spec}: {why}"
        JOB.validate(spec)
        SPEC.validate(spec)
    for spec in BAD:
        status, why = submit(spec)
        assert status == 400, f"{spec} was taken"
        assert not JOB.is_valid(spec), f"the schema takes {spec}: {why}"
    for spec in BAD_BEYOND_SCHEMA:
        assert submit(spec)[0] == 400, f"{spec} was taken"


def examples_in(schema):
    """Each example of a schema, as a spec that holds nothing else."""
    for name, field in schema["properties"].items():
        for example in field.get("examples", []):
            yield {name: example}
    for name, field in schema["properties"]["resources"]["properties"].items():
        for example in field.get("examples", []):
            yield {"resources": {name: example}}
    yield from schema["examples"]


def test_the_schemas_own_examples_are_right(submit):
    examples = list(examples_in(SCHEMA))
    assert len(examples) > 15
    for spec in examples:
        if spec == {"entrypoint": []}:
            spec = {**spec, "command": ["a"]}
        JOB.validate(spec)
        assert submit(spec)[0] == 201, submit(spec)


def test_every_example_of_the_page_is_taken(submit):
    examples = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(examples) == 14
    for text in examples:
        spec = yaml.load(text, Yaml12)
        JOB.validate(spec)
        assert submit(spec) == (201, ""), text
