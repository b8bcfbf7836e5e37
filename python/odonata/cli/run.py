"""`odonata run`."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odonata import _core
from odonata.base.arrow import import_alone
from odonata.base.folder import ResultFolder
from odonata.base.messages import listed, print_json, say
from odonata.cli.answer import open_pipe, reported, warn
from odonata.commands.declared import JSON, SCENARIO, SEED, SETTINGS, option, result_folder, switch
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


#: Its arguments and options.
PARAMETERS = {
    "scenario": SCENARIO,
    "out": option(
        "Result folder. [default: results/SCENARIO's name]", "--out", "-o", metavar="DIR", default=None
    ),
    "settings": SETTINGS,
    "seed": SEED,
    "baselines": option(
        "Also run every job alone, and report slowdowns.",
        "--baselines/--no-baselines",
        type=bool,
        default=None,
    ),
    "processes": option(
        "Parallel runs, with baselines. [default: cores]",
        "--processes",
        "-j",
        metavar="N",
        type=int,
        least=1,
        default=None,
    ),
    "scheduler": option(
        "Scheduler: auto, sequential, conservative, optimistic. Results are equal.",
        metavar="NAME",
        default=None,
    ),
    "threads": option("Threads of the run. [default: cores]", "--threads", "-t", metavar="N", default=None),
    "as_json": JSON,
    "quiet": switch("Print only errors.", "--quiet", "-q"),
    "force": switch("Replace an existing result or unfinished run.", "--force", "-f"),
    "resume": switch("Resume the unfinished run of this name from its snapshot, if there is one."),
}


def run(
    scenario: Path,
    *,
    out: str | None,
    settings: list[str] | None,
    seed: int | None,
    baselines: bool | None,
    processes: int | None,
    scheduler: str | None,
    threads: str | None,
    as_json: bool,
    quiet: bool,
    force: bool,
    resume: bool,
) -> None:
    """`odonata run`; its help is in `DETAILS`, its options in `PARAMETERS`."""
    settings = list(settings or [])
    if baselines is not None:
        settings.append(f"run.baselines={'true' if baselines else 'false'}")
    settings += [
        f"run.{key}={value}"
        for key, value in (("scheduler", scheduler), ("threads", threads))
        if value is not None
    ]
    with reported(as_json), runner.StopRequest() as stop, mpi.processes() as group:
        target = group.agree(lambda: result_folder(out, scenario))
        task = group.agree(
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
            _report_cleared(folder, quiet=quiet)
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
    _show(Results(run, path=path), path, as_json=as_json, quiet=quiet)


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
    _report_cleared(folder, quiet=silent)
    group.agree(lambda: _show(Results.load(path), path, as_json=as_json, quiet=quiet) if path else None)


def _report_cleared(folder: ResultFolder, *, quiet: bool) -> None:
    """Reports removed remains of killed runs."""
    if not quiet:
        for text in folder.cleared:
            say(text)


def _show(results: Results, path: Path, *, as_json: bool, quiet: bool) -> None:
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
        for line in listed(results.ending):
            say(line)
    for job, ending in results.failed_baselines.items():
        say(f"{job}, alone: {ending}")
        code = code or (INTERRUPTED if ending.startswith("interrupted") else RUN_FAILED)
    if code:
        say(f"results so far: {path}")
        if results.outcome == "interrupted" and results.run["scenario"]["run"].get("checkpoint_interval"):
            say("the run and its snapshots are gone; SIGTERM in place of Ctrl-C keeps snapshots for --resume")
        raise click.exceptions.Exit(code)


def exit_code(outcome: str) -> int:
    """The exit code of an outcome."""
    # The scenario asks for a time limit; open-loop traffic has no other end.
    return {"completed": COMPLETED, "time-limit": COMPLETED, "interrupted": INTERRUPTED}.get(
        outcome, RUN_FAILED
    )
