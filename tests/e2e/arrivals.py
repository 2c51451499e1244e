# SPDX-License-Identifier: Apache-2.0
"""Buckets that are watched: the watcher, the messages that clouds send, and a stand-in for Pub/Sub,
whose own emulator needs Java."""

from __future__ import annotations

import http.server
import json
import os
import pathlib
import threading
import time
import urllib.parse
from typing import Any

from ec2 import Moto
from env import Program, Server, binaries, wait_until, whole_lines


class Watcher(Program):
    """One `tidemill watch-bucket`, which may be killed and started again."""

    def __init__(self, folder: pathlib.Path, name: str, server: Server, *words: str) -> None:
        super().__init__(folder, name)
        self._server, self._folder = server, folder
        self._command = [str(binaries() / "tidemill"), "watch-bucket", *words, "--json"]

    def start(self) -> Watcher:
        environment = {
            **os.environ,
            "HOME": str(self._folder),
            "TIDEMILL_SERVER": self._server.url,
            "TIDEMILL_TOKEN": self._server.token,
        }
        self._spawn(self._command, env=environment, cwd=self._folder)
        return self

    def events(self, name: str) -> list[dict[str, Any]]:
        """What it has written under that name, in all its lives."""
        lines = whole_lines(self.log)
        told = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [event for event in told if event["event"] == name]

    def wait_for(self, name: str, count: int = 1, timeout_s: float = 60.0) -> list[dict[str, Any]]:
        def there() -> list[dict[str, Any]] | None:
            self._must_run()
            events = self.events(name)
            return events if len(events) >= count else None

        return list(wait_until(f"{self.name} to write '{name}'", there, timeout_s))

    def added(self, by: str) -> int:
        return sum(event["added"] for event in self.events("added") if event["by"] == by)


class Queue:
    """A queue of moto's SQS, and what S3, SNS and EventBridge put into one."""

    def __init__(self, moto: Moto, name: str = "arrivals") -> None:
        self.client = moto.client("sqs")
        self.url = self.client.create_queue(QueueName=name)["QueueUrl"]

    def send(self, *bodies: Any) -> None:
        texts = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
        for at in range(0, len(texts), 10):
            entries = [
                {"Id": str(number), "MessageBody": text}
                for number, text in enumerate(texts[at : at + 10])
            ]
            answer = self.client.send_message_batch(QueueUrl=self.url, Entries=entries)
            assert not answer.get("Failed"), answer

    def left(self) -> int:
        """Messages that nobody has taken away, given out or not."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)
        return sum(int(told["Attributes"][name]) for name in names)


def record(bucket: str, key: str, tag: str, event: str = "ObjectCreated:Put") -> dict[str, Any]:
    """One record of S3's, in which the key is encoded as a form is."""
    said = {"key": urllib.parse.quote_plus(key, safe="/"), "size": 1, "eTag": tag}
    return {
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "eventName": event,
        "s3": {"bucket": {"name": bucket}, "object": said},
    }


def by_s3(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


def by_sns(message: dict[str, Any]) -> dict[str, Any]:
    return {"Type": "Notification", "MessageId": "1", "Message": json.dumps(message)}


def by_bridge(bucket: str, key: str, tag: str) -> dict[str, Any]:
    """EventBridge does not encode keys."""
    return {
        "version": "0",
        "source": "aws.s3",
        "detail-type": "Object Created",
        "detail": {"bucket": {"name": bucket}, "object": {"key": key, "size": 1, "etag": tag}},
    }


class PubSub:
    """A subscription as Google's REST interface has it, with a token's server at the same port."""

    NAME = "projects/p/subscriptions/s"
    WAIT_S = 5.0  # how long a pull waits where nothing comes

    def __init__(self) -> None:
        self.waiting: list[dict[str, Any]] = []
        self.given: dict[str, dict[str, Any]] = {}
        self.acknowledged = 0
        self._changed = threading.Condition()
        self._numbers = 0
        handler = type("Handler", (_PubSubHandler,), {"cloud": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        # A watcher that is killed leaves its pull.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def environment(self) -> dict[str, str]:
        host = f"127.0.0.1:{self._server.server_port}"
        return {
            "GCE_METADATA_HOST": host,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_PUBSUB": f"http://{host}/",
            "CLOUDSDK_CONFIG": "/nonexistent",
        }

    def send(self, bucket: str, key: str, generation: str, event: str = "OBJECT_FINALIZE") -> None:
        attributes = {"eventType": event, "bucketId": bucket, "objectId": key}
        self.put({"attributes": {**attributes, "objectGeneration": generation}})

    def put(self, message: dict[str, Any]) -> None:
        with self._changed:
            self.waiting.append(message)
            self._changed.notify_all()

    def pull(self, most: int) -> list[dict[str, Any]]:
        deadline = time.monotonic() + self.WAIT_S
        with self._changed:
            self._changed.wait_for(lambda: self.waiting, max(0.0, deadline - time.monotonic()))
            taken, self.waiting = self.waiting[:most], self.waiting[most:]
            received = []
            for message in taken:
                self._numbers += 1
                self.given[str(self._numbers)] = message
                received.append({"ackId": str(self._numbers), "message": message})
            return received

    def acknowledge(self, handles: list[str]) -> None:
        with self._changed:
            self.acknowledged += sum(self.given.pop(handle, None) is not None for handle in handles)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _PubSubHandler(http.server.BaseHTTPRequestHandler):
    cloud: PubSub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self) -> None:
        if self.headers.get("Metadata-Flavor") != "Google":
            return self._answer(403, {})
        self._answer(200, {"access_token": "ya29", "expires_in": 3599})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers.get("Authorization") != "Bearer ya29":
            return self._answer(401, {"error": {"code": 401, "message": "no token"}})
        if self.path == f"/v1/{self.cloud.NAME}:pull":
            received = self.cloud.pull(body["maxMessages"])
            return self._answer(200, {"receivedMessages": received} if received else {})
        if self.path == f"/v1/{self.cloud.NAME}:acknowledge":
            self.cloud.acknowledge(body["ackIds"])
            return self._answer(200, {})
        self._answer(404, {"error": {"code": 404, "message": "Resource not found."}})
