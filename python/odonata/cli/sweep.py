"""`odonata sweep`."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from odonata.base.pictures import picture, save
from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Json, Settings, result_folder
from odonata.errors import COMPLETED, INTERRUPTED, RUN_FAILED, InputError, given, option
from odonata.running import runner
from odonata.sweeps import own_pictures, page, run
from odonata.sweeps import picture as pictures
from odonata.sweeps import spec as specs
from odonata.sweeps.axes import over_option


def sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="SWEEP|SCENARIO", help="Sweep file, or scenario file with --over (TOML)."),
    ],
    over: Annotated[
        list[str] | None,
        typer.Option("--over", metavar="KEY=A,B,C", help="Values of a scenario key; repeatable."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds", metavar="N", help="Seeds of every point: a number of seeds, or a list such as 1,5,9."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help=("Folder of the sweep; its finished runs are not repeated. [default: results/FILE's name]"),
        ),
    ] = None,
    settings: Settings = None,
    baselines: Annotated[
        bool | None, typer.Option("--baselines/--no-baselines", help="Also run every job alone.")
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option("--processes", "-j", min=1, metavar="N", help="Parallel runs. [default: cores]"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep-tables", help="Keep all tables of every run.")] = False,
    reuse: Annotated[
        list[Path] | None,
        typer.Option("--reuse", metavar="DIR", help="Reuse the runs of another sweep; repeatable."),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler."),
    ] = None,
    slurm: Annotated[
        str | None,
        typer.Option("--slurm", metavar="PARTITION", help="Run in Slurm jobs, in this partition."),
    ] = None,
    slurm_workers: Annotated[
        int | None,
        typer.Option("--slurm-workers", min=1, metavar="N", help="Workers, one Slurm job each. [default: 1]"),
    ] = None,
    slurm_time: Annotated[
        str | None,
        typer.Option(
            "--slurm-time", metavar="HH:MM:SS", help="Wall time of each worker. [default: 01:00:00]"
        ),
    ] = None,
    slurm_memory: Annotated[
        str | None,
        typer.Option("--slurm-memory", metavar="SIZE", help="Memory of each worker. [default: 4 GB]"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Picture to write, PNG, SVG or PDF.")
    ] = None,
    measure: Annotated[
        str, typer.Option("--measure", metavar="NAME", help="With --plot: column of points.parquet to draw.")
    ] = "elapsed_ratio",
    x: Annotated[
        str | None,
        typer.Option("--x", metavar="KEY", help="With --plot: swept key on the x axis. [default: the first]"),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing picture.")] = False,
) -> None:
    """Run a scenario with many values of its keys and many seeds.

    Repeat the command to continue a stopped sweep; finished runs are not repeated. A failed run is a row of
    the results; the others continue.
    """
    with reported(as_json), runner.StopRequest() as stop:
        spec = specs.load(file)
        cluster = spec.slurm
        of_slurm: dict[str, Any] = {
            "workers": slurm_workers,
            "time": slurm_time,
            "memory": slurm_memory,
            "partition": slurm,
        }
        given_set = {name: value for name, value in of_slurm.items() if value is not None}
        if given_set and cluster is None and slurm is None:
            raise InputError(
                "only with --slurm",
                key=option(f"slurm_{next(iter(given_set))}"),
                expected=given("slurm", "PARTITION"),
            )
        if given_set:
            cluster = replace(cluster or specs.Slurm(), **given_set)
        spec = run.amended(
            spec,
            [over_option(text) for text in over or []],
            {
                "seeds": None if seeds is None else specs.seeds_option(seeds),
                "baselines": baselines,
                "processes": processes,
                "keep": "tables" if keep else None,
                "dask": dask,
                "slurm": cluster if dask is None else None,
            },
        )
        folder = result_folder(out, file)
        own = plot is not None and own_pictures.wrote(folder, plot)
        output = picture(plot, option("plot"), replace=force or own, inputs=[file, spec.scenario])
        if output is not None:
            pictures.check(measure, x, [key for axis in spec.axes for key in axis.keys])
        with contextlib.nullcontext() if quiet else page.SweepLine() as progress:
            found = run.execute(
                spec,
                folder,
                list(settings or []),
                reuse=reuse or [],
                stop=stop,
                report=progress,
            )
        if output is not None:
            try:
                save(found.plot(measure, x=x), output)
                own_pictures.remember(folder, output.target)
            except Exception as error:
                error.add_note(f"the sweep is in {found.path}, without a picture")
                raise
    with open_pipe(found.path):
        if as_json:
            print_json(found.description | {"results": str(found.path)})
        elif not quiet:
            page.show(found)
    for text in page.failures(found):
        say(text)
    code = {"interrupted": INTERRUPTED, "failed": RUN_FAILED}.get(found.outcome, COMPLETED)
    if code:
        if found.outcome == "interrupted":
            say(f"interrupted; repeat the command to continue: {found.path}")
        raise typer.Exit(code)
