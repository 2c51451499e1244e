# SPDX-License-Identifier: Apache-2.0
"""The SDK's types: as schema/openapi.yaml has them, and as mypy wants them."""

import dataclasses
import subprocess
import sys
import typing

import pytest
from env import ROOT
from openapi import Contract
from tidemill import draft, inside, wire

CONTRACT = Contract()
SCHEMAS = CONTRACT.document["components"]["schemas"]
KINDS = {
    wire.Counts: SCHEMAS["Counts"],
    wire.Status: {**SCHEMAS["Job"], "required": [*SCHEMAS["Job"]["required"], "counts"]},
    wire.Attempt: SCHEMAS["Outcome"],
    wire.ListedItem: SCHEMAS["Item"],
    wire.Outcome: SCHEMAS["OutcomePage"]["properties"]["outcomes"]["items"],
    wire.FailureGroup: SCHEMAS["Failures"]["properties"]["groups"]["items"],
    wire.LogHit: SCHEMAS["LogHits"]["properties"]["hits"]["items"],
}
NESTED = {"Counts": wire.Counts, "Outcome": wire.Attempt}
JSON_TYPES = {"integer": int, "string": str, "boolean": bool, "null": type(None)}


def types_of(schema):
    """What a value of the schema is in Python."""
    named = schema.get("$ref", "").split("/")[-1]
    if named in NESTED:
        return {NESTED[named]}
    schema = CONTRACT.resolve(schema)
    if "enum" in schema:
        return {str}
    if schema.get("type") == "array":
        return {list[types_of(schema["items"]).pop()]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {JSON_TYPES[each] for each in kinds}


def test_all_that_is_read_is_checked():
    made = {each for each in vars(wire).values() if dataclasses.is_dataclass(each)}
    assert made == set(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_fields_are_those_of_the_document(kind):
    schema, hints = KINDS[kind], typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        assert field.name in schema["properties"], f"{field.name} is not in the document"
        is_sure = field.name in schema["required"]
        has_default = field.default is not dataclasses.MISSING
        assert is_sure != has_default, f"{field.name}: needs a default if it may be absent"
        hint = hints[field.name]
        if hint is typing.Any:
            continue
        # A union has its members; None, where it is the default, stands for an absent field.
        is_union = type(None) in typing.get_args(hint)
        told = set(typing.get_args(hint)) if is_union else {hint}
        if has_default and field.default is None:
            told.remove(type(None))
        assert told == types_of(schema["properties"][field.name]), field.name


def test_limits_are_those_of_the_document():
    paths = CONTRACT.document["paths"]
    part = paths["/v1/jobs/{job}/parts/{number}"]["put"]["requestBody"]["content"]["text/plain"]
    assert draft.PART_BYTES_MAX == part["schema"]["maxLength"]
    assert draft.RANGE_ITEMS_MAX == SCHEMAS["RangePart"]["properties"]["range"]["maximum"]
    loop = (ROOT / "schema" / "loop.yaml").read_text()
    assert f"any JSON of at most {inside.RESULT_BYTES_MAX} bytes" in loop


def test_mypy_finds_nothing(tmp_path):
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT / "python", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
