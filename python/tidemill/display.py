# SPDX-License-Identifier: Apache-2.0
"""Where progress is shown: a terminal, a notebook, or nowhere."""

from __future__ import annotations

import html
import os
import shutil
import sys
from typing import Any

from tidemill.watch import Watch


class Display:
    """Shows nothing: neither on a terminal nor in a notebook is there anybody who looks."""

    def show(self, watch: Watch) -> None:
        pass

    def close(self) -> None:
        pass


class TerminalBar(Display):
    """A line that is drawn over itself, on standard error."""

    def show(self, watch: Watch) -> None:
        columns = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r\x1b[K{watch.line(columns)}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class NotebookBar(Display):
    """HTML in the cell's output, which is replaced as the job goes. It needs no extension, and is
    still there when the notebook is opened again."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, watch: Watch) -> None:
        from IPython.display import HTML, display

        content = HTML(notebook_html(watch))
        if self._handle is None:
            self._handle = display(content, display_id=True)
        else:
            self._handle.update(content)


def notebook_html(watch: Watch) -> str:
    status = watch.last
    colour = "#c62828" if status.counts.failed else "#2e7d32"
    said = html.escape(" · ".join(watch.words()))
    return (
        f'<div class="tidemill" data-job="{html.escape(status.id)}"'
        f' data-state="{html.escape(status.state)}" data-done="{status.counts.done}">'
        f"<b>{html.escape(status.id)}</b> "
        f'<progress value="{watch.fraction():.4f}" style="width:20em;accent-color:{colour}">'
        f"</progress> {said}</div>"
    )


def make_display(wanted: bool) -> Display:
    if not wanted:
        return Display()
    if _in_notebook():
        return NotebookBar()
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return TerminalBar() if is_terminal else Display()


def _in_notebook() -> bool:
    """A kernel has a front end that shows HTML; IPython on a terminal has none."""
    ipython: Any | None = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return hasattr(shell, "kernel")
