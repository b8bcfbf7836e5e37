"""The answers of `odonata bench`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.core import Core
from odonata.base.json_types import Count, Number, declared


@declared
class Computer(TypedDict):
    """What figures were measured on."""

    cpu: str
    """Name of the processor."""
    cores: int | None
    """Its cores."""
    memory_bytes: Count
    """Memory, in bytes."""
    system: str
    """Operating system."""
    python: str
    """Version of Python."""


@declared
class Bench(TypedDict):
    """What `odonata bench` answers."""

    cases: list[Annotated[dict[str, Any], Core("bench")]]
    quick: bool
    """Whether the cases were shortened."""
    machine: Computer
    version: str
    """Version of odonata."""


@declared
class ComputerShare(Computer):
    """The same, and how much of it the process may use."""

    cores_allowed: Annotated[Count, Field(description="Cores that the process may use.")]


@declared
class RanBy(TypedDict):
    """What handled the events."""

    scheduler: str
    """The scheduler that ran; another one than asked for, if that has nothing to gain."""
    threads: Count
    """Its threads."""


@declared
class ParallelRow(TypedDict):
    """A scheduler on a number of threads; without figures if its runs failed."""

    case: str
    """The case."""
    scheduler: str
    """The scheduler that was asked for."""
    threads: Count
    """Threads that were asked for."""
    failure: str | None
    """Why there are no figures; null if there are."""
    ran: NotRequired[RanBy]
    """What ran:"""
    wall_s: NotRequired[Number]
    """Time on the clock, median of the rounds."""
    cpu_s: NotRequired[Number]
    """CPU time, median of the rounds."""
    speed_up: NotRequired[Number | None]
    """Over the fastest run on one thread; null if there is none."""
    efficiency: NotRequired[Number | None]
    """The same per thread."""
    peak_rss_bytes: NotRequired[Count]
    """Most memory that the process took."""
    events: NotRequired[Count]
    """Events handled."""
    packet_hops: NotRequired[Count]
    """Routers visited by packets."""
    digest: NotRequired[str]
    """Hash over the results."""
    digest_equal: NotRequired[bool | None]
    """Whether it is that of the sequential scheduler; null if that failed."""
    walls_s: NotRequired[list[Number]]
    """Time on the clock of each round."""


@declared
class ParallelBench(TypedDict):
    """What `odonata bench --parallel` answers."""

    rows: list[ParallelRow]
    """A row for each scheduler and number of threads:"""
    quick: bool
    """Whether the cases were shortened."""
    rounds: Count
    """Runs of each, of which the median counts."""
    machine: ComputerShare
    version: str
    """Version of odonata."""
