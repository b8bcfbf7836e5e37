"""A batch queue over days: `odonata batch`, `odonata what-if`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.base.folder import ResultFolder
from odonata.base.lock import hold
from odonata.base.messages import say
from odonata.base.output_file import whole_file
from odonata.base.partial import LOCK
from odonata.batch_queue import confirm as confirming
from odonata.batch_queue import page, run, settings, summary
from odonata.batch_queue import report as batch_report
from odonata.batch_queue import what_if as what_ifs
from odonata.commands.declared import JSON, SETTINGS, Shown, argument, command, option, result_folder, switch
from odonata.errors import INTERRUPTED, InputError, given
from odonata.errors import option as named
from odonata.running import runner
from odonata.sweeps.axes import Axis, list_axis, over_option, set_option
from odonata.sweeps.reader import Source, Table
from odonata.sweeps.spec import MOST_SEEDS

if TYPE_CHECKING:
    from odonata.answers.batch import Batch
    from odonata.answers.what_if import WhatIf
    from odonata.commands.declared import PathLike


def _answer(
    file: Path,
    out: PathLike | None,
    confirm: int,
    overrides: Mapping[str, Any],
    processes: int | None,
    force: bool,
    line: page.BatchLine | None,
    stop: runner.StopRequest,
) -> tuple[Batch, Path | None]:
    """The answer, and the folder with it.

    The result of the queue is in its folder before the comparison with packets begins. The same command
    continues a comparison that was stopped.
    """
    _check_moments(confirm)
    spec = settings.load(file, overrides)
    report = None if line is None else line.jobs
    is_there = out is not None and not force and confirm > 0 and (Path(out) / run.BATCH_FILE).is_file()
    place = Path(out) if out is not None and is_there else None
    with contextlib.ExitStack() as stack:
        folder = None
        if out is not None and place is None:
            folder = ResultFolder(out, replace=force, marker=run.BATCH_FILE, inputs=[file])
            stack.enter_context(folder)
            if line is not None:
                for text in folder.cleared:
                    say(text)
        found = run.simulate(spec, stop=stop, report=report)
        answer = summary.summarize(found)
        if folder is not None:
            run.write(found, folder.path, cast("dict[str, object]", answer))
            place = folder.publish()
    if found.outcome != "completed" or not confirm:
        return answer, place
    with contextlib.ExitStack() as stack:
        if place is not None:
            if is_there:
                _refuse_other(place, answer)
            _lock(place, stack)
        answer["confirmation"] = confirming.confirm(
            found, confirm, stop=stop, report=None if line is None else line.moments, processes=processes,
            folder=place,
        )  # fmt: skip
        if stop.requested:
            answer["outcome"] = "interrupted"
        if place is not None:
            run.write_answer(place, cast("dict[str, object]", answer))
    return answer, place


def _check_moments(count: int) -> None:
    """Raises `InputError` for a number of moments out of range."""
    if not 0 <= count <= confirming.MOST:
        raise InputError(
            "a number out of range", key=named("confirm"), value=str(count),
            expected=f"0 to {confirming.MOST}",
        )  # fmt: skip


def _refuse_other(place: Path, answer: Batch) -> None:
    """Refuses to continue a result of other inputs."""
    if batch_report.answer_of(place)["digest"] != answer["digest"]:
        raise InputError(
            "the result folder holds another result",
            key=named("out"),
            value=str(place),
            expected="a result of the same batch file, or an unused name",
            hint="replace it with " + given("force"),
        )


def _lock(place: Path, stack: contextlib.ExitStack) -> None:
    """Keeps other processes from comparing moments in the same folder."""
    lock = hold(place / LOCK)
    if lock is None:
        raise InputError(
            "another process works on this result",
            key=named("out"),
            value=str(place),
            expected="a free folder",
        )
    stack.callback(os.close, lock)
    stack.callback((place / LOCK).unlink, missing_ok=True)


def _batch(
    file: Path,
    *,
    out: str | None,
    confirm: int,
    changes: list[str] | None,
    processes: int | None,
    quiet: bool,
    force: bool,
    as_json: bool,
) -> Shown:
    target = result_folder(out, file)
    with runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        line = None if quiet else stack.enter_context(page.BatchLine())
        overrides = dict(set_option(text) for text in changes or [])
        answer, place = _answer(file, target, confirm, overrides, processes, force, line, stop)

    def show() -> None:
        if not quiet:
            page.show(answer, place)
            print(f"Results: {place}")

    code = INTERRUPTED if answer["outcome"] == "interrupted" else 0
    return Shown(answer, show, code=code, place=place)


@command(
    "batch",
    """
    Jobs of a list wait in a batch queue, run on the nodes that they get, and slow each other down. A slower
    job ends later, and delays the queue behind it. `odonata import` makes the file from a job list, `odonata
    report` a page of the results. Ctrl-C ends the run and keeps what was simulated. The same command with
    --confirm continues a comparison that was stopped.
    """,
    terminal=_batch,
    writes=True,
    file=argument("BATCH", "Batch file (TOML)."),
    out=option("Folder of the results. [default: results/FILE's name]", "--out", "-o", metavar="DIR"),
    confirm=option("Compare the slowdowns at N drawn moments with packets.", metavar="N", type=int),
    changes=replace(SETTINGS, help="Set a key of the batch file or of its machine; repeatable."),
    processes=option("Parallel runs of packets. [default: cores]", metavar="N", type=int, least=1),
    as_json=JSON,
    quiet=switch("Print only errors.", "--quiet", "-q"),
    force=switch("Replace an existing result.", "--force", "-f"),
)
def batch(
    file: PathLike,
    *,
    out: PathLike | None = None,
    confirm: int = 0,
    overrides: Mapping[str, Any] | None = None,
    processes: int | None = None,
    force: bool = False,
) -> Batch:
    """Simulates a batch file: a job list, a batch queue, and the contention of the jobs that run together.

    Args:
        file: The batch file (docs/operate.md).
        out: Folder of the results; by default nothing is written.
        confirm: Number of drawn moments whose slowdowns are compared with packets.
        overrides: Settings by dotted key, of the batch file or of its machine.
        processes: Parallel runs of packets; by default as many as there are cores.
        force: Replace an existing result.

    Returns:
        The summary: utilization, waits, slowdowns, and the jobs that disturb each other.

    Raises:
        InputError: The file, its machine or its job list is wrong; nothing was created.

    >>> import odonata
    >>> odonata.batch("examples/batch/day.toml")["outcomes"]
    {'completed': 300}
    """
    with runner.StopRequest() as stop:
        return _answer(Path(file), out, confirm, overrides or {}, processes, force, None, stop)[0]


def _variants(
    file: Path,
    over: Sequence[Axis],
    seeds: int,
    confirm: int,
    out: PathLike | None,
    line: page.BatchLine | None,
    stop: runner.StopRequest,
) -> WhatIf:
    """The comparison, which is also written to `out`."""
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(
            "a number out of range", key=named("seeds"), value=str(seeds), expected=f"1 to {MOST_SEEDS}"
        )
    _check_moments(confirm)
    found = what_ifs.variants(file, over)
    folder = None if out is None else Path(out)
    is_other = folder is not None and folder.is_dir() and any(folder.iterdir())
    if folder is not None and is_other and not (folder / what_ifs.JOURNAL).is_file():
        raise InputError(
            "the folder is not a comparison", key=named("out"), value=str(folder),
            expected=f"a folder that holds {what_ifs.JOURNAL}, or none",
        )  # fmt: skip
    report = None if line is None else line.variants
    answer = what_ifs.compare(found, seeds, folder, stop=stop, report=report, confirm=confirm)
    if folder is not None:
        with whole_file(folder / what_ifs.WHAT_IF_FILE) as written:
            written.write((json.dumps(answer, indent=1) + "\n").encode())
    return answer


def _what_if(
    file: Path,
    *,
    over: list[str] | None,
    seeds: int,
    confirm: int,
    out: str | None,
    quiet: bool,
    as_json: bool,
) -> Shown:
    target = result_folder(out, Path(f"{file.stem}-what-if"))
    with runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        line = None if quiet else stack.enter_context(page.BatchLine())
        axes = [over_option(text) for text in over or []]
        answer = _variants(file, axes, seeds, confirm, target, line, stop)

    def show() -> None:
        if not quiet:
            page.show_variants(answer)
            print(f"Runs: {target}")

    code = INTERRUPTED if answer["outcome"] == "interrupted" else 0
    return Shown(answer, show, code=code, place=target)


@command(
    "what-if",
    """
    Variants are all combinations of values, of keys of the batch file (queue.placement=contiguous,random) or
    of the machine (network.routing.algorithm=minimal,ugal). Every variant has the same jobs and seeds, and is
    compared with the first one seed by seed. Repeat the command to continue.
    """,
    terminal=_what_if,
    writes=True,
    file=argument("BATCH", "Batch file (TOML)."),
    over=option("Values of a key; repeatable.", metavar="KEY=A,B,C", type=list[str], default=None),
    seeds=option("Seeds of every variant.", metavar="N", type=int, least=1, most=MOST_SEEDS),
    confirm=option("Compare in packets too, at N drawn moments of each seed.", metavar="N", type=int),
    out=option(
        "Folder of the runs, which are not repeated. [default: results/BATCH-what-if]", "--out", "-o",
        metavar="DIR",
    ),
    as_json=JSON,
    quiet=switch("Print only errors.", "--quiet", "-q"),
)  # fmt: skip
def what_if(
    file: PathLike,
    over: Mapping[str, Sequence[object]],
    *,
    seeds: int = 3,
    confirm: int = 0,
    out: PathLike | None = None,
) -> WhatIf:
    """Compares variants of a batch file on the same jobs and seeds.

    Args:
        file: The batch file (docs/operate.md).
        over: Values by key of the batch file or of the machine; all combinations are variants.
        seeds: Seeds of every variant, from that of the batch file on.
        confirm: Number of drawn moments of each run that are repeated with packets, which know all keys.
        out: Folder of the runs, from which a later call continues; by default none is kept.

    Returns:
        The variants with their runs, and their ratios to the first one, paired by seed.

    Raises:
        InputError: The file or a variant is wrong.

    >>> import odonata
    >>> placements = {"queue.placement": ["contiguous", "random"]}
    >>> found = odonata.what_if("examples/batch/day.toml", placements, seeds=2)
    >>> found["variants"][1]["pairs"][0]["rose"]
    2
    """
    axes = [list_axis(key, list(values), Table({}, Source()), f"over.{key}") for key, values in over.items()]
    with runner.StopRequest() as stop:
        return _variants(Path(file), axes, seeds, confirm, out, None, stop)
