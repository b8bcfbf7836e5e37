"""What commands answer with `--json`, declared as types.

Of what the core makes, the core says what it is (`Core`). Only the reference page, `odonata schema` and type
checkers ask for these declarations.
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
    """That an object is what the core answers to this command."""

    command: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema."""
        return {key: value for key, value in _core_schemas()[self.command].items() if key != "$schema"}


class WithRouting(Core):
    """That the routing is described too, if it was asked for, as `check` does."""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        """The core's own schema, and that of the routing."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        routing = _core_schemas()["check"]["properties"]["routing"]
        text = f"With --routing: {routing['description'][0].lower()}{routing['description'][1:]}"
        return schema | {"properties": schema["properties"] | {"routing": routing | {"description": text}}}


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


class ChainShare(TypedDict):
    """What was lost by one job's fault at one place."""

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
    """Why a job, a rank or an iteration ended when it did."""

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
    """The chain of waits that ends each job, or the one that was asked for."""


@declared
class ServerSkew(TypedDict):
    """How unevenly storage servers were used."""

    servers: Count
    """Storage servers."""
    used: Count
    """Those that served requests."""
    most_over_mean: Number
    """Bytes written to and read from the busiest, over the mean of all."""


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


@declared
class Side(TypedDict):
    """One of two results."""

    results: str | None
    """Its folder."""
    name: str | None
    """Name of its scenario."""
    outcome: str
    """How it ended."""
    seed: Count
    """Its seed."""
    version: str
    """The version of odonata that ran it."""
    digest: str
    """Hash over everything that it measured."""


@declared
class Setting(TypedDict):
    """A setting that differs."""

    key: str
    """A setting that differs, by dotted key; jobs go by name."""
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
    """Which job it is."""

    job: Annotated[str, Field(description="A job that both have; columns of the table jobs that differ:")]


@declared
class JobChange(JobName, Change):
    """A column of a job that differs."""


#: Which class of links it is.
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
    """Where it waited."""

    where: Annotated[
        str, Field(description="network (packet-seconds in routers) or servers (request-seconds).")
    ]


@declared
class BlameChange(Waiting, WaitingPlace, Pair):
    """Waits that differ."""


@declared
class Comparison(TypedDict):
    """What `odonata compare` answers."""

    a: Side
    """The first result:"""
    b: Side
    """The second result:"""
    equal_digests: bool
    """Whether both measured the same."""
    scenario: list[Setting]
    jobs_in_both: list[str]
    """Jobs of one name, which alone are compared."""
    jobs: list[JobChange]
    links: list[LinkChange]
    servers: list[Change]
    """Sums of columns of the table servers that differ:"""
    blame: list[BlameChange] | None
    """null unless both measured blame; else waits that differ, the largest difference first:"""


@declared
class PresetMachine(TypedDict):
    """The machine of a preset."""

    kind: str
    """Family of its network."""
    nodes: Count
    """Its nodes, storage servers and service nodes among them."""
    routers: Count
    """Its routers."""
    groups: Count
    """Its groups."""


class _PresetName(TypedDict):
    name: Annotated[str, Field(description="Name of the preset.")]
    about: Annotated[str, Field(description="What it is, in a few words.")]
    machine: Annotated[PresetMachine | None, Field(description="Its machine; null if it has none:")]


@declared
class PresetSummary(_PresetName):
    """A preset in the list of all."""


@declared
class PresetKey(TypedDict):
    """A key of a preset."""

    key: str
    """Key, with dots."""
    value: Any
    """Its value."""
    source: str | None
    """Where the value is from: what stands above the key, or else above its table; null if nothing does."""


@declared
class Preset(_PresetName):
    """What `odonata presets PRESET` answers."""

    description: str
    """What it is, with what it is from."""
    keys: list[PresetKey]
    """Its keys, in the order of the file:"""
    toml: str
    """The whole file."""


@declared
class Computer(TypedDict):
    """What figures were measured on."""

    cpu: str
    """Name of the processor."""
    cores: int | None
    """Its cores."""
    memory_bytes: Count
    """Memory, in bytes."""
    system: str
    """Operating system."""
    python: str
    """Version of Python."""


@declared
class Bench(TypedDict):
    """What `odonata bench` answers."""

    cases: list[Annotated[dict[str, Any], Core("bench")]]
    quick: bool
    """Whether the cases were shortened."""
    machine: Computer
    version: str
    """Version of odonata."""


@declared
class ComputerShare(Computer):
    """The same, and how much of it the process may use."""

    cores_allowed: Annotated[Count, Field(description="Cores that the process may use.")]


@declared
class RanBy(TypedDict):
    """What handled the events."""

    scheduler: str
    """The scheduler that ran; another one than asked for, if that has nothing to gain."""
    threads: Count
    """Its threads."""


@declared
class ParallelRow(TypedDict):
    """A scheduler on a number of threads; without figures if its runs failed."""

    case: str
    """The case."""
    scheduler: str
    """The scheduler that was asked for."""
    threads: Count
    """Threads that were asked for."""
    failure: str | None
    """Why there are no figures; null if there are."""
    ran: NotRequired[RanBy]
    """What ran:"""
    wall_s: NotRequired[Number]
    """Time on the clock, median of the rounds."""
    cpu_s: NotRequired[Number]
    """CPU time, median of the rounds."""
    speed_up: NotRequired[Number | None]
    """Over the fastest run on one thread; null if there is none."""
    efficiency: NotRequired[Number | None]
    """The same per thread."""
    peak_rss_bytes: NotRequired[Count]
    """Most memory that the process took."""
    events: NotRequired[Count]
    """Events handled."""
    packet_hops: NotRequired[Count]
    """Routers visited by packets."""
    digest: NotRequired[str]
    """Hash over the results."""
    digest_equal: NotRequired[bool | None]
    """Whether it is that of the sequential scheduler; null if that failed."""
    walls_s: NotRequired[list[Number]]
    """Time on the clock of each round."""


@declared
class ParallelBench(TypedDict):
    """What `odonata bench --parallel` answers."""

    rows: list[ParallelRow]
    """A row for each scheduler and number of threads:"""
    quick: bool
    """Whether the cases were shortened."""
    rounds: Count
    """Runs of each, of which the median counts."""
    machine: ComputerShare
    version: str
    """Version of odonata."""


@declared
class Saturation(TypedDict):
    """Where saturation begins."""

    last_stable: Number | None
    """The largest load that the network takes; null if none was found."""
    first_saturated: Number | None
    """The smallest load that it does not take; null if none was found."""
    tolerance: Number | None
    """How far apart they may be, if the point was searched for; else null."""


@declared
class LoadSweep(TypedDict):
    """What `odonata load-sweep` answers, and sweep.json."""

    kind: str
    """What it is: load-sweep."""
    outcome: str
    """completed, interrupted, or failed: something else than saturation ended a point."""
    version: str
    """Version of odonata."""
    name: str | None
    """Name of the scenario."""
    seed: Count
    """Its seed."""
    job: str
    """The job whose load is varied."""
    senders: Count
    """Its ranks that send."""
    method: dict[str, Any]
    """How a point is measured, with all parameters."""
    cycle_ns: Number | None
    """Length of a clock cycle, in nanoseconds; null if there is no clock."""
    zero_load_ns: Number | None
    """Latency of the idle network, in nanoseconds."""
    warnings: list[Any]
    """What is probably not meant, as of check."""
    points: list[Annotated[dict[str, Any], Core("load-sweep")]]
    """The points, by load:"""
    saturation: Saturation
    """Where saturation begins:"""
    cpu_s: Number
    """CPU time of all points, in seconds."""
    wall_s: Number
    """Time that all took, in seconds."""
    scenario: dict[str, Any]
    """The scenario as resolved."""


@declared
class TimelineAnswer(TypedDict):
    """What `odonata timeline` answers: what is in the trace that it has written."""

    file: str | None
    """The trace; null if it was not written to a file by its name."""
    bytes: Count | None
    """Its size; null if it was written to a pipe."""
    events: Count
    """Begins and ends of slices, and values of counters."""
    ranks: Count
    """Ranks that are shown."""
    ranks_recorded: Count
    """Ranks of which calls were recorded."""
    messages: Count
    """Messages that are shown as arrows, as the calls that sent and took them are both in the trace."""
    servers: Count
    """Storage servers that are shown."""
    links: Count
    """Links that are shown."""
    from_s: Number
    """Beginning of the period, simulated time."""
    until_s: Number | None
    """End of the period; null: of the run."""
    left_out: list[str]
    """What was recorded and wanted and did not fit, in words."""


class ExtrapolatedJob(TypedDict):
    """A job, from a part of its iterations."""

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
    """What all iterations of a scenario's jobs would take, from some of them."""

    scenario: str
    """Its name."""
    seed: Count
    """The seed of all runs."""
    tolerance: Number
    """How far quarters of a run may be apart, as a part."""
    steady: bool
    """Whether all jobs are within that, the iterations at their end included."""
    skipped: Number
    """Part of the iterations that were not simulated; 0: the scenario was run in full."""
    outcome: str
    """How the last run ended."""
    runs: list[Number]
    """Part of the iterations that each run had, in their order."""
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
    """Its name."""
    tiers: list[Tier]
    """In the order in which they were run."""
    seed: Count
    """The seed of all of them."""


#: The commands whose answers go by another name than theirs.
COMMANDS = {"preset": "presets PRESET", "bench-parallel": "bench --parallel", **TOOL_COMMANDS}

#: What commands answer, by their names.
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
