"""`rank_program.py` with some of its operations lost, repeated, swapped or changed on some of its ranks.

Loaded by scenarios as `mutated_program.py:work`, from a folder that has both.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from odonata import operations as ops

try:
    from rank_program import halves, work_of  # type: ignore[import-not-found]
except ImportError:  # as a part of the campaign
    from hostile.rank_program import halves, work_of

SMALL = (-3, -2, -1, 0, 1, 2, 3, 7, 100)
NUMBERS = (*SMALL, -(2**63), 2**16, 2**24, 2**30, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64)
GARBAGE: tuple[Any, ...] = (None, 5, "send", (), {}, object, 1e300, ops.Operation("sned"), ops.Operation(""))
ERRORS = (ValueError, RecursionError, MemoryError, SystemExit)
KINDS = ("send", "recv", "wait", "allreduce", "comm_free", "read", "start")


def endless(kind: str) -> Iterator[Any]:
    """Endless operations."""
    number = 0
    while True:
        if kind == "compute":
            yield ops.compute(0)
        elif kind == "test":
            yield ops.test(0)
        elif kind == "mark":
            yield ops.mark(number)
            number += 1
        elif kind == "probe":
            yield ops.iprobe()


@ops.communicators(halves)
def work(
    rank: int, ranks: int, *, seed: int, faults: int, rounds: int = 5, files: bool = False, end: str = ""
) -> Iterator[Any]:
    """The operations of a rank: `faults` of every hundred are changed, on every other rank."""
    lot = random.Random(f"{seed} {rank} {faults}")
    share = faults / 100 if lot.random() < 0.5 else 0.0
    kept: Any = None
    for operation in work_of(rank, ranks, seed, rounds, files):
        if lot.random() >= share:
            yield operation
            continue
        match lot.randrange(9):
            case 0:
                pass
            case 1:
                yield operation
                yield operation
            case 2 if kept is not None:
                yield operation
                yield kept
            case 3 | 4 | 5:
                yield changed(operation, lot)
            case 6:
                yield replace(
                    operation, stream=lot.choice([1, 2, 255, 256, -1]), after=(lot.choice(NUMBERS),)
                )
            case 7:
                yield lot.choice(GARBAGE)
            case _:
                if lot.random() < 0.3:
                    raise lot.choice(ERRORS)("planted")
                return
        kept = operation
    if end and rank == 0:
        yield from endless(end)


def changed(operation: ops.Operation, lot: random.Random) -> ops.Operation:
    """The operation with another number, or of another kind."""
    if operation.by_giver is not None or operation.by_taker is not None:
        sizes = [lot.choice(NUMBERS) for _ in range(lot.choice([0, 1, 2, 5]))]
        if lot.random() < 0.5:
            return replace(operation, by_giver=sizes)
        return replace(operation, by_taker=sizes)
    numbers: dict[str, Any] = dict(operation.numbers)
    if not numbers or lot.random() < 0.15:
        return replace(operation, kind=lot.choice(KINDS))
    name = lot.choice(sorted(numbers))
    if lot.random() < 0.1:
        del numbers[name]
    else:
        number: Any = lot.choice([*NUMBERS, numbers[name] + 1, numbers[name] - 1, numbers[name] * 2])
        numbers[name] = number if lot.random() < 0.9 else lot.choice([None, 1.5, "1", True])
    return replace(operation, numbers=numbers)
