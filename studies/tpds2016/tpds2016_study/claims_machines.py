"""Claims beyond the grid: BookSim, Blue Gene (figures 4 to 8), links (14), sizes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study_tools.claims import Claim, Kind, Value, near, yes

from tpds2016_study.bluegene import MACHINES, Time
from tpds2016_study.bluegene_load import Load
from tpds2016_study.claims_dragonfly import ALIKE, OTHERS, by_routing
from tpds2016_study.claims_torus import shapes
from tpds2016_study.cost import Cost
from tpds2016_study.full import Full
from tpds2016_study.measures import Run
from tpds2016_study.processes import Split
from tpds2016_study.speed import Speed

BOOKSIM = Path(__file__).parents[2] / "booksim" / "validation.json"


@dataclass(frozen=True)
class Evidence:
    """The data of these claims."""

    runs: Sequence[Run] = ()
    #: Runs with more ranks.
    larger: Sequence[Run] = ()
    #: Multigrid under three routings, at several sizes.
    links: Sequence[Run] = ()
    times: Sequence[Time] = ()
    loads: Sequence[Load] = ()
    costs: Sequence[Cost] = ()
    #: Runs by one process and by several.
    splits: Sequence[Split] = ()
    #: From studies/booksim: sweep -> differences of mean latency.
    booksim: dict[str, dict[str, float]] | None = None
    #: Speed beside BookSim.
    speeds: Sequence[Speed] = ()
    #: Programs with all their ranks and bytes.
    full: Sequence[Full] = ()


def booksim(file: Path = BOOKSIM) -> dict[str, dict[str, float]]:
    """The data of docs/validation.md."""
    sweeps: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["sweeps"]
    return {name: sweep["figures"] for name, sweep in sweeps.items() if name.startswith("dragonfly")}


def against_booksim(sweep: str, mean: float, largest: float) -> Callable[[Evidence], list[Value]]:
    """Odonata's differences from BookSim are at most those of the paper."""

    def values(evidence: Evidence) -> list[Value]:
        figures = (evidence.booksim or {}).get(sweep)
        if figures is None:
            return []
        ours, most = figures["mean_difference"], abs(figures["largest_difference"])
        return [
            Value("mean", sweep, ours, "%", yes(ours <= mean)),
            Value("largest", sweep, most, "%", yes(most <= largest)),
        ]

    return values


def saturates_lower(evidence: Evidence) -> list[Value]:
    figures = evidence.booksim or {}
    minimal, ugal = (
        figures.get(f"dragonfly_{name}_baddragon", {}).get("last_stable") for name in ("min", "ugal")
    )
    if minimal is None or ugal is None:
        return []
    return [Value("adaptive / minimal", "worst case", ugal / minimal, "x", yes(ugal > minimal))]


def seconds(evidence: Evidence, machine: str, hops: int, pairs: str) -> dict[int, float]:
    """Bytes -> half a round trip."""
    return {
        time.bytes: time.seconds
        for time in evidence.times
        if (time.machine, time.hops, time.pairs) == (machine, hops, pairs)
    }


def link_rate(evidence: Evidence) -> list[Value]:
    """For one pair: bytes between the two largest sizes over the time between them."""
    values = []
    for machine in MACHINES:
        for hops in machine.distances:
            found = seconds(evidence, machine.name, hops, "one pair")
            if found:
                small, large = sorted(found)[-2:]
                rate = (large - small) / (found[large] - found[small])
                case = f"{machine.name}, {hops} hops"
                values.append(Value(machine.name, case, rate / 1e6, "MB/s", near(rate, machine.link, 0.05)))
    return values


def per_hop(evidence: Evidence) -> list[Value]:
    """For the smallest message: time between the longest and the shortest distance, per hop."""
    values = []
    for machine, published in zip(MACHINES, (66e-9, 40e-9), strict=True):
        near_by, far = min(machine.distances), max(machine.distances)
        ends = [seconds(evidence, machine.name, hops, "one pair") for hops in (near_by, far)]
        if all(ends):
            ours = (ends[1][min(ends[1])] - ends[0][min(ends[0])]) / (far - near_by)
            values.append(Value(machine.name, f"{far} hops", 1e9 * ours, "ns", near(ours, published)))
    return values


def pairs_share_links(evidence: Evidence) -> list[Value]:
    """All pairs over one pair, largest message: at one hop no link is shared, at more hops some are."""
    values = []
    for machine in MACHINES:
        for hops in machine.distances:
            one, many = (
                seconds(evidence, machine.name, hops, pairs) for pairs in ("one pair, mesh", "all pairs")
            )
            if one and many:
                size = max(one)
                ratio = many[size] / one[size]
                right = abs(ratio - 1.0) <= 0.01 if hops == 1 else ratio > 1.01
                values.append(Value(f"{hops} hops", machine.name, ratio, "x", yes(right)))
    return values


def peak_share(pattern: str, low: float) -> Callable[[Evidence], list[Value]]:
    """Share of the peak under each routing."""

    def values(evidence: Evidence) -> list[Value]:
        return [
            Value(load.routing, load.pattern, load.share, "%", yes(load.share >= low))
            for load in evidence.loads
            if load.pattern == pattern
        ]

    return values


def both_shapes(evidence: Evidence) -> list[Value]:
    """At every size: the ratio grows with the size."""
    return shapes([*evidence.runs, *evidence.larger])


def local_broader(evidence: Evidence) -> list[Value]:
    """Links in use at every size; local links that are ever full, in the grid."""
    found = [(evidence.runs, "local_busy", "local links ever full")]
    found += [(evidence.links, f"{kind}_used", f"{kind} links in use") for kind in ("local", "global")]
    values = []
    for runs, measure, what in found:
        for program, routed in by_routing(runs):
            base = getattr(routed["minimal"], measure)
            for name in OTHERS if program == "Multigrid" else ():
                ratio = getattr(routed[name], measure) / max(base, 1e-9)
                case = f"{routed[name].ranks} ranks"
                values.append(Value(f"{what}, {name} / minimal", case, ratio, "x", yes(ratio > 1 + ALIKE)))
    return values


CLAIMS: list[Claim[Evidence]] = [
    Claim(
        "booksim-minimal",
        "5.1, fig. 4",
        "uniform traffic, minimal routing: 4.2% from BookSim in the mean, 7% at most",
        "4.2%, 7%",
        "studies/booksim: mean and largest difference of mean packet latency no larger than that",
        against_booksim("dragonfly_min_uniform", 0.042, 0.07),
    ),
    Claim(
        "booksim-adaptive",
        "5.1, fig. 4",
        "uniform traffic, adaptive routing: 3.0% from BookSim in the mean, 7.8% at most",
        "3.0%, 7.8%",
        "studies/booksim: likewise",
        against_booksim("dragonfly_ugal_uniform", 0.03, 0.078),
    ),
    Claim(
        "booksim-worst",
        "5.1, fig. 5",
        "worst-case traffic: adaptive routing has a better latency than minimal routing, which "
        "congests the one global channel",
        "better",
        "studies/booksim: the last stable load of adaptive over that of minimal routing: more than 1",
        saturates_lower,
    ),
    Claim(
        "link-rate",
        "5.2, figs. 6 to 8",
        "374 MB/s (/P) and 1.8 GiB/s (/Q) of a link are available to a user, and the MPI "
        "latency of up to 130 KB agrees with mpptest",
        "374 MB/s, 1,933 MB/s",
        "one pair: bytes over time between the two largest sizes, within 5% of that, at every distance",
        link_rate,
    ),
    Claim(
        "per-hop",
        "(IBM J. Res. Dev. 52(1/2), 2008; IBM Redbook, Blue Gene/Q)",
        "66 ns per hop on /P (presets are made of it), about 40 ns on /Q",
        "66 ns, 40 ns",
        "one pair, 4 B: time between the longest and the shortest distance per hop, within 20% of that",
        per_hop,
        kind=Kind.PUBLISHED,
    ),
    Claim(
        "bisection-pairs",
        "5.2",
        "the test measures bisection: pairs at a fixed number of hops share links, nearest neighbors do not",
        "shared",
        "130 KB, all pairs over one pair: within 1% of 1 at one hop, more than 1.01 at more",
        pairs_share_links,
        kind=Kind.OWN,
    ),
    Claim(
        "bisection-peak",
        "(D. Chen et al., SC 2012)",
        "Blue Gene/Q: over 85% of peak for bisection pairings",
        "> 85%",
        "every node exchanges 256 KiB with its farthest one: share of k m / (4 b), under each routing",
        peak_share("farthest pairs", 0.85),
        kind=Kind.PUBLISHED,
    ),
    Claim(
        "all-to-all-peak",
        "(D. Chen et al., SC 2012)",
        "Blue Gene/Q: 85 to 95% of peak for all-to-all traffic",
        "85%",
        "all-to-all of 1 KiB blocks on 1,024 nodes: share of n k m / (8 b), under each routing",
        peak_share("all to all", 0.85),
        kind=Kind.PUBLISHED,
    ),
    Claim(
        "amg-cube",
        "6.2",
        "AMG: 24 x 24 x 24 gives 4.6x better packet latency than 36 x 24 x 16",
        "4.6x",
        "mean packet latency of the ranks, long over cubic torus of as many nodes: within 20% of 4.6",
        both_shapes,
    ),
    Claim(
        "local-broader",
        "6.1, fig. 14",
        "non-minimal and adaptive routing make use of a broader group of local and global channels",
        "broader",
        "Multigrid, over minimal routing: share of the links of a class with at least a tenth of its mean "
        "bytes, and share of local links whose buffers were ever full: more than 1.02",
        local_broader,
    ),
]
