"""Collective reads and writes of rank programs, in two phases as MPI-IO does them.

Few ranks, the *aggregators*, access the file. Each has a contiguous *file domain* and accesses it one buffer
at a time. Data travels between aggregators and the other ranks as messages (Thakur, Gropp, Lusk, "Data
sieving and collective I/O in ROMIO", Frontiers 1999). With A aggregators and E bytes from the first to the
last accessed byte, a domain has D = ceil(E / A) bytes and takes ceil(D / buffer) rounds. Before the first
round, an all-gather of 16 B per rank exchanges the offsets and lengths of all accesses.

A rank program yields the operations:

>>> def checkpoint(rank, ranks, size=1 << 20):
...     yield from write_file_all(rank, ranks, 7, lambda other: (other * size, size), aggregators=2)
>>> [operation.kind for operation in checkpoint(0, 4)]
['allgather', 'irecv', 'wait_all', 'write']
>>> [operation.kind for operation in checkpoint(3, 4)]
['allgather', 'isend', 'wait_all']
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from odonata.operations import allgather, irecv, isend, read_file, wait_all, write_file
from odonata.programs.rank_programs import Operation

__all__ = ["read_file_all", "write_file_all"]

#: The access of a rank: offset and length in bytes.
Piece = tuple[int, int]

#: Bytes that each rank announces: an offset and a length of 8 B each.
_OFFSETS_BYTES = 16


def write_file_all(
    rank: int,
    ranks: int,
    file: int,
    piece: Callable[[int], Piece],
    *,
    aggregators: int = 1,
    buffer: int = 16 << 20,
    first_request: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in a collective write (`MPI_File_write_at_all`); every rank must take part.

    Args:
        piece: Offset and length in bytes of each rank's data; the length may be 0.
        aggregators: Number of ranks that write, spread evenly over all.
        buffer: Bytes that an aggregator collects and writes at once.
        first_request: The lowest of the `ranks + aggregators` request numbers in use.

    Raises:
        ValueError: The number of aggregators is 0 or above the number of ranks, or the buffer is empty.
    """
    plan = _Plan(ranks, piece, aggregators, buffer)
    own = plan.number(rank)
    for turn in range(plan.rounds):
        if turn == 0:
            yield allgather(_OFFSETS_BYTES)
        window = None if own is None else plan.window(own, turn)
        if window is not None:
            for other, size in plan.shares(window):
                if other != rank:
                    yield irecv(other, size, request=first_request + other)
        for number in range(aggregators):
            size, to = plan.share(rank, plan.window(number, turn)), plan.rank(number)
            if size and to != rank:
                yield isend(to, size, request=first_request + ranks + number)
        yield wait_all(first_request, ranks + aggregators)
        if window:
            yield write_file(file, window.start, len(window))


def read_file_all(
    rank: int,
    ranks: int,
    file: int,
    piece: Callable[[int], Piece],
    *,
    aggregators: int = 1,
    buffer: int = 16 << 20,
    first_request: int = 0,
) -> Iterator[Operation]:
    """The operations of `rank` in a collective read (`MPI_File_read_at_all`).

    Arguments as for `write_file_all`.
    """
    plan = _Plan(ranks, piece, aggregators, buffer)
    own = plan.number(rank)
    for turn in range(plan.rounds):
        if turn == 0:
            yield allgather(_OFFSETS_BYTES)
        window = None if own is None else plan.window(own, turn)
        if window:
            yield read_file(file, window.start, len(window))
            for other, size in plan.shares(window):
                if other != rank:
                    yield isend(other, size, request=first_request + other)
        for number in range(aggregators):
            size, source = plan.share(rank, plan.window(number, turn)), plan.rank(number)
            if size and source != rank:
                yield irecv(source, size, request=first_request + ranks + number)
        yield wait_all(first_request, ranks + aggregators)


class _Plan:
    """The window of each aggregator in each round."""

    def __init__(self, ranks: int, piece: Callable[[int], Piece], aggregators: int, buffer: int) -> None:
        if not 1 <= aggregators <= ranks:
            raise ValueError(f"{aggregators} aggregators of {ranks} ranks: expected 1 to {ranks}")
        if buffer < 1:
            raise ValueError(f"a buffer of {buffer} bytes: expected at least 1")
        self.ranks = ranks
        self.aggregators = aggregators
        self.buffer = buffer
        self.pieces = [range(offset, offset + size) for offset, size in map(piece, range(ranks))]
        used = [piece for piece in self.pieces if piece]
        self.start = min((piece.start for piece in used), default=0)
        self.stop = max((piece.stop for piece in used), default=0)
        self.domain = -(-(self.stop - self.start) // aggregators)
        self.rounds = -(-self.domain // buffer)

    def rank(self, number: int) -> int:
        """The rank that is aggregator `number`."""
        return number * self.ranks // self.aggregators

    def number(self, rank: int) -> int | None:
        """The aggregator number of `rank`; None if it is no aggregator."""
        number = -(-rank * self.aggregators // self.ranks)
        return number if number < self.aggregators and self.rank(number) == rank else None

    def window(self, number: int, turn: int) -> range:
        """The range of the file in the buffer of aggregator `number` in round `turn`."""
        first = min(self.start + number * self.domain, self.stop)
        stop = min(first + self.domain, self.stop)
        low = min(first + turn * self.buffer, stop)
        return range(low, min(low + self.buffer, stop))

    def share(self, rank: int, window: range) -> int:
        """Bytes of `rank` in `window`."""
        piece = self.pieces[rank]
        return max(0, min(piece.stop, window.stop) - max(piece.start, window.start))

    def shares(self, window: range) -> Iterator[tuple[int, int]]:
        """The ranks with data in `window`, and the bytes of each."""
        for rank in range(self.ranks):
            size = self.share(rank, window)
            if size:
                yield rank, size
