# SPDX-License-Identifier: Apache-2.0
"""Somebody who is told of jobs: a small web server that writes down what comes."""

from __future__ import annotations

import http.server
import json
import socket
import threading
from typing import Any, NamedTuple


class Told(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes
    status: int  # what was answered

    @property
    def news(self) -> dict[str, Any]:
        return dict(json.loads(self.body))

    @property
    def id(self) -> str:
        return self.headers["Tidemill-Delivery"]


class Receiver:
    """Listens from `start` to `stop`, at the port of the first start each time. `statuses` are
    answered in turn, then always 204."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.statuses: list[int] = []
        self._server: http.server.ThreadingHTTPServer | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def start(self) -> "Receiver":
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                receiver.told.append(Told(self.path, dict(self.headers), body, status))
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"http://127.0.0.1:{receiver.port}/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
        self._server = None

    def taken(self) -> list[Told]:
        """What was answered well, each id once."""
        by_id = {one.id: one for one in self.told if 200 <= one.status < 300}
        return list(by_id.values())

    def events(self) -> list[str]:
        return [one.news["event"] for one in self.taken()]


class Hole:
    """Takes connections and says nothing, ever."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=1000)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/"

    def close(self) -> None:
        self._socket.close()
