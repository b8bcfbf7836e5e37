"""Darshan logs replayed on phase II: throughput beside the log's own (figure 14), and two jobs at once.

The throughput of a log is that of its ranks while they read and write: bytes of both over the mean time that
a rank was in POSIX reads and writes (POSIX_F_READ_TIME, POSIX_F_WRITE_TIME).
"""

from __future__ import annotations

import itertools
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odonata

STUDY = Path(__file__).parents[1]
#: The machine of sweeps/phase2.toml.
PHASE2 = {"machine.dragonfly-2d.groups": 23, "machine.dragonfly-2d.cables": 8}
#: Ranks per node, as in the runs of IOR.
PER_NODE = 4
#: Logs that are replayed at once, if both exist.
PAIRS = (("codes-ior-shared-4", "codes-ior-uniq-4"), ("mpi-io-test-32-dxt", "ior-daos-posix-16"))


@dataclass(frozen=True)
class Replay:
    """A log that was replayed, alone or beside another one."""

    log: str
    ranks: int
    #: Bytes read and written.
    bytes: float
    #: Throughput in the log, and in the replay of it alone, bytes/s.
    logged: float
    simulated: float
    #: The log beside which it was replayed, and its time in I/O there over that alone; "" and 1 without one.
    beside: str
    slowdown: float


@dataclass(frozen=True)
class Log:
    """A log as a program."""

    name: str
    program: Path
    ranks: int
    bytes: float
    throughput: float


def of_logs(files: Sequence[Path]) -> Iterator[Replay]:
    """Replays each log, then pairs at once."""
    with tempfile.TemporaryDirectory() as scratch:
        converted = {log.name: log for file in files for log in [convert(file, Path(scratch))]}
        alone = {}
        for log in converted.values():
            alone[log.name] = run([log])[log.name]
            yield replay(log, alone[log.name])
        for pair in PAIRS:
            if pair[0] in converted and pair[1] in converted:
                together = run([converted[name] for name in pair])
                for name, beside in itertools.permutations(pair):
                    slowdown = together[name] / alone[name]
                    yield replay(converted[name], alone[name], beside, slowdown)


def convert(file: Path, scratch: Path) -> Log:
    """The log as a program."""
    info: Any = odonata.trace_info(file)
    posix = info["modules"]["POSIX"]
    program = scratch / f"{file.stem}.program"
    odonata.trace_convert(file, program)
    moved = float(sum(posix["counters"][f"POSIX_BYTES_{what}"]["sum"] for what in ("READ", "WRITTEN")))
    busy = sum(posix["fcounters"][f"POSIX_F_{what}_TIME"]["sum"] for what in ("READ", "WRITE"))
    return Log(file.stem, program, info["nranks"], moved, moved / (busy / info["nranks"]))


def run(logs: Sequence[Log]) -> dict[str, float]:
    """The mean time of a rank in I/O, for each of these simultaneous jobs."""
    scenario = tomllib.loads((STUDY / "scenario.toml").read_text(encoding="utf-8"))
    scenario["jobs"] = [
        {"name": log.name, "trace": str(log.program), "ranks_per_node": PER_NODE, "compute_scale": 0.0}
        for log in logs
    ]
    results = odonata.run(scenario, overrides={**PHASE2, "run.threads": 1})
    return {row["job"]: row["io_s"] for row in results.rows("jobs")}


def replay(log: Log, io_s: float, beside: str = "", slowdown: float = 1.0) -> Replay:
    """A row."""
    return Replay(log.name, log.ranks, log.bytes, log.throughput, log.bytes / io_s, beside, slowdown)
