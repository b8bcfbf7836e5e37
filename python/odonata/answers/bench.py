"""The answers of `odonata bench`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.core import Core
from odonata.base.json_types import Count, Number, declared


@declared
class Computer(TypedDict):
    """The computer of a measurement."""

    cpu: str
    """Name of the processor."""
    cores: int | None
    """Number of cores."""
    memory_bytes: Count
    """Memory, in bytes."""
    system: str
    """Operating system."""
    python: str
    """Version of Python."""


@declared
class Bench(TypedDict):
    """The answer of `odonata bench`."""

    cases: list[Annotated[dict[str, Any], Core("bench")]]
    quick: bool
    """Whether the cases were shortened."""
    machine: Computer
    version: str
    """Version of odonata."""


@declared
class ComputerShare(Computer):
    """The computer, and the share of it that the process may use."""

    cores_allowed: Annotated[Count, Field(description="Cores that the process may use.")]


@declared
class RanBy(TypedDict):
    """The scheduler that handled the events."""

    scheduler: str
    """The scheduler that ran; it may differ from the requested one if that has no advantage."""
    threads: Count
    """Number of threads."""


@declared
class ParallelRow(TypedDict):
    """A scheduler on a number of threads; without figures if its runs failed."""

    case: str
    """The case."""
    scheduler: str
    """The requested scheduler."""
    threads: Count
    """The requested number of threads."""
    failure: str | None
    """The reason for missing figures; null if there are figures."""
    ran: NotRequired[RanBy]
    """The actual scheduler:"""
    wall_s: NotRequired[Number]
    """Wall time, median of the rounds."""
    cpu_s: NotRequired[Number]
    """CPU time, median of the rounds."""
    speed_up: NotRequired[Number | None]
    """Speedup over the fastest run on one thread; null without one."""
    efficiency: NotRequired[Number | None]
    """Speedup per thread."""
    peak_rss_bytes: NotRequired[Count]
    """Largest memory of the process."""
    events: NotRequired[Count]
    """Events handled."""
    packet_hops: NotRequired[Count]
    """Packet-hops."""
    digest: NotRequired[str]
    """Hash over the results."""
    digest_equal: NotRequired[bool | None]
    """Whether the digest equals that of the sequential scheduler; null if that failed."""
    walls_s: NotRequired[list[Number]]
    """Wall time of each round."""


@declared
class ParallelBench(TypedDict):
    """The answer of `odonata bench --parallel`."""

    rows: list[ParallelRow]
    """A row for each scheduler and number of threads:"""
    quick: bool
    """Whether the cases were shortened."""
    rounds: Count
    """Number of rounds in the median."""
    machine: ComputerShare
    version: str
    """Version of odonata."""
