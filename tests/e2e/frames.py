# SPDX-License-Identifier: Apache-2.0
"""The frames of a stream (src/frame/stream.h), as a client of the API speaks them."""

from __future__ import annotations

import http.client
import socket
import struct
from typing import NamedTuple

from env import Server

GIVE, OUTPUT, OVER = 10, 21, 24
HEADER = struct.Struct("<IIQ")


class Over(NamedTuple):
    exit: int
    error: int
    with_item: bool


class PortStream:
    """A connection to a port in the container of an item."""

    def __init__(self, server: Server, job: str, item: int, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=60)
        self._socket.sendall(
            f"POST /v1/jobs/{job}/items/{item}/ports/{port} HTTP/1.1\r\nHost: tidemill\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Length: 0\r\n"
            "Connection: upgrade\r\nUpgrade: tidemill-stream\r\n\r\n".encode()
        )
        self._file = self._socket.makefile("rb")
        status = int(self._file.readline().split()[1])
        headers = http.client.parse_headers(self._file)
        assert status == 101, (status, headers)
        assert headers["Upgrade"] == "tidemill-stream"

    def __enter__(self) -> PortStream:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def give(self, data: bytes) -> None:
        self._socket.sendall(HEADER.pack(GIVE, len(data), 0) + data)

    def read_all(self) -> tuple[bytes, Over]:
        """What comes until it is over, and how that was."""
        out = b""
        while True:
            kind, size, number = HEADER.unpack(self._file.read(HEADER.size))
            payload = self._file.read(size)
            assert number == 0
            if kind == OVER:
                code, error, flags = struct.unpack("<iiI", payload)
                return out, Over(code, error, bool(flags & 1))
            assert kind == OUTPUT, kind
            out += payload
