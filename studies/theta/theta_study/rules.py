"""The measure and the grading of each claim."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from study_tools.claims import NEAR, Grade, Value, near, yes

from theta_study import published
from theta_study.machine import DISTANCES, HOST_S, LOCAL_RATE, NODE_RATE, pairing_bound
from theta_study.published import WORST, Point
from theta_study.runs import NODES, SIZES, Time

Times = Sequence[Time]
Measure = Callable[[Times], list[Value]]
SMALL = 64


def one(
    times: Times, variant: str, test: str, where: str, size: int, *, ranks: int = 1, nodes: int = 2
) -> Time | None:
    """The test with these values, if it was run."""
    for time in times:
        if (time.variant, time.test, time.where, time.bytes, time.ranks_per_node, time.nodes) == (
            *(variant, test, where, size, ranks, nodes),
        ):
            return time
    return None


def ours(times: Times, variant: str, point: Point) -> float | None:
    """Odonata's number for a published one, in its unit."""
    time = one(times, variant, point.test, point.where, point.bytes, ranks=point.ranks_per_node)
    if time is None:
        return None
    return 1e6 * time.seconds if point.unit == "us" else time.rate / 1e9


def graded(number: float, target: float) -> Grade:
    """As claimed within CODES' worst difference, in part within 20%."""
    if near(number, target, WORST) is Grade.YES:
        return Grade.YES
    return Grade.PART if near(number, target, NEAR) is Grade.YES else Grade.NO


def points(variant: str, chosen: Iterable[Point]) -> Measure:
    """Odonata's number beside each; numbers that the variant was derived from are shown only."""

    def values(times: Times) -> list[Value]:
        found = []
        for point in chosen:
            number = ours(times, variant, point)
            if number is not None:
                made = variant == "fitted" and point.made_of_it
                grade = None if made else graded(number, point.value)
                found.append(Value(point.quantity, point.machine, number, point.unit, grade))
        return found

    return values


def hop(times: Times) -> list[Value]:
    near_by, far = (one(times, "preset", "ping-pong", where, 8) for where in ("same blade", "same chassis"))
    if near_by is None or far is None:
        return []
    apart = 1e9 * (far.seconds - near_by.seconds)
    return [Value("a hop", "8 B", apart, "ns", near(apart, published.HOP_NS))]


def path(times: Times) -> list[Value]:
    values = []
    for where in DISTANCES:
        time = one(times, "minimal", "ping-pong", where, 8)
        if time is not None:
            network = 1e9 * (time.seconds - HOST_S)
            values.append(Value(where, "8 B", network, "ns", yes(network <= published.PATH_NS)))
    return values


def any_pair(times: Times) -> list[Value]:
    values = []
    for where in DISTANCES:
        time = one(times, "minimal", "ping-pong", where, 8)
        if time is not None:
            latency = 1e6 * time.seconds
            values.append(Value(where, "8 B", latency, "us", yes(latency < published.ANY_US)))
    return values


def more_ranks(times: Times) -> list[Value]:
    values = []
    for variant in ("preset", "fitted"):
        rates = [ours(times, variant, point) for point in published.BLADE]
        for number, (before, after) in enumerate(itertools.pairwise(rates)):
            if before and after:
                case = published.BLADE[number + 1].quantity
                values.append(Value(variant, case, after / before, "x", yes(after > 1.01 * before)))
    return values


def order(times: Times) -> list[Value]:
    found = [one(times, "preset", "ping-pong", where, 16384) for where in DISTANCES]
    return [
        Value(
            "",
            f"{after.where} / {before.where}",
            after.seconds / before.seconds,
            "x",
            yes(after.seconds > before.seconds),
        )
        for before, after in itertools.pairwise(found)
        if before and after
    ]


def bisection(times: Times) -> list[Value]:
    values = []
    for groups, target in published.BISECTION.items():
        time = one(times, "minimal", "bisection", "", 65536, nodes=groups * 384)
        if time is not None:
            rate = time.rate / 1e9
            values.append(Value(f"{groups} groups", "64 KiB", rate, "GB/s", graded(rate, target)))
    return values


# What follows from the machine


def grows(times: Times) -> list[Value]:
    values = []
    for where in DISTANCES:
        found = [one(times, "preset", "ping-pong", where, size) for size in SIZES]
        series = [time.seconds for time in found if time]
        if len(series) == len(SIZES):
            steps = min(after / before for before, after in itertools.pairwise(series))
            values.append(Value("least step", where, steps, "x", yes(steps >= 1.0)))
            flat = series[SIZES.index(SMALL)] / series[0]
            values.append(Value("64 B / 0 B", where, flat, "x", yes(flat <= 1.0 + WORST)))
    return values


def slope(times: Times) -> list[Value]:
    values = []
    for where, rate in (("same blade", NODE_RATE), ("same chassis", LOCAL_RATE), ("same group", LOCAL_RATE)):
        less, more = (one(times, "preset", "ping-pong", where, size) for size in SIZES[-2:])
        if less and more:
            found = (more.bytes - less.bytes) / (more.seconds - less.seconds)
            values.append(Value(where, "32 to 64 KiB", found / 1e9, "GB/s", near(found, rate, WORST)))
    return values


def pairing_minimal(times: Times) -> list[Value]:
    """An exchange of 64 KiB over the bound, for numbers of nodes whose pairs cross groups."""
    values = []
    for nodes in NODES:
        time, bound = (
            one(times, "minimal", "pairing", "", SIZES[-1], nodes=nodes),
            pairing_bound(nodes, SIZES[-1]),
        )
        if time is not None and bound:
            ratio = time.seconds / bound
            values.append(Value("", f"{nodes:,} nodes", ratio, "x", yes(1.0 <= ratio <= 1.0 + NEAR)))
    return values


def pairing_adaptive(times: Times) -> list[Value]:
    values = []
    for nodes in NODES:
        adaptive, minimal = (
            one(times, variant, "pairing", "", SIZES[-1], nodes=nodes) for variant in ("preset", "minimal")
        )
        if adaptive and minimal and pairing_bound(nodes, 1):
            ratio = adaptive.seconds / minimal.seconds
            values.append(Value("", f"{nodes:,} nodes", ratio, "x", yes(ratio < 1.0)))
    return values


def pairing_small(times: Times) -> list[Value]:
    """An exchange of the slowest of 1,024 pairs over that of a pair alone in two groups."""
    values = []
    for size in SIZES[:3]:
        many = one(times, "preset", "pairing", "", size, nodes=NODES[-1])
        alone = one(times, "preset", "pairing", "other group", size)
        if many and alone:
            ratio = many.seconds / alone.seconds
            values.append(Value("", f"{size} B", ratio, "x", yes(ratio <= 1.0 + NEAR)))
    return values
