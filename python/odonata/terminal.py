"""Where tables for people go."""

from __future__ import annotations

import sys
import textwrap
from typing import TextIO

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

#: Columns of output that is not a terminal (a log, a pipe): wide enough for every table of ours.
PLAIN_WIDTH = 110


class _Console(Console):
    """Leaves it to the command what a closed pipe means."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stream: TextIO | None = None) -> Console:
    """A console on `stream` (default: standard output) that does not squeeze tables where nobody looks on."""
    out = _Console(file=stream or sys.stdout, highlight=False)
    if not out.is_terminal:
        out.width = PLAIN_WIDTH
    return out


def table(*headings: str, left: int = 1) -> Table:
    """An empty table without lines; all but the first `left` columns are numbers, flush right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        if index < left:
            # A name that is too long goes on in the next line; numbers are never cut.
            made.add_column(heading, justify="left", overflow="fold", vertical="bottom")
        else:
            made.add_column(heading, justify="right", no_wrap=True, vertical="bottom")
    return made


def show_table(out: Console, page: Table) -> None:
    """Prints `page`; where it is too wide, its headings take several lines."""
    if _natural_width(out, page) > out.width:
        for column in page.columns:
            column.header = str(column.header).replace(" ", "\n")
    if out.is_terminal:
        out.print(page)
        return
    with out.capture() as lines:
        out.print(page)
    say(out, *(line.rstrip() for line in lines.get().splitlines()))


def say(out: Console, *lines: str) -> None:
    """Prints lines that stay whole, as paths and error messages must."""
    for line in lines:
        out.print(line, soft_wrap=True, markup=False)


def explain(out: Console, *sentences: str) -> None:
    """Prints sentences, each from a line of its own, wrapped at the edge; items of a list go on indented."""
    for sentence in sentences:
        indent = "  " if sentence.startswith("- ") else ""
        lines = textwrap.wrap(
            sentence, out.width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        )
        say(out, *(lines or [""]))


def _natural_width(out: Console, page: Table) -> int:
    return Measurement.get(out, out.options.update(max_width=1000), page).maximum
