"""The answer of `odonata summary`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from odonata.answers.waits import Finding, LostTime
from odonata.answers.workloads import (
    CheckpointRestartSummary,
    IorSummary,
    MdtestSummary,
    NcclSummary,
    TrainingSummary,
)
from odonata.base.json_types import Count, Number, declared


@declared
class JobSummary(TypedDict):
    """What a job did."""

    job: str
    """Name of the job."""
    fidelity: str
    """How its messages went: packet, flow or analytic."""
    ranks: Count
    """Its ranks."""
    ranks_finished: Count
    """Those that have ended."""
    elapsed_s: Number
    """From the job's start to the end of its last rank (or of the run)."""
    compute_share: Number | None
    """Share of a rank's time in computation, mean over ranks."""
    mpi_share: Number | None
    """The same in MPI calls; of ranks with several streams, waiting for messages of any of them."""
    io_share: Number | None
    """The same in I/O."""
    bytes_written: Count
    """Bytes written to storage servers."""
    bytes_read: Count
    """Bytes read from them."""
    io_bandwidth_bytes_per_s: Number | None
    """Bytes over the time that I/O took; null where it does not apply."""
    message_latency_p50_s: Number | None
    """MPI message latency, median; null where it does not apply."""
    message_latency_p99_s: Number | None
    """The same, 99th percentile."""
    message_latency_max_s: Number | None
    """The same, largest."""
    mpi_packet_latency_p50_s: Number | None
    """Latency of packets of MPI messages, median; null unless it goes as packets."""
    mpi_packet_latency_p99_s: Number | None
    """The same, 99th percentile."""
    io_call_p50_s: Number | None
    """Reads and writes, request to acknowledgement, median; null where it does not apply."""
    io_call_p99_s: Number | None
    """The same, 99th percentile."""


#: A link of a router; `class` is no name in Python.
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
    """Bytes read from it for clients."""
    requests: Count
    """Requests completed."""
    request_mean_s: Number | None
    """From a request's arrival to its response, mean."""
    wait_space_s: Number
    """Time that requests waited for space, summed."""


@declared
class ServerSkew(TypedDict):
    """How unevenly storage servers were used."""

    servers: Count
    """Storage servers."""
    used: Count
    """Those that served requests."""
    most_over_mean: Number
    """Bytes written to and read from the busiest, over the mean of all."""


@declared
class Ratio(TypedDict):
    """A metric of a job alone and together with the others."""

    alone: Number | None
    """The metric, alone."""
    together: Number | None
    """The same, together with the other jobs."""
    ratio: Number | None
    """together / alone; null where it cannot be told."""


@declared
class StageSummary(TypedDict):
    """What was brought into the buffers for a job, and taken out at its end."""

    job: str
    """Name of the job."""
    asked_bytes: Count
    """Bytes of its input files that it asks for."""
    brought_bytes: Count
    """Bytes of them that were brought."""
    in_s: Number | None
    """From the first request to when the last rank had its files; null without."""
    out_bytes: Count
    """Bytes that went down after its end."""
    out_s: Number | None
    """From its end to when the last of them was safe; null without."""


@declared
class LossSummary(TypedDict):
    """What storage servers that failed, or did not answer in time, cost a job."""

    job: str
    """Name of the job."""
    timeouts: Count
    """Tries of its requests that were not answered in time."""
    retries: Count
    """Requests that were sent again to the same server."""
    rerouted_bytes: Count
    """Bytes of requests that went to another server."""
    lost_bytes: Count
    """Bytes of its acknowledged writes that were lost."""
    dropped_bytes: Count
    """Bytes on devices of writes that were not acknowledged, and written again."""
    lost_reads_bytes: Count
    """Lost bytes that it read as if never written: lost, or on a server that did not answer."""


@declared
class Summary(TypedDict):
    """What `odonata summary` answers."""

    name: str | None
    """Name of the scenario."""
    outcome: str
    """How the run ended."""
    detail: str | None
    """The same in words where there is more to say, else null."""
    fidelity: str
    """How messages went: packet, flow or analytic, or mixed where jobs differ."""
    not_modelled: list[str]
    """What these tiers cannot tell of the run, as sentences."""
    can_deadlock: bool
    """Whether the run was made although its routing can deadlock."""
    deadlock_cycle: list[str]
    """Then: channels that can wait for each other in a circle, hop by hop."""
    simulated_s: Number
    """Simulated time at the end, in seconds."""
    wall_s: Number
    """Time that the run took, in seconds."""
    threads: str | None
    """Which number of threads the run took, and why; null if it did not measure that."""
    packet_hops_per_cpu_s: Number | None
    """Speed of the simulator; null if no job goes as packets."""
    digest: str
    """Hash over everything that was measured."""
    results: str | None
    """The folder."""
    jobs: list[JobSummary]
    links: list[LinkSummary]
    servers: list[ServerSummary]
    server_skew: ServerSkew | None
    """null if nothing was read or written, else how unevenly storage servers were used:"""
    after_jobs_s: Number
    """How long the run went on after its last job, while servers drained."""
    losses: list[LossSummary]
    stages: list[StageSummary]
    ior: list[IorSummary]
    mdtest: list[MdtestSummary]
    checkpoint_restart: list[CheckpointRestartSummary]
    training: list[TrainingSummary]
    nccl: list[NcclSummary]
    blame: list[Finding] | None
    """null if the run did not measure blame; else what is worth saying, the largest share first, what
    traffic did to itself last:"""
    blame_estimate: str | None
    """null if all waits were charged; else of what they are an estimate:"""
    lost_time: list[LostTime] | None
    """null unless run.lost_time:"""
    slowdown: dict[str, dict[str, Ratio]] | None
    """null if the run had no baselines; else the metrics of the table slowdown:"""
    failed_baselines: dict[str, Annotated[str, Field(description="How it ended.")]]
    """Baselines that failed or are missing:"""
    single_job: bool
    """true if baselines were asked for and there is one job only, which is its own baseline."""
