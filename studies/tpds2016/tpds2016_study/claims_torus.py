"""Section 6.2: three programs on tori of three to nine dimensions (figures 13, 15, 16)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from study_tools.claims import Claim, Value, near, yes

from tpds2016_study.measures import Run

Runs = Sequence[Run]
DIMENSIONS = ("3D", "5D", "7D", "9D")


def by_dimension(runs: Runs, program: str) -> Iterator[tuple[str, dict[str, Run]]]:
    """A program's runs by dimensions, each in its most cubic shape, per size of which all exist."""
    sizes: dict[tuple[int, str], dict[str, Run]] = {}
    for run in runs:
        if run.program == program and run.machine in DIMENSIONS:
            # Bytes to three digits: they do not depend on the machine.
            found = sizes.setdefault((run.ranks, f"{run.bytes:.3g}"), {})
            before = found.get(run.machine)
            if before is None or spread(run) < spread(before):
                found[run.machine] = run
    for (ranks, _), found in sizes.items():
        if len(found) == len(DIMENSIONS):
            yield f"{program}, {ranks:,} ranks", found


def spread(run: Run) -> float:
    """Longest over shortest side."""
    sides = [int(side) for side in run.shape.split(" x ")]
    return max(sides) / min(sides)


def least(
    program: str, measure: str, unit: str, scale: float, *winners: str
) -> Callable[[Runs], list[Value]]:
    """Each other torus over the worst of the winners: more than 1; and the numbers."""

    def values(runs: Runs) -> list[Value]:
        found = []
        for case, tori in by_dimension(runs, program):
            numbers = {name: getattr(tori[name], measure) for name in DIMENSIONS}
            best = max(numbers[name] for name in winners)
            found += [Value(name, case, scale * number, unit) for name, number in numbers.items()]
            found += [
                Value(f"{name} / {' and '.join(winners)}", case, number / best, "x", yes(number > best))
                for name, number in numbers.items()
                if name not in winners
            ]
        return found

    return values


def worst(program: str, measure: str, loser: str) -> Callable[[Runs], list[Value]]:
    """One torus over each other: more than 1."""

    def values(runs: Runs) -> list[Value]:
        return [
            Value(f"{loser} / {name}", case, ratio, "x", yes(ratio > 1.0))
            for case, tori in by_dimension(runs, program)
            for name in DIMENSIONS
            if name != loser
            for ratio in [getattr(tori[loser], measure) / getattr(tori[name], measure)]
        ]

    return values


def shapes(runs: Runs) -> list[Value]:
    """Packet latency of AMG on a torus of three unequal sides over that on a cube."""
    solids = [run for run in runs if run.program == "AMG" and run.machine == "3D"]
    cubes = {run.nodes: run for run in solids if spread(run) == 1}
    return [
        Value(f"{run.shape} / {cubes[run.nodes].shape}", "AMG", ratio, "x", near(ratio, 4.6))
        for run in solids
        if spread(run) > 1 and run.nodes in cubes
        for ratio in [run.latency_s / cubes[run.nodes].latency_s]
    ]


LATENCY = ("latency_s", "us", 1e6)
HOPS = ("hops", "cables", 1.0)
TIME = ("communication_s", "ms", 1e3)

CLAIMS: list[Claim[Runs]] = [
    Claim(
        "router-5d-latency",
        "6.2, fig. 15",
        "Crystal Router: the 5D torus gives the lowest average latency",
        "5D",
        "mean packet latency of the ranks: 3D, 7D, 9D over 5D more than 1",
        least("Crystal Router", *LATENCY, "5D"),
    ),
    Claim(
        "router-hops",
        "6.2, fig. 16",
        "Crystal Router: 7D and 9D traverse fewer hops than 5D, and have a higher packet latency",
        "fewer",
        "mean hops of the ranks' packets: 3D and 5D over the worse of 7D and 9D more than 1",
        least("Crystal Router", *HOPS, "7D", "9D"),
    ),
    Claim(
        "router-5d-time",
        "6.2, fig. 13",
        "Crystal Router: the 5D torus gives a relatively better communication time than the others",
        "5D",
        "longest time of a rank in MPI: 3D, 7D, 9D over 5D more than 1",
        least("Crystal Router", *TIME, "5D"),
    ),
    Claim(
        "amg-3d-latency",
        "6.2, fig. 15",
        "AMG: the 3D torus gives the lowest packet latency",
        "3D",
        "mean packet latency of the ranks: 5D, 7D, 9D over 3D more than 1",
        least("AMG", *LATENCY, "3D"),
    ),
    Claim(
        "amg-3d-hops",
        "6.2, fig. 16",
        "AMG: the 3D torus traverses the fewest hops",
        "3D",
        "mean hops of the ranks' packets: 5D, 7D, 9D over 3D more than 1",
        least("AMG", *HOPS, "3D"),
    ),
    Claim(
        "amg-3d-time",
        "6.2, fig. 13",
        "AMG: the 3D torus has the lowest communication time",
        "3D",
        "longest time of a rank in MPI: 5D, 7D, 9D over 3D more than 1",
        least("AMG", *TIME, "3D"),
    ),
    Claim(
        "multigrid-hops",
        "6.2, fig. 16",
        "Multigrid: 7D and 9D traverse the minimum number of hops",
        "7D, 9D",
        "mean hops of the ranks' packets: 3D and 5D over the worse of 7D and 9D more than 1",
        least("Multigrid", *HOPS, "7D", "9D"),
    ),
    Claim(
        "multigrid-7d-latency",
        "6.2, fig. 15",
        "Multigrid: the average packet latency is lowest on the 7D torus",
        "7D",
        "mean packet latency of the ranks: 3D, 5D, 9D over 7D more than 1",
        least("Multigrid", *LATENCY, "7D"),
    ),
    Claim(
        "multigrid-3d-poor",
        "6.2, fig. 15",
        "Multigrid: the 3D torus has a poor performance, as packets have to traverse many hops",
        "worst",
        "mean packet latency of the ranks: 3D over each other more than 1",
        worst("Multigrid", "latency_s", "3D"),
    ),
    Claim(
        "multigrid-time",
        "6.2, fig. 13",
        "Multigrid: 7D and 5D tori have a lower communication time than the others",
        "5D, 7D",
        "longest time of a rank in MPI: 3D and 9D over the worse of 5D and 7D more than 1",
        least("Multigrid", *TIME, "5D", "7D"),
    ),
]
