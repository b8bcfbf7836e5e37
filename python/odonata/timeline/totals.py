"""Verification of a trace: the sums of its slices, compared with the tables of the results.

`python -m odonata.timeline.totals DIR FILE` prints differences, and ends with exit code 1 if there are any.
It compares only complete parts: ranks of which every call was recorded and is shown.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from odonata.analysis.measured import needed
from odonata.errors import InputError
from odonata.results.results import Results
from odonata.timeline.ranks import MARK
from odonata.timeline.recorded import Rank, Recorded
from odonata.timeline.trace import NS, ps, shortened

_EVENT = pb.TrackEvent
#: The tag of a packet in a trace: field 1, with a length.
_TAG = 0x0A
#: Bytes of the largest accepted packet; those of Odonata have a few hundred.
_LARGEST_PACKET = 16 << 20


@dataclass
class Totals:
    """The sums of the slices of one track and category."""

    slices: int = 0
    #: From timestamps, which are rounded to nanoseconds.
    duration_ns: int = 0
    #: From annotations.
    duration_ps: int = 0
    #: Sums of annotations with counts or sizes.
    sums: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    #: Begins and ends in ps, of slices with an annotation of their begin.
    spans: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Track:
    """A track; that of a thread is below that of its process."""

    name: str
    parent: int


@dataclass
class Trace:
    """A trace in memory."""

    tracks: dict[int, Track] = field(default_factory=dict)
    #: The track of each process.
    processes: dict[int, int] = field(default_factory=dict)
    #: By track and (category, name).
    totals: dict[int, dict[tuple[str, str], Totals]] = field(default_factory=dict)
    #: Values of counters, by track: time (ns) and value.
    counters: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    #: Flows: the tracks where each starts and where it ends, and the times.
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    events: int = 0

    def way(self, track: int) -> tuple[str, ...]:
        """The names of a track and those above it, from the process on.

        Raises:
            ValueError: A track is below one that was not declared, or below itself.
        """
        names: list[str] = []
        while track:
            if track not in self.tracks or len(names) > len(self.tracks):
                raise ValueError(f"track {track} has no place")
            names.append(self.tracks[track].name)
            track = self.tracks[track].parent
        return tuple(reversed(names))

    def at(self, *way: str) -> dict[tuple[str, str], Totals]:
        """The totals of all tracks at this path, summed."""
        found: dict[tuple[str, str], Totals] = defaultdict(Totals)
        for track, totals in self.totals.items():
            if self.way(track) == way:
                for key, one in totals.items():
                    _add(found[key], one)
        return dict(found)


def _add(to: Totals, one: Totals) -> None:
    to.slices += one.slices
    to.duration_ns += one.duration_ns
    to.duration_ps += one.duration_ps
    to.spans += one.spans
    for key, value in one.sums.items():
        to.sums[key] += value


def packets(file: BinaryIO) -> Iterator[pb.TracePacket]:
    """The packets of a trace, one by one; raises `ValueError` for other files."""
    while tag := file.read(1):
        length = shift = 0
        while True:
            byte = file.read(1)
            if not byte or shift > 28:
                raise ValueError("the trace ends in the midst of a packet")
            length |= (byte[0] & 0x7F) << shift
            shift += 7
            if byte[0] < 0x80:
                break
        content = file.read(length) if tag[0] == _TAG and length <= _LARGEST_PACKET else b""
        if len(content) < length or tag[0] != _TAG:
            raise ValueError("not a packet of a trace")
        yield pb.TracePacket.FromString(content)


def read(file: BinaryIO) -> Trace:
    """Reads a trace.

    Raises:
        ValueError: It breaks a rule: a slice ends without a begin, time goes backwards on a track, or a name
            or track was not declared.
    """
    trace = Trace()
    names: dict[str, dict[int, str]] = defaultdict(dict)
    stacks: dict[int, list[tuple[int, tuple[str, str], dict[str, Any]]]] = defaultdict(list)
    latest: dict[int, int] = defaultdict(int)
    for packet in packets(file):
        for kind in ("event_names", "event_categories", "debug_annotation_names"):
            names[kind].update({entry.iid: entry.name for entry in getattr(packet.interned_data, kind)})
        if packet.HasField("track_descriptor"):
            _declare(trace, packet.track_descriptor)
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        track = event.track_uuid
        if track not in trace.tracks:
            raise ValueError(f"an event on track {track}, which was not declared")
        if at < latest[track]:
            raise ValueError(f"time goes backwards on {trace.way(track)}")
        latest[track] = at
        trace.events += 1
        if event.type == _EVENT.TYPE_COUNTER:
            value = event.counter_value if event.HasField("counter_value") else event.double_counter_value
            trace.counters[track].append((at, value))
        elif event.type == _EVENT.TYPE_SLICE_BEGIN:
            name = names["event_names"][event.name_iid] if event.name_iid else event.name
            category = [names["event_categories"][iid] for iid in event.category_iids] + list(
                event.categories
            )
            annotations = {}
            for one in event.debug_annotations:
                key = names["debug_annotation_names"][one.name_iid] if one.name_iid else one.name
                annotations[key] = one.uint_value if one.HasField("uint_value") else None
            stacks[track].append((at, (category[0], name), annotations))
            for flow in event.flow_ids:
                trace.starts[flow] = (track, at)
        elif event.type == _EVENT.TYPE_SLICE_END:
            if not stacks[track]:
                raise ValueError(f"a slice ends without a start, on {trace.way(track)}")
            begin, what, annotations = stacks[track].pop()
            totals = trace.totals.setdefault(track, {}).setdefault(what, Totals())
            totals.slices += 1
            totals.duration_ns += at - begin
            lasts = annotations.get("duration_ps") or 0
            totals.duration_ps += lasts
            if (first := annotations.get("begin_ps")) is not None:
                totals.spans.append((first, first + lasts))
            for key in ("bytes", "sent", "sent_bytes", "received", "received_bytes", "waited_ps"):
                totals.sums[key] += annotations.get(key) or 0
            for flow in event.terminating_flow_ids:
                trace.ends[flow] = (track, at)
    if any(stacks.values()):
        raise ValueError("a slice does not end")
    return trace


def _declare(trace: Trace, track: pb.TrackDescriptor) -> None:
    name, parent = track.name, track.parent_uuid
    if track.HasField("process"):
        name = track.process.process_name
        trace.processes[track.process.pid] = track.uuid
    elif track.HasField("thread"):
        name = track.thread.thread_name
        parent = trace.processes[track.thread.pid]
    trace.tracks[track.uuid] = Track(name, parent)


def differences(results: Results, trace: Trace) -> tuple[list[str], int]:
    """The differences between a trace of `results` and their tables, in words; and the number of comparisons.

    Times are compared to the picosecond by annotations, and by timestamps to a nanosecond per slice.

    Raises:
        InputError: The run has recorded no timeline.
    """
    recorded = Recorded(results)
    if not recorded.whole:
        return [], 0
    different: list[str] = []
    compared = 0

    def hold(what: str, found: int, expected: int, tolerance: int = 0) -> None:
        nonlocal compared
        compared += 1
        if abs(found - expected) > tolerance:
            different.append(f"{what}: {found} in the trace, {expected} in the tables")

    by_rank: dict[tuple[str, ...], dict[str, Totals]] = {}
    streams: dict[tuple[str, ...], int] = defaultdict(int)
    for number, totals in trace.totals.items():
        way = trace.way(number)
        if len(way) == 2 or (len(way) == 3 and way[2].startswith("stream ")):
            sums = by_rank.setdefault(way[:2], defaultdict(Totals))
            streams[way[:2]] += 1
            for (category, _), one in totals.items():
                _add(sums[category], one)
    counts = _counts(recorded)
    for (job, rank), row in recorded.ranks.items():
        way = (shortened(f"job {job}"), f"rank {rank}")
        sums = by_rank.get(way, {})
        slices = sum(one.slices for one in sums.values())
        if not slices or slices != counts.get((job, rank)):
            # Some of its calls are not shown.
            continue
        for category, column in (("compute", "compute_s"), ("mpi", "mpi_s"), ("io", "io_s")):
            one = sums.get(category, Totals())
            # Simultaneous computation on several streams counts once in the rank's time.
            if category == "compute" and streams[way] > 1 and one.duration_ps > ps(row[column]):
                continue
            what = f"{column} of rank {rank} of {job}"
            hold(what, one.duration_ps, ps(row[column]))
            hold(f"{what} in ns", one.duration_ns, ps(row[column]) // NS, one.slices + 1)
        if not results.completed:
            continue
        for key, column in (
            ("sent", "messages_sent"),
            ("sent_bytes", "bytes_sent"),
            ("received", "messages_received"),
            ("received_bytes", "bytes_received"),
        ):
            found = sum(one.sums[key] for one in sums.values())
            hold(f"{column} of rank {rank} of {job}", found, row[column])
    _servers(results, trace, hold)
    return different, compared


def _counts(recorded: Recorded) -> dict[Rank, int]:
    """Calls of each rank, without the ends of iterations."""
    import pyarrow.compute as pc

    calls = recorded.calls.filter(pc.not_equal(recorded.calls["name"], MARK))
    counts = calls.group_by(["job", "rank"], use_threads=False).aggregate([([], "count_all")])
    columns = (counts[name].to_pylist() for name in ("job", "rank", "count_all"))
    return {(job, rank): count for job, rank, count in zip(*columns, strict=True)}


def _servers(results: Results, trace: Trace, hold: Callable[[str, int, int], None]) -> None:
    """Compares the slices of servers with the table servers."""
    columns = ["server", "node", "device_busy_s", "bytes_written", "bytes_read", "bytes_drained"]
    columns += ["device_writes", "device_reads", "wait_device_s"]
    for row in needed(results, "servers", columns).to_pylist():
        name = f"server {row['server']} (node {row['node']})"
        kinds: dict[str, Totals] = defaultdict(Totals)
        busy = 0
        for device in {
            way[2] for way in map(trace.way, trace.totals) if way[:2] == ("storage servers", name)
        }:
            of_device = trace.at("storage servers", name, device)
            for (_, kind), one in of_device.items():
                _add(kinds[kind], one)
            if device != "drain":
                busy += _covered([span for one in of_device.values() for span in one.spans])
        if not kinds:
            continue
        drain = kinds["drain"]
        at_devices = [kinds[kind] for kind in ("write", "read", "fetch")]
        hold(f"device_busy_s of {name}", busy, ps(row["device_busy_s"]))
        hold(f"bytes_written of {name}", kinds["write"].sums["bytes"], row["bytes_written"])
        hold(f"device_writes of {name}", kinds["write"].slices, row["device_writes"])
        hold(f"device_reads of {name}", kinds["read"].slices, row["device_reads"])
        hold(f"bytes_drained of {name}", drain.sums["bytes"], row["bytes_drained"])
        if results.completed:
            waited = sum(one.sums["waited_ps"] for one in at_devices)
            hold(f"wait_device_s of {name}", waited, ps(row["wait_device_s"]))
            hold(f"bytes_read of {name}", kinds["read"].sums["bytes"], row["bytes_read"])


def _covered(spans: list[tuple[int, int]]) -> int:
    """Time within at least one of the spans.

    >>> _covered([(5, 9), (0, 2), (1, 3), (8, 9)])
    7
    """
    covered = until = 0
    for begin, end in sorted(spans):
        covered += max(end - max(begin, until), 0)
        until = max(until, end)
    return covered


def compare(results: Results, file: Path) -> tuple[list[str], int]:
    """As `differences`, for the trace at `file`; raises `InputError` if it is no trace."""
    try:
        with open(file, "rb") as content:
            trace = read(content)
    except Exception as error:
        # A damaged file may raise any of these errors.
        if isinstance(error, OSError | MemoryError):
            raise
        raise InputError(f"this is no sound trace: {error}", file=str(file)) from None
    return differences(results, trace)


def main(arguments: list[str]) -> int:
    """Compares the trace FILE with the results in DIR; the exit code."""
    if len(arguments) != 2:
        print("usage: python -m odonata.timeline.totals DIR FILE", file=sys.stderr)
        return 2
    try:
        different, compared = compare(Results.load(arguments[0]), Path(arguments[1]))
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in different:
        print(line)
    print(f"{compared} totals compared, {len(different)} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
