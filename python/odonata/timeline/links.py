"""Counters of the busiest links: the share of each interval in which they transmit."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from odonata.timeline.recorded import Recorded
from odonata.timeline.trace import TraceWriter, ps

#: The process of all links.
PROCESS = 50_001


class Links:
    """The shown links."""

    def __init__(self, recorded: Recorded, series: pa.Table) -> None:
        self._recorded = recorded
        self._series = series.sort_by([("link", "ascending"), ("start_s", "ascending")])
        totals = series.group_by("link").aggregate([("busy_s", "sum"), ([], "count_all")])
        totals = totals.sort_by([("busy_s_sum", "descending"), ("link", "ascending")])
        # A value, and a zero behind it if the next interval has none.
        rows = zip(totals["link"].to_pylist(), totals["count_all"].to_pylist(), strict=True)
        self.costs = [(link, 2 * count) for link, count in rows]

    def fitting(self, budget: int) -> list[int]:
        """The busiest links that fit."""
        links: list[int] = []
        for link, cost in self.costs:
            budget -= cost
            if budget < 0:
                break
            links.append(link)
        return links

    def write(self, trace: TraceWriter, links: list[int]) -> None:
        """Writes the counters of these links, the busiest first."""
        interval = self._recorded.interval_s
        if not links or not interval:
            return
        width = ps(interval)
        process = trace.process("busiest links", PROCESS)
        for link in links:
            rows = self._series.filter(pc.equal(self._series["link"], link))
            name = self._recorded.link_names.get(link, f"link {link}")
            counter = trace.counter(name, process, "% busy")
            after = None
            for start_s, busy_s in zip(rows["start_s"].to_pylist(), rows["busy_s"].to_pylist(), strict=True):
                start = ps(start_s)
                if after is not None and after < start:
                    trace.value(counter, after, 0.0)
                trace.value(counter, start, 100.0 * busy_s / interval)
                after = start + width
            if after is not None:
                trace.value(counter, after, 0.0)
