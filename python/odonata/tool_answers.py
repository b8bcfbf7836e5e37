"""What the commands for traces, devices and programs answer with `--json`, declared as types, as in
`answers.py`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared

#: Calls or operations by their names.
Counts = dict[str, Count]


@declared
class TraceSends(TypedDict):
    """Point-to-point messages that a rank sends."""

    count: Count
    """Messages; those of persistent requests apart, here and below."""
    bytes: Count
    """Their bytes."""
    by_dest_comm: list[list[int]]
    """Destination, communicator, messages, bytes; numbered as the rank does."""
    size_hist_bitlen: Counts
    """Messages by the bits of their size: n for 2^(n-1) up to 2^n - 1 bytes, 0 for empty ones."""


@declared
class TraceReceives(TypedDict):
    """Receives that a rank posts."""

    count: Count
    """Receives."""
    max_bytes: Count
    """Room in their buffers, in bytes."""
    any_source: Count
    """Those from any source."""


@declared
class TraceCollective(TypedDict):
    """Calls of one collective."""

    count: Count
    """Calls."""
    send_bytes: Count | None
    """Bytes that the rank gave: of equal blocks one, of others the sum; null if there are no data."""


@declared
class TraceFileAccess(TypedDict):
    """Calls that move data of a file."""

    count: Count
    """Calls."""
    bytes: Count
    """Their bytes."""


@declared
class TraceRank(TypedDict):
    """What is in the file of one rank."""

    rank: Count
    """The rank."""
    file: str
    """Name of the file."""
    file_bytes: Count
    """Its length."""
    records: Count
    """Its calls."""
    op_counts: Counts
    """The same, by name."""
    footer_calls: Counts
    """Calls that the tracer counted."""
    footer_ignored: Counts
    """Those of them that were made from within another call, and have no record."""
    first_op: str | None
    """The first call."""
    last_op: str | None
    """The last one."""
    wall_first_enter_ns: int | None
    """When the first call began, by the rank's clock."""
    wall_last_return_ns: int | None
    """When the last one returned."""
    sum_in_mpi_ns: int
    """Time in calls."""
    threads: list[Count]
    """Threads that called."""
    sends: TraceSends
    """Messages sent:"""
    recvs_posted: TraceReceives
    """Receives posted:"""
    persistent_starts: Counts
    """Persistent requests that were started, and their bytes; empty if there are none."""
    collectives: dict[str, TraceCollective]
    """Collectives, by name."""
    mpiio: dict[str, TraceFileAccess]
    """File access, by the name of the call."""
    datatype_sizes: list[int]
    """Size of each datatype in bytes, by its number."""
    incomplete: NotRequired[str]
    """Why the file is not whole, with --incomplete."""


@declared
class TraceContents(TypedDict):
    """What is in a program folder."""

    operations: Count
    """Operations of all ranks."""
    kinds: Counts
    """The same, by kind."""
    most_operations: Count
    """Those of the rank that has most."""
    messages: Count
    """Messages; those of persistent requests and collectives apart."""
    message_bytes: Count
    """Their bytes."""
    receives: Count
    """Receives."""
    starts: Count
    """Persistent requests started."""
    communicators: Count
    """Communicators beside that of all ranks."""
    lists: Count
    """Lists, as of the counts of an MPI_Alltoallv."""
    read_bytes: Count
    """Bytes read from files."""
    written_bytes: Count
    """Bytes written to files."""
    longest_compute_ps: Count
    """Time of computation of the rank that computes longest."""


@declared
class TraceInfo(TypedDict):
    """What `odonata trace info` answers; every format has the first keys, and some of its own."""

    name: str
    """Name of the folder."""
    nranks: Count
    """Its ranks."""
    total_records: Count
    """Calls (of a program: operations) of all ranks."""
    total_op_counts: Counts
    """The same, by name."""
    total_sends: Count
    """Messages; those of persistent requests and collectives apart."""
    total_send_bytes: Count
    """Their bytes."""
    total_recvs_posted: Count
    """Receives."""
    total_persistent_starts: Count
    """Persistent requests started."""
    total_collective_calls: Counts
    """Collective calls, counted at every rank."""
    meta: NotRequired[dict[str, str]]
    """What the .meta file says, of DUMPI."""
    wall_span_ns: NotRequired[int]
    """From the first call of any rank to the last return, of DUMPI."""
    max_rank_span_ns: NotRequired[int]
    """The same of the rank that took longest, of DUMPI."""
    damage: NotRequired[str]
    """How many files are truncated, and the first of them, of DUMPI with --incomplete."""
    ranks: NotRequired[list[TraceRank]]
    """The file of each rank, of DUMPI:"""
    format: NotRequired[str]
    """odonata-program, of a program folder."""
    version: NotRequired[Count]
    """Version of that format."""
    description: NotRequired[str]
    """What the program is, of a program folder."""
    made_by: NotRequired[str]
    """What has written it, of a program folder."""
    contents: NotRequired[TraceContents]
    """What is in it, of a program folder:"""


@declared
class TraceFinding(TypedDict):
    """Something that is wrong with a trace, or good to know."""

    severity: str
    """error: the trace contradicts itself or is not complete; note: it is replayed other than recorded."""
    check: str
    """The check that has found it."""
    text: str
    """What was found."""


@declared
class Converted(TypedDict):
    """What `odonata trace convert` answers."""

    program: str
    """The program folder that was written."""
    ranks: Count
    """Its ranks."""
    operations: Count
    """Their operations."""
    notes: NotRequired[list[str]]
    """What is not known or not converted; absent if nothing is to be said."""


@declared
class MergedTraces(TypedDict):
    """What `odonata trace merge` answers."""

    program: str
    """The program folder that was written."""
    ranks: Count
    """Its ranks."""
    operations: Count
    """Their operations, computation included."""
    from_trace: Count
    """Operations of the MPI trace, computation apart."""
    from_log: Count
    """Operations of the log of file access, computation apart."""
    log_s: Number
    """Time in operations of the log, over all ranks, in seconds."""
    overlap_s: Number
    """How much of it the ranks were in calls of the MPI trace too."""
    notes: NotRequired[list[str]]
    """What is not known or not converted; absent if nothing is to be said."""


@declared
class Repeated(TypedDict):
    """What `odonata trace repeat` answers."""

    trace: str
    """The trace that was written."""


@declared
class DeviceLatency(TypedDict):
    """Latencies of accesses, in us."""

    mean: Number
    """From the begin of an access to its end: mean."""
    min: Number
    """The same, smallest."""
    p50: Number
    """The same, median."""
    p95: Number
    """The same, 95th percentile."""
    p99: Number
    """The same, 99th percentile."""
    max: Number
    """The same, largest."""


@declared
class DeviceWorkload(TypedDict):
    """What was asked of a device."""

    pattern: str
    """Order and direction of the accesses."""
    file: str
    """Size of the file."""
    record: str
    """Size of an access."""
    page: str
    """Random accesses begin at multiples of it."""
    queue_depth: Count
    """Accesses outstanding."""
    accesses: Count
    """Accesses in all."""
    reads: Number
    """Share of reads, of mixed patterns."""
    seed: Count
    """Seed of all that is random."""


@declared
class DeviceFigures(TypedDict):
    """What was measured of a device."""

    workload: DeviceWorkload
    """What was asked of it, with every default:"""
    accesses: Count
    """Accesses."""
    bytes: Count
    """Bytes read and written."""
    seconds: Number
    """From the first access to the end of the flush."""
    flush_s: Number
    """How long the flush behind the last write took."""
    iops: Number
    """Accesses per second."""
    bandwidth_mb_s: Number
    """Bytes per second / 10^6."""
    latency_us: DeviceLatency
    """Latencies:"""


@declared
class DeviceBench(TypedDict):
    """What `odonata device bench` answers."""

    name: str
    """Name of the preset, or the file."""
    device: dict[str, Any]
    """The device with all its parameters, by the name of its model."""
    figures: DeviceFigures
    """What was measured:"""


@declared
class DeviceResidual(TypedDict):
    """A measurement beside the equation that was fitted."""

    row: Count
    """Number of the measurement, from 1."""
    measured_iops: Number
    """Accesses per second, as measured."""
    fitted_iops: Number
    """The same by the equation."""
    error: Number
    """fitted / measured - 1."""


@declared
class DeviceFit(TypedDict):
    """What `odonata device fit` answers."""

    device: dict[str, Any]
    """The device that was derived, by the name of its model."""
    toml: str
    """The same as a file."""
    derived: list[str]
    """Keys that were derived."""
    defaults: list[str]
    """Keys that have their defaults."""
    residuals: list[DeviceResidual]
    """Every measurement beside the equation:"""
    degrees_of_freedom: Count
    """Measurements less parameters: at 0, residuals say nothing."""
    notes: list[str]
    """What should be known about it."""


@declared
class DevicePreset(TypedDict):
    """What `odonata device show PRESET` answers."""

    name: str
    """Name of the device."""
    toml: str
    """The device as a file, with the source of each number as comments."""


@declared
class ProgramError(TypedDict):
    """What is wrong with a program."""

    line: Count
    """Line, from 1."""
    column: Count
    """Column, from 1."""
    reason: str
    """Which kind of mistake it is, in a word."""
    message: str
    """What is wrong."""
    hint: str | None
    """What may help; null if nothing is known."""
    shown: str
    """All that, with the line of the program, as people see it."""


@declared
class ProgramParameter(TypedDict):
    """An option of a program."""

    name: str
    """Name of the variable."""
    about: str
    """What it is."""
    long: str
    """The option."""
    short: str
    """The same in short."""
    default: int
    """Its default."""


@declared
class ProgramCheck(TypedDict):
    """What `odonata workload check` answers."""

    valid: bool
    """Whether it is a program of the language."""
    errors: list[ProgramError]
    """What is wrong with it:"""
    warnings: list[str]
    """Settings that are probably mistakes."""
    parameters: list[ProgramParameter]
    """Its options:"""


@declared
class ProgramSummary(TypedDict):
    """The operations of a program, counted."""

    op_counts: Counts
    """Operations by kind."""
    p2p_messages: Count
    """Messages from task to task."""
    p2p_bytes: Count
    """Their bytes."""
    p2p_pairs: Count
    """Pairs of tasks with messages."""
    matrix: list[list[int]]
    """Sender, receiver, messages, bytes."""
    matrix_sha256: str
    """Hash over the matrix."""
    barriers: Count
    """Synchronizations."""
    barrier_participants: Count
    """Tasks in them, summed."""
    multicasts: Count
    """Multicasts."""
    multicast_deliveries: Count
    """Tasks that receive them, summed."""
    multicast_bytes_delivered: Count
    """Bytes that these receive."""
    reductions: Count
    """Reductions."""
    reduction_contributions: Count
    """Tasks that give to them, summed."""
    reduction_bytes_contributed: Count
    """Bytes that these give."""


@declared
class ProgramRecord(TypedDict):
    """What `odonata workload compile` answers."""

    program: str
    """Name of the program."""
    tasks: Count
    """Its tasks."""
    args: list[str]
    """Its command line."""
    verdict: str
    """accept; reject: it is no program; abort: it fails with this command line."""
    warnings: NotRequired[list[str]]
    """Settings that are probably mistakes."""
    reason: NotRequired[str]
    """Why it was refused, in a word."""
    error_line: NotRequired[Count | None]
    """The line that is wrong, of what is no program."""
    when: NotRequired[str]
    """When it failed: before any communication or during execution."""
    ranks: NotRequired[list[list[Any]]]
    """Of each task a list of [how often, operation]; an operation is a list of its kind and its values."""
    summary: NotRequired[ProgramSummary]
    """What that is in all:"""
    completion: NotRequired[list[Any]]
    """complete, or what never ends: deadlock, never-satisfied, never-received, never-awaited."""


#: A measurement beside what was fitted; `from` is no name in Python.
CalibratedSize = TypedDict(
    "CalibratedSize",
    {
        "bytes": Annotated[Count, Field(description="Size of the message.")],
        "from": Annotated[Count, Field(description="Node that begins.")],
        "to": Annotated[Count, Field(description="Node that answers.")],
        "measured_s": Annotated[Number, Field(description="Half a round trip, as measured.")],
        "simulated_s": Annotated[Number, Field(description="The same, as simulated with what was fitted.")],
        "residual": Annotated[Number, Field(description="simulated / measured - 1.")],
    },
)


@declared
class Calibration(TypedDict):
    """What `odonata calibrate` answers."""

    settings: dict[str, str]
    """Keys of the scenario with the values that fit."""
    values: dict[str, Number]
    """What was fitted, by its name: in s, bytes/s, s/byte or bytes."""
    standard_errors: dict[str, Number]
    """How far each is determined: standard error, relative."""
    residual: Number
    """Root mean square of the residuals, relative."""
    runs: Count
    """Ping-pongs that were simulated."""
    sizes: list[CalibratedSize]


@declared
class NotTakenOver(TypedDict):
    """A setting of another simulator without a counterpart."""

    key: str
    """The setting."""
    value: str
    """Its value."""
    reason: str
    """Why it is not imported."""


@declared
class Imported(TypedDict):
    """What `odonata import` answers."""

    scenario: str
    """The scenario (TOML)."""
    not_taken_over: list[NotTakenOver]
    """Settings without a counterpart:"""


#: The commands whose answers go by another name than theirs.
TOOL_COMMANDS = {
    "trace-info": "trace info",
    "trace-lint": "trace lint",
    "trace-convert": "trace convert",
    "trace-merge": "trace merge",
    "trace-repeat": "trace repeat",
    "device-bench": "device bench",
    "device-fit": "device fit",
    "devices": "device show",
    "device-show": "device show PRESET",
    "workload-check": "workload check",
    "workload-compile": "workload compile",
}

#: What these commands answer, by their names.
TOOL_ANSWERS: dict[str, Any] = {
    "trace-info": TraceInfo,
    "trace-lint": list[TraceFinding],
    "trace-convert": Converted,
    "trace-merge": MergedTraces,
    "trace-repeat": Repeated,
    "device-bench": DeviceBench,
    "device-fit": DeviceFit,
    "devices": list[Annotated[str, Field(description="Name of a device that has one.")]],
    "device-show": DevicePreset,
    "workload-check": ProgramCheck,
    "workload-compile": ProgramRecord,
    "calibrate": Calibration,
    "import": Imported,
}
