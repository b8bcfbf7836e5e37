"""What workloads report of themselves: a part of the answer of `odonata summary`."""

from __future__ import annotations

from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared


@declared
class IorRepetition(TypedDict):
    """A repetition of IOR: from the start of the first task to the end of the last one."""

    repetition: Count
    """Number of the repetition, from 0."""
    bytes: Count
    """Bytes moved."""
    bandwidth_bytes_per_s: Number
    """Bytes over the total time."""
    operations_per_s: Number
    """Transfers over the time of access."""
    latency_s: Number
    """Mean time of a transfer, of the task with the smallest mean."""
    open_s: Number
    """Time to open the file."""
    access_s: Number
    """Time to write or read."""
    close_s: Number
    """Time to close the file."""
    total_s: Number
    """Time from the first open to the last close."""


@declared
class IorSummary(TypedDict):
    """IOR's results of writing or reading."""

    job: str
    """Name of the job."""
    test: Count
    """Position in the job's list of workloads."""
    access: str
    """write or read."""
    tasks: Count
    """Number of tasks."""
    block_bytes: Count
    """blockSize."""
    transfer_bytes: Count
    """transferSize."""
    bandwidth_max_bytes_per_s: Number
    """Largest bandwidth of a repetition."""
    bandwidth_min_bytes_per_s: Number
    """Smallest bandwidth of a repetition."""
    bandwidth_mean_bytes_per_s: Number
    """Mean bandwidth of the repetitions."""
    bandwidth_deviation_bytes_per_s: Number
    """Population standard deviation of the bandwidth."""
    total_mean_s: Number
    """Total time, mean over repetitions."""
    repetitions: list[IorRepetition]


@declared
class MdtestSummary(TypedDict):
    """mdtest's results of a phase."""

    job: str
    """Name of the job."""
    test: Count
    """Position in the job's list of workloads."""
    phase: str
    """Phase, as in the table mdtest: file creation, file stat, ..."""
    tasks: Count
    """Number of tasks."""
    items: Count
    """Files or directories of all tasks, in an iteration."""
    iterations: Count
    """Number of iterations."""
    rate_max_per_s: Number
    """Largest rate of an iteration, in items per second."""
    rate_min_per_s: Number
    """Smallest rate of an iteration."""
    rate_mean_per_s: Number
    """Mean rate of the iterations."""
    rate_deviation_per_s: Number
    """Population standard deviation of the rate."""


@declared
class CheckpointRestartSummary(TypedDict):
    """The effect of checkpoints and failures on a job's time to solution."""

    job: str
    """Name of the job."""
    solved: bool
    """Whether all its work was completed."""
    time_to_solution_s: Number
    """From its start to its solution, or to the end of the run."""
    expected_s: Number | None
    """Expected time to solution by Daly's formula; null without a checkpoint."""
    work_s: Number
    """Required computation."""
    failures: Count
    """Number of failures."""
    lost_work_s: Number
    """Repeated computation."""
    checkpoints: Count
    """Number of complete checkpoints."""
    checkpoint_mean_s: Number | None
    """Mean time of a checkpoint; null without any."""
    restarts_s: Number
    """Time of restarts."""
    interval_s: Number | None
    """Computation between two checkpoints; null until it is known."""
    optimum_first_order_s: Number | None
    """Daly's first-order optimum of the interval for the mean checkpoint; null without one."""
    optimum_higher_order_s: Number | None
    """Daly's higher-order optimum."""


@declared
class TrainingSummary(TypedDict):
    """Duration of the steps of training with a data loader."""

    job: str
    """Name of the job."""
    steps: Count
    """Steps that all ranks have completed."""
    step_mean_s: Number
    """Duration of a step, from the first rank's start to the last one's end, mean over steps."""
    step_max_s: Number
    """Longest step."""
    stall_mean_s: Number
    """Wait of a rank for its batch, mean over ranks and steps."""
    stall_max_s: Number
    """Longest wait of a rank."""
    stall_share: Number | None
    """Mean wait over mean step."""


@declared
class EfficiencySummary(TypedDict):
    """Speed of the training of a transformer, and where the time of its GPUs goes (docs/training.md)."""

    job: str
    """Name of the job."""
    gpus: Count
    """Number of ranks."""
    iterations: Count
    """Iterations that all ranks have completed."""
    iteration_s: Number
    """Mean duration of an iteration; 0 without any."""
    tokens_per_s: Number
    """Tokens of all data parallel ranks over the time of the iterations."""
    mfu: Number
    """Model FLOPs utilization: operations of the model over those possible at peak_flops."""
    compute_share: Number
    """Share of a GPU's time that it computes, mean over ranks, as all shares."""
    exposed_tensor_share: Number
    """Share of waits for all-reduces of the tensor group."""
    exposed_pipeline_share: Number
    """Share of waits for messages between stages, from the call of the sender."""
    exposed_data_share: Number
    """Share of waits for gradients and parameters."""
    exposed_expert_share: Number
    """Share of waits for tokens on their way to experts or back."""
    bubble_share: Number
    """Share of waits for pipeline neighbors that had not called their send, and for the end of the job."""
    bubble_ideal: Number
    """Share of bubbles in a pipeline of equal stages without communication."""
    io_share: Number
    """Share of time blocked in I/O."""
    failures: Count
    """Failures from which the job has restarted."""
    lost_iterations: Count
    """Iterations lost with a failure."""
    goodput: Number
    """Share of the time without lost iterations and restarts."""


@declared
class InferenceSummary(TypedDict):
    """Latencies and throughput of an inference job (docs/training.md)."""

    job: str
    """Name of the job."""
    requests: Count
    """Requests that were answered."""
    time_to_first_token_p50_s: Number
    """From the arrival of a request to its first token: median."""
    time_to_first_token_p99_s: Number
    """The same: 99th percentile."""
    time_per_token_p50_s: Number
    """From the first token of a request to its last one, over the tokens after the first: median."""
    time_per_token_p99_s: Number
    """The same: 99th percentile."""
    decode_delay_mean_s: Number
    """From the first token to the start of decoding: the transfer, and waiting for the batch."""
    tokens_per_s: Number
    """Tokens of all answers, from the first arrival to the end of the last answer."""


@declared
class NcclSummary(TypedDict):
    """The results of nccl-tests for a job's collectives (docs/training.md)."""

    job: str
    """Name of the job."""
    test: Count
    """Position in the job's list of workloads."""
    collective: str
    """all-reduce, all-gather, reduce-scatter or broadcast."""
    ranks: Count
    """Number of ranks."""
    bytes: Count
    """Size: the vector of an all-reduce or a broadcast, all blocks together of the others."""
    calls: Count
    """Calls that all ranks have completed."""
    time_mean_s: Number
    """Time of a call without the computation before it, mean over ranks and calls."""
    time_max_s: Number
    """The longest call, mean over ranks."""
    algorithm_bandwidth_bytes_per_s: Number
    """Size over mean time."""
    bus_bandwidth_bytes_per_s: Number
    """Algorithm bandwidth times 2 (n - 1) / n for an all-reduce of n ranks, (n - 1) / n for an all-gather or
    a reduce-scatter, 1 for a broadcast.
    """
