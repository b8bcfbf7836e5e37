"""The functions of the package about scenarios and results: `run`, `check`, `describe`, `load`, `compare`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from odonata import _core
from odonata.base import toml_text
from odonata.errors import InputError, RunFailed, input_errors
from odonata.results.results import Results
from odonata.running import runner, speed
from odonata.running.execute import execute
from odonata.running.progress import run_progress
from odonata.running.unfinished import prepare
from odonata.scenario import reading
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.answers import Comparison
    from odonata.scenario.given import ScenarioLike


def run(
    scenario: ScenarioLike,
    out: str | os.PathLike[str] | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    baselines: bool | None = None,
    processes: int | None = None,
    scheduler: str | None = None,
    threads: int | Literal["auto"] | None = None,
    force: bool = False,
    resume: bool = False,
    must_succeed: bool = True,
    progress: Callable[[runner.Progress], None] | bool | None = None,
) -> Results:
    """Simulates a scenario.

    Ctrl-C, in a notebook "interrupt the kernel", ends it early; what was measured until then is kept.

    Args:
        scenario: Path of a TOML file, a `Scenario`, or the same content as a dictionary. There a job's
            ``python`` may be a generator function itself (docs/programs.md).
        out: Folder to write, as `odonata run -o` does; without it the results stay in memory.
        overrides: Settings that replace those of the scenario, by dotted key: ``{"seed": 7}``.
        seed: Replaces the scenario's seed.
        baselines: Run every job alone too, as ``run.baselines`` of the scenario says if this is None.
        processes: Runs that go on at the same time, this one and its baselines. Default: as many as there are
            cores that this process may use.
        scheduler: "auto", "sequential", "conservative" or "optimistic", as
            ``run.scheduler`` says if this is None. Results are the same with all.
        threads: Threads of the run, or "auto" for as many as there are cores; as ``run.threads`` says if this
            is None.
        force: Replace an existing result folder, or begin an unfinished run of that name anew.
        resume: Go on with the unfinished run of that name, if there is one, from its newest snapshot (a
            scenario with ``run.checkpoint_interval`` is saved now and then; without `out`, never).
        must_succeed: Raise `RunFailed`, which holds the results, if the run or a baseline fails or is
            interrupted.
        progress: Called about ten times a second with a `runner.Progress`; or whether a line is shown. By
            default one is in notebooks.

    Raises:
        InputError: The scenario or `out` is wrong; nothing was created.
        RunFailed: See `must_succeed`.
        RunSuspended: A run with snapshots was stopped by SIGTERM; it can be resumed.

    >>> import odonata
    >>> jobs = [{"name": name, "ranks": 4, "workload": {"stencil": {}}} for name in ("one", "other")]
    >>> sizes = {"groups": 3, "routers_per_group": 2, "nodes_per_router": 2, "global_ports_per_router": 1}
    >>> results = odonata.run({"machine": {"dragonfly": sizes}, "jobs": jobs})
    >>> results.outcome, [job["ranks_finished"] for job in results.rows("jobs")]
    ('completed', [4, 4])
    """
    text, path = text_and_path(scenario)
    settings = override_list(overrides)
    if baselines is not None:
        settings.append(f"run.baselines={toml_text.value_text(bool(baselines))}")
    for key, value in (("scheduler", scheduler), ("threads", threads)):
        if value is not None:
            settings.append(f"run.{key}={toml_text.value_text(value)}")
    if processes is not None and processes < 1:
        raise InputError("no process to run in", key="processes", value=str(processes), expected="1 or more")
    if resume and out is None:
        raise InputError(
            "a run without a folder cannot be resumed", key="resume", value="True", expected="out, a folder"
        )
    task = runner.Task(text, path, settings, seed)
    with runner.StopRequest() as stop, run_progress(progress) as report:
        if out is None:
            results = execute(
                task, task.build(stop=stop), None, processes=processes, report=report, stop=stop
            )
        else:
            folder, simulation = prepare(task, out, replace=force, resume=resume, stop=stop)
            with folder:
                execute(
                    task,
                    simulation,
                    folder.path,
                    processes=processes,
                    report=report,
                    stop=stop,
                    checkpoints=folder.checkpoints,
                )
                results = Results.load(folder.publish())
    if must_succeed and (results.failed or results.failed_baselines):
        raise RunFailed(results)
    return results


def check(
    scenario: ScenarioLike, *, overrides: Mapping[str, Any] | None = None, seed: int | None = None
) -> dict[str, Any]:
    """All that can be known before a run.

    Capacity, placement, virtual channels, freedom from deadlock, threads and parts, cost, memory. The keys
    are those of `odonata check --json` (docs/results.md); a notebook shows it as a page.

    Args:
        scenario: As of `run`; or the name of a preset.
        overrides: Settings that replace those of the scenario, by dotted key.
        seed: Replaces the scenario's seed.

    Raises:
        InputError: The scenario is wrong.

    >>> import odonata
    >>> report = odonata.check("examples/uniform.toml")
    >>> report["machine"]["nodes"], report["routing"]["deadlock_free"]
    (72, True)
    """
    from odonata.base.html_page import Answer
    from odonata.scenario import check_report

    text, path = text_and_path(scenario, presets=True)
    reading.check_seed(seed)
    with input_errors():
        report: dict[str, Any] = json.loads(_core.check(text, path, override_list(overrides), seed))
    return Answer(speed.tell(report), check_report.show)


def describe(
    scenario: ScenarioLike,
    *,
    overrides: Mapping[str, Any] | None = None,
    routing: bool = False,
    export: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """A machine, whatever runs on it: routers, nodes, cables of each class, diameter, bisection.

    The keys are those of `odonata describe --json` (docs/results.md); a notebook shows it as a page.

    Args:
        scenario: As of `run`, which needs no jobs here; or the name of a preset.
        overrides: Settings that replace those of the scenario, by dotted key.
        routing: Also prove that the routing cannot deadlock, or show how it can.
        export: File to which the graph is written as GraphML.
        force: Replace that file if it is there.

    >>> import odonata
    >>> machine = odonata.describe("theta")
    >>> machine["kind"], machine["nodes"], machine["diameter"]["nodes"]
    ('dragonfly-2d', 3456, 4)

    Raises:
        InputError: The scenario is wrong, or `export` cannot be written.
    """
    from odonata.base.html_page import Answer
    from odonata.base.output_file import OutputFile, inputs_of

    text, path = text_and_path(scenario, presets=True)
    settings = override_list(overrides)
    inputs = inputs_of(text, Path(path), settings)
    output = None if export is None else OutputFile(export, key="export", replace=force, inputs=inputs)
    with input_errors():
        found: dict[str, Any] = json.loads(_core.describe(text, path, settings))
        if routing:
            found["routing"] = json.loads(_core.prove(text, path, settings))
        if output is not None:
            output.write(_core.graphml(text, path, settings))
    return Answer(found, _show_description)


def _show_description(found: dict[str, Any], stream: Any) -> None:
    from odonata.scenario import describe_report

    describe_report.show(found, found.get("routing"), stream)


def load(folder: str | os.PathLike[str]) -> Results:
    """Opens the folder that `odonata run` wrote.

    >>> import odonata
    >>> odonata.load("results/interference").outcome  # doctest: +SKIP
    'completed'

    Raises:
        FileNotFoundError: `folder` holds no run.json.
    """
    return Results.load(folder)


def compare(
    a: Results | str | os.PathLike[str], b: Results | str | os.PathLike[str], *, least: float = 0.01
) -> Comparison:
    """What differs between two results, or a result and one of its baselines.

    That is settings, metrics of jobs, sums over links and servers, and interference. The keys are
    those of `odonata compare --json` (docs/results.md); a notebook shows it as a page.

    Args:
        a: Results, or their folder.
        b: What they are compared with; ratios are b / a.
        least: Metrics that change by a smaller share are left out.

    >>> import pyarrow as pa
    >>> from odonata import Results, compare
    >>> scenario = {"seed": 1, "jobs": []}
    >>> run = {"outcome": "completed", "digest": "12", "version": "0.1.0", "scenario": scenario}
    >>> quick, slow = (
    ...     Results(run, {"jobs": pa.table({"job": ["milc"], "elapsed_s": [time]})}) for time in (0.2, 0.3)
    ... )
    >>> [(row["metric"], round(row["ratio"], 2)) for row in compare(quick, slow)["jobs"]]
    [('elapsed_s', 1.5)]

    Raises:
        FileNotFoundError: A folder holds no run.json.
    """
    from odonata.analysis import comparison, comparison_page
    from odonata.base.html_page import Answer

    results = [given if isinstance(given, Results) else load(given) for given in (a, b)]
    found = comparison.collect(results[0], results[1], least)

    def show(answer: Any, stream: Any) -> None:
        comparison_page.show(answer, least, stream)

    return cast("Comparison", Answer(cast("dict[str, Any]", found), show))


def html_report(
    *folders: str | os.PathLike[str],
    file: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """One HTML page about several results, or a table of a sweep: `odonata report DIR...` (docs/report.md).

    Of one result `Results.report` makes it.

    Args:
        folders: Folders that `odonata run` wrote, or one of a sweep.
        file: Where to write the page too, whole or not at all.
        force: Replace a file that is there.

    Returns:
        The page.

    Raises:
        InputError: A folder is no result or damaged, or `file` cannot be written, or is there already.

    >>> import odonata
    >>> page = odonata.html_report("results/a", "results/b", file="both.html")  # doctest: +SKIP
    """
    from odonata.base.output_file import OutputFile
    from odonata.commands import pages as sources

    if not folders:
        raise InputError("nothing to show", key="folders", expected="one result or more")
    output = None if file is None else OutputFile(file, key="file", replace=force)
    page = sources.page([Path(folder) for folder in folders])
    if output is not None:
        output.write(page)
    return page
