"""File accesses of a logged job's ranks: opens, reads, writes, syncs and closes, with estimated times.

With DXT every access is exact: rank, offset, bytes, begin and end. Without it, accesses are reconstructed
from counters, by fixed rules (`sizes`, `shares`, `positions`) and without randomness. Opens, closes and syncs
(`fsync`, `MPI_File_sync`) are always reconstructed. Numbers of opens, reads and writes and their bytes equal
those of the log, file by file. Facts without a counter are listed as unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from odonata.traces.darshan_log.log import DXT, INTERFACES, SHARED, Log, prefix
from odonata.traces.darshan_log.positions import LONGEST, mixed, offsets
from odonata.traces.darshan_log.records import MOST_OPERATIONS, File, Record, damaged
from odonata.traces.darshan_log.segments import Segments, segments_of
from odonata.traces.darshan_log.shares import Spread, deal, weights
from odonata.traces.darshan_log.sizes import Direction, Runs, range_of, sizes

OPEN, READ, WRITE, SYNC, CLOSE = range(5)
KINDS = ("open", "read", "write", "sync", "close")


class Part(NamedTuple):
    """Operations of one kind on one file."""

    rank: NDArray[np.int64]
    file: int
    kind: int
    offset: NDArray[np.int64]
    bytes: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]


@dataclass
class Accesses:
    """All replayed accesses, as columns in the order of rank, then time."""

    ranks: int
    rank: NDArray[np.int64]
    file: NDArray[np.int64]
    kind: NDArray[np.int64]
    offset: NDArray[np.int64]
    bytes: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]
    files: list[File]
    #: Unknown facts and the assumptions about them, in sentences.
    unknown: list[str]
    #: Contradictory numbers of the log, in sentences.
    contradictions: list[str] = field(default_factory=list)


def find(log: Log, interface: str = "POSIX", without: frozenset[int] = frozenset()) -> Accesses:
    """The accesses of `log` at one interface.

    Args:
        log: The log.
        interface: `POSIX`, the requests to the file system, or `MPI-IO`, the requests of the application. A
            file without a record of it uses the other; records of STDIO are always used.
        without: Records of files to leave out.

    Raises:
        InputError: It has too many operations, or impossible numbers.
    """
    return _Collector(log, interface, without).collect()


def counted(log: Log, interface: str = "POSIX") -> tuple[dict[str, int], list[File]]:
    """Counted opens, reads and writes in total, and the files with their counts."""
    collector = _Collector(log, interface, frozenset())
    files = collector.named()
    for record in collector.records:
        file = collector.file(record.id, record.interface)
        read, write = record.direction(True), record.direction(False)
        file.opens += record.opens()
        file.reads += read.number
        file.writes += write.number
        file.bytes_read += read.bytes
        file.bytes_written += write.bytes
    sums = {
        "open": sum(file.opens for file in files),
        "read": sum(file.reads for file in files),
        "write": sum(file.writes for file in files),
    }
    return sums, files


class _Collector:
    """Collects the accesses of a log."""

    def __init__(self, log: Log, interface: str, without: frozenset[int]) -> None:
        self.log, self.without = log, without
        self.parts: list[Part] = []
        self.contradictions: list[str] = []
        self.files: dict[int, File] = {}
        self.operations = 0
        self.shared = self.guessed = self.placeless = self.doubled = self.synced = 0
        #: Ranks whose DXT accesses to a file at an interface were taken; -1 for all.
        self.replayed: dict[tuple[str, int], set[int]] = {}
        self.records = list(self._chosen(interface))
        self.segments: dict[str, dict[tuple[int, bool], Segments]] = {}

    def named(self) -> list[File]:
        """The files of the records, in the order of their names, with zero counts."""
        log = self.log
        ids = sorted(
            {record.id for record in self.records}, key=lambda number: (log.names.get(number, ""), number)
        )
        self.files = {
            number: File(place, number, log.names.get(number, ""), []) for place, number in enumerate(ids)
        }
        self._striping()
        return list(self.files.values())

    def collect(self) -> Accesses:
        """Collects all accesses."""
        self.named()
        self.segments = {module: segments_of(self.log, module) for module in DXT.values()}
        for record in self.records:
            self._record(record)
        for interface, module in DXT.items():
            for (number, write), segments in self.segments[module].items():
                if self.taken.get(number, interface) == interface and number not in self.without:
                    self._unrecorded(interface, number, write, segments)
        return self._joined()

    def _chosen(self, interface: str) -> Iterator[Record]:
        """The replayed records: of each file those of one interface, and those of STDIO."""
        log = self.log
        found: dict[str, list[Record]] = {}
        for module in INTERFACES:
            table = log.tables.get(module)
            if table is None:
                found[module] = []
                continue
            cut = len(prefix(module)) + 1
            rows = table.to_pylist()
            found[module] = [
                Record(
                    module,
                    row["id"],
                    row["rank"],
                    {name[cut:]: value for name, value in row.items() if name not in ("id", "rank")},
                )
                for row in rows
            ]
        other = "MPI-IO" if interface == "POSIX" else "POSIX"
        first = {record.id for record in found[interface]}
        if interface == "POSIX":
            self._compare(found)
        #: The replayed interface of each file that POSIX or MPI-IO accesses.
        self.taken = {
            **{record.id: other for record in found[other]},
            **dict.fromkeys(first, interface),
        }
        # MPI-IO on DAOS goes through DFS, which numbers files differently: only one of the two is replayed.
        instead = None
        if found["DFS"] and found["MPI-IO"]:
            instead = "MPI-IO" if interface == "POSIX" else "DFS"
        for module in INTERFACES:
            for record in found[module]:
                if record.id in self.without:
                    continue
                if module == instead and (module == "DFS" or self.taken[record.id] == module):
                    self.doubled += 1
                    continue
                if module in ("STDIO", "DFS") or self.taken[record.id] == module:
                    if not -1 <= record.rank < log.ranks:
                        raise damaged(
                            log, f"module {module} has a record of rank {record.rank}, of {log.ranks} ranks"
                        )
                    yield record

    def _compare(self, found: dict[str, list[Record]]) -> None:
        """Notes files to which MPI-IO has moved more bytes than POSIX: the rest was not recorded."""
        sums: dict[str, dict[int, int]] = {"POSIX": {}, "MPI-IO": {}}
        for module, of_module in sums.items():
            for record in found[module]:
                bytes = record.direction(False).bytes
                of_module[record.id] = of_module.get(record.id, 0) + bytes
        for number, bytes in sums["MPI-IO"].items():
            known = sums["POSIX"].get(number)
            if known is not None and known < bytes and number not in self.without:
                self.contradictions.append(
                    f"MPI-IO wrote {bytes} B to {self._name(number)}, of which POSIX has {known} B; "
                    "--interface mpi-io converts what MPI-IO has"
                )

    def _name(self, number: int) -> str:
        return self.log.names.get(number) or f"record {number}"

    def file(self, number: int, interface: str) -> File:
        """The file with this record number, noting that an interface accessed it."""
        file = self.files.get(number)
        if file is None:
            file = self.files[number] = File(len(self.files), number, self.log.names.get(number, ""), [])
        if interface not in file.interfaces:
            file.interfaces.append(interface)
        return file

    def _striping(self) -> None:
        """Notes the striping of files, from their first component."""
        table = self.log.tables.get("LUSTRE")
        if table is None:
            return
        columns = ("id", "LUSTRE_COMP_STRIPE_SIZE", "LUSTRE_COMP_STRIPE_COUNT")
        for number, size, count in zip(*(table[name].to_pylist() for name in columns), strict=True):
            file = self.files.get(number)
            if file is not None and file.stripe_bytes is None and size > 0:
                file.stripe_bytes, file.stripe_count = size, count

    def _record(self, record: Record) -> None:
        file = self.file(record.id, record.interface)
        read, write = record.direction(True), record.direction(False)
        opens = record.opens()
        if max(read.bytes, write.bytes) > LONGEST:
            raise damaged(
                self.log,
                f"{record.interface} counts {max(read.bytes, write.bytes)} B of {self._name(record.id)}",
            )
        syncs = sum(record.count(name) for name in ("FSYNCS", "FDSYNCS", "SYNCS"))
        self.operations += 2 * opens + read.number + write.number + syncs
        if self.operations > MOST_OPERATIONS:
            raise damaged(
                self.log,
                f"it counts more than {MOST_OPERATIONS} opens, reads and writes, the last of them of "
                f"{self._name(record.id)}",
                f"at most {MOST_OPERATIONS}",
            )
        shares = self._weights(record, read.bytes + write.bytes)
        self._opens(record, file, opens)
        self._syncs(record, file, syncs)
        left = []
        for direction, is_write in ((read, False), (write, True)):
            left.append(self._by_dxt(record, file, direction, is_write))
        read, write = left
        if read.number + write.number == 0:
            return
        self.guessed += read.number + write.number
        read_runs, write_runs, fits = sizes(read, write, record.common("ACCESS", "ACCESS"))
        if not fits:
            self.contradictions.append(
                f"{record.interface}: the ranges of size of accesses to {self._name(record.id)} do not fit "
                "their bytes"
            )
        for runs, direction, is_write in ((read_runs, read, False), (write_runs, write, True)):
            if direction.number:
                self._reconstruct(record, file, runs, is_write, shares)

    def _weights(self, record: Record, bytes: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The ranks of a record, and the weight of each."""
        if record.rank != SHARED:
            return np.array([record.rank]), np.ones(1)
        ranks = self.log.ranks
        every = np.arange(ranks)
        if ranks > 1:
            self.shared += 1
        if "SLOWEST_RANK" not in record.values:
            return every, np.ones(ranks)
        spread = Spread(
            bytes,
            (record.values["FASTEST_RANK"], record.values["FASTEST_RANK_BYTES"]),
            (record.values["SLOWEST_RANK"], record.values["SLOWEST_RANK_BYTES"]),
            record.variance(),
        )
        return every, weights(ranks, spread)

    def _unrecorded(self, interface: str, number: int, write: bool, segments: Segments) -> None:
        """Takes DXT accesses of ranks without a record in the interface's module."""
        taken = self.replayed.get((interface, number), set())
        if SHARED in taken:
            return
        left = ~np.isin(segments.rank, list(taken))
        if left.any():
            self._exact(self.file(number, interface), write, segments.at(left))
            self.contradictions.append(
                f"{DXT[interface]} has {int(left.sum())} accesses to {self._name(number)} of which "
                f"{interface} has no record"
            )

    def _opens(self, record: Record, file: File, opens: int) -> None:
        """Opens between the first and the last recorded one, and as many closes if there was any."""
        file.opens += opens
        if opens == 0:
            return
        ranks = np.array([record.rank]) if record.rank != SHARED else np.arange(self.log.ranks)
        counts = deal(opens, np.ones(len(ranks)))
        meta = record.time("META_TIME") / (2 * opens)
        kinds = [(OPEN, "OPEN")]
        if record.time("CLOSE_START_TIMESTAMP") > 0 or record.time("CLOSE_END_TIMESTAMP") > 0:
            kinds.append((CLOSE, "CLOSE"))
        for kind, name in kinds:
            begin, end = record.time(f"{name}_START_TIMESTAMP"), record.time(f"{name}_END_TIMESTAMP")
            start, stop = _between(counts, begin, end, meta)
            nothing = np.zeros(opens, np.int64)
            self.parts.append(
                Part(np.repeat(ranks, counts), file.number, kind, nothing, nothing, start, stop)
            )

    def _syncs(self, record: Record, file: File, syncs: int) -> None:
        """Syncs of a file, the last one at the end of the last write; none without writes."""
        if syncs == 0 or record.direction(False).number == 0:
            return
        self.synced += syncs
        ranks = np.array([record.rank]) if record.rank != SHARED else np.arange(self.log.ranks)
        counts = deal(syncs, np.ones(len(ranks)))
        begin, end = record.time("WRITE_START_TIMESTAMP"), record.time("WRITE_END_TIMESTAMP")
        number = np.concatenate([np.arange(1, count + 1) / count for count in counts.tolist() if count])
        when = begin + number * max(end - begin, 0.0)
        nothing = np.zeros(syncs, np.int64)
        self.parts.append(Part(np.repeat(ranks, counts), file.number, SYNC, nothing, nothing, when, when))

    def _by_dxt(self, record: Record, file: File, direction: Direction, write: bool) -> Direction:
        """Takes the DXT accesses of a record; returns the rest for reconstruction."""
        left = self.segments.get(DXT.get(record.interface, ""), {})
        segments = left.get((record.id, write))
        if segments is None:
            return direction
        if record.rank != SHARED:
            begin, end = np.searchsorted(segments.rank, [record.rank, record.rank + 1])
            segments = segments.at(slice(begin, end))
        self.replayed.setdefault((record.interface, record.id), set()).add(record.rank)
        if len(segments.rank) == 0:
            return direction
        count, bytes = len(segments.rank), int(segments.bytes.sum())
        self._exact(file, write, segments)
        if count > direction.number or bytes > direction.bytes:
            what = "writes" if write else "reads"
            self.contradictions.append(
                f"{DXT[record.interface]} has {count} {what} of {bytes} B of {self._name(record.id)}, and "
                f"{record.interface} counts {direction.number} of {direction.bytes} B: those of DXT are "
                "replayed"
            )
            return Direction(0, 0, None)
        if count == direction.number:
            if bytes < direction.bytes:
                self.contradictions.append(
                    f"{DXT[record.interface]} has all accesses to {self._name(record.id)}, of {bytes} B, and "
                    f"{record.interface} counts {direction.bytes} B: those of DXT are replayed"
                )
            return Direction(0, 0, None)
        ranges = direction.ranges
        if ranges is not None:
            seen = np.bincount([range_of(size) for size in segments.bytes.tolist()], minlength=len(ranges))
            rest = tuple(int(known - known_here) for known, known_here in zip(ranges, seen, strict=True))
            ranges = rest if min(rest) >= 0 else None
        return Direction(direction.number - count, direction.bytes - bytes, ranges)

    def _exact(self, file: File, write: bool, segments: Segments) -> None:
        self.operations += len(segments.rank)
        nowhere = segments.offset < 0
        if nowhere.any():
            self.placeless += int(nowhere.sum())
            # Each rank continues at its position; the ranks follow each other in the file.
            before = np.cumsum(segments.bytes) - segments.bytes
            segments = segments._replace(offset=np.where(nowhere, before, segments.offset))
        file.exact += len(segments.rank)
        self._add(file, write, segments)

    def _add(self, file: File, write: bool, segments: Segments) -> None:
        """Notes reads or writes."""
        bytes = int(segments.bytes.sum())
        if write:
            file.writes += len(segments.rank)
            file.bytes_written += bytes
        else:
            file.reads += len(segments.rank)
            file.bytes_read += bytes
        self.parts.append(
            Part(
                segments.rank,
                file.number,
                WRITE if write else READ,
                segments.offset,
                segments.bytes,
                segments.start,
                segments.end,
            )
        )

    def _reconstruct(
        self,
        record: Record,
        file: File,
        runs: Runs,
        write: bool,
        shares: tuple[NDArray[np.int64], NDArray[np.float64]],
    ) -> None:
        """Reconstructs reads or writes of a record from its counters."""
        name, done = ("WRITE", "WRITTEN") if write else ("READ", "READ")
        found = mixed(runs)
        ranks, weight = shares
        counts = deal(len(found), weight)
        busy = counts > 0
        ranks, counts = ranks[busy], counts[busy]
        total = sum(size * count for size, count in runs)
        if record.interface == "POSIX":
            consecutive, sequential = record.count(f"CONSEC_{name}S"), record.count(f"SEQ_{name}S")
            strides = record.common("STRIDE", "STRIDE")
        else:
            # No data: streams are buffered, and collective accesses ordered.
            consecutive = sequential = len(found)
            strides = []
        extent = (
            max(record.count(f"MAX_BYTE_{done}") + 1 if record.count(f"MAX_BYTE_{done}") else 0, 0) or total
        )
        place = offsets(found, counts, consecutive, sequential, strides, extent)
        each = record.time(f"{name}_TIME") / len(found)
        begin, end = record.time(f"{name}_START_TIMESTAMP"), record.time(f"{name}_END_TIMESTAMP")
        start, stop = _between(counts, begin, end, each)
        self._add(file, write, Segments(np.repeat(ranks, counts), place, found, start, stop))

    def _joined(self) -> Accesses:
        """All parts in the order of rank, then time."""
        log, parts = self.log, self.parts
        lengths = np.array([len(part.rank) for part in parts], np.int64)

        def column(name: str, kind: Any) -> NDArray[Any]:
            values = [getattr(part, name) for part in parts]
            return np.concatenate(values).astype(kind) if values else np.empty(0, kind)

        rank, start = column("rank", np.int64), column("start", np.float64)
        kinds = np.repeat(np.array([part.kind for part in parts], np.int64), lengths)
        numbers = np.repeat(np.array([part.file for part in parts], np.int64), lengths)
        # At one time, opens precede accesses, and closes follow them.
        order = np.lexsort((np.arange(len(rank)), kinds, start, rank))
        files = sorted(self.files.values(), key=lambda file: file.number)
        return Accesses(
            ranks=log.ranks,
            rank=rank[order],
            file=numbers[order],
            kind=kinds[order],
            offset=column("offset", np.int64)[order],
            bytes=column("bytes", np.int64)[order],
            start_s=start[order],
            end_s=np.maximum(start, column("end", np.float64))[order],
            files=files,
            unknown=self._unknown(files),
            contradictions=self.contradictions,
        )

    def _unknown(self, files: list[File]) -> list[str]:
        """Facts that no number of the log determines."""
        log = self.log
        notes = []
        moved = sum(file.reads + file.writes for file in files)
        if self.guessed:
            notes.append(
                f"order, offsets and times of {self.guessed} of {moved} reads and writes: from counters, "
                "evenly spread between the first and the last"
            )
        if self.shared and self.guessed:
            notes.append(
                f"the ranks of {self.shared} records summed over all ranks: the fastest and the "
                "slowest rank have their recorded bytes, the others fit the variance"
            )
        elif self.shared:
            notes.append(
                f"which ranks opened files how often, of {self.shared} records summed over all ranks"
            )
        if self.placeless:
            notes.append(
                f"offsets of {self.placeless} accesses of DXT by MPI's file pointers or views: consecutive"
            )
        if any("STDIO" in file.interfaces for file in files):
            notes.append("sizes and offsets of accesses through streams (STDIO): equal and consecutive")
        if moved:
            notes.append("waits of ranks between accesses, such as messages: replayed as computation")
        without = {
            "SEEKS": "seeks",
            "STATS": "stats",
            "FLUSHES": "flushes",
            "MMAPS": "mmaps",
        }
        for name, text in without.items():
            count = sum(record.count(name) for record in self.records)
            if count:
                notes.append(f"{count} {text}: not replayed, because programs have no such operation")
        if self.synced:
            notes.append(
                f"when {self.synced} syncs (fsync, fdatasync, MPI_File_sync) were: evenly spread between the "
                "first write and the end of the last one"
            )
        if self.doubled:
            notes.append(f"{self.doubled} records of the same files by MPI-IO or DFS are passed over")
        rest = [name for name in log.modules if name not in (*INTERFACES, *DXT.values(), "LUSTRE", "HEATMAP")]
        if rest:
            notes.append(
                f"modules {', '.join(rest)}: not replayed; accesses of HDF5 and PnetCDF, and to objects "
                "under DFS, are in those of the files"
            )
        partial = log.partial
        if partial:
            notes.append(
                f"files and accesses that Darshan had no room for: module {', '.join(partial)} is partial"
            )
        return notes


def _between(
    counts: NDArray[np.int64], begin: float, end: float, each: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Begins and ends of the accesses of some ranks, spread evenly over their common duration."""
    window = max(end - begin, 0.0)
    longest = int(counts.max()) if len(counts) else 0
    each = min(each, window / longest) if longest else 0.0
    total = int(counts.sum())
    steps = np.divide(window - each, counts - 1, out=np.zeros(len(counts)), where=counts > 1)
    number = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    start = begin + number * np.repeat(steps, counts)
    return start, start + each
