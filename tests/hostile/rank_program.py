"""A program of random rounds, equal on every rank: MPI of all kinds, files, computation.

It ends whatever the network does: each round posts its receives before it waits, or is one call of all ranks.
Scenarios load it as `rank_program.py:work`, so it imports nothing of the campaign.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from odonata import operations as ops

#: One element, or a multiple of 8 bytes.
SIZES = (0, 1, 8, 704, 4096, 20_000, 70_000)


def halves(ranks: int, **_: object) -> dict[int, list[range]]:
    """Communicator 1: even and odd ranks. Communicator 2: all, in reverse."""
    return {1: [range(0, ranks, 2), range(1, ranks, 2)], 2: [range(ranks - 1, -1, -1)]}


@ops.communicators(halves)
def work(
    rank: int, ranks: int, *, seed: int = 1, rounds: int = 6, files: bool = False
) -> Iterator[ops.Operation]:
    """The operations of a rank."""
    yield from work_of(rank, ranks, seed, rounds, files)


def work_of(rank: int, ranks: int, seed: int, rounds: int, files: bool) -> Iterator[ops.Operation]:
    """The same, for programs derived from it."""
    script = random.Random(seed)
    own = random.Random(f"{seed} {rank}")
    for number in range(rounds):
        kinds = [
            "compute",
            "ring",
            "pairs",
            "any",
            "rooted",
            "whole",
            "lists",
            "split",
            "later",
            "persistent",
            "probe",
        ]
        kind = script.choice(kinds + (["file"] if files else []))
        size, shift, tag = script.choice(SIZES), script.randrange(ranks), script.randrange(4)
        root = script.randrange(ranks)
        if own.random() < 0.5:
            yield ops.compute(own.choice([1e-9, 1e-6, 2.7e-6]))
        yield from _round(kind, rank, ranks, (number, size, shift, tag, root), script.random(), own)
        if script.random() < 0.4:
            yield ops.mark(number)


def _round(
    kind: str, rank: int, ranks: int, drawn: tuple[int, int, int, int, int], choice: float, own: random.Random
) -> Iterator[ops.Operation]:
    number, size, shift, tag, root = drawn
    to, source = (rank + shift) % ranks, (rank - shift) % ranks
    match kind:
        case "compute":
            yield ops.compute(own.uniform(0, 3e-6))
        case "ring":
            yield ops.irecv(source, size, 0, tag)
            yield ops.isend(to, size, 1, tag) if choice < 0.6 else ops.issend(to, size, 1, tag)
            if choice < 0.3:
                yield ops.test(0)
            if choice < 0.7:
                yield ops.wait_all(0, 2)
            else:
                yield ops.wait_any(0, 2)
                yield ops.wait_some(0, 2)
                yield ops.wait_all(0, 2)
        case "pairs":
            yield ops.sendrecv(to, size, source, tag=tag)
        case "any":
            if shift:
                yield ops.irecv(ops.ANY, size, 0, ops.ANY if choice < 0.5 else tag)
                yield ops.isend(to, size, 1, tag)
                yield ops.wait_all(0, 2)
            # Receives from any source must not take messages of the next round.
            yield ops.barrier()
        case "rooted":
            made = [
                lambda: ops.broadcast(root, size),
                lambda: ops.reduce(root, size),
                lambda: ops.gather(root, size // 8),
                lambda: ops.scatter(root, size // 8),
            ]
            yield made[int(choice * len(made))]()
        case "whole":
            block = size // ranks // 8 * 8
            wholes = [
                lambda: ops.barrier(),
                lambda: ops.allreduce(size),
                lambda: ops.allgather(block),
                lambda: ops.alltoall(block),
                lambda: ops.scan(size),
                lambda: ops.exscan(size),
                lambda: ops.reduce_scatter_block(block),
            ]
            yield wholes[int(choice * len(wholes))]()
        case "lists":
            gives = [(rank + other) * 64 for other in range(ranks)]
            if choice < 0.4:
                yield ops.alltoallv(gives, gives)
            elif choice < 0.7:
                yield ops.allgatherv([100 * (other + 1) for other in range(ranks)])
            else:
                yield ops.reduce_scatter([8 * (other + 1) for other in range(ranks)])
        case "split":
            yield ops.allreduce(size, comm=1) if choice < 0.5 else ops.barrier(comm=2)
        case "later":
            yield ops.allreduce(size, request=7) if choice < 0.5 else ops.barrier(request=7)
            yield ops.compute(1e-6)
            yield ops.wait(7)
        case "persistent":
            yield ops.recv_init(source, size, 4, tag)
            yield ops.send_init(to, size, 5, tag)
            for _ in range(2):
                yield ops.start_all(4, 2)
                yield ops.wait_all(4, 2)
            yield ops.request_free(4)
            yield ops.request_free(5)
        case "probe":
            yield ops.isend(to, size, 1, tag)
            yield ops.probe(source, tag)
            yield ops.recv(source, size, tag)
            yield ops.wait(1)
        case "file":
            file = number if choice < 0.5 else number * 1000 + rank
            yield ops.open_file(file)
            if choice < 0.3:
                yield ops.write_file(file, rank * 4096, 4096)
                yield ops.read_file(file, rank * 4096, 1000)
            else:
                yield ops.write_file(file, rank * 9000, 9000, 3)
                yield ops.compute(1e-6)
                yield ops.wait(3)
            yield ops.close_file(file)
