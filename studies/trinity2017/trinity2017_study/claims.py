"""Section IV-B: IOR's writes and reads, on phase II (figures 7 to 9) and after the merge (10 to 13)."""

from __future__ import annotations

from collections.abc import Sequence

from study_tools.claims import Claim, Kind, Value, near, yes

from trinity2017_study.measures import Run

Runs = Sequence[Run]

#: "The simulation error rate we got is less than 15%".
ERROR = 0.15
#: Injection rate of a node, bytes/s.
NODE = 2.0e9
#: Rate of all burst buffers of the merged machine: 230 reach 1,200 GB/s, and it has 570.
MERGED_BUFFERS = 570 * 1200e9 / 230


def where(runs: Runs, **wanted: object) -> list[Run]:
    """The runs with these values; writes by default."""
    wanted = {"access": "write", **wanted}
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
        for expected in [min(run.nodes * NODE, MERGED_BUFFERS)]
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
        "the three arrangements of global links make a difference",
        "differ",
        "merged, N-N: bandwidth under the best / worst arrangement at least 1.05, size by size",
        cabling,
    ),
]
