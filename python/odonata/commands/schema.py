"""The reference of scenarios and results: `odonata schema`."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from odonata import _core
from odonata.analysis import json_reference
from odonata.analysis.parquet import documentation
from odonata.analysis.reference import keys_table, tables_page
from odonata.base.messages import print_json
from odonata.commands.declared import Shown, argument, command, switch
from odonata.errors import InputError
from odonata.errors import option as named
from odonata.scenario.model_source import module
from odonata.scenario.reference import scenario_page


class SchemaName(StrEnum):
    """The documents that have a schema: `odonata.analysis.json_reference.schemas` has all but the first."""

    scenario = "scenario"
    run = "run"
    summary = "summary"
    explain = "explain"
    compare = "compare"
    check = "check"
    describe = "describe"
    presets = "presets"
    preset = "preset"
    bench = "bench"
    bench_parallel = "bench-parallel"
    load_sweep = "load-sweep"
    extrapolate = "extrapolate"
    fidelity = "fidelity"
    trace_info = "trace-info"
    trace_lint = "trace-lint"
    trace_convert = "trace-convert"
    trace_repeat = "trace-repeat"
    trace_merge = "trace-merge"
    device_bench = "device-bench"
    device_fit = "device-fit"
    devices = "devices"
    device_show = "device-show"
    workload_check = "workload-check"
    workload_compile = "workload-compile"
    calibrate = "calibrate"
    validate = "validate"
    import_ = "import"
    timeline = "timeline"
    batch = "batch"
    what_if = "what-if"
    advise = "advise"
    compare_sweeps = "compare-sweeps"


def _schema(name: SchemaName, *, tables: bool, python: bool, markdown: bool, as_json: bool) -> Shown:
    if tables and name != SchemaName.scenario:
        raise InputError("it has no tables", key=named("tables"), expected="no NAME")
    if python and (name != SchemaName.scenario or tables or markdown):
        raise InputError("only of the scenario", key=named("python"), expected="no other option")
    if python:
        return _text(module(json.loads(_core.schema())))
    if tables:
        docs = documentation()
        return _text(tables_page(docs)) if markdown else _json(docs)
    if name == SchemaName.scenario:
        keys = json.loads(_core.schema())
        return _text(scenario_page(keys)) if markdown else _json(keys)
    keys = json_reference.schema(name)
    return _text(keys_table(keys)) if markdown else _json(keys)


def _json(content: Any) -> Shown:
    return Shown(content, lambda: print_json(content))


def _text(page: str) -> Shown:
    return Shown(None, lambda: print(page, end=""))


command(
    "schema",
    """
    For scenarios, a JSON Schema for completion and checks in editors.
    """,
    terminal=_schema,
    has_json=False,
    name=argument(
        "[NAME]",
        "scenario, run (run.json), or the --json output of a command: "
        + ", ".join(name for name in SchemaName if name not in ("scenario", "run"))
        + ". [default: scenario]",
        SchemaName,
        default=SchemaName.scenario,
    ),
    tables=switch("Describe the tables of a result instead."),
    python=switch("Print the scenario as Python classes (odonata.scenario)."),
    markdown=switch("Print a page in Markdown instead of JSON."),
)(_schema)
