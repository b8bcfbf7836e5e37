"""Better settings of a scenario: `odonata advise`."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.advice import answer as answers
from odonata.advice import choices, goals, page, search
from odonata.base.html_page import Answer
from odonata.base.output_file import whole_file
from odonata.commands.declared import JSON, SCENARIO, SETTINGS, Shown, command, option, result_folder, switch
from odonata.errors import INTERRUPTED, InputError
from odonata.errors import option as named
from odonata.machines import prices
from odonata.running import runner
from odonata.running.stopping import Stop
from odonata.scenario import reading
from odonata.scenario.given import override_list, text_and_path
from odonata.sweeps.reader import Source
from odonata.sweeps.spec import seconds

if TYPE_CHECKING:
    from odonata.answers.advice import Advice
    from odonata.commands.declared import PathLike
    from odonata.scenario.given import ScenarioLike

#: The file with the answer, beside the folders of the runs.
ADVICE_FILE = "advice.json"
#: Most seeds in packets.
MOST_SEEDS = 100


class Goal(StrEnum):
    """What is to be small."""

    SLOWDOWN = "slowdown"
    THROUGHPUT = "throughput"
    COST = "cost"


def _found(
    task: runner.Task,
    vary: Sequence[str],
    goal: str,
    at_most: Sequence[str],
    budget: str,
    seeds: int,
    price_file: Path | None,
    processes: int | None,
    folder: Path,
    stop: Stop,
    report: search.Report | None,
) -> Advice:
    """The answer, which is also written to `folder`."""
    if not vary:
        raise InputError(
            "nothing varies", key=named("vary"), expected=f"{', '.join(choices.NAMES)}, or KEY=A,B"
        )
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(
            "a number out of range", key=named("seeds"), value=str(seeds), expected=f"1 to {MOST_SEEDS}"
        )
    scenario = task.scenario()
    candidates, left_out = choices.find(task, vary)
    request = search.Request(
        task,
        str(scenario["name"]),
        goal,
        goals.limits(at_most, [job["name"] for job in scenario["jobs"]]),
        prices.read(price_file),
        seconds(budget, Source(), named("budget")),
        seeds,
        processes,
    )
    found = search.search(request, candidates, left_out, folder, stop=stop, report=report)
    answer = answers.of_search(request, found, vary)
    with whole_file(folder / ADVICE_FILE) as file:
        file.write((json.dumps(answer, indent=1) + "\n").encode())
    return answer


def _advise(
    scenario: Path,
    *,
    vary: list[str] | None,
    goal: Goal,
    at_most: list[str] | None,
    budget: str,
    seeds: int,
    prices: Path | None,
    out: str | None,
    settings: list[str] | None,
    processes: int | None,
    quiet: bool,
    as_json: bool,
) -> Shown:
    task = runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), None)
    folder = result_folder(out, Path(f"{scenario.stem}-advice"))
    with runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        line = None if quiet else stack.enter_context(page.AdviceLine())
        answer = _found(
            task,
            _split(vary or []),
            goal,
            at_most or [],
            budget,
            seeds,
            prices,
            processes,
            folder,
            stop,
            line,
        )

    def show() -> None:
        if not quiet:
            page.show(answer)
            print(f"Runs: {folder}")

    code = INTERRUPTED if answer["outcome"] == "interrupted" else 0
    return Shown(answer, show, code=code, place=folder)


def _split(texts: Sequence[str]) -> list[str]:
    """What varies, from names with commas between, keys with values and alternatives.

    >>> _split(["placement,routing", "network.packet=1 KiB,4 KiB", "a=1; b=2"])
    ['placement', 'routing', 'network.packet=1 KiB,4 KiB', 'a=1; b=2']
    """
    found = []
    for text in texts:
        found += [text] if "=" in text else [part.strip() for part in text.split(",") if part.strip()]
    return found


@command(
    "advise",
    """
    Candidates are all combinations of the values of what varies. All run by flows or packets, whichever is
    faster, fewer and fewer with more and more seeds; then the best three and the scenario as it is run in
    packets. The answer says which candidate is better, by how much and why, or that none is. Repeat the
    command to continue. """, terminal=_advise, writes=True, scenario=SCENARIO, vary=option(
        "What varies: placement, routing, classes, storage.assignment, buffers, with commas between; "
        "KEY=A,B; or alternatives KEY=A; KEY=B. Repeatable.",
        metavar="WHAT",
        type=list[str],
        default=None,
    ),
    goal=option("Goal: slowdown, throughput (time until all jobs have ended) or cost.", "--for",
                metavar="GOAL", type=Goal),
    at_most=option(
        "A limit: JOB.MEASURE=VALUE, cost=VALUE or cost=present; repeatable.",
        "--at-most", metavar="LIMIT", type=list[str], default=None,
    ),
    budget=option("Wall time of the search.", metavar="TIME"),
    seeds=option("Most seeds in packets.", metavar="N", type=int, least=1, most=MOST_SEEDS),
    prices=option("Prices of routers, cables and servers (TOML).", metavar="FILE", type=Path, default=None),
    out=option(
        "Folder of the runs, which are not repeated. [default: results/SCENARIO-advice]", "--out", "-o",
        metavar="DIR",
    ),
    settings=SETTINGS,
    processes=option("Parallel runs. [default: cores]", metavar="N", type=int, least=1),
    as_json=JSON,
    quiet=switch("Print only errors.", "--quiet", "-q"),
)  # fmt: skip
def advise(
    scenario: ScenarioLike,
    vary: Sequence[str],
    *,
    goal: str = Goal.SLOWDOWN,
    at_most: Sequence[str] = (),
    budget: str = "10 min",
    seeds: int = 5,
    prices: PathLike | None = None,
    out: PathLike | None = None,
    overrides: Mapping[str, Any] | None = None,
    processes: int | None = None,
) -> Advice:
    """Finds settings that are better than those of a scenario, and confirms them in packets (docs/advise.md).

    Args:
        scenario: As in `run`.
        vary: What varies: `placement`, `routing`, `storage.assignment`, `buffers`, `KEY=A,B`, or alternatives
            `KEY=A; KEY=B`.
        goal: What is to be small: `slowdown`, `throughput` (the time until all jobs have ended) or `cost`.
        at_most: Limits: `JOB.MEASURE=VALUE`, `cost=VALUE` or `cost=present`.
        budget: Wall time of the search.
        seeds: Most seeds in packets.
        prices: A file with prices.
        out: Folder of the runs, from which a later call continues; by default none is kept.
        overrides: Settings of all candidates, by dotted key.
        processes: Parallel runs; by default as many as there are cores.

    Raises:
        InputError: The scenario or what varies is wrong.

    >>> import odonata
    >>> found = odonata.advise("examples/interference.toml", ["placement", "routing"])  # doctest: +SKIP
    >>> found["best"], found["sentences"]  # doctest: +SKIP
    """
    text, path = text_and_path(scenario)
    task = runner.Task(text, path, override_list(overrides), None)
    if goal not in goals.GOALS:
        raise InputError(
            "unknown goal", key=named("goal", "--for"), value=str(goal), expected=", ".join(goals.GOALS)
        )
    with runner.StopRequest() as stop, contextlib.ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="odonata-")) if out is None else out
        )
        found = _found(
            task, list(vary), goal, at_most, budget, seeds, None if prices is None else Path(prices),
            processes, folder, stop, None,
        )  # fmt: skip
    return cast("Advice", Answer(cast("dict[str, Any]", found), page.show))
