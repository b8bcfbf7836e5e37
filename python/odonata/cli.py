"""The command `odonata`.

Results and answers go to standard output, progress and errors to standard error. Exit codes: 0 the run
completed; 2 the input is wrong and nothing was created or touched; 3 the run ended in a named failure, which
`run.json` holds; 130 it was interrupted, and what was measured until then is kept; 1 this computer let us
down (disk full, ...), and nothing was left behind.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from odonata import __version__, _core, runner
from odonata.errors import InputError, input_errors
from odonata.folder import ResultFolder

COMPLETED, HOST_FAILED, INPUT_WRONG, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

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
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a setting of the scenario; may be repeated."),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=2**64 - 1, help="Replace the seed of the scenario.")
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
        Path | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Folder to write. [default: results/SCENARIO's name]"
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    as_json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Neither progress nor summary, only errors.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace an existing result.")] = False,
) -> None:
    """Run a scenario.

    Its results go to a folder, a summary of them to the terminal. Ctrl-C ends the run early and keeps what
    was measured, under the outcome "interrupted".
    """
    with _reported(as_json), runner.StopRequest() as stop:
        folder = ResultFolder(out or Path("results") / scenario.stem, replace=force)
        simulation = runner.build(runner.read_scenario(scenario), str(scenario), settings or [], seed)
        with folder:
            # Imported late: what is wrong with the input should be said at once.
            from odonata.progress import ProgressLine

            with contextlib.nullcontext() if quiet else ProgressLine() as progress:
                runner.drive(simulation, progress, stop)
            contents = runner.write(simulation, folder.path)
            path = folder.publish()
    if as_json:
        _print_json(contents | {"results": str(path)})
    elif not quiet:
        _summarise(path)
    if code := exit_code(contents["outcome"]):
        _show_ending(path)
        raise typer.Exit(code)


@app.command()
def check(
    scenario: ScenarioFile, settings: Settings = None, seed: Seed = None, as_json: Json = False
) -> None:
    """Say all that can be known before a run.

    The scenario's keys and values, whether the jobs fit and where they are placed, which virtual channels the
    routing needs, that it cannot deadlock, and what the run will cost.
    """
    with _reported(as_json), input_errors():
        text = runner.read_scenario(scenario)
        report = json.loads(_core.check(text, str(scenario), settings or [], seed))
    if as_json:
        _print_json(report)
    else:
        from odonata import check_report

        check_report.show(report)
    if not report["routing"]["deadlock_free"]:
        raise typer.Exit(INPUT_WRONG)


@app.command()
def summary(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder that `odonata run` wrote.")],
) -> None:
    """Show the summary of an earlier run again."""
    with _reported(as_json=False):
        if not (folder / "run.json").is_file():
            raise InputError(
                "not a result of odonata", file=str(folder), expected="a folder that holds run.json"
            )
        try:
            _summarise(folder)
        except (KeyError, ValueError) as error:  # JSON and Arrow errors are ValueErrors
            raise InputError(
                f"the result is damaged: {type(error).__name__} {error}",
                file=str(folder),
                expected="run.json and tables as `odonata run` wrote them",
            ) from None


@app.command()
def bench(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Cases to run; all if none is named.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter runs; figures vary more.")] = False,
    as_json: Json = False,
) -> None:
    """Measure the simulator on this machine.

    The figure of merit is packet-hops (routers visited by packets) per second of CPU time.
    """
    from odonata import bench as benchmark

    with _reported(as_json):
        report = benchmark.measure(names or [], quick=quick, announce=not as_json)
    if as_json:
        _print_json(report)
    else:
        benchmark.show(report)


@app.command()
def schema(
    tables: Annotated[bool, typer.Option("--tables", help="The tables of a result instead.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a page to read instead of JSON.")] = False,
) -> None:
    """Print the reference of scenarios or results.

    For scenarios that is the JSON Schema that editors complete and check with.
    """
    content = json.loads(_core.table_docs() if tables else _core.schema())
    if not markdown:
        _print_json(content)
        return
    from odonata.results_reference import tables_page
    from odonata.scenario_reference import scenario_page

    print(tables_page(content) if tables else scenario_page(content), end="")


def main() -> None:
    """Entry point; nothing a user does ends in a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        _say("stopped; nothing was written")
        sys.exit(INTERRUPTED)


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
    except BrokenPipeError:
        raise
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        _say(f"error: {error.strerror or error}{place}; nothing was written")
        raise typer.Exit(HOST_FAILED) from None
    except MemoryError:
        _say("error: not enough memory; nothing was written")
        raise typer.Exit(HOST_FAILED) from None
    except BaseException as error:
        # A panic of the core is an error of ours, and is no Exception; it gets a sentence all the same.
        if type(error).__name__ != "PanicException":
            raise
        _say(f"error: Odonata itself failed, please report it: {error}; nothing was written")
        raise typer.Exit(HOST_FAILED) from None


def exit_code(outcome: str) -> int:
    """The exit code for a run that ended so."""
    # A time limit is an end that the scenario asks for; open-loop traffic has no other.
    return {"completed": COMPLETED, "time-limit": COMPLETED, "interrupted": INTERRUPTED}.get(
        outcome, RUN_FAILED
    )


def _summarise(folder: Path) -> None:
    from odonata import summary as page
    from odonata.results import Results

    page.show(Results.load(folder))


def _show_ending(folder: Path) -> None:
    from odonata.results import Results

    _say(f"{Results.load(folder).ending}\nresults until then: {folder}")


def _say(text: str) -> None:
    print(text, file=sys.stderr)


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, ensure_ascii=False))
