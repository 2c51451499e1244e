# SPDX-License-Identifier: Apache-2.0
"""A project for each test of a module whose tests share a server."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Mapping
from typing import Any

from api_client import Client
from cli import Cli
from env import Answer, Server

_numbers = itertools.count(1)


def new_project(server: Server) -> str:
    """Makes a project that no other test knows; gives its name."""
    name = f"test-{next(_numbers)}"
    answer = server.http.request("PUT", f"/v1/projects/{name}", {})
    assert answer.status in (200, 201), answer.body
    return name


def cli_in(project: str, folder: pathlib.Path, server: Server) -> Cli:
    """The command line of an admin in this project."""
    cli = Cli(folder, server)
    cli.env["TIDEMILL_PROJECT"] = project
    return cli


class ProjectClient(Client):
    """A client whose calls are for one project unless they name another."""

    def __init__(self, server: Server, project: str) -> None:
        super().__init__(server)
        self.project = project

    def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        named = {"Tidemill-Project": self.project, **(headers or {})}
        return super().call(method, path, body, named)
