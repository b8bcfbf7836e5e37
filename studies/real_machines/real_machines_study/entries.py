"""Every published number with its source and certainty, and the settings of presets derived from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpcnet_study import measures as gpcnet
from gpcnet_study import published
from gpcnet_study.machines import OWN_CONTROL
from theta_study import published as theta
from theta_study import rules
from theta_study import runs as theta_runs
from tpds2016_study import bluegene, bluegene_load

from real_machines_study.pingpong import Time

#: Sources. Certainty of their numbers: "exact" in a text, "table" printed, "read" by eye off a figure,
#: "second-hand".
XC = "Cray, XC series network, WP-Aries01-1112"
AUSTIN = "B. Austin's slides, in lanl/PPT"
SLINGSHOT = "D. De Sensi et al., SC 2020"
PAPER = "M. Mubarak et al., IEEE TPDS 28(1)"
CHEN = "D. Chen et al., SC 2012"
REDBOOK = "IBM Redbook, Blue Gene/Q"
PPT = "lanl/PPT, mira_config.py"
IBM = "IBM J. Res. Dev. 52(1/2), 2008"


@dataclass(frozen=True)
class Entry:
    """A published number beside that of Odonata."""

    machine: str
    quantity: str
    published: float
    ours: float
    unit: str
    source: str
    certainty: str
    preset: str
    #: The setting of the preset that was derived from this number; empty if none was.
    made_of_it: str = ""
    #: The published number is a lower bound.
    at_least: bool = False

    @property
    def difference(self) -> float:
        """Odonata's over the published number, minus one."""
        return self.ours / self.published - 1.0


@dataclass(frozen=True)
class Measured:
    """The sources of Odonata's numbers."""

    pingpong: list[Time]
    bluegene: list[bluegene.Time]
    loads: list[bluegene_load.Load]
    gpcnet: list[gpcnet.Row]
    theta: list[theta_runs.Time]


def entries(of: Measured) -> list[Entry]:
    """All entries, machine by machine."""
    return [*blue_gene(of), *aries(of), *pairs(of), *slingshot(of), *congestion(of)]


def blue_gene(of: Measured) -> Iterator[Entry]:
    """Links, hops, shares of the peak."""
    times = {
        (time.machine, time.hops, time.bytes): time.seconds
        for time in of.bluegene
        if time.pairs == "one pair"
    }
    small, large = bluegene.SIZES[0], bluegene.SIZES[-1]
    second = bluegene.SIZES[-2]
    for name, preset, published_rate in (("P", "bluegene-p", 374.0), ("Q", "bluegene-q", 1932.7)):
        rate = (large - second) / (times[name, 1, large] - times[name, 1, second]) / 1e6
        machine = f"Blue Gene/{name}"
        yield Entry(
            machine,
            "a link, for a user",
            published_rate,
            rate,
            "MB/s",
            PAPER,
            "exact",
            preset,
            "links.local.bandwidth",
        )
    hop = (times["P", 8, small] - times["P", 1, small]) / 7 * 1e9
    yield Entry("Blue Gene/P", "per hop", 66.0, hop, "ns", IBM, "exact", "bluegene-p", "router_delay")
    hop = (times["Q", 11, small] - times["Q", 1, small]) / 10 * 1e9
    yield Entry(
        "Blue Gene/Q",
        "per hop",
        40.0,
        hop,
        "ns",
        f"{REDBOOK}; {PPT}",
        "second-hand",
        "bluegene-q",
        "router_delay",
    )
    farthest = times["Q", 11, small] * 1e6 + 20 * hop / 1e3
    yield Entry(
        "Blue Gene/Q",
        "MPI, 0 B, 31 hops (ours: 11 hops measured, 20 added)",
        3.0,
        farthest,
        "us",
        PPT,
        "second-hand",
        "bluegene-q",
    )
    lows = {"farthest pairs": 85.0, "all to all": 85.0}
    for load in of.loads:
        quantity = f"{load.pattern}, share of peak, {load.routing} routing"
        yield Entry(
            "Blue Gene/Q",
            quantity,
            lows[load.pattern],
            100 * load.share,
            "%",
            CHEN,
            "exact",
            "bluegene-q",
            at_least=True,
        )


def aries(of: Measured) -> Iterator[Entry]:
    """Latency by distance, bandwidth of a pair."""
    times = {(time.distance, time.bytes): time.seconds for time in of.pingpong if time.machine == "Aries"}
    yield Entry("XC, 750 nodes", "MPI, 8 B", 1.3, 1e6 * times["same blade", 8], "us", XC, "exact", "theta")
    for distance, latency in (
        ("same blade", 1.3),
        ("same chassis", 1.5),
        ("same group", 1.5),
        ("other group", 2.2),
    ):
        ours = 1e6 * times[distance, 8]
        yield Entry("Aries, unnamed", f"MPI, {distance}", latency, ours, "us", AUSTIN, "second-hand", "theta")
    apart = 1e6 * (times["other group", 8] - times["same blade", 8])
    yield Entry(
        "Aries, unnamed", "other group less same blade", 0.9, apart, "us", AUSTIN, "second-hand", "theta"
    )
    rate = 4194304 / times["same group", 4194304] / 1e9
    yield Entry("XC, 750 nodes", "IMB ping-pong, largest", 8.5, rate, "GB/s", XC, "exact", "theta")


def pairs(of: Measured) -> Iterator[Entry]:
    """Further results of studies/theta: pairs with several ranks, a hop, a path, the bisection."""
    for point in (*theta.RATES[3:], *theta.BLADE):
        ours = rules.ours(of.theta, "preset", point)
        if ours is not None:
            yield Entry(
                point.machine,
                point.quantity,
                point.value,
                ours,
                point.unit,
                point.source,
                point.certainty,
                "theta",
            )
    for what, values, target in (
        ("per hop", rules.hop(of.theta), theta.HOP_NS),
        ("minimal path, at most", rules.path(of.theta)[-1:], theta.PATH_NS),
    ):
        for value in values:
            yield Entry("XC, 750 nodes", what, target, value.number, "ns", theta.XC, "exact", "theta")
    for value, (groups, rate) in zip(rules.bisection(of.theta), theta.BISECTION.items(), strict=True):
        what = f"bisection of {groups} groups, 12 cables each (computed)"
        yield Entry("XC", what, rate, value.number, "GB/s", theta.XC, "table", "theta")


def slingshot(of: Measured) -> Iterator[Entry]:
    """Latency by distance and size, interfaces of 100 Gbit/s."""
    times = {(time.distance, time.bytes): time.seconds for time in of.pingpong if time.machine == "Slingshot"}
    sizes = {8: "8 B", 1024: "1 KiB", 131072: "128 KiB", 4194304: "4 MiB"}
    latencies = {
        "same switch": (1.87, 2.78, 23.3, 359.8),
        "same group": (2.22, 3.07, 23.7, 361.4),
        "other group": (2.68, 3.5, 24.1, 362.0),
    }
    for distance, medians in latencies.items():
        for (size, name), median in zip(sizes.items(), medians, strict=True):
            ours = 1e6 * times[distance, size]
            quantity = f"MPI, {name}, {distance}, median"
            yield Entry(
                "Shandy, Malbec",
                quantity,
                median,
                ours,
                "us",
                SLINGSHOT,
                "read",
                "frontier-like",
            )
    for distance, apart in (("same group", 0.35), ("other group", 0.81)):
        ours = 1e6 * (times[distance, 8] - times["same switch", 8])
        yield Entry(
            "Shandy, Malbec",
            f"MPI, 8 B, {distance} less same switch",
            apart,
            ours,
            "us",
            SLINGSHOT,
            "read",
            "frontier-like",
            # Chosen for the 350 ns that the paper measured for a switch.
            "router_delay",
        )


def congestion(of: Measured) -> Iterator[Entry]:
    """Impact factors: GPCNeT's canaries, and the map of victims."""
    presets = {"Aries": "theta, 2 groups", "Slingshot": "frontier-like, 4 groups"}
    means = gpcnet.impacts(of.gpcnet)
    for row, (mean, _) in means.items():
        factor = published.CANARIES.get((row.machine, row.victim))
        if row.suite == "GPCNeT" and factor is not None and row.control == OWN_CONTROL[row.machine]:
            yield Entry(
                "Slingshot 11, unnamed",
                f"GPCNeT, {row.victim}, factor",
                factor,
                mean,
                "x",
                published.SHS,
                "table",
                presets[row.machine],
            )
    names = {"Aries": "Crystal", "Slingshot": "Shandy"}
    for row, ours in gpcnet.slowest_impacts(of.gpcnet).items():
        theirs = published.impact(row.machine, row.victim, row.aggressor, row.percent)
        if row.suite == "map" and theirs is not None and row.control == OWN_CONTROL[row.machine]:
            quantity = f"{row.victim} beside {row.aggressor} of {row.percent}%, factor"
            yield Entry(
                f"{names[row.machine]} ({row.machine})",
                quantity,
                theirs.factor,
                ours,
                "x",
                theirs.source,
                theirs.certainty,
                presets[row.machine],
            )
