"""What workloads report of themselves: a part of the answer of `odonata summary`."""

from __future__ import annotations

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class IorRepetition(TypedDict):
    """A repetition of IOR: times from the first task's start to the last one's end."""

    repetition: Count
    """Its number, from 0."""
    bytes: Count
    """What was moved in all."""
    bandwidth_bytes_per_s: Number
    """Bytes over the total time."""
    operations_per_s: Number
    """Transfers over the time of access."""
    latency_s: Number
    """Mean time of a transfer, of the task for which it is the least."""
    open_s: Number
    """Opening the file."""
    access_s: Number
    """Writing or reading."""
    close_s: Number
    """Closing the file."""
    total_s: Number
    """From the first open to the last close."""


@declared
class IorSummary(TypedDict):
    """What IOR reports of writing or reading."""

    job: str
    """Name of the job."""
    test: Count
    """Place in the job's list of workloads."""
    access: str
    """write or read."""
    tasks: Count
    """Tasks."""
    block_bytes: Count
    """blockSize."""
    transfer_bytes: Count
    """transferSize."""
    bandwidth_max_bytes_per_s: Number
    """Largest bandwidth of a repetition."""
    bandwidth_min_bytes_per_s: Number
    """Smallest."""
    bandwidth_mean_bytes_per_s: Number
    """Mean over repetitions."""
    bandwidth_deviation_bytes_per_s: Number
    """Standard deviation, of the repetitions as all that there is."""
    total_mean_s: Number
    """Total time, mean over repetitions."""
    repetitions: list[IorRepetition]


@declared
class MdtestSummary(TypedDict):
    """What mdtest reports of a phase."""

    job: str
    """Name of the job."""
    test: Count
    """Place in the job's list of workloads."""
    phase: str
    """What was done: file creation, file stat, ..., as in the table mdtest."""
    tasks: Count
    """Tasks."""
    items: Count
    """Files or directories of all tasks, in an iteration."""
    iterations: Count
    """How often."""
    rate_max_per_s: Number
    """Most items a second of an iteration."""
    rate_min_per_s: Number
    """Fewest."""
    rate_mean_per_s: Number
    """Mean over iterations."""
    rate_deviation_per_s: Number
    """Standard deviation, of the iterations as all that there is."""


@declared
class CheckpointRestartSummary(TypedDict):
    """What checkpoints and failures made of a job's time to solution."""

    job: str
    """Name of the job."""
    solved: bool
    """Whether all its work was done."""
    time_to_solution_s: Number
    """From its start to its solution, or to the end of the run."""
    expected_s: Number | None
    """The same by Daly's formula; null without a checkpoint."""
    work_s: Number
    """Computation that had to be done."""
    failures: Count
    """Failures."""
    lost_work_s: Number
    """Computation that was done again."""
    checkpoints: Count
    """Complete checkpoints."""
    checkpoint_mean_s: Number | None
    """Mean time of one of them; null without."""
    restarts_s: Number
    """Time of restarts."""
    interval_s: Number | None
    """Computation between two checkpoints; null before it is known."""
    optimum_first_order_s: Number | None
    """Daly's first order of the optimum for the mean checkpoint; null without one."""
    optimum_higher_order_s: Number | None
    """Daly's higher order of it."""


@declared
class TrainingSummary(TypedDict):
    """What the steps of training with a data loader took."""

    job: str
    """Name of the job."""
    steps: Count
    """Steps that all ranks have ended."""
    step_mean_s: Number
    """Time of a step, from the first rank's begin to the last one's end, mean over steps."""
    step_max_s: Number
    """The longest."""
    stall_mean_s: Number
    """Time in which a rank waited for its batch, mean over ranks and steps."""
    stall_max_s: Number
    """The longest of a rank."""
    stall_share: Number | None
    """Waits over steps, both means."""


@declared
class NcclSummary(TypedDict):
    """What nccl-tests would print of a job's collectives (docs/training.md)."""

    job: str
    """Name of the job."""
    test: Count
    """Place in the job's list of workloads."""
    collective: str
    """all-reduce, all-gather, reduce-scatter or broadcast."""
    ranks: Count
    """Ranks."""
    bytes: Count
    """Size: of an all-reduce and a broadcast the vector, of the others all blocks together."""
    calls: Count
    """Calls that all ranks have ended."""
    time_mean_s: Number
    """Time of a call without the computation before it, mean over ranks and calls."""
    time_max_s: Number
    """The longest call, mean over ranks."""
    algorithm_bandwidth_bytes_per_s: Number
    """Size over mean time."""
    bus_bandwidth_bytes_per_s: Number
    """The same times 2 (n - 1) / n for an all-reduce of n ranks, (n - 1) / n for an all-gather or a
    reduce-scatter, 1 for a broadcast."""
