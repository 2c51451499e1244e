# SPDX-License-Identifier: Apache-2.0
"""A private image registry on loopback, which Docker Engine speaks to without TLS."""

import base64
import http.client
import http.server
import json
import pathlib
import shutil
import threading
import time
import urllib.parse
from typing import List

import test_images
from env import Http, Program, free_port, wait_until

CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: "{folder}"}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: warn}}
{auth}
"""

# Of a registry that wants a login. Such files hold bcrypt, which nothing of Python's own can make.
LOGIN = "reader:Canary+/of-the-registry&%=9"
ROLE_LOGIN = "AWS:token-of-the-role-0123456789"  # what a cloud gives a machine for it
HTPASSWD = """\
reader:$2y$05$abcdefghijklmnopqrstuuOik.TSyEqCOaHX2gIMdpVzB2Z5xSQty
AWS:$2y$05$abcdefghijklmnopqrstuulSgRKFwgkUNMCgC4wdNm/aWUKS6fK4y
"""


class Registry(Program):
    def __init__(self, folder: pathlib.Path, wants_login: bool = False) -> None:
        super().__init__(folder, "registry")
        self._wants_login = wants_login
        self.port = free_port()
        self.host = f"127.0.0.1:{self.port}"
        self._config = folder / "registry.yml"
        auth = ""
        if wants_login:
            (folder / "htpasswd").write_text(HTPASSWD)
            auth = f'auth: {{htpasswd: {{realm: test, path: "{folder}/htpasswd"}}}}'
        self._config.write_text(
            CONFIG.format(folder=folder / "registry", port=self.port, auth=auth)
        )

    def start(self) -> "Registry":
        program = shutil.which("docker-registry")
        assert program, "no registry here: apt-get install docker-registry"
        self._spawn([program, "serve", str(self._config)])
        wait_until("the registry", self._answers)
        return self

    def _answers(self) -> bool:
        self._must_run()
        try:
            return Http(self.port).get("/v2/").status == (401 if self._wants_login else 200)
        except OSError:
            return False

    def push(self, socket: str, image: str, name: str) -> str:
        """Moves an image of the Engine here, under another name; gives that name."""
        there = f"{self.host}/{name}"
        tag = urllib.parse.urlencode({"repo": there, "tag": "latest"})
        test_images.call(socket, "POST", f"/images/{image}/tag?{tag}")
        connection = test_images.UnixConnection(socket)
        who = {}
        if self._wants_login:
            who["username"], _, who["password"] = LOGIN.partition(":")
        auth = base64.urlsafe_b64encode(json.dumps(who).encode()).decode()
        headers = {"X-Registry-Auth": auth}
        connection.request("POST", f"/images/{there}/push?tag=latest", headers=headers)
        text = connection.getresponse().read().decode()
        connection.close()
        assert '"error"' not in text, text
        test_images.call(socket, "DELETE", f"/images/{there}:latest")
        return there


class SlowRoad:
    """A way to a registry on which layers take their time. It remembers who asked for what."""

    def __init__(self, registry: Registry, bytes_a_second: int) -> None:
        self.asked: List[str] = []  # "GET /v2/..."
        road = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                road.asked.append(f"{self.command} {self.path}")
                there = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=60)
                there.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
                for name, value in self.headers.items():  # some come several times
                    there.putheader(name, value)
                there.endheaders()
                answer = there.getresponse()
                self.send_response_only(answer.status)
                for name, value in answer.getheaders():
                    self.send_header(name, value)
                self.end_headers()
                if self.command == "GET":
                    road.pass_on(answer, self.wfile, bytes_a_second)
                there.close()

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @staticmethod
    def pass_on(source, sink, bytes_a_second: int) -> None:
        step_s = 0.05
        while piece := source.read(int(bytes_a_second * step_s)):
            sink.write(piece)
            time.sleep(step_s)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Ecr:
    """Plays the part of AWS that gives a machine with keys the login to its registry."""

    def __init__(self, keys: str) -> None:
        self.asked = 0
        ecr = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                ecr.asked += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                known = f"Credential={keys}/" in self.headers.get("Authorization", "")
                given = {
                    "authorizationToken": base64.b64encode(ROLE_LOGIN.encode()).decode(),
                    "expiresAt": time.time() + 12 * 3600,
                }
                body = {"authorizationData": [given]}
                if not known:
                    body = {"__type": "AccessDeniedException", "message": "not authorized"}
                text = json.dumps(body).encode()
                self.send_response(200 if known else 400)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
