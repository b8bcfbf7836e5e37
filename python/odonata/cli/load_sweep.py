"""`odonata load-sweep`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from odonata.base.folder import ResultFolder
from odonata.base.pictures import picture
from odonata.cli.answer import open_pipe, print_json, reported, say, warn
from odonata.cli.arguments import Json, ScenarioFile, Seed, Settings, result_folder
from odonata.errors import COMPLETED, INTERRUPTED, RUN_FAILED, option
from odonata.load_curves import curve as load_curve
from odonata.load_curves import page
from odonata.load_curves import request as load_request
from odonata.running import runner
from odonata.scenario import reading


def load_sweep(
    scenario: ScenarioFile,
    loads: Annotated[
        str | None,
        typer.Option(
            "--loads",
            metavar="LOADS",
            help="Offered loads: 0.1,0.2,... or FIRST:LAST:STEP. [default: 0.05:1:0.05]",
        ),
    ] = None,
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="NAME", help="Job with the swept load. [default: the only job]"),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Method of measurement: steady or booksim.")
    ] = "steady",
    sample_period: Annotated[
        str | None,
        typer.Option(
            "--sample-period", metavar="TIME", help="Length of a sampling period: a time or clock cycles."
        ),
    ] = None,
    warmup_periods: Annotated[
        int | None,
        typer.Option("--warmup-periods", min=1, help="Periods before the measured ones (steady: at most)."),
    ] = None,
    max_samples: Annotated[
        int | None,
        typer.Option(
            "--max-samples", min=1, help="Maximum number of periods (booksim: in all; steady: measured)."
        ),
    ] = None,
    latency_threshold: Annotated[
        str | None,
        typer.Option(
            "--latency-threshold",
            metavar="LATENCY",
            help="Mean latency of a saturated network (booksim: a time or clock cycles; steady: times "
            "that of the idle network).",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision",
            help="steady: half-width of the 95% confidence interval, relative. [default: 0.02]",
        ),
    ] = None,
    saturation: Annotated[
        float | None,
        typer.Option(
            "--saturation", metavar="TOLERANCE", help="Search the saturation point down to this tolerance."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder to write: sweep.json, points.csv."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Picture of the curve: PNG, SVG or PDF.")
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", "-j", min=1, metavar="N", help="Parallel runs. [default: cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace an existing result or picture.")
    ] = False,
) -> None:
    """Measure latency and accepted load over offered load.

    The scenario's synthetic job is simulated at every load, each time from an empty network, and measured in
    its steady state. Ctrl-C ends the sweep and keeps the loads that had ended. Loads are fractions of the
    terminal link's bandwidth.
    """
    with reported(as_json), runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        asked = load_request.Request(
            load_request.parse_loads(loads),
            load_request.method_options(
                method,
                sample_period=sample_period,
                warmup_periods=warmup_periods,
                max_samples=max_samples,
                latency_threshold=latency_threshold,
                precision=precision,
            ),
            job,
            saturation,
            processes,
        )
        output = picture(plot, option("plot"), replace=force)
        task = runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), seed)
        inputs = task.inputs()
        if output is not None:
            output.refuse_inputs(inputs)
        folder = None
        if out is not None:
            folder = ResultFolder(
                result_folder(out, scenario), replace=force, marker=load_curve.SWEEP_FILE, inputs=inputs
            )
            stack.enter_context(folder)
            if not quiet:
                for text in folder.cleared:
                    say(text)
        progress = None if quiet else stack.enter_context(page.SweepLine())
        report = load_curve.measure(task, asked, stop=stop, report=progress, folder=folder)
        if folder is not None:
            report["results"] = str(folder.publish())
        if output is not None:
            try:
                page.draw(report, output)
            except Exception as error:
                if folder is not None:
                    error.add_note(f"the curve is in {report['results']}, without a picture")
                raise
    if not quiet:
        warn(report["warnings"])
    with open_pipe(report.get("results")):
        if as_json:
            print_json(report)
        elif not quiet:
            page.show(report)
    code = {"interrupted": INTERRUPTED, "failed": RUN_FAILED}.get(report["outcome"], COMPLETED)
    if code:
        raise typer.Exit(code)
