# SPDX-License-Identifier: Apache-2.0
"""Which server is meant, and who asks: as the command line finds it (docs/cli.md, Which server)."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import stat
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tidemill.errors import Invalid, NotAllowed, NotFound, Unavailable


@dataclasses.dataclass(frozen=True)
class Target:
    url: str
    token: str = ""  # empty: none
    project: str = ""  # empty: the token's own
    # Who vouches for the server: a file, or else PEM, or else those whom the system believes.
    ca_file: str = ""
    ca_pem: str = ""


@dataclasses.dataclass(frozen=True)
class Surroundings:
    """What the search for a server looks at."""

    variables: Mapping[str, str]
    root: bool
    machine_folder: pathlib.Path = pathlib.Path("/var/lib/tidemill")

    @staticmethod
    def here() -> Surroundings:
        return Surroundings(os.environ, os.geteuid() == 0)

    def variable(self, name: str) -> str:
        return self.variables.get(name, "")

    def folder(self, variable: str, below_home: str) -> pathlib.Path | None:
        """That of the variable, else one below the home, if there is a home."""
        if self.variable(variable):
            return pathlib.Path(self.variable(variable)) / "tidemill"
        home = self.variable("HOME")
        return pathlib.Path(home) / below_home / "tidemill" if home else None


def find_target(
    around: Surroundings, server: str = "", context: str = "", ca: str = "", project: str = ""
) -> Target:
    told = Target("", project=project or around.variable("TIDEMILL_PROJECT"), ca_file=ca)
    if server and context:
        raise Invalid("which one?  server and context are both given")
    if not server and not context:
        server = around.variable("TIDEMILL_SERVER")
        context = around.variable("TIDEMILL_CONTEXT")
        if server and context:
            raise Invalid(
                "which one?  TIDEMILL_SERVER and TIDEMILL_CONTEXT are both set; unset one"
            )
    if server:
        return _from_url(around, server, told)
    current, contexts = _read_contexts(around)
    name = context or current
    if name:
        return _from_context(contexts, name, told)
    up = _find_up(around)
    if up:
        return _from_url(around, up["server"], told)
    raise Unavailable(
        "which server?  You have signed in to none, and no tidemill up runs here.\n"
        "Start one:  tidemill up     Sign in to one:  tidemill login URL"
    )


def _from_url(around: Surroundings, url: str, told: Target) -> Target:
    """A server that is named by its URL. What is known of it comes from where it is known."""
    up = _find_up(around)
    here = up is not None and _is_same_server(up["server"], url)
    ca = told.ca_file or around.variable("TIDEMILL_CA") or (up["ca"] if up and here else "")
    target = dataclasses.replace(told, url=url, ca_file=ca)
    token = around.variable("TIDEMILL_TOKEN") or (_up_token(up) if up and here else "")
    if token:
        return dataclasses.replace(target, token=token)
    current, contexts = _read_contexts(around)
    same = [each for each in contexts if _is_same_server(each["server"], url)]
    names = [each["name"] for each in same]
    if current in names:
        return _from_context(same, current, target)
    if len(same) > 1:
        raise Invalid(f"several contexts are of {url}: {', '.join(names)}; say which: context=NAME")
    return _from_context(same, names[0], target) if same else target


def _from_context(contexts: list[dict[str, str]], name: str, told: Target) -> Target:
    for context in contexts:
        if context["name"] == name:
            return Target(
                context["server"],
                context["token"],
                told.project or context.get("project", ""),
                told.ca_file,
                "" if told.ca_file else context.get("ca", ""),
            )
    names = ", ".join(each["name"] for each in contexts)
    there = f"there are {names}" if names else "there is none yet:  tidemill login URL"
    raise NotFound(f"no context '{name}'; {there}")


def _is_same_server(url: str, other: str) -> bool:
    """However they are spelt."""

    def parts(text: str) -> tuple[str, str, int]:
        split = urlsplit(text)
        port = split.port or (443 if split.scheme == "https" else 80)
        return split.scheme, split.hostname or "", port

    return parts(url) == parts(other)


def _read_contexts(around: Surroundings) -> tuple[str, list[dict[str, str]]]:
    """The current one's name, and all. The file holds tokens: one that others may read is not
    used."""
    folder = around.folder("XDG_CONFIG_HOME", ".config")
    path = folder / "contexts.json" if folder else None
    if path is None or not path.exists():
        return "", []
    info = path.stat()
    if info.st_uid != os.geteuid():
        raise NotAllowed(f"{path} belongs to somebody else")
    if stat.S_IMODE(info.st_mode) & 0o077:
        raise NotAllowed(
            f"others can read {path}, which holds tokens.\nShut it:  chmod 600 {path}\n"
            "If somebody may have read it, revoke its tokens:  tidemill token revoke ID"
        )
    try:
        file = json.loads(path.read_text())
        return file.get("current", ""), list(file["contexts"])
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Invalid(
            f"{path} is broken ({error}).\n"
            "Mend it, or remove it and sign in again:  tidemill login URL"
        ) from error


def _find_up(around: Surroundings) -> dict[str, Any] | None:
    """What a `tidemill up` that runs here has written down."""
    own = None if around.root else around.folder("XDG_DATA_HOME", ".local/share")
    for folder in (own, around.machine_folder):
        if folder is None:
            continue
        try:
            up: dict[str, Any] = json.loads((folder / "up.json").read_text())
            if _is_alive(up["pid"]):
                return up
        except (OSError, ValueError, KeyError, TypeError):
            pass  # none, or not for us to read
    return None


def _is_alive(pid: int) -> bool:
    """One that was killed has left its file behind."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, and is somebody else's
    return True


def _up_token(up: Mapping[str, Any]) -> str:
    try:
        return pathlib.Path(up["token_file"]).read_text().rstrip("\n")
    except OSError:
        return ""  # it is not ours to read
