"""Types of the answers of commands with `--json`.

For objects that the core makes, the core provides the schema (`Core`). Only the reference page, `odonata
schema` and type checkers use these declarations.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from odonata import _core
from odonata.base.json_types import Count, Number, declared
from odonata.tool_answers import TOOL_ANSWERS, TOOL_COMMANDS


@functools.cache
def _core_schemas() -> dict[str, dict[str, Any]]:
    schemas: dict[str, dict[str, Any]] = json.loads(_core.answer_schemas())
    return schemas


@dataclass(frozen=True)
class Core:
    """Marks an object as the core's answer to this command."""

    command: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema."""
        return {key: value for key, value in _core_schemas()[self.command].items() if key != "$schema"}


class WithRouting(Core):
    """Marks an answer that contains the description of the routing on request, as that of `check`."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema, with that of the routing."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        routing = _core_schemas()["check"]["properties"]["routing"]
        text = f"With --routing: {routing['description'][0].lower()}{routing['description'][1:]}"
        return schema | {"properties": schema["properties"] | {"routing": routing | {"description": text}}}


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
    """Share of a rank's time in computation, mean over ranks."""
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


class ChainShare(TypedDict):
    """The loss to one job at one place."""

    culprit: Annotated[str, Field(description="The job that held the resource; empty: several.")]
    culprit_class: Annotated[str, Field(description="Its traffic: mpi or io.")]
    kind: Annotated[str, Field(description="As in the table lost_time; elsewhere: at further places.")]
    place: Annotated[str, Field(description="link, server or metadata; empty: further places.")]
    number: Annotated[int, Field(description="The link or server there; -1: none.")]
    name: Annotated[str, Field(description="Name of the link.")]
    lost_s: Annotated[Number, Field(description="How much later the end came for it.")]


class ChainWait(TypedDict):
    """A wait on the chain."""

    rank: Annotated[Count, Field(description="The rank that waited.")]
    wait: Annotated[Count, Field(description="Number of the wait at the rank.")]
    call: Annotated[str, Field(description="What was called; iteration, end: the end of one, of the rank.")]
    number: Annotated[int, Field(description="Number of the call, or of the iteration; -1: of end.")]
    begin_s: Annotated[Number, Field(description="When it was called.")]
    end_s: Annotated[Number, Field(description="When it ended.")]
    from_rank: Annotated[int, Field(description="The rank whose message was waited for; -1: none.")]
    from_wait: Annotated[Count, Field(description="The wait there from which it inherits; 0: the start.")]
    lost_s: Annotated[Number, Field(description="What was lost by its end.")]
    own_s: Annotated[Number, Field(description="Of that, what its own job has cost it.")]
    inherited_s: Annotated[Number, Field(description="Of lost_s, what was lost before.")]
    inherited_own_s: Annotated[Number, Field(description="Of that, what its own job has cost it.")]
    shares: Annotated[
        list[ChainShare],
        Field(description="What it has added to the end of the chain, by culprit and place."),
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


@declared
class ServerSkew(TypedDict):
    """Imbalance of the storage servers."""

    servers: Count
    """Storage servers."""
    used: Count
    """Servers that served requests."""
    most_over_mean: Number
    """Bytes written to and read from the busiest server, over the mean of all."""


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
    nccl: list[NcclSummary]
    blame: list[Finding] | None
    """The findings about waits, the largest share first, own traffic last; null if the run did not measure
    blame:
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


@declared
class Side(TypedDict):
    """One of two results."""

    results: str | None
    """Result folder."""
    name: str | None
    """Name of the scenario."""
    outcome: str
    """Outcome."""
    seed: Count
    """Seed."""
    version: str
    """Version of odonata."""
    digest: str
    """Hash over all results."""


@declared
class Setting(TypedDict):
    """A setting that differs."""

    key: str
    """Dotted key; jobs by name."""
    change: str
    """changed, added (only B has it) or removed (only A has it)."""
    a: Any
    """The setting in A, null if it has none."""
    b: Any
    """The setting in B."""


class Pair(TypedDict):
    """A value in A and in B."""

    a: Annotated[Number | None, Field(description="Value in A; null where it does not apply.")]
    b: Annotated[Number | None, Field(description="Value in B.")]
    ratio: Annotated[Number | None, Field(description="B / A; null where it does not apply.")]


class Metric(TypedDict):
    """A column of a table."""

    metric: Annotated[str, Field(description="The column.")]
    unit: Annotated[str, Field(description="Its unit: s, bytes, bytes/s, routers or nothing.")]


@declared
class Change(Metric, Pair):
    """A column, or the sum of one, that differs."""


class JobName(TypedDict):
    """The name of the job."""

    job: Annotated[str, Field(description="A job that both have; columns of the table jobs that differ:")]


@declared
class JobChange(JobName, Change):
    """A column of a job that differs."""


#: The class of the links.
ClassName = TypedDict(
    "ClassName",
    {
        "class": Annotated[
            str,
            Field(
                description="terminal, local, column or global; sums of columns of the table links that "
                "differ:"
            ),
        ]
    },
)


@declared
class LinkChange(ClassName, Change):
    """A sum over the links of a class that differs."""


class WaitingPlace(TypedDict):
    """The place of a wait."""

    where: Annotated[
        str, Field(description="network (packet-seconds in routers) or servers (request-seconds).")
    ]


@declared
class BlameChange(Waiting, WaitingPlace, Pair):
    """Waits that differ."""


@declared
class Comparison(TypedDict):
    """The answer of `odonata compare`."""

    a: Side
    """The first result:"""
    b: Side
    """The second result:"""
    equal_digests: bool
    """Whether the results are equal."""
    scenario: list[Setting]
    jobs_in_both: list[str]
    """Jobs of the same name, which are compared."""
    jobs: list[JobChange]
    links: list[LinkChange]
    servers: list[Change]
    """Sums of columns of the table servers that differ:"""
    blame: list[BlameChange] | None
    """Differences of waits, the largest first; null unless both runs measured blame:"""


@declared
class PresetMachine(TypedDict):
    """The machine of a preset."""

    kind: str
    """Family of the network."""
    nodes: Count
    """Number of nodes, including storage servers and service nodes."""
    routers: Count
    """Number of routers."""
    groups: Count
    """Number of groups."""


class _PresetName(TypedDict):
    name: Annotated[str, Field(description="Name of the preset.")]
    about: Annotated[str, Field(description="What it is, in a few words.")]
    machine: Annotated[PresetMachine | None, Field(description="Its machine; null if it has none:")]


@declared
class PresetSummary(_PresetName):
    """A preset in the list of all presets."""


@declared
class PresetKey(TypedDict):
    """A key of a preset."""

    key: str
    """Dotted key."""
    value: Any
    """Its value."""
    source: str | None
    """The source of the value: the comment above the key, or above its table; null without a comment."""


@declared
class Preset(_PresetName):
    """The answer of `odonata presets PRESET`."""

    description: str
    """The description, with its sources."""
    keys: list[PresetKey]
    """The keys, in the order of the file:"""
    toml: str
    """The whole file."""


@declared
class Computer(TypedDict):
    """The computer of a measurement."""

    cpu: str
    """Name of the processor."""
    cores: int | None
    """Number of cores."""
    memory_bytes: Count
    """Memory, in bytes."""
    system: str
    """Operating system."""
    python: str
    """Version of Python."""


@declared
class Bench(TypedDict):
    """The answer of `odonata bench`."""

    cases: list[Annotated[dict[str, Any], Core("bench")]]
    quick: bool
    """Whether the cases were shortened."""
    machine: Computer
    version: str
    """Version of odonata."""


@declared
class ComputerShare(Computer):
    """The computer, and the share of it that the process may use."""

    cores_allowed: Annotated[Count, Field(description="Cores that the process may use.")]


@declared
class RanBy(TypedDict):
    """The scheduler that handled the events."""

    scheduler: str
    """The scheduler that ran; it may differ from the requested one if that has no advantage."""
    threads: Count
    """Number of threads."""


@declared
class ParallelRow(TypedDict):
    """A scheduler on a number of threads; without figures if its runs failed."""

    case: str
    """The case."""
    scheduler: str
    """The requested scheduler."""
    threads: Count
    """The requested number of threads."""
    failure: str | None
    """The reason for missing figures; null if there are figures."""
    ran: NotRequired[RanBy]
    """The actual scheduler:"""
    wall_s: NotRequired[Number]
    """Wall time, median of the rounds."""
    cpu_s: NotRequired[Number]
    """CPU time, median of the rounds."""
    speed_up: NotRequired[Number | None]
    """Speedup over the fastest run on one thread; null without one."""
    efficiency: NotRequired[Number | None]
    """Speedup per thread."""
    peak_rss_bytes: NotRequired[Count]
    """Largest memory of the process."""
    events: NotRequired[Count]
    """Events handled."""
    packet_hops: NotRequired[Count]
    """Packet-hops."""
    digest: NotRequired[str]
    """Hash over the results."""
    digest_equal: NotRequired[bool | None]
    """Whether the digest equals that of the sequential scheduler; null if that failed."""
    walls_s: NotRequired[list[Number]]
    """Wall time of each round."""


@declared
class ParallelBench(TypedDict):
    """The answer of `odonata bench --parallel`."""

    rows: list[ParallelRow]
    """A row for each scheduler and number of threads:"""
    quick: bool
    """Whether the cases were shortened."""
    rounds: Count
    """Number of rounds in the median."""
    machine: ComputerShare
    version: str
    """Version of odonata."""


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
    scenario: dict[str, Any]
    """The resolved scenario."""


@declared
class TimelineAnswer(TypedDict):
    """The answer of `odonata timeline`: the content of the trace that it has written."""

    file: str | None
    """The trace; null if it was not written to a named file."""
    bytes: Count | None
    """Its size; null for a pipe."""
    events: Count
    """Begins and ends of slices, and values of counters."""
    ranks: Count
    """Shown ranks."""
    ranks_recorded: Count
    """Ranks with recorded calls."""
    messages: Count
    """Messages shown as arrows: the trace has both their sending and their receiving call."""
    servers: Count
    """Shown storage servers."""
    links: Count
    """Shown links."""
    from_s: Number
    """Start of the period in simulated time."""
    until_s: Number | None
    """End of the period; null: end of the run."""
    left_out: list[str]
    """Recorded and selected parts that did not fit, in words."""


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


#: Commands whose answers have another name than the command.
COMMANDS = {"preset": "presets PRESET", "bench-parallel": "bench --parallel", **TOOL_COMMANDS}

#: Answers by command.
ANSWERS: dict[str, Any] = {
    "summary": Summary,
    "explain": ExplainAnswer,
    "compare": Comparison,
    "check": Annotated[dict[str, Any], Core("check")],
    "describe": Annotated[dict[str, Any], WithRouting("describe")],
    "presets": list[PresetSummary],
    "preset": Preset,
    "bench": Bench,
    "bench-parallel": ParallelBench,
    "load-sweep": LoadSweep,
    "extrapolate": ExtrapolationAnswer,
    "fidelity": FidelityAnswer,
    "timeline": TimelineAnswer,
    **TOOL_ANSWERS,
}
