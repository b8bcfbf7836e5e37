"""The speedup of threads: every scheduler on every number of threads.

Every run has a process of its own, so that none profits from warm memory or pays for another's. A round runs
each configuration once, and each round starts with another one. The result is the median over the rounds. On
computers of varying speed, such as virtual machines, all configurations are then affected alike.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import duration, factor, share, size
from odonata.benchmarks.bench import machine
from odonata.errors import InputError, option
from odonata.running.baselines import cores

#: The schedulers that use more than one thread.
PARALLEL = ("conservative", "optimistic")


@dataclass
class _Configuration:
    case: str
    scheduler: str
    threads: int
    #: The figures of the core, one set per completed round.
    runs: list[dict[str, Any]] = field(default_factory=list)
    #: The reason for missing rounds.
    failure: str | None = None


def thread_counts(text: str | None) -> list[int]:
    """The numbers of threads in `--threads`, ascending; by default powers of two, and the number of cores.

    >>> thread_counts("4,1, 2,2")
    [1, 2, 4]
    """
    if text is None:
        most = cores()
        return sorted({1, most, *(2**power for power in range(most.bit_length()) if 2**power <= most)})
    try:
        counts = sorted({int(part) for part in text.split(",")})
    except ValueError:
        counts = [0]
    if counts[0] < 1:
        raise InputError(
            "no numbers of threads",
            key=option("threads"),
            value=text,
            expected="whole numbers from 1, such as 1,2,4",
        )
    return counts


def measure(
    names: list[str], *, quick: bool, threads: list[int], rounds: int, announce: bool
) -> dict[str, Any]:
    """Runs the cases `names` (all, if empty); returns rows of figures, machine and version."""
    known = _core.bench_parallel_names()
    for name in names:
        if name not in known:
            raise InputError(
                "no such case for several threads",
                key=option("name", "NAME"),
                value=name,
                expected="one of " + ", ".join(known),
            )
    rows = []
    for name in names or known:
        all_of_case = [_Configuration(name, "sequential", 1)]
        all_of_case += [_Configuration(name, one, count) for one in PARALLEL for count in threads]
        for number in range(rounds):
            if announce:
                print(f"measuring {name}, round {number + 1} of {rounds} ...", file=sys.stderr)
            first = number % len(all_of_case)
            for configuration in all_of_case[first:] + all_of_case[:first]:
                _run(configuration, quick)
        rows += _rows(all_of_case)
    return {
        "rows": rows,
        "quick": quick,
        "rounds": rounds,
        "machine": machine() | {"cores_allowed": cores()},
        "version": _core.__version__,
    }


def wrong(report: dict[str, Any]) -> list[str]:
    """Errors: failed runs, and results that differ from those of the sequential scheduler."""
    found = []
    for row in report["rows"]:
        place = f"{row['case']}, {row['scheduler']}, {row['threads']} threads"
        if row["failure"] is not None:
            found.append(f"{place}: {row['failure']}")
        elif row["digest_equal"] is False:
            found.append(f"{place}: the results differ from those of the sequential scheduler")
    return found


def show(report: dict[str, Any]) -> None:
    """Prints `report`: a table for each case."""
    out = console()
    names = list(dict.fromkeys(row["case"] for row in report["rows"]))
    for name in names:
        rows = [row for row in report["rows"] if row["case"] == name]
        say(out, name)
        page = table(
            "scheduler", "threads", "time", "CPU time", "speed-up", "efficiency", "memory", "results", left=1
        )
        for row in rows:
            if row["failure"] is not None:
                page.add_row(row["scheduler"], str(row["threads"]), *["-"] * 5, "failed")
                continue
            page.add_row(
                _scheduler(row),
                str(row["threads"]),
                duration(row["wall_s"]),
                duration(row["cpu_s"]),
                "-" if row["speed_up"] is None else factor(row["speed_up"]),
                "-" if row["efficiency"] is None else share(row["efficiency"], 1.0),
                size(row["peak_rss_bytes"]),
                {True: "equal", False: "DIFFER", None: "-"}[row["digest_equal"]],
            )
        show_table(out, page)
        say(out, "")
    host = report["machine"]
    runs = "run" if report["rounds"] == 1 else "runs"
    explain(
        out,
        f"Time on the clock, median of {report['rounds']} {runs}; speed-up over the fastest run on one "
        "thread, efficiency per thread; results against those of the sequential scheduler.",
        f"on {host['cpu']}, {host['cores_allowed']} of {host['cores']} cores; odonata {report['version']}",
    )


def _scheduler(row: dict[str, Any]) -> str:
    """The requested scheduler, and the actual one if it differs.

    >>> row = {"scheduler": "conservative", "threads": 4}
    >>> _scheduler(row | {"ran": {"scheduler": "conservative", "threads": 2}})
    'conservative (ran on 2)'
    >>> _scheduler(row | {"ran": {"scheduler": "sequential", "threads": 1}})
    'conservative (ran sequential)'
    """
    ran, asked = row["ran"], str(row["scheduler"])
    if ran["scheduler"] != asked:
        return f"{asked} (ran {ran['scheduler']})"
    return asked if ran["threads"] == row["threads"] else f"{asked} (ran on {ran['threads']})"


def _run(configuration: _Configuration, quick: bool) -> None:
    """One run in a process of its own; a configuration that has failed is not run again."""
    if configuration.failure is not None:
        return
    settings = {"run.scheduler": configuration.scheduler, "run.threads": configuration.threads}
    overrides = [f"{key}={value}" for key, value in settings.items()]
    package = str(Path(__file__).parents[2])
    search = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        # -P: a json.py in the user's folder must not be imported.
        [sys.executable, "-P", "-m", "odonata.benchmarks.worker"],
        input=json.dumps({"case": configuration.case, "quick": quick, "overrides": overrides}),
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": search},
        check=False,
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        configuration.failure = f"its process ended with {ended}" + (f": {words[-1]}" if words else "")
        return
    figures = json.loads(done.stdout)
    if "error" in figures:
        configuration.failure = figures["error"]
    elif figures["outcome"] != "completed":
        configuration.failure = f"it ended as {figures['outcome']}"
    else:
        configuration.runs.append(figures)


def _rows(configurations: list[_Configuration]) -> list[dict[str, Any]]:
    """A row for every configuration of a case; the first one is the sequential scheduler."""
    walls = {
        (one.scheduler, one.threads): statistics.median(run["wall_s"] for run in one.runs)
        for one in configurations
        if one.failure is None
    }
    alone = min((wall for (_, threads), wall in walls.items() if threads == 1), default=None)
    reference = {run["digest"] for run in configurations[0].runs}
    rows = []
    for one in configurations:
        row: dict[str, Any] = {"case": one.case, "scheduler": one.scheduler, "threads": one.threads}
        if one.failure is not None:
            rows.append(row | {"failure": one.failure})
            continue
        wall_s = walls[one.scheduler, one.threads]
        speed_up = None if alone is None else alone / wall_s
        digests = {run["digest"] for run in one.runs}
        rows.append(
            row
            | {
                "failure": None,
                "ran": {key: one.runs[0][key] for key in ("scheduler", "threads")},
                "wall_s": wall_s,
                "cpu_s": statistics.median(run["cpu_s"] for run in one.runs),
                "speed_up": speed_up,
                "efficiency": None if speed_up is None else speed_up / one.threads,
                "peak_rss_bytes": max(run["peak_rss_bytes"] for run in one.runs),
                "events": one.runs[0]["events"],
                "packet_hops": one.runs[0]["packet_hops"],
                "digest": one.runs[0]["digest"],
                # One digest in all rounds, equal to that of the sequential scheduler; None if that failed.
                "digest_equal": digests == reference and len(digests) == 1 if reference else None,
                "walls_s": [run["wall_s"] for run in one.runs],
            }
        )
    return rows
