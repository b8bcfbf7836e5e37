"""The answer of `odonata timeline`."""

from __future__ import annotations

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class TimelineAnswer(TypedDict):
    """What `odonata timeline` answers: what is in the trace that it has written."""

    file: str | None
    """The trace; null if it was not written to a file by its name."""
    bytes: Count | None
    """Its size; null if it was written to a pipe."""
    events: Count
    """Begins and ends of slices, and values of counters."""
    ranks: Count
    """Ranks that are shown."""
    ranks_recorded: Count
    """Ranks of which calls were recorded."""
    messages: Count
    """Messages that are shown as arrows, as the calls that sent and took them are both in the trace."""
    servers: Count
    """Storage servers that are shown."""
    links: Count
    """Links that are shown."""
    from_s: Number
    """Beginning of the period, simulated time."""
    until_s: Number | None
    """End of the period; null: of the run."""
    left_out: list[str]
    """What was recorded and wanted and did not fit, in words."""
