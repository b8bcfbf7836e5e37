"""Parameters of tests that read traces of real programs: `pytest -m reference` takes those alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import reference

#: The DUMPI traces and GOAL schedules of the repository, each with its truth.
OUR_TRACES, OUR_SCHEDULES = (
    sorted(truth.parent for truth in (reference.ROOT / "tests/traces" / kind).glob("*/ground-truth.json"))
    for kind in ("dumpi", "goal")
)


def _param(path: Path | None, missing: str) -> Any:
    marks = [pytest.mark.reference]
    if path is None:
        marks.append(pytest.mark.skip(reason=reference.absence(missing)))
    return pytest.param(path, id=missing.replace("/", "-") if path is None else path.name, marks=marks)


def sets(kind: str, ours: list[Path] | None = None) -> list[Any]:
    """The folders `ours`, and all reference traces of a kind: one that is skipped if there are none."""
    there = reference.sets(kind) or [None]
    return [pytest.param(path, id=path.name) for path in ours or []] + [_param(path, kind) for path in there]


def one(kind: str, name: str) -> list[Any]:
    """The folder of one reference trace, or None, which is skipped."""
    return [_param(reference.one(kind, name), f"{kind}/{name}")]


#: All DUMPI traces.
TRACES = sets("dumpi", OUR_TRACES)
