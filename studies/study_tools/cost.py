"""The cost of runs at full size: a row per run, with the machine that executed it."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import odonata
from study_tools import parquet
from study_tools.claims import number
from study_tools.table import Table


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    #: Name of the run in the tables of its study.
    run: str
    threads: int
    events: int
    packet_hops: int
    #: Elapsed and CPU time, seconds.
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int
    digest: str
    #: Commit and day of the run, and the processor with the number of cores that it could use.
    commit: str
    date: str
    machine: str


def of_results(run: str, results: odonata.Results) -> Cost:
    """The cost of a run that has just ended on this machine."""
    end = results.run
    return Cost(
        run=run,
        threads=end["threads"],
        events=end["events"],
        packet_hops=end["packet_hops"],
        wall_s=end["wall_s"],
        cpu_s=end["cpu_s"],
        peak_rss_bytes=end["peak_rss_bytes"],
        digest=end["digest"],
        commit=commit(),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        machine=machine(),
    )


def of_sweep(folder: Path, name: Callable[[odonata.Results], str]) -> list[Cost]:
    """The cost of every successful run of a sweep that has just ended on this machine."""
    rows = odonata.Sweep.load(folder).table.to_pylist()
    folders = dict.fromkeys(row["folder"] for row in rows if row["outcome"] == "completed")
    found = [odonata.load(folder / one) for one in folders]
    return [of_results(name(results), results) for results in found]


def keep(file: Path, costs: Sequence[Cost]) -> None:
    """Adds rows to the stored ones; a run that is stored already is replaced."""
    before = stored(file)
    rows = {cost.run: cost for cost in (*before, *costs)}
    parquet.write(file, Cost, rows.values())


def stored(file: Path) -> list[Cost]:
    """The stored rows, if there are any."""
    return parquet.read(file, Cost) if file.exists() else []


def table(costs: Sequence[Cost]) -> Table:
    """A row per run."""
    rows = [
        [
            cost.run,
            number(cost.packet_hops / 1e6, "M"),
            number(cost.events / 1e6, "M"),
            number(cost.cpu_s, "s"),
            number(cost.wall_s, "s"),
            number(cost.peak_rss_bytes / 1e6, "MB"),
            f"`{cost.digest[:8]}`",
            f"{cost.date}, `{cost.commit}`",
            cost.machine,
        ]
        for cost in costs
    ]
    header = ["run", "packet-hops", "events", "CPU", "elapsed", "peak memory", "digest", "when", "machine"]
    return Table("", header, rows)


def commit() -> str:
    """The current commit."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def machine() -> str:
    """The processor, and the number of its cores that this process may use."""
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores"
