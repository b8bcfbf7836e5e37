"""Reads an OTF2 archive with the package otf2 in a process of its own, with bounds on time and memory."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from odonata.base import foreign, optional_packages
from odonata.errors import InputError, is_mistake
from odonata.traces import reader_process

#: Description of a path of this format.
FILES = "an OTF2 archive (its anchor file, .otf2, or the folder of it)"
_READER = reader_process.Reader(
    Path(__file__).with_name("worker.py"), "the package otf2", "the archive", FILES, "definitions.json"
)
#: Address space of the reading process in bytes, and its CPU time in seconds.
MEMORY = 8 << 30
CPU_S = 300


@dataclass
class Archive:
    """The content of an archive."""

    #: The anchor file.
    path: Path
    #: Ticks of the clock in a second.
    resolution: int
    locations: list[dict[str, Any]]
    #: Locations by rank of MPI; empty if the archive lacks them.
    mpi_locations: list[int]
    comms: list[dict[str, Any]]
    #: Events of each location by kind, and times of the first and the last, in ticks.
    counts: dict[int, dict[str, int]]
    ticks: dict[int, list[int]]
    #: Names of collectives and regions by number, and calls of collectives by name.
    ops: dict[int, str]
    collectives: dict[str, int]
    regions: dict[int, str]
    #: Events of MPI in time order; the worker defines the columns.
    events: pa.Table
    #: Locations with missing events: number, present events, expected events.
    short: list[tuple[int, int, int]]
    #: The reason why the package stopped early; empty if it reached the end.
    problem: str


def is_at(path: Path) -> bool:
    """Whether `path` is an archive: an anchor file, or a folder with one."""
    try:
        return bool(_anchors(path)) if path.is_dir() else path.suffix == ".otf2"
    except OSError:
        return False


def _anchors(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.otf2") if not path.name.startswith("._"))


def anchor_of(path: Path) -> Path:
    """The anchor file of the archive at `path`, with definitions beside it; otherwise raises `InputError`."""
    try:
        if path.is_dir():
            found = _anchors(path)
            if len(found) != 1:
                names = ", ".join(file.name for file in found[:4])
                raise _refused(
                    path, f"the folder has several archives: {names}" if found else "no anchor file"
                )
            path = found[0]
        foreign.check(path)
        definitions = path.with_suffix(".def")
        if not definitions.exists():
            raise _refused(path, f"{definitions.name}, the definitions of the archive, is missing beside it")
        foreign.check(definitions)
    except OSError as error:
        if not is_mistake(error):
            raise
        raise _refused(path, f"the archive cannot be read: {error.strerror}") from None
    return path


def read(path: Path, *, incomplete: bool = False, memory: int = MEMORY, seconds: int = CPU_S) -> Archive:
    """Reads the archive at `path`.

    Args:
        path: The anchor file, or its folder.
        incomplete: Read an archive with missing events as far as possible.
        memory: Address space of the reading process, in bytes.
        seconds: CPU time of the reading process.

    Raises:
        InputError: It is no archive, is damaged, or the package otf2 refuses it, with the place and the
            reason; or the package is not installed.
        OSError: The computer fails.
    """
    anchor = anchor_of(path)
    optional_packages.find("otf2", "reading an OTF2 archive", file=str(anchor))
    with tempfile.TemporaryDirectory(prefix="odonata-otf2-") as name:
        folder = Path(name)
        _READER.read(anchor, folder, memory=memory, seconds=seconds)
        found = json.loads((folder / "definitions.json").read_text(encoding="utf-8"))
        table = pq.read_table(folder / "events.parquet")
    archive = Archive(
        anchor,
        found["resolution"],
        found["locations"],
        found["mpi_locations"],
        found["comms"],
        {int(ref): counts for ref, counts in found["counts"].items()},
        {int(ref): ticks for ref, ticks in found["ticks"].items()},
        {int(number): name for number, name in found["ops"].items()},
        found["collectives"],
        {int(ref): text for ref, text in found["regions"].items()},
        table,
        [],
        found["problem"],
    )
    for location in archive.locations:
        there = sum(archive.counts.get(location["ref"], {}).values())
        if there != location["events"]:
            archive.short.append((location["ref"], there, location["events"]))
    if archive.resolution <= 0:
        raise _refused(anchor, f"its clock has {archive.resolution} ticks in a second")
    if archive.problem and not incomplete:
        raise reader_process.NotWhole(f"the events are damaged: {archive.problem}", anchor, FILES)
    if archive.short and not incomplete:
        ref, there, defined = archive.short[0]
        problem = f"location {ref} has {there} events, where the definitions say {defined}"
        raise reader_process.NotWhole(f"{problem}: the archive is not whole", anchor, FILES)
    return archive


def _refused(path: Path, problem: str) -> InputError:
    return InputError(problem, file=str(path), expected=FILES)
