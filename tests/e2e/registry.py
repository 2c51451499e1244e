# SPDX-License-Identifier: Apache-2.0
"""A private image registry on loopback, which Docker Engine speaks to without TLS."""

import base64
import http.client
import http.server
import json
import pathlib
import re
import shutil
import threading
import time
import urllib.parse
from typing import List, Sequence

import test_images
from env import Http, Program, wait_until, whole_lines

CONFIG = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: "{folder}"}}}}
http: {{addr: "127.0.0.1:{port}"}}
log: {{level: info, accesslog: {{disabled: true}}}}
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
    """Listens at a port that it is given by its first start, and at the same one after that."""

    def __init__(self, folder: pathlib.Path, wants_login: bool = False) -> None:
        super().__init__(folder, "registry")
        self._folder, self._wants_login, self.port = folder, wants_login, 0
        self._auth = ""
        if wants_login:
            (folder / "htpasswd").write_text(HTPASSWD)
            self._auth = f'auth: {{htpasswd: {{realm: test, path: "{folder}/htpasswd"}}}}'

    @property
    def host(self) -> str:
        assert self.port, "the registry was not started yet"
        return f"127.0.0.1:{self.port}"

    def start(self) -> "Registry":
        program = shutil.which("docker-registry")
        assert program, "no registry here: apt-get install docker-registry"
        config = self._folder / "registry.yml"
        config.write_text(
            CONFIG.format(folder=self._folder / "registry", port=self.port, auth=self._auth)
        )
        self._spawn([program, "serve", str(config)])
        wait_until("the registry", self._answers)
        return self

    def _answers(self) -> bool:
        self._must_run()
        found = re.findall(r"listening on 127\.0\.0\.1:(\d+)", "\n".join(whole_lines(self.log)))
        if not found:
            return False
        self.port = int(found[-1])
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
    """A way to a registry. It remembers who asked for what. A body stops at each of `stops` bytes
    until the test calls go_on() once more."""

    def __init__(self, registry: Registry, stops: Sequence[int] = ()) -> None:
        self.asked: List[str] = []  # "GET /v2/..."
        self._stops = list(stops)
        self._open = [threading.Event() for _ in stops]
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
                    road.pass_on(answer, self.wfile)
                there.close()

            do_HEAD = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def pass_on(self, source, sink) -> None:
        done = 0
        for stop, is_open in zip(self._stops, self._open):
            while done < stop and (piece := source.read(min(1 << 18, stop - done))):
                sink.write(piece)
                done += len(piece)
                time.sleep(0.05)  # Docker tells of no more than one step in a tenth of a second
            if done == stop:
                is_open.wait()
        while piece := source.read(65536):
            sink.write(piece)

    def go_on(self) -> None:
        """Opens the next stop."""
        next(each for each in self._open if not each.is_set()).set()

    def close(self) -> None:
        for each in self._open:
            each.set()
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
