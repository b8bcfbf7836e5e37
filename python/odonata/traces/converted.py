"""What a format has to offer that a package of Python reads: see `formats`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from odonata import _core
from odonata.errors import InputError, input_errors, option


@dataclass
class Converted:
    """What came of a conversion."""

    ranks: int
    operations: int
    #: One line for people about what it is.
    description: str = ""
    #: What was not known or not converted, in sentences for people.
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ConvertOptions:
    """What a conversion may be told."""

    incomplete: bool = False
    #: The interface whose accesses are converted, of formats that hold several.
    interface: str | None = None
    #: Patterns of the names of files whose accesses are left out.
    without: tuple[str, ...] = ()
    #: How many ranks do what the only one of a trace does.
    ranks: int | None = None
    #: Whether time in calls counts as computation too, where it was recorded: operations then stand on the
    #: clock of the recording.
    call_time: bool = False
    #: Bus bandwidth in B/s, from which sizes follow that are not recorded, of a recording with times.
    bus_bandwidth: float | None = None
    #: Operations per second, from which times of computation follow that are recorded as operations only.
    flops: float | None = None


class ConvertedFormat(Protocol):
    """A format that a package of Python reads."""

    #: Its name.
    name: str
    #: What a path of it is, for people.
    files: str

    def detect(self, path: Path) -> bool:
        """Whether what is at `path` is meant to be of this format, by its name and first bytes."""
        ...

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """What is in it: as the core's formats, `name`, `nranks` and totals, and what else there is."""
        ...

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """Prints for people what `info` has said."""
        ...

    def lint(self, path: Path) -> list[dict[str, str]]:
        """What is wrong with it: severity, check and text of each finding."""
        ...

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Writes it as a program to the empty `folder`."""
        ...


def refuse_bandwidth(options: ConvertOptions, path: Path) -> None:
    """`InputError` if a format that knows its sizes is told a bandwidth to reckon them from."""
    if options.bus_bandwidth is not None:
        raise InputError(
            "the trace says how much is sent",
            file=str(path),
            key=option("bytes_from_time"),
            expected="an export of Nsight Systems",
        )


def refuse_flops(options: ConvertOptions, path: Path) -> None:
    """`InputError` if a format that knows its times is told a rate to reckon them from."""
    if options.flops is not None:
        raise InputError(
            "the trace says how long computation took",
            file=str(path),
            key=option("flops"),
            expected="a Chakra trace with num_ops",
        )


def lint_as_program(format: ConvertedFormat, path: Path) -> list[dict[str, str]]:
    """What is wrong with the program that a trace is converted to: messages and collectives that do not fit.

    What stops the conversion is a finding too.
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
