"""Tables and lines for people."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Literal, TextIO

from rich.align import Align
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from odonata.base.wording import UNBROKEN, with_units

#: Width of output that is not a terminal (a log, a pipe): wide enough for every table.
PLAIN_WIDTH = 110


#: Where the heading of a wide table may continue on the next line: between words, after the dots of a key.
_BREAKS = re.compile(r" |(?<=\.)(?=\w)")


class _Console(Console):
    """A console that leaves the handling of a closed pipe to the command."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Recorder(_Console):
    """Records what is printed: lines of text, and tables."""

    def __init__(self, file: TextIO) -> None:
        super().__init__(file=file)
        self.parts: list[str | Table] = []


def console(stream: TextIO | Recorder | None = None) -> Console:
    """A console on `stream` (default: standard output) that squeezes tables on terminals only."""
    if isinstance(stream, Recorder):
        return stream
    # Names are shown unchanged, also text in brackets or between colons.
    out = _Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = PLAIN_WIDTH
    return out


def table(*headings: str, left: int = 1) -> Table:
    """An empty table without lines; all but the first `left` columns are numbers, flush right."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for index, heading in enumerate(headings):
        if index < left:
            # A long name continues on the next line; numbers are never cut.
            made.add_column(heading, justify="left", overflow="fold")
        else:
            made.add_column(heading, justify="right", no_wrap=True)
    return made


def show_table(out: Console, page: Table) -> None:
    """Prints `page`; if it is too wide, its headings take several lines."""
    if isinstance(out, Recorder):
        out.parts.append(page)
        return
    if _natural_width(out, page) > out.width:
        for column in page.columns:
            side: Literal["left", "right"] = "right" if column.justify == "right" else "left"
            heading = Text(_BREAKS.sub("\n", str(column.header)), justify=side)
            # Shorter headings stand at the bottom, next to the rows.
            column.header = Align(heading, side, vertical="bottom")
    if out.is_terminal:
        out.print(page)
        return
    with out.capture() as lines:
        out.print(page)
    say(out, *(line.rstrip() for line in lines.get().splitlines()))


def say(out: Console, *lines: str) -> None:
    """Prints lines without wrapping, as paths and error messages require."""
    if isinstance(out, Recorder):
        out.parts += lines
        return
    for line in lines:
        out.print(line, soft_wrap=True)


def explain(out: Console, *sentences: str) -> None:
    """Prints each sentence on a line of its own, wrapped at the edge; list items continue indented."""
    if isinstance(out, Recorder):
        out.parts += sentences
        return
    for sentence in sentences:
        indent = "  " if sentence.startswith("- ") else ""
        lines = textwrap.wrap(
            with_units(sentence),
            out.width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        say(out, *(line.replace(UNBROKEN, " ") for line in lines or [""]))


def _natural_width(out: Console, page: Table) -> int:
    return Measurement.get(out, out.options.update(max_width=1000), page).maximum
