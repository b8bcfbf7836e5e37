"""Reference page of the result tables, written from what the core says about itself, so that it cannot drift.

`docs/results.md` is `tables_page` of the core's documentation. `make docs` writes it; a test compares it.
"""

from __future__ import annotations

import json
from typing import Any

from odonata import _core, slowdown
from odonata.json_reference import COMPARE_KEYS, SUMMARY_KEYS

#: First line of every page that is made.
GENERATED = "<!-- Generated from the types by `make docs`; edit the doc comments there. -->\n"

_INTRO = """\
# Results

`odonata run SCENARIO -o DIR` writes `DIR/run.json` and the Parquet tables below. The folder appears whole or
not at all. The unit of a column is in its name (`_s` simulated seconds, `bytes`) and, with its description,
in the metadata of the Parquet field.

```python
import odonata

results = odonata.load("results/interference")
results.run["outcome"]                  # run.json
results.frame("jobs")                   # a pandas.DataFrame; results.table("jobs") is a pyarrow.Table
```

With `run.baselines`, the folder also holds `baselines/JOB/`, a whole result for every job that ran alone, and
the table [slowdown](#slowdown).
"""

#: What run.json holds. A test compares the keys with those of a run.
RUN_KEYS = {
    "outcome": "How the run ended: see below.",
    "detail": "The same in words where there is more to say (who waits, what is missing), else null.",
    "digest": "Hash over everything that was measured. Equal digests, equal results, whatever ran them.",
    "simulated_s": "Simulated time at the end, in seconds.",
    "wall_s": "Time that the run took, in seconds.",
    "cpu_s": "CPU time of that, in seconds; building the machine included.",
    "events": "Events handled.",
    "packets": "Packets delivered, MPI and I/O.",
    "packet_hops": "Routers visited by these packets.",
    "packet_hops_per_cpu_s": "The figure of merit: packet_hops / cpu_s.",
    "messages": "Messages delivered, MPI and I/O.",
    "bytes_delivered": "Payload of these messages, in bytes.",
    "peak_rss_bytes": "Largest resident memory of the process, in bytes.",
    "state_bytes_per_node": "Simulation state per node of the machine, in bytes.",
    "nodes": "Nodes of the machine.",
    "scheduler": "Which scheduler ran it.",
    "threads": "Threads that it ran on.",
    "ranks": "Processes that it ran on.",
    "schedule": "How the run was carried out and how that went, on which no result depends: reasons for the "
    "choice, parts, lookahead_s (shortest delay between parts), rounds, events_per_window (that a part "
    "handled before it waited), sent_between_parts, waiting_share (of the threads' time), and of each of its "
    "processes events, cpu_s, and peak_rss_bytes; with the optimistic scheduler also optimistic: events "
    "speculated (handled beyond a window) and rolled_back, rollbacks, anti_messages, gvt_rounds, efficiency "
    "(share of the events handled that were for good), and peak_journal_bytes.",
    "blame": "Whether waits were charged to jobs (tables blame and blame_series).",
    "deadlock_cycle": "Where network.routing.deadlock_check is warn: channels that can wait for each other "
    "in a circle, hop by hop; empty if there are none. Else null: a run does not look for them, odonata "
    "check does.",
    "version": "Version of odonata.",
    "baselines": "For every job that was also run alone: outcome, detail, digest, wall_s and folder (in this "
    "one; null if there is none). Outcomes as below, or why there is none: out-of-memory, killed, crashed, "
    "failed, interrupted, not-run. Empty without run.baselines.",
    "scenario": "The scenario as resolved: every default filled in, every override applied.",
}

#: Outcomes, with the exit code of `odonata run`.
OUTCOMES = {
    "completed": (0, "All programs ended, and everything that was sent was delivered."),
    "time-limit": (0, "The time limit of the scenario came first."),
    "interrupted": (130, "The user stopped the run."),
    "stalled": (3, "Nothing more can happen, yet ranks wait: for a message that is never sent, say."),
    "storage-full": (3, "A write waits for space that nothing will free, or is larger than its device."),
    "program-error": (
        3,
        "Ranks called different collectives, a message was longer than its receive, or an operation asked "
        "for something that does not exist.",
    ),
    "conservation-violated": (3, "Bytes, packets or credits are missing at the end: an error of odonata."),
}


_JSON = """\

## odonata {command} --json

A key after `.` stands below the one before it, `[]` is a list; JOB and METRIC are any name of one.

| key | meaning |
|---|---|
"""


def documentation() -> list[dict[str, Any]]:
    """Every table of a result: those that the core writes, and those that are made of them here."""
    core: list[dict[str, Any]] = json.loads(_core.table_docs())
    return [*core, slowdown.documentation()]


def tables_page(tables: list[dict[str, Any]]) -> str:
    r"""The reference of the result tables, in Markdown.

    >>> column = {"name": "job", "type": "string", "unit": "", "doc": "Name."}
    >>> page = tables_page([{"table": "jobs", "doc": "One row per job.", "columns": [column]}])
    >>> print("\n".join(page.partition("## jobs")[2].splitlines()[4:7]))
    | column | type | unit | meaning |
    |---|---|---|---|
    | `job` | string |  | Name. |
    """
    parts = [GENERATED, _INTRO, "\n## run.json\n\n| key | meaning |\n|---|---|\n"]
    parts += [f"| `{key}` | {cell(meaning)} |\n" for key, meaning in RUN_KEYS.items()]
    parts.append("\n| outcome | exit code | meaning |\n|---|---|---|\n")
    parts += [f"| `{name}` | {code} | {cell(meaning)} |\n" for name, (code, meaning) in OUTCOMES.items()]
    for table in tables:
        parts.append(f"\n## {table['table']}\n\n{table['doc']}\n")
        parts.append("\n| column | type | unit | meaning |\n|---|---|---|---|\n")
        for column in table["columns"]:
            cells = (f"`{column['name']}`", column["type"], column["unit"], cell(column["doc"]))
            parts.append("| " + " | ".join(cells) + " |\n")
    for command, keys in (("summary", SUMMARY_KEYS), ("compare", COMPARE_KEYS)):
        parts.append(_JSON.format(command=command))
        parts += [f"| `{key}` | {cell(meaning)} |\n" for key, meaning in keys.items()]
    return "".join(parts)


def cell(text: str) -> str:
    """`text` on one line, fit for a cell."""
    return " ".join(text.split()).replace("|", "\\|")
