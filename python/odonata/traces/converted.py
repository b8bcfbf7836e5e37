"""The interface of a format that a Python package reads (see `formats`)."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from odonata import _core
from odonata.errors import InputError, input_errors, option
from odonata.operations import PROGRAM_FILE


@dataclass
class Converted:
    """The result of a conversion."""

    ranks: int
    operations: int
    #: A description in one line for people.
    description: str = ""
    #: Unknown and omitted parts, in sentences for people.
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ConvertOptions:
    """Options of a conversion."""

    incomplete: bool = False
    #: The interface whose accesses are converted, for formats with several.
    interface: str | None = None
    #: Patterns of file names whose accesses are left out.
    without: tuple[str, ...] = ()
    #: Number of ranks that repeat the only rank of a trace.
    ranks: int | None = None
    #: Whether time in calls counts as computation too, if recorded: operations then follow the clock of the
    #: recording.
    call_time: bool = False
    #: Bus bandwidth in B/s, from which unrecorded sizes follow, if times were recorded.
    bus_bandwidth: float | None = None
    #: Operations per second, from which the times of computation follow, if only operations were recorded.
    flops: float | None = None


class ConvertedFormat(Protocol):
    """A format that a package of Python reads."""

    #: Its name.
    name: str
    #: Description of its paths, for people.
    files: str

    def detect(self, path: Path) -> bool:
        """Whether `path` is meant to be of this format, by its name and first bytes."""
        ...

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """Its content: as for the core's formats, `name`, `nranks` and totals, and further keys."""
        ...

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """Prints the answer of `info` for people."""
        ...

    def lint(self, path: Path) -> list[dict[str, str]]:
        """Its errors and remarks: severity, check and text of each."""
        ...

    def inputs(self, path: Path) -> list[Path]:
        """All files of the trace at `path`; raises `InputError` or `OSError` if there is none."""
        ...

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Writes it as a program to the empty `folder`."""
        ...


def write_program(
    format: ConvertedFormat,
    path: Path,
    folder: Path,
    options: ConvertOptions,
    progress: Callable[[int, int, int], None],
    times: int = 1,
    compute_scale: float = 1.0,
) -> Converted:
    """Converts the trace at `path` to the empty `folder`; the core reads, repeats and scales the result.

    Other files of the conversion stay beside the tables.
    """
    first = folder / "first"
    first.mkdir()
    done = format.convert(path, first, options, progress)
    with input_errors():
        counts = _core.trace_convert(first, folder, times, compute_scale, progress, False)
    for file in first.iterdir():
        if (folder / file.name).exists():
            file.unlink()
        else:
            file.rename(folder / file.name)
    first.rmdir()
    if done.description:
        program = json.loads((folder / PROGRAM_FILE).read_text(encoding="utf-8"))
        program["description"] = done.description
        (folder / PROGRAM_FILE).write_text(json.dumps(program, indent=2), encoding="utf-8")
    done.ranks, done.operations = counts
    return done


def refuse_bandwidth(options: ConvertOptions, path: Path) -> None:
    """Refuses a bandwidth for a format that records sizes, with an `InputError`."""
    if options.bus_bandwidth is not None:
        raise InputError(
            "the trace says how much is sent",
            file=str(path),
            key=option("bytes_from_time"),
            expected="an export of Nsight Systems",
        )


def refuse_flops(options: ConvertOptions, path: Path) -> None:
    """Refuses a rate for a format that records times, with an `InputError`."""
    if options.flops is not None:
        raise InputError(
            "the trace says how long computation took",
            file=str(path),
            key=option("flops"),
            expected="a Chakra trace with num_ops",
        )


def lint_as_program(format: ConvertedFormat, path: Path) -> list[dict[str, str]]:
    """Errors of the converted program: messages and collectives that do not match.

    An error that prevents the conversion is a finding too.
    """
    with tempfile.TemporaryDirectory(prefix="odonata-lint-") as folder:
        try:
            format.convert(path, Path(folder), ConvertOptions(), lambda done, ranks, operations: None)
        except InputError as error:
            where = "" if error.file in (None, str(path)) else f"{Path(str(error.file)).name}: "
            return [{"severity": "error", "check": "replay", "text": f"{where}{error.message}"}]
        with input_errors():
            findings: list[dict[str, str]] = json.loads(_core.trace_lint(Path(folder)))
    return findings
