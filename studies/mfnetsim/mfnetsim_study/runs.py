"""Runs the scenarios of the study, and reuses results of this build."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odonata
from odonata import _core

STUDY = Path(__file__).resolve().parents[1]

#: The origin of a result, in a file beside its run.json.
ORIGIN_FILE = "study.json"

PLACEMENTS = ("cont", "rand")
ROUTINGS = ("min", "par")
BASELINES = ("checkpoint", "cosmo", "milc", "nekbone")
MIXES = ("wkld2", "wkld3")

#: All runs, cheapest workloads first.
ALL = tuple(
    f"{place}-{route}-{load}" for load in (*BASELINES, *MIXES) for route in ROUTINGS for place in PLACEMENTS
)

#: Named sets of runs. "quick": every application once or twice, without the two long mixes.
SETS: dict[str, tuple[str, ...]] = {
    "quick": (
        "cont-min-checkpoint",
        "rand-min-checkpoint",
        "cont-min-cosmo",
        "rand-min-cosmo",
        "rand-min-milc",
        "rand-min-nekbone",
    ),
    "baselines": tuple(
        name for name in ALL if name.split("-")[1] == "min" and name.split("-")[2] in BASELINES
    ),
    "stored": tuple(
        name
        for name in ALL
        if name.split("-")[2] == "wkld2" or (name.split("-")[1] == "min" and name.split("-")[2] in BASELINES)
    ),
    "all": ALL,
}

INTERRUPTED = 130


#: With --json progress goes to standard error and only run.json, which the folder has too, to standard
#: output; simultaneous runs would otherwise overwrite each other's progress.
QUIET = {True: ("--quiet",), False: ("--json",)}


@dataclass(frozen=True)
class Kind:
    """A family of runs: the folder with its scenarios and node lists."""

    scenarios: Path
    nodes: Path
    names: tuple[str, ...]

    def scenario(self, name: str) -> Path:
        """The scenario of a run."""
        return self.scenarios / f"{name}.toml"


#: The runs as they were published.
PUBLISHED = Kind(STUDY / "scenarios", STUDY / "nodes", ALL)
#: The mixes as the paper describes them, each with its baselines.
PAPER = Kind(
    STUDY / "paper",
    STUDY / "paper" / "nodes",
    tuple(f"{place}-{route}-{load}" for load in MIXES for route in ROUTINGS for place in PLACEMENTS),
)


@dataclass(frozen=True)
class Done:
    """A run that has ended, now or earlier."""

    name: str
    folder: Path
    reused: bool
    #: The reason for missing results; empty if there are results.
    failure: str = ""


def expand(words: Sequence[str]) -> list[str]:
    """Run names from names and names of sets, each once; raises `ValueError` for others."""
    names: list[str] = []
    for word in words:
        if word not in SETS and word not in ALL:
            raise ValueError(f"{word!r} is neither a run nor one of {', '.join(SETS)}")
        names += SETS.get(word, (word,))
    return list(dict.fromkeys(names))


def scenario(name: str) -> Path:
    """The scenario of a published run."""
    return PUBLISHED.scenario(name)


def origin(name: str, kind: Kind = PUBLISHED, overrides: Sequence[str] = ()) -> dict[str, str]:
    """The inputs of a run's results: scenario, node lists, version and build of the simulator.

    The version alone does not suffice: between two releases the model changes and the version does not.
    """
    digest = hashlib.sha256(kind.scenario(name).read_bytes())
    for nodes in sorted(kind.nodes.glob("*.csv")):
        digest.update(nodes.read_bytes())
    for override in overrides:
        digest.update(override.encode() + b"\n")
    core = hashlib.sha256(Path(str(_core.__file__)).read_bytes())
    return {"input": digest.hexdigest(), "version": odonata.__version__, "build": core.hexdigest()}


def usable(
    name: str, folder: Path, *, any_build: bool, kind: Kind = PUBLISHED, overrides: Sequence[str] = ()
) -> bool:
    """Whether `folder` holds the completed run `name`, from these inputs and this build (or any build)."""
    made_from = _read(folder / ORIGIN_FILE)
    wanted = origin(name, kind, overrides)
    keys = ("input", "version") if any_build else tuple(wanted)
    same = bool(made_from) and all(made_from.get(key) == wanted[key] for key in keys)
    return same and _read(folder / "run.json").get("outcome") == "completed"


def perform(
    names: Sequence[str],
    results: Path,
    *,
    fresh: bool = False,
    any_build: bool = False,
    at_once: int = 1,
    processes: int | None = None,
    kind: Kind = PUBLISHED,
    overrides: Sequence[str] = (),
    announce: Callable[[str], None] = print,
) -> list[Done]:
    """Runs everything without a usable result in `results`, `at_once` runs side by side.

    `processes` limits the simultaneous processes of a run and its baselines; `overrides` are settings
    (`KEY=VALUE`) for all scenarios.
    """

    def one(name: str) -> Done:
        folder = results / name
        if not fresh and usable(name, folder, any_build=any_build, kind=kind, overrides=overrides):
            announce(f"{name}: results are there")
            return Done(name, folder, reused=True)
        announce(f"{name}: running")
        arguments = [word for override in overrides for word in ("--set", override)]
        arguments += ["--processes", str(processes)] if processes else []
        made_from = origin(name, kind, overrides)
        return _run(name, folder, kind.scenario(name), made_from, [*arguments, *QUIET[at_once > 1]])

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        try:
            return list(pool.map(one, names))
        except KeyboardInterrupt:
            # Running ones receive the signal themselves; waiting ones must not start.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _run(name: str, folder: Path, file: Path, made_from: dict[str, str], arguments: Sequence[str]) -> Done:
    # A process of its own, for the CPU time and peak memory of this run alone.
    command = [sys.executable, "-m", "odonata", "run", str(file), "-o", str(folder), "--force", *arguments]
    code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code != 0:
        outcome = _read(folder / "run.json").get("outcome", "no results") if code == 3 else "no results"
        return Done(name, folder, reused=False, failure=f"{outcome} (exit code {code})")
    (folder / ORIGIN_FILE).write_text(json.dumps(made_from, indent=2) + "\n", encoding="utf-8")
    return Done(name, folder, reused=False)


def _read(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
