"""A scenario as objects: a class for every table, made from the types of the core by `make docs`.

Editors complete keys and show what they mean; a wrong key or value is an `InputError` at once.

>>> from odonata.scenario import Dragonfly, Job, Machine, Scenario, Stencil, Workload
>>> sizes = Dragonfly(groups=3, routers_per_group=2, nodes_per_router=2, global_ports_per_router=1)
>>> halo = Job(name="halo", ranks=8, workload=Workload(stencil=Stencil(message="64 KiB")))
>>> scenario = Scenario(machine=Machine(dragonfly=sizes), jobs=[halo])
>>> scenario.network.routing.algorithm = "minimal"
>>> print(scenario.to_toml())
[machine]
dragonfly = { global_ports_per_router = 1, groups = 3, nodes_per_router = 2, routers_per_group = 2 }
<BLANKLINE>
[network]
routing = { algorithm = "minimal" }
<BLANKLINE>
[[jobs]]
name = "halo"
ranks = 8
workload = { stencil = { message = "64 KiB" } }
<BLANKLINE>
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from odonata.scenario.table import Choice, ScenarioTable, Table

__all__ = [
    "Acknowledge",
    "AdaptiveRequests",
    "Affinity",
    "Algorithm",
    "AllToAll",
    "Allgather",
    "AllgatherWorkload",
    "Allocator",
    "Allreduce",
    "AllreduceWorkload",
    "Alltoall",
    "AlltoallWorkload",
    "Alltoallv",
    "Amg",
    "Analytic",
    "Arbitration",
    "Architecture",
    "Arrangement",
    "Arrival",
    "Assignment",
    "AssignmentList",
    "Asymmetric",
    "BadpermYarc",
    "Balancing",
    "Bandwidth",
    "Barrier",
    "BarrierWorkload",
    "BitComplement",
    "BitReverse",
    "BitRotation",
    "Broadcast",
    "BroadcastWorkload",
    "Bytes",
    "Cables",
    "Checkpoint",
    "CheckpointFile",
    "CheckpointOffset",
    "CheckpointRestart",
    "ClassVcs",
    "Client",
    "Clock",
    "CollectiveIo",
    "Collectives",
    "Comparison",
    "ComputeWorkload",
    "CongestionControl",
    "CongestionKind",
    "Control",
    "Cosmoflow",
    "CosmoflowIo",
    "CrystalRouter",
    "DataLoader",
    "Dcqcn",
    "DeadlockCheck",
    "DegradedLink",
    "Device",
    "Distribution",
    "Divert",
    "Dragonfly",
    "Dragonfly2d",
    "DragonflyPlus",
    "Drain",
    "DrainPolicy",
    "Eviction",
    "ExscanWorkload",
    "FailedLink",
    "FatTree",
    "Fault",
    "FaultKind",
    "FaultKindSlow",
    "Fidelity",
    "FileKind",
    "FileSystem",
    "FillBoundary",
    "Gather",
    "GatherWorkload",
    "Graph",
    "Grid",
    "GridStep",
    "Hdd",
    "HostLinks",
    "HotSpot",
    "Hpcc",
    "HyperX",
    "InGroup",
    "Incast",
    "InferenceWorkload",
    "InjectionVc",
    "InputQueues",
    "Ior",
    "IorApi",
    "IorParameters",
    "Jitter",
    "Job",
    "JobClasses",
    "JobFiles",
    "JobStart",
    "JobStartTable",
    "Knowledge",
    "KvTransfer",
    "Layout",
    "LayoutStriped",
    "Library",
    "Link",
    "Links",
    "ListedParts",
    "Locks",
    "LostReads",
    "Machine",
    "Manager",
    "Matrix",
    "Mdtest",
    "MdtestParameters",
    "MdtestTest",
    "Metadata",
    "Milc",
    "Mpi",
    "MpiLibrary",
    "Multigrid",
    "NcclAlgorithm",
    "NcclCollective",
    "NcclProtocol",
    "NcclWorkload",
    "Neighbors",
    "Nekbone",
    "Network",
    "NextGroup",
    "Nic",
    "NicRates",
    "NodeClass",
    "Nodes",
    "Noise",
    "NoiseDurations",
    "NoiseTiming",
    "Nvme",
    "Offload",
    "OnFailure",
    "Optimism",
    "OptimumInterval",
    "OtherGroups",
    "Pairs",
    "PerByte",
    "Permutation",
    "PingPong",
    "Pipeline",
    "PipelineSchedule",
    "Placement",
    "PlacementTable",
    "PolarFly",
    "Policy",
    "Position",
    "Progress",
    "Queues",
    "RailOptimized",
    "RailStorage",
    "Rate",
    "RateAbove",
    "Reach",
    "ReadPolicy",
    "Reduce",
    "ReduceScatter",
    "ReduceScatterWorkload",
    "ReduceWorkload",
    "Reduction",
    "RendezvousForm",
    "Retransmission",
    "RouterException",
    "RouterModel",
    "Routing",
    "Rule",
    "Run",
    "Scan",
    "ScanWorkload",
    "Scatter",
    "ScatterWorkload",
    "Scenario",
    "Scheduler",
    "SeekCurve",
    "Selection",
    "SendQueues",
    "Settings",
    "Sharing",
    "Shift",
    "Shuffle",
    "SizeOrNone",
    "SlimFly",
    "Spread",
    "Ssd",
    "StageIn",
    "Start",
    "StartServer",
    "Stencil",
    "Storage",
    "StorageFabric",
    "Striped",
    "Swift",
    "Switching",
    "SyncDepth",
    "Tier",
    "Ties",
    "Time",
    "Timeline",
    "Tornado",
    "Torus",
    "TrafficClass",
    "TrainingFailures",
    "TrainingGradients",
    "TrainingModel",
    "TrainingStraggler",
    "TrainingWorkload",
    "Transport",
    "Transpose",
    "Turn",
    "Uniform",
    "Unwritten",
    "Up",
    "VcRule",
    "Via",
    "WallTime",
    "Workload",
    "WorstCase",
    "WritePolicy",
]


Fidelity = Literal["packet", "flow", "ethernet", "analytic"]
"""How a fabric carries messages.

`packet`: As packets, from router to router.

`flow`: As flows with max-min fair rates over the links of their paths (D. Bertsekas, R. Gallager, Data
Networks, 1992, 6.5.2). Flows share links; there are no packets, queues or buffers.

`ethernet`: As packets of an Ethernet, whose switches mark, trim, drop or pause, under a transport of the
hosts.

`analytic`: By the LogGP model (A. Alexandrov et al., SPAA 1995), without contention in the network. GOAL
schedules follow the LogGOPS model of LogGOPSim.
"""


class AssignmentList(Table):
    """A server number for every compute node of the machine (counted with servers left out), in order."""

    list: builtins.list[Annotated[int, Field(ge=0)]]

Assignment = Literal["by-group", "nearest", "random", "round-robin"] | AssignmentList
"""Which server the ranks on a compute node use.

`by-group`: One of the node's own group; the compute nodes of a group are shared evenly among its servers,
in order. A group without servers uses those of the next group with servers. ("even" is the same.)

`nearest`: The server that is the fewest cables away; nodes at equal distance from several servers are
shared evenly among them.

`random`: A random one for every compute node, drawn from the seed.

`round-robin`: Compute node `c` (counted over the machine, servers left out) uses server `c mod servers`.
"""


class StartServer(Table):
    """All files begin on the server with this number."""

    server: Annotated[int, Field(ge=0)]

Start = Literal["hash", "random", "round-robin"] | StartServer
"""Where a file begins.

`hash`: By a hash of the file's name.

`random`: Drawn from the seed for every file.

`round-robin`: File number f of a directory begins on server f mod servers.
"""

Bytes = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(B|kB|KiB|MB|MiB|GB|GiB|TB|TiB|PB|PiB|flits?)\s*$")]
"""A size: a number and one of B, kB, MB, GB, TB, PB (powers of 1,000) or KiB, MiB, GiB, TiB, PiB (powers of
1,024); or flits of network.flit.
"""


class Striped(Table):
    """Stripes of a file, dealt out to servers in turn."""

    count: Annotated[int, Field(ge=1)] | str = "all"
    """Servers that a file is on: a number, or "all"."""

    start: Start = "hash"
    """The server of the first stripe; the others follow in the order of their numbers."""

    stripe: Bytes = "1 MiB"
    """Size of a stripe, at least 1 B."""


class LayoutStriped(Table):
    """In stripes on several servers, e.g. { striped = { stripe = "1 MiB", count = 4 } }."""

    striped: Striped

Layout = Literal["assigned", "hash", "random", "round-robin"] | LayoutStriped
"""Which servers a file is on.

`assigned`: Each rank's part of a file is on the server that its node is assigned to, as in burst buffers
that keep the data of their own clients.

`hash`: The whole file on one server, by a hash of its name.

`random`: The whole file on one server, drawn from the seed for every file.

`round-robin`: The whole file on one server: file number f of a directory on server f mod servers.
"""


class StageIn(Table):
    """An input file that is copied into the buffers of a job."""

    bytes: Bytes
    """Number of bytes to copy, at least 1 B."""

    file: Annotated[int, Field(ge=0)] = 0
    """Its number in the directory of the job."""

    offset: Bytes = "0 B"
    """First byte to copy."""

    per_rank: bool = False
    """Whether every rank copies a file of its own: rank r copies number `file` + r. Default: false, all
    ranks copy the same file together.
    """


class JobFiles(Table):
    """The files of a job."""

    assignment: Assignment | None = None
    """Which server the ranks on one of the job's compute nodes use, where the layout does not determine it:
    any rule of `storage.assignment` except a list. Default: `storage.assignment`.
    """

    directory: str | None = None
    """The directory of the job's files. A file is identified by its directory and its number in it: jobs
    with the same directory share their files. Default: the job's name, so that no other job shares its
    files.
    """

    layout: Layout | None = None
    """Which servers hold the files of the directory. Jobs with the same directory have the same layout.
    Default: `storage.layout`.
    """

    stage_in: list[StageIn] = []
    """Input files to copy from the file system into the job's buffers before it starts, e.g. `[{ file = 0,
    bytes = "10 GB" }]`; of a shared file, each rank requests an equal part. Needs tiers. Default: none.
    """

    stage_out: bool = False
    """Whether all data of the job in the tiers is written to the file system when the job has ended,
    whatever the policy of each tier is. Needs tiers. Default: false.
    """

    stage_wait: bool | None = None
    """Whether the job waits for all of these files before it starts. Otherwise it starts at once and reads
    from the buffers what has arrived. Default: true.
    """

    write_behind: Bytes | None = None
    """Number of bytes that a rank may have written without acknowledgment when a write returns. Default:
    `storage.write_behind`.
    """


class PlacementTable(Table):
    """Explicit nodes: `{ nodes = [...] }`, `{ hosts = [...] }`, `{ clients = [...] }`, `{ file = "...", slot
    = 0 }`; or `{ dims = [...], block = [...] }`.
    """

    block: list[Annotated[int, Field(ge=0)]] | None = None
    """With `dims`: nodes of a block along each dimension."""

    clients: list[Annotated[int, Field(ge=0)]] | None = None
    """Numbers counted over compute nodes only, without storage servers."""

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Arranges the nodes of the job as a grid with this number along each dimension, the first fastest. Each
    block of `block` nodes shares a router; blocks are assigned to the routers of the machine in order.
    This is the node numbering of concentrated networks: on a grid of 4 x 4 routers with 4 nodes each,
    dims = [8, 8] and block = [2, 2].
    """

    file: str | None = None
    """A CSV file with a header and the columns slot, rank, terminal (node number); relative to the
    scenario's folder.
    """

    hosts: list[str] | None = None
    """Names of hosts, on a preset of a machine whose hosts have names: `lumi` ("x1302c0s3b0n0" or
    "nid006742"), `leonardo` ("lrdn0183"), `marenostrum5` ("as03r2b17"), `alps` ("x1100c0s6b1n0"),
    `aurora` ("x4109c0s5b0n0"), `cori` and `theta-full` ("c3-0c1s15n2").
    """

    nodes: list[Annotated[int, Field(ge=0)]] | None = None
    """Node numbers, counted over the machine, one per node of the job: ranks / ranks_per_node, rounded up."""

    slot: Annotated[int, Field(ge=0)] | None = None
    """The slot whose rows of the file are used. Default: 0."""

Placement = Literal["contiguous", "random", "random-router", "random-group"] | PlacementTable
"""Which nodes a job gets.

`contiguous`: The lowest free compute nodes.

`random`: Random free compute nodes.

`random-router`: Random routers; all free compute nodes of a router before those of the next.

`random-group`: Random groups; all free compute nodes of a group, in order, before those of the next.
"""

Time = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(ps|ns|[uµμ]s|ms|s|cycles?)\s*$")]
"""A time: a number and one of ps, ns, us (or µs), ms, s; with network.clock also cycles."""


class JobStartTable(Table):
    """A start that the seed shifts."""

    jitter: Time
    """The start is drawn from the seed, uniformly between `at` and `at` + `jitter`."""

    at: Time = "0 s"
    """The earliest start, e.g. "1 ms". Default: "0 s"."""

JobStart = Time | JobStartTable
"""When a job starts."""


class JobClasses(Table):
    """The traffic classes of a job: `{ mpi = "latency", io = "bulk" }`."""

    io: str | None = None
    """Class of its file access, in both directions. Default: the first class."""

    mpi: str | None = None
    """Class of its MPI messages and its synthetic traffic. Default: the first class."""


class Milc(Table):
    """Communication of MILC's solver: each iteration has two exchanges with 8 neighbors in a 4-D torus, then
    two all-reduces of 8 B. The defaults are the MFNetSim case study.
    """

    compute: Time = "25 ns"
    """Computation on the sites of one parity, twice per iteration, e.g. "25 ns"."""

    dims: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=4, max_length=4)] | None = None
    """Ranks along each of the 4 dimensions, the first fastest; their product is `ranks`. Default: balanced
    (300 ranks: 3 x 4 x 5 x 5).
    """

    iterations: Annotated[int, Field(ge=0)] = 100
    """Iterations of the solver."""

    message: Bytes = "486 KiB"
    """Size of the message to one neighbor, e.g. "497664 B"; 1.5 L^4 bytes for L^4 lattice sites per rank."""


class Nekbone(Table):
    """Communication of Nekbone: for each polynomial order two conjugate gradient solves with 26-neighbor
    exchanges in a 3-D mesh and all-reduces of 8 B. The defaults are the MFNetSim case study.
    """

    cg_iterations: Annotated[int, Field(ge=0)] = 100
    """Iterations of each of the two solves per order."""

    dims: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=3, max_length=3)] | None = None
    """Ranks along x, y, z, the first fastest; their product is `ranks`. Default: balanced (300 ranks: 5 x 6
    x 10).
    """

    elements_per_edge: Annotated[int, Field(ge=0)] = 13
    """Spectral elements along each edge of a rank's block."""

    orders: list[Annotated[int, Field(ge=0)]] = [8, 11, 14]
    """Polynomial orders, solved one after the other; at most 1,000."""


class CollectiveIo(Table):
    """Two-phase collective writes, as in MPI-IO."""

    aggregators: Annotated[int, Field(ge=1)] = 1
    """Number of writing ranks, 1 to the number of ranks; they are spread evenly over the ranks."""

    buffer: Bytes = "16 MiB"
    """Buffer of each writing rank, at least 1 B: the data it collects and writes at once."""

CheckpointFile = Literal["shared", "per-rank"]
"""Sharing of files between ranks.

`shared`: All ranks write to one file per checkpoint (N-1).

`per-rank`: Every rank writes to its own file per checkpoint (N-N): number `i ranks + r` for rank `r`,
checkpoint `i`.
"""

CheckpointOffset = Literal["by-rank", "strided", "zero"]
"""The offsets of the ranks in a checkpoint file.

`by-rank`: Rank `r` at `r` times the bytes of a rank: the parts are contiguous (N-1 segmented). In its own
file from offset 0.

`strided`: Record `k` of rank `r` at `(k ranks + r)` times the size of a record: the ranks alternate (N-1
strided).

`zero`: Every rank at offset 0, as in the MFNetSim runs.
"""


class Checkpoint(Table):
    """Checkpoints: compute, then every rank writes its share of a common file. The defaults are the MFNetSim
    case study.
    """

    collective: CollectiveIo | None = None
    """Two-phase collective writes as in MPI-IO, e.g. { aggregators = 4, buffer = "16 MiB" }: all ranks send
    their data to a few aggregators, which write. Only for a shared file without holes: records have equal
    size. Default: each rank writes its own data.
    """

    coordinated: bool = True
    """Whether there is a barrier before and after the writes (the MFNetSim runs have none)."""

    file: CheckpointFile = "shared"
    """Whether all ranks write to one file, or each to its own."""

    fsync: bool = False
    """Whether every rank synchronizes its file (`fsync`) after its writes, and continues when the data is
    committed (`storage.sync`). Default: false.
    """

    interval: Time = "100 ms"
    """Computation before each checkpoint, e.g. "100 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 1
    """Number of checkpoints."""

    offset: CheckpointOffset = "by-rank"
    """Offset of each rank in the file."""

    record: Bytes | None = None
    """Size of one write, at least 1 B; the last one of a rank may be shorter. Default: the whole share of a
    rank.
    """

    total: Bytes = "50 GB"
    """Size of one checkpoint of the whole job, e.g. "50 GB"; every rank writes an equal share, rounded down."""

CosmoflowIo = Literal["read", "write"]
"""Direction of the data of a CosmoFlow step.

`read`: Samples are read, as in the MFNetSim paper.

`write`: Samples are written, as in the MFNetSim runs.
"""


class Cosmoflow(Table):
    """Data-parallel training of CosmoFlow: each step transfers the rank's own file, computes, and all-
    reduces the gradient. The defaults are those of the MFNetSim paper.
    """

    compute: Time = "129 ms"
    """Computation per step, e.g. "129 ms"."""

    element: Bytes = "4 B"
    """Size of an element, e.g. "4 B"."""

    elements: Annotated[int, Field(ge=0)] = 7379200
    """Elements of the gradient."""

    io: CosmoflowIo = "read"
    """Direction of the samples."""

    iterations: Annotated[int, Field(ge=0)] = 5
    """Training steps."""

    pipelined: bool = True
    """Whether the transfer of the next step overlaps with the computation of this one (the MFNetSim runs:
    no).
    """

    sample: Bytes = "8 MiB"
    """Size transferred by each rank per step, e.g. "8 MiB"."""


class Stencil(Table):
    """Sweeps over a grid of 1 to 4 dimensions with an exchange of faces. The defaults are the Jacobi
    skeleton of Union.
    """

    allreduce: Bytes = "8 B"
    """Size of the all-reduce that ends a sweep, e.g. "8 B"; "0 B": none."""

    compute: Time = "2 ms"
    """Computation per sweep, e.g. "2 ms"."""

    dimensions: Annotated[int, Field(ge=0)] = 3
    """Dimensions of the balanced grid, 1 to 4; ignored if `dims` is given."""

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a
    balanced grid of `dimensions` dimensions.
    """

    iterations: Annotated[int, Field(ge=0)] = 100
    """Sweeps over the grid."""

    message: Bytes = "1 MB"
    """Size of the message to one neighbor, e.g. "1 MB"."""

    wrap: bool = True
    """Whether the grid is a torus."""


class Amg(Table):
    """AMG: V-cycles of an algebraic multigrid solver on a 3-D mesh of ranks. The defaults are the traces of
    the Design Forward programme.
    """

    compute: Time = "391.1 ms"
    """Computation in all cycles together, most of it on the finest level, as measured on 27 ranks. Default:
    the rest of that time.
    """

    cycles: Annotated[int, Field(ge=0)] = 2
    """V-cycles."""

    dims: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=3, max_length=3)] | None = None
    """Ranks along x, y, z, the first fastest; their product is `ranks`. Default: balanced (13,824 ranks: 24
    x 24 x 24).
    """

    levels: Annotated[int, Field(ge=0)] = 7
    """Levels of a cycle, 2 to 7. The last one is on one rank and sends nothing."""

    message: Bytes = "12800 B"
    """Size of the message to a neighbor on the finest level, e.g. "12800 B"; 8 n^2 bytes for n^3 points per
    rank. Messages of coarser levels are in proportion.
    """

    setup: Time = "4.1344 s"
    """Computation before the first cycle, in which the solver sets up its levels. Default: 91.4%, as
    measured on 27 ranks, of the computation of 60.34% of 7.5 s that was measured on 13,824 ranks.
    """


class Multigrid(Table):
    """Multigrid: V-cycles of a geometric multigrid solver on boxes of a block-structured grid. The defaults
    are the trace of the Design Forward program.
    """

    allreduces: Annotated[int, Field(ge=0)] = 16
    """All-reduces of 8 B at the end of each cycle."""

    broadcasts: Annotated[int, Field(ge=0)] = 11
    """Broadcasts of 8 B from rank 0 at the start."""

    compute: Time = "5.022234 s"
    """Computation of each rank in all cycles together; each exchange follows a part of it that is
    proportional to the points of its level. Default: 96.6% of 5.199 s, as measured on 110,592 ranks.
    """

    cycles: Annotated[int, Field(ge=0)] = 1
    """V-cycles."""

    dims: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=3, max_length=3)] | None = None
    """Boxes along x, y, z, one per rank; their product is `ranks`. Default: balanced (1,000 ranks: 10 x 10 x
    10).
    """

    exchanges: list[Annotated[int, Field(ge=0)]] = [12, 9, 9, 9, 9, 4]
    """Exchanges of ghost cells on each level, the finest first."""

    periodic: bool = True
    """Whether the domain is periodic."""

    point: Bytes = "8 B"
    """Size of a point, e.g. "8 B"."""

    points: Annotated[int, Field(ge=0)] = 64
    """Points along each edge of a box on the finest level; half as many on each following level, rounded
    down.
    """


class FillBoundary(Table):
    """FillBoundary: exchanges of ghost cells between boxes of a block-structured grid. The defaults are the
    trace of the Design Forward program.
    """

    broadcasts: Annotated[int, Field(ge=0)] = 7
    """Broadcasts of 8 B from rank 0 at the start."""

    compute: Time = "0 s"
    """Computation of each rank before each exchange, e.g. "1 ms"."""

    dims: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=3, max_length=3)] | None = None
    """Boxes along x, y, z, one per rank; their product is `ranks`. Default: balanced (1,000 ranks: 10 x 10 x
    10).
    """

    ghost_cells: list[Annotated[int, Field(ge=0)]] = [1, 2, 3, 4]
    """Widths of the ghost cells in points, used in turn."""

    periodic: bool = False
    """Whether the domain is periodic."""

    point: Bytes = "8 B"
    """Size of a point, e.g. "8 B"."""

    points: Annotated[int, Field(ge=0)] = 64
    """Points along each edge of a box."""

    repetitions: Annotated[int, Field(ge=0)] = 25
    """Exchanges per width with all 26 neighbors, and the same number with neighbors across faces only."""


class CrystalRouter(Table):
    """Crystal router: each rank has equal data for all others, moved by recursive halving. The defaults are
    the trace of Nek5000's kernel of the Design Forward program on 1,000 ranks.
    """

    compute: Time = "150.7 ms"
    """Computation of each rank in all rounds together; an equal part precedes each exchange. Default: 11% of
    1.37 s, as measured on 10,000 ranks.
    """

    header: Bytes = "4 B"
    """Size of the message before each data message, with the size of that one; "0 B": none."""

    payload: Bytes = "23191590 B"
    """Data of each rank for all others together, in all rounds. On n ranks it is sent about log2(n) / 2
    times: 10,000 ranks with "33 MB" send 2 TiB in total.
    """

    rounds: Annotated[int, Field(ge=0)] = 60
    """Number of rounds. The trace's matrix does not show it."""

Barrier = Literal["auto", "dissemination", "recursive-doubling", "double-ring", "tree", "offload", "switches"]
"""The algorithm of barriers.

`auto`: The library's choice.

`dissemination`: In round k every rank signals rank + 2^k.

`recursive-doubling`: Signals over distances 1, 2, 4, ...

`double-ring`: A signal travels a ring twice.

`tree`: Up a binomial tree and down again.

`offload`: Up a tree of network interfaces and down again (`mpi.offload`).

`switches`: In the routers between the ranks (`network.reduction`).
"""


class BarrierWorkload(Table):
    """Barriers: `iterations` times computation and a barrier."""

    algorithm: Barrier = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

Broadcast = Literal["auto", "binomial", "scatter-recursive-doubling", "scatter-ring", "linear", "chain", "binary", "split-binary", "segmented-binomial", "bine-latency", "bine-bandwidth"]
"""The algorithm of broadcasts.

`auto`: The library's choice.

`binomial`: A binomial tree.

`scatter-recursive-doubling`: Binomial scatter, then all-gather by recursive doubling; like `auto` if the
number of ranks is not a power of two.

`scatter-ring`: Binomial scatter, then all-gather around a ring.

`linear`: From the root to all directly.

`chain`: In segments along a chain of all ranks.

`binary`: In segments along a binary tree.

`split-binary`: One half of the data in segments down each half of a binary tree, then pairs swap halves.

`segmented-binomial`: In segments along a binomial tree, to all children at once.

`bine-latency`: Along a bine tree, to all children at once; like `auto` if the number of ranks is not a
power of two.

`bine-bandwidth`: Scatter along a bine tree, then all-gather along a bine butterfly; like `auto` if the
number of ranks is not a power of two.
"""


class BroadcastWorkload(Table):
    """Broadcasts: `iterations` times computation and a broadcast."""

    algorithm: Broadcast = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size, e.g. "1 MB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

    root: Annotated[int, Field(ge=0)] = 0
    """The rank with the data."""

Reduce = Literal["auto", "binomial", "reduce-scatter-gather", "linear", "chain", "binary", "segmented-binomial", "bine-latency", "bine-bandwidth"]
"""The algorithm of reductions to one rank.

`auto`: The library's choice.

`binomial`: A binomial tree.

`reduce-scatter-gather`: Halves, quarters, ... reduced, then gathered to the root (Rabenseifner).

`linear`: From all to the root directly.

`chain`: In segments along a chain of all ranks.

`binary`: In segments along a binary tree.

`segmented-binomial`: In segments along a binomial tree.

`bine-latency`: Along a bine tree; like `auto` if the number of ranks is not a power of two.

`bine-bandwidth`: Reduce-scatter along a bine butterfly, then gather along a bine tree; like `auto` if the
number of ranks is not a power of two.
"""


class ReduceWorkload(Table):
    """Reductions: `iterations` times computation and a reduction to one rank."""

    algorithm: Reduce = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size of the whole vector, e.g. "1 MB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    element: Bytes | None = None
    """Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else
    "1 B".
    """

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

    root: Annotated[int, Field(ge=0)] = 0
    """The rank that gets the result."""

Allreduce = Literal["auto", "recursive-doubling", "reduce-scatter-allgather", "ring", "segmented-ring", "reduce-broadcast", "bine-latency", "bine-bandwidth", "bine-segmented", "offload", "switches"]
"""The algorithm of all-reduces.

`auto`: The library's choice.

`recursive-doubling`: Whole vectors over distances 1, 2, 4, ...

`reduce-scatter-allgather`: Halves, quarters, ... reduced, then gathered back (Rabenseifner).

`ring`: One block per rank twice around a ring; like `auto` with fewer elements than ranks.

`segmented-ring`: Like `ring`, summed segment by segment.

`reduce-broadcast`: Reduce to rank 0 and broadcast, along binomial trees.

`bine-latency`: Whole vectors along a bine butterfly; like `auto` if the number of ranks is not a power of
two.

`bine-bandwidth`: Reduce-scatter and all-gather along bine butterflies; like `auto` if the number of ranks
is not a power of two.

`bine-segmented`: Like `bine-bandwidth`, with segments in the reduce-scatter.

`offload`: Up a tree of network interfaces and down again (`mpi.offload`).

`switches`: In the routers between the ranks (`network.reduction`).
"""


class AllreduceWorkload(Table):
    """All-reduces: `iterations` times computation and an all-reduce, as in data-parallel training."""

    algorithm: Allreduce = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size of the whole vector, e.g. "1 GB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    element: Bytes | None = None
    """Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else
    "1 B".
    """

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

Gather = Literal["auto", "binomial", "linear", "linear-sync", "bine-latency"]
"""The algorithm of gathers.

`auto`: The library's choice.

`binomial`: A binomial tree.

`linear`: From all to the root directly, one after the other.

`linear-sync`: The root requests a first segment and the rest from one rank after the other.

`bine-latency`: Along a bine tree; like `auto` if the number of ranks is not a power of two.
"""


class GatherWorkload(Table):
    """Gathers: `iterations` times computation and a gather."""

    algorithm: Gather = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size given by each rank, e.g. "64 KiB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

    root: Annotated[int, Field(ge=0)] = 0
    """The rank that gets the data."""

Scatter = Literal["auto", "binomial", "linear", "bine-latency"]
"""The algorithm of scatters.

`auto`: The library's choice.

`binomial`: A binomial tree.

`linear`: From the root to all directly, one after the other.

`bine-latency`: Along a bine tree; like `auto` if the number of ranks is not a power of two.
"""


class ScatterWorkload(Table):
    """Scatters: `iterations` times computation and a scatter."""

    algorithm: Scatter = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size received by each rank, e.g. "64 KiB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

    root: Annotated[int, Field(ge=0)] = 0
    """The rank with the data."""

Allgather = Literal["auto", "recursive-doubling", "bruck", "ring", "neighbor-exchange", "linear", "sparbit", "bine-permute", "bine-send", "bine-block-by-block", "bine-two-blocks"]
"""The algorithm of all-gathers.

`auto`: The library's choice.

`recursive-doubling`: Over distances 1, 2, 4, ...; like `auto` if the number of ranks is not a power of
two.

`bruck`: Each round doubles the blocks, from the following ranks.

`ring`: Block by block around a ring.

`neighbor-exchange`: Neighbors swap two blocks at a time; like `auto` for an odd number of ranks.

`linear`: All messages posted at once.

`sparbit`: Over distances p/2, ..., 2, 1, one message per block; like `auto` if the number of ranks is not
a power of two.

`bine-permute`: A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a
power of two.

`bine-send`: A bine butterfly, ranks renumbered by one exchange; like `auto` if the number of ranks is not
a power of two.

`bine-block-by-block`: A bine butterfly, one message per block; like `auto` if the number of ranks is not
a power of two.

`bine-two-blocks`: A bine butterfly over growing distances, one or two messages per step; like `auto` if
the number of ranks is not a power of two.
"""


class AllgatherWorkload(Table):
    """All-gathers: `iterations` times computation and an all-gather."""

    algorithm: Allgather = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size given by each rank, e.g. "64 KiB"; the result has this size times the number of ranks. Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

ReduceScatter = Literal["auto", "recursive-halving", "pairwise", "ring", "recursive-doubling", "reduce-then-scatter", "bine-permute", "bine-send"]
"""The algorithm of reduce-scatters.

`auto`: The library's choice.

`recursive-halving`: Halves, quarters, ... are exchanged and reduced.

`pairwise`: Every rank sends each other rank its block, one after the other.

`ring`: Block by block around a ring.

`recursive-doubling`: All blocks still needed over distances 1, 2, 4, ...; like `auto` if the number of
ranks is not a power of two.

`reduce-then-scatter`: Reduce to rank 0, then scatter.

`bine-permute`: A bine butterfly, blocks reordered by copies; like `auto` if the number of ranks is not a
power of two.

`bine-send`: A bine butterfly, then each block goes to its rank; like `auto` if the number of ranks is not
a power of two.
"""


class ReduceScatterWorkload(Table):
    """Reduce-scatters: `iterations` times computation and a reduce-scatter of equal blocks."""

    algorithm: ReduceScatter = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Share of the result for each rank, e.g. "64 KiB"; the vector has this size times the number of ranks.
    Required.
    """

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    element: Bytes | None = None
    """Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides a share, else "1
    B".
    """

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

Scan = Literal["auto", "recursive-doubling", "linear"]
"""The algorithm of scans, inclusive and exclusive.

`auto`: The library's choice.

`recursive-doubling`: Whole vectors over distances 1, 2, 4, ...

`linear`: From one rank to the next.
"""


class ScanWorkload(Table):
    """Inclusive scans: `iterations` times computation and a scan."""

    algorithm: Scan = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size of the whole vector, e.g. "1 KiB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    element: Bytes | None = None
    """Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else
    "1 B".
    """

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""


class ExscanWorkload(Table):
    """Exclusive scans: `iterations` times computation and a scan."""

    algorithm: Scan = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size of the whole vector, e.g. "1 KiB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    element: Bytes | None = None
    """Size of an element, which is never split, e.g. "4 B". Default: "8 B" if that divides the vector, else
    "1 B".
    """

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

Alltoall = Literal["auto", "bruck", "pairwise", "pairwise-exchange", "linear", "scattered", "bine-permute"]
"""The algorithm of all-to-alls of equal blocks.

`auto`: The library's choice.

`bruck`: Blocks move by the powers of two in their distance.

`pairwise`: To rank + i and from rank - i, one i after the other.

`pairwise-exchange`: With rank xor i, one i after the other; like `auto` if the number of ranks is not a
power of two.

`linear`: All messages posted at once.

`scattered`: `window` sends and receives posted at once and waited for.

`bine-permute`: A bine butterfly, half of the blocks per step, reordered by copies; like `auto` if the
number of ranks is not a power of two.
"""


class AlltoallWorkload(Table):
    """All-to-alls of equal blocks: `iterations` times computation and an all-to-all. Ranks wait for their
    messages, unlike the synthetic traffic `all-to-all`.
    """

    algorithm: Alltoall = "auto"
    """Algorithm. "auto": the choice of `mpi.collectives`, whose segment and window apply to every algorithm."""

    bytes: Bytes | None = None
    """Size given by each rank to each rank, e.g. "4 KiB". Required."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 10
    """How often."""

    overlap: bool = False
    """Whether the call is non-blocking and the ranks compute before they wait for it."""

NcclAlgorithm = Literal["ring", "tree", "nvls", "collnet", "pat", "auto"]
"""The algorithm of a collective.

`ring`: A ring of all ranks.

`tree`: Two binary trees over the hosts per channel, through chains of the GPUs of a host.

`nvls`: Sums in the switches of each host, and two binary trees per channel between hosts on each rail.

`collnet`: Sums in the switches of each host, and in those between hosts (SHARP), on each rail.

`pat`: Parallel aggregated trees (PAT) of all-gathers and reduce-scatters with one GPU per host: a
logarithm of steps where the blocks of many ranks fit into a chunk.

`auto`: NCCL's choice of rings, trees, switches of hosts and PAT, by its estimate of the time. Latencies
are NCCL's as well.
"""

Bandwidth = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(B/s|kB/s|KiB/s|MB/s|MiB/s|GB/s|GiB/s|TB/s|TiB/s|Mbit/s|Gbit/s|Tbit/s|flits?/cycle)\s*$")]
"""A bandwidth: a number and a size per second (B/s, kB/s, MiB/s, GB/s, GiB/s, ...), or Mbit/s, Gbit/s,
Tbit/s; with network.clock also flits/cycle.
"""

NcclCollective = Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast"]
"""The collective of NCCL.

`all-reduce`: `ncclAllReduce`.

`all-gather`: `ncclAllGather`.

`reduce-scatter`: `ncclReduceScatter`.

`broadcast`: `ncclBroadcast`, from rank 0.
"""

NcclProtocol = Literal["simple", "ll", "ll128", "auto"]
"""The protocol that signals the arrival of data.

`simple`: Chunks, each followed by a fence: full bandwidth, highest latency.

`ll`: A flag of 4 B for every 4 B of data: half of the bandwidth, lowest latency.

`ll128`: A flag of 8 B for every 120 B of data. Needs links that keep 128 B together, like NVLink.

`auto`: NCCL's choice, by its estimate of the time. Latencies are NCCL's as well.
"""

PerByte = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(ps/B|ns/B|[uµμ]s/B)\s*$")]
"""A time per byte: a number and one of ps/B, ns/B, us/B."""


class NcclWorkload(Table):
    """A collective of NCCL: `iterations` times computation and the collective, by rings or trees on several
    channels.
    """

    algorithm: NcclAlgorithm = "ring"
    """Algorithm: all-reduces have all but "pat", all-gathers and reduce-scatters "ring" and "pat",
    broadcasts "ring".
    """

    bytes: Bytes | None = None
    """Data size as counted by nccl-tests, e.g. "1 GiB": the vector of an all-reduce or a broadcast, all
    blocks of an all-gather or a reduce-scatter. Required.
    """

    channel_bandwidth: Bandwidth | None = None
    """Highest rate of a channel of a ring, which a thread block copies. Default: none; if NCCL chooses, an
    equal part of the links of a host.
    """

    channels: Annotated[int, Field(ge=1, le=64)] = 8
    """Maximum number of channels, 1 to 64; fewer if a channel would have less than 32 KiB, NCCL's minimum
    for 512 threads with 64 B each.
    """

    chunk: Bytes | None = None
    """Maximum data of a step on each channel. Default: by protocol, "2 MiB", LL "16 KiB", LL128 "576 kB"."""

    collective: NcclCollective = "all-reduce"
    """Which collective."""

    compute: Time = "0 s"
    """Computation of each rank before each call, e.g. "50 ms"."""

    gpus_per_host: Annotated[int, Field(ge=1)] = 8
    """GPUs (consecutive ranks) of a host: rings visit all GPUs of a host before they leave it. The ranks
    must fill their hosts, unless they are on one.
    """

    iterations: Annotated[int, Field(ge=0)] = 1
    """How often."""

    launch: Time | None = None
    """Base time of a call, before its first step. Default: by protocol, "8.4 us", LL "3.6 us", LL128 "10
    us"; by switches (`algorithm = "nvls"`) "13 us".
    """

    network_bandwidth: Bandwidth = "50 GB/s"
    """Rate of the network interface of each GPU that NCCL assumes for its choice."""

    network_latency: Time = "0 s"
    """Latency of the network that NCCL assumes for its choice, as the network's plugin states it, e.g. "35
    us" for EFA of AWS. The simulated steps have that of the machine's links.
    """

    nvlink_bandwidth: Bandwidth = "370.8 GB/s"
    """Rate of a GPU's NVLinks in each direction that NCCL assumes for its choice. Default: 18 links of 20.6
    GB/s.
    """

    nvls_efficiency: Annotated[float, Field(le=1)] | None = None
    """Part of the rate of the links that sums in switches reach, above 0, at most 1. Default: 1; if NCCL
    chooses, its value for Hopper, 0.85.
    """

    protocol: NcclProtocol = "simple"
    """The protocol that signals the arrival of data."""

    reduction: PerByte = "0.9 ps/B"
    """Time of the reduction per byte. Default: two reads and a write at the 3.35 TB/s of an H100."""

    step_latency: Time | None = None
    """Time of a step in addition to its transfer. Default: by protocol, "6 us", LL "1 us", LL128 "2 us"; if
    NCCL chooses, NCCL's latency of NVLink.
    """


class TrainingFailures(Table):
    """Failures after which a training goes back to its last checkpoint."""

    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the gaps. Default: the seed of the scenario."""

    after: list[Annotated[int, Field(ge=0)]] | None = None
    """Executed iterations before each failure, repeated ones included, in ascending order, e.g. [4, 11]. The
    last of them is lost.
    """

    iteration: Time | None = None
    """Time of an iteration that `mtbf_hours` assumes, e.g. "5 s"."""

    mean: float | None = None
    """Mean number of executed iterations between failures, in place of `after`: gaps are exponential. It is
    the mean time between failures over the time of an iteration.
    """

    mtbf_hours: float | None = None
    """Mean time between failures of one rank in hours, in place of `mean`, which is then that time over the
    ranks and `iteration`. 16,384 GPUs with 419 unexpected interruptions in 54 days have 50,700 hours (A.
    Grattafiori et al., "The Llama 3 herd of models", 2024).
    """

    restart: Time = "0 s"
    """Time from a failure to the reading of the checkpoint."""

TrainingGradients = Literal["all-reduce", "sharded"]
"""The reduction of gradients.

`all-reduce`: An all-reduce.

`sharded`: A reduce-scatter, and an all-gather of the parameters (ZeRO, stages 1 and 2).
"""

TrainingModel = Literal["gpt3-175b", "llama-2-7b", "llama-3-8b", "llama-3-70b", "llama-3-405b", "mixtral-8x7b", "deepseek-v3"]
"""A model with published sizes.

`gpt3-175b`: GPT-3 with 175 billion parameters (T. Brown et al., "Language models are few-shot learners",
2020, table 2.1).

`llama-2-7b`: Llama 2 with 7 billion parameters (H. Touvron et al., "Llama 2", 2023, table 1; inner size
and vocabulary of its published weights).

`llama-3-8b`: Llama 3 with 8 billion parameters ("The Llama 3 herd of models", 2024, table 3).

`llama-3-70b`: Llama 3 with 70 billion parameters (ibid.).

`llama-3-405b`: Llama 3 with 405 billion parameters (ibid.).

`mixtral-8x7b`: Mixtral, 8 experts of which 2 are active (A. Jiang et al., "Mixtral of experts", 2024,
table 1).

`deepseek-v3`: DeepSeek-V3, 671 billion parameters: 256 experts of which 8 are active, a shared one, and 3
dense layers (DeepSeek-AI, "DeepSeek-V3 technical report", 2024, section 4.2).
"""

PipelineSchedule = Literal["1f1b", "gpipe"]
"""The order of micro-batch passes in a stage.

`1f1b`: Alternating forward and backward (PipeDream-Flush).

`gpipe`: All forward, then all backward (GPipe).
"""


class TrainingStraggler(Table):
    """A rank that computes more slowly than the others."""

    rank: Annotated[int, Field(ge=0)]
    """The rank."""

    slowdown: float
    """Its computation times over those of the others, 1 to 1000."""


class TrainingWorkload(Table):
    """Training of a transformer with data, tensor, pipeline and expert parallelism: the job has `tensor` x
    `data` x `pipeline` ranks, each a GPU. Missing sizes are those of `model`.
    """

    active: Annotated[int, Field(ge=0)] | None = None
    """Active experts per token. Default: those of the model, else 1."""

    checkpoint: Bytes = "14 B"
    """Checkpoint size per parameter. Default: "14 B", bfloat16 and Adam's three numbers of 4 B."""

    checkpoint_interval: Annotated[int, Field(ge=0)] = 0
    """Iterations between checkpoints; 0: none."""

    data: Annotated[int, Field(ge=0)] | None = None
    """Data parallel ranks. Default: the ranks of the job / (tensor x pipeline)."""

    dense_inner: Annotated[int, Field(ge=0)] | None = None
    """Inner size of their MLP. Default: that of the model, else `inner`."""

    dense_layers: Annotated[int, Field(ge=0)] | None = None
    """First layers with one MLP instead of experts. Default: those of the model, else 0."""

    element: Bytes = "2 B"
    """Size of an element of activations and gradients, e.g. "2 B" for bfloat16."""

    expert: Annotated[int, Field(ge=1)] = 1
    """Expert-parallel ranks, which are among the data-parallel ranks: a divisor of these, and of the
    experts.
    """

    experts: Annotated[int, Field(ge=0)] | None = None
    """Experts of a layer; 1: a plain MLP. Default: those of the model, else 1."""

    failures: TrainingFailures | None = None
    """Failures, each of which makes the job go back to its last checkpoint, e.g. { after = [7], restart =
    "60 s" } or { mean = 200.0 }. Default: none.
    """

    flops: float = 400000000000000.0
    """Sustained floating-point operations of a GPU per second. Default: 400e12, the sustained rate of an
    H100 in the training of Llama 3 405B on 16,384 of them (table 4 of that paper).
    """

    gradients: TrainingGradients = "all-reduce"
    """Reduction of gradients."""

    heads: Annotated[int, Field(ge=0)] | None = None
    """Heads of attention. Default: those of the model, else hidden size / 128, at least 1."""

    hidden: Annotated[int, Field(ge=0)] | None = None
    """Hidden size: elements of a token between layers."""

    inner: Annotated[int, Field(ge=0)] | None = None
    """Inner size of a multi-layer perceptron (MLP). Default: that of the model, else 4 times the hidden
    size.
    """

    interleave: Annotated[int, Field(ge=1)] = 1
    """Groups of layers in a stage, which are virtual stages (interleaved 1F1B, as `--num-layers-per-virtual-
    pipeline-stage` of Megatron-LM). More than one needs several stages, the schedule "1f1b", and micro-
    batches that the stages divide.
    """

    iterations: Annotated[int, Field(ge=0)] = 1
    """How often."""

    kv_heads: Annotated[int, Field(ge=0)] | None = None
    """Heads with separate keys and values. Default: those of the model, else all."""

    layers: Annotated[int, Field(ge=0)] | None = None
    """Layers."""

    matrices: Annotated[int, Field(ge=0)] | None = None
    """Matrices of an MLP, 2 or 3 (3 for a gated one). Default: that of the model, else 2."""

    micro_batch: Annotated[int, Field(ge=1)] = 1
    """Sequences of a micro-batch."""

    micro_batches: Annotated[int, Field(ge=1)] = 1
    """Micro-batches of an iteration, on each data parallel rank."""

    model: TrainingModel | None = None
    """A model with published sizes. Default: none, and all sizes are required."""

    nccl: NcclWorkload | None = None
    """All-reduces, reduce-scatters and all-gathers by NCCL's channels and algorithms, with the keys of the
    workload `nccl` except `collective`, `bytes`, `iterations` and `compute`; {} has their defaults.
    `algorithm` is that of all-reduces, "pat" that of the others; hosts must have equal parts of each
    group. Default: one ring of messages.
    """

    overlap_gradients: bool = False
    """Whether the gradients of a layer are reduced while the last backward pass computes the layers before
    it.
    """

    peak_flops: float = 989000000000000.0
    """Highest floating-point operations of a GPU per second, for the MFU in results. Default: 989e12, dense
    bfloat16 of an H100 SXM (NVIDIA's data sheet).
    """

    pipeline: Annotated[int, Field(ge=1)] = 1
    """Pipeline stages, at most one per layer. If they do not divide the layers, the first stages have one
    more.
    """

    recompute: bool = False
    """Whether a backward pass repeats the forward computation, because activations were not kept."""

    sample: Bytes = "0 B"
    """Size of a sequence in its file. "0 B": nothing is read."""

    schedule: PipelineSchedule = "1f1b"
    """Order of micro-batches in a stage."""

    sequence: Annotated[int, Field(ge=0)] | None = None
    """Tokens of a sequence. Default: those of the model, else 2,048."""

    shared_experts: Annotated[int, Field(ge=0)] | None = None
    """Experts that see every token, beside these. Default: those of the model, else 0."""

    straggler: TrainingStraggler | None = None
    """A rank that computes more slowly than the others, e.g. { rank = 5, slowdown = 1.2 }."""

    tensor: Annotated[int, Field(ge=1)] = 1
    """Tensor parallel ranks."""

    vocabulary: Annotated[int, Field(ge=0)] | None = None
    """Words of the vocabulary. Default: those of the model, else 50,257."""

KvTransfer = Literal["whole", "layerwise"]
"""When keys and values go from prefill to decode.

`whole`: After the last layer, in one message.

`layerwise`: Those of each layer as soon as it is computed.
"""


class InferenceWorkload(Table):
    """Inference of a transformer with prefill and decode on separate GPUs: the job has `prefill` x
    `prefill_tensor` + `decode` x `decode_tensor` ranks, each a GPU.
    """

    batch: Annotated[int, Field(ge=1)] = 8
    """Requests decoded together."""

    decode: Annotated[int, Field(ge=1)] = 1
    """Decode instances."""

    decode_tensor: Annotated[int, Field(ge=0)] | None = None
    """Tensor parallel ranks of a decode instance; a divisor or a multiple of `prefill_tensor`. Default: as
    many.
    """

    element: Bytes = "2 B"
    """Size of an element of weights, activations, keys and values, e.g. "2 B" for bfloat16."""

    flops: float = 400000000000000.0
    """Sustained floating-point operations of a GPU per second."""

    interval: Time = "0 s"
    """Time between their arrivals, e.g. "50 ms". "0 s": all arrive at the start."""

    kv_transfer: KvTransfer = "whole"
    """When keys and values go from prefill to decode."""

    layers: Annotated[int, Field(ge=0)] | None = None
    """Layers. Default: those of the model."""

    memory_bandwidth: Bandwidth = "3.35 TB/s"
    """Rate at which a GPU reads its memory. Default: 3.35 TB/s, that of an H100 SXM (NVIDIA's data sheet)."""

    model: TrainingModel | None = None
    """The model. Required."""

    output: Annotated[int, Field(ge=1)] = 128
    """Tokens of an answer."""

    prefill: Annotated[int, Field(ge=1)] = 1
    """Prefill instances."""

    prefill_tensor: Annotated[int, Field(ge=1)] = 1
    """Tensor parallel ranks of a prefill instance."""

    prompt: Annotated[int, Field(ge=1)] = 2048
    """Tokens of a prompt."""

    requests: Annotated[int, Field(ge=1)] = 16
    """Requests."""


class ComputeWorkload(Table):
    """Computation only. In a list of workloads: a pause, a delayed start, a phase of an application."""

    iterations: Annotated[int, Field(ge=0)] = 1
    """How often."""

    time: Time = "1 ms"
    """Duration of each computation."""

Pairs = Literal["0-1", "neighbors", "halves"]
"""The pairs of ranks.

`0-1`: Rank 0 with rank 1; the other ranks are idle.

`neighbors`: Rank 0 with 1, 2 with 3, 4 with 5, ...

`halves`: Rank r with r + ranks/2, across the middle of the job: with a contiguous placement every pair
crosses the bisection.
"""


class PingPong(Table):
    """Ping-pong of pairs of ranks: `iterations` round trips for each size. The time of an iteration is that
    of a round trip.
    """

    bytes: Bytes | list[Bytes] = "8 B"
    """Size of the messages, or a list of sizes used in turn, e.g. ["0 B", "1 KiB", "64 KiB"]."""

    compute: Time = "0 s"
    """Computation of both ranks before each round trip, e.g. "1 ms"."""

    iterations: Annotated[int, Field(ge=0)] = 100
    """Round trips of each size."""

    pairs: Pairs = "0-1"
    """The pairs of ranks; a rank without a partner is idle."""

IorApi = Literal["POSIX", "MPIIO"]
"""The interface used by IOR.

`POSIX`: Each task reads and writes independently.

`MPIIO`: Like POSIX; collective calls are possible.
"""


class IorParameters(Table):
    """IOR with its own parameter names. The defaults are IOR's."""

    api: IorApi = "POSIX"
    """Interface (-a): "POSIX" or "MPIIO"."""

    blockSize: Bytes = "1 MiB"
    """Contiguous bytes of a task in a segment (-b), a multiple of the transfer."""

    cbBufferSize: Bytes = "16 MiB"
    """Buffer of each of these ranks (ROMIO's hint cb_buffer_size)."""

    cbNodes: Annotated[int, Field(ge=1)] | None = None
    """Ranks that access the file in collective transfers (ROMIO's hint cb_nodes), spread evenly. Default:
    one per node.
    """

    checkRead: bool = False
    """Whether read data is compared (-R); the comparison takes no time, so it is a read."""

    checkWrite: bool = False
    """Whether written data is read again and compared (-W); takes time, but is not reported."""

    collective: bool = False
    """Collective transfers (-c), with api = "MPIIO"."""

    deadlineForStonewalling: Time = "0 s"
    """Each task begins no transfer this long after its first one (-D); "0 s": no deadline. A read after a
    write of the same test is limited to the written data.
    """

    filePerProc: bool = False
    """A file for each task (-F), N-N; otherwise all tasks share one, N-1."""

    fsync: bool = False
    """Whether writing ends with fsync (-e)."""

    fsyncPerWrite: bool = False
    """Whether each write ends with fsync (-Y)."""

    interTestDelay: Time = "0 s"
    """Pause before each access (-d)."""

    intraTestBarriers: bool = False
    """Barriers between open, access and close (-g)."""

    keepFile: bool = False
    """Whether files are kept (-k). Otherwise they are removed at the end of each repetition, after all timed
    parts.
    """

    multiFile: bool = False
    """Whether each repetition has separate files (-m); otherwise it overwrites those of the previous one."""

    numTasks: Annotated[int, Field(ge=0)] | None = None
    """Tasks (-N). Default, and the only possible value: the ranks of the job."""

    randomOffset: bool = False
    """Transfers in random order (-z): within a task's file, or over all tasks in a shared file."""

    randomSeed: Annotated[int, Field(ge=0)] | None = None
    """Seed of random offsets. Default: the seed of the scenario."""

    readFile: bool | None = None
    """Whether it reads (-r)."""

    reorderTasks: bool = False
    """Tasks read the data of a task taskPerNodeOffset nodes further on (-C)."""

    reorderTasksRandom: bool = False
    """Each task reads the data of a random task (-Z), at least taskPerNodeOffset nodes away."""

    reorderTasksRandomSeed: int = 0
    """Seed of the random tasks (-X); below 0, repetitions differ."""

    repetitions: Annotated[int, Field(ge=1)] = 1
    """Number of repetitions (-i), at least 1."""

    segmentCount: Annotated[int, Field(ge=1)] = 1
    """Number of segments (-s), at least 1."""

    stoneWallingStatusFile: str = ""
    """File in which a write with stoneWallingWearOut stores the number of transfers of a task, which limits
    later reads with the same name (-O stoneWallingStatusFile): for tests of one list, with keepFile.
    """

    stoneWallingWearOut: bool = False
    """Whether, after the deadline, all tasks continue up to the largest number of transfers of any task (-O
    stoneWallingWearOut=1).
    """

    stoneWallingWearOutIterations: Annotated[int, Field(ge=0)] = 0
    """Number of transfers after which a task stops (-O stoneWallingWearOutIterations); 0: no limit."""

    taskPerNodeOffset: Annotated[int, Field(ge=0)] = 1
    """Offset in nodes (-Q)."""

    tasksPerNode: Annotated[int, Field(ge=1)] | None = None
    """Tasks of a node. Default: the ranks of the job on a node."""

    testFile: str = "testFile"
    """Name of the files (-o): tests of a list with the same name access the same files."""

    transferSize: Bytes = "256 KiB"
    """Size of one read or write (-t), e.g. "1 MiB"."""

    useExistingTestFile: bool = False
    """Whether files left by the previous repetition (keepFile, without multiFile) are overwritten (-E);
    otherwise they are removed before the write.
    """

    writeFile: bool | None = None
    """Whether it writes (-w). Default: if neither it nor readFile, checkWrite and checkRead are given, both
    write and read.
    """

Ior = str | IorParameters


OptimumInterval = Literal["first-order", "higher-order"]
"""The formula for the interval.

`first-order`: Young's and Daly's first order: sqrt(2 delta M) - delta.

`higher-order`: Daly's higher order, valid up to delta = 2 M.
"""


class CheckpointRestart(Table):
    """A job that writes checkpoints, fails and restarts from the last one, until its work is done."""

    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the failures. Default: the seed of the scenario."""

    checkpoint_time: Time | None = None
    """Time of a checkpoint in that formula. Default: measured on a checkpoint that the job writes before it
    begins to compute.
    """

    file: CheckpointFile = "per-rank"
    """Whether all ranks write to one file, or each to its own."""

    fsync: bool = False
    """Whether a checkpoint is complete only when every rank has synchronized its file (`fsync`), and it is
    committed (`storage.sync`). Default: false.
    """

    interval: Time | None = None
    """Computation between two checkpoints. Default: the optimum."""

    most_failures: Annotated[int, Field(ge=0)] = 10000
    """Number of failures after which the job gives up, which is an error of the run."""

    mtti: Time = "86400 s"
    """Mean time to interrupt of the whole job, at least "1 us": gaps between failures are exponential."""

    optimum: OptimumInterval = "higher-order"
    """Daly's formula for the interval, if no interval is given."""

    record: Bytes = "16 MiB"
    """Size of one write or read, at least 1 B; the last one of a rank may be shorter."""

    restart: Time = "0 s"
    """Time from a failure to the reading of the checkpoint: the restart of the job."""

    total: Bytes = "1 TB"
    """Size of one checkpoint of the whole job; every rank has an equal share, rounded down. Two checkpoints
    are kept: if storage servers fail and the last one is lost, a restart reads the previous one.
    """

    work: Time = "3600 s"
    """Computation of each rank up to the solution, without checkpoints and failures."""


class DataLoader(Table):
    """Training that prefetches samples."""

    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the order. Default: the seed of the scenario."""

    batch: Annotated[int, Field(ge=0)] = 8
    """Samples of each rank in a step."""

    compute: Time = "100 ms"
    """Computation of a step, e.g. "100 ms"."""

    epochs: Annotated[int, Field(ge=0)] = 1
    """Number of passes over the data set."""

    files: Annotated[int, Field(ge=0)] = 64
    """Files of the data set, at least 1."""

    gradient: Bytes = "100 MB"
    """Gradient summed over all ranks after the computation; "0 B": none."""

    prefetch: Annotated[int, Field(ge=0)] = 4
    """Batches prefetched ahead of the current step; 0: each step reads its own batch when it begins."""

    readers: Annotated[int, Field(ge=1, le=64)] = 4
    """Readers of a rank, 1 to 64; a node has this number times its ranks."""

    reopen: bool = False
    """Whether a file is opened for each read, and closed after it."""

    sample: Bytes = "128 KiB"
    """Size of a sample, e.g. "128 KiB"."""

    samples_per_file: Annotated[int, Field(ge=0)] = 1024
    """Samples per file; 1: a file per sample."""

    samples_per_read: Annotated[int, Field(ge=0)] = 1
    """Adjacent samples of a file read with one call, and shuffled together. A divisor of samples_per_file
    and of batch.
    """

    shuffle: bool = True
    """Whether samples come in random order."""

    steps: Annotated[int, Field(ge=0)] | None = None
    """Steps of an epoch. Default and maximum: the number of whole batches for all ranks."""

MdtestTest = Literal["create", "stat", "read", "remove"]
"""The calls of mdtest on its items.

`create`: Creates them (-C).

`stat`: Looks them up (-T).

`read`: Opens, reads and closes the files (-E).

`remove`: Removes them (-r).
"""


class MdtestParameters(Table):
    """mdtest with its own parameters. The defaults are mdtest's."""

    branch: Annotated[int, Field(ge=1)] = 1
    """Directories below each directory of the tree (-b), at least 1."""

    depth: Annotated[int, Field(ge=0)] = 0
    """Levels of the tree below its root (-z)."""

    directories_only: bool = False
    """No files as items (-D)."""

    files_only: bool = False
    """No directories as items (-F)."""

    items: Annotated[int, Field(ge=0)] | None = None
    """Files, and directories, of each task (-n), rounded down to a multiple of the directories of the tree.
    Default: `items_per_directory` times those; one of the two is needed.
    """

    items_per_directory: Annotated[int, Field(ge=0)] | None = None
    """Items of each task in each directory (-I), in place of `items`."""

    iterations: Annotated[int, Field(ge=0)] = 1
    """How often (-i)."""

    leaf_only: bool = False
    """Whether items are only on the lowest level of the tree (-L)."""

    no_barriers: bool = False
    """No barriers between the phases (-B)."""

    read_bytes: Bytes = "0 B"
    """Bytes read from each file (-e)."""

    stride: Annotated[int, Field(ge=0)] = 0
    """Distance to the tasks whose items are looked up, read (twice the distance) and removed (three times)
    (-N).
    """

    sync: bool = False
    """Whether each written file is synchronized (-y)."""

    tests: list[MdtestTest] | None = None
    """The tests (-C, -T, -E, -r): "create", "stat", "read", "remove". Default: all."""

    unique_directories: bool = False
    """Whether each task has a separate tree (-u)."""

    write_bytes: Bytes = "0 B"
    """Bytes written to each created file (-w)."""

Mdtest = str | MdtestParameters


Arrival = Literal["fixed", "exponential", "bernoulli", "on-off"]
"""Distribution of the times between the messages of a rank.

`fixed`: All the same.

`exponential`: Exponential: messages arrive as a Poisson process.

`bernoulli`: In every cycle of length `period` with the same probability, at the cycle's start (a
Bernoulli process, as in BookSim).

`on-off`: Like "bernoulli", but only while a Markov chain is on; see `alpha` (the on/off process of
BookSim).
"""


class Uniform(Table):
    """Synthetic uniform random traffic to all other ranks; open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class NextGroup(Table):
    """Synthetic traffic to all ranks of the next group of ranks; the last group sends to the first. Open-
    loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    ranks_per_group: Annotated[int, Field(ge=0)] | None = None
    """Consecutive ranks of a group. Default: the number that fits a group of the machine (with the job's
    ranks_per_node, without storage servers).
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Permutation(Table):
    """Synthetic traffic of each rank to one other, all different; open-loop."""

    seed: Annotated[int, Field(ge=0)] | None = None
    """The seed of the targets, 0 to 2^63 - 1. Default: that of the scenario, different for every job."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """

    targets: list[Annotated[int, Field(ge=0)]] | None = None
    """The target of each rank. Default: drawn from the seed, uniformly from the cyclic permutations, or from
    all permutations if ranks may send to themselves.
    """

Reach = Literal["faces", "box"]
"""The neighbors on a grid of ranks.

`faces`: Ranks across a face: up to 2 per dimension.

`box`: Ranks across a face, an edge or a corner: up to 26 in three dimensions.
"""

Turn = Literal["random", "in-order"]
"""The order of neighbors.

`random`: Random, with equal probability.

`in-order`: One after the other.
"""


class Neighbors(Table):
    """Synthetic traffic to the neighbors on a grid of ranks; open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    dimensions: Annotated[int, Field(ge=0)] | None = None
    """Dimensions of the balanced grid, 1 to 4; ignored if `dims` is given. Default: 3."""

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a
    balanced grid of `dimensions` dimensions.
    """

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    reach: Reach = "faces"
    """The neighbors of a rank."""

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """

    turn: Turn = "random"
    """The order of neighbors."""

    wrap: bool | None = None
    """Whether the grid is a torus; otherwise ranks at its border have fewer neighbors. Default: true."""


class HotSpot(Table):
    """Synthetic traffic with hot spots: a share of it goes uniformly to the targets, the rest uniformly to
    all other ranks. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    share: Annotated[float, Field(ge=0, le=1)] | None = None
    """The probability that a message goes to one of them: above 0, at most 1. Required."""

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """

    targets: list[Annotated[int, Field(ge=0)]] | None = None
    """The hot ranks. Default: [0]."""


class Incast(Table):
    """Synthetic traffic of all other ranks to the targets, which send nothing; open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """

    targets: list[Annotated[int, Field(ge=0)]] | None = None
    """The targets. Default: [0]."""


class AllToAll(Table):
    """Synthetic traffic of each rank to all others in turn, starting with the next one; open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Tornado(Table):
    """Synthetic traffic from coordinate c to c + ceil(k / 2) - 1 modulo k in every dimension, of extent k,
    of a grid. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Ranks along each dimension (1 to 4 of them), the first fastest; their product is `ranks`. Default: a
    ring.
    """

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Transpose(Table):
    """Synthetic traffic from row i, column j of a square of ranks to row j, column i; the diagonal sends
    nothing. Needs a square number of ranks. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class BitComplement(Table):
    """Synthetic traffic to the rank with all bits inverted. Needs a power of two of ranks. Open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class BitReverse(Table):
    """Synthetic traffic to the rank with the bits in reverse order; palindromic ranks send nothing. Needs a
    power of two of ranks. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Shuffle(Table):
    """Synthetic traffic to the rank with the bits rotated left by one; the first and the last rank send
    nothing. Needs a power of two of ranks. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class BitRotation(Table):
    """Synthetic traffic to the rank with the bits rotated right by one; the first and the last rank send
    nothing. Needs a power of two of ranks. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Asymmetric(Table):
    """Synthetic traffic from rank s of n to rank s mod n/2 and to that plus n/2, with equal probability;
    only to the one that is not the rank itself unless `self` is set. Needs an even number of ranks. Open-
    loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Shift(Table):
    """Synthetic traffic from rank s to rank s + by, modulo the ranks; open-loop."""

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    by: Annotated[int, Field(ge=0)] | None = None
    """The distance in ranks; not a multiple of the ranks. Required."""

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """

GridStep = Literal["neighbor", "diagonal", "tornado", "next", "transpose", "complement-reverse"]
"""The destination of a rank at a router with coordinates c of a grid with extents k.

`neighbor`: To c + 1 (modulo k) in every dimension.

`diagonal`: To c + k / 2, rounded down (modulo k), in every dimension: the far end of the diagonal, across
the bisection.

`tornado`: To c + k / 2, rounded up, - 1 (modulo k) in every dimension.

`next`: To c + 1 (modulo k) in the first dimension longer than 1 only.

`transpose`: Coordinates in reverse order, (x, y) to (y, x).

`complement-reverse`: Coordinates complemented and in reverse order, (x, y) to (k - 1 - y, k - 1 - x): DCR
of the HyperX.
"""


class Grid(Table):
    """Synthetic traffic of each rank to the rank of the same position at another router of a grid; open-
    loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Routers along each dimension (1 to 4 of them), the first fastest; with `ranks_per_router`, their
    product is `ranks`. Default: a square.
    """

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    ranks_per_router: Annotated[int, Field(ge=0)] | None = None
    """Consecutive ranks of a router. Default: 1."""

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    step: GridStep | None = None
    """Where to. Required."""

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class BadpermYarc(Table):
    """Synthetic traffic from row i of a square of ranks uniformly to all ranks of column i, as BookSim's
    `badperm_yarc`: bad for minimal routing on a flattened butterfly. Needs a square number of ranks.
    Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Matrix(Table):
    """Synthetic traffic by a matrix of weights; open-loop. Every rank with a weight sends at the same rate;
    its weights give the destinations.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    file: str | None = None
    """A CSV file with a header and the columns source, target (ranks) and weight (at least 0); relative to
    the scenario's folder. Required.
    """

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class WorstCase(Table):
    """Worst-case synthetic traffic for minimal routing on this machine, for a job that fills it in order
    (`placement` is "contiguous"); for other jobs `odonata check` warns. On a dragonfly: to the next
    group. Open-loop.
    """

    alpha: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from off to on; above 0, at
    most 1. Two of `alpha`, `beta` and `r1` are required; the third follows from the rate, which is r1
    alpha / (alpha + beta) messages per cycle.
    """

    arrival: Arrival = "exponential"
    """Distribution of the times between the messages of a rank."""

    beta: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability per cycle that the source goes from on to off; 0 to 1.
    Required if one of the other two is missing.
    """

    bytes: Bytes | None = None
    """Size of a message. Default: one packet."""

    load: Annotated[float, Field(ge=0, le=1)] | None = None
    """Offered load of each rank, as a fraction of the terminal link's bandwidth: above 0, at most 1. With
    one rank per node and a terminal link of "1 flit/cycle" it is flits per node and cycle. This or
    `mean_interval` is required.
    """

    mean_interval: Time | None = None
    """Mean time between the messages of a rank, e.g. "500 us"; required instead of `load`."""

    messages: Annotated[int, Field(ge=1)] | None = None
    """Messages that each rank sends. This, `stop`, the job's `until` or the run's `time_limit` is required."""

    off: Time | None = None
    """Silence between bursts, e.g. "200 us"; together with `on`. Default: no bursts."""

    on: Time | None = None
    """Length of a burst, e.g. "50 us"; together with `off`. Bursts begin with the job, on all ranks at once;
    rates are those within a burst. Default: no bursts.
    """

    period: Time | None = None
    """Length of a cycle, e.g. "1 ns"; with `arrival` "bernoulli" or "on-off". Default: `network.clock`."""

    r1: Annotated[float, Field(ge=0, le=1)] | None = None
    """With `arrival` "on-off": the probability of a message in a cycle that is on; above 0, at most 1.
    Required if one of the other two is missing.
    """

    self_: bool | None = Field(default=None, validation_alias="self", serialization_alias="self")
    """Whether ranks also send to themselves if the pattern says so, and ranks of one node to each other,
    through their router: as in BookSim. Default: false (such messages, if any, use the node's memory).
    """

    stop: Time | None = None
    """Simulated time from which no message starts, even if some of `messages` are left. Default: the run's
    `time_limit`; none with `messages` or `until`.
    """


class Workload(Choice):
    """What a job runs: exactly one of these, with its parameters, e.g. `{ milc = {} }`."""

    milc: Milc | None = None
    """MILC's solver: nearest neighbors in a 4-D torus, small all-reduces."""

    nekbone: Nekbone | None = None
    """Nekbone: 26 neighbors in a 3-D mesh, small all-reduces."""

    checkpoint: Checkpoint | None = None
    """Periodic checkpoints to a common file."""

    cosmoflow: Cosmoflow | None = None
    """Training of CosmoFlow: a file per rank and step, large all-reduces."""

    stencil: Stencil | None = None
    """Halo exchange on a grid of 1 to 4 dimensions."""

    amg: Amg | None = None
    """AMG: V-cycles of an algebraic multigrid solver, nearest neighbors in a 3-D mesh on every level."""

    multigrid: Multigrid | None = None
    """Multigrid: a V-cycle of a geometric multigrid solver on boxes, periodic, with neighbors across the
    diagonal.
    """

    fill_boundary: FillBoundary | None = Field(default=None, validation_alias="fill-boundary", serialization_alias="fill-boundary")
    """FillBoundary: exchange of ghost cells of boxes with 26 neighbors."""

    crystal_router: CrystalRouter | None = Field(default=None, validation_alias="crystal-router", serialization_alias="crystal-router")
    """Crystal router: many-to-many messages by recursive halving."""

    barrier: BarrierWorkload | None = None
    """Repeated barriers."""

    broadcast: BroadcastWorkload | None = None
    """Repeated broadcasts."""

    reduce: ReduceWorkload | None = None
    """Repeated reductions to one rank."""

    allreduce: AllreduceWorkload | None = None
    """Repeated all-reduces."""

    gather: GatherWorkload | None = None
    """Repeated gathers."""

    scatter: ScatterWorkload | None = None
    """Repeated scatters."""

    allgather: AllgatherWorkload | None = None
    """Repeated all-gathers."""

    reduce_scatter: ReduceScatterWorkload | None = Field(default=None, validation_alias="reduce-scatter", serialization_alias="reduce-scatter")
    """Repeated reduce-scatters of equal blocks."""

    scan: ScanWorkload | None = None
    """Repeated inclusive scans."""

    exscan: ExscanWorkload | None = None
    """Repeated exclusive scans."""

    alltoall: AlltoallWorkload | None = None
    """Repeated all-to-alls; "all-to-all" is open-loop traffic."""

    nccl: NcclWorkload | None = None
    """A collective of NCCL: rings or double binary trees on several channels, chunk by chunk."""

    training: TrainingWorkload | None = None
    """Training of a transformer with data, tensor, pipeline and expert parallelism."""

    inference: InferenceWorkload | None = None
    """Inference of a transformer with prefill and decode on separate GPUs."""

    compute: ComputeWorkload | None = None
    """Computation alone."""

    ping_pong: PingPong | None = Field(default=None, validation_alias="ping-pong", serialization_alias="ping-pong")
    """Ping-pong between pairs of ranks."""

    ior: Ior | None = None
    """IOR, the parallel I/O benchmark: its command line, or a table of its parameters."""

    checkpoint_restart: CheckpointRestart | None = Field(default=None, validation_alias="checkpoint-restart", serialization_alias="checkpoint-restart")
    """Checkpoints and restarts of a job with random failures, up to its solution."""

    data_loader: DataLoader | None = Field(default=None, validation_alias="data-loader", serialization_alias="data-loader")
    """Training that prefetches samples: shuffled, with several readers, overlapped with computation and all-
    reduce.
    """

    mdtest: Mdtest | None = None
    """mdtest, the metadata benchmark: its command line, or a table of its parameters."""

    uniform: Uniform | None = None
    """Synthetic traffic: to all other ranks with equal probability."""

    next_group: NextGroup | None = Field(default=None, validation_alias="next-group", serialization_alias="next-group")
    """Synthetic traffic: to all ranks of the next group, the worst case of minimal routing on a dragonfly."""

    permutation: Permutation | None = None
    """Synthetic traffic: each rank to one other."""

    neighbors: Neighbors | None = None
    """Synthetic traffic: to the neighbors on a grid of 1 to 4 dimensions."""

    hot_spot: HotSpot | None = Field(default=None, validation_alias="hot-spot", serialization_alias="hot-spot")
    """Synthetic traffic: a share of it to few ranks, the rest to all others with equal probability."""

    incast: Incast | None = None
    """Synthetic traffic: all to one rank, or to few."""

    all_to_all: AllToAll | None = Field(default=None, validation_alias="all-to-all", serialization_alias="all-to-all")
    """Synthetic traffic: each rank to all others in turn."""

    tornado: Tornado | None = None
    """Synthetic traffic: nearly half-way around every dimension of a grid."""

    transpose: Transpose | None = None
    """Synthetic traffic: rows and columns of a square swapped."""

    bit_complement: BitComplement | None = Field(default=None, validation_alias="bit-complement", serialization_alias="bit-complement")
    """Synthetic traffic: to the rank with all bits inverted."""

    bit_reverse: BitReverse | None = Field(default=None, validation_alias="bit-reverse", serialization_alias="bit-reverse")
    """Synthetic traffic: to the rank with the bits in reverse order."""

    shuffle: Shuffle | None = None
    """Synthetic traffic: to the rank with the bits rotated left by one."""

    bit_rotation: BitRotation | None = Field(default=None, validation_alias="bit-rotation", serialization_alias="bit-rotation")
    """Synthetic traffic: to the rank with the bits rotated right by one."""

    asymmetric: Asymmetric | None = None
    """Synthetic traffic: to the two ranks at the same position in the lower and the upper half."""

    shift: Shift | None = None
    """Synthetic traffic: to the rank at a fixed offset."""

    grid: Grid | None = None
    """Synthetic traffic: to the same position at another router of a grid: neighbor, diagonal, transpose,
    ...
    """

    badperm_yarc: BadpermYarc | None = Field(default=None, validation_alias="badperm-yarc", serialization_alias="badperm-yarc")
    """Synthetic traffic: from the rows of a square to its columns, bad for a flattened butterfly."""

    matrix: Matrix | None = None
    """Synthetic traffic: by a matrix of weights in a file."""

    worst_case: WorstCase | None = Field(default=None, validation_alias="worst-case", serialization_alias="worst-case")
    """Synthetic traffic: the worst for minimal routing on this machine."""


class Job(Table):
    """A job."""

    name: str | None = None
    """Name, different from that of every other job. Default: that of the workload, or "phases"."""

    ranks: Annotated[int, Field(ge=1, le=16777216)] | None = None
    """Number of ranks, 1 to 16,777,216. Required, except for a trace, which defines its own number."""

    args: list[str] | dict[str, Any] | None = None
    """Command-line arguments of a coNCePTuaL program, e.g. ["--reps", "5"], or arguments of a Python
    function, e.g. { rounds = 5 }. Default: none.
    """

    compute_scale: float | None = None
    """For a trace: the factor by which its compute times are multiplied, 0 to 1,000,000. Default: 1."""

    count: Annotated[int, Field(ge=1, le=30000)] | None = None
    """Makes an array of this many jobs, named NAME-0, NAME-1, ...; each gets its own nodes. Default: one
    job, NAME.
    """

    fidelity: Fidelity | None = None
    """How the job's messages are simulated. Packets of some jobs and flows of others compete for the
    bandwidth of links; messages of the analytic model do not affect other messages. Default:
    `network.fidelity`.
    """

    ignore_unknown_backend: bool | None = None
    """For a coNCePTuaL program: whether text for an unknown back end (BACKEND EXECUTES) is skipped with a
    warning instead of being refused. Default: false.
    """

    incomplete_trace: bool = False
    """For a trace: replay incomplete files as far as they go, e.g. those of a program that crashed. Default:
    false, such a trace is refused.
    """

    io: JobFiles | None = None
    """The job's files: their location, sharing with other jobs, and when writes complete."""

    io_weight: Annotated[float, Field(ge=0.001, le=1000)] | None = None
    """Weight of the job at storage servers that are shared by weight (`storage.manager.sharing =
    "weighted"`), 0.001 to 1,000. Default: 1.
    """

    placement: Placement | None = None
    """Which nodes the job gets. Jobs that list their nodes get them first; the others follow in the order of
    the file. Default: "contiguous".
    """

    program: str | None = None
    """A coNCePTuaL program, instead of a workload: its file, relative to the scenario's folder."""

    python: Callable[..., Any] | str | None = None
    """A Python generator function that yields the operations of a rank: "FILE.py:FUNCTION", the file
    relative to the scenario's folder. Loading a scenario runs the file.
    """

    ranks_per_node: Annotated[int, Field(ge=1)] = 1
    """Ranks on one node; rank r is on the job's node number r / ranks_per_node. Default: 1."""

    repeat: Annotated[int, Field(ge=1)] = 1
    """How often each rank runs the workload, one run after the other. Default: 1."""

    stagger: Time | None = None
    """Delay between the starts of consecutive jobs of the array, e.g. "1 ms". Default: "0 s"."""

    start: JobStart = "0 s"
    """Simulated time at which the job starts; with `start_after`, the delay after the last message that
    reports an end has arrived. A table such as `{ at = "1 ms", jitter = "10 us" }` draws the start from
    the seed, uniformly between `at` and `at` + `jitter`; each job of an array draws its own. Default: "0
    s".
    """

    start_after: str | list[str] | None = None
    """Name of one or more jobs that must end before this one starts; the name of an array means all of its
    jobs. Their ends are reported by messages over the network. Default: none.
    """

    trace: str | None = None
    """A recorded or written program to replay: the file or folder of a trace, in any format that `odonata
    trace info` reads, or a program folder (NAME.program); relative to the scenario's folder.
    """

    traffic_class: JobClasses | None = None
    """The traffic classes of the job's messages, by name. Default: the first of `network.traffic_classes`."""

    until: str | list[str] | None = None
    """For synthetic traffic: name of one or more jobs; the traffic stops when messages have reported that
    all of them ended. Default: none.
    """

    workload: Workload | list[Workload] | None = None
    """What the job runs: a workload, or a list of workloads to run one after the other (phases, which must
    not include synthetic traffic). Exactly one of `workload`, `program`, `python` and `trace` is
    required.
    """


class DegradedLink(Table):
    """A cable between two routers with reduced bandwidth."""

    routers: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
    """The two routers, numbered over the machine."""

    factor: Annotated[float, Field(ge=0, le=1)]
    """Its bandwidth relative to its class: above 0, at most 1."""

    index: Annotated[int, Field(ge=0)] | None = None
    """The index of the cable among those between the routers, from 0, in the order of the first router's
    ports. Default: all of them.
    """

Arrangement = Literal["absolute", "relative", "circulant"]
"""The assignment of a group's global ports to the other groups of a dragonfly.

`absolute`: By the other group's number (Hastings et al., CLUSTER 2015).

`relative`: By distance: global port `k = h i + p` of group `g` leads to group `(g + k + 1) mod G`. The
rule of the MFNetSim runs.

`circulant`: By alternating distance: one group forward, one back, two forward, two back, and so on
(Hastings et al.).
"""

Cables = Literal["all"] | Annotated[int, Field(ge=1)]



class OtherGroups(Table):
    """Groups that differ from the first ones; the last groups of the machine."""

    groups: Annotated[int, Field(ge=1)]
    """Number of these groups, part of `groups`."""

    cables: Annotated[int, Field(ge=1)] | None = None
    """Cables between each pair of these groups. Default: `cables`."""

    cables_to: list[Annotated[int, Field(ge=0)]] | None = None
    """Cables between one of these groups and each group before: one number for the first groups, then one
    for each earlier entry of the list. Default: `cables` for all.
    """

    nodes: Annotated[int, Field(ge=1)] | None = None
    """Nodes per router with nodes. Default: as in the first groups."""


class Dragonfly(Table):
    """A dragonfly with one-dimensional groups (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008). Balanced:
    routers_per_group = 2 nodes_per_router = 2 global_ports_per_router. The four sizes are required, here
    or in the preset.
    """

    arrangement: Arrangement = "relative"
    """Assignment of a group's global ports to the other groups."""

    cables: Cables = "all"
    """Cables between each pair of groups: a number, or "all" for as many as the ports allow (equal for all
    pairs).
    """

    global_cables: str | None = None
    """A CSV file of all global cables, with the columns a and b: the numbers of two routers; relative to the
    scenario's folder. `arrangement`, `cables` and `other_groups` have no effect then. Default: by
    `arrangement`.
    """

    global_ports_per_router: Annotated[int, Field(ge=0)] | None = None
    """Global ports per router, h. Required."""

    groups: Annotated[int, Field(ge=1)] | None = None
    """Number of groups, g; at most routers_per_group x global_ports_per_router + 1. Required."""

    nodes_per_router: Annotated[int, Field(ge=1)] | None = None
    """Nodes per router, p: compute nodes and storage servers together. Required."""

    other_groups: list[OtherGroups] | None = None
    """Kinds of groups with other numbers of nodes or cables; `cables` must be a number then. They are the
    last groups, in the order of the list. Default: none.
    """

    routers_per_group: Annotated[int, Field(ge=1)] | None = None
    """Routers per group, a. Required."""


class RouterException(Table):
    """A router of every group with an exceptional number of nodes."""

    router: Annotated[int, Field(ge=0)]
    """Its number in the group, from 0."""

    nodes: Annotated[int, Field(ge=0)]
    """Its number of nodes; may be 0."""


class Dragonfly2d(Table):
    """A dragonfly with two-dimensional groups: Cray XC (G. Faanes et al., "Cray Cascade", SC 2012). A row is
    a chassis with cables of class local; cables of a column are of class column. A group of a Cray XC has
    6 rows of 16 routers and 3 cables between each pair of routers of a column. Router i of a group is at
    row i / columns, column i mod columns. The three sizes without a default are required, here or in the
    preset.
    """

    arrangement: Arrangement = "relative"
    """Assignment of a group's global ports to the other groups."""

    bundle: Annotated[int, Field(ge=1)] = 1
    """Cables of a bundle, which use adjacent ports at both ends; divides `cables`."""

    cables: Cables = "all"
    """Cables between each pair of groups: a number, or "all" for as many whole bundles as the ports allow."""

    column_cables: Annotated[int, Field(ge=1)] = 3
    """Parallel cables between two routers of a column."""

    columns: Annotated[int, Field(ge=1)] = 16
    """Routers of a row."""

    exceptions: list[RouterException] = []
    """Routers of every group with another number of nodes. Default: none."""

    global_ports_per_router: Annotated[int, Field(ge=0)] | None = None
    """Global ports per router. Required."""

    groups: Annotated[int, Field(ge=1)] | None = None
    """Number of groups. Required."""

    nodes_per_router: Annotated[int, Field(ge=0)] | None = None
    """Nodes per router: compute nodes and storage servers together. Required."""

    rows: Annotated[int, Field(ge=1)] = 6
    """Rows of a group."""


class DragonflyPlus(Table):
    """A dragonfly+ (A. Shpiner et al., HiPINEB 2017), or megafly (M. Flajslik et al., ISC 2018): leaf
    routers have the nodes, spine routers the global cables, and every leaf of a group is linked with
    every spine. The sizes without a default are required, here or in the preset.
    """

    arrangement: Arrangement = "relative"
    """Assignment of a group's global ports to the other groups."""

    cables: Cables = "all"
    """Cables between each pair of groups: a number, or "all" for as many as the ports allow (equal for all
    pairs).
    """

    global_ports_per_spine: Annotated[int, Field(ge=0)] | None = None
    """Global ports per spine router. Required."""

    groups: Annotated[int, Field(ge=1)] | None = None
    """Number of groups; at most spines_per_group x global_ports_per_spine + 1. Required."""

    leaves_per_group: Annotated[int, Field(ge=1)] | None = None
    """Leaf routers of a group. Required."""

    local_cables: Annotated[int, Field(ge=1)] = 1
    """Parallel cables between a leaf and a spine."""

    nodes_per_leaf: Annotated[int, Field(ge=1)] | None = None
    """Nodes per leaf router: compute nodes and storage servers together. Required."""

    other_groups: list[OtherGroups] | None = None
    """Kinds of groups with other numbers of nodes or cables; `cables` must be a number then. They are the
    last groups, in the order of the list. Default: none.
    """

    spines_per_group: Annotated[int, Field(ge=1)] | None = None
    """Spine routers of a group. Required."""


class FailedLink(Table):
    """A cable between two routers that carries no traffic."""

    routers: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
    """The two routers, numbered over the machine."""

    index: Annotated[int, Field(ge=0)] | None = None
    """The index of the cable among those between the routers, from 0, in the order of the first router's
    ports. Default: all of them.
    """


class FatTree(Table):
    """A fat tree: of routers with `radix` ports, by `levels` and `oversubscription` (a folded Clos network);
    a k-ary n-tree (`k` and `n`; F. Petrini, M. Vanneschi, IPPS 1997); or an extended generalized fat tree
    XGFT(h; m_1, ..., m_h; w_1, ..., w_h) (`down` and `up`; S. Öhring et al., IPPS 1995), with parallel
    cables given by `parallel` (E. Zahavi, 2010). Nodes are level 0; the pods of the top level are its
    groups.
    """

    down: list[Annotated[int, Field(ge=0)]] | None = None
    """m: children of a router per level, from the lowest: the first number is nodes per leaf router.
    Required without `k` and `n`.
    """

    k: Annotated[int, Field(ge=1)] | None = None
    """Children of a router of a k-ary n-tree, and parents of a router below the top: k^n nodes. Required,
    with `n`, or one of the other two descriptions.
    """

    levels: Annotated[int, Field(ge=1)] | None = None
    """Levels of routers with `radix` ports. Required with `radix`."""

    n: Annotated[int, Field(ge=1)] | None = None
    """Levels of routers of a k-ary n-tree. Required with `k`."""

    oversubscription: float | None = None
    """With `radix`: nodes per uplink of a leaf router, e.g. 3 for 3:1; the levels above are not
    oversubscribed. It must give whole numbers of ports. Default: 1, full bisection.
    """

    parallel: list[Annotated[int, Field(ge=0)]] | None = None
    """Parallel cables between a member of each level below and a parent, from the nodes up; nodes have 1.
    Default: 1 everywhere.
    """

    radix: Annotated[int, Field(ge=2)] | None = None
    """Ports of a router, all in use: below the top level half of them go down, at the top all. Required,
    with `levels`, or `k` and `n`, or `down` and `up`. Without oversubscription there are 2 (radix /
    2)^levels nodes; M. Al-Fares, A. Loukissas, A. Vahdat, SIGCOMM 2008, for three levels.
    """

    up: list[Annotated[int, Field(ge=0)]] | None = None
    """w: parents of a member of each level below, from the nodes up, e.g. [1, 4, 4]. Nodes have one parent.
    Required with `down`.
    """


class Graph(Table):
    """Any graph from a file: GraphML, or an edge list with lines such as "r0 r1 cables=2 class=global" for a
    cable and "router r0 nodes=4" for a router. `odonata describe --export` writes GraphML.
    """

    file: str | None = None
    """The file that lists routers, nodes and cables; relative to the scenario's folder. Required."""

    nodes_per_router: Annotated[int, Field(ge=0)] = 1
    """Nodes of routers without a number in the file."""


class HyperX(Table):
    """A HyperX (J. Ahn et al., SC 2009) of 1 to 16 dimensions; with equally many routers in each it is a
    flattened butterfly (J. Kim et al., ISCA 2007). The cables of the first dimension are of class local,
    all others global.
    """

    cables: Annotated[int, Field(ge=0)] | list[Annotated[int, Field(ge=0)]] | None = None
    """Parallel cables between two routers of a line: a number, or a list with one number per dimension.
    Default: 1.
    """

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Routers along each dimension, the first fastest, e.g. [8, 8]. Required, here or in the preset."""

    nodes_per_router: Annotated[int, Field(ge=1)] = 1
    """Nodes per router: compute nodes and storage servers together."""


class Torus(Table):
    """A torus or mesh of 1 to 16 dimensions (k-ary n-cube). All cables between routers are of class local;
    the planes of the slowest dimension are its groups.
    """

    dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Routers along each dimension, the first fastest, e.g. [8, 8, 8]. Required, here or in the preset."""

    nodes_per_router: Annotated[int, Field(ge=1)] = 1
    """Nodes per router: compute nodes and storage servers together."""

    open_dims: list[Annotated[int, Field(ge=0)]] | None = None
    """Dimensions of a torus, from 0, whose lines have no wrap-around cable, e.g. [3, 5] for the axes A and C
    of Tofu. Default: none.
    """


class PolarFly(Table):
    """A PolarFly (K. Lakhotia et al., SC 2022): the polarity graph of q^2 + q + 1 routers, each pair at most
    two cables apart. q + 1 routers have q cables to others, the rest have q + 1.
    """

    nodes_per_router: Annotated[int, Field(ge=1)] | None = None
    """Nodes per router: compute nodes and storage servers together. Default: half the ports between routers,
    rounded up, as in the paper.
    """

    q: Annotated[int, Field(ge=2)] | None = None
    """A prime power; a router has at most q + 1 ports to others. Required, here or in the preset."""

HostLinks = Literal["switch", "all-to-all"]
"""The links between the GPUs of a host.

`switch`: A switch with a link to each GPU, like NVSwitch. A `local` link has the whole bandwidth of a GPU
into its host.

`all-to-all`: A link between each pair of GPUs; each is a `local` link.
"""

StorageFabric = Literal["separate", "converged"]
"""The network of the storage nodes.

`separate`: Switches of their own, which each host reaches by its storage ports.

`converged`: Leaves of their own below the spines of the GPUs.
"""


class RailStorage(Table):
    """Storage nodes and their network."""

    fabric: StorageFabric = "separate"
    """Their network."""

    nodes: Annotated[int, Field(ge=1)] | None = None
    """Storage nodes, which come after the GPUs. They run no jobs; storage servers are there unless
    `storage.nodes` says otherwise. Required.
    """

    ports: Annotated[int, Field(ge=1)] | None = None
    """Storage ports of a host, with a network of their own. Default: 2, as of a DGX H100."""

    spines: Annotated[int, Field(ge=0)] | None = None
    """Storage spines, with a network of their own; 0 is possible in one pod with one port. Default: one per
    host of a pod, so that no leaf is oversubscribed.
    """


class RailOptimized(Table):
    """A rail-optimized cluster: hosts of several GPUs with a NIC each, connected to the leaf switch of the
    GPU's number; every GPU is a node. Links in a host are `local`, from NIC to leaf `column`, from leaf
    to spine `global`.
    """

    gpus_per_host: Annotated[int, Field(ge=1)] | None = None
    """GPUs of a host: the number of rails, and of leaf switches of a pod. Default: 8."""

    host_links: HostLinks = "switch"
    """The links between the GPUs of a host."""

    hosts_per_pod: Annotated[int, Field(ge=1)] | None = None
    """Hosts of a pod. Required, here or in the preset."""

    oversubscription: float | None = None
    """Hosts per uplink of a leaf, e.g. 2 for 2:1; it must give a whole number of cables. Default: 1."""

    pods: Annotated[int, Field(ge=1)] | None = None
    """Pods: hosts that share leaf switches, also called scalable units. Default: 1."""

    spines: Annotated[int, Field(ge=0)] | None = None
    """Spine switches. With 0, for one pod only, rails meet only in the hosts. Default: the number of uplinks
    of a leaf, one cable to each.
    """

    storage: RailStorage | None = None
    """Storage nodes. Default: none."""


class SlimFly(Table):
    """A Slim Fly (M. Besta, T. Hoefler, SC 2014): the McKay-Miller-Širáň graph of 2 q^2 routers, each pair
    at most two cables apart.
    """

    nodes_per_router: Annotated[int, Field(ge=1)] | None = None
    """Nodes per router: compute nodes and storage servers together. Default: half the ports between routers,
    rounded up, which is balanced.
    """

    q: Annotated[int, Field(ge=3)] | None = None
    """A prime power of the form 4 w + d, d = -1, 0 or 1. Required, here or in the preset."""


class Machine(Table):
    """The machine's graph: exactly one kind, and its faulty cables."""

    cables: str | None = None
    """A CSV file that gives cables a class, bandwidth, latency or buffer of their own; relative to the
    scenario's folder. Default: none.
    """

    degraded_links: list[DegradedLink] | None = None
    """Cables between routers with reduced bandwidth. Default: none."""

    dragonfly: Dragonfly | None = None
    """A dragonfly with one-dimensional groups: the routers of a group are fully connected, and each pair of
    groups has at least one cable.
    """

    dragonfly_2d: Dragonfly2d | None = Field(default=None, validation_alias="dragonfly-2d", serialization_alias="dragonfly-2d")
    """A dragonfly with two-dimensional groups: the routers of a group form a grid with fully connected rows
    and columns. Cray XC.
    """

    dragonfly_plus: DragonflyPlus | None = Field(default=None, validation_alias="dragonfly-plus", serialization_alias="dragonfly-plus")
    """A dragonfly+, or megafly: leaf and spine routers in every group."""

    failed_links: list[FailedLink] | None = None
    """Cables between routers that carry no traffic. Default: none."""

    fat_tree: FatTree | None = Field(default=None, validation_alias="fat-tree", serialization_alias="fat-tree")
    """A fat tree: an extended generalized fat tree, or a k-ary n-tree."""

    graph: Graph | None = None
    """Any graph from a file."""

    hyperx: HyperX | None = None
    """A HyperX: a grid of routers with fully connected lines, such as the flattened butterfly."""

    interfaces: Annotated[int, Field(ge=1, le=64)] | None = None
    """Network interfaces of each node, 1 to 64: rails. Each has a link to the node's router. The sizes of
    the kind count interfaces: a router with 16 nodes by its kind has 4 nodes with `interfaces = 4`.
    `nic.affinity` and `nic.stripe_above` decide which interfaces carry a message. Default: 1.
    """

    mesh: Torus | None = None
    """A grid of routers without wrap-around cables."""

    polarfly: PolarFly | None = None
    """A PolarFly: a graph of diameter two with one shortest path between any two routers."""

    rail_optimized: RailOptimized | None = Field(default=None, validation_alias="rail-optimized", serialization_alias="rail-optimized")
    """A rail-optimized cluster of GPU hosts: NVLink or similar in a host, a leaf switch for each GPU of a
    host, spines above.
    """

    service_routers: list[Annotated[int, Field(ge=0)]] = []
    """Routers of every group, numbered from 0 in the group, with service nodes, such as I/O forwarders to an
    external file system: neither jobs nor storage servers run there. Default: none.
    """

    slim_fly: SlimFly | None = Field(default=None, validation_alias="slim-fly", serialization_alias="slim-fly")
    """A Slim Fly: a graph of diameter two."""

    torus: Torus | None = None
    """A grid of routers with wrap-around cables."""

SizeOrNone = Literal["none"] | Bytes



class Jitter(Table):
    """A random delay, uniform from `min` to `max`."""

    min: Time
    """Least delay, e.g. "0.5 ns"."""

    max: Time
    """Greatest delay, at least `min`, e.g. "1 ns"."""

Alltoallv = Literal["auto", "pairwise", "pairwise-exchange", "linear", "scattered"]
"""The algorithm of all-to-alls of listed sizes.

`auto`: The library's choice.

`pairwise`: To rank + i and from rank - i, one i after the other.

`pairwise-exchange`: With rank xor i, one i after the other; like `auto` if the number of ranks is not a
power of two.

`linear`: All messages posted at once.

`scattered`: `window` sends and receives posted at once and waited for.
"""

Library = Literal["mpich", "open-mpi"]
"""The library whose decision rules apply.

`mpich`: Rules of MPICH 3.2, with the thresholds of this table.

`open-mpi`: Rules of Open MPI 4.0; the thresholds of this table have no effect.
"""


class Collectives(Table):
    """Algorithms of collectives. "auto" chooses like the selected `library`: MPICH (Thakur, Rabenseifner,
    Gropp, IJHPCA 19(1), 2005), whose thresholds are keys below, or Open MPI (Pjesivac-Grbovic et al.,
    Cluster Computing 10(2), 2007). Gathers and scatters of blocks of different sizes are always linear.
    """

    allgather: Allgather = "auto"
    """Algorithm of all-gathers."""

    allgatherv: Allgather = "auto"
    """Algorithm of all-gathers of blocks of different sizes."""

    allreduce: Allreduce = "auto"
    """Algorithm of all-reduces."""

    allreduce_recursive_doubling_up_to: Bytes = "2 KiB"
    """"auto" of MPICH: all-reduces up to this size use recursive doubling, longer ones reduce-scatter and
    all-gather. MPICH 3.4 to 4.3 use "8 B", CODES "80 KiB".
    """

    alltoall: Alltoall = "auto"
    """Algorithm of all-to-alls of equal blocks."""

    alltoallv: Alltoallv = "auto"
    """Algorithm of all-to-alls of listed sizes."""

    barrier: Barrier = "auto"
    """Algorithm of barriers."""

    broadcast: Broadcast = "auto"
    """Algorithm of broadcasts."""

    broadcast_binomial_below: Bytes = "12 KiB"
    """"auto" of MPICH: broadcasts below this size use the binomial tree."""

    broadcast_min_ranks: Annotated[int, Field(ge=0)] = 8
    """"auto" of MPICH: with fewer ranks, every broadcast uses the binomial tree."""

    broadcast_recursive_doubling_below: Bytes = "512 KiB"
    """"auto" of MPICH: longer broadcasts below this size on a power-of-two number of ranks gather by
    recursive doubling; all others gather around a ring.
    """

    exscan: Scan = "auto"
    """Algorithm of exclusive scans."""

    gather: Gather = "auto"
    """Algorithm of gathers."""

    library: Library = "mpich"
    """The MPI library whose decisions "auto" follows."""

    reduce: Reduce = "auto"
    """Algorithm of reductions to one rank."""

    reduce_scatter: ReduceScatter = "auto"
    """Algorithm of reduce-scatters."""

    reduce_scatter_block: ReduceScatter = "auto"
    """Algorithm of reduce-scatters of equal blocks."""

    scan: Scan = "auto"
    """Algorithm of inclusive scans."""

    scatter: Scatter = "auto"
    """Algorithm of scatters."""

    segment: Bytes = "64 KiB"
    """Segment size of pipelined algorithms that are selected by name, here or by a workload; "0 B" disables
    segmentation. "auto" chooses its own.
    """

    window: Annotated[int, Field(ge=1)] = 32
    """Messages that a "scattered" all-to-all posts at a time, at least 1, if it is selected by name, here or
    by a workload. "auto" posts 32.
    """


class RateAbove(Table):
    """A rate of work on more than so many bytes."""

    above: Bytes
    """The rate applies to work on more bytes than this."""

    rate: Bandwidth
    """Bytes per second."""

MpiLibrary = Literal["openmpi-ucx", "cray-mpich-ofi", "mpich", "fujitsu"]
"""A named set of keys of the table `mpi`: costs and protocols of an MPI library on the network that it was
measured on.

`openmpi-ucx`: Open MPI 4.1 with UCX on InfiniBand HDR.

`cray-mpich-ofi`: Cray MPICH 8.1 with libfabric on Slingshot 11.

`mpich`: MPICH: the defaults of this table.

`fujitsu`: Fujitsu MPI 4.0 on Tofu Interconnect D.
"""

NoiseDurations = Literal["fixed", "exponential"]
"""Distribution of the durations of detours.

`fixed`: All are equal.

`exponential`: Exponential, at most a period.
"""

NoiseTiming = Literal["random", "periodic", "synchronized"]
"""When in its period a detour begins.

`random`: At a time that is drawn for every detour of every rank, uniformly.

`periodic`: At the same time in each period, which is drawn for every rank.

`synchronized`: At the beginning, on all ranks: coscheduled daemons.
"""


class Noise(Table):
    """A source of operating-system noise: a detour in each period, such as a timer interrupt or a daemon,
    takes the processor from a rank. It prolongs computation and the overheads of calls, and delays calls;
    while the rank waits, it costs nothing.
    """

    period: Time
    """Time in which there is one detour, at least 1 us."""

    duration: Time
    """Duration of a detour, or its mean; all sources together take at most half of the time."""

    durations: NoiseDurations = "fixed"
    """Distribution of the durations. Default: "fixed"."""

    timing: NoiseTiming = "random"
    """When in its period a detour begins. Default: "random"."""


class Offload(Table):
    """Barriers and small all-reduces by the network interfaces, as by the collective engines of Aries (B.
    Alverson et al., "Cray XC series network", 2012). Ranks form a tree. An interface waits for its rank
    and for the messages of its children, and sends one to its parent; the result comes back the same way.
    Only the call and its end occupy the processor.
    """

    delay: Time = "100 ns"
    """Time in which an interface combines the messages of its children, or passes a result on; assumed."""

    radix: Annotated[int, Field(ge=1)] = 32
    """Maximum number of children of an interface; assumed."""

    trees: Annotated[int, Field(ge=0)] = 1
    """Trees of each interface. Communicators with lower numbers have one, and the world, number 0, is the
    first; the others fall back to the library's choice.
    """

    up_to: Bytes = "64 B"
    """Largest vector of an all-reduce; longer ones fall back to the library's choice. Default: the data of a
    packet of Aries.
    """

Progress = Literal["asynchronous", "in-calls"]
"""When the MPI library of a rank does its protocol work: it answers a request to send, sends the data of a
granted one, advances a non-blocking collective.

`asynchronous`: Immediately, by a progress thread or by the network interface.

`in-calls`: During MPI calls of the rank: immediately while it is in one, otherwise when it enters the
next.
"""

RendezvousForm = Literal["put", "get"]
"""The form of the rendezvous of long messages.

`put`: The receiver answers the request to send, and the sender's library sends the data. The send is
complete when the data have left.

`get`: The receiver's library reads the data from the sender's memory (remote DMA get), without work of
the sender's processor. The send is complete when the receiver's notice of the end arrives.
"""


class Mpi(Table):
    """Costs and protocols of MPI calls, algorithms of collectives. A message of b bytes reaches the network
    interface `send_delay` + b x `send_per_byte` after its call, an eager one b x `send_overhead_per_byte`
    later. Meanwhile the call occupies the rank for `send_overhead`, and b x `send_overhead_per_byte` more
    if the message is eager.
    """

    acknowledged_above: SizeOrNone | None = None
    """Eager messages over the network that are longer than this complete at the sender when the
    acknowledgment of the receiver's interface arrives; up to this size, when they have left. "none": all
    when they have left.
    """

    call_jitter: Jitter | None = None
    """Random delay of each call, uniform in a range. Default: none."""

    collective_overhead: Time = "0 s"
    """Time that the begin of a collective occupies the rank: checks, choice of the algorithm, buffers."""

    collectives: Collectives = Field(default_factory=Collectives)
    """Algorithms of collectives."""

    control_delay: Time | None = None
    """Delay of the answers of a rendezvous (clear to send, read request, notice of the end) and of
    acknowledgments, in place of `send_delay`. Default: `send_delay`.
    """

    copy_rate: Bandwidth | None = None
    """Rate of the local copies of a collective: of its input, of blocks that an algorithm packs or reorders,
    e.g. "10 GB/s". Default: copies take no time.
    """

    copy_rates: list[RateAbove] | None = None
    """Other rates for longer copies, by increasing size, e.g. [{ above = "16 MiB", rate = "5 GB/s" }]."""

    eager_threshold: SizeOrNone = "16 KiB"
    """Size of the largest message that is sent without waiting for its receive (eager). Longer messages wait
    for it (rendezvous). "none": all messages are eager.
    """

    fetch_delay: Time = "0 s"
    """Additional delay of an eager message longer than `inline_up_to`; does not occupy the rank."""

    inline_up_to: SizeOrNone | None = None
    """Messages over the network longer than this are fetched from memory by the interface, which takes
    `fetch_delay`; shorter ones are written to the interface with the command. "none": nothing is fetched
    separately.
    """

    library: MpiLibrary | None = None
    """The MPI library whose costs and protocols apply: a named set of keys of this table, below the keys of
    the preset and of the file. `odonata presets mpi-NAME` shows a set with its sources. Default: none.
    """

    local_bandwidth: Bandwidth = "16 GiB/s"
    """Bandwidth of each message between ranks of one node; concurrent messages do not share it."""

    local_latency: Time = "300 ns"
    """Latency of messages between ranks of one node; positive."""

    noise: list[Noise] | None = None
    """Sources of operating-system noise, at most 8, e.g. [{ period = "10 ms", duration = "25 us" }].
    Default: none.
    """

    offload: Offload = Field(default_factory=Offload)
    """Collectives that network interfaces take over, where `collectives` selects "offload"."""

    progress: Progress = "asynchronous"
    """When the MPI library does its part of a rendezvous or of a non-blocking collective."""

    recv_overhead: Time = "200 ns"
    """Time that completing a receive occupies the rank (o of LogP). A call that waits for several receives
    handles each message on arrival, so that only handling that does not overlap with waiting prolongs the
    call.
    """

    recv_overhead_per_byte: PerByte = "0 ps/B"
    """Time per byte that completing the receive of an eager message occupies the rank, for a copy out of a
    buffer of the library (O of LogGOPS). Messages over the network only.
    """

    reduce_rate: Bandwidth | None = None
    """Rate at which a collective sums received data with its own, e.g. "10 GB/s" of vector. Default: sums
    take no time.
    """

    reduce_rates: list[RateAbove] = []
    """Other rates for longer sums, by increasing size, e.g. [{ above = "8 MiB", rate = "5 GB/s" }]."""

    rendezvous: RendezvousForm = "put"
    """The form of the rendezvous: the side that moves the data."""

    rendezvous_control: Bytes = "64 B"
    """Size of control messages: of the rendezvous, and acknowledgments."""

    rendezvous_zero_copy: bool = False
    """Whether the data of a rendezvous skip the delay `send_per_byte`, as with remote DMA."""

    send_delay: Time = "300 ns"
    """Delay between a send call and the network interface; does not occupy the rank."""

    send_overhead: Time = "200 ns"
    """Time that a send call occupies the rank (o of LogP)."""

    send_overhead_per_byte: PerByte = "0 ps/B"
    """Time per byte that the send call of an eager message occupies the rank, for a copy into a buffer of
    the library (O of LogGOPS). Messages over the network only.
    """

    send_per_byte: PerByte = "0 ps/B"
    """Additional delay per byte of the message, for example for a copy: "0.55 ns/B"."""


class Analytic(Table):
    """The network parameters of the LogGP model. They apply where `network.fidelity` or the `fidelity` of a
    job is "analytic". The host parameters o and S are `mpi.send_overhead`, `mpi.recv_overhead` and
    `mpi.eager_threshold`.
    """

    gap: Time = "0 s"
    """g: least time between the starts of two messages that an interface sends, or receives; their bytes
    after the first take additional time.
    """

    gap_per_byte: PerByte | None = None
    """G: time per byte of a message after its first, e.g. "0.08 ns/B". Default: the time per byte of
    terminal links.
    """

    latency: Time | None = None
    """L: latency from the sender's interface to the receiver's interface; positive. Default: the zero-load
    latency over the links and routers of a shortest path, averaged over the paths from the first router
    to all others.
    """

    overhead_per_byte: PerByte = "0 ps/B"
    """O: time for which each byte of a message after its first occupies the processors of sender and
    receiver. Only for GOAL schedules.
    """

Arbitration = Literal["round-robin", "age", "first-come", "lowest-first"]
"""Which of several packets an output takes, for every router model.

`round-robin`: The packet of the next input port after the one served last. Ports get equal shares: where
sources join a path one after another, each gets half the share of the next.

`age`: The oldest packet of all inputs: sources get equal shares. Packets of a long message are created
one after another, at the rate of the node's link (D. Abts, D. Weisser, SC 2007).

`first-come`: The packet that requested first. Shares follow the buffers: an input with more waiting
packets gets more. CODES uses this rule.

`lowest-first`: The packet of the lowest port and virtual channel: packets of other inputs can starve.
"""

Clock = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(ps|ns|[uµμ]s|ms|s|Hz|kHz|MHz|GHz)\s*$")]
"""A period of a clock: a time, or a number and one of Hz, kHz, MHz, GHz."""

CongestionKind = Literal["none", "ecn", "per-flow", "per-pair"]
"""Kinds of congestion control.

`none`: None: only the credits between routers limit senders.

`ecn`: Ports mark packets that have a large backlog behind them. The source of a marked packet reduces its
rate to that node and recovers over time (as in InfiniBand and DCQCN).

`per-flow`: The last router before an overloaded node computes a rate for the senders to that node. Only
these senders slow down (after Slingshot).

`per-pair`: The last router before a congested node limits the packets that each source has in flight to
that node; further packets wait at the source (after Slingshot).
"""


class CongestionControl(Table):
    """Congestion control. Notifications travel at zero-load latency and use no bandwidth."""

    decrease: float | None = None
    """ECN: the fraction of its rate that a notified flow gives up; more than 0 and less than 1. Default:
    0.5.
    """

    interval: Time | None = None
    """Least time between two rate reductions of a flow (ECN), or between two changes of the rate to a node
    (per flow) or of its window (per pair); about one round trip. Per pair: limited sources have at most
    what the link to the node carries in this time in flight. Default: "5 us".
    """

    kind: CongestionKind = "none"
    """The kind. Default: "none"; the other keys apply to the other kinds."""

    recovery: Time | None = None
    """Time in which a flow recovers from rate zero to the rate of its link; per pair: time without packets
    after which a source is unlimited again. Default: "500 us".
    """

    threshold: Bytes | None = None
    """ECN: a port marks a packet if more than this waits behind it. Per flow and per pair: the backlog for
    the link to a node that slows down no flow. Default: 8 packets; per flow and per pair: 4 packets.
    """

Control = Literal["nscc", "rccc", "swift", "constant", "none", "dcqcn", "hpcc"]
"""How much a sender may have in flight, or how fast it sends.

`nscc`: NSCC of Ultra Ethernet (Ultra Ethernet Specification 1.0, 2025): a window by delay and marks.

`rccc`: RCCC of Ultra Ethernet: receivers grant credit, paced just below the rate of their link.

`swift`: Swift: a window that keeps the delay at a target (G. Kumar et al., "Swift: delay is simple and
effective for congestion control in the datacenter", SIGCOMM 2020).

`constant`: A constant window.

`none`: The rate of the link; only with transport "roce".

`dcqcn`: DCQCN: a rate by the receiver's notifications of marked packets; only with transport "roce" (Y.
Zhu et al., "Congestion control for large-scale RDMA deployments", SIGCOMM 2015).

`hpcc`: HPCC: a window and a rate by the utilization of links that switches report; only with transport
"roce" (Y. Li et al., "HPCC: high precision congestion control", SIGCOMM 2019).
"""


class Dcqcn(Table):
    """Parameters of DCQCN. Defaults are those of its authors for links of 40 Gb/s (Y. Zhu et al., SIGCOMM
    2015, section 5.2); rates and the byte counter are in proportion to the rate of NICs.
    """

    additive_increase: Bandwidth | None = None
    """Growth of the target rate per increase after fast recovery. Default: 40 Mb/s at 40 Gb/s."""

    alpha_timer: Time | None = None
    """Time without a notification after which a sender reduces alpha. Default: 55 us."""

    byte_counter: Bytes | None = None
    """Bytes on the wire after which a sender increases its rate. Default: 10 MB at 40 Gb/s."""

    fast_recovery: Annotated[int, Field(ge=0)] | None = None
    """Increases by timer or byte counter that halve the distance to the target rate before the target itself
    grows. Default: 5.
    """

    gain: float | None = None
    """Weight g of a notification in the estimate alpha of congestion. Default: 1/256."""

    hyper_increase: Bandwidth | None = None
    """The same once both timer and byte counter are beyond fast recovery. Default: ten times
    `additive_increase`, as in IEEE 802.1Qau.
    """

    least_rate: Bandwidth | None = None
    """Least rate of a flow. Default: 100 Mb/s at 40 Gb/s, as the paper gives none."""

    notification_interval: Time | None = None
    """Time in which a receiver sends at most one notification per flow. Default: 50 us."""

    rate_timer: Time | None = None
    """Time after which a sender increases its rate. Default: 55 us."""


class Hpcc(Table):
    """Parameters of HPCC. Defaults are those of its authors (Y. Li et al., SIGCOMM 2019, section 5.1)."""

    additive_increase: Bytes | None = None
    """Growth of the window per round-trip time; more makes flows equal sooner, and makes a queue for fewer
    of them. Default: 1/100 of what the target leaves free of a window.
    """

    increase_stages: Annotated[int, Field(ge=0)] | None = None
    """Increases in a row after which a window below the target is set by the utilization. Default: 5."""

    target_utilization: float | None = None
    """Utilization that flows aim at: their rate and their queue. Default: 0.95."""

Balancing = Literal["oblivious", "ecmp", "reps", "reps-legacy", "bitmap", "mixed"]
"""How a packet gets its entropy value.

`oblivious`: Every value once per round, in an order that each round draws anew.

`ecmp`: One random value per flow.

`reps`: Values that came back unmarked are used again, from a ring of eight; else a random one (T. Bonato
et al., "REPS: recycled entropy packet spraying", 2024).

`reps-legacy`: The same with a queue of values in place of the ring, and the first window in turn.

`bitmap`: As "oblivious", but values that came back marked or trimmed are left out for a while.

`mixed`: Values that came back unmarked first, else as "bitmap".
"""

Retransmission = Literal["selective", "go-back-n"]
"""What a sender sends again when packets are missing.

`selective`: The missing packets: receivers keep later ones.

`go-back-n`: All packets from the first missing one on: receivers discard packets out of sequence.
"""


class Swift(Table):
    """Parameters of Swift (G. Kumar et al., SIGCOMM 2020). The authors give targets for their network only;
    the defaults here follow the base round-trip time. Windows are in packets.
    """

    additive_increase: float | None = None
    """Growth of the window per round-trip time. Default: 1."""

    beta: float | None = None
    """Weight of the excess delay in a decrease. Default: 0.8."""

    largest_decrease: float | None = None
    """Largest part of the window that a decrease takes off. Default: 0.5."""

    least_window: float | None = None
    """Least window; a window below 1 is a packet per round-trip time / window. Default: 0.01."""

    scaling_least: float | None = None
    """Window up to which the target has all of that. Default: 0.1."""

    scaling_most: float | None = None
    """Window from which it has nothing of it. Default: 100."""

    scaling_range: Time | None = None
    """What flow scaling adds to the target of the smallest windows. Default: half a base round-trip time."""

    target: Time | None = None
    """Delay from the start of a packet to its acknowledgment that a large window aims at. Default: 1.25 base
    round-trip times.
    """

Transport = Literal["uec", "roce"]
"""The protocol between hosts.

`uec`: Ultra Ethernet: packets arrive in any order, trimmed packets are reported at once and sent again
selectively.

`roce`: RoCE: one acknowledgment per packet, no window; a lossless network by priority flow control, or
one that drops.
"""


class Settings(Table):
    """Switches and transport of an Ethernet. They apply if `network.fidelity` is "ethernet".
    `network.packet` is the payload of a full packet and `network.header` its header; `network.links`
    gives bandwidth and latency.
    """

    acknowledge_every: Bytes | None = None
    """Bytes on the wire after which a receiver sends an acknowledgment. Default: 16384 B."""

    alpha: float | None = None
    """Factor of dynamic thresholds, with `buffer`. Default: 1."""

    base_rtt: Time | None = None
    """Round-trip time of a full packet and its acknowledgment over the longest path of an empty network.
    Default: computed from links and topology.
    """

    buffer: Bytes | None = None
    """Bytes of data that all outputs of a switch share, in place of `queue`. While Q bytes are in use, a
    queue may have `alpha` times the others (A. Choudhury, E. Hahne, "Dynamic queue length thresholds for
    shared-memory packet switches", IEEE/ACM Transactions on Networking 6(2), 1998). With pauses this
    bounds what came in by one port, in place of `pause_above`. Default: no shared buffer.
    """

    congestion_control: Control | None = None
    """How much a sender may have in flight, or how fast it sends. Default: "nscc" with transport "uec",
    "none" with "roce".
    """

    control_packet: Bytes | None = None
    """Bytes on the wire of an acknowledgment and of a trimmed packet. Default: 64 B."""

    dcqcn: Dcqcn | None = None
    """Parameters of congestion control "dcqcn"."""

    ecn_high: Bytes | None = None
    """Bytes that wait behind a packet beyond which it is always marked; between, the probability is linear.
    Default: four fifths of the bandwidth-delay product; with "dcqcn" 200 kB at 40 Gb/s, in proportion to
    the rate of NICs.
    """

    ecn_low: Bytes | None = None
    """Bytes that wait behind a packet up to which it is never marked. Default: a fifth of the bandwidth-
    delay product; with "dcqcn" 5 kB at 40 Gb/s, in proportion to the rate of NICs.
    """

    ecn_probability: float | None = None
    """Probability of a mark at `ecn_high`. Default: 1; with "dcqcn" 0.01."""

    entropies: Annotated[int, Field(ge=0)] | None = None
    """Entropy values of a flow: a power of two, 1 to 65536; at most 64 with load balancing "bitmap" and
    "mixed". Default: 64.
    """

    full_packets: bool = False
    """Whether every packet is as long as a full one on the wire, as the RoCE of htsim sends it. Otherwise
    the last packet of a message has the bytes that are left.
    """

    hpcc: Hpcc | None = None
    """Parameters of congestion control "hpcc"."""

    load_balancing: Balancing | None = None
    """How a packet gets its entropy value, from which each switch computes its path. Default: "oblivious"
    with transport "uec", "ecmp" with "roce".
    """

    pause_above: Annotated[int, Field(ge=0)] | None = None
    """Packets from one input that wait in a switch, above which it pauses the sender of that input. Default:
    15; with "dcqcn" those of `ecn_high`, if they are more, so that marks come before pauses (Y. Zhu et
    al., section 4).
    """

    pauses: bool | None = None
    """Whether switches pause the senders of their inputs (priority flow control); otherwise they drop
    packets without room. Default: true with transport "roce", to which it belongs.
    """

    queue: Bytes | None = None
    """Bytes of data that wait at an output of a switch; control packets have twice as much. A packet beyond
    is trimmed or dropped; with pauses nothing else limits the queue. Default: the bandwidth-delay
    product, five times as much without trimming, in whole packets, in proportion to the rate of the link.
    """

    record_flows: bool = False
    """Whether the results have a table of all flows. Default: false."""

    resume_below: Annotated[int, Field(ge=0)] | None = None
    """Packets from one input below which it lets the sender go on. Default: four fifths of `pause_above`."""

    retransmission: Retransmission | None = None
    """What senders with transport "roce" send again. Default: "selective"."""

    swift: Swift | None = None
    """Parameters of congestion control "swift"."""

    timeout: Time | None = None
    """Time without any acknowledgment after which a sender sends its packets in flight again. Default: 15 us
    and the time in which six full queues drain.
    """

    transport: Transport = "uec"
    """The protocol between hosts, and what switches do with packets that find no room."""

    trimming: bool | None = None
    """Whether packets without room are trimmed to their header; otherwise they are dropped. Default: true."""

    window: Bytes | None = None
    """Largest window of a flow, and its first. Default: 1.5 bandwidth-delay products; with "hpcc" 1."""

InputQueues = Literal["virtual-output", "fifo"]
"""Which packets of an input buffer compete for outputs.

`virtual-output`: Virtual output queues: every packet waits only for its own output.

`fifo`: First in, first out: only the head of the buffer competes, which causes head-of-line blocking.
"""


class Link(Table):
    """A link class. Both directions are alike."""

    bandwidth: Bandwidth | None = None
    """Bandwidth of one direction, positive, e.g. "5.25 GiB/s". Default: by class, see `network.links`."""

    buffer: Bytes | None = None
    """Buffer at the receiving end, per virtual channel; at least one packet, with wormhole switching one
    flit. Default: by class.
    """

    credit_delay: Time | None = None
    """Time that a credit takes to return; positive. Default: the latency."""

    latency: Time | None = None
    """Propagation delay from the departure of a bit to its arrival; positive, because it bounds the
    lookahead of parallel runs. Default: by class.
    """


class Links(Table):
    """The link classes of a machine."""

    column: Link = Field(default_factory=Link)
    """Between routers of a group that has two kinds of links: the columns of a two-dimensional dragonfly
    group. Keys that are left out default to those of `local`.
    """

    global_: Link = Field(default_factory=Link, validation_alias="global", serialization_alias="global")
    """Between groups. Defaults: bandwidth "4.7 GiB/s", latency "300 ns", buffer "16 KiB"."""

    local: Link = Field(default_factory=Link)
    """Between routers of a group. Defaults: bandwidth "5.25 GiB/s", latency "50 ns", buffer "16 KiB"."""

    terminal: Link = Field(default_factory=Link)
    """Between a node and its router. Defaults: bandwidth "16 GiB/s", latency "30 ns", buffer "32 KiB"."""

AdaptiveRequests = Literal["all", "first"]
"""At how many outputs a packet with minimal adaptive routing on a torus or mesh requests a virtual channel
at once, besides the escape channel.

`all`: At all outputs on shortest paths; the allocator decides.

`first`: At the output of the lowest unfinished dimension. BookSim 2 behaves this way: its output set
keeps only the first of several entries with equal priority, so its min_adapt follows dimension order on
the adaptive channel, too.
"""

Allocator = Literal["input-first", "output-first"]
"""Which side of a separable allocator chooses first.

`input-first`: Inputs choose their requests, then outputs choose among the requests.

`output-first`: Outputs choose among all inputs with a request, then inputs choose among the grants (one
round of iSLIP).
"""

InjectionVc = Literal["in-turn", "random", "booksim"]
"""The virtual channel of the terminal link, within its traffic class, on which a node sends a packet.

`in-turn`: The first channel with room, searched round-robin from the one after the last used.

`random`: A random channel; if it has no room, another is drawn when a credit may have arrived.

`booksim`: As in BookSim 2's routing functions: random on a dragonfly, in turn on other machines.
"""


class Pipeline(Table):
    """The pipeline of `router = "pipelined"`. Its stages take whole cycles of `network.clock` (W. Dally, B.
    Towles, "Principles and practices of interconnection networks", 2004).
    """

    adaptive_requests: AdaptiveRequests = "all"
    """At how many outputs an adaptive packet requests a virtual channel at once."""

    allocator: Allocator = "input-first"
    """Which side of the separable allocators chooses first."""

    busy_when_full: bool = False
    """Whether a virtual channel with a full buffer is excluded from allocation."""

    crossbar: Annotated[int, Field(ge=1, le=100)] = 1
    """Cycles of crossbar traversal."""

    injection_vc: InjectionVc = "in-turn"
    """The virtual channel of the terminal link on which a node sends a packet."""

    input_speedup: Annotated[int, Field(ge=1, le=16)] = 1
    """Flits that an input port can send per step, from different virtual channels."""

    internal_speedup: Annotated[float, Field(ge=1, le=4)] = 1.0
    """Steps of allocation and crossbar per cycle; a fraction is spread over the cycles."""

    iterations: Annotated[int, Field(ge=1, le=16)] = 1
    """Rounds in which an allocator tries to match the remaining requests."""

    routing: Annotated[int, Field(ge=0, le=100)] = 0
    """Cycles from the time when a packet reaches the front of its buffer until it requests a virtual
    channel. 0 is lookahead routing: the upstream router has routed the packet.
    """

    switch_allocation: Annotated[int, Field(ge=1, le=100)] = 1
    """Cycles of switch allocation."""

    vc_allocation: Annotated[int, Field(ge=1, le=100)] = 1
    """Cycles of virtual-channel allocation."""


class Reduction(Table):
    """Barriers and all-reduces in routers, as by SHARP (R. Graham et al., COMHPC 2016; ISC 2020). Each job
    whose collectives have the algorithm "switches" gets a tree of routers for all of the run, in the
    order of the jobs. A job that finds a router without a free tree falls back to the library's choice.
    """

    data: Bytes = "256 B"
    """Data of an operation, at most a packet; longer vectors take several operations. With the defaults, 4
    KiB take eight round trips.
    """

    delay: Time = "100 ns"
    """Time in which a router sums the data of its children; assumed."""

    operations: Annotated[int, Field(ge=1, le=4096)] = 2
    """Operations of a tree under way at a time, 1 to 4,096: a node sends the next one when it has the result
    of the oldest.
    """

    trees: Annotated[int, Field(ge=0)] = 64
    """Trees that a router can sum in; assumed. A router with one neighbor below it in a tree only passes
    data on.
    """

    up_to: Bytes = "4 KiB"
    """Largest vector of an all-reduce; longer ones fall back to the library's choice."""

RouterModel = Literal["input-queued", "output-queued", "pipelined"]
"""Where packets wait inside a router.

`input-queued`: In the buffer of their input port and virtual channel; see `input_queues`.

`output-queued`: In a queue per output port and virtual channel, with routing on arrival: the router of
CODES.

`pipelined`: Flit by flit and cycle by cycle through virtual-channel and switch allocation, see
`network.pipeline`: the router of cycle-accurate simulators. It needs `network.clock`.
"""

Algorithm = Literal["minimal", "valiant", "progressive-adaptive", "ugal", "romm", "dimension-order", "bubble", "minimal-adaptive", "nearest-common-ancestor", "dal", "pxn", "up-down", "shortest-paths", "k-shortest-paths", "table"]
"""The routing algorithm. Each machine family supports some of them.

`minimal`: Always a shortest path.

`valiant`: Always through a random intermediate group or router (L. Valiant, "A scheme for fast parallel
communication", 1982).

`progressive-adaptive`: Minimal, until a router of the source group finds the path through a random
intermediate group or router less loaded (PAR: N. Jiang, J. Kim, W. Dally, "Indirect adaptive routing on
large scale interconnection networks", ISCA 2009).

`ugal`: The source router compares the minimal path with random non-minimal paths (UGAL: A. Singh, "Load-
balanced routing in interconnection networks", 2005). `knowledge` selects the loads that it compares.

`romm`: Through a random router on the shortest paths, with dimension order to and from that router (two-
phase ROMM: T. Nesson, S. L. Johnsson, SPAA 1995).

`dimension-order`: Dimension by dimension, starting with the first.

`bubble`: Dimension by dimension, with bubble flow control on the rings of a torus (V. Puente et al., ICPP
1999). It needs no second virtual channel, but room for two packets at the entry to a ring.

`minimal-adaptive`: Any dimension that brings the packet nearer, the least loaded first, with dimension
order as the escape path (J. Duato, 1993).

`nearest-common-ancestor`: Up to the nearest common ancestor, then down. `up` selects the path up.

`dal`: Dimensionally adaptive: at most one detour per dimension, through another router of the line (DAL:
J. Ahn et al., "HyperX", SC 2009).

`pxn`: To a GPU on another rail of another host: first over the links of the source host to its GPU on
that rail (PXN of NCCL 2.12, 2022).

`up-down`: Over a spanning tree: first toward its root, then away from it (up*/down*: M. Schroeder et al.,
"Autonet", 1991).

`shortest-paths`: All shortest paths in cables, on any graph. `spread` selects one.

`k-shortest-paths`: The `paths` shortest paths without a loop of each pair of routers, on any graph (J.
Yen, "Finding the k shortest loopless paths in a network", 1971). `spread` selects one.

`table`: The paths of the file `routes`.
"""

Comparison = Literal["both", "sum"]
"""How the loads of a minimal path, m, and of another path, o, are compared; b is `bias`, T `threshold`.

`both`: The packet leaves its minimal path if m > T and m > b o.

`sum`: The packet leaves its minimal path if m > b o + T.
"""

DeadlockCheck = Literal["refuse", "warn"]
"""What happens if the dependency graph of a routing has a cycle.

`refuse`: The scenario is refused.

`warn`: The scenario runs, as in some other simulators, and the results carry a warning. The run may come
to a halt.
"""

Divert = Literal["any", "own-global-ports"]
"""The paths to which a second router of the source group may divert a packet.

`any`: Through any port.

`own-global-ports`: Only through its own global ports, as in CODES.
"""

InGroup = Literal["minimal", "adaptive"]
"""The paths between routers of one group.

`minimal`: The cable between them.

`adaptive`: The cable between them, or by the detour rule two cables over another router of the group, as
on Cray Aries and Slingshot. The lengths are 1 and 2 cables.
"""

Knowledge = Literal["local", "global", "piggyback"]
"""Which loads the source router of an adaptive algorithm knows. Routers publish changes at multiples of
`knowledge_interval`; other routers know them `knowledge_delay` later.

`local`: The loads of its own ports (UGAL-L).

`global`: Also the loads of the global ports of its group; each counts together with the load of the path
to that port (UGAL-G: J. Kim, W. Dally, S. Scott, D. Abts, "Technology-driven, highly-scalable dragonfly
topology", ISCA 2008).

`piggyback`: Also which global ports of its group are congested: a packet whose minimal path uses a
congested port takes another path; for other packets the router's own ports decide (piggybacking: N.
Jiang, J. Kim, W. Dally, ISCA 2009).
"""

Selection = Literal["lightest", "random"]
"""Which of several ports with room an adaptive packet takes.

`lightest`: The least loaded port.

`random`: A random port.
"""

Spread = Literal["flow", "packet", "adaptive"]
"""How packets spread over the equal paths of two nodes.

`flow`: All packets from a node to another take one path, chosen by a hash of both (ECMP: D. Thaler, C.
Hopps, RFC 2991, 2000). The hash differs between routers and between seeds.

`packet`: Every packet takes a random path (packet spraying).

`adaptive`: Every packet takes the least loaded of `candidates` random paths, by their first ports.
"""

Ties = Literal["random", "first", "source-parity"]
"""The direction of a packet around a dimension of a torus in which both directions are equally long.

`random`: Random for each packet: a flow between two nodes uses both directions.

`first`: Always plus: a flow uses one direction.

`source-parity`: Plus from even coordinates of that dimension, minus from odd ones: a flow uses one
direction, and half of the routers use each.
"""

Up = Literal["random", "d-mod-k", "adaptive"]
"""How the path up is chosen among several to the destination.

`random`: At random.

`d-mod-k`: By the number of the destination (E. Zahavi, "D-Mod-K routing", 2010): all packets to a node
share one path down. Only on fat trees and rail-optimized clusters.

`adaptive`: The least loaded of `candidates` random ports.
"""

VcRule = Literal["stage", "codes", "phase"]
"""How virtual channels are assigned to the hops of a path.

`stage`: By the stage of the path: the fewest channels that prevent deadlock.

`codes`: By the group of the packet, as in CODES: source 0 or 1, intermediate 2, destination 3; four
channels.

`phase`: By phase, as in BookSim's dragonfly: 0 before the intermediate, 1 on the minimal part, 2 from the
global link into the destination group, and for packets inside a group; without detours 0 before and 1
from the global link. This includes the link to the node. Detours can deadlock. As in BookSim, an adaptive
packet goes minimally if the intermediate, drawn from the whole machine, is in the group of its source or
target.
"""


class ClassVcs(Table):
    """Virtual channels per port by link class. A class that is left out has as many as the algorithm needs."""

    column: Annotated[int, Field(ge=1, le=16)] | None = None
    """Links of the second kind between routers of a group. Default: as many as the algorithm needs."""

    global_: Annotated[int, Field(ge=1, le=16)] | None = Field(default=None, validation_alias="global", serialization_alias="global")
    """Between groups. Default: as many as the algorithm needs."""

    local: Annotated[int, Field(ge=1, le=16)] | None = None
    """Between routers of a group. Default: as many as the algorithm needs."""

    terminal: Annotated[int, Field(ge=1, le=16)] | None = None
    """Between a node and its router. Default: as many as the algorithm needs."""

Via = Literal["group", "router"]
"""The intermediate of a non-minimal path.

`group`: A random group, entered at the router where the cable to it ends.

`router`: A random router of a random group.
"""


class Routing(Table):
    """Path selection. A key that has no effect for the algorithm on this machine is an error, unless it
    comes from a preset, or from the file where `--set` names the algorithm; `docs/routing.md` has the
    table.
    """

    algorithm: Algorithm | None = None
    """The algorithm; if the machine's family does not have it, the error lists those that it has. On
    dragonflies, traffic inside a group is minimal, except by `in_group`. Default: the deterministic
    minimal algorithm of the family: "dimension-order" on tori and meshes, "nearest-common-ancestor" on
    fat trees, "up-down" on graphs from files, "minimal" on all others. The default routes around failed
    cables on every machine of up to 8,192 routers.
    """

    bias: Annotated[float, Field(ge=0, le=1000)] | None = None
    """Adaptive routing: a packet leaves its minimal path if the backlog there exceeds this factor times the
    backlog on the other path; 0 to 1000. UGAL multiplies each backlog by the number of links of its path.
    Default: 2; UGAL: 1.
    """

    candidates: Annotated[int, Field(ge=1, le=64)] | None = None
    """UGAL and progressive adaptive routing: number of random non-minimal paths to compare, 1 to 64. `up =
    "adaptive"` and `spread = "adaptive"`: number of random ports from which the least loaded is taken.
    Default: 2.
    """

    comparison: Comparison | None = None
    """Adaptive routing: how `threshold` and `bias` combine. Default: "both"; UGAL: "sum"."""

    congestion_factor: Annotated[float, Field(ge=0, le=1000)] | None = None
    """"piggyback": a global port is congested if its load exceeds this factor times the mean of its router;
    0 to 1000. With n global ports per router, a factor of n or more marks no port as congested. Default:
    1.5.
    """

    congestion_threshold: Bytes | None = None
    """"piggyback": the load of a congested global port also exceeds this. Default: the bytes in flight on a
    global link and its returning credits at full rate, plus two packets.
    """

    deadlock_check: DeadlockCheck = "refuse"
    """What happens if the routing can deadlock."""

    divert: Divert | None = None
    """Progressive adaptive routing on a dragonfly: the paths to which a second router of the source group
    may divert a packet. Default: "any".
    """

    in_group: InGroup | None = None
    """UGAL and progressive adaptive routing on a dragonfly: the paths between routers of one group. Default:
    "minimal".
    """

    knowledge: Knowledge | None = None
    """UGAL: which loads the source router knows. Default: "local"."""

    knowledge_delay: Time | None = None
    """"global" and "piggyback": delay until the group knows published changes; at least the latency of the
    shortest path between any two routers of a group that exchange them. Default: that latency, which is
    one local link, or a row and a column of two-dimensional groups.
    """

    knowledge_interval: Time | None = None
    """"global" and "piggyback": interval at which routers publish changes at their global ports to their
    group; positive. Default: "100 ns".
    """

    paths: Annotated[int, Field(ge=1, le=64)] | None = None
    """K shortest paths: number of paths of each pair of routers, 1 to 64. Default: 4."""

    routes: str | None = None
    """Routes from a table: the CSV file, with the columns from, to, path or at, to, next (docs/routing.md);
    relative to the scenario's folder. Required.
    """

    selection: Selection | None = None
    """Minimal adaptive routing: which of several ports with room a packet takes. Default: "lightest"."""

    spread: Spread | None = None
    """Shortest paths, k shortest paths and routes from a table: how packets spread over the paths of two
    nodes. Default: "flow".
    """

    threshold: Bytes | None = None
    """Adaptive routing: a packet leaves its minimal path only if the backlog there exceeds this. UGAL: only
    if it exceeds the backlog on the other path by this. Default: "16 KiB"; UGAL: "0 B".
    """

    ties: Ties | None = None
    """Tori: the direction of a packet around a dimension in which both directions are equally long. Default:
    "random".
    """

    up: Up | None = None
    """Fat trees, rail-optimized clusters and up*/down* routing: how the path up is chosen. Default:
    "d-mod-k", for up*/down* "random".
    """

    vc_rule: VcRule | None = None
    """Dragonfly: how virtual channels are assigned to the hops of a path. Default: "stage"."""

    vcs: Annotated[int, Field(ge=1, le=16)] | ClassVcs | None = None
    """Virtual channels per port, 1 to 16: a number for all link classes, or a table such as { terminal = 4,
    local = 3 }. An algorithm that needs more to avoid deadlock gets as many as it needs. Default: as many
    as it needs.
    """

    via: Via | None = None
    """Dragonflies: the intermediate of a non-minimal path. Default: "group"."""

    weigh_hops: bool | None = None
    """Adaptive routing: whether the load of a path is multiplied by its number of hops. Default: false;
    UGAL: true.
    """

Switching = Literal["cut-through", "store-and-forward", "wormhole"]
"""How a packet crosses a router.

`cut-through`: Virtual cut-through: the head moves on once credits for a whole packet are available.

`store-and-forward`: The packet moves on once all of it has arrived.

`wormhole`: Each flit moves on once there is room for it. The packet holds its virtual channel until its
tail has left. Only with pipelined routers.
"""


class TrafficClass(Table):
    """A traffic class."""

    name: str
    """Name, unique among the classes."""

    share: Annotated[float, Field(ge=0.001, le=1)]
    """Least share of a link for this class while it has traffic, among classes of equal priority; 0.001 to
    1, and at most 1 over all classes. Classes divide the remainder and unused shares in proportion.
    """

    priority: int = 0
    """Classes with a higher priority always go first. Default: 0."""


class Network(Table):
    """Links, routers and routing. The defaults describe a virtual cut-through network of input-queued
    routers.
    """

    analytic: Analytic | None = None
    """The parameters of the analytic model."""

    arbitration: Arbitration = "round-robin"
    """Which of several packets an output takes. Arbitration decides which traffic slows down at a contended
    output.
    """

    clock: Clock | None = None
    """The clock, as its period ("1 ns") or its frequency ("1 GHz"). With a clock, every time of the scenario
    can be given in cycles ("3 cycles") and every rate in flits per cycle ("1 flit/cycle"). Default: none.
    """

    congestion_control: CongestionControl | None = None
    """End-to-end congestion control."""

    coupling_interval: Time | None = None
    """Interval at which the packet and the flow model exchange loads, 100 ns to 1 s. It applies if jobs
    differ in `jobs.fidelity`. Default: "10 us" if jobs use both models, else none.
    """

    ethernet: Settings | None = None
    """The switches and the transport of an Ethernet."""

    fidelity: Fidelity | None = None
    """How messages are carried: "packet" (default) from router to router, "flow" as flows with max-min fair
    rates, "ethernet" as packets of an Ethernet with losses or pauses, or "analytic" by the LogGP model
    without contention.
    """

    flit: Bytes = "32 B"
    """Unit of buffer space and of cut-through. Every size of the scenario can be given in flits ("8 flits")."""

    header: Bytes | None = None
    """Bytes that each packet takes on a link in addition to its payload: headers, checksums, gaps; at most
    the size of a packet. Buffers hold payload. Not with pipelined routers, whose flits hold the headers.
    Default: none.
    """

    input_queues: InputQueues = "virtual-output"
    """Which packets of an input buffer compete for outputs; only for input-queued routers."""

    links: Links = Field(default_factory=Links)
    """The link classes."""

    packet: Bytes = "4 KiB"
    """Largest packet, 1 B to 1 MiB, at least one flit. Messages are divided into packets."""

    pipeline: Pipeline = Field(default_factory=Pipeline)
    """The pipeline stages; only for pipelined routers."""

    reduction: Reduction | None = None
    """Sums in routers, for collectives with the algorithm "switches". Default: none."""

    router: RouterModel = "input-queued"
    """Where packets wait inside a router."""

    router_delay: Time = "100 ns"
    """Pipeline latency of a router; it does not limit throughput. Pipelined routers use `pipeline` instead."""

    routing: Routing = Field(default_factory=Routing)
    """How paths are chosen."""

    switching: Switching = "cut-through"
    """How a packet crosses a router."""

    traffic_classes: list[TrafficClass] = []
    """Traffic classes, `[[network.traffic_classes]]`, at most 8; a job selects one by `traffic_class`. Each
    class has its own virtual channels, as many as `routing.vcs` gives, and a share of every link. Not
    with output-queued routers. Default: none, so that all traffic is in one class.
    """

Affinity = Literal["block", "round-robin"]
"""Which interface of a node serves a rank.

`block`: Rank `r` of `n` on a node uses interface `r * interfaces / n`, rounded down: consecutive ranks
share one. Cray MPICH's default.

`round-robin`: Rank `r` on a node uses interface `r` modulo their number.
"""

Queues = Literal["fifo", "per-peer"]
"""The order of the messages that share a send queue.

`fifo`: First come, first served.

`per-peer`: Messages to the same node are first come, first served, as on a queue pair of InfiniBand;
different nodes take turns packet by packet. Control messages, which announce, request or acknowledge, go
before all others.
"""


class NicRates(Table):
    """Highest send rate of the interfaces, by class of nodes."""

    compute: Bandwidth | None = None
    """Compute nodes."""

    service: Bandwidth | None = None
    """Service nodes (`machine.service_routers`), such as I/O nodes."""

    storage: Bandwidth | None = None
    """Storage servers."""

SendQueues = Literal["one", "per-output"]
"""Which messages of a node share a send queue.

`one`: All messages of a traffic class, in the order of submission.

`per-output`: Messages that leave the node's router over the same cable and on the same level of virtual
channels. Each queue has its own terminal buffer, and queues take turns packet by packet, as a GPU has
separate engines for NVLink and for its NIC. Messages with a random or adaptive path, and messages to
nodes of the same router, use an additional queue. There are at most 16 queues; further outputs share
them.
"""


class Nic(Table):
    """The network interface of a node."""

    affinity: Affinity | None = None
    """Which interface of a node serves a rank, where `machine.interfaces` is above 1. A server answers each
    of its clients on one interface, by the client's number. Default: "block".
    """

    handoff: Jitter | None = None
    """Random delay, uniform in a range, of each handoff between host software and interface. Default: none."""

    message_delay: Time = "10 ns"
    """Time from the submission of a message to the interface until the message joins the interface's queue."""

    message_gap: Time | None = None
    """Least time from the start of one message to that of the next: "5 ns" is a rate of 200 million messages
    per second. Default: none.
    """

    message_queue: Annotated[int, Field(ge=1)] = 4194304
    """Largest number of messages that may wait at an interface, at least 1. A run that exceeds it ends as
    `queue-overflow`: sources that offer more load than the network accepts would fill the memory.
    """

    message_rates: list[RateAbove] | None = None
    """Other rates for longer messages, by increasing size, in place of `rate` and `rates`, e.g. [{ above =
    "2 MiB", rate = "22 GB/s" }]: libraries move messages of different sizes in different ways. Not
    without packets. Default: none.
    """

    one_way_above: Bytes | None = None
    """With `queues = "per-peer"`: two nodes carry messages above this size one way at a time, as MPI
    libraries over InfiniBand do, so that an exchange of two large messages has half the rate. Default: no
    such size.
    """

    queue: Annotated[int, Field(ge=1, le=16)] = 8
    """Number of packets that the interface prepares ahead of the terminal link, 1 to 16."""

    queues: Queues | None = None
    """The order of the messages in a send queue. Default: "fifo"."""

    rate: Bandwidth | None = None
    """Highest rate at which the interface sends, e.g. "2 GB/s". Default: the bandwidth of its link."""

    rates: NicRates = Field(default_factory=NicRates)
    """The same for each class of nodes, e.g. { compute = "2 GB/s", storage = "10 GB/s" }. Classes that are
    left out use `rate`.
    """

    receive_rate: Bandwidth | None = None
    """Highest rate at which the interface receives. Default: the bandwidth of its link. Not with pipelined
    routers.
    """

    send_queues: SendQueues = "one"
    """Which messages of a node share a send queue at its interface."""

    stripe_above: Bytes | None = None
    """With `machine.interfaces` above 1: messages with data above this size go in equal parts over several
    interfaces of both nodes, the interface of the rank and those after it, as MPI libraries do in the
    rendezvous protocol. Not for synthetic traffic. Default: each message uses one interface.
    """

    stripe_interfaces: Annotated[int, Field(ge=2)] | None = None
    """Number of interfaces of such a message, at least 2. Default: all of the node."""

WallTime = Annotated[str, StringConstraints(pattern=r"^\s*\+?[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?\s*(s|min|h)\s*$")]
"""A time on the wall: a number and one of s, min, h."""


class Optimism(Table):
    """Bounds of the optimistic scheduler. They limit how far it runs ahead, and so determine its speed."""

    events_per_round: Annotated[int, Field(ge=1)] = 128
    """A part goes beyond its window only until it has handled this many events in the round, including those
    of earlier rounds that may still have to be rolled back.
    """

    journal: Bytes = "256 MiB"
    """Maximum memory of a process for rolling back events; at least 1 MiB."""


class ListedParts(Table):
    """Parts by their first routers: `{ first_routers = [0, 96, 192] }`."""

    first_routers: list[Annotated[int, Field(ge=0)]]
    """The first router of each part, ascending from 0; a part ends where the next one begins."""

Scheduler = Literal["auto", "sequential", "conservative", "optimistic"]
"""The scheduler. All give equal results.

`auto`: Sequential for the first second; then the run tries parts on several threads, and keeps them if
they save a quarter of the wall time. `odonata check` reports the parts, and the run the choice.

`sequential`: One event after the other; part by part if the machine is larger than the caches of a core.

`conservative`: Parts of the machine advance in parallel, each as far as no other can influence it:
windows as long as the shortest delay between two parts (Chandy and Misra 1979; Lubachevsky 1989).

`optimistic`: Parts of the machine advance in parallel and speculatively; events that were handled too
early are rolled back (Time Warp, Jefferson 1985).
"""


class Timeline(Table):
    """What is recorded individually for `odonata timeline`: the calls of ranks, their messages, the accesses
    of storage servers, and the busiest links over time. Recording does not change the results.
    """

    ranks: list[Annotated[int, Field(ge=0)]] | None = None
    """Ranks of these jobs, e.g. [0, 1, 63]. Default: all."""

    every: Annotated[int, Field(ge=1)] = 1
    """Records only every n-th of these ranks: those whose number in their job is a multiple of n."""

    from_: Time = Field(default="0 s", validation_alias="from", serialization_alias="from")
    """Simulated time at which recording starts."""

    jobs: str | list[str] | None = None
    """Name of one or more jobs whose ranks are recorded; the name of an array means all of its jobs.
    Default: all jobs. (Synthetic traffic has no calls.)
    """

    links: Annotated[int, Field(ge=0)] = 16
    """Number of links, the busiest ones, that are recorded over time, in the intervals of
    `run.series_interval`; without that setting there are none.
    """

    rows: Annotated[int, Field(ge=0)] = 1000000
    """Maximum number of rows in each of the tables calls and accesses, and of steps from which flows and
    requests are derived (a message has three or four). Those that end first are kept; the others are only
    counted.
    """

    until: Time | None = None
    """Simulated time at which recording ends. Default: the end of the run."""


class Run(Table):
    """How long to run, what to record, and on how many cores."""

    baselines: bool = False
    """Whether each job is also run alone, on the same nodes and servers; the table slowdown compares the two
    runs. With a single job, nothing more is run. Alone, a job with `start_after` starts at its `start`,
    and traffic with `until` sends for as long as it did in the shared run.
    """

    blame: bool | None = None
    """Whether every wait of a packet or I/O request is charged to the job that caused it (tables blame and
    blame_series). Default: true if there is more than one job.
    """

    blame_sampling: Annotated[int, Field(ge=0)] = 1
    """Charges the waits at routers of only one in this many packets, drawn at random, and multiplies them by
    this number: an estimate that costs less than charging all waits. At most 1024; with 1, the default,
    all waits are charged exactly. Waits of messages at NICs and of requests at servers are always
    charged. Not available with `lost_time` or pipelined routers.
    """

    checkpoint_interval: WallTime | None = None
    """Wall time between two snapshots of the run, e.g. "10 min", from which `odonata run --resume` continues
    after the computer has failed. They are kept beside the result folder until it is complete. Default:
    none.
    """

    io_rows: Annotated[int, Field(ge=0)] = 1000000
    """Maximum number of I/O operations recorded individually; if there are more, histograms replace the
    rows.
    """

    lost_time: bool = False
    """Whether to compute how much later each job ends because of its waits, and which jobs caused this:
    waits are propagated along dependencies (table lost_time; by iteration, lost_time_iterations; with
    `series_interval` over time, lost_time_series). Needs `blame`.
    """

    lost_time_path: Annotated[int, Field(ge=0)] = 0
    """Number of the last waits of every rank to keep, with the causing job and the location (table
    lost_time_path): `odonata explain` derives from them the chain of waits that determines a job's end.
    At most 1000000; 0: none. Needs `lost_time`.
    """

    memory_limit: Bytes | None = None
    """Maximum memory of a process of the run, e.g. "8 GiB". A scenario that certainly needs more is refused;
    a run that exceeds the limit ends as `out-of-memory`, with the results up to then. Default: nine
    tenths of the memory available at the start, including the limits of control groups and of the address
    space.
    """

    message_rows: Annotated[int, Field(ge=0)] = 1000000
    """Maximum number of messages recorded individually; if there are more, histograms replace the rows. With
    0, synthetic sources also skip the check at each arrival: their messages are then counted as packets
    only, without message latency.
    """

    optimism: Optimism = Field(default_factory=Optimism)
    """Bounds of the optimistic scheduler."""

    parts: Literal["auto"] | Annotated[int, Field(ge=1)] | ListedParts = "auto"
    """How schedulers divide the machine: a number of parts, `{ first_routers = [0, 96, ...] }`, or "auto". A
    router is never separated from its nodes, and groups are divided only if there are more parts than
    groups.
    """

    queue_links: list[str] | None = None
    """Links whose queues are recorded over time, by their ends: "r3>r7" from router 3 to router 7, "n5>r1"
    from node 5, "r3>*" all that leave router 3, "*>n5" what leads to node 5. How full the buffer of each
    virtual channel is, how many packets wait for it, and how long the link stalls, in the intervals of
    `series_interval` (table queue_series). At most 1024 links.
    """

    scheduler: Scheduler = "auto"
    """The scheduler: "auto", "sequential", "conservative" or "optimistic". Results do not depend on this,
    nor on `threads`, `parts` and `optimism`.
    """

    series_interval: Time | None = None
    """Interval of the time series of links and jobs, e.g. "1 ms". Default: no series."""

    threads: Literal["auto"] | Annotated[int, Field(ge=1)] = "auto"
    """Maximum number of threads of each process; if `scheduler` is given, all of them work. "auto": one per
    core that the process may use; simultaneous baseline runs divide them among themselves.
    """

    time_limit: Time | None = None
    """Simulated time at which the run ends even if jobs have not ended. Default: none; the run ends when all
    jobs have.
    """

    timeline: Timeline | None = None
    """Records individual events of ranks, storage servers and links for `odonata timeline`; `{}` records all
    ranks for the whole run. Default: nothing is recorded.
    """

Architecture = Literal["compute-side", "node-local", "storage-side"]
"""Where the buffers of jobs are.

`compute-side`: On `nodes`, which many compute nodes share (compute-side global burst buffers).

`node-local`: On each compute node, for its own ranks (node-local burst buffers), which reach it without
the network; `nodes` stay empty.

`storage-side`: On the servers of the first of `tiers`, the I/O nodes, with the devices of these (storage-
side burst buffers); `nodes` stay empty, and `policy` is that of the I/O nodes.
"""

LostReads = Literal["error", "below"]
"""The result of reading lost bytes.

`error`: The run ends with the outcome `storage-failed`.

`below`: They are read as bytes that were never written: from the tier below, or as input that was there
before. They are counted.
"""

OnFailure = Literal["error", "re-route"]
"""What a client does when a server has answered none of its attempts.

`error`: The run ends with the outcome `storage-failed`.

`re-route`: From then on the rank regards the server as failed. For writes and reads it uses the server
with the next number that it does not regard as failed.
"""


class Client(Table):
    """What clients do when a storage server does not answer in time.

    A client repeats an unanswered request after `timeout`, and waits `backoff`, `2 backoff`, `4 backoff`
    ... between attempts, up to `retries` times. It gives up after `(1 + retries) timeout + (2^retries -
    1) backoff`. It ignores answers that come later.
    """

    timeout: Time
    """How long a client waits for the complete answer to a request, more than 0 s."""

    backoff: Time = "0 s"
    """Time from the first timeout to the next attempt; it doubles with each further attempt."""

    lost_reads: LostReads = "error"
    """Result of reading bytes that a failed server has lost and that have not been written since."""

    on_failure: OnFailure = "error"
    """What the client does after the last attempt."""

    retries: Annotated[int, Field(ge=0, le=30)] = 3
    """Number of repeated attempts at the same server, at most 30."""


class SeekCurve(Table):
    """Seek times, from three values of data sheets; they grow from the first to the last."""

    track_to_track: Time
    """To the next track, with settling there."""

    average: Time
    """Over a third of all tracks, the mean distance of two random tracks."""

    full_stroke: Time
    """Over all tracks."""


class Hdd(Table):
    """A hard disk: zones, seeks, rotation, read-ahead, write-back cache (B. Parsons, V. Pai, ISPASS 2013).
    Default: the preset `seagate-st2000nx0253`.
    """

    capacity: Bytes = "2 TB"
    """Capacity, 1 MiB to 1 PiB; with the rates, it gives the number of tracks."""

    command: Time = "20 us"
    """Time from an access to its first byte on the interface, without the platters."""

    inner_rate: Bandwidth = "68 MB/s"
    """Rate of the innermost zone; 1 kB/s up to the outermost rate."""

    interface: Bandwidth = "600 MB/s"
    """Rate of the interface to the host."""

    outer_rate: Bandwidth = "136 MB/s"
    """Rate of the outermost zone, where addresses begin; 1 kB/s to 1 TB/s."""

    read_ahead: Bytes = "512 KiB"
    """Bytes read after every read, before any other work."""

    read_ahead_most: Bytes = "4 MiB"
    """Maximum read-ahead while idle; at least `read_ahead`."""

    read_seek: SeekCurve | None = None
    """Seeks before a read."""

    reorder: Annotated[int, Field(ge=1, le=256)] = 32
    """Ranges that the write-back cache holds, 1 to 256; the range that takes least time is written next.
    Contiguous writes are one range.
    """

    rpm: Annotated[int, Field(ge=60, le=100000)] = 7200
    """Rotations per minute, 60 to 100,000."""

    segments: Annotated[int, Field(ge=1, le=8)] = 8
    """Segments of the read buffer, 1 to 8, replaced by least recent use."""

    write_cache: Bytes = "128 MiB"
    """Size of the write-back cache, at most 1 TiB; 0 B: a write ends on the platters."""

    write_seek: SeekCurve | None = None
    """Seeks before a write, which include a longer settling time."""

    zones: Annotated[int, Field(ge=1, le=64)] = 16
    """Number of zones, with equal numbers of tracks, 1 to 64."""


class Nvme(Table):
    """Flash behind a fast link: latencies, lanes, rates. Default: one card of the preset `datawarp-p3608`."""

    lanes: Annotated[int, Field(ge=1, le=64)] = 18
    """Accesses served concurrently, 1 to 64."""

    queue_depth: Annotated[int, Field(ge=1, le=65535)] = 1024
    """Accesses that the host submits concurrently, 1 to 65,535; more wait in the host."""

    read: Bandwidth = "5 GB/s"
    """Rate of all reads together."""

    read_latency: Time = "20 us"
    """Time from the start of a read to its first byte, more than 0."""

    write: Bandwidth = "3 GB/s"
    """Rate of all writes together."""

    write_latency: Time = "20 us"
    """Time from the start of a write to its first byte, more than 0."""


class Rate(Table):
    """A device with fixed rates: an access takes overhead + bytes / rate, and a seek if it does not continue
    the last one. Default: the burst buffer of the MFNetSim case study, without its seek.
    """

    overhead: Time = "20 us"
    """Fixed time per access."""

    read: Bandwidth = "5700 MiB/s"
    """Rate of reads."""

    seek: Time = "0 s"
    """Time added to an access that does not continue the last one."""

    seek_window: Bytes = "0 B"
    """Maximum gap after the last byte of an access at which the next one, in the same object, still
    continues it.
    """

    write: Bandwidth = "5700 MiB/s"
    """Rate of writes."""


class Ssd(Table):
    """Flash: pages over channels and ways (J. Yoo et al., SIMULTECH 2014). Default: the preset
    `intel-d3-s4510`.
    """

    channels: Annotated[int, Field(ge=1, le=64)] = 8
    """Channels, at least 1; channels x ways is at most 64."""

    page: Bytes = "4 KiB"
    """Bytes that a die reads or writes at once, 512 B to 1 GiB."""

    page_read: Time = "118 us"
    """R_page: time to read one page, more than 0."""

    page_write: Time = "71 us"
    """W_page: time to write one page, more than 0."""

    read_switch: Time = "9.601 us"
    """R_ch: time between dispatching reads to two dies."""

    ways: Annotated[int, Field(ge=1, le=64)] = 4
    """Dies of a channel, at least 1."""

    write_switch: Time = "10.074 us"
    """W_ch: time between dispatching writes to two dies."""


class Device(Table):
    """A device of a server: one of `rate`, `ssd`, `nvme` and `hdd` with its parameters, or the `preset` of a
    real one.
    """

    name: str | None = None
    """Name in rules and tables. Required if a server has several devices."""

    preset: str | None = None
    """Name of a preset, e.g. "intel-d3-s4510"; `odonata device show` lists them."""

    capacity: Bytes | None = None
    """Space on the device. Default: 6.4 TB; for a hard disk, its capacity."""

    hdd: Hdd | None = None
    """A hard disk: zones, seeks, rotation, caches."""

    nvme: Nvme | None = None
    """Flash behind a fast link: latencies, lanes, rates."""

    queue_depth: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Accesses that the server hands to the device at once, 1 to 65,535; more wait in the server. Default: 1
    for `rate`, the device's own `queue_depth` for `nvme`, 32 for `ssd` and `hdd`.
    """

    rate: Rate | None = None
    """A device with fixed rates. It is the default."""

    ssd: Ssd | None = None
    """Flash: pages over channels and ways."""


class Drain(Table):
    """How a server drains its data into the file system behind it."""

    bandwidth: Bandwidth = "1.6 GB/s"
    """Rate of one server towards the file system."""

    latency: Time = "1 us"
    """Time from a block's last byte to its acknowledgement, after which the server sends the next block."""

    threshold: Bytes = "0 B"
    """Space in use above which a server drains; at most the capacity."""


class FaultKindSlow(Table):
    """Factor on every duration, 1 to 1,000,000, to three decimals."""

    slow: float

FaultKind = Literal["stall", "fail"] | FaultKindSlow
"""What a fault does.

`stall`: It stops, and resumes its work afterwards.

`fail`: It fails, and returns empty after the fault. A failed storage server answers nothing, and loses
the data in its memory and on its devices, except data on their way down. A failed device (`device`) loses
its data, and its server continues with the others. A failed metadata server answers nothing and loses
nothing. Needs `storage.client`, and switches on `storage.manager.extents`.
"""


class Fault(Table):
    """A fault of one or all devices of a storage server, or of a metadata server."""

    server: Annotated[int, Field(ge=0)]
    """Number of the server, as in the tables `servers` and `metadata`."""

    at: Time
    """When it begins, simulated time."""

    kind: FaultKind
    """What happens."""

    device: str | None = None
    """Name of the device of a storage server of the first tier. Default: all of them."""

    duration: Time | None = None
    """Its duration; required for a stall. Default otherwise: to the end of the run."""

Sharing = Literal["fifo", "round-robin", "weighted"]
"""The order in which waiting jobs are served: for space, memory or a device.

`fifo`: First come, first served, across all jobs.

`round-robin`: Jobs in turn, a request or a piece each.

`weighted`: Jobs in proportion to their `io_weight`, by bytes (start-time fair queueing).
"""


class FileSystem(Table):
    """The file system behind the servers of the last tier, which are its I/O nodes: object servers, each
    with a rate, behind a link per I/O node. It is not simulated packet by packet: data use the I/O node's
    link, then queue at the object server.
    """

    bandwidth: Bandwidth = "2 GB/s"
    """Rate of an object server, for reading and for writing."""

    latency: Time = "50 us"
    """Latency between an I/O node and an object server, for each block of data and for its acknowledgement."""

    layout: Layout | None = None
    """Which object servers an object of the tier above is on."""

    link: Bandwidth = "5 GB/s"
    """Rate of each I/O node's link to the file system, in either direction."""

    object_servers: Annotated[int, Field(ge=1, le=65536)] = 16
    """Number of object servers, 1 to 65,536. I/O node k mod (I/O nodes) keeps the queue of server k; other
    I/O nodes reach it by control messages.
    """

    sharing: Sharing = "fifo"
    """The order in which waiting jobs are served by an object server."""


class Locks(Table):
    """Locks on ranges of files, as in Lustre. An access to a range that another node has locked waits until
    that node returns the lock, if one of the two accesses writes.
    """

    granularity: Bytes = "4 KiB"
    """Size of a page, at least 1 B. Ranges are rounded outwards to pages, so accesses of two nodes to the
    same page conflict even without overlap.
    """

    revocation: Time = "0 s"
    """Time that a node needs to return a lock, e.g. to write its cache, in addition to the messages."""

Acknowledge = Literal["device", "memory"]
"""When a write is acknowledged. It is committed when its last byte is on a device, in any case.

`device`: When it is on the device.

`memory`: When all its data are in the memory of the server, which writes them to the device afterwards
(write-back).
"""

Unwritten = Literal["exists-below", "error"]
"""The result of reading bytes that were never written.

`exists-below`: An ordinary read: the input existed before the run.

`error`: An error, which ends the run.
"""


class Manager(Table):
    """How a server handles a request: it moves the data in blocks, several of a request at once."""

    acknowledge: Acknowledge = "device"
    """When a write is acknowledged."""

    block: Bytes = "1 MB"
    """Size of the blocks in which data move."""

    control_message: Bytes = "128 B"
    """Size of a request, pull or acknowledgement message."""

    extents: bool = False
    """Whether a server keeps the place of every byte of a file. Then overwriting takes no new space, reads
    go to the place of the data, and the end of a run audits every byte; otherwise every write takes new
    space. Needs `object_per_file`.
    """

    memory: Bytes = "64 GB"
    """Memory for blocks in transit, over all requests; at least one block."""

    object_per_file: bool = True
    """Whether every file is an object of its own on the device. If not, all requests access one object from
    offset 0, as in the MFNetSim runs; blocks of different clients can then follow each other without a
    seek.
    """

    pieces_in_flight: Annotated[int, Field(ge=1)] = 4
    """Blocks of one request that may be in flight together, at least 1."""

    sharing: Sharing = "fifo"
    """The order in which waiting jobs get space, memory or a device."""

    unwritten: Unwritten = "exists-below"
    """The result of reading bytes that were never written. `"error"` needs `extents`."""

Distribution = Literal["by-file", "by-directory"]
"""Which metadata server has a file.

`by-file`: By a hash of directory and file: a directory is spread over all servers, as striped directories
of Lustre (DNE 2).

`by-directory`: By a hash of the directory: all its files are on one server, as in BeeGFS.
"""

NodeClass = Literal["compute", "service"]
"""A class of nodes.

`compute`: Nodes of jobs: each has a server of its own, which its ranks reach without the network (node-
local buffers). For the first tier only.

`service`: Service nodes (`machine.service_routers`). For tiers below the first.
"""

Position = Literal["first", "last"]
"""Which nodes of a group are storage servers.

`first`: The first ones; server `s` of the group is its node `s`.

`last`: The last ones, counted from the end: server 0 of the group is its last node.
"""


class Nodes(Table):
    """Which nodes are servers: `{ per_group = 2, position = "last" }`, `{ routers = [15] }`, or `{ list =
    [0, 32] }`.
    """

    class_: NodeClass | None = Field(default=None, validation_alias="class", serialization_alias="class")
    """All nodes of a class, instead of the other keys."""

    list: builtins.list[Annotated[int, Field(ge=0)]] | None = None
    """Node numbers in the whole machine, instead of the other keys; server s is the s-th of them."""

    per_group: Annotated[int, Field(ge=0)] | None = None
    """Servers in every group; server s of group g is number per_group x g + s. Default, with `position`: 2."""

    position: Position | None = None
    """Whether these are the first or the last nodes of the group. Default: "first"."""

    routers: builtins.list[Annotated[int, Field(ge=0)]] | None = None
    """Routers of every group whose nodes are all servers, numbered from 0 in the group; instead of
    `per_group` and `position`. Servers have the order of their nodes.
    """


class Metadata(Table):
    """Metadata servers, which open, create, look up and remove files, as the MDS of Lustre. Each is a queue
    with service threads. A call is a message to the server with the file's metadata, its wait and service
    there, and the answer.

    With the default times, one server of 16 threads creates 73 thousand and looks up 200 thousand files
    per second, close to IO500's measurement of Oakforest-PACS (mdtest easy, submission 454: 71.5 and 196
    thousand). The other times are not published: calls that only read take the time of `stat`, calls that
    change something the time of `create`.
    """

    close: Time = "80 us"
    """Time to close a file."""

    create: Time = "220 us"
    """Time to create a file."""

    distribution: Distribution = "by-file"
    """Which server has the metadata of a file."""

    mkdir: Time = "220 us"
    """Time to make a directory."""

    nodes: Nodes = Field(default_factory=Nodes)
    """Which nodes are metadata servers, as `storage.nodes`; they may be storage servers as well. Jobs get
    none of them. Default: one, the last node that is neither a storage server nor a service node.
    """

    open: Time = "80 us"
    """Time to open a file, in a service thread."""

    rmdir: Time = "220 us"
    """Time to remove a directory."""

    serial_directories: bool = False
    """Whether the calls that change a directory (create, unlink, mkdir, rmdir) are served one after the
    other in each directory, on each server with a part of it.
    """

    stat: Time = "80 us"
    """Time to look up the attributes of a file."""

    sync: Time = "220 us"
    """Time to make the attributes of a file durable (fsync)."""

    threads: Annotated[int, Field(ge=1)] = 16
    """Calls that a server works on at once, at least 1."""

    unlink: Time = "220 us"
    """Time to remove a file."""

DrainPolicy = Literal["immediately", "above-watermark", "job-end"]
"""When written data go down to the next tier.

`immediately`: As soon as it is on a device.

`above-watermark`: While a server has more than `watermark` bytes without a copy below.

`job-end`: When its job has ended.
"""

Eviction = Literal["lru", "oldest"]
"""Which clean copies leave first when space is needed.

`lru`: The least recently read copies, approximately: in the order in which they became clean, but a copy
that was read since its last turn is passed over once (second chance).

`oldest`: In the order in which they became clean.
"""

ReadPolicy = Literal["pass", "cache"]
"""Whether a server keeps data that it reads from below.

`pass`: Data go to the client and are not kept.

`cache`: Data go to the client, and then to the server's device as a clean copy, if there is space or an
older copy to evict.
"""

WritePolicy = Literal["back", "through", "around"]
"""Where a write goes, and when it is acknowledged.

`back`: Write-back: to the server's own device, acknowledged as `manager.acknowledge` says, and drained
later.

`through`: Write-through: to the device and to the next tier at once, acknowledged when both have it.

`around`: Write-around: to the next tier only, through the server's memory, acknowledged when the next
tier has the data.
"""


class Policy(Table):
    """How a tier uses the tier below it."""

    blocks_in_flight: Annotated[int, Field(ge=1, le=4096)] = 8
    """Blocks of a server in flight to the tier below, or from there to its device, 1 to 4,096. They have
    their own memory in addition to `manager.memory`, so requests that free memory never wait for it.
    """

    drain: DrainPolicy = "immediately"
    """When written data go down to the next tier (`write = "back"`). With every value, a server also drains
    while a write waits for space.
    """

    eviction: Eviction = "lru"
    """Which clean copies leave first when space is needed."""

    keep: bool = False
    """Whether drained data stay as a clean copy until their space is needed. If not, their space is free at
    once.
    """

    read: ReadPolicy = "pass"
    """Whether a server keeps data that it reads from below."""

    read_ahead: Bytes | None = None
    """Bytes that a server fetches from below ahead of a reader that continues where its last read ended, or
    begins a file. Needs `read = "cache"`. Default: "0 B", none.
    """

    watermark: Bytes = "0 B"
    """With `drain = "above-watermark"`: bytes without a copy below, above which a server drains."""

    write: WritePolicy = "back"
    """Where a write goes, and when it is acknowledged."""

FileKind = Literal["input", "output", "checkpoint", "scratch"]
"""The purpose of a file.

`input`: Data that a job reads.

`output`: Data that a job produces.

`checkpoint`: State to resume a job from.

`scratch`: Data not needed after the job.
"""


class Rule(Table):
    """One rule. It matches an access if all its conditions hold; a rule without conditions matches all."""

    device: str
    """Name of the device for matching accesses."""

    below: Bytes | None = None
    """Requests of fewer bytes than this, at least 1 B. Default: any size."""

    files: list[FileKind] | None = None
    """Files of these kinds; scenarios do not set kinds yet. Default: any kind."""

SyncDepth = Literal["device", "below"]
"""What the synchronization of a file (`fsync`) waits for.

`device`: Until all acknowledged data of the file are on devices of its servers, with volatile caches
written out.

`below`: Until the data are in the last tier: data only in the buffers are drained, whatever the `policy`.
Needs a tier below.
"""


class Tier(Table):
    """A tier of storage servers below the first: their clients are the servers of the tier above, over the
    network.
    """

    name: str = ""
    """Name in tables."""

    assignment: Assignment = "round-robin"
    """Which server of the tier each server of the tier above uses, if the layout does not determine it.
    Default: "round-robin".
    """

    device: Device | None = None
    """The device of each server. Default, without `devices`: none, the servers only forward data (I/O
    forwarding).
    """

    devices: list[Device] | None = None
    """The devices of each server if it has several, in place of `device`; each needs a name."""

    drain: Drain | None = None
    """How its servers drain their data if there is no tier below, as `storage.drain`."""

    layout: Layout = "assigned"
    """Which servers of the tier an object of the tier above is on."""

    manager: Manager = Field(default_factory=Manager)
    """How a server handles requests; the size of control messages is that of `storage.manager`."""

    nodes: Nodes = Field(default_factory=Nodes)
    """Which nodes its servers are on; these are never given to jobs. Default: the service nodes of the
    machine; if it has none, one per 32 compute nodes, rounded up, spread evenly over the machine.
    """

    policy: Policy = Field(default_factory=Policy)
    """How it uses the tier below it."""

    rules: list[Rule] | None = None
    """Which of several devices takes a request, as `storage.rules`."""


class Storage(Table):
    """Storage servers (burst buffers) on nodes of the machine. Their nodes are never given to jobs."""

    architecture: Architecture | None = None
    """Where the buffers of jobs are: the same machine with its buffers elsewhere."""

    assignment: Assignment | None = None
    """Which server the ranks on a compute node use, if the layout of a file does not determine it. Default:
    "by-group", and "round-robin" if `nodes` is left out.
    """

    client: Client | None = None
    """What clients do when a server does not answer in time. Default: they wait."""

    device: Device = Field(default_factory=Device)
    """The device of each server."""

    devices: list[Device] | None = None
    """The devices of each server if it has several, in place of `device`; each needs a name."""

    drain: Drain | None = None
    """How a server drains its data into the file system behind it. Default: written data stay, and writes
    wait while the device is full.
    """

    faults: list[Fault] | None = None
    """Faults: devices and metadata servers that are slow or stop for a while, and servers and devices that
    fail, e.g. `[{ server = 3, at = "1 s", duration = "500 ms", kind = { slow = 4.0 } }, { server = 5, at
    = "2 s", kind = "fail" }]`. Faults of one device must not overlap.
    """

    file_system: FileSystem | None = None
    """The file system behind the servers of the last tier. Default: none, data stay on these servers."""

    layout: Layout = "assigned"
    """Which servers a file is on; jobs may set their own layout (`jobs.io.layout`)."""

    locks: Locks | None = None
    """Locks on ranges of files. Default: none."""

    manager: Manager = Field(default_factory=Manager)
    """How a server handles requests."""

    metadata: Metadata | None = None
    """Metadata servers. Default: none, opening, creating and removing files takes no time."""

    nodes: Nodes = Field(default_factory=Nodes)
    """Which nodes are servers. Default: one per 32 compute nodes, rounded up, spread evenly over the
    machine.
    """

    policy: Policy | None = None
    """How a server uses the tier below it, `tiers` or `file_system`."""

    rules: list[Rule] | None = None
    """Which of several devices takes a request: the first rule that fits, e.g. `[{ device = "ssd", below =
    "64 kB" }, { device = "hdd" }]`. All data of a write request go to one device.
    """

    sync: SyncDepth | None = None
    """What `fsync` waits for, in addition to the metadata server if there is one."""

    tiers: list[Tier] | None = None
    """The tiers of servers below these, the next one first: drained data go there over the network, packet
    by packet.
    """

    write_behind: Bytes = "0 B"
    """Unacknowledged bytes that a rank may have when a write returns; jobs may set their own value
    (`jobs.io.write_behind`). Default: "0 B", a write returns when it is acknowledged.
    """


class Scenario(ScenarioTable):
    """A scenario: a machine, its network and storage, and the jobs that share it.

    Quantities are strings of a number and a unit, such as "30 ns", "8 KiB" or "5.25 GiB/s"; GiB (2^30)
    and GB (10^9) are different units. Keys that a file leaves out are taken from its preset, or else have
    their defaults.

    >>> Scenario(preset="theta", seed=7).to_dict()
    {'preset': 'theta', 'seed': 7}
    """

    name: str | None = None
    """Name of the scenario, for titles and tables. Default: the name of its file, or "scenario" if it is not
    in a file.
    """

    preset: str | None = None
    """A set of keys to start from: "codes-compatible" (the MFNetSim case study as it was run) or "mfnetsim"
    (as its paper describes it); a machine without jobs: "theta", "theta-full", "edison", "cori", "cori-
    like", "cori-like-authors", "trinity" (Cray XC), "bluegene-p", "bluegene-q", "frontier", "frontier-
    like", "lumi", "perlmutter", "aurora", "alps" (Slingshot), "leonardo", "marenostrum5" (InfiniBand),
    "fugaku" (Tofu), "dgx-h100-superpod", "dgx-h100-superpod-like", "dgx-gb200" (GPUs with rails); BookSim
    2's router without a machine: "booksim". Keys of this file replace those of the preset one by one.
    Default: none.
    """

    seed: Annotated[int, Field(ge=0, le=9223372036854775807)] = 1
    """Seed of every random choice; equal seeds give equal results. Default: 1."""

    jobs: list[Job] | None = None
    """The jobs; at least one."""

    machine: Machine | None = None
    """The machine's graph. Required, here or in the preset."""

    mpi: Mpi = Field(default_factory=Mpi)
    """Costs and protocols of MPI calls, algorithms of collectives."""

    network: Network = Field(default_factory=Network)
    """Links, routers, routing."""

    nic: Nic = Field(default_factory=Nic)
    """The interface between a node and its router."""

    run: Run = Field(default_factory=Run)
    """How long to run, what to record, and on how many cores."""

    storage: Storage | None = None
    """Storage servers on nodes of the machine. Default: none; jobs that do I/O need some."""
