"""The measures of the claims about programs: a row per run, and the distributions that the paper draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from study_tools import parquet

import odonata

PROGRAMS = {"amg": "AMG", "multigrid": "Multigrid", "crystal-router": "Crystal Router"}
#: Names in the paper.
ROUTINGS = {"minimal": "minimal", "valiant": "non-minimal", "ugal": "adaptive"}
#: Stored points of a distribution.
SHARES = np.linspace(0.0, 1.0, 101)


@dataclass(frozen=True)
class Run:
    """A program on a machine."""

    program: str
    ranks: int
    #: "dragonfly", or "3D", "5D", ... for a torus.
    machine: str
    #: Sizes: "51 x 10 x 5" (groups, routers, nodes), "12 x 12 x 12".
    shape: str
    nodes: int
    #: "minimal", "non-minimal", "adaptive"; for a torus "dimension order".
    routing: str
    #: Bytes sent by the ranks.
    bytes: float
    #: Mean over ranks of their packets' hops (routers visited minus one) and latency.
    hops: float
    latency_s: float
    #: Longest time that a rank was blocked in MPI.
    communication_s: float
    #: Share of packets that took a non-minimal path.
    nonminimal: float
    #: For links between routers in a group (local), between groups (global), and from nodes to routers
    #: (terminal): share whose buffers were ever full; the time in which they were, mean over all links of the
    #: class and over those that were ever full, and the longest.
    terminal_busy: float
    terminal_mean_s: float
    local_busy: float
    local_mean_s: float
    local_mean_of_busy_s: float
    local_longest_s: float
    global_busy: float
    global_mean_s: float
    global_mean_of_busy_s: float
    global_longest_s: float
    #: Cost of the run.
    packet_hops: int
    events: int
    cpu_s: float
    peak_rss_bytes: int
    #: Share of the links of a class that are in use: that carry at least a tenth of the mean of the class.
    local_used: float = 0.0
    global_used: float = 0.0

    @property
    def name(self) -> str:
        """program-ranks-machine-routing, or program-ranks-machine-shape for a torus."""
        rest = self.routing if self.machine == "dragonfly" else self.shape.replace(" ", "")
        return f"{self.program}-{self.ranks}-{self.machine}-{rest}"


@dataclass(frozen=True)
class Point:
    """A point of a cumulative distribution: a share of the ranks or links has at most the value."""

    #: Name of the run.
    run: str
    #: "hops", "latency", "communication" (of ranks), "terminal", "local", "global" (busy time of links).
    what: str
    share: float
    value: float


#: A run with its distributions, and several.
One = tuple[Run, list[Point]]
Measured = tuple[list[Run], list[Point]]


def of_sweeps(folders: Iterable[Path]) -> Measured:
    """Every successful run of these sweeps."""
    runs, points = [], []
    for folder in folders:
        for row in odonata.Sweep.load(folder).table.to_pylist():
            if row["outcome"] == "completed":
                run, found = of_results(odonata.load(folder / row["folder"]))
                runs.append(run)
                points += found
    return runs, points


def of_results(results: odonata.Results) -> One:
    """A run with its distributions, from its tables."""
    scenario, job = results.run["scenario"], results.rows("jobs")[0]
    machine, shape = machine_of(scenario["machine"])
    program = next(iter(scenario["jobs"][0]["workload"]))
    ranks = columns(results, "ranks", ["hops_mean", "packet_latency_mean_s", "mpi_s", "packets_received"])
    links = columns(results, "links", ["class", "source_kind", "target_kind", "bytes", "saturation_s"])
    full = {
        "terminal": links["saturation_s"][links["source_kind"] == "node"],
        "local": links["saturation_s"][links["class"] == "local"],
        "global": links["saturation_s"][links["class"] == "global"],
    }
    has_received = ranks["packets_received"] > 0
    hops = ranks["hops_mean"][has_received] - 1.0
    latency = ranks["packet_latency_mean_s"][has_received]
    routing = (
        "dimension order" if machine != "dragonfly" else ROUTINGS[scenario["network"]["routing"]["algorithm"]]
    )
    run = Run(
        program=PROGRAMS[program],
        ranks=job["ranks"],
        machine=machine,
        shape=shape,
        nodes=results.run["nodes"],
        routing=routing,
        bytes=float(job["bytes_sent"]),
        hops=float(hops.mean()),
        latency_s=float(latency.mean()),
        communication_s=job["mpi_max_s"],
        nonminimal=job["mpi_packets_nonminimal"] / job["mpi_packets"],
        terminal_busy=busy(full["terminal"]),
        terminal_mean_s=mean(full["terminal"]),
        local_busy=busy(full["local"]),
        local_mean_s=mean(full["local"]),
        local_mean_of_busy_s=mean(full["local"][full["local"] > 0]),
        local_longest_s=longest(full["local"]),
        global_busy=busy(full["global"]),
        global_mean_s=mean(full["global"]),
        global_mean_of_busy_s=mean(full["global"][full["global"] > 0]),
        global_longest_s=longest(full["global"]),
        packet_hops=results.run["packet_hops"],
        events=results.run["events"],
        cpu_s=results.run["cpu_s"],
        peak_rss_bytes=results.run["peak_rss_bytes"],
        local_used=used(links["bytes"][links["class"] == "local"]),
        global_used=used(links["bytes"][links["class"] == "global"]),
    )
    drawn = {"hops": hops, "latency": latency, "communication": ranks["mpi_s"], **full}
    return run, [
        Point(run.name, what, float(share), float(value))
        for what, values in drawn.items()
        if len(values)
        for share, value in zip(SHARES, np.quantile(values, SHARES), strict=True)
    ]


def name_of(results: odonata.Results) -> str:
    """The name of a run, from its tables."""
    return of_results(results)[0].name


def machine_of(machine: dict[str, Any]) -> tuple[str, str]:
    """Family and sizes."""
    if machine.get("torus"):
        dims = machine["torus"]["dims"]
        return f"{len(dims)}D", " x ".join(map(str, dims))
    sizes = machine["dragonfly"]
    return "dragonfly", " x ".join(
        str(sizes[key]) for key in ("groups", "routers_per_group", "nodes_per_router")
    )


def columns(results: odonata.Results, table: str, names: Sequence[str]) -> dict[str, Any]:
    """Columns of a table as arrays."""
    found = results.table(table)
    return {name: found[name].to_numpy() for name in names}


def busy(times: Any) -> float:
    """Share of links whose buffers were ever full."""
    return float((times > 0).mean()) if len(times) else 0.0


def used(sent: Any) -> float:
    """Share of links that carry at least a tenth of the mean.

    >>> used(np.array([0, 1, 10, 29]))
    0.75
    """
    return float((10 * sent >= sent.mean()).mean()) if len(sent) and sent.any() else 0.0


def mean(times: Any) -> float:
    return float(times.mean()) if len(times) else 0.0


def longest(times: Any) -> float:
    return float(times.max()) if len(times) else 0.0


def read(folder: Path, name: str, kind: type) -> list[Any]:
    """Stored rows of one kind."""
    return parquet.read(folder / f"{name}.parquet", kind)
