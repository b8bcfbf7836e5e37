"""Reference page of the result tables, generated from the core's own description.

`docs/results.md` is `tables_page` of the core's documentation. `make docs` writes it; a test compares it.
"""

from __future__ import annotations

from typing import Any

from odonata.analysis.json_reference import meanings, schemas
from odonata.answers import COMMANDS
from odonata.base.markdown import GENERATED, cell

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

#: Outcomes, with the exit code of `odonata run`.
OUTCOMES = {
    "completed": (
        0,
        "All work is done: programs ended without leftovers, sources sent all their "
        "messages, every message was delivered.",
    ),
    "time-limit": (
        0,
        "The time limit of the scenario came first; detail states the finished and unfinished work.",
    ),
    "time-overflow": (
        3,
        "An event lies beyond the end of simulated time, 2^62 ps (53 days); detail names the waiting ranks.",
    ),
    "interrupted": (130, "The user stopped the run."),
    "out-of-memory": (
        3,
        "The run came to take all the memory that it may (run.memory_limit), or the computer had next to "
        "none left. What was measured until then is kept; when that is depends on the computer.",
    ),
    "queue-overflow": (
        3,
        "More messages waited at a network interface than nic.message_queue allows: a source offers more "
        "than the network takes.",
    ),
    "stalled": (3, "Nothing more can happen, yet ranks wait: for a message that is never sent, say."),
    "storage-full": (3, "A write waits for space that nothing will free, or is larger than its device."),
    "storage-failed": (
        3,
        "A storage server did not answer any attempt of a client (storage.client), or a read asked for bytes "
        "that were lost with a server that failed.",
    ),
    "program-error": (
        3,
        "Ranks called different collectives, a message was longer than its receive, an operation asked for "
        "something that does not exist, or programs left behind receives without a message, messages without "
        "a receive, or requests that were never waited for.",
    ),
    "conservation-violated": (3, "Bytes, packets or credits are missing at the end: an error of odonata."),
}


_JSON = """\

## odonata {command} --json

A key after `.` stands below the one before it, `[]` is a list; JOB and METRIC are any name of one.

"""


def tables_page(tables: list[dict[str, Any]]) -> str:
    r"""The reference of the result tables, in Markdown.

    >>> column = {"name": "job", "type": "string", "unit": "", "doc": "Name."}
    >>> page = tables_page([{"table": "jobs", "doc": "One row per job.", "columns": [column]}])
    >>> print("\n".join(page.partition("## jobs")[2].splitlines()[4:7]))
    | column | type | unit | meaning |
    |---|---|---|---|
    | `job` | string |  | Name. |
    """
    answers = schemas()
    parts = [GENERATED, _INTRO, "\n## run.json\n\n", keys_table(answers.pop("run"))]
    parts.append("\n| outcome | exit code | meaning |\n|---|---|---|\n")
    parts += [f"| `{name}` | {code} | {cell(meaning)} |\n" for name, (code, meaning) in OUTCOMES.items()]
    for table in tables:
        parts.append(f"\n## {table['table']}\n\n{table['doc']}\n")
        parts.append("\n| column | type | unit | meaning |\n|---|---|---|---|\n")
        for column in table["columns"]:
            cells = (f"`{column['name']}`", column["type"], column["unit"], cell(column["doc"]))
            parts.append("| " + " | ".join(cells) + " |\n")
    for command, schema in answers.items():
        parts += [_JSON.format(command=COMMANDS.get(command, command)), keys_table(schema)]
    return "".join(parts)


def keys_table(schema: dict[str, Any]) -> str:
    """The keys of a JSON Schema, as a table."""
    rows = (f"| `{key}` | {cell(meaning)} |\n" for key, meaning in meanings(schema).items())
    return "| key | meaning |\n|---|---|\n" + "".join(rows)
