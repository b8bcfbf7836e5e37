"""Waits behind other traffic, and what they cost: parts of several answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


class Waiting(TypedDict):
    """Waits behind other traffic."""

    victim: Annotated[str, Field(description="The job that waited.")]
    victim_class: Annotated[str, Field(description="Its traffic: mpi or io.")]
    culprit: Annotated[
        str, Field(description='The job that held the resource, or "a fault" (storage.faults).')
    ]
    culprit_class: Annotated[str, Field(description="Its traffic: mpi or io.")]


@declared
class Finding(Waiting):
    """What one kind of traffic cost another."""

    where: str
    """network (waits in routers), servers (that ranks use), below (lower tiers) or metadata."""
    waited_s: Number
    """Packet-seconds (network) or request-seconds (servers) waited."""
    whole_s: Number
    """The whole of the share: mpi_network_s, io_network_s, io_calls_s or metadata_calls_s of the victim, or
    all that it waited below."""
    share: Number
    """waited_s / whole_s; 1 at most."""
    at_most: bool
    """Whether it is an upper bound, as the run ended before the job."""
    in_calls: bool
    """Whether messages or calls waited; if not, data on their way down, for which no call waits any more."""
    own: bool
    """Whether traffic held itself up: victim and culprit are the same."""
    places: Count
    """Links or servers at which it waited."""
    most: str
    """The link or server at which it waited most."""
    most_place: str
    """terminal, local, column, global, server, file-system or metadata."""
    resource: str
    """What it waited for most: link, credit, input, space, memory or device."""
    servers: Count
    """Storage servers that the victim uses."""
    words: str
    """All that as a sentence."""


class LostPart(TypedDict):
    """What a job lost to another, or to itself."""

    culprit: Annotated[str, Field(description="The job that held the resource.")]
    culprit_class: Annotated[str, Field(description="Its traffic: mpi or io.")]
    kind: Annotated[str, Field(description="link, buffer, memory, space, device, metadata, lock or start.")]
    lost_s: Annotated[Number, Field(description="How much later the job ended for it.")]


@declared
class LostTime(TypedDict):
    """How much later a job ended because of what it waited for."""

    job: str
    """The job."""
    lost_s: Number
    """How much later it ended."""
    others_s: Number
    """Of that, what others did."""
    elapsed_s: Number
    """How long it took."""
    predicted_s: Number
    """How long it would, about, take alone: elapsed_s - others_s."""
    alone_s: Number | None
    """How long it took alone; null unless the run has that baseline."""
    parts: list[LostPart]
    """By culprit and kind, the largest first; they add up to lost_s."""
    before: list[LostPart]
    """By culprit, the loss before its start, because of earlier jobs or its stage-in; they add up to
    started_later_s."""
    started_later_s: Number
    """How much later it started for that; no part of lost_s."""
    words: str
    """The same as a sentence."""
