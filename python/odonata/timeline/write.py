"""Export of a timeline: the selected and sampled part of the records, as a trace."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from odonata.answers.timeline import TimelineAnswer
from odonata.errors import InputError
from odonata.timeline import links, ranks, sampling, servers
from odonata.timeline.recorded import Rank, Recorded, within
from odonata.timeline.selection import Selection
from odonata.timeline.trace import TraceWriter

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Default number of events of a trace, which the viewer handles easily.
MOST_EVENTS = 1_000_000
#: Later than any simulated time, in seconds.
_LATEST_S = 1e9


def write(
    results: Results,
    selection: Selection,
    opened: Callable[[], AbstractContextManager[BinaryIO]],
    most_events: int = MOST_EVENTS,
) -> TimelineAnswer:
    """Writes to the file that `opened` provides, at most `most_events` begins, ends and values.

    Raises:
        InputError: The run has recorded no timeline or nothing of the selection, or its tables are damaged.
    """
    plan = Plan(Recorded(results), selection, most_events)
    with opened() as file:
        return plan.write(file)


class Plan:
    """The shown part of a timeline."""

    def __init__(self, recorded: Recorded, selection: Selection, most_events: int) -> None:
        self._recorded = recorded
        self._selection = selection
        self._left_out = sampling.LeftOut()
        calls, requests, flows = self._of_ranks()
        accesses = self._within(recorded.accesses, "accesses", "begin_s", "end_s", "joined_s")
        self._servers = servers.Servers(recorded, accesses)
        self._links = links.Links(recorded, self._within(recorded.links, "link_series", "start_s", "start_s"))
        budget = most_events - self._fit_links(most_events)
        budget -= self._fit_servers(int(most_events * sampling.SERVERS_SHARE))
        self._fit_ranks(calls, requests, flows, budget)
        chosen = selection.jobs is not None or selection.ranks is not None
        rest = self._shown_servers or self._shown_links
        if not self._order and (chosen or not rest):
            raise InputError(
                "the selection has no recorded events",
                key="run.timeline",
                value=str(recorded.settings)[:200],
                expected="recorded jobs, ranks and times (docs/timeline.md)",
            )

    def write(self, file: BinaryIO) -> TimelineAnswer:
        """Writes the trace to `file`."""
        trace = TraceWriter(file)
        self._ranks.write(trace, self._order)
        self._servers.write(trace, self._shown_servers)
        self._links.write(trace, self._shown_links)
        until = self._selection.until_s
        return {
            "file": None,
            "bytes": file.tell() if file.seekable() else None,
            "events": trace.events,
            "ranks": len(self._order),
            "ranks_recorded": self._recorded_ranks,
            "messages": self._ranks.flows,
            "servers": len(self._shown_servers),
            "links": len(self._shown_links),
            "from_s": self._selection.from_s,
            "until_s": until if math.isfinite(until) else None,
            "left_out": self._left_out.omissions,
        }

    def _within(self, table: pa.Table, name: str, begin: str, end: str, *more: str) -> pa.Table:
        """The rows of a table in the period; raises `InputError` for invalid times."""
        for column in {begin, end, *more}:
            ends = pc.min_max(table[column])
            least, most = ends["min"].as_py(), ends["max"].as_py()
            sound = pc.all(pc.is_finite(table[column])).as_py()
            if table.num_rows and not (sound and least >= 0 and most <= _LATEST_S):
                raise self._recorded.damaged(name, "not a time", f"{column} from {least} to {most}")
        return within(table, begin, end, self._selection)

    def _of_ranks(self) -> tuple[pa.Table, pa.Table, pa.Table]:
        """Calls and requests of the selected ranks in the period; and all messages."""
        recorded = self._recorded
        calls = self._within(recorded.calls, "calls", "begin_s", "end_s")
        requests = self._within(recorded.requests, "requests", "begin_s", "end_s")
        known = (
            recorded.calls.select(["job", "rank"]).group_by(["job", "rank"], use_threads=False).aggregate([])
        )
        everybody = list(zip(known["job"].to_pylist(), known["rank"].to_pylist(), strict=True))
        self._recorded_ranks = len(everybody)
        wanted = [rank for rank in everybody if self._selection.has(*rank)]
        if len(wanted) < len(everybody):
            calls, requests = _of_ranks(calls, wanted), _of_ranks(requests, wanted)
        return calls, requests, recorded.flows

    def _fit_links(self, most_events: int) -> int:
        """Chooses the links; returns their number of events."""
        budget = int(most_events * sampling.LINKS_SHARE)
        self._shown_links = self._links.fitting(budget) if self._recorded.interval_s else []
        if left := len(self._links.costs) - len(self._shown_links):
            self._left_out.say(f"{left} of {len(self._links.costs)} links")
        costs = dict(self._links.costs)
        return sum(costs[link] for link in self._shown_links)

    def _fit_servers(self, budget: int) -> int:
        """Chooses the servers; returns their number of events."""
        costs = self._servers.costs
        self._shown_servers, step = sampling.every(costs, budget)
        if not self._shown_servers and costs:
            self._left_out.say(f"all {len(costs)} servers")
        elif step > 1:
            self._left_out.say(f"servers: every {_nth(step)} of {len(costs)} is shown")
        shown = set(self._shown_servers)
        return sum(cost for server, cost in costs if server in shown)

    def _fit_ranks(self, calls: pa.Table, requests: pa.Table, flows: pa.Table, budget: int) -> None:
        """Chooses the ranks, and a shorter period if a few ranks are still too many."""
        costs = _costs(calls, requests)
        # In the order of the jobs in the scenario.
        places = {job: place for place, job in enumerate(self._recorded.jobs)}
        order = sorted(costs, key=lambda rank: (places.get(rank[0], len(places)), rank))
        chosen, step = sampling.ranks({rank: costs[rank] for rank in order}, budget)
        if step > 1:
            self._left_out.say(
                f"ranks: every {_nth(step)} of each job is shown, {len(chosen)} of {len(order)}"
            )
            calls, requests = _of_ranks(calls, chosen), _of_ranks(requests, chosen)
        if 2 * (calls.num_rows + requests.num_rows) > budget:
            starts = pa.concat_arrays(
                [chunk for table in (calls, requests) for chunk in table["begin_s"].chunks]
            )
            starts = starts.take(pc.sort_indices(starts))
            until = starts[max(budget // 2, 1) - 1].as_py()
            self._left_out.say(f"calls of ranks after {until} s")
            calls = calls.filter(pc.less_equal(calls["begin_s"], until))
            requests = requests.filter(pc.less_equal(requests["begin_s"], until))
            # Many calls may begin at one time.
            calls = calls.slice(0, budget // 2)
            requests = requests.slice(0, budget // 2 - calls.num_rows)
        self._order = chosen
        self._ranks = ranks.Ranks(self._recorded, calls, requests, flows)


def _of_ranks(table: pa.Table, wanted: list[Rank]) -> pa.Table:
    """The rows of these ranks."""
    keys = pa.table(
        {
            "job": pa.array([job for job, _ in wanted], pa.string()),
            "rank": pa.array([rank for _, rank in wanted], pa.uint64()),
        }
    )
    return table.join(keys, keys=["job", "rank"], join_type="left semi", use_threads=False)


def _costs(calls: pa.Table, requests: pa.Table) -> dict[Rank, int]:
    """Events of every rank: a begin and an end of each call and request."""
    costs: dict[Rank, int] = {}
    for table in (calls, requests):
        counts = table.group_by(["job", "rank"], use_threads=False).aggregate([([], "count_all")])
        columns = (counts[name].to_pylist() for name in ("job", "rank", "count_all"))
        for job, rank, count in zip(*columns, strict=True):
            costs[job, rank] = costs.get((job, rank), 0) + 2 * count
    return costs


def _nth(number: int) -> str:
    """An ordinal.

    >>> [_nth(number) for number in (2, 3, 4, 11, 21)]
    ['2nd', '3rd', '4th', '11th', '21st']
    """
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
