# SPDX-License-Identifier: Apache-2.0
"""Real agents, and jobs for them."""

import json
import os
import pathlib
import signal
from typing import Any, Dict, List, Optional

from env import Http, Program, Server, binaries, found_below, wait_until, whole_lines


class Agent(Program):
    """One tidemill-agent with a state folder of its own, which it keeps over restarts."""

    def __init__(
        self,
        folder: pathlib.Path,
        name: str,
        servers: List[Server],
        *flags: str,
        docker: Optional[str] = None,
    ) -> None:
        super().__init__(folder, name)
        self.state = folder / f"{name}-state"
        self._command = [str(binaries() / "tidemill-agent"), "--state", str(self.state)]
        for server in servers:
            self._command += ["--server", server.url]
        self._command += servers[0].ca_flags
        self._command += ["--join-token-file", str(servers[0].join_file)]
        engine = ["--engine", "docker", "--docker-socket", docker] if docker else []
        self._command += engine or ["--engine", "process"]
        self._command += ["--machine", name, *flags]

    def forget_token(self) -> None:
        """From now on it joins by what its cloud says of it."""
        at = self._command.index("--join-token-file")
        del self._command[at : at + 2]
        at = self._command.index("--machine")
        del self._command[at : at + 2]

    def spawn(self, environment: Dict[str, str]) -> None:
        """Starts it with these variables, and waits for nothing."""
        self._spawn(self._command, env={**os.environ, **environment})

    def run_in(self, root: pathlib.Path, program: str, state: str) -> None:
        """From now on it runs in another root folder; program and state are paths in there."""
        flags = self._command[3:]
        self._command = ["chroot", str(root), program, "--state", state, *flags]

    def start(self, timeout_s: float = 120.0) -> "Agent":
        """Starts it, also again after its end, and waits until it takes work."""
        before = len(self.events("agent.ready"))
        self._spawn(self._command)
        try:
            wait_until(f"{self.name} to be ready", lambda: self._ready(before), timeout_s)
        except BaseException:
            self.kill9()
            raise
        return self

    def _ready(self, before: int) -> bool:
        self._must_run()
        return len(self.events("agent.ready")) > before

    def events(self, name: str) -> List[Dict[str, Any]]:
        """What it has logged under that name, in all its lives."""
        found = []
        for line in whole_lines(self.log):
            if line.startswith("{") and line.endswith("}") and f'"{name}"' in line:
                found.append(json.loads(line))
        return found

    def written(self) -> bytes:
        """What items have written, as far as it is on this machine's disk."""
        said = b""
        for pack in found_below(self.state / "logs", "*/*.pack"):
            try:
                said += pack.read_bytes()
            except FileNotFoundError:  # it has just been uploaded
                continue
        return said

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)


def submit(http: Http, spec: Dict[str, Any], items: Any = 1, name: str = "test") -> str:
    """A job of `items` numbers, or of a list of texts; gives its id."""
    answer = http.post("/v1/jobs", {"name": name, "spec": spec})
    assert answer.status in (200, 201), answer.body
    job = answer.json()["id"]
    if isinstance(items, int):
        answer = http.request("PUT", f"/v1/jobs/{job}/parts/0", {"range": items})
    else:
        text = "\n".join(items).encode()
        plain = {"Content-Type": "text/plain"}
        answer = http.request("PUT", f"/v1/jobs/{job}/parts/0", text, plain)
    assert answer.status == 200, answer.body
    answer = http.post(f"/v1/jobs/{job}/seal", {"parts": 1})
    assert answer.status == 200, answer.body
    return str(job)
