# SPDX-License-Identifier: Apache-2.0
"""A private image registry on loopback, which Docker Engine speaks to without TLS."""

import base64
import pathlib
import shutil
import urllib.parse

import test_images
from env import Http, Program, free_port, wait_until

CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: "{folder}"}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: warn}}
"""


class Registry(Program):
    def __init__(self, folder: pathlib.Path) -> None:
        super().__init__(folder, "registry")
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self._config = folder / "registry.yml"
        self._config.write_text(CONFIG.format(folder=folder / "registry", port=self.port))

    def start(self) -> "Registry":
        program = shutil.which("docker-registry")
        assert program, "no registry here: apt-get install docker-registry"
        self._spawn([program, "serve", str(self._config)])
        wait_until("the registry", self._answers)
        return self

    def _answers(self) -> bool:
        self._must_run()
        try:
            return Http(self.port).get("/v2/").status == 200
        except OSError:
            return False

    def push(self, socket: str, image: str, name: str) -> str:
        """Moves an image of the Engine here, under another name; gives that name."""
        there = f"{self.host}/{name}"
        tag = urllib.parse.urlencode({"repo": there, "tag": "latest"})
        test_images.call(socket, "POST", f"/images/{image}/tag?{tag}")
        connection = test_images.UnixConnection(socket)
        nobody = base64.b64encode(b"{}").decode()
        headers = {"X-Registry-Auth": nobody}
        connection.request("POST", f"/images/{there}/push?tag=latest", headers=headers)
        text = connection.getresponse().read().decode()
        connection.close()
        assert '"error"' not in text, text
        test_images.call(socket, "DELETE", f"/images/{there}:latest")
        return there
