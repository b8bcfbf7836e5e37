"""Writes traces in the DUMPI format, with the results that a reader must find.

The format is that of `libdumpi` of the SST project; docs/traces.md describes how Odonata uses it. Everything
is big-endian. A rank's file has a magic number, records, header, footer, sizes of datatypes, and index. The
writer counts the content itself, in the words of the dumper of `libdumpi`, independently of Odonata's reader.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from struct import pack
from typing import Any

MAGIC, FOOTER = 0xFFAADD44554D5049, 0xF007FEE7
END_OF_STREAM, CALLS = 293, 290

#: Handles: communicators, a group, datatypes, operations.
NULL, WORLD, SELF = 1, 2, 3
CHAR, INT, DOUBLE, FIRST_TYPE = 2, 9, 14, 28
SUM = 3
#: Sources and tags.
ANY, NOBODY = -1, -2
#: Sizes of the predefined datatypes, in bytes; 0: never used.
SIZES = [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 0, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20]

#: A status: bytes, source, tag, whether the message was canceled.
Status = tuple[int, int, int, bool]

#: Label and arguments of the written calls. h, i, q: integers of 16, 32, 64 bits; B: of 8; I: a list of i; s:
#: text; S: a list of texts; t: statuses; ?: only at the root.
LAYOUT: dict[str, tuple[int, str]] = {
    "MPI_Send": (0, "count:i type:h dest:i tag:i comm:h"),
    "MPI_Recv": (1, "count:i type:h source:i tag:i comm:h status:t"),
    "MPI_Ssend": (4, "count:i type:h dest:i tag:i comm:h"),
    "MPI_Isend": (8, "count:i type:h dest:i tag:i comm:h req:i"),
    "MPI_Irecv": (12, "count:i type:h source:i tag:i comm:h req:i"),
    "MPI_Wait": (13, "req:i status:t"),
    "MPI_Test": (14, "req:i flag:i status:t"),
    "MPI_Request_free": (15, "req:i"),
    "MPI_Waitany": (16, "count:i reqs:I index:i status:t"),
    "MPI_Waitall": (18, "count:i reqs:I status:t"),
    "MPI_Waitsome": (20, "count:i reqs:I outcount:i indices:I status:t"),
    "MPI_Iprobe": (22, "source:i tag:i comm:h flag:i status:t"),
    "MPI_Probe": (23, "source:i tag:i comm:h status:t"),
    "MPI_Send_init": (26, "count:i type:h dest:i tag:i comm:h req:i"),
    "MPI_Recv_init": (30, "count:i type:h source:i tag:i comm:h req:i"),
    "MPI_Start": (31, "req:i"),
    "MPI_Startall": (32, "count:i reqs:I"),
    "MPI_Sendrecv": (
        33,
        "count:i type:h dest:i tag:i rcount:i rtype:h source:i rtag:i comm:h status:t",
    ),
    "MPI_Type_contiguous": (35, "count:i old:h new:h"),
    "MPI_Type_commit": (46, "type:h"),
    "MPI_Barrier": (52, "comm:h"),
    "MPI_Bcast": (53, "count:i type:h root:i comm:h"),
    "MPI_Gather": (54, "rank:i scount:i stype:h root:i comm:h ?rcount:i ?rtype:h"),
    "MPI_Gatherv": (
        55,
        "rank:i commsize:i scount:i stype:h root:i comm:h ?rcounts:I ?displs:I rtype:h",
    ),
    "MPI_Scatter": (56, "rank:i rcount:i rtype:h root:i comm:h ?scount:i ?stype:h"),
    "MPI_Scatterv": (
        57,
        "rank:i commsize:i stype:h rcount:i rtype:h root:i comm:h ?scounts:I ?displs:I",
    ),
    "MPI_Allgather": (58, "count:i type:h rcount:i rtype:h comm:h"),
    "MPI_Allgatherv": (59, "commsize:i count:i type:h rcounts:I displs:I rtype:h comm:h"),
    "MPI_Alltoall": (60, "count:i type:h rcount:i rtype:h comm:h"),
    "MPI_Alltoallv": (
        61,
        "commsize:i counts:I sdispls:I type:h rcounts:I rdispls:I rtype:h comm:h",
    ),
    "MPI_Reduce": (62, "count:i type:h op:B root:i comm:h"),
    "MPI_Allreduce": (65, "count:i type:h op:B comm:h"),
    "MPI_Reduce_scatter": (66, "commsize:i rcounts:I type:h op:B comm:h"),
    "MPI_Scan": (67, "count:i type:h op:B comm:h"),
    "MPI_Comm_group": (72, "comm:h group:h"),
    "MPI_Group_incl": (76, "group:h count:i ranks:I new:h"),
    "MPI_Group_free": (80, "group:h"),
    "MPI_Comm_size": (81, "comm:h v:i"),
    "MPI_Comm_rank": (82, "comm:h v:i"),
    "MPI_Comm_dup": (84, "comm:h new:h"),
    "MPI_Comm_create": (85, "comm:h group:h new:h"),
    "MPI_Comm_split": (86, "comm:h color:i key:i new:h"),
    "MPI_Comm_free": (87, "comm:h"),
    "MPI_Intercomm_create": (91, "local:h lleader:i remote:h rleader:i tag:i new:h"),
    "MPI_Intercomm_merge": (92, "comm:h high:i new:h"),
    "MPI_Cart_create": (99, "comm:h ndim:i dims:I periods:I reorder:i new:h"),
    "MPI_Cart_sub": (111, "ndim:i comm:h remain:I new:h"),
    "MPI_Wtime": (122, ""),
    "MPI_Init": (124, "argv:S"),
    "MPI_Finalize": (125, ""),
    "MPI_Exscan": (156, "count:i type:h op:B comm:h"),
    "MPI_Init_thread": (171, "argv:S required:B provided:B"),
    "MPI_File_open": (230, "comm:h name:s amode:B info:h file:h"),
    "MPI_File_close": (231, "file:h"),
    "MPI_File_set_view": (240, "file:h off:q et:h ft:h rep:s info:h"),
    "MPI_File_read_at": (242, "file:h off:q count:i type:h status:t"),
    "MPI_File_read_at_all": (243, "file:h off:q count:i type:h status:t"),
    "MPI_File_write_at": (244, "file:h off:q count:i type:h status:t"),
    "MPI_File_write_at_all": (245, "file:h off:q count:i type:h status:t"),
    "MPI_File_iread_at": (246, "file:h off:q count:i type:h req:i"),
    "MPI_File_iwrite_at": (247, "file:h off:q count:i type:h req:i"),
    "MPI_File_read": (248, "file:h count:i type:h status:t"),
    "MPI_File_write": (250, "file:h count:i type:h status:t"),
    "MPI_File_seek": (254, "file:h off:q whence:B"),
    "MPI_File_write_ordered": (262, "file:h count:i type:h status:t"),
    "MPI_File_read_at_all_begin": (265, "file:h off:q count:i type:h"),
    "MPI_File_read_at_all_end": (266, "file:h status:t"),
    "MPI_File_sync": (281, "file:h"),
}

#: Calls that send a message immediately, and those that post a receive.
SENDS = {"MPI_Send", "MPI_Ssend", "MPI_Isend", "MPI_Sendrecv"}
RECEIVES = {"MPI_Recv", "MPI_Irecv", "MPI_Sendrecv"}
#: Calls that move data of a file.
FILE_ACCESS = {name for name, (_, layout) in LAYOUT.items() if "file:h" in layout and "count:i" in layout}


class Rank:
    """The file of one rank while it is written, and its content."""

    #: Start of the clock, in s.
    BASE_S = 1_000

    def __init__(self, rank: int, version: tuple[int, int, int] = (13, 0, 0)) -> None:
        self.rank = rank
        self.version = version
        self.sizes = list(SIZES)
        #: Start of the next call, in ns since the base, for each thread.
        self.now = Counter[int]()
        #: Whether records have the number of the thread.
        self.threaded = False
        self.body = pack(">ii", self.BASE_S, self.BASE_S)
        #: Name, arguments, thread, start and stop of each call.
        self.calls: list[tuple[str, dict[str, Any], int, int, int]] = []

    def compute(self, ns: int, thread: int = 0) -> None:
        """Adds time outside of calls."""
        self.now[thread] += ns

    def call(self, name: str, /, *, thread: int = 0, takes: int = 800, **arguments: Any) -> None:
        """Adds a call of `takes` ns. Handles of new objects are arguments, too, as in the format."""
        label, layout = LAYOUT[name]
        start = self.now[thread] + 60
        stop = self.now[thread] = start + takes
        data = pack(">HB", label, 0x08 | 0x03 | (0x40 if self.threaded else 0))
        data += pack(">H", thread) if self.threaded else b""
        for instant in (start, stop):
            data += pack(">HI", *divmod(instant, 10**9))
        root = arguments.get("rank") == arguments.get("root")
        written = set()
        for field in layout.split():
            key, _, kind = field.removeprefix("?").partition(":")
            if field.startswith("?") and not root:
                continue
            data += self._value(kind, arguments[key])
            written.add(key)
        assert written == set(arguments), f"{name}: {set(arguments) - written} has no place in it"
        self.body += data
        self.calls.append((name, arguments, thread, start, stop))

    def _value(self, kind: str, value: Any) -> bytes:
        if kind in "hiqB":
            return pack(f">{kind}", value)
        if kind == "I":
            return pack(f">i{len(value)}i", len(value), *value)
        if kind == "s":
            return pack(">i", len(value)) + value.encode()
        if kind == "S":
            return pack(">i", len(value)) + b"".join(self._value("s", text) for text in value)
        data = pack(">i", len(value))
        for count, source, tag, cancelled in value:
            data += pack(">iiBB", count, source, cancelled, 0)
            data += pack(">i", tag) if self.version >= (0, 6, 3) else b""
        return data

    def bytes(self) -> bytes:
        """The whole file."""
        counts = [0] * CALLS
        for name, *_ in self.calls:
            counts[LAYOUT[name][0]] += 1
        data = pack(">Q", MAGIC) + self.body + pack(">H", END_OF_STREAM)
        header = len(data)
        data += pack(">BBB", *self.version) + pack(">QH4sH4s", 0, 4, b"host", 4, b"user")
        # Coordinates in the machine's mesh, and its size: none.
        data += pack(">ii", 0, 0)
        footer = len(data)
        data += pack(">Q291I291I", FOOTER, *counts, sum(counts), *[0] * (CALLS + 1))
        sizes = len(data)
        data += self._value("I", self.sizes)
        return data + pack(">8Q", MAGIC, sizes, 0, 0, header, 8, footer, 0)

    def truth(self, file: str) -> dict[str, Any]:
        """The results that a reader must find."""
        counts = dict(Counter(name for name, *_ in self.calls))
        base = self.BASE_S * 10**9
        return {
            "file": file,
            "file_bytes": len(self.bytes()),
            "records": len(self.calls),
            "op_counts": counts,
            "footer_calls": counts,
            "footer_ignored": {},
            "first_op": self.calls[0][0],
            "last_op": self.calls[-1][0],
            "wall_first_enter_ns": base + self.calls[0][3],
            "wall_last_return_ns": base + self.calls[-1][4],
            "sum_in_mpi_ns": sum(stop - start for *_, start, stop in self.calls),
            "threads": sorted({thread for _, _, thread, _, _ in self.calls}),
            "sends": self._sends(),
            "recvs_posted": self._receives(),
            "persistent_starts": self._starts(),
            "collectives": self._collectives(),
            "mpiio": self._file_access(),
            "datatype_sizes": self.sizes,
            "rank": self.rank,
        }

    def _bytes(self, count: int, datatype: int) -> int:
        return count * self.sizes[datatype]

    def _sends(self) -> dict[str, Any]:
        sent = [
            (call["dest"], call["comm"], self._bytes(call["count"], call["type"]))
            for name, call, *_ in self.calls
            if name in SENDS
        ]
        pairs = sorted({(dest, comm) for dest, comm, _ in sent})
        sizes = {pair: [size for dest, comm, size in sent if (dest, comm) == pair] for pair in pairs}
        bits = Counter(size.bit_length() for _, _, size in sent)
        return {
            "count": len(sent),
            "bytes": sum(size for _, _, size in sent),
            "by_dest_comm": [[*pair, len(sizes[pair]), sum(sizes[pair])] for pair in pairs],
            "size_hist_bitlen": {str(length): count for length, count in sorted(bits.items())},
        }

    def _receives(self) -> dict[str, int]:
        posted = [call for name, call, *_ in self.calls if name in RECEIVES]
        rooms = [
            self._bytes(call.get("rcount", call["count"]), call.get("rtype", call["type"])) for call in posted
        ]
        anybody = sum(call["source"] == ANY for call in posted)
        return {"count": len(posted), "max_bytes": sum(rooms), "any_source": anybody}

    def _starts(self) -> dict[str, int]:
        made: dict[int, tuple[str, int]] = {}
        starts = Counter[str]()
        for name, call, *_ in self.calls:
            if name in ("MPI_Send_init", "MPI_Recv_init"):
                made[call["req"]] = (name[4:8].lower(), self._bytes(call["count"], call["type"]))
            started = [call["req"]] if name == "MPI_Start" else call["reqs"] if name == "MPI_Startall" else []
            for request in started:
                way, size = made[request]
                starts[way] += 1
                starts[f"{way}_bytes"] += size
        keys = ("recv", "recv_bytes", "send", "send_bytes")
        return {key: starts[key] for key in keys} if starts else {}

    def _collectives(self) -> dict[str, dict[str, int | None]]:
        seen: dict[str, list[int | None]] = {}
        for name, call, *_ in self.calls:
            given = self._given(name, call)
            if given is not False:
                seen.setdefault(name, []).append(given)
        return {
            name: {
                "count": len(given),
                "send_bytes": None if None in given else sum(size for size in given if size),
            }
            for name, given in seen.items()
        }

    def _given(self, name: str, call: dict[str, Any]) -> int | bool | None:
        """The contribution of the rank to a collective; None: there is no data; False: it is no
        collective.
        """
        if name == "MPI_Barrier":
            return None
        if name in ("MPI_Gather", "MPI_Gatherv"):
            return self._bytes(call["scount"], call["stype"])
        if name in ("MPI_Scatter", "MPI_Scatterv"):
            if call["rank"] != call["root"]:
                return 0
            return sum(self._bytes(one, call["stype"]) for one in call.get("scounts", [call.get("scount")]))
        if name == "MPI_Alltoallv":
            return sum(self._bytes(one, call["type"]) for one in call["counts"])
        if name == "MPI_Reduce_scatter":
            return sum(self._bytes(one, call["type"]) for one in call["rcounts"])
        plain = {"Bcast", "Reduce", "Allreduce", "Scan", "Exscan", "Allgather", "Allgatherv", "Alltoall"}
        return self._bytes(call["count"], call["type"]) if name[4:] in plain else False

    def _file_access(self) -> dict[str, dict[str, int]]:
        seen: dict[str, list[int]] = {}
        for name, call, *_ in self.calls:
            if name in FILE_ACCESS:
                seen.setdefault(name, []).append(self._bytes(call["count"], call["type"]))
        return {name: {"count": len(sizes), "bytes": sum(sizes)} for name, sizes in seen.items()}


def write(folder: Path, ranks: Sequence[Rank]) -> None:
    """Writes a trace, and `ground-truth.json` beside it."""
    folder.mkdir(parents=True)
    name = folder.name
    meta = {
        "hostname": "host",
        "numprocs": str(len(ranks)),
        "username": "user",
        "startime": "0",
        "fileprefix": name,
        **dict(zip(("version", "subversion", "subsubversion"), map(str, ranks[0].version), strict=True)),
    }
    (folder / f"{name}.meta").write_text("".join(f"{key}={value}\n" for key, value in meta.items()))
    truths = []
    for rank in ranks:
        file = f"{name}-{rank.rank:04}.bin"
        (folder / file).write_bytes(rank.bytes())
        truths.append(rank.truth(file))

    def sums(key: str) -> dict[str, int]:
        total = Counter[str]()
        for truth in truths:
            for call, value in truth[key].items():
                total[call] += value["count"] if isinstance(value, dict) else value
        return dict(sorted(total.items()))

    first = [truth["wall_first_enter_ns"] for truth in truths]
    last = [truth["wall_last_return_ns"] for truth in truths]
    truth = {
        "name": name,
        "nranks": len(ranks),
        "meta": meta,
        "total_records": sum(truth["records"] for truth in truths),
        "total_op_counts": sums("op_counts"),
        "total_sends": sum(truth["sends"]["count"] for truth in truths),
        "total_send_bytes": sum(truth["sends"]["bytes"] for truth in truths),
        "total_recvs_posted": sum(truth["recvs_posted"]["count"] for truth in truths),
        "total_persistent_starts": sum(
            truth["persistent_starts"].get(way, 0) for truth in truths for way in ("recv", "send")
        ),
        "total_collective_calls": sums("collectives"),
        "wall_span_ns": max(last) - min(first),
        "max_rank_span_ns": max(end - begin for begin, end in zip(first, last, strict=True)),
        "ranks": truths,
    }
    (folder / "ground-truth.json").write_text(json.dumps(truth, separators=(",", ":")) + "\n")
