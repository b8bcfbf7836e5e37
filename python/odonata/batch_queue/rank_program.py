"""The program of a rank that makes the traffic of a phase, for the comparison with packets.

An iteration computes, then communicates; the last iteration of a cycle also does the I/O of the cycle, in
calls of the profile's size. Communication and I/O go in pieces, none of which starts before its turn, so that
their rate alone is rate / share.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

from odonata import _core
from odonata.operations import Operation, compute, irecv, isend, mark, read_file, wait_all, write_file

#: Least bytes of a piece of a message, and most pieces.
LEAST_PIECE, MOST_PIECES = 4096, 8
#: Most iterations of a cycle; rates that would need more use smaller calls.
LONGEST_CYCLE = 8
#: Tag of the messages by which the ranks of a node wait for each other.
MEETING = 1

Peers = list[tuple[int, float]]


def cycle(read: float, write: float, access: float, period: float) -> int:
    """Iterations in which a node moves the bytes of a call.

    >>> cycle(20e6, 0.0, 65536.0, 1e-3), cycle(0.0, 50e6, 65536.0, 1e-3), cycle(0.0, 0.0, 65536.0, 1e-3)
    (4, 2, 1)
    """
    moved = [rate * period for rate in (read, write) if rate > 0]
    return min(LONGEST_CYCLE, math.ceil(access / min(moved))) if moved else 1


@functools.lru_cache(maxsize=256)
def _peers(pattern: int, nodes: int, seed: int) -> tuple[list[Peers], list[Peers]]:
    """For each node, the nodes that send to it and those that it sends to, with fractions of the bytes."""
    sources: list[Peers] = [[] for _ in range(nodes)]
    targets: list[Peers] = [[] for _ in range(nodes)]
    for source, target, part in _core.batch_flows(pattern, nodes, seed):
        targets[source].append((target, part))
        sources[target].append((source, part))
    return sources, targets


def _sides(pattern: int, nodes: int, seed: int, node: int) -> tuple[Peers, Peers]:
    """The nodes that send to `node`, and those that it sends to, with fractions of the bytes."""
    sources, targets = _peers(pattern, nodes, seed)
    return sources[node], targets[node]


def traffic(
    rank: int,
    ranks: int,
    *,
    pattern: int = 0,
    rate: float = 0.0,
    share: float = 0.0,
    read: float = 0.0,
    write: float = 0.0,
    io_share: float = 0.0,
    access: float = 65536.0,
    period: float = 1e-3,
    cycles: int = 1,
    offset: float = 0.0,
    seed: int = 1,
    end_points: int = 1,
) -> Iterator[Operation]:
    """Operations of a rank. Marks are the ends of cycles.

    Rates are in bytes per second of a node, times in seconds. A node has `end_points` ranks, one for each of
    its interfaces. Each sends its part to the interfaces of its number; they take turns in the calls of the
    node's file and wait for each other.
    """
    node, end_point = divmod(rank, end_points)
    sources, targets = _sides(pattern, ranks // end_points, seed, node) if rate else ([], [])
    sources, targets = (
        [(peer * end_points + end_point, part) for peer, part in side] for side in (sources, targets)
    )
    rate /= end_points
    share = share if rate else 0.0
    io_share = io_share if read or write else 0.0
    iterations = cycle(read, write, access, period)
    whole = period * iterations
    if offset > 0:
        yield compute(offset)
    for number in range(cycles):
        for _ in range(iterations):
            if share + io_share < 1.0:
                yield compute(period * (1.0 - share - io_share))
            if rate:
                yield from _exchange(sources, targets, rate * period, share * period)
        if read or write:
            moved = (read * whole, write * whole)
            yield from _files(node, number, moved, access, io_share * whole, (end_point, end_points))
            if end_points > 1:
                yield from _meet(rank - end_point, end_point, end_points)
        yield mark(number)


def _exchange(sources: Peers, targets: Peers, sent: float, lasts: float) -> Iterator[Operation]:
    """Sends and receives the messages of an iteration in pieces."""
    least = min((part for _, part in targets), default=1.0)
    pieces = max(1, min(MOST_PIECES, int(sent * least / LEAST_PIECE)))
    for _ in range(pieces):
        for number, (peer, part) in enumerate(sources):
            yield irecv(peer, max(1, round(sent * part / pieces)), number)
        for number, (peer, part) in enumerate(targets, len(sources)):
            yield isend(peer, max(1, round(sent * part / pieces)), number)
        yield compute(lasts / pieces)
        yield wait_all(0, len(sources) + len(targets))


def _files(
    file: int,
    number: int,
    moved: tuple[float, float],
    access: float,
    lasts: float,
    turns: tuple[int, int] = (0, 1),
) -> Iterator[Operation]:
    """Reads and writes the bytes of cycle `number` in calls of about `access` bytes.

    Of each `turns[1]` calls the rank does number `turns[0]`.
    """
    calls = [max(1, round(size / access)) if size else 0 for size in moved]
    rounds = max(calls)
    own = []
    for turn in range(rounds):
        requests: list[Operation] = []
        for call, count, size in zip((read_file, write_file), calls, moved, strict=True):
            for place in range(turn * count // rounds, (turn + 1) * count // rounds):
                if (number * count + place) % turns[1] == turns[0]:
                    bytes_of_call = max(1, round(size / count))
                    offset = (number * count + place) * bytes_of_call
                    requests.append(call(file, offset, bytes_of_call, len(requests)))
        if requests:
            own.append(requests)
    if not own:
        yield compute(lasts)
    for requests in own:
        yield from requests
        yield compute(lasts / len(own))
        yield wait_all(0, len(requests))


def _meet(first: int, end_point: int, end_points: int) -> Iterator[Operation]:
    """The ranks of a node, of which `first` is the first, wait for each other."""
    others = range(first + 1, first + end_points) if end_point == 0 else [first]
    arrive = [irecv(other, 1, number, tag=MEETING) for number, other in enumerate(others)]
    leave = [isend(other, 1, number, tag=MEETING) for number, other in enumerate(others)]
    for step in (arrive, leave) if end_point == 0 else (leave, arrive):
        yield from step
        yield wait_all(0, len(step))
