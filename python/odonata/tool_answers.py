"""Types of the answers of commands for traces, devices and programs with `--json`, as in `answers`."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from odonata.base.json_types import Count, Number, declared

#: Numbers of calls or operations, by name.
Counts = dict[str, Count]


@declared
class TraceSends(TypedDict):
    """Point-to-point messages that a rank sends."""

    count: Count
    """Messages; here and below without those of persistent requests."""
    bytes: Count
    """Their bytes."""
    by_dest_comm: list[list[int]]
    """Destination, communicator, messages, bytes; ranks are numbered as in the communicator."""
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
    """Receives from any source."""


@declared
class TraceCollective(TypedDict):
    """Calls of one collective."""

    count: Count
    """Calls."""
    send_bytes: Count | None
    """Bytes that the rank contributed: one of equal blocks, the sum of unequal ones; null without data."""


@declared
class TraceFileAccess(TypedDict):
    """Calls that move data of a file."""

    count: Count
    """Calls."""
    bytes: Count
    """Their bytes."""


@declared
class TraceRank(TypedDict):
    """The content of the file of one rank."""

    rank: Count
    """The rank."""
    file: str
    """Name of the file."""
    file_bytes: Count
    """Its size."""
    records: Count
    """Number of calls."""
    op_counts: Counts
    """Calls by name."""
    footer_calls: Counts
    """Calls that the tracer counted."""
    footer_ignored: Counts
    """Counted calls from within another call, which have no record."""
    first_op: str | None
    """The first call."""
    last_op: str | None
    """The last call."""
    wall_first_enter_ns: int | None
    """Start of the first call, by the rank's clock."""
    wall_last_return_ns: int | None
    """Return of the last call."""
    sum_in_mpi_ns: int
    """Time in calls."""
    threads: list[Count]
    """Number of threads that called."""
    sends: TraceSends
    """Messages sent:"""
    recvs_posted: TraceReceives
    """Receives posted:"""
    persistent_starts: Counts
    """Started persistent requests, and their bytes; empty if there are none."""
    collectives: dict[str, TraceCollective]
    """Collectives, by name."""
    mpiio: dict[str, TraceFileAccess]
    """File access, by the name of the call."""
    datatype_sizes: list[int]
    """Size of each datatype in bytes, by its number."""
    incomplete: NotRequired[str]
    """With --incomplete, the reason why the file is incomplete."""


@declared
class TraceContents(TypedDict):
    """The content of a program folder."""

    operations: Count
    """Operations of all ranks."""
    kinds: Counts
    """Operations by kind."""
    most_operations: Count
    """Largest number of operations of a rank."""
    messages: Count
    """Messages, without those of persistent requests and collectives."""
    message_bytes: Count
    """Their bytes."""
    receives: Count
    """Receives."""
    starts: Count
    """Started persistent requests."""
    communicators: Count
    """Communicators, without that of all ranks."""
    lists: Count
    """Lists, such as the counts of an MPI_Alltoallv."""
    read_bytes: Count
    """Bytes read from files."""
    written_bytes: Count
    """Bytes written to files."""
    longest_compute_ps: Count
    """Longest computation time of a rank."""


@declared
class TraceInfo(TypedDict):
    """The answer of `odonata trace info`: keys of every format, and keys of some."""

    name: str
    """Name of the folder."""
    nranks: Count
    """Number of ranks."""
    total_records: Count
    """Calls (for a program: operations) of all ranks."""
    total_op_counts: Counts
    """Calls of all ranks by name."""
    total_sends: Count
    """Messages, without those of persistent requests and collectives."""
    total_send_bytes: Count
    """Their bytes."""
    total_recvs_posted: Count
    """Receives."""
    total_persistent_starts: Count
    """Started persistent requests."""
    total_collective_calls: Counts
    """Collective calls, counted at every rank."""
    meta: NotRequired[dict[str, str]]
    """For DUMPI: the content of the .meta file."""
    wall_span_ns: NotRequired[int]
    """For DUMPI: time from the first call of any rank to the last return."""
    max_rank_span_ns: NotRequired[int]
    """For DUMPI: the same time of the slowest rank."""
    damage: NotRequired[str]
    """How many files are truncated, and the first of them, of DUMPI with --incomplete."""
    ranks: NotRequired[list[TraceRank]]
    """For DUMPI: the file of each rank:"""
    format: NotRequired[str]
    """For a program folder: odonata-program."""
    version: NotRequired[Count]
    """Version of that format."""
    description: NotRequired[str]
    """For a program folder: its description."""
    made_by: NotRequired[str]
    """For a program folder: the software that wrote it."""
    contents: NotRequired[TraceContents]
    """For a program folder: its content:"""


@declared
class TraceFinding(TypedDict):
    """An error in a trace, or a remark about it."""

    severity: str
    """error: the trace contradicts itself or is incomplete; note: the replay differs from the recording."""
    check: str
    """The check that found it."""
    text: str
    """The finding in words."""


@declared
class Converted(TypedDict):
    """The answer of `odonata trace convert`."""

    program: str
    """The written program folder."""
    ranks: Count
    """Number of ranks."""
    operations: Count
    """Number of operations."""
    notes: NotRequired[list[str]]
    """Unknown and omitted parts; absent if there are none."""


@declared
class MergedTraces(TypedDict):
    """The answer of `odonata trace merge`."""

    program: str
    """The written program folder."""
    ranks: Count
    """Number of ranks."""
    operations: Count
    """Number of operations, including computation."""
    from_trace: Count
    """Operations of the MPI trace, without computation."""
    from_log: Count
    """Operations of the file access log, without computation."""
    log_s: Number
    """Time in operations of the log, over all ranks, in seconds."""
    overlap_s: Number
    """The part of log_s in which ranks were also in calls of the MPI trace."""
    notes: NotRequired[list[str]]
    """Unknown and omitted parts; absent if there are none."""


@declared
class Repeated(TypedDict):
    """The answer of `odonata trace repeat`."""

    trace: str
    """The written trace."""


@declared
class DeviceLatency(TypedDict):
    """Latencies of accesses, in us."""

    mean: Number
    """Duration of an access, mean."""
    min: Number
    """Duration of an access, smallest."""
    p50: Number
    """Duration of an access, median."""
    p95: Number
    """Duration of an access, 95th percentile."""
    p99: Number
    """Duration of an access, 99th percentile."""
    max: Number
    """Duration of an access, largest."""


@declared
class DeviceWorkload(TypedDict):
    """The workload of a device."""

    pattern: str
    """Order and direction of the accesses."""
    file: str
    """Size of the file."""
    record: str
    """Size of an access."""
    page: str
    """Alignment of random accesses."""
    queue_depth: Count
    """Outstanding accesses."""
    accesses: Count
    """Number of accesses."""
    reads: Number
    """Share of reads in mixed patterns."""
    seed: Count
    """Seed of random values."""


@declared
class DeviceFigures(TypedDict):
    """Measurements of a device."""

    workload: DeviceWorkload
    """The workload, with every default:"""
    accesses: Count
    """Number of accesses."""
    bytes: Count
    """Bytes read and written."""
    seconds: Number
    """From the first access to the end of the flush."""
    flush_s: Number
    """Duration of the flush after the last write."""
    iops: Number
    """Accesses per second."""
    bandwidth_mb_s: Number
    """Bytes per second / 10^6."""
    latency_us: DeviceLatency
    """Latencies:"""


@declared
class DeviceBench(TypedDict):
    """The answer of `odonata device bench`."""

    name: str
    """Name of the preset, or the file."""
    device: dict[str, Any]
    """The device with all its parameters, by the name of its model."""
    figures: DeviceFigures
    """The measurements:"""


@declared
class DeviceResidual(TypedDict):
    """A measurement beside the value of the fitted equation."""

    row: Count
    """Number of the measurement, from 1."""
    measured_iops: Number
    """Measured accesses per second."""
    fitted_iops: Number
    """Accesses per second by the equation."""
    error: Number
    """fitted / measured - 1."""


@declared
class DeviceFit(TypedDict):
    """The answer of `odonata device fit`."""

    device: dict[str, Any]
    """The derived device, by the name of its model."""
    toml: str
    """The device as a file."""
    derived: list[str]
    """Derived keys."""
    defaults: list[str]
    """Keys with their defaults."""
    residuals: list[DeviceResidual]
    """Every measurement beside the equation:"""
    degrees_of_freedom: Count
    """Measurements minus parameters; at 0, residuals are meaningless."""
    notes: list[str]
    """Remarks about the fit."""


@declared
class DevicePreset(TypedDict):
    """The answer of `odonata device show PRESET`."""

    name: str
    """Name of the device."""
    toml: str
    """The device as a file, with the source of each number as comments."""


@declared
class ProgramError(TypedDict):
    """An error in a program."""

    line: Count
    """Line, from 1."""
    column: Count
    """Column, from 1."""
    reason: str
    """The kind of error, in a word."""
    message: str
    """The error message."""
    hint: str | None
    """A hint; null if there is none."""
    shown: str
    """The whole message with the line of the program, for people."""


@declared
class ProgramParameter(TypedDict):
    """An option of a program."""

    name: str
    """Name of the variable."""
    about: str
    """Its meaning."""
    long: str
    """The long option."""
    short: str
    """The short option."""
    default: int
    """Its default."""


@declared
class ProgramCheck(TypedDict):
    """The answer of `odonata workload check`."""

    valid: bool
    """Whether the program is valid."""
    errors: list[ProgramError]
    """Its errors:"""
    warnings: list[str]
    """Settings that are probably mistakes."""
    parameters: list[ProgramParameter]
    """Its options:"""


@declared
class ProgramSummary(TypedDict):
    """Numbers of a program's operations."""

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
    """Number of participating tasks, summed."""
    multicasts: Count
    """Multicasts."""
    multicast_deliveries: Count
    """Number of receiving tasks, summed."""
    multicast_bytes_delivered: Count
    """Bytes received, summed."""
    reductions: Count
    """Reductions."""
    reduction_contributions: Count
    """Number of contributing tasks, summed."""
    reduction_bytes_contributed: Count
    """Bytes contributed, summed."""


@declared
class ProgramRecord(TypedDict):
    """The answer of `odonata workload compile`."""

    program: str
    """Name of the program."""
    tasks: Count
    """Number of tasks."""
    args: list[str]
    """Its command line."""
    verdict: str
    """accept; reject: invalid program; abort: it fails with this command line."""
    warnings: NotRequired[list[str]]
    """Settings that are probably mistakes."""
    reason: NotRequired[str]
    """The reason for the refusal, in a word."""
    error_line: NotRequired[Count | None]
    """The line of the error, for an invalid program."""
    when: NotRequired[str]
    """Time of the failure: before any communication or during execution."""
    ranks: NotRequired[list[list[Any]]]
    """For each task, a list of [repetitions, operation]; an operation is a list of its kind and its
    values.
    """
    summary: NotRequired[ProgramSummary]
    """The totals:"""
    completion: NotRequired[list[Any]]
    """complete, or the reason why tasks never end: deadlock, never-satisfied, never-received, never-
    awaited.
    """


#: A measurement beside the fitted value; a `TypedDict` call, since `from` is no name in Python.
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
    """The answer of `odonata calibrate`."""

    settings: dict[str, str]
    """Keys of the scenario with the fitted values."""
    values: dict[str, Number]
    """Fitted values by name, in s, bytes/s, s/byte or bytes."""
    standard_errors: dict[str, Number]
    """Relative standard error of each value."""
    residual: Number
    """Root mean square of the residuals, relative."""
    runs: Count
    """Number of simulated ping-pongs."""
    sizes: list[CalibratedSize]


@declared
class Agreement(TypedDict):
    """Simulated beside measured times of a group of points."""

    fitted: bool
    """Whether the costs of the preset were fitted to these points."""
    collective: str
    """The collective, or all."""
    size: str
    """The class of sizes, or all."""
    points: Count
    """Number of points."""
    median_ratio: Number
    """Median of simulated / measured."""
    p90_ratio: Number | None
    """The same of the 90th percentiles; null without noise."""
    mean_factor: Number
    """Geometric mean of the factor of error, at least 1."""
    within_20_percent: Number
    """Share of points within 20% of the measured time."""


@declared
class ValidatedPoint(TypedDict):
    """A measured collective, repeated."""

    run: str
    """The run of the benchmark that measured it."""
    ranks: Count
    """Number of ranks."""
    collective: str
    """The collective, by the name in the data."""
    algorithm: str
    """Its algorithm, by the name in the data."""
    bytes: Count
    """Size, as the data count it."""
    fitted: bool
    """Whether the costs of the preset were fitted to it."""
    measured_s: Number
    """Median of the measured times."""
    simulated_s: Number
    """Simulated time, without other jobs; with noise the median of the repetitions."""
    ratio: Number
    """simulated / measured."""
    measured_p90_s: Number
    """90th percentile of the measured times."""
    simulated_p90_s: Number | None
    """90th percentile of the repetitions; null without noise."""
    p90_ratio: Number | None
    """simulated_p90_s / measured_p90_s; null without noise."""


@declared
class Validation(TypedDict):
    """The answer of `odonata validate`."""

    preset: str
    """The preset."""
    groups: list[Agreement]
    """Agreement by group: fitted or not, collective, sizes:"""
    points: list[ValidatedPoint]
    """The points:"""
    not_repeated: list[str]
    """Collectives and algorithms of the data that this simulator does not have."""


@declared
class NotTakenOver(TypedDict):
    """A setting of another simulator without a counterpart."""

    key: str
    """The setting."""
    value: str
    """Its value."""
    reason: str
    """The reason why it is not imported."""


@declared
class Imported(TypedDict):
    """The answer of `odonata import`."""

    scenario: str
    """The scenario (TOML)."""
    not_taken_over: list[NotTakenOver]
    """Settings without a counterpart:"""
    beside: NotRequired[str]
    """For a network that is no family's: the edge list or list of cables that the scenario names."""
    jobs: NotRequired[str]
    """For a job list: the list with profiles (CSV), which the batch file names."""
    assumptions: NotRequired[list[str]]
    """For a job list: what was assumed or left out."""


#: Commands whose answers have another name than the command.
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

#: Answers by command.
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
    "validate": Validation,
    "import": Imported,
}
