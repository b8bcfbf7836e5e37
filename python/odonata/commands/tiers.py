"""Several runs of one scenario: `odonata fidelity`, `odonata extrapolate`."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.base.html_page import Answer
from odonata.commands.declared import JSON, SCENARIO, SEED, SETTINGS, Shown, command, option, switch
from odonata.errors import INTERRUPTED
from odonata.running import extrapolation, runner
from odonata.running import tiers as sides
from odonata.running.progress import ProgressLine
from odonata.scenario import reading
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.answers.extrapolate import ExtrapolationAnswer
    from odonata.answers.fidelity import FidelityAnswer
    from odonata.scenario.given import ScenarioLike


class TierName(StrEnum):
    """Tiers of fidelity: how messages are carried."""

    PACKET = "packet"
    MIXED = "mixed"
    FLOW = "flow"
    ANALYTIC = "analytic"


def _task(scenario: Path, settings: list[str] | None, seed: int | None) -> runner.Task:
    return runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), seed)


def _fidelity(
    scenario: Path,
    *,
    tiers: list[TierName] | None,
    packet_until: str | None,
    settings: list[str] | None,
    seed: int | None,
    quiet: bool,
    as_json: bool,
) -> Shown:
    found = sides.compare(
        _task(scenario, settings, seed),
        [tier.value for tier in tiers] if tiers else None,
        packet_until,
        lambda title: contextlib.nullcontext() if quiet else ProgressLine(title=title),
    )
    interrupted = any(sides.is_interrupted(tier) for tier in found["tiers"])
    return Shown(found, lambda: sides.show(found), code=INTERRUPTED if interrupted else 0)


@command(
    "fidelity",
    """
    Fidelities are packets, flows and the analytic model; mixed, if its jobs say so.

    Per job: time, MPI time, I/O time, latency, slowdown (with run.baselines), the error of each tier against
    packets, and the CPU seconds of each. The answer names what a tier cannot do; tiers without lost time run
    without run.lost_time. Progress goes to standard error. Ctrl-C ends the command and keeps complete tiers.
    """,
    terminal=_fidelity,
    scenario=SCENARIO,
    tiers=option(
        "Run this model; repeatable. [default: all, packet first; mixed if jobs differ]",
        "--tier",
        type=list[TierName],
        default=None,
    ),
    packet_until=option(
        "End the packet run after this simulated time; unfinished jobs are not compared.", metavar="TIME"
    ),
    settings=SETTINGS,
    seed=SEED,
    as_json=JSON,
    quiet=switch("Print no progress.", "--quiet", "-q"),
)
def fidelity(
    scenario: ScenarioLike,
    *,
    tiers: Sequence[str] | None = None,
    packet_until: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> FidelityAnswer:
    """Runs a scenario under several tiers of fidelity and compares its jobs (docs/fidelity.md).

    The keys are those of `odonata fidelity --json` (docs/results.md). A tier that cannot run the scenario has
    the reason in `refused`; where none of its messages waits for others, `run.lost_time` is left out.

    Args:
        scenario: As in `run`.
        tiers: "packet", "mixed" (jobs as their own fidelity says), "flow", "analytic", in the order in which
            they run; the others are compared with "packet", if it is among them. Default: all, "mixed" if a
            job has a fidelity of its own.
        packet_until: Simulated time after which the run in packets ends, e.g. "2 ms"; jobs that have not
            ended by then are not compared.
        overrides: Settings that replace those of the scenario, by dotted key.
        seed: Replaces the scenario's seed.

    Ctrl-C ends the running tier, whose outcome is then "interrupted", and starts no other.

    Raises:
        InputError: The scenario is invalid under every tier, or a tier is unknown.

    >>> import odonata
    >>> found = odonata.fidelity("examples/uniform.toml", tiers=["flow", "analytic"])  # doctest: +SKIP
    >>> [tier["tier"] for tier in found["tiers"]]  # doctest: +SKIP
    ['flow', 'analytic']
    """
    text, path = text_and_path(scenario)
    task = runner.Task(text, path, override_list(overrides), seed)
    found = sides.compare(task, tiers, packet_until)
    return cast("FidelityAnswer", Answer(cast("dict[str, Any]", found), sides.show))


def _extrapolate(
    scenario: Path, *, tolerance: float, settings: list[str] | None, seed: int | None, as_json: bool
) -> Shown:
    found = extrapolation.find(_task(scenario, settings, seed), tolerance)
    return Shown(found, lambda: extrapolation.show(found))


@command(
    "extrapolate",
    """
    The estimate comes with its error. Runs have ever more iterations until those of all jobs are steady, to
    the end of the run; if they never are, the scenario is run in full. Nothing is written.
    """,
    terminal=_extrapolate,
    scenario=SCENARIO,
    tolerance=option(
        "Largest relative difference between the times of steady iterations.", metavar="PART", type=float
    ),
    settings=SETTINGS,
    seed=SEED,
)
def extrapolate(
    scenario: ScenarioLike,
    *,
    tolerance: float = 0.01,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
) -> ExtrapolationAnswer:
    """Runs few iterations of a scenario's jobs, and extrapolates to all of them (docs/fidelity.md).

    The keys are those of `odonata extrapolate --json` (docs/results.md). If no phase is
    steady, the scenario runs in full, and `skipped` is 0.

    Args:
        scenario: As in `run`. Every job repeats itself (`repeat`, or the iterations of its workload), or
            ends with others (`until`).
        tolerance: Largest relative difference between the times of steady iterations.
        overrides: Settings that replace those of the scenario, by dotted key.
        seed: Replaces the scenario's seed.

    Raises:
        InputError: The scenario is invalid, or a job does not repeat itself.

    >>> import odonata
    >>> found = odonata.extrapolate("examples/uniform.toml", tolerance=0.02)  # doctest: +SKIP
    >>> found["steady"], found["jobs"][0]["elapsed_s"], found["jobs"][0]["error"]  # doctest: +SKIP
    """
    text, path = text_and_path(scenario)
    task = runner.Task(text, path, override_list(overrides), seed)
    return cast(
        "ExtrapolationAnswer",
        Answer(cast("dict[str, Any]", extrapolation.find(task, tolerance)), extrapolation.show),
    )
