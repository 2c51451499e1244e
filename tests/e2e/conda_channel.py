# SPDX-License-Identifier: Apache-2.0
"""A channel of conda packages on loopback, with packages that are made as they are published."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import tarfile
import threading

SUBDIRS = ("linux-64", "noarch")
# What a package was built for; whoever installs it writes the real folder there.
PLACEHOLDER = "/placeholder_placeholder_placeholder"


def archive(index: dict[str, object], files: dict[str, bytes], links: dict[str, str]) -> bytes:
    """A package as conda-build makes it; what is below bin can be executed."""
    out = io.BytesIO()
    paths = []
    with tarfile.open(fileobj=out, mode="w:bz2", compresslevel=1) as tar:

        def add(name: str, body: bytes) -> None:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(body), 0o755 if name.startswith("bin/") else 0o644
            tar.addfile(entry, io.BytesIO(body))

        for name, body in files.items():
            add(name, body)
            digest = hashlib.sha256(body).hexdigest()
            path = {"_path": name, "path_type": "hardlink", "sha256": digest}
            path["size_in_bytes"] = len(body)
            if PLACEHOLDER.encode() in body:
                path.update(prefix_placeholder=PLACEHOLDER, file_mode="text")
            paths.append(path)
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
            paths.append({"_path": name, "path_type": "softlink"})
        add("info/index.json", json.dumps(index).encode())
        add("info/paths.json", json.dumps({"paths": paths, "paths_version": 1}).encode())
    return out.getvalue()


class CondaChannel:
    """Its name is `films`; the address before it is what CONDA_CHANNEL_ALIAS says."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._records: dict[str, dict[str, object]] = {}
        self.taken: list[str] = []  # the packages that were fetched
        channel = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = channel._answer(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            do_HEAD = do_GET

            def log_message(self, *_args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def alias(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def publish(
        self,
        name: str,
        version: str,
        files: dict[str, bytes],
        depends: tuple[str, ...] = (),
        links: dict[str, str] | None = None,
    ) -> str:
        """The name of its file."""
        index = {"name": name, "version": version, "build": "0", "build_number": 0}
        index.update(depends=list(depends), subdir="linux-64")
        body = archive(index, files, links or {})
        file = f"{name}-{version}-0.tar.bz2"
        self._files[file] = body
        self._records[file] = {
            **index,
            "sha256": hashlib.sha256(body).hexdigest(),
            "md5": hashlib.md5(body).hexdigest(),
            "size": len(body),
        }
        return file

    def digest(self, file: str) -> str:
        return hashlib.sha256(self._files[file]).hexdigest()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, path: str) -> bytes | None:
        channel, subdir, file = (path.strip("/").split("/") + ["", ""])[:3]
        if channel != "films" or subdir not in SUBDIRS:
            return None
        if file == "repodata.json":
            packages = self._records if subdir == "linux-64" else {}
            return json.dumps({"info": {"subdir": subdir}, "packages": packages}).encode()
        if file in self._files:
            self.taken.append(file)
        return self._files.get(file)
