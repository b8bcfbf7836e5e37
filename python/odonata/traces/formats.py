"""Formats of traces that packages of Python read, beside those of the core.

Formats with a reader of our own are registered in the core (`odonata-trace-format`), and a job runs them as
they are. Of one whose only library is Python's, there is a `ConvertedFormat` here: `odonata trace info` and
`lint` look into its files, and `convert` makes a program folder of them, which a job runs. Commands ask
`at` first, and the core for all else.
"""

from __future__ import annotations

from pathlib import Path

from odonata.traces.chakra.format import ChakraTrace
from odonata.traces.converted import ConvertedFormat
from odonata.traces.darshan_log.format import DarshanLog
from odonata.traces.nsys_export.format import NsysExport
from odonata.traces.otf2_archive.format import Otf2Archive


def formats() -> tuple[ConvertedFormat, ...]:
    """All of them, in the order in which they are tried."""
    # Last, since a log may lie in the folder of another trace.
    return (ChakraTrace(), Otf2Archive(), NsysExport(), DarshanLog())


def at(path: Path) -> ConvertedFormat | None:
    """The format of what is at `path`, if it is one of these."""
    return next((format for format in formats() if format.detect(path)), None)


def files() -> str:
    """What a path of these formats is, for people."""
    return ", or ".join(format.files for format in formats())
