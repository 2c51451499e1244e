# SPDX-License-Identifier: Apache-2.0
"""The load program as a test uses it, and a few calls of the API."""

import json
import pathlib
import signal
import subprocess
from typing import Any, Dict, List, Optional

from env import Http, Server, binaries, ends_with_us, wait_until, whole_lines


def submit_range(http: Http, items: int, retries: int = 2, name: str = "load") -> str:
    """A job whose items are nothing but numbers; gives its id."""
    job = http.post("/v1/jobs", {"name": name, "spec": {"retries": retries}}).json()["id"]
    part, left = 0, items
    while left > 0:
        count = min(left, 10_000_000)
        answer = http.request("PUT", f"/v1/jobs/{job}/parts/{part}", {"range": count})
        assert answer.status == 200, answer.body
        part, left = part + 1, left - count
    answer = http.post(f"/v1/jobs/{job}/seal", {"parts": part})
    assert answer.status == 200, answer.body
    return str(job)


def folder_of(http: Http, job: str) -> str:
    """The name of a job's folder in the object store."""
    return f"{job}.{show(http, job)['uid']}"


def show(http: Http, job: str) -> Dict[str, Any]:
    answer = http.get(f"/v1/jobs/{job}")
    assert answer.status == 200, answer.body
    return dict(answer.json())


def is_paused(http: Http, job: str) -> Optional[Dict[str, Any]]:
    shown = show(http, job)
    return shown if shown["state"] == "paused" else None


def refusal(http: Http, job: str) -> str:
    """Why no machine takes it; none of its items has run."""
    paused = wait_until("it to be paused", lambda: is_paused(http, job), 90)
    assert paused["counts"]["failed"] == paused["counts"]["succeeded"] == 0
    return str(paused["reason"]).removesuffix(" (one machine says so)")


def items_of(http: Http, job: str) -> List[Dict[str, Any]]:
    """All items of a job, with their outcomes."""
    items: List[Dict[str, Any]] = []
    after = ""
    while True:
        page = http.get(f"/v1/jobs/{job}/items?outcomes=true&limit=1000{after}").json()
        items += page["items"]
        if not page.get("next"):
            return items
        after = f"&page={page['next']}"


def failing_items(seed: int, failing_ppm: int, items: int) -> int:
    """How many items of a job always fail, by the load program's own rule."""
    command = [str(binaries() / "tidemill-load"), "--items", str(items)]
    command += ["--seed", str(seed), "--failing-ppm", str(failing_ppm)]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


class Load:
    """Played agents. They end with the `with` block."""

    def __init__(self, folder: pathlib.Path, servers: List[Server], *flags: str) -> None:
        self.out = folder / "load.out"
        command = [str(binaries() / "tidemill-load")]
        for server in servers:
            command += ["--server", server.url]
        command += [*servers[0].ca_flags, "--join-token", servers[0].join_token]
        with self.out.open("wb") as out:
            self._process = subprocess.Popen(
                ends_with_us([*command, *flags], "SIGKILL"),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def totals(self) -> Dict[str, int]:
        """What the agents have done up to a second ago."""
        whole = [line for line in whole_lines(self.out) if line.startswith("{")]
        return dict(json.loads(whole[-1])) if whole else {}

    def stop(self) -> Dict[str, int]:
        """The agents leave; then the totals."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(60) == 0, self.out.read_text()[-2000:]
        return self.totals()

    def __enter__(self) -> "Load":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(60)


def wait_for_end(http: Http, job: str, timeout_s: float) -> Dict[str, Any]:
    def ended() -> Any:
        try:
            shown = show(http, job)
        except (OSError, AssertionError):
            return None
        return shown if shown["state"] in ("finished", "cancelled") else None

    return dict(wait_until(f"{job} to end", ended, timeout_s))
