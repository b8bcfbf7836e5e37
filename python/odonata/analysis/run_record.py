"""What is in the JSON files of results and unfinished runs, declared as types, and how they are read.

Such a file may have come from anywhere, and have been altered since. Whatever reads one asks `read` for it,
and gets an object of which everything that is declared here is there and of its type; or an `InputError`
that names the file, the key, what was seen and what was expected. Keys that are not declared may be there.
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
    """Whether it is the path of something in the folder of the file."""
    if not value or "\0" in value:
        return False
    path = PurePosixPath(value)
    return not path.is_absolute() and ".." not in path.parts


@dataclass(frozen=True)
class Expected:
    """What a value is, in words, where its type does not tell."""

    words: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """Adds them to the JSON Schema."""
        return dict(handler(core_schema)) | {"expected": self.words}


#: Somewhere in the folder of the file.
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
    """Of a resolved scenario, what is read back."""

    name: str | None
    seed: Count
    jobs: list[Job]
    run: RunTable


@declared
class Baseline(TypedDict):
    """How a baseline ended, in the run.json of the run that it belongs to."""

    outcome: str
    """As below, or why there is none: out-of-memory, killed, crashed, failed, interrupted, not-run."""
    detail: str | None
    """The same in words where there is more to say."""
    digest: str | None
    """That of its result; null if there is none."""
    wall_s: Number | None
    """Time that it took, in seconds."""
    folder: Place | None
    """Its result, in this one; null if there is none."""


@declared
class Written(TypedDict):
    """A scenario as it was written."""

    file: str
    """Name of its file."""
    text: str
    """Its text."""
    set: list[str]
    """Settings that replaced those of the text, KEY=VALUE."""
    seed: Count | None
    """The seed that replaced the text's, or null."""


@declared
class ProcessCost(TypedDict):
    """What a run has cost one of the simulator's processes."""

    events: Count
    """Events that this process of the simulator handled."""
    cpu_s: Number
    """Its CPU time, in seconds."""
    peak_rss_bytes: Count
    """Its largest resident memory, in bytes."""


@declared
class Speculation(TypedDict):
    """What the optimistic scheduler has done."""

    speculated: Count
    """Events handled beyond a window."""
    rolled_back: Count
    """Those of them that were undone."""
    rollbacks: Count
    """Rollbacks of a part, each of one event or more."""
    anti_messages: Count
    """Messages that took others back."""
    gvt_rounds: Count
    """Rounds in which global virtual time was found."""
    efficiency: Number
    """Share of the events handled that were for good."""
    peak_journal_bytes: Count
    """Largest size of what is kept to undo events, in bytes."""


@declared
class ThreadTrial(TypedDict):
    """A comparison of two numbers of threads, by stretches of the run that alternate between them."""

    fewer: Count
    """The smaller number."""
    more: Count
    """The larger number."""
    clock: Number
    """Time on the clock per event with more threads, over that with fewer: 0.75 or less pays."""
    cpu: Number
    """CPU time per event likewise."""


@declared
class MeasuredThreads(TypedDict):
    """Which number of threads a run took by measurement."""

    share_of_events: Number
    """Share of the events that this number of threads handled."""
    trials: Count
    """How often two numbers of threads were compared."""
    trial: ThreadTrial | None
    """The last comparison that chose this number; null if there was none."""
    why: str
    """The choice in words."""


@declared
class Schedule(TypedDict):
    """How a run was carried out."""

    reasons: list[str]
    """Why this scheduler, these threads and parts."""
    parts: Count
    """Parts of the machine."""
    lookahead_s: Number | None
    """Shortest delay between parts, in seconds; null if there is one part."""
    rounds: Count
    """Rounds of the scheduler."""
    events_per_window: Number
    """Events that a part handled before it waited, mean."""
    sent_between_parts: Count
    """Events and credits sent from part to part."""
    waiting_share: Number
    """Share of the threads' time spent waiting."""
    searches: Number
    """Messages and receives that were expected to be looked through to match messages."""
    processes: list[ProcessCost]
    """The processes of the simulator:"""
    measured: NotRequired[MeasuredThreads]
    """Only where `run.scheduler` is "auto" and several threads were worth trying:"""
    optimistic: NotRequired[Speculation]
    """Only with the optimistic scheduler:"""


@declared
class Run(TypedDict):
    """run.json, in the order in which it is written: how the run ended first, the long scenario last."""

    outcome: str
    """How the run ended: see below."""
    detail: str | None
    """The same in words (waiting ranks, unfinished or missing work) where there is more to say, else
    null."""
    digest: str
    """Hash over everything that was measured. Equal digests, equal results, whatever ran them."""
    simulated_s: Number
    """Simulated time at the end, in seconds."""
    wall_s: Number
    """Time that the run took, in seconds."""
    cpu_s: Number
    """CPU time of that, in seconds; building the machine included."""
    events: Count
    """Events handled; on several threads with idle wake-ups, a few more or less."""
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
    """Which scheduler ran it."""
    threads: Count
    """Threads that it ran on; where they were measured, the number that handled most events."""
    processes: Count
    """Processes of the simulator that it ran on, 1 without MPI. Not the ranks of jobs."""
    schedule: Schedule
    """How the run was carried out and how that went, on which no result depends:"""
    blame: bool
    """Whether waits were charged to jobs (tables blame and blame_series)."""
    timeline_cut: NotRequired[bool]
    """Only with `run.timeline`: whether `run.timeline.rows` was too small for all rows."""
    deadlock_cycle: list[str] | None
    """Where network.routing.deadlock_check is warn: channels that can wait for each other in a circle, hop by
    hop; empty if there are none. Else null: a run does not look for them, odonata check does."""
    version: str
    """Version of odonata."""
    baselines: dict[str, Baseline]
    """For every job that was also run alone, how that ended. Empty without run.baselines."""
    written: Written | None
    """The scenario as it was written. Null of baselines, and of runs that several processes shared."""
    scenario: Scenario
    """The scenario as resolved: every default filled in, every override applied."""


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
    """The content of a JSON file of this kind, or an `InputError`; `OSError` where the computer fails."""
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
        said = "too deep a structure" if isinstance(error, RecursionError) else str(error)
        raise _damaged(file, f"no JSON text: {said}") from None
    result: dict[str, Any] = content
    return result


def _damaged(file: Path, problem: str, expected: str = "as odonata wrote it", **parts: Any) -> InputError:
    return InputError(f"the result is damaged: {problem}", file=str(file), expected=expected, **parts)
