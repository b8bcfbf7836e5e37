"""The random rings of GPCNeT's canaries (netbench/GPCNET 1.3), as a program of ranks.

The third canary, an all-reduce of 8 B, and the all-to-all congestor are workloads of Odonata; incasts and
one-sided access are access.ncptl.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from odonata.operations import barrier, irecv, isend, mark, wait_all

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
