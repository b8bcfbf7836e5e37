"""Replays the AMG trace of 27 ranks on the dragonfly of 1,056 nodes, under three routings.

The trace (DOE Design Forward, algebraic multigrid, one solve, recorded on a Cray XE6) is not part of the
repository: the environment variable ODONATA_REFERENCE names the folder with traces/dumpi/df-amg-27. Each rank
repeats it 100 times, once with the recorded computation and once with none. The machine is the preset
"mfnetsim".

It prints the table of README.md. With the default options it also writes data/routings.csv and draws
docs/figures/amg.svg. With --stored it runs nothing and uses data/routings.csv.

Exit code: 0; 1 if a run fails; 2 if the trace is missing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "tests/traces"))
# study_tools, which all studies share.
sys.path.append(str(Path(__file__).parents[1]))

import reference
from matplotlib.figure import Figure
from study_tools import figures
from study_tools.figures import Drawing

import odonata
from odonata.base.wording import duration

DATA = Path(__file__).parent / "data" / "routings.csv"
REPEAT, PLACEMENT = 100, "random"
ROUTINGS = ("minimal", "valiant", "progressive-adaptive")

HEAD = (
    "| computation | routing | communication time, mean of ranks | hops, mean | not minimal "
    "| packet latency, mean | 99% | largest |\n|---|---|---:|---:|---:|---:|---:|---:|"
)


#: Computation of the runs -> `compute_scale`.
COMPUTATIONS = {"as recorded": 1.0, "none": 0.0}
LATENCIES = {"mean": "mean", "p99": "99%", "max": "largest"}

Row = dict[str, Any]


def run(job: dict[str, Any], computation: str, routing: str) -> Row:
    """Runs one combination."""
    job = {**job, "compute_scale": COMPUTATIONS[computation]}
    scenario = {"preset": "mfnetsim", "network": {"routing": {"algorithm": routing}}, "jobs": [job]}
    [found] = odonata.run(scenario).rows("jobs")
    return {
        "computation": computation,
        "routing": routing,
        "communication_s": found["mpi_s"],
        "hops_mean": found["mpi_hops_mean"],
        "nonminimal_share": found["mpi_packets_nonminimal"] / found["mpi_packets"],
        **{f"latency_{which}_s": found[f"mpi_packet_latency_{which}_s"] for which in LATENCIES},
    }


def line(row: Row) -> str:
    """A line of the table."""
    cells = [
        row["computation"],
        row["routing"],
        duration(row["communication_s"]),
        f"{row['hops_mean']:.2f}",
        f"{row['nonminimal_share']:.1%}",
        *(duration(row[f"latency_{which}_s"]) for which in LATENCIES),
    ]
    return "| " + " | ".join(cells) + " |"


def stored() -> list[Row]:
    """The stored rows."""
    names = ("computation", "routing")
    with DATA.open(newline="", encoding="utf-8") as file:
        return [
            {key: value if key in names else float(value) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def store(rows: list[Row]) -> None:
    """Stores the rows."""
    with DATA.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def figure() -> Figure:
    """Communication time over that of minimal routing, and packet latency up to the largest, by routing."""
    found = {(row["computation"], row["routing"]): row for row in stored()}
    picture, (times, latencies) = figures.panels(3.3, 2, width_ratios=(1, 1.25))
    for turn, computation in enumerate(COMPUTATIONS):
        color = figures.COLORS[turn]
        # Filled as recorded, open without computation.
        fill = color if turn == 0 else "white"
        for place, routing in enumerate(ROUTINGS):
            row = found[computation, routing]
            y = place + 0.4 * (turn - 0.5)
            seconds = row["communication_s"]
            ratio = seconds / found[computation, "minimal"]["communication_s"]
            times.barh(y, ratio, 0.34, facecolor=fill, edgecolor=color)
            times.annotate(duration(seconds), (ratio, y), (4, 0), textcoords="offset points", va="center")
            ends = [1e6 * row[f"latency_{which}_s"] for which in LATENCIES]
            latencies.plot(ends, [y] * len(ends), color=color, linewidth=1)
            for marker, end in zip(figures.MARKERS, ends, strict=False):
                latencies.plot(end, y, marker, color=color, markerfacecolor=fill)
        times.fill_between([], [], facecolor=fill, edgecolor=color, label=f"computation: {computation}")
    for marker, label in zip(figures.MARKERS, LATENCIES.values(), strict=False):
        times.plot([], [], marker, color="black", fillstyle="none", label=f"latency: {label}")
    names = [routing.replace("-", "-\n") for routing in ROUTINGS]
    figures.rows(times, names)
    figures.rows(latencies, names)
    latencies.tick_params(labelleft=False)
    times.set_xlim(0, 1.35)
    times.set_xlabel("relative to minimal routing")
    times.set_title("Communication time")
    latencies.set_xscale("log")
    latencies.set_xticks([0.7, 1, 2, 3, 5, 10], ["0.7", "1", "2", "3", "5", "10"])
    latencies.set_xticks([], minor=True)
    latencies.set_xlabel("packet latency, us")
    latencies.set_title("Packet latency: mean, 99% and largest")
    figures.legend(picture, times, 3)
    return picture


FIGURE = Drawing("amg", figure)


def run_all(path: Path, repeat: int, placement: str) -> Iterator[Row]:
    """Runs all combinations."""
    job = {"name": "amg", "trace": str(path), "repeat": repeat, "placement": placement}
    for computation in COMPUTATIONS:
        for routing in ROUTINGS:
            yield run(job, computation, routing)


def main() -> int:
    """Prints the table, line by line as the runs end."""
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--repeat", type=int, default=REPEAT, metavar="N", help="how often the trace is done [100]"
    )
    parser.add_argument(
        "--placement", default=PLACEMENT, choices=("random", "contiguous"), help="of the ranks [random]"
    )
    parser.add_argument("--stored", action="store_true", help="run nothing; use the stored results")
    arguments = parser.parse_args()
    if arguments.stored:
        print("\n".join([HEAD, *map(line, stored())]))
        FIGURE.write()
        return 0
    try:
        path = reference.one("dumpi", "df-amg-27")
    except reference.NotThere as error:
        print(error, file=sys.stderr)
        return 2
    if path is None:
        print(reference.absence("dumpi/df-amg-27"), file=sys.stderr)
        return 2
    rows = []
    print(HEAD, flush=True)
    for row in run_all(path, arguments.repeat, arguments.placement):
        print(line(row), flush=True)
        rows.append(row)
    if (arguments.repeat, arguments.placement) == (REPEAT, PLACEMENT):
        store(rows)
        FIGURE.write()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except odonata.RunFailed as error:
        sys.exit(f"failed: {error}")
