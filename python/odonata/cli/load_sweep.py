"""`odonata load-sweep`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from odonata import runner
from odonata.cli.answer import open_pipe, print_json, reported, warn
from odonata.cli.arguments import Json, ScenarioFile, Seed, Settings, result_folder
from odonata.errors import COMPLETED, INTERRUPTED, RUN_FAILED
from odonata.folder import ResultFolder


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
        str | None, typer.Option("--job", metavar="NAME", help="Whose load it is. [default: the only job]")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="How points are measured: steady or booksim.")
    ] = "steady",
    sample_period: Annotated[
        str | None,
        typer.Option(
            "--sample-period", metavar="TIME", help="Length of a sampling period: a time, or clock cycles."
        ),
    ] = None,
    warmup_periods: Annotated[
        int | None,
        typer.Option("--warmup-periods", min=1, help="Periods before the measured ones (steady: at most)."),
    ] = None,
    max_samples: Annotated[
        int | None,
        typer.Option("--max-samples", min=1, help="Most periods (booksim: in all; steady: measured)."),
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
            help="steady: half-width of the 95 % confidence interval, relative. [default: 0.02]",
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
        Path | None, typer.Option("--plot", metavar="FILE", help="Picture of the curve to write, PNG or SVG.")
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    processes: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, metavar="N", help="Loads at the same time. [default: cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Neither progress nor table, only errors.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing result.")] = False,
) -> None:
    """Measure latency and accepted load over offered load.

    The scenario's synthetic job is simulated at every load, each time from an empty network, and measured in
    its steady state. Ctrl-C ends the sweep and keeps the loads that had ended. Loads are fractions of the
    terminal link's bandwidth.
    """
    from odonata import load_sweep as sweeps
    from odonata import load_sweep_page as page
    from odonata.pictures import check_picture

    with reported(as_json), runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        chosen = sweeps.parse_loads(loads)
        options = sweeps.method_options(
            method,
            sample_period=sample_period,
            warmup_periods=warmup_periods,
            max_samples=max_samples,
            latency_threshold=latency_threshold,
            precision=precision,
        )
        check_picture(plot)
        task = runner.Task(runner.read_scenario(scenario), str(scenario), list(settings or []), seed)
        folder = None
        if out is not None:
            folder = ResultFolder(result_folder(out, scenario), replace=force, marker=sweeps.SWEEP_FILE)
        progress = None if quiet else stack.enter_context(page.SweepLine())
        report = sweeps.measure(
            task,
            loads=chosen,
            job=job,
            method=options,
            saturation=saturation,
            workers=processes,
            stop=stop,
            report=progress,
        )
        if folder is not None:
            with folder:
                sweeps.write(report, folder.path)
                report["results"] = str(folder.publish())
        if plot is not None:
            page.draw(report, plot)
    if not quiet:
        warn(report["warnings"])
    with open_pipe():
        if as_json:
            print_json(report)
        elif not quiet:
            page.show(report)
    code = {"interrupted": INTERRUPTED, "failed": RUN_FAILED}.get(report["outcome"], COMPLETED)
    if code:
        raise typer.Exit(code)
