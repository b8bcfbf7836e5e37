"""All claims, and the pairing of their cases: runs that differ in one setting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cluster2017_study.measures import Run

#: "A slight improvement", "noticeable": least relative difference that counts as faster or slower.
NOTICED = 0.02


def pairs(runs: Sequence[Run], key: str, one: str, other: str) -> Iterator[tuple[Run, Run]]:
    """Pairs of runs whose `key` is `one` and `other`, and that are otherwise equal."""
    found = {_rest(run, key): run for run in runs if getattr(run, key) == other}
    for run in runs:
        if getattr(run, key) == one and _rest(run, key) in found:
            yield run, found[_rest(run, key)]


def sizes(runs: Sequence[Run]) -> list[int]:
    """Sizes of the checkpointing job, ascending."""
    return sorted({run.nodes for run in runs})


def where(runs: Sequence[Run], **wanted: object) -> list[Run]:
    """The runs with these values."""
    return [run for run in runs if all(getattr(run, key) == value for key, value in wanted.items())]


def groups(runs: Sequence[Run], *keys: str) -> dict[tuple[object, ...], list[Run]]:
    """Runs that have the same values of `keys`."""
    found: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        found.setdefault(tuple(getattr(run, key) for key in keys), []).append(run)
    return found


def best(runs: Sequence[Run], measure: Callable[[Run], float]) -> Run:
    """The run with the smallest measure."""
    return min(runs, key=measure)


def _rest(run: Run, key: str) -> tuple[object, ...]:
    names = ("nodes", "placement", "routing", "buffers", "checkpoint_bytes", "block_bytes")
    # The written bytes are slightly below the requested ones, by the remainder of the division by ranks.
    return tuple(getattr(run, name) for name in names if name != key)
