# SPDX-License-Identifier: Apache-2.0
"""Somebody who is not root, at the command line."""

from __future__ import annotations

import os
import pathlib
import shlex

import pexpect
from cli import Cli

UID = 12345


class Person(Cli):
    """Runs `tidemill` as a user of this number, whom no file of permissions stops: the tests'
    folders and the Engine's socket are root's."""

    def __init__(self, folder: pathlib.Path, wrapper: pathlib.Path) -> None:
        super().__init__(folder)
        os.chown(folder, UID, UID)
        caps = "--inh-caps=-all,+dac_override --ambient-caps=+dac_override"
        who = f"setpriv --reuid={UID} --regid={UID} --clear-groups {caps}"
        wrapper.write_text(f'#!/bin/sh\nexec {who} {shlex.quote(self.program)} "$@"\n')
        wrapper.chmod(0o755)
        self.program = str(wrapper)
        self.env["USER"] = "ann"

    def at_terminal(self, *words: str) -> pexpect.spawn:
        return pexpect.spawn(
            self.program,
            list(words),
            cwd=str(self.folder),
            env=self.env,
            dimensions=(24, 80),
            encoding="utf-8",
            timeout=120,
        )
