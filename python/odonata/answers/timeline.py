"""The answer of `odonata timeline`."""

from __future__ import annotations

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class TimelineAnswer(TypedDict):
    """The answer of `odonata timeline`: the content of the trace that it has written."""

    file: str | None
    """The trace; null if it was not written to a named file."""
    bytes: Count | None
    """Its size; null for a pipe."""
    events: Count
    """Begins and ends of slices, and values of counters."""
    ranks: Count
    """Shown ranks."""
    ranks_recorded: Count
    """Ranks with recorded calls."""
    messages: Count
    """Messages shown as arrows: the trace has both their sending and their receiving call."""
    servers: Count
    """Shown storage servers."""
    links: Count
    """Shown links."""
    from_s: Number
    """Start of the period in simulated time."""
    until_s: Number | None
    """End of the period; null: end of the run."""
    left_out: list[str]
    """Recorded and selected parts that did not fit, in words."""
