# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/python.md, one after the other, as they stand."""

import os
import re
import subprocess
import sys

from env import ROOT


def test_the_programs_of_the_page_work(system, tmp_path):
    page = (ROOT / "docs" / "python.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(programs) == 5
    (tmp_path / "page.py").write_text("\n".join(programs))
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:100] == [str(len(str(2**number))) for number in range(100)]
    assert lines[100:102] == ["1.0", "0.5"] and lines[102].startswith("2 failed 1 Traceback")
    assert "2 hello Ann" in lines and lines[-1] == "finished"
    assert (tmp_path / "results.parquet").stat().st_size > 0


def test_every_name_of_the_package_is_on_the_page():
    import tidemill

    page = (ROOT / "docs" / "python.md").read_text()
    told_by_use = {"Item", "Mapped", "Outcome", "Status"}
    for name in set(tidemill.__all__) - told_by_use:
        assert re.search(rf"\b{name}\b", page), name
    for name in [name for name in vars(tidemill.Job) if not name.startswith("_")]:
        assert f"`{name}(" in page, name
