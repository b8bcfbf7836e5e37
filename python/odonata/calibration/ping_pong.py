"""A ping-pong as a rank program: messages of each size go back and forth, with a mark after each size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from odonata.operations import Operation, mark, recv, send


def ping_pong(rank: int, ranks: int, *, sizes: Sequence[int], rounds: int) -> Iterator[Operation]:
    """Ranks 0 and 1 exchange messages of each size; mark k ends the k-th size, mark 0 the start."""
    yield mark(0)
    for number, size in enumerate(sizes, 1):
        for _ in range(rounds):
            if rank == 0:
                yield send(1, size)
                yield recv(1, size)
            else:
                yield recv(0, size)
                yield send(0, size)
        yield mark(number)
