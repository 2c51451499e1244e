# SPDX-License-Identifier: Apache-2.0
"""Holds docs/why.md to the codes that the plan knows."""

import re

from env import ROOT

# Of a job that is not planned yet.
OF_STATE = {"draft"}


def test_every_code_is_on_the_page():
    page = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    names = (ROOT / "src" / "plan" / "why_names.cc").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)
    known = set(re.findall(r'"([a-z_]+)"', names.partition("kNames =")[2]))
    assert len(known) > 30
    assert len(listed) == len(set(listed))
    assert set(listed) == known | OF_STATE
