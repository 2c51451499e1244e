# SPDX-License-Identifier: Apache-2.0
"""Private object stores: an S3 server, which can be killed and started again with what it has
stored, and a fake of Google's."""

import os
import pathlib
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Optional

import botocore.config
import botocore.session
from env import Http, ends_with_us, free_port, wait_until
from object_servers import FAKE_GCS, VERSITYGW, build

KEYS = {"ROOT_ACCESS_KEY": "test", "ROOT_SECRET_KEY": "test-secret"}


class S3:
    """Its buckets are folders: tests look at the files of objects there."""

    def __init__(self, folder: pathlib.Path, logs: bool = False):
        self.folder = folder / "s3"
        self.folder.mkdir()
        self.log = folder / "s3.log"  # one line a request, if it logs
        self._logs = logs
        self.port = free_port()
        self._program = build(VERSITYGW)
        self._process = None

    @property
    def environment(self) -> dict:
        """For agents, servers and command lines that are to use it."""
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str) -> pathlib.Path:
        """A new one, as the folder of its objects."""
        path = self.folder / name
        path.mkdir()
        return path

    def client(self):
        """botocore's, with the credentials of the environment."""
        return botocore.session.get_session().create_client(
            "s3",
            region_name="us-east-1",
            endpoint_url=self.url,
            config=botocore.config.Config(signature_version="s3v4"),
        )

    def start(self) -> "S3":
        command = [str(self._program), "--port", f"127.0.0.1:{self.port}", "--quiet"]
        command += ["--access-log", str(self.log)] if self._logs else []
        self._process = subprocess.Popen(
            [*command, "posix", str(self.folder)],
            env=dict(os.environ, **KEYS),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, "the S3 server does not answer"
            time.sleep(0.02)
        return self

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(self.url, timeout=5).close()
        except urllib.error.HTTPError:
            return True  # it refuses those without a signature
        except OSError:
            return False
        return True

    def kill9(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class Gcs:
    """fake-gcs-server, with its objects in memory."""

    def __init__(self) -> None:
        self.port = free_port()
        self._http = Http(self.port)
        self._process: Optional[subprocess.Popen] = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Gcs":
        command = [str(build(FAKE_GCS)), "-backend", "memory", "-scheme", "http"]
        command += ["-host", "127.0.0.1", "-port", str(self.port), "-external-url", self.url]
        command += ["-public-host", f"127.0.0.1:{self.port}"]
        self._process = subprocess.Popen(
            ends_with_us(command, "SIGKILL"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_until("the store", self._answers)
        return self

    def _answers(self) -> bool:
        try:
            return self._http.get("/storage/v1/b?project=p").status == 200
        except OSError:
            return False

    def _post(self, path: str, body: bytes, content_type: str) -> dict:
        answer = self._http.post(path, body, headers={"Content-Type": content_type})
        assert answer.status == 200, answer.body
        return dict(answer.json())

    def make_bucket(self, name: str) -> None:
        self._post("/storage/v1/b?project=p", b'{"name": "%s"}' % name.encode(), "application/json")

    def put(self, bucket: str, key: str, body: bytes) -> str:
        """Stores an object; gives its generation."""
        name = urllib.parse.quote(key, safe="")
        path = f"/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}"
        return str(self._post(path, body, "application/octet-stream")["generation"])

    def get(self, bucket: str, key: str) -> Optional[bytes]:
        """An object's bytes, or nothing if there is none."""
        name = urllib.parse.quote(key, safe="")
        answer = self._http.get(f"/storage/v1/b/{bucket}/o/{name}?alt=media")
        return answer.body if answer.status == 200 else None

    def kill9(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
