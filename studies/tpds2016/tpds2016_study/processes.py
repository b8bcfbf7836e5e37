"""The paper's programs with all their ranks and fewer bytes, by one process and by several."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from odonata.base.toml_text import value_text
from tpds2016_study.full import CASES


@dataclass(frozen=True)
class Split:
    """A run."""

    program: str
    ranks: int
    #: Processes of the simulator; each has one thread.
    processes: int
    events: int
    packet_hops: int
    wall_s: float
    #: CPU time of all processes together.
    cpu_s: float
    #: Largest memory of a process.
    peak_rss_bytes: int
    waiting: float
    digest: str


def launcher() -> str | None:
    """mpirun of the MPI library of this build: MPIRUN, or that of MPICH or Open MPI."""
    named = os.environ.get("MPIRUN")
    return named or next(filter(None, map(shutil.which, ("mpirun.mpich", "mpirun.openmpi", "mpirun"))), None)


def measure(file: Path, mpirun: str, names: tuple[str, ...] = tuple(CASES)) -> list[Split]:
    """Each program by one process and by two; `file` is dragonfly.toml."""
    return [run(file, name, processes, mpirun) for name in names for processes in (1, 2)]


def run(file: Path, name: str, processes: int, mpirun: str) -> Split:
    """Runs one case; raises the reason of a failure."""
    case = CASES[name]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        done = subprocess.run(
            command(file, name, processes, mpirun, out), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{name} on {processes} processes: {done.stderr or done.stdout}")
        found = json.loads((out / "run.json").read_text(encoding="utf-8"))
    if found["processes"] != processes:
        raise SystemExit(f"{name}: {processes} processes were asked for, {found['processes']} ran")
    each = found["schedule"]["processes"]
    return Split(
        program=case.program,
        ranks=case.ranks,
        processes=processes,
        events=found["events"],
        packet_hops=found["packet_hops"],
        wall_s=found["wall_s"],
        cpu_s=sum(one["cpu_s"] for one in each),
        peak_rss_bytes=max(one["peak_rss_bytes"] for one in each),
        waiting=found["schedule"]["waiting_share"] or 0.0,
        digest=found["digest"],
    )


def command(file: Path, name: str, processes: int, mpirun: str, out: Path) -> list[str]:
    """The command line: without mpirun for one process."""
    settings = CASES[name].overrides(short=True)
    words = [sys.executable, "-m", "odonata", "run", str(file), "-o", str(out), "--quiet", "--threads", "1"]
    for key, value in settings.items():
        words += ["--set", f"{key}={value_text(value)}"]
    return [*([mpirun, "-n", str(processes)] if processes > 1 else []), *words]
