# SPDX-License-Identifier: Apache-2.0
"""Calls to a server. All of them may be repeated, so one whose answer was lost is made again."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tidemill.errors import Conflict, Error, Invalid, NotAllowed, NotFound, Unavailable
from tidemill.target import Surroundings, find_target

# For how long a call is made again: while the server says 'not now', and where much would be lost
# if a server that is started anew were not waited for.
BRIEF_S = 10.0
PATIENT_S = 300.0

_ANSWER_S = 120.0  # 8 MiB over a slow line
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_KINDS = {400: Invalid, 401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict}
_KINDS.update({413: Invalid, 415: Invalid, 429: Unavailable, 503: Unavailable})


class Client:
    """Knows one server. Any thread may call it; each has a connection of its own.

    Without arguments it is the server that `tidemill` on the command line would take.
    """

    def __init__(
        self, server: str = "", *, context: str = "", ca: str = "", project: str = ""
    ) -> None:
        target = find_target(Surroundings.here(), server, context, ca, project)
        url = urlsplit(target.url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise Invalid(f"'{target.url}' is no server's URL; it looks like https://batch.example")
        self.url = target.url
        self._host, self._port = url.hostname, url.port
        self._tls: ssl.SSLContext | None = None
        if url.scheme == "https":
            self._tls = ssl.create_default_context(
                cafile=target.ca_file or None, cadata=target.ca_pem or None
            )
        self._headers: dict[str, str] = {}
        if target.token:
            self._headers["Authorization"] = f"Bearer {target.token}"
        if target.project:
            self._headers["Tidemill-Project"] = target.project
        self._local = threading.local()

    def get(
        self, path: str, query: Mapping[str, Any] | None = None, patience_s: float = BRIEF_S
    ) -> Any:
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        return self.call("GET", path + ("?" + urlencode(asked) if asked else ""), None, patience_s)

    def post(self, path: str, body: Mapping[str, Any], patience_s: float = BRIEF_S) -> Any:
        return self.call("POST", path, json.dumps(body).encode(), patience_s)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        patience_s: float = BRIEF_S,
        kind: str = "application/json",
    ) -> Any:
        """What a 2xx answer says. Other answers are errors, in the server's words."""
        deadline = time.monotonic() + patience_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return self._call_once(method, path, body, kind)
            except Unavailable:
                if time.monotonic() + pause_s > deadline:
                    raise
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _call_once(self, method: str, path: str, body: bytes | None, kind: str) -> Any:
        headers = dict(self._headers, **({"Content-Type": kind} if body is not None else {}))
        status, text = self._exchange(method, path, body, headers)
        if status < 300:
            return json.loads(text)
        raise _error_of(status, text)

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        connection = self._connection()
        fresh = connection.sock is None
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read()
        except ssl.SSLCertVerificationError as error:
            raise NotAllowed(
                f"the certificate of {self.url} is not trusted: {error.verify_message}\n"
                "If it is yours, sign in with its CA:  tidemill login URL --ca FILE"
            ) from error
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            # A server may end a connection that is kept, at any time.
            if not fresh:
                return self._exchange(method, path, body, headers)
            raise Unavailable(
                f"{self.url} cannot be reached: {error}\nIs it the right one, and does it run?"
            ) from error

    def _connection(self) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            return kept
        if self._tls is None:
            made = http.client.HTTPConnection(self._host, self._port, timeout=_ANSWER_S)
        else:
            made = http.client.HTTPSConnection(
                self._host, self._port, timeout=_ANSWER_S, context=self._tls
            )
        self._local.connection = made
        return made


def job_path(job: str, tail: str = "") -> str:
    return f"/v1/jobs/{quote(job, safe='')}{tail}"


def _error_of(status: int, text: bytes) -> Error:
    try:
        problem = json.loads(text)
        said = f"{problem['detail']}\n{problem['next']}"
    except (ValueError, KeyError, TypeError):
        said = f"the server answered {status}: {text[:200].decode(errors='replace')}"
    return _KINDS.get(status, Error)(said)
