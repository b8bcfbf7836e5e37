"""Operations of a rank, and programs in files.

A rank program is a generator function that yields operations:

>>> from odonata.operations import compute, recv, send
>>> def ring(rank, ranks, *, rounds=3, size=4096):
...     for _ in range(rounds):
...         yield compute(1e-6)
...         if rank % 2 == 0:
...             yield send((rank + 1) % ranks, size)
...             yield recv((rank - 1) % ranks, size)
...         else:
...             yield recv((rank - 1) % ranks, size)
...             yield send((rank + 1) % ranks, size)

It runs as a job (`python = ring`, see docs/programs.md), or is written to files:

>>> import tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> write(f"{folder.name}/ring.program", ring, 8, args={"rounds": 2})
(8, 48)
>>> program = read(f"{folder.name}/ring.program")
>>> program.description["ranks"], program.operations.num_rows
(8, 48)
>>> [(row["kind"], row["peer"]) for row in program.rank(3)][:3]
[('compute', None), ('recv', 2), ('send', 4)]
>>> folder.cleanup()

Sizes are in bytes and times in seconds. Peers and roots are ranks of the communicator `comm`; communicator 0
holds all ranks of the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.analysis import parquet
from odonata.analysis.measured import file_of
from odonata.base.folder import ResultFolder
from odonata.errors import InputError, input_errors
from odonata.programs.rank_programs import Operation, RankFunction, communicators, register

if TYPE_CHECKING:
    import pyarrow as pa

#: The file that makes a folder a program in files.
PROGRAM_FILE = "program.json"

__all__ = [
    "ANY",
    "DETACHED",
    "NOBODY",
    "Operation",
    "Program",
    "accumulate",
    "allgather",
    "allgatherv",
    "allreduce",
    "alltoall",
    "alltoallv",
    "barrier",
    "broadcast",
    "close_file",
    "comm_create",
    "comm_dup",
    "comm_free",
    "comm_split",
    "communicators",
    "compute",
    "create_file",
    "exscan",
    "gather",
    "gatherv",
    "get",
    "get_accumulate",
    "iprobe",
    "irecv",
    "isend",
    "issend",
    "make_directory",
    "mark",
    "open_file",
    "probe",
    "put",
    "read",
    "read_file",
    "recv",
    "recv_init",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "remove_directory",
    "request_free",
    "scan",
    "scatter",
    "scatterv",
    "send",
    "send_init",
    "sendrecv",
    "ssend",
    "start",
    "start_all",
    "stat_file",
    "sync_file",
    "test",
    "unlink_file",
    "wait",
    "wait_all",
    "wait_any",
    "wait_some",
    "win_complete",
    "win_fence",
    "win_flush",
    "win_lock",
    "win_post",
    "win_start",
    "win_unlock",
    "win_wait",
    "write",
    "write_file",
]

#: Any source, or any tag, of a receive.
ANY = -1
#: The peer of a message that is not sent (`MPI_PROC_NULL`).
NOBODY = -2
#: The request of an operation that the program does not wait for.
DETACHED = -1

PS = 1e12


def compute(seconds: float) -> Operation:
    """Computes for this many seconds."""
    return Operation("compute", {"duration_ps": round(seconds * PS)})


def _message(kind: str, to: int, bytes: int, tag: int, comm: int, **more: int) -> Operation:
    return Operation(kind, {"peer": to, "bytes": bytes, "tag": tag, "comm": comm, **more})


def send(to: int, bytes: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Send`."""
    return _message("send", to, bytes, tag, comm)


def ssend(to: int, bytes: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Ssend`."""
    return _message("ssend", to, bytes, tag, comm)


def recv(source: int, bytes: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Recv` with a buffer of this many bytes; `source` and `tag` may be `ANY`."""
    return _message("recv", source, bytes, tag, comm)


def isend(to: int, bytes: int, request: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Isend`; wait for it by its request, a number that the program chooses."""
    return _message("isend", to, bytes, tag, comm, request=request)


def issend(to: int, bytes: int, request: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Issend`."""
    return _message("issend", to, bytes, tag, comm, request=request)


def irecv(source: int, bytes: int, request: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Irecv`."""
    return _message("irecv", source, bytes, tag, comm, request=request)


def sendrecv(
    to: int,
    bytes: int,
    source: int,
    recv_bytes: int | None = None,
    tag: int = 0,
    recv_tag: int | None = None,
    comm: int = 0,
) -> Operation:
    """`MPI_Sendrecv`; size and tag of the receive default to those of the send."""
    receive = {
        "recv_peer": source,
        "recv_bytes": bytes if recv_bytes is None else recv_bytes,
        "recv_tag": tag if recv_tag is None else recv_tag,
    }
    return _message("sendrecv", to, bytes, tag, comm, **receive)


def probe(source: int = ANY, tag: int = ANY, comm: int = 0) -> Operation:
    """`MPI_Probe`."""
    return Operation("probe", {"peer": source, "tag": tag, "comm": comm})


def iprobe(source: int = ANY, tag: int = ANY, comm: int = 0) -> Operation:
    """`MPI_Iprobe`."""
    return Operation("iprobe", {"peer": source, "tag": tag, "comm": comm})


def send_init(to: int, bytes: int, request: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Send_init`."""
    return _message("send_init", to, bytes, tag, comm, request=request)


def recv_init(source: int, bytes: int, request: int, tag: int = 0, comm: int = 0) -> Operation:
    """`MPI_Recv_init`."""
    return _message("recv_init", source, bytes, tag, comm, request=request)


def start(request: int) -> Operation:
    """`MPI_Start`."""
    return Operation("start", {"request": request})


def request_free(request: int) -> Operation:
    """`MPI_Request_free`."""
    return Operation("request_free", {"request": request})


def wait(request: int) -> Operation:
    """`MPI_Wait`."""
    return Operation("wait", {"request": request})


def test(request: int) -> Operation:
    """`MPI_Test`: completes the request if possible; the program does not learn the result."""
    return Operation("test", {"request": request})


def _requests(kind: str, first: int, count: int) -> Operation:
    return Operation(kind, {"request": first, "count": count})


def start_all(first: int, count: int) -> Operation:
    """`MPI_Startall` on the requests `first` to `first + count - 1`."""
    return _requests("start_all", first, count)


def wait_all(first: int, count: int) -> Operation:
    """`MPI_Waitall`."""
    return _requests("wait_all", first, count)


def wait_any(first: int, count: int) -> Operation:
    """`MPI_Waitany`."""
    return _requests("wait_any", first, count)


def wait_some(first: int, count: int) -> Operation:
    """`MPI_Waitsome`."""
    return _requests("wait_some", first, count)


def _collective(kind: str, request: int | None, comm: int, /, **numbers: int) -> Operation:
    if request is None:
        return Operation(kind, {"comm": comm, **numbers})
    return Operation(f"i{kind}", {"comm": comm, "request": request, **numbers})


def barrier(comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Barrier`; with a request, `MPI_Ibarrier`, and likewise for all collectives."""
    return _collective("barrier", request, comm)


def broadcast(root: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Bcast`."""
    return _collective("broadcast", request, comm, root=root, bytes=bytes)


def _elements(bytes: int, count: int | None) -> int:
    # By default, elements of 8 bytes, at least one.
    return max(1, bytes // 8) if count is None else count


def allreduce(bytes: int, count: int | None = None, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Allreduce` of a vector of this many bytes with `count` elements (default: of 8 bytes)."""
    return _collective("allreduce", request, comm, bytes=bytes, count=_elements(bytes, count))


def reduce(
    root: int, bytes: int, count: int | None = None, comm: int = 0, request: int | None = None
) -> Operation:
    """`MPI_Reduce`."""
    return _collective("reduce", request, comm, root=root, bytes=bytes, count=_elements(bytes, count))


def reduce_scatter_block(
    bytes: int, count: int | None = None, comm: int = 0, request: int | None = None
) -> Operation:
    """`MPI_Reduce_scatter_block`; `bytes` is the share of each rank."""
    return _collective("reduce_scatter_block", request, comm, bytes=bytes, count=_elements(bytes, count))


def scan(bytes: int, count: int | None = None, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Scan`."""
    return _collective("scan", request, comm, bytes=bytes, count=_elements(bytes, count))


def exscan(bytes: int, count: int | None = None, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Exscan`."""
    return _collective("exscan", request, comm, bytes=bytes, count=_elements(bytes, count))


def gather(root: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Gather` of this many bytes from each rank."""
    return _collective("gather", request, comm, root=root, bytes=bytes)


def scatter(root: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Scatter` of this many bytes to each rank."""
    return _collective("scatter", request, comm, root=root, bytes=bytes)


def allgather(bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Allgather` of this many bytes from each rank."""
    return _collective("allgather", request, comm, bytes=bytes)


def alltoall(bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Alltoall` of this many bytes from each rank to each."""
    return _collective("alltoall", request, comm, bytes=bytes)


def gatherv(root: int, sizes: Sequence[int], comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Gatherv`: at the root the sizes of all ranks, at other ranks a list with their own size."""
    return _collective("gatherv", request, comm, root=root).with_lists(by_giver=sizes)


def scatterv(root: int, sizes: Sequence[int], comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Scatterv`: at the root the sizes for all ranks, at other ranks a list with their own size."""
    return _collective("scatterv", request, comm, root=root).with_lists(by_taker=sizes)


def allgatherv(sizes: Sequence[int], comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Allgatherv` with the sizes of all ranks."""
    return _collective("allgatherv", request, comm).with_lists(by_giver=sizes)


def reduce_scatter(sizes: Sequence[int], comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Reduce_scatter` with the shares of all ranks."""
    return _collective("reduce_scatter", request, comm).with_lists(by_taker=sizes)


def alltoallv(
    sends: Sequence[int], receives: Sequence[int], comm: int = 0, request: int | None = None
) -> Operation:
    """`MPI_Alltoallv`: the sizes that the rank sends to each rank, and those that it receives from each."""
    return _collective("alltoallv", request, comm).with_lists(by_giver=receives, by_taker=sends)


def comm_dup(new: int, comm: int = 0) -> Operation:
    """`MPI_Comm_dup`: makes communicator `new`, whose members `communicators` lists."""
    return Operation("comm_dup", {"comm": comm, "new_comm": new})


def comm_split(new: int, comm: int = 0) -> Operation:
    """`MPI_Comm_split`."""
    return Operation("comm_split", {"comm": comm, "new_comm": new})


def comm_create(new: int, comm: int = 0) -> Operation:
    """`MPI_Comm_create`."""
    return Operation("comm_create", {"comm": comm, "new_comm": new})


def comm_free(comm: int) -> Operation:
    """`MPI_Comm_free`."""
    return Operation("comm_free", {"comm": comm})


def _one_sided(kind: str, target: int, bytes: int, comm: int, request: int | None) -> Operation:
    numbers = {"peer": target, "bytes": bytes, "comm": comm}
    if request is None:
        return Operation(kind, numbers)
    return Operation(f"r{kind}", {**numbers, "request": request})


def put(to: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Put`: writes to the memory of rank `to`; with `request`, `MPI_Rput`.

    The ranks of communicator `comm` have one window; another window is that of a duplicated communicator. An
    access is complete when `win_flush`, `win_fence`, `win_unlock` or `win_complete` returns, or a wait for
    its `request`. The interface of the target serves it without the target's processor.

    >>> from odonata.operations import put, win_flush
    >>> def flood(rank, ranks, *, rounds=100):
    ...     for _ in range(rounds if rank > 0 else 0):
    ...         yield put(0, 4096)
    ...         yield win_flush(0)
    """
    return _one_sided("put", to, bytes, comm, request)


def get(source: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Get`: reads from the memory of rank `source`; with `request`, `MPI_Rget`."""
    return _one_sided("get", source, bytes, comm, request)


def accumulate(to: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Accumulate`, `MPI_Raccumulate`. The interface of the target combines 8 bytes, its library more."""
    return _one_sided("accumulate", to, bytes, comm, request)


def get_accumulate(to: int, bytes: int, comm: int = 0, request: int | None = None) -> Operation:
    """`MPI_Get_accumulate`, `MPI_Rget_accumulate`, `MPI_Fetch_and_op` or `MPI_Compare_and_swap`."""
    return _one_sided("get_accumulate", to, bytes, comm, request)


def win_flush(to: int = ANY, comm: int = 0) -> Operation:
    """`MPI_Win_flush`; by default `MPI_Win_flush_all`. No call opens the epoch of `MPI_Win_lock_all`."""
    return Operation("win_flush", {"peer": to, "comm": comm})


def win_fence(comm: int = 0) -> Operation:
    """`MPI_Win_fence`."""
    return Operation("win_fence", {"comm": comm})


def win_lock(to: int, comm: int = 0, *, shared: bool = False) -> Operation:
    """`MPI_Win_lock`, exclusive or shared."""
    return Operation("win_lock_shared" if shared else "win_lock", {"peer": to, "comm": comm})


def win_unlock(to: int, comm: int = 0) -> Operation:
    """`MPI_Win_unlock`."""
    return Operation("win_unlock", {"peer": to, "comm": comm})


def win_post(group: int = 0, comm: int = 0) -> Operation:
    """`MPI_Win_post`: exposes the memory of the rank to the other members of communicator `group`."""
    return Operation("win_post", {"new_comm": group, "comm": comm})


def win_start(group: int = 0, comm: int = 0) -> Operation:
    """`MPI_Win_start`: waits until the other members of communicator `group` have posted."""
    return Operation("win_start", {"new_comm": group, "comm": comm})


def win_complete(group: int = 0, comm: int = 0) -> Operation:
    """`MPI_Win_complete`: ends the accesses to the group."""
    return Operation("win_complete", {"new_comm": group, "comm": comm})


def win_wait(group: int = 0, comm: int = 0) -> Operation:
    """`MPI_Win_wait`: waits until the group has completed its accesses."""
    return Operation("win_wait", {"new_comm": group, "comm": comm})


def _metadata(kind: str, file: int, directory: int | None) -> Operation:
    return Operation(kind, {"file": file} if directory is None else {"file": file, "directory": directory})


def open_file(file: int, directory: int | None = None) -> Operation:
    """Opens a file. A number names the same file of the job's directory in all ranks.

    Jobs with the same `io.directory` share their files; otherwise each job has its own. `directory` is a
    subdirectory, by a number that the program chooses. Only metadata servers (`storage.metadata`) use it.
    Without them, opening, creating, looking up and removing take no time.
    """
    return _metadata("open", file, directory)


def create_file(file: int, directory: int | None = None) -> Operation:
    """Creates and opens a file (`open` with `O_CREAT`)."""
    return _metadata("create", file, directory)


def stat_file(file: int, directory: int | None = None) -> Operation:
    """Looks up the attributes of a file or directory (`stat`)."""
    return _metadata("stat", file, directory)


def sync_file(file: int, directory: int | None = None) -> Operation:
    """Synchronizes a file (`fsync`): waits as `close_file` does, then for the metadata server."""
    return _metadata("sync", file, directory)


def unlink_file(file: int, directory: int | None = None) -> Operation:
    """Removes a file (`unlink`)."""
    return _metadata("unlink", file, directory)


def make_directory(file: int, directory: int | None = None) -> Operation:
    """Makes a directory (`mkdir`), which is entry `file` of `directory`."""
    return _metadata("mkdir", file, directory)


def remove_directory(file: int, directory: int | None = None) -> Operation:
    """Removes a directory (`rmdir`)."""
    return _metadata("rmdir", file, directory)


def close_file(file: int, directory: int | None = None) -> Operation:
    """Closes a file; with write-behind, waits until all data that the rank has written is acknowledged."""
    return _metadata("close", file, directory)


def _access(kind: str, file: int, offset: int, bytes: int, request: int | None) -> Operation:
    numbers = {"file": file, "offset": offset, "bytes": bytes}
    if request is None:
        return Operation(kind, numbers)
    return Operation(f"i{kind}", {**numbers, "request": request})


def read_file(file: int, offset: int, bytes: int, request: int | None = None) -> Operation:
    """Reads from a file; with a request, returns immediately."""
    return _access("read", file, offset, bytes, request)


def write_file(file: int, offset: int, bytes: int, request: int | None = None) -> Operation:
    """Writes to a file; with a request, returns immediately."""
    return _access("write", file, offset, bytes, request)


def mark(iteration: int) -> Operation:
    """Marks the end of iteration `iteration` for the table of iterations; takes no time."""
    return Operation("mark", {"iteration": iteration})


@dataclass(frozen=True)
class Program:
    """A program in files, as returned by `read`."""

    #: The folder.
    path: Path
    #: The content of program.json.
    description: dict[str, Any]
    _open: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def _table(self, name: str) -> pa.Table:
        if name not in self._open:
            self._open[name] = parquet.read(file_of(self.path, name))
        return self._open[name]

    @property
    def operations(self) -> pa.Table:
        """All operations by rank, then operation; the whole table is loaded into memory."""
        return self._table("operations")

    @property
    def communicators(self) -> pa.Table:
        """The members of each communicator."""
        return self._table("communicators")

    @property
    def counts(self) -> pa.Table:
        """Sizes that differ from rank to rank."""
        return self._table("counts")

    def rank(self, rank: int) -> Iterator[dict[str, Any]]:
        """The operations of a rank, one by one; one part of the file is in memory at a time."""
        import pyarrow.parquet as pq

        with pq.ParquetFile(self.path / "operations.parquet") as file:
            column = file.schema_arrow.get_field_index("rank")
            for group in range(file.num_row_groups):
                found = None
                if column == 0:
                    found = file.metadata.row_group(group).column(0).statistics
                if found is not None and found.has_min_max and not found.min <= rank <= found.max:
                    continue
                for batch in file.iter_batches(row_groups=[group]):
                    for row in batch.to_pylist():
                        if row["rank"] == rank:
                            yield row


def read(path: str | os.PathLike[str]) -> Program:
    """Opens a program in files; raises `InputError` if there is none or its content is invalid."""
    folder = Path(path)
    if not (folder / PROGRAM_FILE).is_file():
        raise InputError(
            "not a program in files", file=str(folder), expected="a folder that holds program.json"
        )
    with input_errors():
        _core.trace_info(folder)
    return Program(folder, json.loads((folder / PROGRAM_FILE).read_text(encoding="utf-8")))


def write(
    path: str | os.PathLike[str],
    program: RankFunction,
    ranks: int,
    *,
    args: Mapping[str, Any] | None = None,
    description: str = "",
    force: bool = False,
    progress: Callable[[int, int, int], None] | None = None,
) -> tuple[int, int]:
    """Writes the operations of all ranks to the folder `path`; returns the numbers of ranks and operations.

    The program is read back before it appears, so that it is complete and valid, or absent.

    Args:
        path: The folder to write, `NAME.program` by convention.
        program: A generator function of rank and number of ranks.
        ranks: Number of ranks.
        args: Further arguments of the function.
        description: One line for people.
        force: Replace an existing program.
        progress: Called now and then with complete ranks, all ranks, and operations.

    Raises:
        InputError: A generator yields or names an invalid value or raises an exception, or `path` exists.
        OSError: The computer fails, as with a full disk; nothing is left then.
    """
    if not 1 <= ranks <= 1 << 24:
        raise InputError("no such number of ranks", key="ranks", value=str(ranks), expected="1 to 16777216")
    file, _, function = register(program).rpartition(":")
    given = json.dumps(dict(args or {}))
    inputs = [] if file.startswith("<") else [Path(file)]
    with ResultFolder(
        path, replace=force, marker=PROGRAM_FILE, kind="program", key="path", inputs=inputs
    ) as folder:
        with input_errors():
            counts = _core.python_convert(file, function, given, ranks, folder.path, description, progress)
        folder.publish()
    return counts
