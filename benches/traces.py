"""Records per second of CPU time for inspecting, opening and replaying DUMPI traces.

Each trace is repeated until it has some millions of records. The files lie in a temporary folder, in memory
if possible. The best of three measurements counts. The traces come from real programs and are not part of the
repository: the environment variable ODONATA_REFERENCE names the folder with traces/dumpi.

    ODONATA_REFERENCE=FOLDER .venv/bin/python benches/traces.py

Exit code: 0; 2 if the traces are missing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests/traces"))

import reference

import odonata
from odonata.traces import report as trace_report

MEMORY = Path("/dev/shm")
#: Traces, and their numbers of repetitions.
TRACES = {"petsc-mg3d-27": 50, "df-amg-27": 100, "lammps-peptide-16": 80}


def seconds(work: Callable[[], Any]) -> float:
    """CPU time of all threads, best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def opening(trace: Path) -> float:
    """CPU time to load a scenario with the trace."""
    job = {"name": "traced", "trace": str(trace)}
    return seconds(lambda: odonata.check({"machine": {"torus": {"dims": [4, 4, 4]}}, "jobs": [job]}))


def main() -> int:
    """Prints a line per trace."""
    try:
        found = {name: reference.one("dumpi", name) for name in TRACES}
    except reference.NotThere as error:
        print(error, file=sys.stderr)
        return 2
    folders = {name: folder for name, folder in found.items() if folder is not None}
    if missing := [name for name in TRACES if name not in folders]:
        print(*(reference.absence(f"dumpi/{name}") for name in missing), sep="\n", file=sys.stderr)
        return 2
    print("| trace | records | statistics, M/s | opened, M/s | opened, replayed, written, M/s |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as scratch:
        target = Path(scratch) / "x.program"
        for name, times in TRACES.items():
            trace = Path(scratch) / name
            trace_report.repeat(folders[name], trace, times)
            records = trace_report.info(trace)["total_records"]
            spent = [
                seconds(partial(trace_report.info, trace)),
                # Without the machine, measured with a trace that is a small part of it.
                opening(trace) - opening(folders[name]),
                seconds(partial(trace_report.convert, trace, target, force=True)),
            ]
            rates = " | ".join(f"{records / 1e6 / s:.1f}" for s in spent)
            print(f"| `{name}`, {times} times | {records / 1e6:.2f} M | {rates} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
