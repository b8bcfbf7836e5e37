"""The answer of `odonata extrapolate`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


class ExtrapolatedJob(TypedDict):
    """A job, estimated from a part of its iterations."""

    job: Annotated[str, Field(description="The job.")]
    iterations: Annotated[
        Count | None, Field(description="All of them; null: it ends with others (`until`).")
    ]
    simulated: Annotated[Count | None, Field(description="Those of the last run.")]
    iteration_s: Annotated[
        Number | None,
        Field(description="Time of one, mean over the second and third quarter of the last run."),
    ]
    spread_s: Annotated[Number | None, Field(description="Standard deviation of these times.")]
    unsteady: Annotated[
        Number | None,
        Field(description="How far the means of the second and third quarter are apart, as a part of both."),
    ]
    end_off: Annotated[
        Number | None,
        Field(
            description="How far the iterations of the last quarter are off `iteration_s`, as a part of it."
        ),
    ]
    elapsed_s: Annotated[
        Number | None, Field(description="Time of the whole job; null: there is no steady phase to go by.")
    ]
    error: Annotated[
        Number | None,
        Field(
            description="How far `elapsed_s` may be off, as a part: what is skipped times `end_off`, and "
            "twice the standard error of `iteration_s`."
        ),
    ]
    mpi_s: Annotated[
        Number | None,
        Field(
            description="Time blocked in MPI calls, mean over ranks; by the difference of the last two runs."
        ),
    ]
    io_s: Annotated[Number | None, Field(description="The same of I/O.")]


@declared
class ExtrapolationAnswer(TypedDict):
    """The estimated time of all iterations of a scenario's jobs, from some of them."""

    scenario: str
    """Name of the scenario."""
    seed: Count
    """The seed of all runs."""
    tolerance: Number
    """Largest accepted relative difference between quarters of a run."""
    steady: bool
    """Whether all jobs meet the tolerance, including the iterations at their end."""
    skipped: Number
    """Share of the iterations that were not simulated; 0: the scenario was run in full."""
    outcome: str
    """Outcome of the last run."""
    runs: list[Number]
    """Share of the iterations in each run, in order."""
    cpu_s: Number
    """CPU seconds of all runs."""
    jobs: list[ExtrapolatedJob]
    """The jobs."""
