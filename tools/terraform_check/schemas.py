#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the schemas that the stub provider serves: aws.json and google.json beside this file.

usage: schemas.py

The clouds' own provider plugins are hundreds of megabytes and cannot be had everywhere. Their
schemas can: CDKTF's bindings were generated of them, one JavaScript file a resource, and names and
types of all attributes stand in those. Only what deploy/terraform uses is kept. Run it when a .tf
file uses a resource or data source that it did not use before.
"""

import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TERRAFORM = HERE.parents[1] / "deploy" / "terraform"
# The last ones: CDKTF is not made any more. They hold the providers 6.25.0 and 6.50.0.
WHEELS = {
    "aws": "cdktf-cdktf-provider-aws==21.22.1",
    "google": "cdktf-cdktf-provider-google==16.12.1",
}

USED = re.compile(r'^(resource|data)\s+"(aws|google)_(\w+)"', re.MULTILINE)
COMPUTED = re.compile(r"// (\w+) - computed: true, optional: false, required: false")
GETTER = re.compile(r"return this\.get(\w+)Attribute\('(\w+)'\)")
ENTRY = re.compile(
    r"(\w+): \{\s*value: (.*?),\s*isBlock: (\w+),\s*type: \"(\w+)\",\s*"
    r"storageClassType: \"(\w+)\",\s*\}",
    re.DOTALL,
)
ELEMENTS = {"string": "string", "number": "number", "boolean": "bool"}
READ = {"String": "string", "Number": "number", "Boolean": "bool", "List": ["list", "string"]}
READ.update({"StringMap": ["map", "string"], "NumberList": ["list", "number"]})


def used(provider: str) -> set:
    """(kind, name without the provider) of all that the .tf files name."""
    texts = [path.read_text() for path in TERRAFORM.glob("*/*.tf")]
    found = {each for text in texts for each in USED.findall(text)}
    return {(kind, name) for kind, of, name in found if of == provider}


def type_of(kind: str, storage: str):
    """Terraform's JSON form of a type; what is an object is not looked into."""
    element = next(
        (e for s, e in ELEMENTS.items() if re.match(f"{s}(List|Map|Set)?$", storage)), None
    )
    if element is None:
        return "dynamic"
    return element if kind == "simple" else [kind, element]


class Source:
    """One generated file: functions that write HCL, and classes with accessors."""

    def __init__(self, text: str):
        self.functions = {
            name: body
            for name, body in re.findall(
                r"^function (\w+)ToHclTerraform\(struct\) \{\n(.*?)^\}",
                text,
                re.DOTALL | re.MULTILINE,
            )
        }
        self.classes = dict(
            re.findall(r"^class (\w+) extends[^\n]*\{\n(.*?)^\}", text, re.DOTALL | re.MULTILINE)
        )

    def block(self, class_body: str, written: str) -> dict:
        """What may be written, and what the cloud says; class_body has an accessor for each."""
        attributes, blocks = {}, {}
        for name, value, is_block, kind, storage in ENTRY.findall(written):
            required = is_required(name, class_body)
            if is_block == "true" and "ToHclTerraform" in value:
                blocks[name] = self.nested(value, kind, required)
            elif required:
                attributes[name] = {"type": type_of(kind, storage), "required": True}
            else:
                # The bindings do not tell whether the cloud fills it if nobody does: it may.
                may = {"optional": True, "computed": True} if class_body else {"optional": True}
                attributes[name] = {"type": type_of(kind, storage), **may}
        read = {name: READ.get(kind, "dynamic") for kind, name in GETTER.findall(class_body)}
        for name in COMPUTED.findall(class_body):
            if name not in attributes and name not in blocks:
                attributes[name] = {"type": read.get(name, "dynamic"), "computed": True}
        return {"attributes": attributes, "block_types": blocks}

    def nested(self, value: str, kind: str, required: bool) -> dict:
        function = re.search(r"(\w+)ToHclTerraform", value)[1]
        # A provider's own blocks have no such class, and are all optional.
        inner = self.classes.get(function[0].upper() + function[1:] + "OutputReference", "")
        nested = {
            "nesting_mode": "single" if kind == "struct" else kind,
            "block": self.block(inner, self.functions[function]),
        }
        if "listMapper" not in value and kind != "struct":
            nested["max_items"] = 1
        if required:
            nested["min_items"] = 1
        return nested


def is_required(name: str, class_body: str) -> bool:
    """What is optional can be reset. Names that begin with get are called fetch there."""
    plain = re.sub("^get_", "fetch_", name).replace("_", "")
    return class_body != "" and f" reset{plain}(" not in class_body.lower()


def schema(package: tarfile.TarFile, folder: str) -> dict:
    text = package.extractfile(f"package/lib/{folder}/index.js").read().decode()
    source = Source(text)
    main = next(body for body in source.classes.values() if "terraformResourceType:" in body)
    written = main.partition("synthesizeHclAttributes()")[2]
    return source.block(main, written)


def provider_schema(package: tarfile.TarFile) -> dict:
    source = Source(package.extractfile("package/lib/provider/index.js").read().decode())
    main = next(body for body in source.classes.values() if "terraformProviderSource" in body)
    return source.block("", main.partition("synthesizeHclAttributes()")[2])


def write(provider: str, folder: pathlib.Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    subprocess.run([*pip, WHEELS[provider]], check=True)
    wheel = zipfile.ZipFile(next(folder.glob(f"*_{provider}-*.whl")))
    archive = next(name for name in wheel.namelist() if name.endswith(".jsii.tgz"))
    schemas = {"provider": {}, "resource": {}, "data": {}}
    with tarfile.open(fileobj=wheel.open(archive)) as package:
        schemas["provider"] = provider_schema(package)
        for kind, name in sorted(used(provider)):
            folder_name = ("data-" + provider + "-" if kind == "data" else "") + name.replace(
                "_", "-"
            )
            schemas[kind][f"{provider}_{name}"] = schema(package, folder_name)
    text = json.dumps(schemas, sort_keys=True, indent=1)
    # A line an attribute: a change can be read.
    text = re.sub(
        r"\{\s+(\"\w+\": [^{}]*?)\s+\}", lambda m: "{" + " ".join(m[1].split()) + "}", text
    )
    (HERE / f"{provider}.json").write_text(text + "\n")


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        for provider in WHEELS:
            write(provider, pathlib.Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
