"""`odonata schema`."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from odonata import _core
from odonata.analysis import json_reference
from odonata.analysis.parquet import documentation
from odonata.analysis.reference import keys_table, tables_page
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.errors import InputError, option
from odonata.scenario.model_source import module
from odonata.scenario.reference import scenario_page


class What(StrEnum):
    """What can be described: `odonata.analysis.json_reference.schemas` has all but the first."""

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
    import_ = "import"
    timeline = "timeline"


def schema(
    what: Annotated[
        What, typer.Argument(help="scenario, run.json, or the --json output of a command.")
    ] = What.scenario,
    tables: Annotated[
        bool, typer.Option("--tables", help="Describe the tables of a result instead.")
    ] = False,
    python: Annotated[
        bool, typer.Option("--python", help="Print the scenario as Python classes (odonata.scenario).")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a page in Markdown instead of JSON.")
    ] = False,
) -> None:
    """Print the reference of scenarios or results.

    For scenarios, a JSON Schema for completion and checks in editors.
    """
    with reported(False, writes=False):
        if tables and what != What.scenario:
            raise InputError("it has no tables", key=option("tables"), expected="no WHAT")
        if python and (what != What.scenario or tables or markdown):
            raise InputError("only of the scenario", key=option("python"), expected="no other option")
    with open_pipe():
        if python:
            print(module(json.loads(_core.schema())), end="")
        elif tables:
            docs = documentation()
            print(tables_page(docs), end="") if markdown else print_json(docs)
        elif what == What.scenario:
            keys = json.loads(_core.schema())
            print(scenario_page(keys), end="") if markdown else print_json(keys)
        else:
            keys = json_reference.schema(what)
            print(keys_table(keys), end="") if markdown else print_json(keys)
