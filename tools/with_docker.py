#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a private Docker Engine that ends with it. Needs root.

usage: with_docker.py -- COMMAND...

The command finds the Engine's socket in TIDEMILL_TEST_DOCKER, and in the Engine the images of
test_images.py. A request 'kill9' or 'start', as a line to the pipe that TIDEMILL_TEST_DOCKER_DO
names, is carried out; the socket then shows it. TIDEMILL_TEST_DOCKER_REMAPPED is the socket of a
second Engine, which remaps users. All of it runs in a network of its own: see test_network.py; the
file that TIDEMILL_TEST_CLOUD_HITS names lists who got through to the cloud. The command's exit code
is ours, unless a container was not as it must be (container_check.py), or nobody looked.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Optional, Set
from urllib.parse import quote

# First: it knows where the tests' own modules are.
import beside
import container_check
import test_images
import test_network
from env import alive, children, ends_with_us

START_SECONDS = 120
STOP_SECONDS = 60
# A fork bomb in a full memory group on a busy machine was seen to take 53 s to die of SIGKILL.
REMOVE_SECONDS = 300


# Who the root of a container is on the machine, where users are remapped.
REMAPPED = "nobody:200000:65536\nnogroup:200000:65536\n"


class Watcher:
    """Looks at each container of ours as soon as it is made."""

    def __init__(self, socket: str) -> None:
        self.wrong: List[str] = []
        self.seen = 0
        self._socket = socket
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def check(self) -> None:
        """To be called while its Engine runs: until then it must have looked."""
        if not self._thread.is_alive():
            self.wrong.append("containers were not looked at: the watcher ended before its Engine")

    def _watch(self) -> None:
        filters = {"event": ["create"], "label": [container_check.LABEL]}
        target = f"/events?filters={quote(json.dumps(filters))}"
        connection = test_images.UnixConnection(self._socket)
        connection.timeout = None
        try:
            connection.request("GET", target)
            for line in connection.getresponse():
                self._look_at(json.loads(line)["Actor"]["ID"])
        except (OSError, ValueError, http.client.HTTPException):
            pass  # the Engine has ended; the next one has a watcher of its own
        except Exception as error:
            self.wrong.append(f"a container could not be looked at: {error!r}")
            raise

    def _look_at(self, container: str) -> None:
        try:
            text = test_images.call(self._socket, "GET", f"/containers/{container}/json")
        except RuntimeError:
            return  # it is gone already
        found = json.loads(text)
        job = found["Config"]["Labels"].get("tidemill.job")
        self.wrong += [f"a container of job {job}: {w}" for w in container_check.wrong_with(found)]
        self.seen += 1


class DockerEngine:
    """A private Engine. It keeps its images over stop, kill9 and start; close() removes it."""

    def __init__(
        self,
        remaps_users: bool = False,
        runtimes: Optional[Dict[str, str]] = None,
        program: str = "",
        own_network: bool = False,
    ) -> None:
        """With runtimes, by name and program, or as another program than the machine's own it has
        a network of its own in any case: another may be here, and have the bridge."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidemill-docker-"))
        self.watchers: List[Watcher] = []
        self._remaps_users = remaps_users
        self._runtimes = runtimes or {}
        self._program = program
        self._own_network = own_network or bool(runtimes or program)
        self.log = self.folder / "dockerd.log"
        self.socket = str(self.folder / "docker.sock")
        self._process: Optional[subprocess.Popen] = None

    def __enter__(self) -> "DockerEngine":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def start(self) -> None:
        program = shutil.which(self._program or "dockerd")
        if not program:
            raise RuntimeError("no Docker Engine here: apt-get install docker.io iptables")
        command = [
            program,
            f"--data-root={self.folder}/data",
            f"--exec-root={self.folder}/exec",
            f"--pidfile={self.folder}/dockerd.pid",
            f"--host=unix://{self.socket}",
            *self._words(),
        ]
        if self._remaps_users:
            command = self._remapped(command)
        command += [f"--add-runtime={name}={path}" for name, path in self._runtimes.items()]
        if self._own_network:
            enter = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
            command = [*enter, *command]
        # A kill -9 leaves them behind, and the next one would take their numbers for running ones.
        for name in ("dockerd.pid", "exec/containerd/containerd.pid"):
            (self.folder / name).unlink(missing_ok=True)
        # An Engine that ends takes its data's own mount away while it may still start a container.
        # The root folder of that one would be below the next Engine's mount, and never removable.
        if f"{self.folder}/data" not in self._mounts():
            self._unmount()
        with open(self.log, "ab") as log:
            self._process = subprocess.Popen(
                ends_with_us(command, "SIGTERM"), stdout=log, stderr=log, start_new_session=True
            )
        end = time.monotonic() + START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("dockerd does not start:\n" + self.log.read_text()[-4000:])
            time.sleep(0.05)
        self.watchers.append(Watcher(self.socket))

    def _words(self) -> List[str]:
        """More flags, for those that derive from it."""
        return []

    def _remapped(self, command: List[str]) -> List[str]:
        """In a mount namespace with users to remap to, and in a network of its own."""
        self.folder.chmod(0o711)  # it is in the way of the containers' root folders
        users = self.folder / "users"
        users.write_text(REMAPPED)
        script = f"""
            mount --bind {users} /etc/subuid && mount --bind {users} /etc/subgid &&
            ip link set lo up && exec "$@" """
        enter = ["unshare", "--net", "--mount", "sh", "-c", script, "sh"]
        return [*enter, *command, "--userns-remap=nobody:nogroup"]

    def wrong(self) -> List[str]:
        """What was wrong with containers, of all that there were."""
        if self._process is not None and self.answers():
            self.watchers[-1].check()
        return [wrong for watcher in self.watchers for wrong in watcher.wrong]

    def answers(self) -> bool:
        try:
            test_images.call(self.socket, "GET", "/version")
            return True
        except (OSError, RuntimeError):
            return False

    def containers(self, label: str) -> List[str]:
        """The ids of all containers with that label, running or not."""
        return [found["Id"] for found in self.inspect(label)]

    def inspect(self, label: str, path: str = "json") -> List[Dict[str, Any]]:
        """What the Engine tells of each of them. It may list one that it has removed already."""
        found = []
        for name in self._list(label, "all=1"):
            try:
                text = test_images.call(self.socket, "GET", f"/containers/{name}/{path}")
            except RuntimeError:
                continue
            found.append(json.loads(text))
        return found

    def running(self, label: str) -> Set[str]:
        """The ids of those that run at one and the same moment."""
        return set(self._list(label, ""))

    def remove(self, name: str) -> None:
        """Also if the Engine, or an agent, is about to do so."""
        end = time.monotonic() + REMOVE_SECONDS
        while True:
            try:
                test_images.call(self.socket, "DELETE", f"/containers/{name}?force=true")
                return
            except RuntimeError as error:
                if " 404 " in str(error) or " 409 " in str(error):
                    return
                # It is killed, and the Engine has waited 10 s for its end.
                if "did not receive an exit event" not in str(error) or time.monotonic() > end:
                    raise

    def _list(self, label: str, query: str) -> List[str]:
        filters = quote(json.dumps({"label": [label]}))
        text = test_images.call(self.socket, "GET", f"/containers/json?{query}&filters={filters}")
        return [container["Id"] for container in json.loads(text)]

    def stop(self) -> None:
        """As an administrator would: containers end too."""
        self._end(signal.SIGTERM)

    def kill9(self) -> None:
        """Sudden death of the Engine and its containerd; what runs in containers goes on."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        if self._process is None and (self.folder / "data").exists():
            self.start()  # it alone can end containers that outlived a kill -9
        self.stop()
        self._end_shims()
        self._unmount()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end_shims(self) -> None:
        """Those of a containerd that was killed do not end with its successor."""
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
                if f"{self.folder}/exec/containerd/containerd.sock".encode() in words:
                    os.kill(int(path.parent.name), signal.SIGKILL)
            except OSError:
                pass  # it has ended by itself

    def _unmount(self) -> None:
        if mounts := self._mounts():
            subprocess.run(["umount", "-q", *mounts], check=False)

    def _mounts(self) -> List[str]:
        lines = pathlib.Path("/proc/self/mounts").read_text().splitlines()
        found = [line.split()[1] for line in lines]
        return sorted((m for m in found if m.startswith(f"{self.folder}/")), reverse=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None and self.answers():
            self.watchers[-1].check()
        helpers = children(process.pid)
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        end = time.monotonic() + STOP_SECONDS
        for helper in helpers:
            while alive(helper):
                late = time.monotonic() > end
                if late or how == signal.SIGKILL:
                    with contextlib.suppress(ProcessLookupError):  # it has just ended
                        os.kill(helper, signal.SIGKILL)
                time.sleep(0.05)


def obey(engine: DockerEngine, pipe: str) -> None:
    """Carries out what the tests ask for, for ever."""
    while True:
        with open(pipe) as requests:
            for request in requests:
                {"kill9": engine.kill9, "start": engine.start}[request.strip()]()


def main() -> int:
    command = beside.command_of(__doc__)
    if command is None:
        return 1
    test_network.enter_own_network()
    with DockerEngine() as engine, DockerEngine(remaps_users=True) as remapped:
        engine.start()
        test_images.make_all(engine.socket)
        remapped.start()
        test_images.make_all(remapped.socket, debian=False)
        cloud = test_network.Cloud(engine.folder)
        cloud.start()
        pipe = str(engine.folder / "requests")
        os.mkfifo(pipe)
        threading.Thread(target=obey, args=(engine, pipe), daemon=True).start()
        variables = {
            "TIDEMILL_TEST_DOCKER": engine.socket,
            "TIDEMILL_TEST_DOCKER_DO": pipe,
            "TIDEMILL_TEST_DOCKER_REMAPPED": remapped.socket,
            "TIDEMILL_TEST_CLOUD_HITS": str(cloud.hits),
        }
        status = beside.run(command, variables)
        cloud.close()
        wrong = engine.wrong() + remapped.wrong()
        print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
        return status or int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
