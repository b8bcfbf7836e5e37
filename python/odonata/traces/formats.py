"""Trace formats that Python packages read, beside those of the core.

Formats with an own reader are registered in the core (`odonata-trace-format`), and a job runs them directly.
A format whose only library is in Python has a `ConvertedFormat` here: `odonata trace info` and `lint` inspect
its files, and `convert` makes a program folder. A job runs the one that `program_cache` keeps. Commands call
`at` first, and the core for other formats.
"""

from __future__ import annotations

from pathlib import Path

from odonata.traces.chakra.format import ChakraTrace
from odonata.traces.converted import ConvertedFormat
from odonata.traces.darshan_log.format import DarshanLog
from odonata.traces.nsys_export.format import NsysExport
from odonata.traces.otf2_archive.format import Otf2Archive


def formats() -> tuple[ConvertedFormat, ...]:
    """All formats, in the order of detection."""
    # Last, since a log may lie in the folder of another trace.
    return (ChakraTrace(), Otf2Archive(), NsysExport(), DarshanLog())


def at(path: Path) -> ConvertedFormat | None:
    """The format of `path`, if it is one of these."""
    return next((format for format in formats() if format.detect(path)), None)


def files() -> str:
    """Description of the paths of these formats."""
    return ", or ".join(format.files for format in formats())
