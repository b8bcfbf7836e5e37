"""Traces of real programs, which are not part of the repository: ODONATA_REFERENCE names their folder.

Its subfolder `traces/KIND` holds a folder for each trace, with a `ground-truth.json`. Kinds are dumpi,
darshan, chakra, otf2, goal, and matrices for byte matrices. Unset and empty mean that there are none. A
relative path starts at the repository. `crates/formats/odonata-trace-format/tests/reference` is the same for
Rust.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "ODONATA_REFERENCE"

ROOT = Path(__file__).resolve().parents[2]


class NotThere(Exception):
    """The variable names a folder that is missing, or has no traces."""


def folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder that the variable names; none if it is unset or empty."""
    named = environment.get(VARIABLE)
    if not named:
        return None
    path = ROOT / named
    if not path.is_dir():
        raise NotThere(f"{VARIABLE} names {path}: there is no such folder")
    if not (path / "traces").is_dir():
        raise NotThere(f"{VARIABLE} names {path}: it has no folder traces")
    return path


def sets(kind: str, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """The folders of all traces of a kind; none if the folder lacks the kind."""
    path = folder(environment)
    if path is None or not (path / "traces" / kind).is_dir():
        return []
    found = sorted(truth.parent for truth in (path / "traces" / kind).glob("*/ground-truth.json"))
    if not found:
        raise NotThere(f"{VARIABLE} names {path}: no folder of traces/{kind} has a ground-truth.json")
    return found


def one(kind: str, name: str, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of one trace, if it is at hand."""
    return next((path for path in sets(kind, environment) if path.name == name), None)


def absence(what: str, environment: Mapping[str, str] = os.environ) -> str:
    """The reason why the traces `what`, a kind or a kind and a name, are missing."""
    path = folder(environment)
    return f"{VARIABLE} is not set: no traces/{what}" if path is None else f"{path} has no traces/{what}"
