"""The random rings and the congestors at one rank of GPCNeT (netbench/GPCNET 1.3), as programs of ranks.

The third canary, an all-reduce of 8 B, and the all-to-all congestor are workloads of Odonata.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from odonata.operations import barrier, get, irecv, isend, mark, put, send, wait_all, win_flush

#: Seed of the rings' orders, the same for all ranks.
SEED = 2019


def ring(
    rank: int, ranks: int, *, size: int, outstanding: int, orders: int, rounds: int, synchronize: bool
) -> Iterator[Any]:
    """Messages to and from both neighbors in a random order of the ranks, `outstanding` in each direction."""
    random_orders = random.Random(SEED)
    number = 0
    for _ in range(orders):
        order = list(range(ranks))
        random_orders.shuffle(order)
        place = order.index(rank)
        neighbors = (order[place - 1], order[(place + 1) % ranks])
        for _ in range(rounds):
            request = 0
            for call in (irecv, isend):
                for neighbor in neighbors:
                    for _ in range(outstanding):
                        yield call(neighbor, size, request=request)
                        request += 1
            yield wait_all(0, request)
            if synchronize:
                yield barrier()
            yield mark(number)
            number += 1


def send_incast(rank: int, ranks: int, *, size: int, rounds: int) -> Iterator[Any]:
    """Every rank sends to rank 0, which receives one message of each and waits for all."""
    for _ in range(rounds):
        if rank > 0:
            yield send(0, size)
            continue
        for source in range(1, ranks):
            yield irecv(source, size, request=source)
        yield wait_all(1, ranks - 1)


def put_incast(rank: int, ranks: int, *, size: int, rounds: int) -> Iterator[Any]:
    """Every rank writes to the memory of rank 0, and flushes after every access."""
    for _ in range(rounds if rank > 0 else 0):
        yield put(0, size)
        yield win_flush(0)


def get_broadcast(rank: int, ranks: int, *, size: int, rounds: int) -> Iterator[Any]:
    """Every rank reads the memory of rank 0, and flushes after every access."""
    for _ in range(rounds if rank > 0 else 0):
        yield get(0, size)
        yield win_flush(0)
