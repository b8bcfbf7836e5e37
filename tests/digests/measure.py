"""Runs a case in a process of its own, and returns the measurements."""

from __future__ import annotations

import hashlib
import traceback
from pathlib import Path
from typing import Any

from case import SCHEDULERS, Case
from cases import COLUMNS_OF, all_cases

import odonata
from odonata.batch_queue import run, settings

#: Recorded keys of `run.json`. The digest covers everything; the others show the kind of a difference.
KEYS = ("digest", "outcome", "simulated_s", "packets", "packet_hops", "messages", "bytes_delivered")

_cases: dict[str, Case] = {}


def begin(work: Path) -> None:
    """Once for every process."""
    _cases.update(all_cases(work))


def measure(name: str, scheduler: str) -> dict[str, Any]:
    """The measurements of a case, or `error` with the reason for their absence."""
    case = _cases[name]
    try:
        if case.batch:
            return batch_queue(case)
        results = odonata.run(
            case.scenario,
            overrides=case.settings(scheduler),
            must_succeed=False,
            **SCHEDULERS[scheduler],
        )
    except Exception:
        # Whatever the error is, the other cases continue.
        return {"error": traceback.format_exc(limit=-2).strip()}
    seen: dict[str, Any] = {key: results.run[key] for key in KEYS}
    if name in COLUMNS_OF:
        seen["columns"] = columns(results)
    return seen


def batch_queue(case: Case) -> dict[str, Any]:
    """The measurements of a batch file."""
    assert isinstance(case.scenario, Path)
    result = run.simulate(settings.load(case.scenario, case.overrides))
    return {
        "digest": result.results["digest"],
        "outcome": result.outcome,
        "simulated_s": result.simulated_s,
        "lost": len(result.results["lost"]),
    }


def columns(results: odonata.Results) -> dict[str, str]:
    """A hash of the values of every non-empty column, by `table.column`."""
    found = {}
    for name in results.tables:
        table = results.table(name)
        for column in table.column_names if table.num_rows else []:
            if (name, column) == ("jobs", "workload"):
                continue  # names files, by paths of this computer
            found[f"{name}.{column}"] = _hash(table.column(column).to_pylist())
    return found


def _hash(values: list[Any]) -> str:
    """For numbers every bit counts.

    >>> _hash([0.1, None]) == _hash([0.1, None]), _hash([0.1 + 0.2]) == _hash([0.3])
    (True, False)
    """
    text = "\n".join(value.hex() if isinstance(value, float) else repr(value) for value in values)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
