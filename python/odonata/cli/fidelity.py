"""`odonata fidelity`: one scenario under several tiers of fidelity."""

from __future__ import annotations

import contextlib
from enum import StrEnum
from typing import Annotated

import typer

from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json, ScenarioFile, Seed, Settings
from odonata.errors import INTERRUPTED
from odonata.running import runner
from odonata.running import tiers as sides
from odonata.running.progress import ProgressLine
from odonata.scenario import reading


class TierName(StrEnum):
    """How messages are carried."""

    PACKET = "packet"
    MIXED = "mixed"
    FLOW = "flow"
    ANALYTIC = "analytic"


def fidelity(
    scenario: ScenarioFile,
    tiers: Annotated[
        list[TierName] | None,
        typer.Option(
            "--tier",
            help="Run this model; repeatable. [default: all, packet first; mixed if jobs differ]",
        ),
    ] = None,
    packet_until: Annotated[
        str | None,
        typer.Option(
            "--packet-until",
            metavar="TIME",
            help="End the packet run after this simulated time; unfinished jobs are not compared.",
        ),
    ] = None,
    settings: Settings = None,
    seed: Seed = None,
    as_json: Json = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")] = False,
) -> None:
    """Run a scenario in packets, as flows and by the analytic model, and compare; mixed, if its jobs say so.

    Per job: time, MPI time, I/O time, latency, slowdown (with run.baselines), how far each tier is off that
    in packets, and the CPU seconds of each. What a tier cannot do is said by name; run.lost_time is left out
    where it cannot be told. Progress goes to standard error. Ctrl-C ends
    the tier that runs and the command; tiers that are complete are shown.
    """
    with reported(as_json, writes=False):
        task = runner.Task(reading.read_scenario(scenario), str(scenario), list(settings or []), seed)
        names = [tier.value for tier in tiers] if tiers else None
        found = sides.compare(
            task,
            names,
            packet_until,
            lambda title: contextlib.nullcontext() if quiet else ProgressLine(title=title),
        )
    with open_pipe():
        if as_json:
            print_json(found)
        else:
            sides.show(found)
    if any(sides.is_interrupted(tier) for tier in found["tiers"]):
        raise typer.Exit(INTERRUPTED)
