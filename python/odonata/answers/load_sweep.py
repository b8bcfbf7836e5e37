"""The answer of `odonata load-sweep`."""

from __future__ import annotations

from typing import Annotated, Any

from typing_extensions import TypedDict

from odonata.answers.core import Core
from odonata.base.json_types import Count, Number, declared


@declared
class Saturation(TypedDict):
    """The start of saturation."""

    last_stable: Number | None
    """The largest load that the network accepts; null if none was found."""
    first_saturated: Number | None
    """The smallest load that the network does not accept; null if none was found."""
    tolerance: Number | None
    """Tolerance of the search; null without a search."""


@declared
class LoadSweep(TypedDict):
    """The answer of `odonata load-sweep`, and sweep.json."""

    kind: str
    """The kind of file: load-sweep."""
    outcome: str
    """completed, interrupted, or failed if a point failed for another reason than saturation."""
    version: str
    """Version of odonata."""
    name: str | None
    """Name of the scenario."""
    seed: Count
    """Seed."""
    job: str
    """The job whose load varies."""
    senders: Count
    """Number of ranks that send."""
    method: dict[str, Any]
    """The measurement method, with all parameters."""
    cycle_ns: Number | None
    """Length of a clock cycle, in nanoseconds; null without a clock."""
    zero_load_ns: Number | None
    """Latency of the idle network, in nanoseconds."""
    warnings: list[Any]
    """Warnings, as in check."""
    points: list[Annotated[dict[str, Any], Core("load-sweep")]]
    """The points, by load:"""
    saturation: Saturation
    """Where saturation begins:"""
    cpu_s: Number
    """CPU time of all points, in seconds."""
    wall_s: Number
    """Wall time, in seconds."""
    machine: dict[str, Any]
    """The machine and the proof of its routing, as in describe with --routing."""
    scenario: dict[str, Any]
    """The resolved scenario."""
