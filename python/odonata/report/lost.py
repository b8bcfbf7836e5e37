"""The section about lost time: the delay of each job because of its waits."""

from __future__ import annotations

from odonata.analysis import lost_time
from odonata.report.blocks import Cell, Column, Section, Table, Text, duration, name_cell
from odonata.report.contents import Contents


def section(contents: Contents) -> Section | None:
    """The section; None if the run did not measure lost time (run.lost_time)."""
    found = lost_time.of_jobs(contents.results)
    if not found:
        return None
    return Section(
        "lost-time",
        "Lost time",
        "How much later each job ended because of the waits of its ranks. Waits count as far "
        "as they delay the end.",
        [Text([lost.words() for lost in found], items=True), _table(found)],
    )


def _table(found: list[lost_time.Lost]) -> Table:
    """A row per job, culprit and resource; the rows of a job add up to its loss."""
    rows = [
        [
            name_cell(lost.job),
            Cell(f"{part.culprit}, {lost_time.of_traffic(part.culprit_class)}"),
            Cell(part.kind),
            Cell(duration(part.lost_s), part.lost_s),
            Cell(duration(lost.elapsed_s), lost.elapsed_s),
        ]
        for lost in found
        for part in lost.parts
    ]
    columns = [
        Column("job", number=False),
        Column("waited for", number=False),
        Column("at", number=False, help="Links, buffer space, or a resource of a storage server."),
        Column("lost"),
        Column("time of the job"),
    ]
    return Table("lost-time-parts", "Lost time by cause", columns, rows)
