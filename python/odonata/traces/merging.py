"""Merges a message trace and a file access log of one job into one program in files.

Each recording lacks the operations of the other. For an MPI trace (DUMPI, OTF2), a POSIX write is
computation. For a Darshan log, so is a message. Both have a clock for each rank, so each trace is converted
twice: as it is replayed, and with the time in calls counted as computation (`call_time`), which restores the
clock of the recording. The two conversions determine when each operation began and ended. The merged program
has all operations of a rank in the order of their starts, and computation while the rank was in none of them:

    computed before operation i  =  max(0, start(i) - latest end of those before i)

so that no time counts twice. A program in files has no recorded calls: its operations take no time there.
Times are in picoseconds from the beginning of the merged program, which is the start of the earlier clock.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from odonata import _core
from odonata.analysis import parquet
from odonata.base.folder import ResultFolder
from odonata.errors import InputError, input_errors, option
from odonata.operations import PROGRAM_FILE
from odonata.programs.program_tables import COLUMNS, ROWS
from odonata.traces import formats as trace_formats
from odonata.traces.converted import ConvertOptions

if TYPE_CHECKING:
    import os

    from odonata.tool_answers import MergedTraces

PS = 1e12
#: Largest file number (docs/program-format.md).
LARGEST_FILE = 1 << 63
#: Longest clock of a rank.
LONGEST_PS = 4.32e18
#: Streams from this number on have no order of their own.
PROCESSORS = 256

#: Operations on files and their requests: the only ones in a file access log.
FILE_KINDS = frozenset(
    (
        "open",
        "create",
        "stat",
        "close",
        "unlink",
        "sync",
        "mkdir",
        "rmdir",
        "read",
        "write",
        "iread",
        "iwrite",
    )
)
_LOG_KINDS = FILE_KINDS | {"compute", "mark", "wait", "wait_all", "wait_any", "wait_some", "request_free"}
_RANGES = frozenset(("start_all", "wait_all", "wait_any", "wait_some", "test_all", "test_any", "test_some"))

Numbers = NDArray[np.int64]


class Merged(NamedTuple):
    """A merged program on disk."""

    ranks: int
    operations: int
    #: Operations of the trace and of the log, without computation.
    from_trace: int
    from_log: int
    #: Time in operations of the log, and the part of it in which the rank was also in calls of the trace;
    #: sums over all ranks, in seconds.
    log_s: float
    overlap_s: float
    #: Removed remains of killed processes.
    cleared: list[str]
    #: Unknown and omitted parts, in sentences.
    notes: Sequence[str]


class _Recording(NamedTuple):
    """A trace as replayed operations, and as operations on the clock of the recording."""

    ranks: int
    operations: pa.Table
    clock: pa.Table
    folder: Path
    notes: list[str]


class _Calls(NamedTuple):
    """The operations of stream 0 of a rank: their rows, begins and ends."""

    rows: Numbers
    start: Numbers
    end: Numbers
    #: End of the calls before the first operation, and end of the rank's clock.
    busy: int
    last: int


def merge(
    trace: Path,
    log: Path,
    target: Path,
    *,
    offset_s: float = 0.0,
    trace_files: bool = True,
    force: bool = False,
    incomplete: bool = False,
    interface: str | None = None,
    without: Sequence[str] = (),
) -> Merged:
    """Writes the program of a job whose messages are in `trace` and whose file access is in `log`.

    Args:
        trace: An MPI trace, or a program in files.
        log: A file access log, or a program in files that only accesses files.
        target: The folder to write.
        offset_s: Start of the log's clock on the clock of the trace, in seconds.
        trace_files: Whether to keep file operations of the trace; false if the log has them too.
        force: Replace an existing program.
        incomplete: Read damaged files as far as possible.
        interface: See `ConvertOptions`, for the log.
        without: See `ConvertOptions`, for the log.

    Raises:
        InputError: An input cannot be read, or they belong to different jobs.
        OSError: The computer fails.
    """
    options = ConvertOptions(incomplete=incomplete)
    of_log = ConvertOptions(incomplete, interface, tuple(without))
    with (
        tempfile.TemporaryDirectory(prefix="odonata-merge-") as place,
        ResultFolder(
            target,
            replace=force,
            marker=PROGRAM_FILE,
            kind="program",
            key=option("out", "OUT"),
            inputs=[trace, log],
        ) as folder,
    ):
        one = _recording(trace, Path(place) / "trace", options)
        two = _recording(log, Path(place) / "log", of_log)
        if one.ranks != two.ranks:
            raise InputError(
                f"the log has {two.ranks} ranks, and the trace {one.ranks}",
                file=str(log),
                expected="a log and a trace of the same job",
            )
        _check(one, trace, two, log)
        if not trace_files:
            one = one._replace(operations=_without_requests(one.operations))
        operations, merged, shift = _merged(one, two, log, round(offset_s * PS), trace_files=trace_files)
        first = folder.path / "first"
        first.mkdir()
        _write(first, one, operations)
        with input_errors():
            counts = _core.trace_convert(first, folder.path)
        for path in first.iterdir():
            path.unlink()
        first.rmdir()
        _describe(folder.path, f"{trace.name} and {log.name}, merged")
        origin = two.folder / "origin.json"
        if origin.exists():
            _keep_origin(origin, folder.path / origin.name, shift)
        folder.publish()
    notes = [*one.notes, *two.notes]
    if shift:
        notes.append(
            f"both access files: those of the log have numbers from {shift} on; if they are the same files, "
            "--without-files leaves out what the trace does to them"
        )
    return merged._replace(operations=counts[1], cleared=folder.cleared, notes=notes)


def answer(out: str | os.PathLike[str], merged: Merged) -> MergedTraces:
    """The answer of the command in JSON, and of the function."""
    answer: MergedTraces = {
        "program": str(out),
        "ranks": merged.ranks,
        "operations": merged.operations,
        "from_trace": merged.from_trace,
        "from_log": merged.from_log,
        "log_s": merged.log_s,
        "overlap_s": merged.overlap_s,
    }
    if merged.notes:
        answer["notes"] = list(merged.notes)
    return answer


def _recording(path: Path, place: Path, options: ConvertOptions) -> _Recording:
    """The recording at `path`, converted below `place`."""
    converted = trace_formats.at(path)
    found: list[pa.Table] = []
    notes: list[str] = []
    ranks = 0
    for name in ("replayed", "clock"):
        folder = place / name
        folder.mkdir(parents=True)
        call_time = name == "clock"
        if converted is None:
            if options.interface is not None or options.without:
                raise InputError(
                    "the log is of a format without it",
                    key=option("interface") if options.interface is not None else option("without"),
                    expected=trace_formats.files(),
                )
            with input_errors():
                ranks, _ = _core.trace_convert(
                    path, folder, incomplete=options.incomplete, call_time=call_time
                )
        else:
            made = dataclasses.replace(options, call_time=call_time)
            done = converted.convert(path, folder, made, lambda done, ranks, operations: None)
            ranks, notes = done.ranks, done.notes
        found.append(_table(folder))
    return _Recording(ranks, found[0], found[1], place / "replayed", notes)


def _table(folder: Path) -> pa.Table:
    """The operations of a program, with all columns there are."""
    table = parquet.read(folder / "operations.parquet")
    columns = [
        table[name].cast(kind) if name in table.column_names else pa.nulls(table.num_rows, kind)
        for name, kind in COLUMNS.items()
    ]
    return pa.table(columns, schema=pa.schema(list(COLUMNS.items())))


def _check(one: _Recording, trace: Path, two: _Recording, log: Path) -> None:
    """Checks that operations have an order that a clock can follow, and that the log only accesses files."""
    streams = _numbers(one.operations, "stream")
    if len(streams) and streams.max() >= PROCESSORS:
        raise InputError(
            "its ranks have processors, on which operations have no order",
            file=str(trace),
            expected="a trace whose ranks call one after the other",
        )
    if _numbers(two.operations, "stream").any():
        raise InputError(
            "its ranks have several streams", file=str(log), expected="operations one after the other"
        )
    kinds = two.operations["kind"]
    other = sorted(set(pc.unique(kinds).to_pylist()) - _LOG_KINDS)
    if other:
        row = pc.index(kinds, other[0]).as_py()
        raise InputError(
            f"rank {two.operations['rank'][row]} does more than access files: {other[0]}",
            file=str(log),
            expected="a log of file access; the trace with the messages is named first",
        )


def _without_requests(table: pa.Table) -> pa.Table:
    """Turns accesses with a request into sends to `NOBODY`, which complete immediately, because a later
    operation waits for the request.
    """
    pending = pc.is_in(table["kind"], pa.array(["iread", "iwrite"]))
    values = {"kind": "isend", "peer": -2, "tag": 0, "bytes": 0, "comm": 0, "file": None, "offset": None}
    for name, value in values.items():
        column = pc.if_else(pending, pa.scalar(value, COLUMNS[name]), table[name])
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def _numbers(table: pa.Table, name: str, nothing: int = 0) -> Numbers:
    """A column as integers."""
    values = pc.fill_null(table[name].cast(pa.int64()), nothing)
    return np.asarray(values.combine_chunks(), np.int64)


def _kinds(table: pa.Table, names: frozenset[str]) -> NDArray[np.bool_]:
    """Whether each operation is of these kinds."""
    return np.asarray(pc.is_in(table["kind"], pa.array(sorted(names))).combine_chunks())


class _Timed:
    """The operations of a recording, rank by rank."""

    def __init__(self, recording: _Recording) -> None:
        self.table = recording.operations
        self.rank = _numbers(self.table, "rank")
        self.first = np.searchsorted(self.rank, np.arange(recording.ranks + 1))
        self.stream = _numbers(self.table, "stream")
        self._replayed = _Durations(self.table)
        self._clock = _Durations(recording.clock)
        self.is_call = self._replayed.is_call
        rank = _numbers(recording.clock, "rank")
        self._first = np.searchsorted(rank, np.arange(recording.ranks + 1))

    def calls(self, rank: int, origin: int) -> _Calls:
        """The calls of `rank`, whose clock begins at `origin`."""
        rows, gaps, rest = self._replayed.calls(slice(*self.first[rank : rank + 2]))
        _, steps, tail = self._clock.calls(slice(*self._first[rank : rank + 2]))
        if len(gaps) != len(steps):
            raise RuntimeError(f"rank {rank} has {len(gaps)} operations, and {len(steps)} on its clock")
        start = origin + np.cumsum(steps)
        last = int(start[-1] if len(start) else origin) + tail
        # A call lasts until the computation before the next one.
        ends = np.append(start - gaps, last - rest)
        return _Calls(rows, start, np.maximum(ends[1:], start), int(ends[0]), last)


class _Durations:
    """Computation of ranks between the calls of stream 0."""

    def __init__(self, table: pa.Table) -> None:
        self.duration = _numbers(table, "duration_ps")
        on = _numbers(table, "stream") == 0
        computes = np.asarray(pc.equal(table["kind"], "compute").combine_chunks())
        waits = _numbers_of_lists(table["after"]) > 0
        #: Computation that waits for other operations has a place of its own; its duration follows it.
        self.is_call = on & (~computes | waits)
        self.duration = np.where(on & computes, self.duration, 0)

    def calls(self, part: slice) -> tuple[Numbers, Numbers, int]:
        """The calls among some rows, the computation before each, and after the last."""
        rows = np.flatnonzero(self.is_call[part]) + part.start
        if float(self.duration[part].sum(dtype=np.float64)) > LONGEST_PS:
            raise InputError("a rank computes too long to tell times by", expected="50 days at most")
        passed = np.cumsum(np.append(0, self.duration[part]))
        at = passed[rows - part.start]
        return rows, np.diff(at, prepend=0), int(passed[-1] - (at[-1] if len(at) else 0))


def _numbers_of_lists(column: pa.ChunkedArray) -> Numbers:
    lengths = pc.fill_null(pc.list_value_length(column), 0).cast(pa.int64())
    return np.asarray(lengths.combine_chunks(), np.int64)


def covered(start: Numbers, end: Numbers) -> int:
    """Total time in at least one of the intervals, which are sorted by start.

    >>> covered(np.array([0, 5, 20]), np.array([10, 8, 30]))
    20
    """
    if not len(start):
        return 0
    before = np.append(start[0], np.maximum.accumulate(end)[:-1])
    return int(np.maximum(end - np.maximum(start, before), 0).sum())


def _merged(
    one: _Recording, two: _Recording, log: Path, offset: int, *, trace_files: bool
) -> tuple[pa.Table, Merged, int]:
    """The operations of both, the summary, and the shift of the log's file numbers."""
    trace, access = _Timed(one), _Timed(two)
    of_files = _kinds(one.operations, FILE_KINDS)
    dropped = np.zeros(len(of_files), bool) if trace_files else of_files
    shift = 0
    if trace_files and of_files.any():
        shift = int(_numbers(one.operations, "file").max()) + 1
    largest = int(_numbers(two.operations, "file").max()) if two.operations.num_rows else 0
    if shift + largest >= LARGEST_FILE:
        raise InputError(f"file {largest} would be {shift + largest}", file=str(log), expected="below 2^63")
    begin = min(0, offset)
    # Rows of the trace, of the log, and of a computation, in this order.
    base = trace.table.num_rows
    compute = base + access.table.num_rows
    rows: list[Numbers] = []
    durations: list[Numbers] = []
    renumbered = np.full(base, -1, np.int64)
    totals = {"trace": 0, "log": 0, "log_ps": 0, "overlap_ps": 0}
    for rank in range(one.ranks):
        ours, theirs = trace.calls(rank, 0), access.calls(rank, offset)
        # First come calls that are not replayed, such as MPI_Init.
        start = np.concatenate(([0], ours.start, theirs.start))
        end = np.concatenate(([ours.busy], ours.end, theirs.end))
        row = np.concatenate(([-1], np.where(dropped[ours.rows], -1, ours.rows), theirs.rows + base))
        if ours.busy <= 0:
            start, end, row = start[1:], end[1:], row[1:]
        calls = len(start) - len(theirs.start)
        order = np.argsort(start, kind="stable")
        alone = covered(start[:calls], end[:calls]), covered(theirs.start, theirs.end)
        totals["log_ps"] += alone[1]
        totals["overlap_ps"] += sum(alone) - covered(start[order], end[order])
        start, end, row = start[order], end[order], row[order]
        busy = np.maximum.accumulate(np.append(begin, end))
        computed = np.cumsum(np.maximum(start - busy[:-1], 0))
        kept = row >= 0
        gaps = np.diff(computed[kept], prepend=0)
        all_ps = int(computed[-1]) if len(computed) else 0
        rest = max(ours.last, theirs.last, int(busy[-1])) - int(busy[-1])
        rest += all_ps - (int(computed[kept][-1]) if kept.any() else 0)
        part = slice(*trace.first[rank : rank + 2])
        others = np.flatnonzero(trace.stream[part] != 0) + part.start
        found, times = _rows_of_rank(row[kept], gaps, rest, others[~dropped[others]], base, compute)
        _renumber(renumbered, found, part, trace.is_call & ~dropped, trace.stream)
        totals["trace"] += int((row[kept] < base).sum()) + len(others)
        totals["log"] += len(theirs.start)
        rows.append(found)
        durations.append(times)
    table = _taken(one, two, rows, durations, renumbered, shift, _request_shift(one, two))
    merged = Merged(
        one.ranks,
        table.num_rows,
        totals["trace"],
        totals["log"],
        totals["log_ps"] / PS,
        totals["overlap_ps"] / PS,
        [],
        [],
    )
    return table, merged, shift


def _rows_of_rank(
    row: Numbers, gaps: Numbers, rest: int, others: Numbers, base: int, compute: int
) -> tuple[Numbers, Numbers]:
    """Rows of a rank with the computation between them, and the duration of each computation.

    Rows of other streams stay before the same operation of the trace.
    """
    before = np.full(2 * len(row) + 1, compute)
    before[1::2] = row
    times = np.zeros(len(before), np.int64)
    times[0::2] = np.append(gaps, rest)
    keep = (before != compute) | (times > 0)
    found, times = before[keep], times[keep]
    if not len(others):
        return found, times
    at = np.flatnonzero(found < base)
    places = np.append(at, len(found))[np.searchsorted(found[at], others)]
    return np.insert(found, places, others), np.insert(times, places, 0)


def _renumber(
    renumbered: Numbers,
    found: Numbers,
    part: slice,
    stays: NDArray[np.bool_],
    stream: Numbers,
) -> None:
    """Records the new number of each row of the trace in `part`.

    Computation between two calls becomes the last row of stream 0 before the second call.
    """
    mine = (found >= part.start) & (found < part.stop)
    renumbered[found[mine]] = np.flatnonzero(mine)
    places = np.flatnonzero(mine)
    # The last operation of stream 0 before each position.
    on = ~mine
    on[places] = stream[found[places]] == 0
    last = np.maximum.accumulate(np.append(-1, np.where(on, np.arange(len(found)), -1)))
    gone = np.flatnonzero(~stays[part] & (stream[part] == 0)) + part.start
    calls = np.flatnonzero(stays[part]) + part.start
    following = np.append(renumbered[calls], len(found))[np.searchsorted(calls, gone)]
    renumbered[gone] = last[following]


def _request_shift(one: _Recording, two: _Recording) -> int:
    """The shift of the log's request numbers."""
    if not (_numbers(two.operations, "request", -1) >= 0).any():
        return 0
    request = _numbers(one.operations, "request", -1)
    several = np.where(_kinds(one.operations, _RANGES), _numbers(one.operations, "count"), 1)
    return int((request + several).max()) if len(request) else 0


def _taken(
    one: _Recording,
    two: _Recording,
    rows: list[Numbers],
    durations: list[Numbers],
    renumbered: Numbers,
    shift: int,
    requests: int,
) -> pa.Table:
    """The table of the chosen rows."""
    log = two.operations
    for name, by in (("file", shift), ("request", requests)):
        if by:
            values = log[name].cast(pa.int64())
            raised = pc.if_else(pc.greater_equal(values, 0), pc.add(values, by), values)
            log = log.set_column(log.column_names.index(name), name, raised.cast(COLUMNS[name]))
    computation = pa.Table.from_pylist([{"kind": "compute"}], schema=one.operations.schema)
    every = pa.concat_tables([one.operations, log, computation])
    index = np.concatenate(rows) if rows else np.empty(0, np.int64)
    table = every.take(pa.array(index))
    computed = np.asarray(pc.equal(table["kind"], "compute").combine_chunks())
    times = np.concatenate(durations) if durations else np.empty(0, np.int64)
    # Other streams stay unchanged; on stream 0, computation is between the operations.
    elsewhere = _numbers(table, "stream") != 0
    times = np.where(elsewhere, _numbers(table, "duration_ps"), times)
    columns: dict[str, Any] = {
        "rank": pa.array(np.repeat(np.arange(len(rows)), [len(part) for part in rows]), pa.uint32()),
        "duration_ps": pa.array(times, pa.uint64(), mask=~computed),
        "after": _after(table["after"], _first_of_ranks(one), index, renumbered),
    }
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _first_of_ranks(one: _Recording) -> Numbers:
    """For each row of the trace, the first row of its rank."""
    rank = _numbers(one.operations, "rank")
    return np.searchsorted(rank, rank)


def _after(column: pa.ChunkedArray, first: Numbers, index: Numbers, renumbered: Numbers) -> pa.Array:
    """The dependencies of operations, by the new numbers."""
    lists: list[list[int] | None] = [None] * len(index)
    for place in np.flatnonzero(_numbers_of_lists(column) > 0):
        of_rank = first[index[place]]
        numbers = {int(renumbered[of_rank + number]) for number in column[int(place)].as_py()}
        lists[place] = sorted(number for number in numbers if number >= 0) or None
    return pa.array(lists, COLUMNS["after"])


def _write(folder: Path, one: _Recording, operations: pa.Table) -> None:
    """Writes the program to the empty `folder`; communicators and lists of sizes are those of the trace."""
    pq.write_table(operations, folder / "operations.parquet", row_group_size=ROWS)
    for name in ("communicators.parquet", "counts.parquet"):
        (folder / name).write_bytes((one.folder / name).read_bytes())
    program = {"format": "odonata-program", "version": 1, "ranks": one.ranks}
    (folder / PROGRAM_FILE).write_text(json.dumps(program), encoding="utf-8")


def _describe(folder: Path, text: str) -> None:
    """Writes the description of the program."""
    program = json.loads((folder / PROGRAM_FILE).read_text(encoding="utf-8"))
    program["description"] = text[:500]
    (folder / PROGRAM_FILE).write_text(json.dumps(program, indent=2), encoding="utf-8")


def _keep_origin(source: Path, target: Path, shift: int) -> None:
    """Writes the origin of a log's files, by their numbers in the merged program."""
    origin = json.loads(source.read_text(encoding="utf-8"))
    for file in origin.get("files", []):
        file["file"] += shift
    target.write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")
