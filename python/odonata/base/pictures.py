"""Pictures by matplotlib."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from odonata.base.optional_packages import require
from odonata.base.output_file import OutputFile
from odonata.errors import InputError

#: Picture formats, by the ending of the file.
FORMATS = (".png", ".svg", ".pdf")


def picture(file: Path | None, key: str, *, replace: bool, inputs: Iterable[Path] = ()) -> OutputFile | None:
    """The output file of a picture; raises `InputError` before anything is simulated."""
    if file is None:
        return None
    if file.suffix.lower() not in FORMATS:
        raise InputError(
            "no such picture format", key=key, value=str(file), expected="a file named *.png, *.svg or *.pdf"
        )
    output = OutputFile(file, key=key, replace=replace, inputs=inputs)
    require("matplotlib.figure", "a picture", key=key, value=str(file))
    return output


def figure(width: float, height: float) -> Any:
    """An empty matplotlib figure of this size in inches; a notebook displays it.

    Raises:
        MissingPackage: matplotlib is not installed.
    """
    return _kind()(figsize=(width, height), layout="constrained")


@functools.cache
def _kind() -> Any:
    require("matplotlib.figure", "a plot")
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure without a window, independent of pyplot."""

        def _repr_png_(self) -> bytes:
            drawn = io.BytesIO()
            self.savefig(drawn, format="png", dpi=110)
            return drawn.getvalue()

    return Picture


def save(figure: Any, output: OutputFile) -> None:
    """Writes a matplotlib figure, whole or not at all."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format=output.target.suffix.lower().removeprefix("."), dpi=150)
    output.write(drawn.getvalue())
