"""Pictures that matplotlib makes, of the extra `plot`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from odonata.errors import InputError

#: Picture formats, by the ending of the file.
FORMATS = (".png", ".svg")


def check_picture(file: Path | None, key: str = "--plot") -> None:
    """Refuses, with an `InputError`, a picture that cannot be made, before anything is simulated."""
    if file is None:
        return
    if file.suffix.lower() not in FORMATS:
        raise InputError(
            "no such picture format", key=key, value=str(file), expected="a file named *.png or *.svg"
        )
    if not file.absolute().parent.is_dir():
        raise InputError(
            "the picture's folder does not exist", key=key, value=str(file), expected="an existing folder"
        )
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "pictures need matplotlib",
            key=key,
            value=str(file),
            expected="matplotlib to be installed",
            hint="pip install 'odonata[plot]'",
        ) from None


def save(figure: Any, file: Path) -> None:
    """Writes a matplotlib figure to `file`, whole or not at all."""
    # Beside the target, so that the last step is a rename.
    handle, partial = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".partial", dir=file.absolute().parent)
    os.close(handle)
    try:
        figure.savefig(partial, format=file.suffix.lower().removeprefix("."), dpi=150)
        mask = os.umask(0)
        os.umask(mask)
        Path(partial).chmod(0o666 & ~mask)
        Path(partial).replace(file)
    except BaseException:
        Path(partial).unlink(missing_ok=True)
        raise
