# SPDX-License-Identifier: Apache-2.0
"""A small AWS: moto's server keeps groups and instances, and for each instance that a group
launches there is an agent, with instance metadata of its own."""

import base64
import pathlib
import subprocess
import sys
import threading
import urllib.request
from typing import Any, Callable, Dict, List, Optional

import botocore.session
from agents import Agent
from env import Program, Server, free_port, wait_until
from metadata import Ec2Metadata

REGION = "us-east-1"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": REGION}


class Moto(Program):
    """moto's server: what it lies about is in the tests that meet it."""

    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder, "moto")
        self.url = f"http://127.0.0.1:{free_port()}"

    @property
    def environment(self) -> Dict[str, str]:
        """For whoever is to take it for AWS."""
        return {"AWS_ENDPOINT_URL": self.url, "AWS_EC2_METADATA_DISABLED": "true", **KEYS}

    def start(self) -> "Moto":
        port = self.url.rsplit(":", 1)[1]
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port]
        # Its AWS Batch would otherwise run containers on this machine.
        self._spawn(command, env={**KEYS, "PATH": "/usr/bin", "DOCKER_HOST": "tcp://127.0.0.1:1"})
        wait_until("moto", self._answers, 60)
        return self

    def _answers(self) -> bool:
        self._must_run()
        try:
            urllib.request.urlopen(f"{self.url}/moto-api/data.json", timeout=5)
        except OSError:
            return False
        return True

    def client(self, service: str) -> Any:
        return botocore.session.get_session().create_client(
            service,
            REGION,
            endpoint_url=self.url,
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )

    def group(self, name: str) -> Optional[Dict[str, Any]]:
        groups = self.client("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=[name]
        )["AutoScalingGroups"]
        return groups[0] if groups else None

    def instances(self) -> Dict[str, str]:
        """The states of all instances that there are or were."""
        pages = self.client("ec2").get_paginator("describe_instances").paginate()
        return {
            each["InstanceId"]: each["State"]["Name"]
            for page in pages
            for reservation in page["Reservations"]
            for each in reservation["Instances"]
        }

    def there(self) -> List[str]:
        return [name for name, state in self.instances().items() if state in ("pending", "running")]

    def options(self) -> Dict[str, Any]:
        """What a pool has to say to have machines here."""
        ec2 = self.client("ec2")
        return {
            "region": REGION,
            "types": ["c5.large", "m5.large"],
            "image": ec2.describe_images()["Images"][0]["ImageId"],
            "subnets": [ec2.describe_subnets()["Subnets"][0]["SubnetId"]],
        }


class Certificate:
    """What AWS would sign identity documents with."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path, self._key = folder / "aws.pem", folder / "aws.key"
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
        command += ["-subj", "/CN=aws", "-keyout", str(self._key), "-out", str(self.path)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

    def sign(self, text: bytes) -> str:
        command = ["openssl", "dgst", "-sha256", "-sign", str(self._key)]
        signature = subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout
        return base64.b64encode(signature).decode()


class Instance:
    """An agent on an instance, and what the instance's metadata says."""

    def __init__(self, cloud: "Ec2", number: int, instance: str) -> None:
        self.cloud, self.id = cloud, instance
        self.metadata = Ec2Metadata(cloud.folder, f"metadata-{number}")
        self._identify()
        flags = ["--cloud", "aws", "--project", "default", "--pool", cloud.pool, "--cpus", "2"]
        flags += ["--memory", "1GiB", *cloud.agent_flags]
        self.agent = Agent(cloud.folder, f"instance-{number}", cloud.servers, *flags)
        self.agent.forget_token()

    def _identify(self) -> None:
        """The mock lays a document out in its own way, so that is what gets signed."""
        config: Dict[str, Any] = {
            "metadata": {"values": {"instance-id": self.id, "instance-life-cycle": "spot"}},
            "dynamic": {"values": {"instance-identity-document": {"instanceId": self.id}}},
        }
        self.metadata.configure(config).say()
        document = self.metadata.read("dynamic/instance-identity/document")
        values = config["dynamic"]["values"]
        values["instance-identity-signature"] = self.cloud.certificate.sign(document)
        self.metadata.configure(config).say()
        assert self.metadata.read("dynamic/instance-identity/document") == document

    def start(self) -> None:
        environment = {**self.cloud.moto.environment, **self.metadata.environment}
        environment["AWS_EC2_METADATA_DISABLED"] = "false"
        self.agent.spawn(environment)

    def give_notice(self) -> None:
        """AWS says that it will take the machine, so soon that items end at once; `Ec2.take` then
        takes it."""
        self.metadata.say(spot_in_s=30)

    def end(self) -> None:
        """Its power is gone."""
        self.agent.kill9()
        self.metadata.kill9()


class Ec2:
    """Starts an agent for every instance of a pool's group, and ends those whose instance has."""

    def __init__(self, moto: Moto, folder: pathlib.Path, certificate: Certificate, pool: str):
        self.moto, self.folder, self.certificate, self.pool = moto, folder, certificate, pool
        self.servers: List[Server] = []
        self.agent_flags: List[str] = []
        self.comes_up: Callable[[str], bool] = lambda instance: True
        self.running: Dict[str, Instance] = {}
        self.seen: List[str] = []
        self.errors: List[BaseException] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Ec2":
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._over.wait(0.2):
            try:
                self._look()
            except BaseException as error:  # the test says so at its end
                self.errors.append(error)
                return

    def _look(self) -> None:
        states = self.moto.instances()
        for name, state in states.items():
            if name in self.seen or state != "running":
                continue
            self.seen.append(name)
            if not self.comes_up(name):
                continue
            instance = Instance(self, len(self.seen), name)
            instance.start()
            self.running[name] = instance
        for name in [each for each in self.running if states[each] != "running"]:
            self.running.pop(name).end()

    def take(self, instance: str) -> None:
        """As AWS takes a spot instance. moto puts another in its place, which AWS does not do where
        that is suspended: so that one goes at once."""
        groups = self.moto.client("autoscaling")
        before = set(self.moto.instances())
        self.moto.client("ec2").terminate_instances(InstanceIds=[instance])
        for made in set(self.moto.instances()) - before:
            self.seen.append(made)
            groups.terminate_instance_in_auto_scaling_group(
                InstanceId=made, ShouldDecrementDesiredCapacity=True
            )

    def close(self) -> None:
        self._over.set()
        self._thread.join(30)
        for instance in self.running.values():
            instance.end()
