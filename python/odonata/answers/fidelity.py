"""The answer of `odonata fidelity`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


class TierJob(TypedDict):
    """A job under one tier."""

    job: Annotated[str, Field(description="The job.")]
    elapsed_s: Annotated[Number | None, Field(description="Its time; null: it did not end.")]
    mpi_s: Annotated[Number | None, Field(description="Time blocked in MPI calls, mean over ranks.")]
    io_s: Annotated[Number | None, Field(description="Time blocked in I/O, mean over ranks.")]
    message_latency_p99_s: Annotated[
        Number | None, Field(description="99th percentile of the latency of its MPI messages.")
    ]
    slowdown: Annotated[
        Number | None, Field(description="Its time over that alone; null without run.baselines.")
    ]
    off: Annotated[
        dict[str, float],
        Field(description="By metric: how far it is off that in packets, as a part of that."),
    ]


class Tier(TypedDict):
    """The scenario under one tier."""

    tier: Annotated[str, Field(description="packet, mixed, flow or analytic.")]
    refused: Annotated[str | None, Field(description="Why the tier cannot run it; null: it can.")]
    left_out: Annotated[
        list[str],
        Field(description="Keys of the scenario that ask for what the tier cannot tell, as run.lost_time."),
    ]
    outcome: Annotated[str | None, Field(description="How the run ended; null if it was refused.")]
    cpu_s: Annotated[Number, Field(description="CPU seconds, those of baselines included.")]
    simulated_s: Annotated[Number | None, Field(description="Time simulated.")]
    jobs: Annotated[list[TierJob], Field(description="Its jobs; none if it was refused.")]


@declared
class FidelityAnswer(TypedDict):
    """One scenario under several tiers of fidelity."""

    scenario: str
    """Name of the scenario."""
    tiers: list[Tier]
    """The tiers, in the order of their runs."""
    seed: Count
    """The seed of all runs."""
