# SPDX-License-Identifier: Apache-2.0
"""A Jupyter as a browser uses it."""

from __future__ import annotations

import asyncio
import http.client
import json
import uuid
from typing import Any

from tornado.websocket import websocket_connect


class Notebook:
    def __init__(self, port: int, token: str, host: str = "127.0.0.1") -> None:
        self._host, self._port, self._token = host, port, token

    def call(self, method: str, path: str, token: str | None = None) -> tuple[int, Any]:
        """The status, and what it says. Without a token: with its own."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=60)
        try:
            said = self._token if token is None else token
            headers = {"Authorization": f"token {said}"} if said else {}
            connection.request(method, path, headers=headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return answer.status, json.loads(text) if is_json and text else text

    def answers(self) -> bool:
        try:
            return self.call("GET", "/api/status")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def execute(self, code: str) -> str:
        """The value of a cell, in a kernel of its own."""
        status, kernel = self.call("POST", "/api/kernels")
        assert status == 201, kernel
        return asyncio.run(asyncio.wait_for(self._execute(kernel["id"], code), 300))

    async def _execute(self, kernel: str, code: str) -> str:
        url = f"ws://{self._host}:{self._port}/api/kernels/{kernel}/channels?token={self._token}"
        socket = await websocket_connect(url)
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "session": uuid.uuid4().hex,
            "username": "",
            "version": "5.3",
        }
        asks = {"channel": "shell", "parent_header": {}, "metadata": {}, "buffers": []}
        await socket.write_message(json.dumps({**asks, "header": header, "content": content}))
        while True:
            text = await socket.read_message()
            assert text is not None, "the kernel's socket was closed"
            said = json.loads(text)
            if said["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            assert said["msg_type"] != "error", said["content"]
            if said["msg_type"] == "execute_result":
                socket.close()
                return said["content"]["data"]["text/plain"]
