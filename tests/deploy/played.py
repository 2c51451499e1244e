# SPDX-License-Identifier: Apache-2.0
"""Plays deploy/terraform with a stub of the clouds' providers: nothing is asked, nothing made."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools" / "terraform_check"
sys.path.insert(0, str(CHECK))

import programs  # noqa: E402

PROGRAMS = ("tidemill-server", "tidemill-agent", "tidemill-init", "tidemill")


class Played:
    """A copy of deploy/ in a folder of its own, and what Terraform says of one of its modules."""

    def __init__(self, folder: pathlib.Path, module: str):
        self.folder = folder
        shutil.copytree(ROOT / "deploy", folder / "deploy")
        self.module = folder / "deploy" / "terraform" / module
        self.programs = folder / "programs"
        self.programs.mkdir()
        for name in PROGRAMS:
            (self.programs / name).write_text(f"{name} of a test\n")
        (self.programs / "aws.pem").write_text("certificates of a test\n")
        overrides = []
        for provider in ("aws", "google"):
            place = folder / "providers" / provider
            place.mkdir(parents=True)
            (place / f"terraform-provider-{provider}").symlink_to(programs.stub())
            overrides.append(f'"hashicorp/{provider}" = "{place}"')
        (folder / "terraform.rc").write_text(
            "provider_installation {\n dev_overrides {\n" + "\n".join(overrides) + "\n }\n}\n"
        )

    def run(self, *words: str) -> subprocess.CompletedProcess:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TF_", "AWS_", "GOOGLE_"))
        }
        environment["TF_CLI_CONFIG_FILE"] = str(self.folder / "terraform.rc")
        environment["TERRAFORM_CHECK_SCHEMAS"] = str(CHECK)
        environment["CHECKPOINT_DISABLE"] = "1"  # it would ask whether there is a newer one
        return subprocess.run(
            [programs.terraform(), *words],
            cwd=self.module,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )

    def apply(self, **variables) -> "State":
        """Everything that would be made; raises if the plan or a condition fails."""
        values = self.folder / "values.tfvars.json"
        given = {"programs": str(self.programs)}
        if self.module.name == "aws":
            given["identity_certificates"] = str(self.programs / "aws.pem")
        values.write_text(json.dumps({**given, **variables}))
        words = ["-no-color", "-input=false", "-auto-approve", f"-var-file={values}"]
        done = self.run("apply", *words)
        if done.returncode != 0:
            raise RuntimeError(done.stdout)
        return State(json.loads((self.module / "terraform.tfstate").read_text()))


class State:
    def __init__(self, state: dict):
        self.outputs = {name: output["value"] for name, output in state["outputs"].items()}
        self.resources = {}
        for resource in state["resources"]:
            if resource["mode"] == "managed":
                for instance in resource["instances"]:
                    key = instance.get("index_key")
                    name = f"{resource['type']}.{resource['name']}"
                    name += "" if key is None else f"[{key}]"
                    self.resources[name] = instance["attributes"]

    def __getitem__(self, name: str) -> dict:
        return self.resources[name]

    def of(self, kind: str) -> list:
        return [each for name, each in self.resources.items() if name.split(".")[0] == kind]
