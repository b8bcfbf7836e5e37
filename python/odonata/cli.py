"""The command `odonata`.

Results and answers go to standard output, progress and errors to standard error. Exit codes: 0 the run
completed; 2 the input is wrong and nothing was created or touched; 3 the run or a baseline ended in a named
failure, which `run.json` holds; 130 it was interrupted, and what was measured until then is kept, or it can
be resumed; 1 this computer let us down (disk full, ...), and nothing was left behind but snapshots, or a
trace that was to be checked is wrong. A reader that closes the pipe (`| head`) changes none of that.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from odonata import __version__, _core, mpi, runner
from odonata.errors import (
    COMPLETED,
    FORMAT_DIFFERS,
    HOST_FAILED,
    INPUT_WRONG,
    INTERRUPTED,
    RUN_FAILED,
    TRACE_WRONG,
    InputError,
    RunSuspended,
    input_errors,
)
from odonata.folder import ResultFolder
from odonata.unfinished import prepare, standing

app = typer.Typer(
    name="odonata",
    help="Simulates a supercomputer's network and storage, and the jobs that share them.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ScenarioFile = Annotated[Path, typer.Argument(metavar="SCENARIO", help="Scenario file (TOML).")]
ScenarioOrPreset = Annotated[
    Path, typer.Argument(metavar="SCENARIO|PRESET", help="Scenario file (TOML), or the name of a preset.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting of the scenario; may be repeated."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=runner.LARGEST_SEED, help="Replace the seed of the scenario."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    if version:
        print(f"odonata {__version__}")
        raise typer.Exit


@app.command()
def run(
    scenario: ScenarioFile,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder to write. [default: results/SCENARIO's name]"
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    baselines: Annotated[
        bool | None,
        typer.Option(
            "--baselines/--no-baselines",
            help="Run every job alone too, and say how much slower it is beside the others.",
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, metavar="N", help="Runs at the same time, with baselines. [default: cores]"
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="NAME",
            help="Who handles the events: auto, sequential, conservative, optimistic. Results are the same.",
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option("--threads", "-t", metavar="N", help="Threads of the run. [default: cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Neither progress nor summary, only errors.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace an existing result, or an unfinished run.")
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the unfinished run of this name, from its snapshot, if there is one."
        ),
    ] = False,
) -> None:
    """Run a scenario.

    Its results go to a folder, a summary of them to the terminal. Ctrl-C ends the run early and keeps what
    was measured, under the outcome "interrupted". A run with snapshots (run.checkpoint_interval) can be
    resumed after it was killed; SIGTERM saves and stops it.
    """
    settings = list(settings or [])
    if baselines is not None:
        settings.append(f"run.baselines={'true' if baselines else 'false'}")
    settings += [
        f"run.{key}={value}"
        for key, value in (("scheduler", scheduler), ("threads", threads))
        if value is not None
    ]
    with _reported(as_json), runner.StopRequest() as stop, mpi.processes() as group:
        target = group.settle(lambda: _target(out, scenario))
        task = group.settle(
            lambda: runner.Task(runner.read_scenario(scenario), str(scenario), settings, seed)
        )
        folder, simulation = prepare(task, target, replace=force, resume=resume, warn=_say, group=group)
        if resume and not quiet and group.first:
            _say(
                f"goes on: {standing(folder.resumes)}" if folder.resumes else "begins: nothing to go on from"
            )
        if group.first and not quiet:
            _warn(json.loads(simulation.warnings()))
        if group.size > 1:
            _run_shared(group, simulation, folder, stop=stop, quiet=quiet, as_json=as_json)
            return
        with folder:
            # Imported late: what is wrong with the input should be said at once.
            from odonata.execute import execute
            from odonata.progress import ProgressLine

            with contextlib.nullcontext() if quiet else ProgressLine() as progress:
                execute(
                    task,
                    simulation,
                    folder.path,
                    processes=processes,
                    report=progress,
                    stop=stop,
                    checkpoints=folder.checkpoints,
                )
            path = folder.publish()
    _tell(path, as_json=as_json, quiet=quiet)


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
    from odonata import shared_run
    from odonata.progress import ProgressLine

    silent = quiet or not group.first
    with contextlib.nullcontext() if silent else ProgressLine() as progress:
        path = shared_run.run(group, simulation, folder, report=progress, stop=stop)
    group.settle(lambda: _tell(path, as_json=as_json, quiet=quiet) if path else None)


def _tell(path: Path, *, as_json: bool, quiet: bool) -> None:
    """Says what a run's results at `path` are, and ends with the exit code of its outcome."""
    from odonata.results import Results

    results = Results.load(path)
    with _open_pipe():
        if as_json:
            _print_json(results.run | {"results": str(path)})
        elif not quiet:
            from odonata import summary as contents
            from odonata import summary_page

            summary_page.show(contents.collect(results))
    code = exit_code(results.outcome)
    if code:
        _say(results.ending)
    for job, ending in results.failed_baselines.items():
        _say(f"{job}, alone: {ending}")
        code = code or (INTERRUPTED if ending.startswith("interrupted") else RUN_FAILED)
    if code:
        _say(f"results until then: {path}")
        raise typer.Exit(code)


@app.command("load-sweep")
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

    with _reported(as_json), runner.StopRequest() as stop, contextlib.ExitStack() as stack:
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
            folder = ResultFolder(_target(out, scenario), replace=force, marker=sweeps.SWEEP_FILE)
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
        _warn(report["warnings"])
    with _open_pipe():
        if as_json:
            _print_json(report)
        elif not quiet:
            page.show(report)
    code = {"interrupted": INTERRUPTED, "failed": RUN_FAILED}.get(report["outcome"], COMPLETED)
    if code:
        raise typer.Exit(code)


@app.command()
def check(
    scenario: ScenarioOrPreset, settings: Settings = None, seed: Seed = None, as_json: Json = False
) -> None:
    """Say all that can be known before a run.

    The scenario's keys and values, whether the jobs fit and where they are placed, which virtual channels the
    routing needs, that it cannot deadlock, which traffic classes there are, on how many threads and in which
    parts it will run here, what it will cost, and what is probably not meant. A preset and a scenario
    without jobs have no run of which anything could be known.
    """
    with _reported(as_json), input_errors():
        text = _scenario_or_preset(scenario)
        report = json.loads(_core.check(text, str(scenario), settings or [], seed))
    with _open_pipe():
        if as_json:
            _print_json(report)
        else:
            from odonata import check_report

            check_report.show(report)
    if not report["routing"]["deadlock_free"] and report["routing"]["deadlock_check"] == "refuse":
        raise typer.Exit(INPUT_WRONG)


@app.command()
def describe(
    scenario: ScenarioOrPreset,
    settings: Settings = None,
    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE.graphml", help="Write the graph as GraphML to this file."),
    ] = None,
    routing: Annotated[
        bool,
        typer.Option("--routing", help="Also prove that the routing cannot deadlock, or show how it can."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Describe a machine, whatever runs on it.

    Routers, nodes and groups, cables of each class, free ports, the longest of the shortest paths, and the
    cables between two halves. The scenario needs no jobs. What `--export` writes can be a machine of kind
    "graph".
    """
    with _reported(as_json), input_errors():
        text = _scenario_or_preset(scenario)
        description = json.loads(_core.describe(text, str(scenario), settings or []))
        proof = json.loads(_core.prove(text, str(scenario), settings or [])) if routing else None
        if export is not None:
            export.write_text(_core.graphml(text, str(scenario), settings or []), encoding="utf-8")
    with _open_pipe():
        if as_json:
            _print_json(description if proof is None else description | {"routing": proof})
        else:
            from odonata import describe_report

            describe_report.show(description, proof)


def _scenario_or_preset(source: Path) -> str:
    """The scenario in a file, or one of nothing but a preset.

    A file comes first: whoever has one of a preset's name means it.
    """
    presets = _core.preset_names()
    if source.exists() or source.suffix or len(source.parts) != 1:
        return runner.read_scenario(source)
    if str(source) in presets:
        return f'preset = "{source}"\n'
    alike = difflib.get_close_matches(str(source).lower(), presets, n=1)
    raise InputError(
        "neither a file nor a preset",
        key="SCENARIO|PRESET",
        value=str(source),
        expected=f"a scenario file, or one of {', '.join(presets)}",
        hint=f"did you mean {alike[0]}?" if alike else None,
    )


@app.command()
def summary(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `odonata run` wrote.")],
    as_json: Json = False,
) -> None:
    """Show the summary of an earlier run again."""
    with _reported(as_json), _whole(folder):
        from odonata import summary as contents
        from odonata import summary_page
        from odonata.results import Results

        page = contents.collect(Results.load(folder))
    with _open_pipe():
        if as_json:
            _print_json(page)
        else:
            summary_page.show(page)


@app.command()
def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder that `odonata run` wrote.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one, or DIR/baselines/JOB.")],
    least: Annotated[
        float,
        typer.Option("--min", min=0.0, metavar="PERCENT", help="Least change of a metric that is shown."),
    ] = 1.0,
    everything: Annotated[bool, typer.Option("--all", help="Show what has not changed too.")] = False,
    as_json: Json = False,
) -> None:
    """Say what differs between two results.

    First the settings that differ, then every metric of every job that both have, sums over links and
    servers, and who waited for whom. Ratios are B / A.
    """
    threshold = 0.0 if everything else least / 100
    with _reported(as_json), contextlib.ExitStack() as checks:
        from odonata import comparison, comparison_page
        from odonata.results import Results

        for folder in (a, b):
            checks.enter_context(_whole(folder))
        found = comparison.collect(Results.load(a), Results.load(b), threshold)
    with _open_pipe():
        if as_json:
            _print_json(found)
        else:
            comparison_page.show(found, threshold)


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Cases to run; all if none is named.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs; figures vary more.")] = False,
    parallel: Annotated[
        bool, typer.Option("--parallel", help="Measure what more threads gain, with every scheduler.")
    ] = False,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            metavar="N,N,...",
            help="With --parallel: numbers of threads. [default: 1, 2, 4, ... up to the cores]",
        ),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", min=1, metavar="N", help="With --parallel: runs of which the median counts."
        ),
    ] = 5,
    as_json: Json = False,
) -> None:
    """Measure the simulator on this machine.

    The figure of merit is packet-hops (routers visited by packets) per second of CPU time. With --parallel it
    is time on the clock: every scheduler on every number of threads, each run in a process of its own, in
    turn.
    """
    from odonata import bench as benchmark
    from odonata import bench_parallel

    with _reported(as_json):
        if parallel:
            counts = bench_parallel.thread_counts(threads)
            report = bench_parallel.measure(
                names or [], quick=quick, threads=counts, rounds=rounds, announce=not as_json
            )
        elif threads is not None:
            raise InputError("only with --parallel", key="--threads", value=threads, expected="--parallel")
        else:
            report = benchmark.measure(names or [], quick=quick, announce=not as_json)
    with _open_pipe():
        if as_json:
            _print_json(report)
        elif parallel:
            bench_parallel.show(report)
        else:
            benchmark.show(report)
    if parallel and (wrong := bench_parallel.wrong(report)):
        for text in wrong:
            _say(f"error: {text}")
        raise typer.Exit(RUN_FAILED)


@app.command()
def schema(
    tables: Annotated[bool, typer.Option("--tables", help="The tables of a result instead.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page to read instead of JSON.")] = False,
) -> None:
    """Print the reference of scenarios or results.

    For scenarios that is the JSON Schema that editors complete and check with.
    """
    from odonata.results_reference import documentation, tables_page
    from odonata.scenario_reference import scenario_page

    with _open_pipe():
        if tables:
            docs = documentation()
            print(tables_page(docs), end="") if markdown else _print_json(docs)
        else:
            keys = json.loads(_core.schema())
            print(scenario_page(keys), end="") if markdown else _print_json(keys)


traces = typer.Typer(
    help="Traces (DUMPI) and programs in files: look into them, check them, repeat and convert them.",
    no_args_is_help=True,
)
app.add_typer(traces, name="trace")

TracePath = Annotated[
    Path, typer.Argument(metavar="TRACE", help="Folder of the trace or program, or a .meta file.")
]


@traces.command("info")
def trace_info(
    trace: TracePath,
    matrix: Annotated[
        Path | None,
        typer.Option("--matrix", metavar="FILE", help="Picture of who sends how much to whom, PNG or SVG."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what is in a trace: ranks, calls, messages, bytes and times."""
    from odonata import trace_report as report
    from odonata.pictures import check_picture

    with _reported(as_json):
        check_picture(matrix, "--matrix")
        found = report.info(trace)
        flows = report.matrix(trace) if matrix is not None or not as_json else []
        if matrix is not None:
            report.draw_matrix(flows, found["nranks"], found["name"], matrix)
    with _open_pipe():
        if as_json:
            _print_json(found)
        else:
            report.show_info(found, flows)


@traces.command("lint")
def trace_lint(trace: TracePath, as_json: Json = False) -> None:
    """Look for what is wrong with a trace.

    Messages that nobody receives, collectives that do not agree, communicators that cannot be told,
    impossible times, counts that differ from the footer's, files that are cut off. Exit code: 0 nothing is
    wrong, 1 something is, 2 it cannot be read. Notes say what is replayed other than recorded.
    """
    from odonata import trace_report as report

    with _reported(as_json):
        findings = report.lint(trace)
    with _open_pipe():
        if as_json:
            _print_json(findings)
        else:
            report.show_lint(findings)
    if any(finding["severity"] == "error" for finding in findings):
        raise typer.Exit(TRACE_WRONG)


@traces.command("convert")
def trace_convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="Trace, program in files, or scenario (TOML) whose job is to be written."
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write, NAME.program by custom.")],
    job: Annotated[
        str | None,
        typer.Option("--job", metavar="NAME", help="Job of the scenario. [default: the only one]"),
    ] = None,
    settings: Settings = None,
    times: Annotated[
        int, typer.Option("--repeat", "-n", min=1, metavar="N", help="How often, one after the other.")
    ] = 1,
    compute_scale: Annotated[
        float,
        typer.Option(
            "--compute-scale", min=0.0, max=1e6, metavar="X", help="Multiply times of computation by X."
        ),
    ] = 1.0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a program that is there.")] = False,
    as_json: Json = False,
) -> None:
    """Write a program in files (docs/programs.md).

    From a trace (DUMPI) or another program, or from a job of a scenario, whatever it runs. It appears when it
    is complete, or not at all.
    """
    from odonata import trace_report as report

    with _reported(as_json):
        if source.suffix == ".ncptl":
            raise InputError(
                "a program in coNCePTuaL says nothing of its tasks and options",
                file=str(source),
                expected="a scenario (TOML) with a job that runs it",
                hint="program, ranks and args are keys of a job: docs/conceptual.md",
            )
        if source.is_file() and source.suffix != ".meta":
            if times != 1 or compute_scale != 1.0:
                key = "--repeat" if times != 1 else "--compute-scale"
                raise InputError(
                    "a job says that itself",
                    key=key,
                    expected="a trace or program",
                    hint="--set jobs.0.KEY=VALUE",
                )
            ranks, operations = report.convert_job(source, job, out, settings or [], force=force)
        else:
            if job is not None or settings:
                raise InputError(
                    "a trace has no jobs", key="--job" if job is not None else "--set", expected="a scenario"
                )
            ranks, operations = report.convert(
                source, out, times=times, compute_scale=compute_scale, force=force
            )
    with _open_pipe():
        if as_json:
            _print_json({"program": str(out), "ranks": ranks, "operations": operations})
        else:
            print(f"{out}: {ranks} ranks, {operations} operations")


@traces.command("repeat")
def trace_repeat(
    trace: TracePath,
    times: Annotated[int, typer.Option("--times", "-n", min=1, metavar="N", help="How often.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder to write; it must not exist.")
    ],
    as_json: Json = False,
) -> None:
    """Write a trace that does several times what a trace does.

    What is between MPI_Init and MPI_Finalize is written N times. To replay a trace several times, the key
    `repeat` of a job does without.
    """
    from odonata import trace_report as report

    with _reported(as_json):
        report.repeat(trace, out, times)
    with _open_pipe():
        if as_json:
            _print_json({"trace": str(out)})


workload_app = typer.Typer(
    name="workload",
    help="Check and list programs in coNCePTuaL.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(workload_app)

ProgramFile = Annotated[Path, typer.Argument(metavar="FILE", help="Program (.ncptl).")]
Strict = Annotated[
    bool, typer.Option("--strict", help="Accept only what release 1.5.1b of the reference accepts.")
]


@workload_app.command("check")
def workload_check(program: ProgramFile, strict: Strict = False, as_json: Json = False) -> None:
    """Say what is wrong with a program, and which options it has."""
    from odonata import workload

    with _reported(as_json):
        report = workload.checked(program, strict=strict)
    for text in [*(error["shown"] for error in report["errors"]), *report["warnings"]]:
        _say(text)
    with _open_pipe():
        if as_json:
            _print_json(report)
        elif report["valid"]:
            print(f"{program}: valid")
            for p in report["parameters"]:
                print(f"  {p['long']}, {p['short']}  {p['about']} (default {p['default']})")
    if not report["valid"]:
        raise typer.Exit(INPUT_WRONG)


@workload_app.command("format")
def workload_format(
    program: ProgramFile,
    write: Annotated[bool, typer.Option("--write", "-w", help="Replace the file, if it differs.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only say whether it differs: exit code 1.")] = False,
) -> None:
    """Print a program in one layout: indentation, spaces, keywords in lower case.

    Lines stay as they are broken, and comments where they are. What the program means does not change: its
    words, numbers, strings and signs are the same.
    """
    from odonata import workload

    with _reported(False):
        if write and check:
            raise InputError("one of them", key="--write", expected="--write or --check")
        before, after = workload.formatted(program)
        if write and before != after:
            workload.replace(program, after)
    with _open_pipe():
        if not write and not check:
            print(after, end="")
        elif before != after:
            print(f"{program}: {'formatted' if write else 'would be formatted'}")
    if check and before != after:
        raise typer.Exit(FORMAT_DIFFERS)


@workload_app.command("compile")
def workload_compile(
    program: ProgramFile,
    tasks: Annotated[int, typer.Option("--tasks", "-n", min=1, max=1 << 24, help="Number of tasks.")],
    args: Annotated[
        list[str] | None, typer.Argument(metavar="[-- ARGS]", help="Command line of the program.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=runner.LARGEST_SEED, help="Of random tasks.")] = 1,
    strict: Strict = False,
    as_json: Json = False,
) -> None:
    """List every operation of every task, and whether all come to their end.

    There is no clock: timed loops have three passes, and one to warm up.
    """
    from odonata import workload

    with _reported(as_json):
        content, failure = workload.record(program, tasks, args or [], seed=seed, strict=strict)
    if failure is not None:
        _say(failure)
    with _open_pipe():
        if as_json:
            _print_json(content)
        elif failure is None:
            for warning in content["warnings"]:
                _say(f"warning: {warning}")
            print("\n".join(workload.listing(content)))
    if failure is not None:
        raise typer.Exit(INPUT_WRONG)


def main() -> None:
    """Entry point; nothing a user does ends in a traceback."""
    try:
        app()
    except KeyboardInterrupt as error:
        _say(f"stopped; {_left(error)}")
        sys.exit(INTERRUPTED)


def _target(out: str | None, scenario: Path) -> Path:
    """The folder to write."""
    if out is None:
        return Path("results") / scenario.stem
    # Path("") would be the current folder.
    if not out.strip():
        raise InputError("no name for the result folder", key="--out", value=repr(out), expected="a folder")
    return Path(out)


@contextlib.contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """Says what is wrong with a result folder that cannot be read."""
    if not (folder / "run.json").is_file():
        raise InputError("not a result of odonata", file=str(folder), expected="a folder that holds run.json")
    try:
        yield
    except (KeyError, ValueError) as error:  # JSON and Arrow errors are ValueErrors
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"the result is damaged: {type(error).__name__} {error}",
            file=str(folder),
            expected="run.json and tables as `odonata run` wrote them",
        ) from None


@contextlib.contextmanager
def _open_pipe() -> Iterator[None]:
    """Bears that nobody reads to the end what is printed inside (`odonata summary DIR | head`)."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer has to go somewhere when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            _say(f"error: the answer could not be printed: {error.strerror or error}")
            raise typer.Exit(HOST_FAILED) from None


@contextlib.contextmanager
def _reported(as_json: bool) -> Iterator[None]:
    """Shows errors that a user can mend as one block, and ends with their exit code."""
    try:
        yield
    except InputError as error:
        _say(f"error: {error}")
        if as_json:
            _print_json({"error": error.as_dict()})
        raise typer.Exit(INPUT_WRONG) from None
    except RunSuspended as error:
        _say(f"{error}; {_left(error)}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        _say(f"error: {error.strerror or error}{place}; {_left(error)}")
        raise typer.Exit(HOST_FAILED) from None
    except MemoryError as error:
        _say(f"error: not enough memory; {_left(error)}")
        raise typer.Exit(HOST_FAILED) from None
    except BaseException as error:
        # A panic of the core is an error of ours, and is no Exception; it gets a sentence all the same.
        if type(error).__name__ != "PanicException":
            raise
        _say(f"error: Odonata itself failed, please report it: {error}; {_left(error)}")
        raise typer.Exit(HOST_FAILED) from None


def _left(error: BaseException) -> str:
    """What an error has left of a run, as whoever cleaned up has noted."""
    return "; ".join(getattr(error, "__notes__", [])) or "nothing was written"


def exit_code(outcome: str) -> int:
    """The exit code for a run that ended so."""
    # A time limit is an end that the scenario asks for; open-loop traffic has no other.
    return {"completed": COMPLETED, "time-limit": COMPLETED, "interrupted": INTERRUPTED}.get(
        outcome, RUN_FAILED
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _warn(warnings: list[dict[str, Any]]) -> None:
    from odonata.check_report import warning

    for one in warnings:
        _say(f"warning: {warning(one)}")


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))
