"""Programs of ranks for the digests of MPI and file access."""

from __future__ import annotations

from collections.abc import Iterator

from odonata import operations as ops
from odonata.operations import Operation, communicators


def one_collective(
    rank: int, ranks: int, *, kind: str, sizes: tuple[int, ...] = (8, 3_000, 200_000), later: bool = False
) -> Iterator[Operation]:
    """A collective with short and long vectors; `later`: started, and waited for after some computation."""
    for number, size in enumerate(sizes):
        yield ops.compute(1e-6 * (rank % 3))
        request = 5 if later else None
        yield collective(kind, rank, ranks, size, number % ranks, request)
        if later:
            yield ops.compute(4e-6)
            yield ops.wait(5)


def collective(
    kind: str, rank: int, ranks: int, size: int, root: int, request: int | None, comm: int = 0
) -> Operation:
    """The collective of this name; blocks of lists grow with the rank."""
    listed = [size // ranks + 24 * one for one in range(ranks)]
    both = {"comm": comm, "request": request}
    if kind == "barrier":
        return ops.barrier(**both)
    if kind in ("broadcast", "reduce", "gather", "scatter"):
        return getattr(ops, kind)(root, size, **both)
    if kind in ("allreduce", "reduce_scatter_block", "scan", "exscan", "allgather", "alltoall"):
        return getattr(ops, kind)(size if kind not in ("allgather", "alltoall") else size // 4, **both)
    if kind in ("gatherv", "scatterv"):
        sizes = listed if rank == root else [listed[rank]]
        return getattr(ops, kind)(root, sizes, **both)
    if kind in ("allgatherv", "reduce_scatter"):
        return getattr(ops, kind)(listed, **both)
    gives = [8 * (rank + 2 * to) + size // 16 for to in range(ranks)]
    takes = [8 * (giver + 2 * rank) + size // 16 for giver in range(ranks)]
    return ops.alltoallv(gives, takes, **both)


#: All collectives.
COLLECTIVES = [
    "barrier",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "allreduce",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "allgather",
    "alltoall",
    "gatherv",
    "scatterv",
    "allgatherv",
    "reduce_scatter",
    "alltoallv",
]


def all_collectives(rank: int, ranks: int, *, size: int = 4_000, later: bool = False) -> Iterator[Operation]:
    """One collective after the other, from a different root each."""
    for number, kind in enumerate(COLLECTIVES):
        yield ops.compute(1e-6 * ((rank + number) % 4))
        yield collective(kind, rank, ranks, size, number % ranks, 7 if later else None)
        if later:
            yield ops.compute(2e-6)
            yield ops.wait(7)
        yield ops.mark(number)


def point_to_point(rank: int, ranks: int, *, size: int = 9_000) -> Iterator[Operation]:
    """Sends of every kind, receives from any source, probes, waits for one, some and all; around a ring."""
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    # Unexpected: received long after arrival.
    yield ops.isend(right, size, request=0, tag=1)
    yield ops.isend(right, 40, request=1, tag=2)
    yield ops.compute(30e-6)
    yield ops.recv(left, 40, tag=2)
    yield ops.recv(left, size, tag=1)
    yield ops.wait_all(0, 2)
    # Expected, and completed one by one.
    for number in range(4):
        yield ops.irecv(left, size, request=10 + number, tag=3 + number)
    for number in (2, 0, 3, 1):
        yield ops.isend(right, size // (number + 1), request=20 + number, tag=3 + number)
    yield ops.wait_any(10, 4)
    yield ops.wait_some(10, 4)
    yield ops.test(20)
    yield ops.wait_all(10, 4)
    yield ops.wait_all(20, 4)
    # Synchronous, and in both directions at once.
    if rank % 2 == 0 and rank + 1 < ranks:
        yield ops.ssend(rank + 1, 64, tag=9)
    elif rank % 2 == 1:
        yield ops.recv(rank - 1, 64, tag=9)
    yield ops.sendrecv(right, size, left, size, 10, 10)
    yield ops.irecv(left, size, request=30, tag=11)
    yield ops.issend(right, size, request=31, tag=11)
    yield ops.wait_all(30, 2)
    # To no rank, to itself, and without a wait.
    yield ops.send(ops.NOBODY, size)
    yield ops.irecv(rank, 500, request=33, tag=12)
    yield ops.send(rank, 500, tag=12)
    yield ops.wait(33)
    yield ops.isend(right, 300, request=ops.DETACHED, tag=13)
    yield ops.probe(left, 13)
    yield ops.recv(left, 300, tag=13)


def anybody(rank: int, ranks: int, *, size: int = 2_000) -> Iterator[Operation]:
    """Rank 0 receives from the first sender, and answers."""
    if rank == 0:
        for _ in range(ranks - 1):
            yield ops.probe()
            yield ops.recv(ops.ANY, size, tag=ops.ANY)
        for other in range(1, ranks):
            yield ops.send(other, 16)
    else:
        yield ops.compute(1e-7 * (rank * 7 % 11))
        yield ops.send(0, size // rank, tag=rank % 3)
        yield ops.recv(0, 16)


def persistent(rank: int, ranks: int, *, size: int = 5_000, rounds: int = 5) -> Iterator[Operation]:
    """Persistent requests: alone, together, freed in flight."""
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    yield ops.recv_init(left, size, request=0, tag=1)
    yield ops.recv_init(right, size, request=1, tag=2)
    yield ops.send_init(right, size, request=2, tag=1)
    yield ops.send_init(left, size, request=3, tag=2)
    for number in range(rounds):
        if number % 2:
            yield ops.start_all(0, 4)
        else:
            for request in range(4):
                yield ops.start(request)
        yield ops.compute(3e-6)
        yield ops.wait_all(0, 4)
    yield ops.start(0)
    yield ops.start(2)
    yield ops.request_free(2)
    yield ops.wait(0)
    for request in (0, 1, 3):
        yield ops.request_free(request)


def _members(ranks: int, **_: int) -> dict[int, list[range]]:
    half = ranks // 2
    return {
        1: [range(ranks)],
        2: [range(0, ranks, 2), range(1, ranks, 2)],
        3: [range(half - 1, -1, -1)],
        4: [range(0, ranks, 4)],
    }


@communicators(_members)
def on_communicators(rank: int, ranks: int, *, size: int = 6_000) -> Iterator[Operation]:
    """The same tags on several communicators; communicators of communicators; ranks in reverse."""
    yield ops.comm_dup(new=1)
    yield ops.comm_split(new=2)
    # A message on each, received in the other order.
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    yield ops.isend(right, size, request=0, comm=0)
    yield ops.isend(right, 80, request=1, comm=1)
    yield ops.recv(left, 80, comm=1)
    yield ops.recv(left, size, comm=0)
    yield ops.wait_all(0, 2)
    place, others = rank // 2, len(range(rank % 2, ranks, 2))
    yield ops.sendrecv((place + 1) % others, size, (place - 1) % others, size, comm=2)
    yield ops.allreduce(size, comm=2)
    yield ops.comm_create(new=3)
    if rank < ranks // 2:
        yield ops.broadcast(0, size, comm=3)
        yield ops.barrier(comm=3)
        yield ops.comm_free(3)
    if rank % 2 == 0:
        yield ops.comm_split(new=4, comm=2)
    if rank % 4 == 0:
        yield ops.allgather(500, comm=4)
        yield ops.alltoall(300, comm=4)
    yield ops.comm_free(2)
    yield ops.barrier(comm=1)
    yield ops.comm_free(1)


@communicators(lambda ranks, **_: {1: [range(0, ranks, 2), range(1, ranks, 2)]})
def one_sided(rank: int, ranks: int, *, size: int = 9_000) -> Iterator[Operation]:
    """Accesses in every kind of epoch: flushes, fences, a lock that all want, groups of every second rank."""
    right = (rank + 1) % ranks
    for number in range(2):
        yield ops.put(right, size)
        yield ops.get((rank + 3) % ranks, 3 * size)
        yield ops.compute(1e-6 * (rank % 3))
        yield ops.win_flush(right)
        yield ops.win_flush()
        yield ops.win_lock(number, shared=rank % 3 > 0)
        yield ops.accumulate(number, size // 3)
        yield ops.get_accumulate(number, 8)
        yield ops.win_unlock(number)
        yield ops.win_post(group=1)
        yield ops.win_start(group=1)
        yield ops.put((rank + 2) % ranks, size)
        yield ops.win_complete(group=1)
        yield ops.win_wait(group=1)
        yield ops.accumulate(right, size)
        yield ops.win_fence()
        yield ops.mark(number)


def streams(rank: int, ranks: int, *, size: int = 20_000) -> Iterator[Operation]:
    """Operations that overlap with others of the same rank."""
    right, left = (rank + 1) % ranks, (rank - 1) % ranks
    for number in range(3):
        first = 5 * number
        after = [first - 1] if number else []
        yield ops.irecv(left, size, request=0).on_stream(0, after=after)
        yield ops.compute(5e-6).on_stream(1)
        yield ops.isend(right, size, request=1).on_stream(0)
        yield ops.wait_all(0, 2).on_stream(0)
        yield ops.compute(1e-6).on_stream(1, after=[first + 3])


def files(rank: int, ranks: int, *, size: int = 50_000) -> Iterator[Operation]:
    """A file of all and one of each rank; accesses that overlap with messages."""
    own = 100 + rank
    yield ops.open_file(1)
    yield ops.write_file(1, rank * size, size)
    yield ops.barrier()
    yield ops.read_file(1, ((rank + 1) % ranks) * size, size)
    yield ops.close_file(1)
    yield ops.open_file(own)
    yield ops.write_file(own, 0, size // 2, request=1)
    yield ops.write_file(own, size // 2, size // 3, request=2)
    yield ops.allreduce(256)
    yield ops.wait_all(1, 2)
    yield ops.read_file(own, 10, size // 2, request=3)
    yield ops.compute(5e-6)
    yield ops.wait(3)
    yield ops.close_file(own)


def stuck(rank: int, ranks: int) -> Iterator[Operation]:
    """All ranks receive before sending: a deadlock."""
    yield ops.recv((rank - 1) % ranks, 8)
    yield ops.send((rank + 1) % ranks, 8)


def fails(rank: int, ranks: int) -> Iterator[Operation]:
    """Rank 3 raises an error during the run."""
    yield ops.sendrecv((rank + 1) % ranks, 9_000, (rank - 1) % ranks, 9_000)
    if rank == 3:
        raise LookupError("on purpose")
    yield ops.barrier()
