"""Building blocks of the report's sections: paragraphs, tables, charts and listings.

All text is plain text; the template escapes it. A chart is a list of traces and a layout for plotly.js, with
controls: the key `when` of a trace lists the choices that show it. Further own keys are `color` (a number in
the palette), `scale` ("heat"), `yunit`, `ytitle` and `logy`, which `templates/report.js` interprets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odonata.base import wording
from odonata.base.wording import factor, rate, share, size


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    #: The value for sorting; None: sort by the text.
    value: float | None = None
    #: Shading of the cell, from -1 (good) over 0 to 1 (bad).
    shade: float = 0.0
    #: The tooltip.
    title: str = ""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    #: Whether its cells are numbers, which are right-aligned.
    number: bool = True
    #: Its meaning, in a sentence.
    help: str = ""


@dataclass(frozen=True)
class Table:
    """A table that can be sorted by its columns."""

    id: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    #: Whether a search field above it filters rows.
    search: bool = False
    #: Whether it is initially folded.
    folded: bool = False
    #: The column that sorts the rows, the largest first; None: unsorted.
    sorted_by: int | None = None
    kind: str = "table"


@dataclass(frozen=True)
class Control:
    """A choice above a chart."""

    name: str
    label: str
    options: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Chart:
    """A chart of plotly.js."""

    id: str
    title: str
    #: Content and units of the chart.
    caption: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    controls: Sequence[Control] = ()
    height: int = 380
    #: Whether its x axis is simulated time; such charts share their range.
    time: bool = False
    kind: str = "chart"


@dataclass(frozen=True)
class Drawing:
    """A chart that a script of the page draws from `data`: `machine` or `sweep`."""

    id: str
    title: str
    caption: str
    script: str
    data: Mapping[str, Any]
    controls: Sequence[Control] = ()
    height: int = 620
    kind: str = "drawing"


@dataclass(frozen=True)
class Text:
    """Paragraphs, or the items of a list."""

    lines: Sequence[str]
    items: bool = False
    kind: str = "text"


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    pairs: Sequence[tuple[str, str]]
    kind: str = "facts"


@dataclass(frozen=True)
class Listing:
    """Text of a file, with buttons to copy and save it."""

    id: str
    caption: str
    text: str
    file: str = ""
    folded: bool = False
    kind: str = "listing"


Block = Table | Chart | Drawing | Text | Facts | Listing


@dataclass(frozen=True)
class Section:
    """A section, listed in the table of contents."""

    id: str
    title: str
    #: The question that it answers, in a sentence or two.
    lead: str = ""
    blocks: Sequence[Block] = field(default_factory=list)


def duration(seconds: float | None) -> str:
    """A time with a fitting unit, as in charts.

    >>> duration(1.4e-6), duration(0.0123)
    ('1.4 µs', '12.3 ms')
    """
    return wording.duration(seconds).replace(" us", " µs")


def name_cell(name: str) -> Cell:
    """A cell with a name."""
    return Cell(name)


def time_cell(seconds: float | None) -> Cell:
    """A cell with a time."""
    return _cell(seconds, duration)


def size_cell(count: float | None) -> Cell:
    """A cell with a number of bytes; empty for None."""
    return Cell("-", 0.0) if count == 0 else _cell(count, size)


def count_cell(count: float | None) -> Cell:
    """A cell with a count."""
    return Cell("0", 0.0) if count == 0 else _cell(count, rate)


def rate_cell(value: float | None) -> Cell:
    """A cell with bytes per second."""
    return _cell(value, lambda number: f"{size(number)}/s")


def share_cell(part: float | None, *, shaded: bool = False) -> Cell:
    """A cell with a share; `shaded`, larger shares are darker."""
    if part is None or not math.isfinite(part):
        return Cell("-")
    return Cell(share(part, 1.0), part, min(1.0, part) if shaded else 0.0)


def ratio_cell(ratio: float | None, title: str = "", *, larger_is_better: bool = False) -> Cell:
    """A cell with together / alone, shaded by the slowdown: fully from a factor of 4 on."""
    if ratio is None or not math.isfinite(ratio):
        return Cell("-", title=title)
    shade = max(-1.0, min(1.0, math.log(ratio, 4))) if ratio > 0 else 0.0
    return Cell(factor(ratio), ratio, -shade if larger_is_better else shade, title)


def _cell(value: float | None, words: Any) -> Cell:
    if value is None or not math.isfinite(value):
        return Cell("-")
    return Cell(words(value), value)


def axis(title: str, unit: str = "", *, log: bool = False, **more: Any) -> dict[str, Any]:
    """An axis with a title and a unit: "s", "bytes", "bytes/s", "share" or none."""
    made: dict[str, Any] = {"title": {"text": title}} | more
    if log:
        made |= {"type": "log", "exponentformat": "SI", "minexponent": 1}
    if unit == "share":
        made |= {"tickformat": "~%"}
    elif unit in ("s", "bytes", "bytes/s"):
        suffix = {"s": "s", "bytes": "B", "bytes/s": "B/s"}[unit]
        made |= {"ticksuffix": suffix, "exponentformat": "SI", "minexponent": 1}
    return made


def plain(text: str) -> str:
    """Text escaped for a template of plotly.js, which interprets some HTML and placeholders."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("%{", "% {")):
        text = text.replace(character, entity)
    return text
