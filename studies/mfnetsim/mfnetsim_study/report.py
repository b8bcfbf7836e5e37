"""The comparison as text for the terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from study_tools.table import Table

from mfnetsim_study import close, exact
from mfnetsim_study.close import Quantity, Saturation, Verdict
from mfnetsim_study.data import LINK_CLASSES, RunData
from mfnetsim_study.exact import Check

#: From best to worst; unjudged values do not count.
RANKING = [Verdict.NONE, Verdict.GOAL, Verdict.FLOOR, Verdict.MISSED]


@dataclass
class Comparison:
    """A run of Odonata beside the stored one, or alone without one."""

    ours: RunData
    stored: RunData | None
    checks: list[Check] = field(init=False)
    applications: dict[str, list[Quantity]] = field(init=False)
    storage: list[Quantity] = field(init=False)
    saturations: list[Saturation] = field(init=False)

    def __post_init__(self) -> None:
        ours, stored = self.ours, self.stored
        self.checks = exact.checks(ours, stored) if stored else []
        self.applications = {app: close.application(app, ours, stored) for app in ours.apps}
        self.storage = close.storage(ours, stored)
        self.saturations = close.saturations(ours, stored)

    @property
    def failed(self) -> list[Check]:
        """Exact checks that fail."""
        return [check for check in self.checks if not check.passed]


def details(comparison: Comparison) -> list[Table]:
    """The tables of one run."""
    quantities = [
        [subject, _label(q), _number(q.ours), _number(q.stored), percent(q.difference), q.verdict]
        for subject, items in [*comparison.applications.items(), ("servers", comparison.storage)]
        for q in items
    ]
    links = [
        [
            s.link_class,
            *(_number(value) for q in (s.total, s.p99, s.maximum) for value in (q.ours, q.stored)),
            percent(s.total.difference),
            f"{s.saturated.ours:,.0f} {_number(s.saturated.stored, 0)}".rstrip(),
            _distance(s.distance),
            _distance(s.distance_saturated),
            s.verdict,
        ]
        for s in comparison.saturations
    ]
    return [
        Table(heading(comparison), ["", "", "ours", "stored", "difference", "verdict"], quantities, left=2),
        Table(
            "Saturation of links, ms (KS: Kolmogorov-Smirnov distance, all links and those that saturate)",
            [
                *("class", "total ours", "stored", "p99 ours", "stored", "max ours", "stored"),
                *("total", "links: ours, stored", "KS", "KS sat.", "verdict"),
            ],
            links,
        ),
    ]


def heading(comparison: Comparison) -> str:
    """One line about a run."""
    ours, stored = comparison.ours, comparison.stored
    rate = ours.packet_hops_per_cpu_s()
    parts = [
        ours.outcome,
        f"{ours.packets / 1e6:,.2f} M packets",
        f"{ours.packets * ours.hops_mean / 1e6:,.1f} M packet-hops",
        f"{ours.wall_s:,.1f} s wall" + (f" (its authors: {stored.wall_s:,.0f} s)" if stored else ""),
    ]
    if rate:
        parts.append(f"{rate / 1e6:.2f} M packet-hops per CPU-second")
    if not ours.minimal:
        share = f"{ours.packets_nonminimal / max(ours.packets, 1):.1%}"
        beside = f" (stored {stored.packets_nonminimal / max(stored.packets, 1):.1%})" if stored else ""
        parts.append(f"{share} of packets non-minimal{beside}")
    if stored is None:
        parts.append("no stored run")
    return f"{ours.name}: " + ", ".join(parts)


def summary(comparisons: Sequence[Comparison]) -> list[Table]:
    """All runs on one screen: applications, then machines."""
    applications, machines = [], []
    for comparison in comparisons:
        ours = comparison.ours
        for app, quantities in comparison.applications.items():
            judged = {q.name: q for q in quantities if q.judged}
            cells = []
            for name in ("non-compute, mean", "I/O, mean"):
                q = judged.get(name)
                cells += [_number(q.ours), _number(q.stored), percent(q.difference)] if q else ["", "", ""]
            applications.append([ours.name, app, *cells, worst(q.verdict for q in judged.values())])
        by_class = {s.link_class: s for s in comparison.saturations}
        rate = ours.packet_hops_per_cpu_s()
        machines.append(
            [
                ours.name,
                _exact(comparison),
                *(_saturation(by_class[link_class]) for link_class in LINK_CLASSES),
                worst(s.verdict for s in comparison.saturations),
                f"{ours.wall_s:,.1f}",
                f"{ours.cpu_s:,.1f}" if ours.cpu_s is not None else "",
                f"{rate / 1e6:.2f}" if rate else "",
            ]
        )
    times = ["ours", "stored", "differs"]
    return [
        Table(
            "Mean over ranks, ms: non-compute time, then I/O time (goal 5%, floor 10%)",
            ["run", "application", *times, *times, "verdict"],
            applications,
            left=2,
        ),
        Table(
            "Exact checks; saturation: total, KS distance (goal 10%, 0.1); packet-hops per CPU-second",
            [
                *("run", "exact", "node-router", "router-node", "local", "global"),
                *("verdict", "wall s", "CPU s", "Mhops/s"),
            ],
            machines,
        ),
    ]


def write(folder: Path, comparisons: Sequence[Comparison], extra: Sequence[Check] = ()) -> None:
    """Writes comparison.md and comparison.csv to `folder`."""
    parts = ["# MFNetSim case study: ours beside the stored runs\n"]
    if len(comparisons) > 1:
        parts += [table.markdown() for table in summary(comparisons)]
    parts += [f"- {check}\n" for check in extra]
    for comparison in comparisons:
        parts.append(f"## {comparison.ours.name}\n")
        parts += [table.markdown() for table in details(comparison)]
        parts += ["Exact checks:\n", "".join(f"- {check}\n" for check in comparison.checks)] * bool(
            comparison.checks
        )
    (folder / "comparison.md").write_text("\n".join(parts), encoding="utf-8")
    with (folder / "comparison.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "subject", "quantity", "unit", "ours", "stored", "difference", "verdict"])
        for comparison in comparisons:
            writer.writerows(_records(comparison))
        for check in extra:
            writer.writerow(["", "exact", check.name, "differing values", check.wrong, 0, "", _passed(check)])


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of several verdicts."""
    return max(verdicts, key=RANKING.index, default=Verdict.NONE)


def percent(difference: float | None, digits: int = 2) -> str:
    """A relative difference; empty without a stored value."""
    if difference is None:
        return ""
    if difference == float("inf"):
        return "new"
    return f"{100 * difference + 0.0:+.{digits}f}%" if abs(difference) < 10 else f"{1 + difference:,.0f} x"


def _records(comparison: Comparison) -> Iterable[list[object]]:
    name = comparison.ours.name

    def record(subject: str, q: Quantity, prefix: str = "") -> list[object]:
        return [name, subject, prefix + q.name, q.unit, q.ours, q.stored, q.difference, q.verdict]

    for app, quantities in comparison.applications.items():
        yield from (record(app, q) for q in quantities)
    yield from (record("servers", q) for q in comparison.storage)
    for s in comparison.saturations:
        yield from (record(s.link_class, q, "saturation, ") for q in (s.total, s.p99, s.maximum, s.saturated))
        yield [name, s.link_class, "saturation, KS distance", "", s.distance, "", "", s.verdict]
        yield [
            name,
            s.link_class,
            "saturation, KS distance of saturated",
            "",
            s.distance_saturated,
            "",
            "",
            "",
        ]
    for check in comparison.checks:
        yield [name, "exact", check.name, "differing values", check.wrong, 0, "", _passed(check)]
    yield [
        name,
        "run",
        "wall",
        "s",
        comparison.ours.wall_s,
        comparison.stored and comparison.stored.wall_s,
        "",
        "",
    ]
    yield [name, "run", "CPU", "s", comparison.ours.cpu_s, "", "", ""]
    yield [
        name,
        "run",
        "packet-hops per CPU-second",
        "1/s",
        comparison.ours.packet_hops_per_cpu_s(),
        "",
        "",
        "",
    ]


def _passed(check: Check) -> str:
    return "equal" if check.passed else "differs"


def _exact(comparison: Comparison) -> str:
    if not comparison.checks:
        return ""
    held = len(comparison.checks) - len(comparison.failed)
    return f"{held}/{len(comparison.checks)}" + (" FAILED" if comparison.failed else "")


def _saturation(s: Saturation) -> str:
    return f"{percent(s.total.difference, 1)} {_distance(s.distance)}".strip()


def _label(q: Quantity) -> str:
    return f"{q.name} ({q.unit})" if q.unit else q.name


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def _distance(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
