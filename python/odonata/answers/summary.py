"""The answer of `odonata summary`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.waits import Finding, LostTime
from odonata.answers.workloads import (
    CheckpointRestartSummary,
    EfficiencySummary,
    InferenceSummary,
    IorSummary,
    MdtestSummary,
    NcclSummary,
    TrainingSummary,
)
from odonata.base.json_types import Count, Number, declared


@declared
class JobSummary(TypedDict):
    """Activity of a job."""

    job: str
    """Name of the job."""
    fidelity: str
    """Fidelity of its messages: packet, flow or analytic."""
    ranks: Count
    """Number of ranks."""
    ranks_finished: Count
    """Ranks that have ended."""
    elapsed_s: Number
    """From the job's start to the end of its last rank (or of the run)."""
    compute_share: Number | None
    """Share of a rank's time in computation, mean over ranks; null if ranks block on nothing."""
    mpi_share: Number | None
    """Share in MPI calls; for ranks with several streams, in waiting for messages of any stream."""
    io_share: Number | None
    """Share in I/O."""
    bytes_written: Count
    """Bytes written to storage servers."""
    bytes_read: Count
    """Bytes read from storage servers."""
    io_bandwidth_bytes_per_s: Number | None
    """Bytes over the time in I/O; null if the job has none."""
    message_latency_p50_s: Number | None
    """MPI message latency, median; null if the job has none."""
    message_latency_p99_s: Number | None
    """MPI message latency, 99th percentile."""
    message_latency_max_s: Number | None
    """MPI message latency, largest."""
    mpi_packet_latency_p50_s: Number | None
    """Latency of packets of MPI messages, median; null without packets."""
    mpi_packet_latency_p99_s: Number | None
    """Latency of packets of MPI messages, 99th percentile."""
    io_call_p50_s: Number | None
    """Reads and writes, request to acknowledgement, median; null if the job has none."""
    io_call_p99_s: Number | None
    """Reads and writes, request to acknowledgement, 99th percentile."""


#: A link of a router; a `TypedDict` call, since `class` is no name in Python.
LinkSummary = TypedDict(
    "LinkSummary",
    {
        "name": Annotated[str, Field(description="The five busiest links of routers: their ends.")],
        "class": Annotated[str, Field(description="terminal, local, column or global.")],
        "busy_share": Annotated[
            Number | None, Field(description="Share of the simulated time in which the link transmits.")
        ],
        "saturation_s": Annotated[
            Number | None,
            Field(
                description="Time in which the buffers behind the link were exhausted; "
                "null if no job goes as packets."
            ),
        ],
        "bytes": Annotated[Count, Field(description="Payload sent.")],
        "packets": Annotated[
            Count | None, Field(description="Packets sent; null if no job goes as packets.")
        ],
    },
)


@declared
class ServerSummary(TypedDict):
    """A storage server."""

    server: Count
    """The five busiest storage servers: number."""
    node: Count
    """Node."""
    busy_share: Number | None
    """Share of the simulated time in which the device is busy."""
    bytes_written: Count
    """Bytes written to the device."""
    bytes_read: Count
    """Bytes read from the device for clients."""
    requests: Count
    """Requests completed."""
    request_mean_s: Number | None
    """From a request's arrival to its response, mean."""
    wait_space_s: Number
    """Time that requests waited for space, summed."""


@declared
class ServerSkew(TypedDict):
    """Imbalance of the storage servers."""

    servers: Count
    """Storage servers."""
    used: Count
    """Servers that served requests."""
    most_over_mean: Number
    """Bytes written to and read from the busiest server, over the mean of all."""


@declared
class Ratio(TypedDict):
    """A metric of a job alone and together with the others."""

    alone: Number | None
    """The metric, alone."""
    together: Number | None
    """The metric, together with the other jobs."""
    ratio: Number | None
    """together / alone; null if undefined."""


@declared
class StageSummary(TypedDict):
    """Data staged into the buffers for a job, and out at its end."""

    job: str
    """Name of the job."""
    asked_bytes: Count
    """Requested bytes of its input files."""
    brought_bytes: Count
    """Bytes of them that were staged in."""
    in_s: Number | None
    """From the first request to the arrival of the last rank's files; null without stage-in."""
    out_bytes: Count
    """Bytes that were staged out after its end."""
    out_s: Number | None
    """From its end to the completion of the stage-out; null without stage-out."""


@declared
class LossSummary(TypedDict):
    """The cost of failed or slow storage servers for a job."""

    job: str
    """Name of the job."""
    timeouts: Count
    """Attempts of its requests that timed out."""
    retries: Count
    """Requests that were sent again to the same server."""
    rerouted_bytes: Count
    """Bytes of requests that were sent to another server."""
    lost_bytes: Count
    """Lost bytes of its acknowledged writes."""
    dropped_bytes: Count
    """Bytes of unacknowledged writes that a device lost and that were written again."""
    lost_reads_bytes: Count
    """Bytes read as zeros: lost, or on a server that did not answer."""


@declared
class Summary(TypedDict):
    """The answer of `odonata summary`."""

    name: str | None
    """Name of the scenario."""
    outcome: str
    """Outcome of the run."""
    detail: str | None
    """Details of the outcome in words; null if there are none."""
    fidelity: str
    """Fidelity of messages: packet, flow or analytic; mixed if jobs differ."""
    not_modelled: list[str]
    """Effects that this fidelity does not model, as sentences."""
    preset_agreement: str | None
    """What the preset was compared with, and how far off it is; null if nothing was measured:"""
    can_deadlock: bool
    """Whether the routing of the run can deadlock."""
    deadlock_cycle: list[str]
    """If so, a cycle of channels that can wait for each other, hop by hop."""
    simulated_s: Number
    """Simulated time at the end, in seconds."""
    wall_s: Number
    """Wall time of the run, in seconds."""
    threads: str | None
    """The number of threads that the run chose by measurement, and the reason; null without a measurement."""
    packet_hops_per_cpu_s: Number | None
    """Speed of the simulator; null without packets."""
    digest: str
    """Hash over all results."""
    results: str | None
    """The result folder."""
    jobs: list[JobSummary]
    links: list[LinkSummary]
    servers: list[ServerSummary]
    server_skew: ServerSkew | None
    """Imbalance of the storage servers; null if nothing was read or written:"""
    after_jobs_s: Number
    """How long the run went on after its last job, while servers drained."""
    losses: list[LossSummary]
    stages: list[StageSummary]
    ior: list[IorSummary]
    mdtest: list[MdtestSummary]
    checkpoint_restart: list[CheckpointRestartSummary]
    training: list[TrainingSummary]
    efficiency: list[EfficiencySummary]
    inference: list[InferenceSummary]
    nccl: list[NcclSummary]
    blame: list[Finding] | None
    """The findings about waits: with baselines those of the most slowed job first, then the largest share,
    own traffic last; null if the run did not measure blame:
    """
    blame_estimate: str | None
    """The source of estimated waits; null if all waits were charged:"""
    lost_time: list[LostTime] | None
    """Lost time of each job; null unless run.lost_time:"""
    slowdown: dict[str, dict[str, Ratio]] | None
    """The metrics of the table slowdown; null without baselines:"""
    failed_baselines: dict[str, Annotated[str, Field(description="How it ended.")]]
    """Baselines that failed or are missing, with their outcomes:"""
    single_job: bool
    """true if baselines were requested and the only job is its own baseline."""
