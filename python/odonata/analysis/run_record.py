"""Declarations of the JSON files of results and unfinished runs, and their reader.

Such a file may come from anywhere and may have been edited. `read` returns an object that has every declared
key with its type, or raises an `InputError` with the file, the key, the value and the expectation. Undeclared
keys are allowed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NotRequired

from annotated_types import Predicate
from typing_extensions import TypedDict

from odonata.base import foreign
from odonata.base.json_types import Count, Number, Wrong, check, declared
from odonata.errors import InputError, is_mistake


def _is_place_below(value: str) -> bool:
    """Whether the path lies in the folder of the file."""
    if not value or "\0" in value:
        return False
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts


@dataclass(frozen=True)
class Expected:
    """The expected values in words, where the type does not tell."""

    words: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Adds the words to the JSON Schema."""
        return dict(handler(core_schema)) | {"expected": self.words}


#: A path in the folder of the file.
Place = Annotated[str, Predicate(_is_place_below), Expected("a folder in this one")]


@declared
class Job(TypedDict):
    """A job of a resolved scenario."""

    name: str


@declared
class RunTable(TypedDict):
    """The table `run` of a resolved scenario."""

    baselines: bool


@declared
class Scenario(TypedDict):
    """The parts of a resolved scenario that are read back."""

    name: str | None
    seed: Count
    jobs: list[Job]
    run: RunTable


@declared
class Baseline(TypedDict):
    """The end of a baseline, in the run.json of its run."""

    outcome: str
    """Outcome as below, or the reason for its absence: out-of-memory, killed, crashed, failed, interrupted,
    not-run.
    """
    detail: str | None
    """Details of the outcome in words."""
    digest: str | None
    """Digest of its results; null without results."""
    wall_s: Number | None
    """Its wall time, in seconds."""
    folder: Place | None
    """Its result folder inside this one; null without results."""


@declared
class Written(TypedDict):
    """A scenario as it was written."""

    file: str
    """Name of the file."""
    text: str
    """Text of the file."""
    set: list[str]
    """Settings that override those of the text, KEY=VALUE."""
    seed: Count | None
    """The seed that replaces the text's, or null."""


@declared
class ProcessCost(TypedDict):
    """The cost of a run for one of the simulator's processes."""

    events: Count
    """Events that this process of the simulator handled."""
    cpu_s: Number
    """Its CPU time, in seconds."""
    peak_rss_bytes: Count
    """Its largest resident memory, in bytes."""


@declared
class Speculation(TypedDict):
    """The work of the optimistic scheduler."""

    speculated: Count
    """Events handled beyond a window."""
    rolled_back: Count
    """Speculated events that were rolled back."""
    rollbacks: Count
    """Rollbacks of a part, each of one event or more."""
    anti_messages: Count
    """Messages that cancel others."""
    gvt_rounds: Count
    """Computations of the global virtual time."""
    efficiency: Number
    """Share of the handled events that were committed."""
    peak_journal_bytes: Count
    """Largest size of the undo log, in bytes."""


@declared
class ThreadTrial(TypedDict):
    """A comparison of two numbers of threads, by the beginning of the run or by alternating stretches."""

    fewer: Count
    """The smaller number of threads."""
    more: Count
    """The larger number of threads."""
    clock: Number
    """Wall time per event with more threads, over that with fewer; the larger number is used at 0.75 or
    less.
    """
    cpu: Number
    """CPU time per event with more threads, over that with fewer."""


@declared
class MeasuredThreads(TypedDict):
    """The number of threads that a run chose by measurement."""

    share_of_events: Number
    """Share of the events that this number of threads handled."""
    trials: Count
    """Number of comparisons."""
    trial: ThreadTrial | None
    """The last comparison that chose this number; null without one."""
    why: str
    """The reason for the choice, in words."""


@declared
class Schedule(TypedDict):
    """The execution of a run."""

    reasons: list[str]
    """The reasons for this scheduler, these threads and parts."""
    parts: Count
    """Number of parts of the machine."""
    lookahead_s: Number | None
    """Shortest delay between parts, in seconds; null if there is one part."""
    rounds: Count
    """Rounds of the scheduler."""
    events_per_window: Number
    """Events that a part handled between two waits, mean."""
    sent_between_parts: Count
    """Events and credits sent from part to part."""
    waiting_share: Number
    """Share of the threads' time spent waiting."""
    processes: list[ProcessCost]
    """The processes of the simulator:"""
    measured: NotRequired[MeasuredThreads]
    """Only where `run.scheduler` is "auto" and the run has tried several threads:"""
    optimistic: NotRequired[Speculation]
    """Only with the optimistic scheduler:"""


@declared
class Run(TypedDict):
    """run.json, in the order in which it is written: the outcome first, the long scenario last."""

    outcome: str
    """Outcome of the run: see below."""
    detail: str | None
    """Details in words (waiting ranks, unfinished or missing work); null if there are none."""
    digest: str
    """Hash over all results. Equal digests mean equal results, whatever the execution."""
    simulated_s: Number
    """Simulated time at the end, in seconds."""
    wall_s: Number
    """Wall time of the run, in seconds."""
    cpu_s: Number
    """CPU time of the run, in seconds, including the construction of the machine."""
    events: Count
    """Events handled; on several threads, idle wake-ups may add or remove a few."""
    packets: Count
    """Packets delivered, MPI and I/O."""
    packet_hops: Count
    """Routers visited by these packets."""
    packet_hops_per_cpu_s: Number | None
    """The figure of merit: packet_hops / cpu_s."""
    messages: Count
    """Messages delivered, MPI and I/O."""
    bytes_delivered: Count
    """Payload of these messages, in bytes."""
    peak_rss_bytes: Count | None
    """Largest resident memory of the process, in bytes."""
    state_bytes_per_node: Number
    """Simulation state per node of the machine, in bytes."""
    nodes: Count
    """Nodes of the machine."""
    scheduler: str
    """The scheduler."""
    threads: Count
    """Number of threads; if the run chose it by measurement, the number that handled most events."""
    processes: Count
    """Number of simulator processes, 1 without MPI; unrelated to the ranks of jobs."""
    schedule: Schedule
    """The execution of the run, which does not affect results:"""
    blame: bool
    """Whether waits were charged to jobs (tables blame and blame_series)."""
    timeline_cut: NotRequired[bool]
    """Only with `run.timeline`: whether `run.timeline.rows` was too small for all rows."""
    deadlock_cycle: list[str] | None
    """If network.routing.deadlock_check is warn: a cycle of channels that can wait for each other, hop by
    hop; empty if there is none. Otherwise null: only odonata check searches for cycles.
    """
    version: str
    """Version of odonata."""
    baselines: dict[str, Baseline]
    """The ending of each baseline, by job. Empty without run.baselines."""
    written: Written | None
    """The scenario as written. Null for baselines, and for runs that several processes shared."""
    scenario: Scenario
    """The resolved scenario, with every default and override."""


@declared
class Progress(TypedDict):
    """progress.json of a snapshot."""

    simulated_s: Number
    fraction: Number | None


@declared
class About(TypedDict):
    """about.json of an unfinished run."""

    version: str
    scenario: Scenario


def read(file: Path, kind: Any) -> dict[str, Any]:
    """Reads a JSON file of this kind; raises `InputError` for its content and `OSError` for failures of the
    computer.
    """
    try:
        content = json.loads(foreign.read_bytes(file))
        check(content, kind)
    except Wrong as wrong:
        problem = "the key is missing" if wrong.value is None else "a value of the wrong type"
        raise _damaged(
            file, problem, key=wrong.key or None, value=wrong.value, expected=wrong.expected
        ) from None
    except OSError as error:
        if not is_mistake(error):
            raise
        raise _damaged(file, f"it cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        explanation = "too deep a structure" if isinstance(error, RecursionError) else str(error)
        raise _damaged(file, f"no JSON text: {explanation}") from None
    result: dict[str, Any] = content
    return result


def _damaged(file: Path, problem: str, expected: str = "as odonata wrote it", **parts: Any) -> InputError:
    return InputError(f"the result is damaged: {problem}", file=str(file), expected=expected, **parts)
