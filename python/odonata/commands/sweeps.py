"""Many runs of one scenario: `odonata sweep`, `odonata load-sweep`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from odonata.base.folder import ResultFolder
from odonata.base.messages import say
from odonata.base.pictures import picture, save
from odonata.commands.declared import (
    JSON,
    SCENARIO,
    SEED,
    SETTINGS,
    Shown,
    argument,
    command,
    option,
    result_folder,
    switch,
)
from odonata.errors import INTERRUPTED, RUN_FAILED, InputError, given
from odonata.errors import option as named
from odonata.load_curves import curve, request
from odonata.load_curves import page as curve_page
from odonata.load_curves.load_sweep import load_sweep
from odonata.running import runner
from odonata.scenario import check_report, reading
from odonata.sweeps import own_pictures, page, run
from odonata.sweeps import picture as pictures
from odonata.sweeps import spec as specs
from odonata.sweeps.axes import over_option

#: Exit codes of outcomes; all others are good.
CODES = {"interrupted": INTERRUPTED, "failed": RUN_FAILED}

QUIET = switch("Print only errors.", "--quiet", "-q")
PROCESSES = option(
    "Parallel runs. [default: cores]", "--processes", "-j", metavar="N", type=int, least=1, default=None
)


def _spec(
    file: Path,
    over: list[str] | None,
    seeds: str | None,
    chosen: dict[str, Any],
    of_slurm: dict[str, Any],
) -> specs.Spec:
    """The sweep of the file with the options."""
    spec = specs.load(file)
    cluster = spec.slurm
    set_of_slurm = {name: value for name, value in of_slurm.items() if value is not None}
    if set_of_slurm and cluster is None and of_slurm["partition"] is None:
        raise InputError(
            "only with --slurm",
            key=named(f"slurm_{next(iter(set_of_slurm))}"),
            expected=given("slurm", "PARTITION"),
        )
    if set_of_slurm:
        cluster = replace(cluster or specs.Slurm(), **set_of_slurm)
    axes = [over_option(text) for text in over or []]
    chosen["seeds"] = None if seeds is None else specs.seeds_option(seeds)
    chosen["slurm"] = cluster if chosen["dask"] is None else None
    return run.amended(spec, axes, chosen)


def _sweep(
    file: Path,
    *,
    over: list[str] | None,
    seeds: str | None,
    out: str | None,
    settings: list[str] | None,
    baselines: bool | None,
    processes: int | None,
    keep: bool,
    reuse: list[Path] | None,
    dask: str | None,
    slurm: str | None,
    slurm_workers: int | None,
    slurm_time: str | None,
    slurm_memory: str | None,
    plot: Path | None,
    measure: str,
    x: str | None,
    quiet: bool,
    force: bool,
    as_json: bool,
) -> Shown:
    with runner.StopRequest() as stop:
        chosen = {
            "baselines": baselines,
            "processes": processes,
            "keep": "tables" if keep else None,
            "dask": dask,
        }
        of_slurm = {"workers": slurm_workers, "time": slurm_time, "memory": slurm_memory, "partition": slurm}
        spec = _spec(file, over, seeds, chosen, of_slurm)
        folder = result_folder(out, file)
        own = plot is not None and own_pictures.wrote(folder, plot)
        output = picture(plot, named("plot"), replace=force or own, inputs=[file, spec.scenario])
        if output is not None:
            pictures.check(measure, x, [key for axis in spec.axes for key in axis.keys])
        with contextlib.nullcontext() if quiet else page.SweepLine() as progress:
            found = run.execute(
                spec, folder, list(settings or []), reuse=reuse or [], stop=stop, report=progress
            )
        if output is not None:
            try:
                save(found.plot(measure, x=x), output)
                own_pictures.remember(folder, output.target)
            except Exception as error:
                error.add_note(f"the sweep is in {found.path}, without a picture")
                raise
    after = page.failures(found)
    if found.outcome == "interrupted":
        after = [*after, f"interrupted; repeat the command to continue: {found.path}"]
    return Shown(
        found.description | {"results": str(found.path)},
        lambda: None if quiet else page.show(found),
        after=lambda: after,
        code=CODES.get(found.outcome, 0),
        place=found.path,
    )


command(
    "sweep",
    """
    Repeat the command to continue a stopped sweep; finished runs are not repeated. A failed run is a row of
    the results; the others continue.
    """,
    terminal=_sweep,
    writes=True,
    file=argument("SWEEP|SCENARIO", "Sweep file, or scenario file with --over (TOML)."),
    over=option("Values of a scenario key; repeatable.", metavar="KEY=A,B,C", type=list[str], default=None),
    seeds=option("Seeds of every point: a number of seeds, or a list such as 1,5,9.", metavar="N"),
    out=option(
        "Folder of the sweep; its finished runs are not repeated. [default: results/FILE's name]",
        "--out",
        "-o",
        metavar="DIR",
    ),
    settings=SETTINGS,
    baselines=option("Also run every job alone.", "--baselines/--no-baselines", type=bool),
    processes=PROCESSES,
    keep=switch("Keep all tables of every run.", "--keep-tables"),
    reuse=option(
        "Reuse the runs of another sweep; repeatable.", metavar="DIR", type=list[Path], default=None
    ),
    dask=option("Run on the workers of this Dask scheduler.", metavar="ADDRESS"),
    slurm=option("Run in Slurm jobs, in this partition.", metavar="PARTITION"),
    slurm_workers=option(
        "Workers, one Slurm job each. [default: 1]", metavar="N", type=int, least=1, default=None
    ),
    slurm_time=option("Wall time of each worker. [default: 01:00:00]", metavar="HH:MM:SS", default=None),
    slurm_memory=option("Memory of each worker. [default: 4 GB]", metavar="SIZE", default=None),
    plot=option("Picture to write, PNG, SVG or PDF.", metavar="FILE", type=Path, default=None),
    measure=option("With --plot: column of points.parquet to draw.", metavar="NAME", default="elapsed_ratio"),
    x=option("With --plot: swept key on the x axis. [default: the first]", metavar="KEY", default=None),
    as_json=JSON,
    quiet=QUIET,
    force=switch("Replace an existing picture.", "--force", "-f"),
)(run.sweep)


def _load_sweep(
    scenario: Path,
    *,
    loads: str | None,
    job: str | None,
    method: str,
    saturation: float | None,
    out: str | None,
    plot: Path | None,
    settings: list[str] | None,
    seed: int | None,
    processes: int | None,
    quiet: bool,
    force: bool,
    as_json: bool,
    **parameters: Any,
) -> Shown:
    with runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        options = request.method_options(method, **parameters)
        asked = request.Request(request.parse_loads(loads), options, job, saturation, processes)
        output = picture(plot, named("plot"), replace=force)
        task = runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), seed)
        inputs = task.inputs()
        if output is not None:
            output.refuse_inputs(inputs)
        folder = None
        if out is not None:
            folder = ResultFolder(
                result_folder(out, scenario), replace=force, marker=curve.SWEEP_FILE, inputs=inputs
            )
            stack.enter_context(folder)
            if not quiet:
                for text in folder.cleared:
                    say(text)
        progress = None if quiet else stack.enter_context(curve_page.SweepLine())
        report = curve.measure(task, asked, stop=stop, report=progress, folder=folder)
        if folder is not None:
            report["results"] = str(folder.publish())
        if output is not None:
            try:
                curve_page.draw(report, output)
            except Exception as error:
                if folder is not None:
                    error.add_note(f"the curve is in {report['results']}, without a picture")
                raise
    return Shown(
        report,
        lambda: None if quiet else curve_page.show(report),
        [] if quiet else [f"warning: {check_report.warning(one)}" for one in report["warnings"]],
        code=CODES.get(report["outcome"], 0),
        place=report.get("results"),
    )


command(
    "load-sweep",
    """
    The scenario's synthetic job is simulated at every load, each time from an empty network, and measured in
    its steady state. Ctrl-C ends the sweep and keeps the loads that had ended. Loads are fractions of the
    terminal link's bandwidth.
    """,
    terminal=_load_sweep,
    writes=True,
    scenario=SCENARIO,
    loads=option("Offered loads: 0.1,0.2,... or FIRST:LAST:STEP. [default: 0.05:1:0.05]", metavar="LOADS"),
    job=option("Job with the swept load. [default: the only job]", metavar="NAME"),
    method=option("Method of measurement: steady or booksim.", metavar="NAME"),
    sample_period=option("Length of a sampling period: a time or clock cycles.", metavar="TIME"),
    warmup_periods=option(
        "Periods before the measured ones (steady: at most).", metavar="N", type=int, least=1
    ),
    max_samples=option(
        "Maximum number of periods (booksim: in all; steady: measured).", metavar="N", type=int, least=1
    ),
    latency_threshold=option(
        "Mean latency of a saturated network (booksim: a time or clock cycles; steady: times that of the "
        "idle network).",
        metavar="LATENCY",
    ),
    precision=option(
        "steady: half-width of the 95% confidence interval, relative. [default: 0.02]", type=float
    ),
    saturation=option("Search the saturation point down to this tolerance.", metavar="TOLERANCE", type=float),
    out=option("Folder to write: sweep.json, points.csv.", "--out", "-o", metavar="DIR"),
    plot=option("Picture of the curve: PNG, SVG or PDF.", metavar="FILE", type=Path, default=None),
    settings=SETTINGS,
    seed=SEED,
    processes=PROCESSES,
    as_json=JSON,
    quiet=QUIET,
    force=switch("Replace an existing result or picture.", "--force", "-f"),
)(load_sweep)
