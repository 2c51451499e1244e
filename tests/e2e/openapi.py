# SPDX-License-Identifier: Apache-2.0
"""Holds what a server answers against schema/openapi.yaml."""

import collections
import copy
import json
import re
from typing import Any, Dict, Iterator, Mapping, Optional, Set, Tuple

import jsonschema
import yaml
from env import ROOT, Answer

METHODS = ("get", "put", "post", "delete")


def strict(node: Any) -> Any:
    """The schema, changed so that a field which it does not name is wrong."""
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    node = {name: strict(each) for name, each in node.items()}
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        node.setdefault("additionalProperties", False)
    return node


class Contract:
    """The document, and which of its operations and statuses have been seen."""

    def __init__(self) -> None:
        with open(ROOT / "schema" / "openapi.yaml", encoding="utf-8") as file:
            self.document = yaml.safe_load(file)
        self._answers = strict(copy.deepcopy(self.document["components"]))
        self.operations: Dict[Tuple[str, str], Mapping[str, Any]] = {
            (method.upper(), path): item[method]
            for path, item in self.document["paths"].items()
            for method in METHODS
            if method in item
        }
        self.seen: Dict[str, Set[str]] = collections.defaultdict(set)

    def resolve(self, node: Any) -> Any:
        while isinstance(node, dict) and "$ref" in node:
            target = self.document
            for word in node["$ref"].removeprefix("#/").split("/"):
                target = target[word]
            node = target
        return node

    def schema_of(self, schema: Any, answer: bool = False) -> Dict[str, Any]:
        """A schema that stands alone."""
        components = self._answers if answer else self.document["components"]
        return {**(strict(schema) if answer else schema), "components": components}

    def _find(self, method: str, target: str) -> Optional[Mapping[str, Any]]:
        """The operation, None for a path that is not served, {} for another method."""
        path = target.partition("?")[0]
        found: Optional[Mapping[str, Any]] = None
        # Words before names: /v1/agents/wait is no {session}.
        for served, template in sorted(self.operations, key=lambda key: key[1].count("{")):
            pattern = re.sub(r"\{[^}]*\}", "[^/]+", template)
            if re.fullmatch(pattern, path) and served == method:
                return self.operations[served, template]
            if re.fullmatch(pattern, path):
                found = {}
        return found

    def check(self, method: str, target: str, answer: Answer, sent: Any = None) -> None:
        """Fails if the answer is not one that the document has for this request."""
        what = f"{method} {target[:80]} -> {answer.status} {answer.body[:300]!r}"
        operation = self._find(method, target)
        if operation is None:
            assert answer.status == 404, what
            return self.check_problem(answer, what)
        if not operation:
            assert answer.status == 405 and answer.headers["allow"], what
            return self.check_problem(answer, what)
        responses = operation["responses"]
        assert str(answer.status) in responses, f"{what}: the status is not in the document"
        self.seen[operation["operationId"]].add(str(answer.status))
        response = self.resolve(responses[str(answer.status)])
        for name, header in response.get("headers", {}).items():
            if header.get("required"):
                assert name.lower() in answer.headers, f"{what}: no {name}"
                self._check_header(header["schema"], answer.headers[name.lower()], what)
        self._check_body(response.get("content", {}), answer, what)
        if answer.status < 400 and sent is not None and not isinstance(sent, bytes):
            body = self.resolve(operation["requestBody"])["content"]["application/json"]["schema"]
            self.validate(self.schema_of(body), sent, f"the body of {method} {target}")

    @staticmethod
    def _check_header(schema: Mapping[str, Any], text: str, what: str) -> None:
        value = int(text) if schema["type"] == "integer" else text
        jsonschema.validate(value, schema)

    def _check_body(self, content: Mapping[str, Any], answer: Answer, what: str) -> None:
        if not content:
            assert answer.body == b"" and "content-type" not in answer.headers, what
            return
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert kind in content, f"{what}: {kind} is not in the document"
        if kind == "application/problem+json":
            self.check_problem(answer, what)
        elif kind == "application/json":
            self.validate(self.schema_of(content[kind]["schema"], answer=True), answer.json(), what)

    def check_problem(self, answer: Answer, what: str) -> None:
        assert answer.headers["content-type"] == "application/problem+json", what
        problem = answer.json()
        reference = {"$ref": "#/components/schemas/Problem"}
        self.validate(self.schema_of(reference, answer=True), problem, what)
        assert problem["status"] == answer.status, what

    @staticmethod
    def validate(schema: Mapping[str, Any], value: Any, what: str) -> None:
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
        assert not errors, f"{what}: {errors[0].json_path}: {errors[0].message}"

    def references(self) -> Iterator[str]:
        return iter(re.findall(r"\"\$ref\": \"([^\"]+)\"", json.dumps(self.document)))

    def examples(self) -> Iterator[Tuple[str, Mapping[str, Any], Any]]:
        """Where each example of a body stands, its schema, and the example."""
        for (method, path), operation in self.operations.items():
            bodies = [self.resolve(operation.get("requestBody", {}))]
            bodies += [self.resolve(response) for response in operation["responses"].values()]
            for body in bodies:
                for kind, media in body.get("content", {}).items():
                    found = [each["value"] for each in media.get("examples", {}).values()]
                    found += [media["example"]] if "example" in media else []
                    for example in found:
                        yield f"{method} {path} {kind}", media["schema"], example
