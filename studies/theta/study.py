"""Runs ping-pong and bisection pairing on a machine like Theta, and compares them with public numbers.

    study.py quick      pairs of nodes, pairing of up to 512 nodes: a minute
    study.py full       pairing of up to 2,048 nodes, bandwidth by ranks, bisection of 6 and 8 groups: minutes
    study.py page       renews README.md, APPENDIX.md and the figure from the results of --store

Results go to results/theta: a row per test in times.parquet, verdicts in claims.csv.

Exit code: 0, whatever the verdicts are; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

# First: it puts the tools of all studies on the module path.
from theta_study import figures, page, runs  # isort: skip

from study_tools import command, pages, parquet, verdicts
from theta_study import published
from theta_study.machine import DISTANCES, VARIANTS
from theta_study.runs import Time

#: The name of a test, and the function that runs it.
Test = tuple[str, Callable[[], list[Time]]]


def tests(what: str) -> Iterator[Test]:
    """All tests of "quick" or "full"."""
    for variant in VARIANTS:
        for where in DISTANCES:
            yield f"{variant}, ping-pong, {where}", partial(runs.ping_pong, variant, where)
    for variant in ("preset", "minimal"):
        for nodes in runs.NODES:
            if what == "full" or nodes <= 512:
                yield f"{variant}, pairing, {nodes} nodes", partial(pairings, variant, nodes)
    yield "preset, a pair in two groups", partial(pairings, "preset", 2, "other group")
    for variant in ("preset", "fitted"):
        for ranks in runs.RANKS if what == "full" else runs.RANKS[:3]:
            yield (
                f"{variant}, one way, {ranks} ranks",
                partial(rate, variant, "same blade", ranks, both=False),
            )
        for where, both in (("other group", False), ("same blade", True), ("other group", True)):
            yield (
                f"{variant}, {'both ways' if both else 'one way'}, {where}",
                partial(rate, variant, where, published.MANY, both=both),
            )
    if what == "full":
        for groups in runs.GROUPS:
            yield f"minimal, bisection, {groups} groups", partial(bisection, groups)


def pairings(variant: str, nodes: int, *where: str) -> list[Time]:
    """Bisection pairing, a test for each size."""
    return [runs.pairing(variant, nodes, size, *where) for size in runs.SIZES]


def rate(variant: str, where: str, ranks: int, *, both: bool) -> list[Time]:
    """Bandwidth of a pair of nodes."""
    return [runs.rate(variant, where, ranks, both=both)]


def bisection(groups: int) -> list[Time]:
    """All nodes, under minimal routing."""
    return [runs.bisection("minimal", groups)]


def main() -> int:
    arguments = command.parse(str(__doc__), ("quick", "full"), Path("results/theta"))
    if arguments.what == "page":
        figures.draw(page.FIGURES, page.stored())
        pages.write(page.texts())
        return 0
    times = []
    wanted = list(tests(arguments.what))
    for number, (name, run) in enumerate(wanted, start=1):
        times += run()
        print(f"{number} of {len(wanted)}: {name}", flush=True)
    judged = page.judge(times)
    print(verdicts.overview(judged).text())
    arguments.out.mkdir(parents=True, exist_ok=True)
    parquet.write(arguments.out / "times.parquet", Time, times)
    verdicts.write_csv(arguments.out / "claims.csv", judged)
    print(f"written: {arguments.out}/times.parquet, claims.csv")
    if arguments.store:
        parquet.write(page.DATA, Time, times)
        print(f"kept: {page.DATA}")
    return 0


if __name__ == "__main__":
    command.run(main)
