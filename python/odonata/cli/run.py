"""`odonata run`."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odonata import _core
from odonata.base.arrow import import_alone
from odonata.base.folder import ResultFolder
from odonata.base.messages import print_json, say
from odonata.cli.answer import open_pipe, reported, warn
from odonata.cli.arguments import Json, ScenarioFile, Seed, Settings
from odonata.commands.declared import result_folder
from odonata.errors import COMPLETED, INTERRUPTED, RUN_FAILED
from odonata.running import mpi, runner
from odonata.running.unfinished import prepare, standing
from odonata.scenario import reading

if TYPE_CHECKING:
    from odonata.results.results import Results

#: The help below its first line.
DETAILS = """
Its results go to a folder, a summary of them to the terminal. Ctrl-C ends the run early and keeps what was
measured, under the outcome "interrupted". A run with snapshots (run.checkpoint_interval) can be resumed after
it was killed; SIGTERM saves and stops it, Ctrl-C ends it like any other.
"""

#: The module that the core imports where a job is a program in Python, which may import anything itself.
PROGRAMS = "odonata.programs.rank_programs"


def run(
    scenario: ScenarioFile,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Result folder. [default: results/SCENARIO's name]"),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    baselines: Annotated[
        bool | None,
        typer.Option(
            "--baselines/--no-baselines",
            help="Also run every job alone, and report slowdowns.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            "-j",
            min=1,
            metavar="N",
            help="Parallel runs, with baselines. [default: cores]",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="Scheduler: auto, sequential, conservative, optimistic. Results are equal.",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option("--threads", "-t", metavar="N", help="Threads of the run. [default: cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace an existing result or unfinished run.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Resume the unfinished run of this name from its snapshot, if there is one."
        ),
    ] = False,
) -> None:
    """`odonata run`; its help is in `DETAILS`."""
    settings = list(settings or [])
    if baselines is not None:
        settings.append(f"run.baselines={'true' if baselines else 'false'}")
    settings += [
        f"run.{key}={value}"
        for key, value in (("scheduler", scheduler), ("threads", threads))
        if value is not None
    ]
    with reported(as_json), runner.StopRequest() as stop, mpi.processes() as group:
        target = group.settle(lambda: result_folder(out, scenario))
        task = group.settle(
            lambda: runner.Task(reading.read_scenario(scenario), str(scenario), settings, seed)
        )
        folder, simulation = prepare(
            task,
            target,
            replace=force,
            resume=resume,
            inputs=task.inputs(),
            warn=say,
            group=group,
            stop=stop,
        )
        if resume and not quiet and group.first:
            say(
                f"resumes: {standing(folder.resumes)}"
                if folder.resumes
                else "starts: no snapshot to resume from"
            )
        if group.first and not quiet:
            warn(json.loads(simulation.warnings()))
        if group.size > 1:
            _run_shared(group, simulation, folder, stop=stop, quiet=quiet, as_json=as_json)
            return
        with folder:
            _tell_cleared(folder, quiet=quiet)
            # Imported late: errors in the input should be reported at once.
            if PROGRAMS not in sys.modules:
                import_alone("pyarrow.parquet", *([] if quiet else ["pyarrow.compute"]))
            from odonata.results.results import Results
            from odonata.running.execute import execute

            with _progress(silent=quiet) as progress:
                run = execute(
                    task,
                    simulation,
                    folder.path,
                    processes=processes,
                    report=progress,
                    stop=stop,
                    checkpoints=folder.checkpoints,
                ).run
            path = folder.publish()
    _tell(Results(run, path=path), path, as_json=as_json, quiet=quiet)


def _progress(*, silent: bool) -> contextlib.AbstractContextManager[runner.Report | None]:
    """What shows the progress of a run."""
    if silent:
        return contextlib.nullcontext()
    from odonata.running.progress import ProgressLine

    return ProgressLine()


def _run_shared(
    group: mpi.Processes,
    simulation: _core.Simulation,
    folder: ResultFolder,
    *,
    stop: runner.StopRequest,
    quiet: bool,
    as_json: bool,
) -> None:
    """`run` in one of several processes; all end with the same exit code."""
    from odonata.results.results import Results
    from odonata.running import shared_run

    silent = quiet or not group.first
    with _progress(silent=silent) as progress:
        path = shared_run.run(group, simulation, folder, report=progress, stop=stop)
    _tell_cleared(folder, quiet=silent)
    group.settle(lambda: _tell(Results.load(path), path, as_json=as_json, quiet=quiet) if path else None)


def _tell_cleared(folder: ResultFolder, *, quiet: bool) -> None:
    """Reports removed remains of killed runs."""
    if not quiet:
        for text in folder.cleared:
            say(text)


def _tell(results: Results, path: Path, *, as_json: bool, quiet: bool) -> None:
    """Prints the results of a run at `path`, and ends with the exit code of its outcome."""
    with open_pipe(path):
        if as_json:
            print_json(results.run | {"results": str(path)})
        elif not quiet:
            from odonata.analysis import summary as contents
            from odonata.analysis import summary_page

            summary_page.show(contents.collect(results), ending=not results.failed)
    code = exit_code(results.outcome)
    if code:
        say(results.ending)
    for job, ending in results.failed_baselines.items():
        say(f"{job}, alone: {ending}")
        code = code or (INTERRUPTED if ending.startswith("interrupted") else RUN_FAILED)
    if code:
        say(f"results so far: {path}")
        if results.outcome == "interrupted" and results.run["scenario"]["run"].get("checkpoint_interval"):
            say("the run and its snapshots are gone; SIGTERM in place of Ctrl-C keeps snapshots for --resume")
        raise typer.Exit(code)


def exit_code(outcome: str) -> int:
    """The exit code of an outcome."""
    # The scenario asks for a time limit; open-loop traffic has no other end.
    return {"completed": COMPLETED, "time-limit": COMPLETED, "interrupted": INTERRUPTED}.get(
        outcome, RUN_FAILED
    )
