"""Tracks of ranks: calls, iterations, requests in flight, and messages as flows.

A job is shown as a process, a rank as a thread of it. The thread's own track has the calls of stream 0.
Further streams, iterations and requests have tracks below it. A message is an arrow from the call that sends
it to the end of the call that receives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata.timeline.lanes import Lanes
from odonata.timeline.recorded import Rank, Recorded, Slices
from odonata.timeline.trace import TraceWriter, Value, ps

#: Category of a call, by its class; the viewer filters by categories.
CATEGORIES = {"compute": "compute", "mpi": "mpi", "io": "io", "other": "mpi beside stream 0"}
#: The smallest number of a thread; processes have smaller ones.
FIRST_THREAD = 100_000
#: The name of a row that marks the end of an iteration.
MARK = "iteration"


class Ranks:
    """The calls, requests and messages of the selected ranks, in the order of ranks."""

    def __init__(self, recorded: Recorded, calls: pa.Table, requests: pa.Table, flows: pa.Table) -> None:
        self._recorded = recorded
        calls = _with_messages(calls, flows)
        self.calls = Slices.from_table(calls, "job", "rank", "stream", "begin_s", "call")
        self.requests = Slices.from_table(requests, "job", "rank", "begin_s", "request")
        shown = _between(flows, calls)
        self.flows = shown.num_rows
        self._sent = Slices.from_table(shown, "job", "source_rank", "sent_call", "flow")
        self._taken = Slices.from_table(shown, "job", "target_rank", "taken_call", "flow")

    def write(self, trace: TraceWriter, order: list[Rank]) -> None:
        """Writes the tracks of ranks in this order."""
        pids = {job: pid for pid, job in enumerate(self._recorded.jobs, 1)}
        named: set[str] = set()
        for tid, rank in enumerate(order, FIRST_THREAD):
            job, number = rank
            pid = pids.get(job, len(pids) + 1)
            if job not in named:
                named.add(job)
                trace.process(f"job {job}", pid)
            self._write(trace, rank, trace.thread(f"rank {number}", pid, tid))

    def _write(self, trace: TraceWriter, rank: Rank, thread: int) -> None:
        sent = _numbers(self._sent, rank, "sent_call")
        taken = _numbers(self._taken, rank, "taken_call")
        job, number = rank
        tracks, latest = {0: thread}, {0: 0}
        marks = []
        for row in self.calls.rows(rank):
            if row["name"] == MARK:
                marks.append(row)
                continue
            stream = row["stream"]
            if stream not in tracks:
                tracks[stream] = trace.track(f"stream {stream}", thread)
            category = CATEGORIES.get(row["class"], "unknown")
            begin, end, call = ps(row["begin_s"]), ps(row["end_s"]), row["call"]
            if not latest.get(stream, 0) <= begin <= end:
                raise self._recorded.damaged(
                    "calls", "a rank is in two calls at once", f"rank {number}, {job}"
                )
            latest[stream] = end
            annotations = dict(_annotations(row))
            trace.begin(tracks[stream], begin, row["name"], category, annotations, sent.get(call, ()))
            trace.end(tracks[stream], end, taken.get(call, ()))
        self._iterations(trace, rank, thread, marks)
        self._requests(trace, rank, thread)

    def _iterations(self, trace: TraceWriter, rank: Rank, thread: int, marks: list[dict[str, Any]]) -> None:
        """A slice for each iteration whose end is shown, from the end of the previous one."""
        if not marks:
            return
        track = trace.track("iterations", thread)
        known = self._recorded.ranks.get(rank)
        before = ps(known["start_s"]) if known else 0
        for row in sorted(marks, key=lambda row: (row["end_s"], row["call"])):
            end = max(ps(row["end_s"]), before)
            number = row["iteration"]
            trace.begin(
                track, before, f"iteration {number}", MARK, {"iteration": number, "duration_ps": end - before}
            )
            trace.end(track, end)
            before = end

    def _requests(self, trace: TraceWriter, rank: Rank, thread: int) -> None:
        """A slice for each request; simultaneous requests are on different tracks."""
        lanes = Lanes(lambda: trace.track("requests", thread))
        for row in self.requests.rows(rank):
            begin, end = ps(row["begin_s"]), ps(row["end_s"])
            end = max(begin, end)
            track = lanes.take(begin, end)
            annotations: dict[str, Value] = {"request": row["request"], "call": row["call"]}
            if row["peer"] >= 0:
                annotations["peer"] = row["peer"]
            annotations |= {"bytes": row["bytes"], "duration_ps": end - begin}
            trace.begin(track, begin, row["name"], "request", annotations)
            trace.end(track, end)


def _annotations(row: dict[str, Any]) -> Iterator[tuple[str, Value]]:
    yield "call", row["call"]
    yield "duration_ps", max(ps(row["end_s"]) - ps(row["begin_s"]), 0)
    for key in ("iteration", "peer", "file", "request"):
        if row[key] >= 0:
            yield key, row[key]
    for key in ("bytes", "requests", "sent", "sent_bytes", "received", "received_bytes"):
        if row[key]:
            yield key, row[key]
    if not row["finished"]:
        yield "unfinished", True


def _numbers(flows: Slices, rank: Rank, call: str) -> dict[int, list[int]]:
    """The flows of a rank by its calls."""
    numbers: dict[int, list[int]] = {}
    for row in flows.rows(rank):
        numbers.setdefault(row[call], []).append(row["flow"])
    return numbers


def _with_messages(calls: pa.Table, flows: pa.Table) -> pa.Table:
    """`calls` with the numbers of messages and bytes that each has sent and received."""
    for rank, call, count, size in (
        ("source_rank", "sent_call", "sent", "sent_bytes"),
        ("target_rank", "taken_call", "received", "received_bytes"),
    ):
        sums = flows.group_by(["job", rank, call], use_threads=False)
        sums = sums.aggregate([("bytes", "count"), ("bytes", "sum")])
        sums = sums.rename_columns({"bytes_count": count, "bytes_sum": size})
        # Number -1 means no call.
        sums = sums.filter(pc.greater_equal(sums[call], 0)).select(["job", rank, call, count, size])
        for column in (rank, call):
            place = sums.schema.get_field_index(column)
            sums = sums.set_column(place, column, pc.cast(sums[column], pa.uint64()))
        calls = calls.join(
            sums, keys=["job", "rank", "call"], right_keys=["job", rank, call], use_threads=False
        )
    return calls


def _between(flows: pa.Table, calls: pa.Table) -> pa.Table:
    """The flows whose calls are both among `calls`."""
    shown = flows.filter(pc.greater_equal(flows["taken_call"], 0))
    place = shown.schema.get_field_index("taken_call")
    shown = shown.set_column(place, "taken_call", pc.cast(shown["taken_call"], pa.uint64()))
    keys = calls.select(["job", "rank", "call"])
    for rank, call in (("source_rank", "sent_call"), ("target_rank", "taken_call")):
        shown = shown.join(
            keys,
            keys=["job", rank, call],
            right_keys=["job", "rank", "call"],
            join_type="left semi",
            use_threads=False,
        )
    return shown
