"""One run of a sweep as a piece of work, and its key: equal keys, equal results.

The key is a digest of everything that results depend on: the resolved scenario (without settings of
execution), the seed, the content of the input files, and the build of the simulator. A job alone has the key
of a scenario with only that job, on the nodes and with the servers that it had beside the others. Points that
differ in other jobs share it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.running import runner
from odonata.sweeps.points import Point

#: Keys of the table `run` that affect results; all others concern execution.
_RUN_KEYS = ("blame", "io_rows", "message_rows", "series_interval", "time_limit", "timeline")

#: Files up to this number of bytes count by content; larger ones by size and time of change.
_READ_UP_TO = 64 << 20


@dataclass(frozen=True)
class Work:
    """A run, or one job of it alone."""

    key: str
    task: runner.Task
    #: The folder for all its tables; None: only the measures for the table of points are kept.
    folder: Path | None = None
    timeout_s: float | None = None

    @property
    def request(self) -> dict[str, Any]:
        """The request to the process that executes it."""
        return {
            "key": self.key,
            "task": asdict(self.task),
            "folder": None if self.folder is None else str(self.folder.resolve()),
            "timeout_s": self.timeout_s,
        }


def run_key(point: Point, seed: int) -> str:
    """The key of a point's run with a seed."""
    return _digest({"scenario": _relevant(point.scenario), "seed": seed, "inputs": _inputs(point.task)})


def same_results(scenario: Mapping[str, Any]) -> str:
    """A digest of a resolved scenario: equal digests, equal results with equal seeds and inputs."""
    return _digest(_relevant(scenario))


def alone_key(point: Point, seed: int, job: str, place: str, sends_for_s: float | None) -> str:
    """The key of a job alone, at its `place` (nodes, servers of its ranks) beside the others."""
    scenario = _relevant(point.scenario)
    number = point.jobs.index(job)
    # Alone, the job waits for no other; its place replaces its placement.
    alone = scenario["jobs"][number] | {"start_after": [], "until": [], "entry": None, "placement": None}
    return _digest(
        {
            "scenario": scenario | {"jobs": [alone]},
            "number": number,
            "place": place,
            "sends_for_s": sends_for_s,
            "seed": seed,
            "inputs": _inputs(point.task),
        }
    )


def run_task(point: Point, seed: int, threads: int | None) -> runner.Task:
    """The run of a point with a seed, on `threads` threads if the scenario leaves that open."""
    overrides = [*point.task.overrides, "run.baselines=false"]
    if threads is not None and point.scenario["run"]["threads"] == "auto":
        overrides.append(f"run.threads={threads}")
    path = point.task.path
    # The process that executes it may run in another folder.
    return replace(
        point.task, overrides=overrides, seed=seed, path=path if path == "<dict>" else os.path.abspath(path)
    )


def places(ranks: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """A digest of the nodes and servers of each job, from rows of the table `ranks`.

    >>> places([{"job": "a", "rank": 0, "node": 3, "server": None}]).keys()
    dict_keys(['a'])
    """
    found: dict[str, list[Any]] = {}
    for row in ranks:
        found.setdefault(row["job"], []).append([row["rank"], row["node"], row["server"]])
    return {job: _digest(sorted(rows, key=lambda row: row[0])) for job, rows in found.items()}


def _relevant(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """A resolved scenario without settings that do not affect results."""
    rest = {key: value for key, value in scenario.items() if key not in ("name", "preset", "seed", "run")}
    return rest | {"run": {key: scenario["run"].get(key) for key in _RUN_KEYS}}


def _digest(content: Any) -> str:
    text = json.dumps([build(), content], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@functools.cache
def build() -> str:
    """The version of the simulator, and a digest of its compiled part, as two builds may share a version."""
    with open(_core.__file__, "rb") as file:
        return f"{_core.__version__} {hashlib.file_digest(file, 'blake2b').hexdigest()[:32]}"


def _inputs(task: runner.Task) -> list[list[str]]:
    """The inputs of the scenario, and a digest of each."""
    # The scenario itself is resolved.
    files = [path for path in task.inputs()[1:] if path.exists()]
    return [[path.name, _content(path)] for path in files]


@functools.cache
def _content(path: Path) -> str:
    """A digest of the content of a file or folder."""
    digest = hashlib.blake2b(digest_size=16)
    found = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    for file in found:
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path)}\0{size}\0".encode())
        if size <= _READ_UP_TO:
            digest.update(file.read_bytes())
        else:
            digest.update(str(file.stat().st_mtime_ns).encode())
    return digest.hexdigest()
