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
    """The waits of one class of traffic behind another."""

    where: str
    """network (waits in routers), servers (that ranks use), below (lower tiers) or metadata."""
    waited_s: Number
    """Packet-seconds (network) or request-seconds (servers) waited."""
    whole_s: Number
    """The total for the share: mpi_network_s, io_network_s, io_calls_s or metadata_calls_s of the victim, or
    its waiting time below.
    """
    share: Number
    """waited_s / whole_s; 1 at most."""
    at_most: bool
    """Whether the share is an upper bound, because the run ended before the job."""
    in_calls: bool
    """Whether messages or calls waited; otherwise data moved to a lower tier after its call."""
    own: bool
    """Whether victim and culprit are the same."""
    places: Count
    """Number of links or servers at which it waited."""
    most: str
    """The link or server with the longest wait."""
    most_place: str
    """Place of that wait: terminal, local, column, global, server, file-system or metadata."""
    resource: str
    """The resource with the longest wait: link, credit, input, space, memory or device."""
    servers: Count
    """Number of storage servers that the victim uses."""
    words: str
    """The finding as a sentence."""


class LostPart(TypedDict):
    """The loss of a job to another, or to itself."""

    culprit: Annotated[str, Field(description="The job that held the resource.")]
    culprit_class: Annotated[str, Field(description="Its traffic: mpi or io.")]
    kind: Annotated[str, Field(description="link, buffer, memory, space, device, metadata, lock or start.")]
    lost_s: Annotated[Number, Field(description="How much later the job ended for it.")]


@declared
class LostTime(TypedDict):
    """The delay of a job's end because of its waits."""

    job: str
    """The job."""
    lost_s: Number
    """Delay of its end."""
    others_s: Number
    """The part of lost_s that other jobs caused."""
    elapsed_s: Number
    """Duration."""
    predicted_s: Number
    """Estimated duration alone: elapsed_s - others_s."""
    alone_s: Number | None
    """Duration alone; null unless the run has that baseline."""
    parts: list[LostPart]
    """By culprit and kind, the largest first; they add up to lost_s."""
    before: list[LostPart]
    """By culprit, the loss before its start, because of earlier jobs or its stage-in; they add up to
    started_later_s.
    """
    started_later_s: Number
    """Delay of its start because of them; not part of lost_s."""
    words: str
    """The loss as a sentence."""
