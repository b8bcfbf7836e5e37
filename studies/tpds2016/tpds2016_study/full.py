"""The paper's programs with all their ranks and bytes, on a balanced dragonfly: to the end, or partially.

A partial run can be continued. A run records its progress over time beside its folder (NAME.track.csv), so
that its estimate after the first tenth can be compared with its end.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study_tools.cost import commit, machine

import odonata
from tpds2016_study.track import Mark, Track, estimated, read_track, sittings

#: Wall time between two snapshots.
SNAPSHOTS = "5 min"


@dataclass(frozen=True)
class Case:
    """A program at full size."""

    program: str
    ranks: int
    #: The smallest balanced dragonfly for the program: p nodes and p global ports per router, 2p routers in a
    #: group, 2p^2 + 1 groups.
    nodes_per_router: int
    workload: dict[str, Any]
    #: The same with as many ranks and fewer bytes, for comparisons of runs.
    short: dict[str, Any]

    def overrides(self, *, short: bool = False) -> dict[str, Any]:
        """Its changes of dragonfly.toml."""
        p = self.nodes_per_router
        return {
            "machine.dragonfly.groups": 2 * p * p + 1,
            "machine.dragonfly.routers_per_group": 2 * p,
            "machine.dragonfly.nodes_per_router": p,
            "machine.dragonfly.global_ports_per_router": p,
            "jobs.0.ranks": self.ranks,
            "jobs.0.workload": self.short if short else self.workload,
        }


CASES = {
    "amg-full": Case("AMG", 13824, 8, {"amg": {}}, {"amg": {"cycles": 1, "levels": 2, "message": "512 B"}}),
    "multigrid-full": Case(
        "Multigrid",
        110592,
        13,
        {"multigrid": {}},
        {"multigrid": {"exchanges": [1], "points": 2, "allreduces": 1, "broadcasts": 1}},
    ),
    "crystal-router-full": Case(
        "Crystal Router",
        10000,
        8,
        {"crystal-router": {"payload": "33 MB"}},
        {"crystal-router": {"payload": "2 kB", "rounds": 1, "compute": "2.512 ms"}},
    ),
}


@dataclass(frozen=True)
class Full:
    """A run, complete or partial."""

    name: str
    program: str
    ranks: int
    nodes: int
    routing: str
    #: "completed" or "stopped".
    outcome: str
    #: Number of processes that executed it: one, and one for every continuation.
    sittings: int
    threads: int
    #: Bytes that the ranks sent; 0 for a partial run.
    bytes: float
    simulated_s: float
    fraction: float
    events: int
    packet_hops: int
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    #: Its estimate of all events after the first tenth; 0 if unknown.
    estimated_events: float
    estimated_cpu_s: float
    digest: str
    commit: str
    machine: str

    @property
    def off(self) -> tuple[float | None, float | None]:
        """Estimated events and CPU time over the actual ones, minus one; None for a partial run."""
        pairs = ((self.estimated_events, self.events), (self.estimated_cpu_s, self.cpu_s))
        first, second = (
            estimate / found - 1.0 if self.outcome == "completed" and estimate > 0 else None
            for estimate, found in pairs
        )
        return first, second

    @property
    def whole_cpu_s(self) -> float:
        """CPU time of the whole run; for a partial run, the estimate."""
        return self.cpu_s if self.outcome == "completed" else self.cpu_s / max(self.fraction, 1e-9)


def run(file: Path, name: str, out: Path, *, routing: str = "minimal", minutes: float | None = None) -> Full:
    """Runs or continues a case, for `minutes` at most; `file` is dragonfly.toml."""
    case, folder = CASES[name], out / name
    track_file = out / f"{name}.track.csv"
    out.mkdir(parents=True, exist_ok=True)
    goes_on = (out / f".{name}.unfinished").exists()
    track = Track(track_file, None if minutes is None else 60 * minutes, anew=not goes_on)
    overrides = case.overrides() | {
        "network.routing.algorithm": routing,
        "run.checkpoint_interval": SNAPSHOTS,
    }
    results: odonata.Results | None = None
    with contextlib.suppress(odonata.RunSuspended):
        results = odonata.run(
            odonata.Scenario.load(file),
            folder,
            overrides=overrides,
            resume=True,
            force=not goes_on,
            progress=track,
        )
    return row(name, routing, results, read_track(track_file))


def row(name: str, routing: str, results: odonata.Results | None, track: Sequence[Mark]) -> Full:
    """The cost of a run, complete or partial; a run without results was stopped."""
    case = CASES[name]
    p = case.nodes_per_router
    # A very short run has no track.
    last = track[-1] if track else Mark(0.0, 0.0, 0.0, 0.0, 0, 0)
    end = results.run if results else {}
    estimated_events, estimated_cpu_s = estimated(track)
    return Full(
        name=name,
        program=case.program,
        ranks=case.ranks,
        nodes=2 * p * p * (2 * p * p + 1),
        routing=routing,
        outcome=end.get("outcome", "stopped"),
        sittings=sittings(track),
        threads=end.get("threads", os.cpu_count() or 1),
        bytes=float(results.rows("jobs")[0]["bytes_sent"]) if results else 0.0,
        simulated_s=end.get("simulated_s", last.simulated_s),
        fraction=1.0 if results else last.fraction,
        events=end.get("events", last.events),
        packet_hops=end.get("packet_hops", last.packet_hops),
        wall_s=max(end.get("wall_s", 0.0), last.wall_s),
        cpu_s=max(end.get("cpu_s", 0.0), last.cpu_s),
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        estimated_events=estimated_events,
        estimated_cpu_s=estimated_cpu_s,
        digest=end.get("digest", ""),
        commit=commit(),
        machine=machine(),
    )
