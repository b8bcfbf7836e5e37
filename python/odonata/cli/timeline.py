"""`odonata timeline`: what a run recorded one by one, as a trace for Perfetto."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from odonata.analysis.measured import needed
from odonata.base.output_file import OutputFile
from odonata.base.wording import size
from odonata.cli.answer import open_pipe, print_json, reported, say
from odonata.cli.arguments import Force, Json
from odonata.errors import TRACE_WRONG, InputError, option
from odonata.results.results import Results
from odonata.timeline.recorded import Recorded
from odonata.timeline.selection import Ranks, choose, seconds
from odonata.timeline.totals import compare
from odonata.timeline.write import write

if TYPE_CHECKING:
    from odonata.answers import TimelineAnswer

#: Where the trace goes if nobody says, in the folder of the results.
NAME = "timeline.pftrace"


def timeline(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of `odonata run`.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help=f"File to write. Default: {NAME} in DIR."),
    ] = None,
    jobs: Annotated[
        list[str] | None,
        typer.Option("--jobs", metavar="JOB", help="Show the ranks of this job; repeatable. Default: all."),
    ] = None,
    ranks: Annotated[
        str | None,
        typer.Option("--ranks", metavar="RANKS", help="Ranks to show: 0,5,8-15 or every:16. Default: all."),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help='Start, in simulated time, such as "1.5 ms".')
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--until", metavar="TIME", help="End, in simulated time. Default: the end of the run."),
    ] = None,
    max_events: Annotated[
        int,
        typer.Option(
            "--max-events",
            min=1000,
            metavar="N",
            help=(
                "Maximum number of events (ends of slices, counter values); beyond it, only every "
                "n-th rank is shown."
            ),
        ),
    ] = 1_000_000,
    check: Annotated[
        bool, typer.Option("--check", help="Read the trace back and compare its totals with the tables.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the timeline of a run, call by call, for ui.perfetto.dev.

    Record it first: `odonata run SCENARIO --set run.timeline={}`.
    """
    target = folder / NAME if out is None else out
    different: list[str] = []
    compared = 0
    with reported(as_json):
        results = Results.load(folder)
        # First of all: nothing else helps then.
        Recorded(results)
        names = list(needed(results, "jobs", ["job"])["job"].to_pylist())
        period = (
            seconds(start, option("from_s", "--from")) if start is not None else 0.0,
            seconds(until, option("until_s", "--until")) if until is not None else math.inf,
        )
        selection = choose(names, jobs, None if ranks is None else Ranks.read(ranks), period)
        inputs = [folder / "run.json", *folder.glob("*.parquet")]
        output = OutputFile(target, key=option("out"), replace=force, inputs=inputs)
        if check and output.is_stream:
            raise InputError(
                "standard output cannot be read back",
                key=option("check"),
                value=str(target),
                expected="a file",
            )

        answer = write(results, selection, output.opened, max_events) | {"file": str(target)}
        if check:
            different, compared = compare(results, target)
    with open_pipe():
        if as_json:
            print_json(answer)
        else:
            _show(answer)
        if check:
            _say_checked(different, compared, as_json)
    if different:
        raise typer.Exit(TRACE_WRONG)


def _show(answer: TimelineAnswer) -> None:
    size_text = "" if answer["bytes"] is None else f" ({size(answer['bytes'])})"
    print(f"Timeline: {answer['file']}{size_text}")
    shown = [f"{answer['ranks']:,} of {answer['ranks_recorded']:,} recorded ranks"]
    shown += [
        f"{count:,} {what}{'s' if count != 1 else ''}"
        for what, count in (("storage server", answer["servers"]), ("link", answer["links"]))
        if count
    ]
    print(f"  {', '.join(shown)}; {answer['messages']:,} messages as arrows; {answer['events']:,} events")
    for what in answer["left_out"]:
        print(f"  left out: {what}")
    print("  Open it at https://ui.perfetto.dev; the browser reads it locally.")


def _say_checked(different: list[str], compared: int, as_json: bool) -> None:
    for line in different[:20]:
        say(f"differs: {line}")
    if not compared:
        say("nothing compared: only a run with a complete recording has the totals of its tables")
    elif not as_json:
        print(f"  {compared:,} totals compared with the tables, {len(different)} differ")
