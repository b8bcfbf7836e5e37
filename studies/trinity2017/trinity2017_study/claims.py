"""Section IV-B: IOR's writes and reads, on phase II (figures 7 to 9) and after the merge (10 to 13), and
replayed logs (figure 14).

The text states errors of a simulation against the machine and prints no bandwidth after the merge. There an
error is the difference from what injection and buffers of the machine allow (`allowed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from study_tools.claims import Claim, Kind, Value, near, yes

from trinity2017_study.logs import Replay
from trinity2017_study.measures import Run

Runs = Sequence[Run]

#: "The simulation error rate we got is less than 15%".
ERROR = 0.15
#: Injection rate of a node, bytes/s.
NODE = 2.0e9
#: Rate at which a node receives: its link, bytes/s.
LINK = 8.0e9
#: "A 50% error rate", within so much.
LOGS_ERROR, LOGS_TOLERANCE = 0.5, 0.2
#: Least relative difference that counts as more.
NOTICED = 0.05
#: "Obvious interference": least slowdown.
OBVIOUS = 1.05
#: Rate of all burst buffers of the merged machine: 230 reach 1,200 GB/s, and it has 570.
MERGED_BUFFERS = 570 * 1200e9 / 230


def where(runs: Runs, **wanted: object) -> list[Run]:
    """The runs with these values; by default writes to files that begin where a hash says."""
    wanted = {"access": "write", "start": "hash", **wanted}
    return [run for run in runs if all(getattr(run, key) == value for key, value in wanted.items())]


def two_per_node(runs: Runs) -> list[Value]:
    return [
        Value("", run.name, run.per_node / 1e9, "GB/s", near(run.per_node, NODE, ERROR))
        for run in where(runs, machine="phase2", files="N-N")
        if run.nodes <= 256
    ]


def local_links(runs: Runs) -> list[Value]:
    values = []
    for run in where(runs, machine="phase2", files="N-N"):
        if 256 <= run.nodes <= 512:
            values += [
                Value("local", run.name, run.local_busy, "%", yes(run.local_busy > run.global_busy)),
                Value("global", run.name, run.global_busy, "%"),
                Value("per node", run.name, run.per_node / 1e9, "GB/s", yes(run.per_node < 0.95 * NODE)),
            ]
    return values


def buffers_cap(runs: Runs) -> list[Value]:
    return [
        Value("", run.name, run.bandwidth / 1e9, "GB/s", near(run.bandwidth, 1200e9, ERROR))
        for run in where(runs, machine="phase2", files="N-N")
        if run.nodes > 512
    ]


def shared_as_separate(runs: Runs) -> list[Value]:
    separate = {
        (run.machine, run.nodes, run.transfers): run
        for run in where(runs, files="N-N", arrangement="absolute")
    }
    return [
        Value("N-1 / N-N", run.name, ratio, "x", near(ratio, 1.0, ERROR))
        for run in where(runs, files="N-1")
        if (run.machine, run.nodes, run.transfers) in separate
        for ratio in [run.bandwidth / separate[run.machine, run.nodes, run.transfers].bandwidth]
    ]


def reads_end(runs: Runs) -> list[Value]:
    return [
        Value("read", run.name, run.bandwidth / 1e9, "GB/s", yes(run.bandwidth > 0))
        for run in where(runs, machine="phase2", files="N-N", access="read")
        if run.nodes >= 1024
    ]


def one_group_to_two(runs: Runs) -> list[Value]:
    shared = {run.nodes: run for run in where(runs, machine="merged", files="N-1", arrangement="absolute")}
    if not {256, 512} <= shared.keys():
        return []
    ratio = shared[512].per_node / shared[256].per_node
    return [Value("per node, 512 / 256", shared[512].name, ratio, "x", yes(ratio < 1 - ERROR))]


def allowed(run: Run) -> float:
    """What nodes and buffers of the merged machine allow, bytes/s."""
    return min(run.nodes * (NODE if run.access == "write" else LINK), MERGED_BUFFERS)


def error(run: Run) -> float:
    """Relative difference from `allowed`."""
    return abs(run.bandwidth / allowed(run) - 1)


def shared_gap(runs: Runs) -> list[Value]:
    shared = {run.nodes: run for run in where(runs, machine="merged", files="N-1", arrangement="absolute")}
    if not {256, 512} <= shared.keys():
        return []
    before, after = error(shared[256]), error(shared[512])
    return [
        Value("error, 256", shared[256].name, before, "%", yes(before <= ERROR)),
        Value("error, 512", shared[512].name, after, "%", yes(after > ERROR)),
    ]


def read_errors(files: str) -> Callable[[Runs], list[Value]]:
    def measure(runs: Runs) -> list[Value]:
        return [
            Value("error", run.name, error(run), "%", yes(error(run) > ERROR))
            for run in where(runs, machine="merged", files=files, access="read")
            if run.nodes in (2048, 4096)
        ]

    return measure


def read_grows(runs: Runs) -> list[Value]:
    return [
        Value(value.quantity, value.case, value.number, value.unit, yes(value.number > 1 + NOTICED))
        for value in read_capped(runs)
    ]


def even_start(runs: Runs) -> list[Value]:
    turns = where(runs, machine="phase2", files="N-N", start="round-robin")
    hashed = {(run.nodes, run.transfers): run for run in where(runs, machine="phase2", files="N-N")}
    return [
        Value("in turn / hash", run.name, ratio, "x", yes(ratio > 1 + NOTICED))
        for run in turns
        if run.nodes >= 256 and (run.nodes, run.transfers) in hashed
        for ratio in [run.bandwidth / hashed[run.nodes, run.transfers].bandwidth]
    ]


def no_number(runs: Runs) -> list[Value]:
    """The runs of figure 8: shown, not graded, as the text prints no number."""
    return [
        Value("N-1", run.name, run.bandwidth / 1e9, "GB/s")
        for run in where(runs, machine="phase2", files="N-1")
    ]


def log_error(replays: Sequence[Replay]) -> list[Value]:
    alone = [one for one in replays if not one.beside]
    if not alone:
        return []
    errors = [abs(one.simulated / one.logged - 1) for one in alone]
    mean = sum(errors) / len(errors)
    grade = near(mean, LOGS_ERROR, LOGS_TOLERANCE / LOGS_ERROR)
    return [
        Value("mean error", f"{len(alone)} logs", mean, "%", grade),
        *(Value("one log", one.log, off, "%") for one, off in zip(alone, errors, strict=True)),
    ]


def log_interference(replays: Sequence[Replay]) -> list[Value]:
    return [
        Value(
            "beside another",
            f"{one.log} beside {one.beside}",
            one.slowdown,
            "x",
            yes(one.slowdown >= OBVIOUS),
        )
        for one in replays
        if one.beside
    ]


def read_capped(runs: Runs) -> list[Value]:
    reads = {run.nodes: run for run in where(runs, machine="merged", files="N-N", access="read")}
    if not {4096, 8192} <= reads.keys():
        return []
    ratio = reads[8192].bandwidth / reads[4096].bandwidth
    return [Value("8,192 / 4,096 nodes", reads[8192].name, ratio, "x", near(ratio, 1.0, ERROR))]


def merged_per_node(runs: Runs) -> list[Value]:
    return [
        Value("", run.name, run.bandwidth / 1e9, "GB/s", near(run.bandwidth, expected, ERROR))
        for run in where(runs, machine="merged", files="N-N", arrangement="absolute")
        if run.nodes <= 2048
        for expected in [allowed(run)]
    ]


def cabling(runs: Runs) -> list[Value]:
    merged = where(runs, machine="merged", files="N-N")
    values = []
    for nodes in sorted({run.nodes for run in merged}):
        found = [run.bandwidth for run in where(merged, nodes=nodes)]
        if len(found) > 1:
            ratio = max(found) / min(found)
            values.append(Value("best / worst", f"{nodes}", ratio, "x", yes(ratio >= 1.05)))
    return values


CLAIMS: list[Claim[Runs]] = [
    Claim(
        "two-per-node",
        "IV-B.1, fig. 7",
        "1 to 256 nodes: each compute node can keep 2.0 GB/s, limited by its injection rate",
        "2.0 GB/s",
        "phase II, N-N: bandwidth per node within 15% of 2.0 GB/s, up to 256 nodes",
        two_per_node,
    ),
    Claim(
        "local-links",
        "IV-B.1, fig. 7",
        "256 to 512 nodes: the local links are the bottleneck, global links are not fully used",
        "local",
        "phase II, N-N, 256 and 512 nodes: busiest local link busier than the busiest global one; "
        "per node below 95% of 2.0 GB/s",
        local_links,
    ),
    Claim(
        "buffers-cap",
        "IV-B.1, fig. 7",
        "512 to 8,192 nodes: capped by the burst buffers, 230 of which reach 1,200 GB/s",
        "1,200 GB/s",
        "phase II, N-N, more than 512 nodes: bandwidth within 15% of 1,200 GB/s",
        buffers_cap,
    ),
    Claim(
        "shared-file",
        "IV-B.2, fig. 8, 11",
        "N-1 writes about as fast as N-N; the paper compares the accuracy of the two, after the merge, "
        "without numbers",
        "similar",
        "both machines, write: bandwidth, N-1 / N-N within 15%, size by size",
        shared_as_separate,
        kind=Kind.OWN,
    ),
    Claim(
        "read-1k",
        "IV-B.1, fig. 9",
        "N-N read works with 1,024 nodes and more, where the paper's simulation crashes",
        "1K",
        "phase II, N-N, read, 1,024 nodes or more: ours ends, with a bandwidth",
        reads_end,
        kind=Kind.OWN,
    ),
    Claim(
        "merged-per-node",
        "IV-B.2, fig. 10",
        "N-N write after the merge: a gap with 4K and 8K nodes, but before that the accuracy is fine",
        "15%",
        "merged, N-N, absolute, up to 2,048 nodes: bandwidth within 15% of what the machine can do, "
        "2.0 GB/s per node, and 1,200 / 230 GB/s per burst buffer at most (the paper prints no bandwidth)",
        merged_per_node,
    ),
    Claim(
        "two-groups",
        "IV-B.2, fig. 11",
        "N-1 write: a node gets less from 256 to 512 nodes, from one group to two, where the paper sees a "
        "gap between simulation and machine",
        "gap",
        "merged, N-1, write: bandwidth per node with 512 nodes at least 15% below that with 256",
        one_group_to_two,
        kind=Kind.OWN,
    ),
    Claim(
        "shared-gap",
        "IV-B.2, fig. 11",
        "N-1 write: a gap to the machine appears from 256 to 512 nodes, from one group to two",
        "gap",
        "merged, N-1, write: error at most 15% with 256 nodes and above with 512, against 2.0 GB/s per node",
        shared_gap,
    ),
    Claim(
        "read-error",
        "IV-B.2, fig. 12",
        "N-N read: the error is bigger than 15% with 2K and 4K nodes",
        "> 15%",
        "merged, N-N, read, 2,048 and 4,096 nodes: error above 15% against what links and buffers allow",
        read_errors("N-N"),
    ),
    Claim(
        "shared-read-error",
        "IV-B.2, fig. 13",
        "N-1 read: the accuracy problem is obvious with 2K and 4K nodes",
        "> 15%",
        "merged, N-1, read, 2,048 and 4,096 nodes: error above 15% against what links and buffers allow",
        read_errors("N-1"),
    ),
    Claim(
        "read-grows",
        "IV-B.2, fig. 12",
        "N-N read: the machine's bandwidth still increases at 8K nodes",
        "more",
        "merged, N-N, read: bandwidth with 8,192 nodes above that with 4,096 by 5%",
        read_grows,
    ),
    Claim(
        "shared-phase2",
        "IV-B.1, fig. 8",
        "N-1 write on phase II: the simulation matches neither of two sets of measurements",
        "no match",
        "not judged: the text prints no bandwidth of either set",
        no_number,
    ),
    Claim(
        "even-start",
        "III-B.3",
        "where a file begins decides how even the load of the buffers is; the text does not say where",
        "more",
        "phase II, N-N write, 256 nodes or more: bandwidth with files that begin at the buffers in turn "
        "above that with a hash by 5%",
        even_start,
        kind=Kind.OWN,
    ),
    Claim(
        "read-cap",
        "IV-B.2, fig. 12",
        "N-N read: the simulation reaches a cap at 8K nodes, the machine does not",
        "cap",
        "merged, N-N, read: bandwidth with 8,192 nodes within 15% of that with 4,096",
        read_capped,
    ),
    Claim(
        "cabling",
        "III-B.2",
        "the three arrangements of global links make a difference (result of a paper that the text cites)",
        "differ",
        "merged, N-N: bandwidth under the best / worst arrangement at least 1.05, size by size",
        cabling,
        kind=Kind.PUBLISHED,
    ),
]

#: Section IV-B.3: replayed Darshan logs.
LOG_CLAIMS: list[Claim[Sequence[Replay]]] = [
    Claim(
        "log-error",
        "IV-B.3, fig. 14",
        "throughput of replayed Darshan logs is off by 50% from that in the logs",
        "50%",
        "mean over logs of the relative difference: 30 to 70%; other logs, of other file systems",
        log_error,
    ),
    Claim(
        "log-interference",
        "I",
        "replayed logs show an obvious interference between applications that share burst buffers",
        "obvious",
        "two logs at once: time in reads and writes at least 1.05 times that alone, log by log",
        log_interference,
    ),
]
