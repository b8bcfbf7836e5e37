"""The trace of the study: a wavefront over 24 ranks, back and forth, as a GOAL schedule."""

from __future__ import annotations

from collections.abc import Iterator

RANKS, SWEEPS, BYTES, WORK_NS = 24, 12, 200_000, 30_000


def schedule() -> str:
    """All ranks: each waits for its neighbor, works, and sends to the next; the last one starts the way
    back.
    """
    ranks = "\n".join(f"rank {rank} {{\n" + "\n".join(_tasks(rank)) + "\n}" for rank in range(RANKS))
    return f"num_ranks {RANKS}\n{ranks}\n"


def _tasks(rank: int) -> Iterator[str]:
    before = ""
    for sweep in range(SWEEPS):
        step = 1 if sweep % 2 == 0 else -1
        source, target = rank - step, rank + step
        if 0 <= source < RANKS:
            yield f"r{sweep}: recv {BYTES}b from {source} tag {sweep}"
            if before:
                yield f"r{sweep} requires {before}"
            before = f"r{sweep}"
        yield f"c{sweep}: calc {WORK_NS}"
        if before:
            yield f"c{sweep} requires {before}"
        before = f"c{sweep}"
        if 0 <= target < RANKS:
            yield f"s{sweep}: send {BYTES}b to {target} tag {sweep}"
            yield f"s{sweep} requires {before}"
            before = f"s{sweep}"
