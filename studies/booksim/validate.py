"""Compares latency-load curves of Odonata with those of BookSim 2.

`python studies/booksim/validate.py [SWEEP ...]` runs every sweep of the reference, with the reference's own
windows, and writes validation.json, docs/validation.md and its figure. All sweeps use one set of parameters:
the preset "booksim".
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Curves of BookSim 2; the README there describes their measurement.
REFERENCE = HERE / "reference"

#: Latencies are compared up to this share of the last stable load: above it, the curve is steep.
STEEP = 0.8

#: Least number of packets for a comparison of hops and percentiles: random distances alone vary a mean of a
#: thousand by one or two percent.
ENOUGH = 4000

#: BookSim's threshold of saturation, mean latency in cycles, from the reference's settings.
THRESHOLD = {"dragonfly": 2000}
DEFAULT_THRESHOLD = 500


@dataclass(frozen=True)
class Row:
    """One offered load, in cycles and flits per node and cycle."""

    load: float
    mean: float
    p99: float
    hops: float
    accepted: float
    saturated: bool
    packets: int


@dataclass(frozen=True)
class Sweep:
    """A curve of Odonata beside its reference."""

    name: str
    reference: list[Row]
    ours: list[Row]
    cpu_s: float

    def pairs(self) -> list[tuple[Row, Row]]:
        """Rows of the same load, the reference's first, while both are stable."""
        ours = {row.load: row for row in self.ours}
        both = [(row, ours[row.load]) for row in self.reference if row.load in ours]
        return [(r, o) for r, o in both if not r.saturated and not o.saturated]

    def compared(self) -> list[tuple[Row, Row]]:
        last = max(row.load for row in self.reference if not row.saturated)
        return [(r, o) for r, o in self.pairs() if r.load <= STEEP * last + 1e-9]

    def figures(self) -> dict[str, Any]:
        """The figures that decide the verdict of the sweep."""
        compared = self.compared()
        many = [(r, o) for r, o in compared if min(r.packets, o.packets) >= ENOUGH] or compared
        differences = [o.mean / r.mean - 1 for r, o in compared]
        stable = [row.load for row in self.reference if not row.saturated]
        saturated = [row.load for row in self.reference if row.saturated]
        own = {row.load: row.saturated for row in self.ours}
        return {
            "points": len(self.pairs()),
            "points_compared": len(compared),
            "mean_difference": statistics.fmean(map(abs, differences)),
            "largest_difference": max(differences, key=abs),
            "hops_difference": max((o.hops / r.hops - 1 for r, o in many), key=abs),
            "p99_difference": max((o.p99 / r.p99 - 1 for r, o in many), key=abs),
            "packets": sum(o.packets for _, o in compared),
            "last_stable": max(stable),
            "first_saturated": min(saturated, default=None),
            "stable_where_stable": not own[max(stable)],
            "saturated_where_saturated": all(own[load] for load in saturated if load in own),
        }


def number(text: str) -> float:
    """The number in a cell; 0 if the run was cut before it was known."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def reference_rows(name: str) -> list[tuple[Row, int]]:
    """The rows of a sweep of the reference, each with its sampling period in cycles."""
    rows = []
    with (REFERENCE / f"{name}.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            row = Row(
                load=float(line["offered_load"]),
                mean=number(line["avg_packet_latency_cycles"]),
                p99=number(line["p99_latency"].lstrip(">=")),
                hops=number(line["avg_hops"]),
                accepted=number(line["accepted_throughput"]),
                saturated=line["saturated"] == "yes",
                packets=int(number(line["packets_measured"])),
            )
            rows.append((row, int(line["sample_period"])))
    return rows


def our_rows(name: str, loads: list[float], period: int, processes: int) -> tuple[list[Row], float]:
    """Rows of Odonata at these loads, and their CPU seconds."""
    threshold = THRESHOLD.get(name.split("_")[0], DEFAULT_THRESHOLD)
    command = [sys.executable, "-m", "odonata", "load-sweep", str(HERE / f"scenarios/{name}.toml")]
    command += ["--method", "booksim", "--sample-period", str(period), "--warmup-periods", "3"]
    command += ["--max-samples", "12", "--latency-threshold", str(threshold), "--json", "--quiet"]
    command += ["--loads", ",".join(map(str, loads)), "--processes", str(processes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    points = json.loads(done.stdout)["points"]
    rows = [
        Row(
            load=point["offered"],
            mean=point["latency_cycles"]["mean"],
            p99=point["latency_cycles"]["p99"],
            hops=point["hops"],
            accepted=point["accepted"],
            saturated=point["saturated"],
            packets=point["packets"],
        )
        for point in points
    ]
    return rows, sum(point["cpu_s"] for point in points)


def run(name: str, processes: int) -> Sweep:
    """Runs a sweep."""
    rows = reference_rows(name)
    ours: list[Row] = []
    cpu_s = 0.0
    for period in sorted({period for _, period in rows}):
        loads = [row.load for row, its in rows if its == period]
        more, seconds = our_rows(name, loads, period, processes)
        ours += more
        cpu_s += seconds
    return Sweep(name, [row for row, _ in rows], sorted(ours, key=lambda row: row.load), cpu_s)


def judge(figures: dict[str, Any]) -> str:
    """ "goal", "floor" or the missed figure."""
    bounds = [
        ("mean", abs(figures["mean_difference"]), 0.02, 0.04),
        ("largest", abs(figures["largest_difference"]), 0.05, 0.07),
        ("hops", abs(figures["hops_difference"]), 0.01, 0.01),
        ("p99", abs(figures["p99_difference"]), 0.10, 0.10),
    ]
    missed = [name for name, value, _, floor in bounds if value > floor]
    if not figures["stable_where_stable"] or not figures["saturated_where_saturated"]:
        missed.append("saturation")
    if missed:
        return "misses " + ", ".join(missed)
    return "goal" if all(value <= goal for _, value, goal, _ in bounds) else "floor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sweeps", nargs="*", help="names of sweeps (default: all)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="loads at the same time")
    arguments = parser.parse_args()
    known = sorted(path.stem for path in REFERENCE.glob("*.csv"))
    for name in arguments.sweeps:
        if name not in known:
            raise SystemExit(f"no sweep {name}; there are {', '.join(known)}")
    results: dict[str, Any] = {}
    for name in arguments.sweeps or known:
        sweep = run(name, arguments.processes)
        figures = sweep.figures()
        figures["verdict"] = judge(figures)
        results[name] = {
            "figures": figures,
            "cpu_s": sweep.cpu_s,
            "reference": [asdict(row) for row in sweep.reference],
            "ours": [asdict(row) for row in sweep.ours],
        }
        f = figures
        print(
            f"{name:26} mean {f['mean_difference']:6.2%}  largest {f['largest_difference']:+6.2%}  "
            f"p99 {f['p99_difference']:+6.1%}  hops {f['hops_difference']:+5.2%}  {f['verdict']}",
            flush=True,
        )
    if not arguments.sweeps:
        from report import write

        write(results, HERE / "validation.json", ROOT / "docs", STEEP, ENOUGH)


if __name__ == "__main__":
    main()
