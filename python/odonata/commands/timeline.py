"""The timeline of a run as a trace for Perfetto: `odonata timeline`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from odonata.analysis.measured import needed
from odonata.base.output_file import OutputFile
from odonata.base.wording import size
from odonata.commands.declared import FORCE, Shown, argument, command, option, switch
from odonata.errors import TRACE_WRONG, InputError
from odonata.errors import option as named
from odonata.results.results import Results
from odonata.timeline.recorded import Recorded
from odonata.timeline.selection import Ranks, choose, seconds
from odonata.timeline.totals import compare
from odonata.timeline.write import write

if TYPE_CHECKING:
    from odonata.answers.timeline import TimelineAnswer

#: Where the trace goes if nothing else is said, in the folder of the results.
NAME = "timeline.pftrace"


def _timeline(
    folder: Path,
    *,
    out: Path | None,
    jobs: list[str] | None,
    ranks: str | None,
    from_s: str | None,
    until_s: str | None,
    max_events: int,
    check: bool,
    force: bool,
    as_json: bool,
) -> Shown:
    target = folder / NAME if out is None else out
    results = Results.load(folder)
    # A result without a recording is refused before anything else.
    Recorded(results)
    names = list(needed(results, "jobs", ["job"])["job"].to_pylist())
    period = (
        seconds(from_s, named("from_s", "--from")) if from_s is not None else 0.0,
        seconds(until_s, named("until_s", "--until")) if until_s is not None else math.inf,
    )
    selection = choose(names, jobs, None if ranks is None else Ranks.read(ranks), period)
    inputs = [folder / "run.json", *folder.glob("*.parquet")]
    output = OutputFile(target, key=named("out"), replace=force, inputs=inputs)
    if check and output.is_stream:
        raise InputError(
            "standard output cannot be read back", key=named("check"), value=str(target), expected="a file"
        )
    answer = write(results, selection, output.opened, max_events)
    answer["file"] = str(target)
    if not check:
        return Shown(answer, lambda: _show(answer))
    different, compared = compare(results, target)

    def show() -> None:
        _show(answer)
        if compared:
            print(f"  {compared:,} totals compared with the tables, {len(different)} differ")

    return Shown(
        answer, show, after=lambda: _differences(different, compared), code=TRACE_WRONG if different else 0
    )


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


def _differences(different: list[str], compared: int) -> Iterator[str]:
    for line in different[:20]:
        yield f"differs: {line}"
    if not compared:
        yield "nothing compared: only a run with a complete recording has the totals of its tables"


command(
    "timeline",
    """
    Record it first: `odonata run SCENARIO --set run.timeline={}`.
    """,
    terminal=_timeline,
    writes=True,
    folder=argument("DIR", "Result folder of `odonata run`."),
    out=option(
        f"File to write. Default: {NAME} in DIR.", "--out", "-o", metavar="FILE", type=Path, default=None
    ),
    jobs=option(
        "Show the ranks of this job; repeatable. Default: all.", metavar="JOB", type=list[str], default=None
    ),
    ranks=option("Ranks to show: 0,5,8-15 or every:16. Default: all.", metavar="RANKS"),
    from_s=option('Start, in simulated time, such as "1.5 ms".', "--from", metavar="TIME", default=None),
    until_s=option(
        "End, in simulated time. Default: the end of the run.", "--until", metavar="TIME", default=None
    ),
    max_events=option(
        "Maximum number of events (ends of slices, counter values); beyond it, only every n-th rank is "
        "shown.",
        metavar="N",
        type=int,
        least=1000,
    ),
    check=switch("Read the trace back and compare its totals with the tables."),
    force=FORCE,
)(Results.timeline)
