"""Record of the pictures that a sweep has written, so that the same command can replace exactly those."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from odonata.base import foreign
from odonata.base.output_file import whole_file

#: File in the folder of the sweep: absolute path -> SHA-256 of the written content.
FILE = "pictures.json"


def wrote(folder: Path, picture: Path) -> bool:
    """Whether `picture` is unchanged since the sweep in `folder` wrote it."""
    try:
        return _read(folder).get(str(picture.resolve())) == _hash(picture)
    except OSError:
        return False


def remember(folder: Path, picture: Path) -> None:
    """Records that the sweep in `folder` has written `picture`."""
    if not picture.is_file():
        # A device or a pipe has no content to protect.
        return
    known = _read(folder) | {str(picture.resolve()): _hash(picture)}
    with whole_file(folder / FILE) as file:
        file.write(json.dumps(known, indent=2).encode())


def _hash(picture: Path) -> str:
    return hashlib.sha256(picture.read_bytes()).hexdigest()


def _read(folder: Path) -> dict[str, str]:
    try:
        content = json.loads(foreign.read_bytes(folder / FILE))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
