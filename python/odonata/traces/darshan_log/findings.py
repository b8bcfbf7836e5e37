"""Errors of a Darshan log: gaps, contradictions, impossible times; and the assumptions of a replay."""

from __future__ import annotations

import pyarrow.compute as pc

from odonata.traces.darshan_log.accesses import Accesses
from odonata.traces.darshan_log.log import INTERFACES, Log, prefix

#: Most findings of one check that are described individually.
MOST = 20


def check(log: Log, found: Accesses) -> list[dict[str, str]]:
    """Findings: severity (`error`, `note`), check, text."""
    listed: list[dict[str, str]] = []

    def note(severity: str, check: str, texts: list[str]) -> None:
        listed.extend({"severity": severity, "check": check, "text": text} for text in texts[:MOST])
        if len(texts) > MOST:
            listed.append({"severity": severity, "check": check, "text": f"and {len(texts) - MOST} more"})

    note(
        "error",
        "complete",
        [
            f"module {name} is partial: Darshan had no room for all records; files and accesses are missing"
            for name in log.partial
        ],
    )
    note("error", "counters", found.contradictions)
    note("error", "times", _times(log))
    unnamed = sum(1 for file in found.files if not file.name)
    if unnamed:
        note("note", "names", [f"{unnamed} of {len(found.files)} files have no name in the log"])
    refused = [(name, module["error"]) for name, module in log.modules.items() if "error" in module]
    note("note", "modules", [f"module {name} is not read: {reason}" for name, reason in refused])
    note("note", "replay", found.unknown)
    return listed


def _times(log: Log) -> list[str]:
    """Impossible times."""
    texts = []
    job = log.job
    begin, end = (job[f"{name}_time_sec"] + job[f"{name}_time_nsec"] * 1e-9 for name in ("start", "end"))
    if end < begin:
        texts.append(f"the job ends {begin - end:g} s before it starts")
    for module in INTERFACES:
        rows = log.tables.get(module)
        if rows is None:
            continue
        for name in ("OPEN", "READ", "WRITE", "CLOSE"):
            columns = [f"{prefix(module)}_F_{name}_{edge}_TIMESTAMP" for edge in ("START", "END")]
            if not set(columns) <= set(rows.column_names):
                continue
            start, stop = (rows[column] for column in columns)
            wrong = pc.sum(pc.and_(pc.less(stop, start), pc.greater(stop, 0.0))).as_py()
            if wrong:
                texts.append(
                    f"{module}: {wrong} records whose last {name.lower()} ends before the first starts"
                )
    return texts
