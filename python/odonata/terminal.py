"""Where tables for people go."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console
from rich.table import Table

#: Columns of output that is not a terminal (a log, a pipe): wide enough for every table of ours.
PLAIN_WIDTH = 110


def console(stream: TextIO | None = None) -> Console:
    """A console on `stream` (default: standard output) that does not squeeze tables where nobody looks on."""
    out = Console(file=stream or sys.stdout, highlight=False)
    if not out.is_terminal:
        out.width = PLAIN_WIDTH
    return out


def table(*headings: str, left: int = 1) -> Table:
    """An empty table without lines; all but the first `left` columns are numbers, flush right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        made.add_column(heading, justify="left" if index < left else "right", no_wrap=True)
    return made
