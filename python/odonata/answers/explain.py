"""The answer of `odonata explain`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.waits import LostPart
from odonata.base.json_types import Count, Number, declared


class ChainShare(TypedDict):
    """The loss to one job at one place."""

    culprit: Annotated[str, Field(description="The job that held the resource; empty: several.")]
    culprit_class: Annotated[str, Field(description="Its traffic: mpi or io.")]
    kind: Annotated[str, Field(description="As in the table lost_time; elsewhere: at further places.")]
    place: Annotated[str, Field(description="link, server or metadata; empty: further places.")]
    number: Annotated[int, Field(description="The link or server there; -1: none.")]
    name: Annotated[str, Field(description="Name of the link.")]
    lost_s: Annotated[Number, Field(description="Delay of the end because of it.")]


class ChainWait(TypedDict):
    """A wait on the chain."""

    rank: Annotated[Count, Field(description="The rank that waited.")]
    wait: Annotated[Count, Field(description="Number of the wait at the rank.")]
    call: Annotated[str, Field(description="The operation; iteration, end: the end of one, of the rank.")]
    number: Annotated[int, Field(description="Number of the call, or of the iteration; -1: of end.")]
    begin_s: Annotated[Number, Field(description="When the operation began.")]
    end_s: Annotated[Number, Field(description="When it ended.")]
    from_rank: Annotated[int, Field(description="The rank that sent the awaited message; -1: none.")]
    from_wait: Annotated[Count, Field(description="The wait there from which it inherits; 0: the start.")]
    lost_s: Annotated[Number, Field(description="Time lost by its end.")]
    own_s: Annotated[Number, Field(description="Part of it that its own job caused.")]
    inherited_s: Annotated[Number, Field(description="Part of lost_s that was lost before.")]
    inherited_own_s: Annotated[Number, Field(description="Part of it that its own job caused.")]
    shares: Annotated[
        list[ChainShare],
        Field(description="Time that it added to the end of the chain, by culprit and place."),
    ]
    words: Annotated[str, Field(description="The same as a sentence.")]


class Chain(TypedDict):
    """The reasons for the end of a job, a rank or an iteration."""

    job: Annotated[str, Field(description="The job.")]
    rank: Annotated[Count, Field(description="The rank that is followed.")]
    iteration: Annotated[int | None, Field(description="The iteration; null: the end of the rank.")]
    end_s: Annotated[Number, Field(description="When it ended, simulated time.")]
    lost_s: Annotated[Number, Field(description="How much later than without waits.")]
    earlier_s: Annotated[
        Number, Field(description="Of that, what was lost before the iteration, or the waits that are kept.")
    ]
    shares: Annotated[
        list[ChainShare],
        Field(description="By culprit, kind and place; with earlier_s they add up to lost_s."),
    ]
    waits: Annotated[list[ChainWait], Field(description="The chain, in the order of time.")]
    before: Annotated[
        list[LostPart],
        Field(description="By how much its job started later, by culprit; no part of lost_s."),
    ]
    words: Annotated[str, Field(description="The losses by culprit, as a sentence.")]


@declared
class ExplainAnswer(TypedDict):
    """The chains of waits that end jobs."""

    chains: list[Chain]
    """The chain of waits that ends each job, or the requested one."""
