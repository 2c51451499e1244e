# SPDX-License-Identifier: Apache-2.0
"""What clouds tell their machines: EC2's by AWS's own mock, Google's by a stand-in that refuses
what Google refuses."""

import datetime
import http.server
import json
import pathlib
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Optional, Tuple

from env import Program, free_port, wait_until
from object_servers import EC2_METADATA, build

NEVER_S = "86400"


class Ec2Metadata(Program):
    """amazon-ec2-metadata-mock, version 2 only. What it says changes by starting it anew."""

    def __init__(self, folder: pathlib.Path, name: str = "ec2-metadata") -> None:
        super().__init__(folder, name)
        self._program, self.port = build(EC2_METADATA), free_port()
        self._config = folder / f"{name}.json"
        self._config.write_text("{}")

    @property
    def environment(self) -> Dict[str, str]:
        """For agents that are to ask it."""
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{self.port}"}

    def configure(self, config: Dict[str, Any]) -> "Ec2Metadata":
        """What it says instead of its defaults, from its next start on."""
        self._config.write_text(json.dumps(config))
        return self

    def read(self, path: str) -> bytes:
        """As an agent does."""
        root = f"http://127.0.0.1:{self.port}/latest/"
        life = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
        asked = urllib.request.Request(f"{root}api/token", method="PUT", headers=life)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            token = {"X-aws-ec2-metadata-token": answer.read().decode()}
        asked = urllib.request.Request(root + path, headers=token)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return bytes(answer.read())

    def say(self, rebalance: bool = False, spot_in_s: Optional[int] = None) -> "Ec2Metadata":
        """From now on: a recommendation, or not; an interruption in so many seconds, or none."""
        self.kill9()
        command = [str(self._program), "spot", "--hostname", "127.0.0.1", "-p", str(self.port)]
        command += ["-c", str(self._config)]
        command += ["-I", "--rebalance-delay-sec", "0" if rebalance else NEVER_S]
        command += ["-d", NEVER_S if spot_in_s is None else "0"]
        if spot_in_s is not None:
            now = datetime.datetime.now(datetime.timezone.utc)
            time = now + datetime.timedelta(seconds=spot_in_s)
            command += ["-t", time.strftime("%Y-%m-%dT%H:%M:%SZ")]
        self._spawn(command)
        wait_until("the metadata mock", self._answers)
        return self

    def _answers(self) -> bool:
        self._must_run()
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/latest/meta-data/", timeout=5)
        except urllib.error.HTTPError as error:
            return error.code == 401  # it wants a token
        except OSError:
            return False
        return True


class GceMetadata:
    """Google's metadata server and, at the same port, what a group of machines is asked to do."""

    GROUP = "projects/1/zones/us-central1-b/instanceGroupManagers/mill"

    def __init__(self, **attributes: str) -> None:
        self.values = {
            "instance/id": "4711",
            "instance/name": "mill-x1",
            "instance/machine-type": "projects/1/machineTypes/n2-standard-4",
            "instance/zone": "projects/1/zones/us-central1-b",
            "instance/scheduling/preemptible": "TRUE",
            "instance/preempted": "FALSE",
            "instance/attributes/created-by": self.GROUP,
        }
        for name, value in attributes.items():
            self.values[f"instance/attributes/{name.replace('_', '-')}"] = value
        self.deleted: List[Any] = []
        self.refused: List[str] = []
        self._changed = threading.Condition()
        self._version = 1
        handler = type("Handler", (_GceHandler,), {"cloud": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> Dict[str, str]:
        host = f"127.0.0.1:{self._server.server_port}"
        return {
            "GCE_METADATA_HOST": host,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"http://{host}/compute/v1/",
            "CLOUDSDK_CONFIG": "/nonexistent",
        }

    def change(self, path: str, value: str) -> None:
        with self._changed:
            self.values[path] = value
            self._version += 1
            self._changed.notify_all()

    def read(self, path: str, query: Dict[str, List[str]]) -> Tuple[Optional[str], str]:
        """The value, and the tag of its state; waits for a change if that is asked for."""
        with self._changed:
            if query.get("wait_for_change") == ["true"]:
                known = query.get("last_etag", ["0"])[0]
                timeout_s = float(query.get("timeout_sec", ["60"])[0])
                self._changed.wait_for(lambda: str(self._version) != known, timeout_s)
            return self.values.get(path), str(self._version)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _GceHandler(http.server.BaseHTTPRequestHandler):
    cloud: GceMetadata
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, status: int, body: str = "", **headers: str) -> None:
        if status not in (200, 404):
            self.cloud.refused.append(f"{status} {self.command} {self.path}")
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if self.headers.get("Metadata-Flavor") != "Google" or "X-Forwarded-For" in self.headers:
            return self._answer(403)
        prefix = "/computeMetadata/v1/"
        if not url.path.startswith(prefix):
            return self._answer(404)
        path = url.path[len(prefix) :]
        if path == "instance/service-accounts/default/token":
            return self._answer(200, json.dumps({"access_token": "ya29", "expires_in": 3599}))
        value, etag = self.cloud.read(path, urllib.parse.parse_qs(url.query))
        if value is None:
            return self._answer(404)
        return self._answer(200, value, ETag=etag)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Authorization") != "Bearer ya29":
            return self._answer(401)
        if self.path != f"/compute/v1/{GceMetadata.GROUP}/deleteInstances":
            return self._answer(404)
        self.cloud.deleted.append(json.loads(body))
        return self._answer(200, "{}")
