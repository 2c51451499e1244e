# SPDX-License-Identifier: Apache-2.0
"""An index of Python packages on loopback, with packages that are made as they are published."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import pathlib
import re
import threading
import zipfile


def wheel(name: str, version: str, requires: tuple[str, ...] = ()) -> tuple[str, bytes]:
    """A package whose VERSION says what it is."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {each}" for each in requires]
    files = {
        f"{name}/__init__.py": f'VERSION = "{version}"\n',
        f"{info}/METADATA": "\n".join(metadata) + "\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        record += f"{path},sha256={digest.decode()},{len(text)}\n"
    files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return f"{name}-{version}-py3-none-any.whl", out.getvalue()


class PackageIndex:
    def __init__(self, host: str = "127.0.0.1") -> None:
        self.host = host
        self._files: dict[str, dict[str, bytes]] = {}
        self.taken: list[str] = []  # the files that were fetched
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = index._answer(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer((host, 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self._server.server_address[1]}/simple"

    def publish(self, name: str, version: str, *requires: str) -> None:
        file, body = wheel(name, version, requires)
        self._files.setdefault(name, {})[file] = body

    def publish_file(self, path: pathlib.Path) -> None:
        """A package that somebody else has made."""
        name = re.sub("[-_.]+", "-", path.name.split("-")[0]).lower()
        self._files.setdefault(name, {})[path.name] = path.read_bytes()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> bytes | None:
        folder, name, *file = path.strip("/").split("/")
        files = self._files.get(name)
        if folder != "simple" or files is None:
            return None
        if file:
            self.taken.append(file[0])
            return files.get(file[0])
        return "".join(
            f'<a href="{each}#sha256={hashlib.sha256(body).hexdigest()}">{each}</a>\n'
            for each, body in files.items()
        ).encode()
