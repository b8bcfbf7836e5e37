"""The cost of a simulation over schedulers and threads (figure 17), on the small dragonfly."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odonata

#: The programs of sweeps/dragonfly.toml that are used here.
PROGRAMS: dict[str, dict[str, Any]] = {
    "AMG": {"ranks": 1728, "workload": {"amg": {"cycles": 1}}},
    "Crystal Router": {
        "ranks": 1250,
        "workload": {"crystal-router": {"payload": "275 kB", "rounds": 1, "compute": "2.512 ms"}},
    },
}
SCHEDULERS = (("sequential", 1), ("conservative", 2), ("optimistic", 2))


@dataclass(frozen=True)
class Cost:
    """A run."""

    program: str
    scheduler: str
    threads: int
    wall_s: float
    cpu_s: float
    events: int
    #: Share of the handled events that were committed; 1 without rollbacks.
    efficiency: float
    #: Share of the threads' time spent waiting.
    waiting: float
    digest: str


def measure(file: Path) -> list[Cost]:
    """Each program on each scheduler; `file` is dragonfly.toml."""
    return [
        run(file, program, scheduler, threads) for program in PROGRAMS for scheduler, threads in SCHEDULERS
    ]


def run(file: Path, program: str, scheduler: str, threads: int) -> Cost:
    """One of them."""
    scenario = odonata.Scenario.load(file)
    results = odonata.run(
        scenario,
        overrides={
            "run.scheduler": scheduler,
            "run.threads": threads,
            **{f"jobs.0.{key}": value for key, value in PROGRAMS[program].items()},
        },
    )
    schedule = results.run["schedule"]
    return Cost(
        program=program,
        scheduler=results.run["scheduler"],
        threads=results.run["threads"],
        wall_s=results.run["wall_s"],
        cpu_s=results.run["cpu_s"],
        events=results.run["events"],
        efficiency=(schedule.get("optimistic") or {}).get("efficiency", 1.0),
        waiting=schedule.get("waiting_share") or 0.0,
        digest=results.run["digest"],
    )
