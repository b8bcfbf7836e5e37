"""Traffic patterns, applications, rules between jobs, placement, and recordings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import ROOT, Case, merged

Table = dict[str, Any]

#: 72 nodes.
DRAGONFLY: Table = {
    "dragonfly": {
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports_per_router": 2,
    }
}
ADAPTIVE: Table = {"packet": "2 KiB", "routing": {"algorithm": "progressive-adaptive"}}
STORAGE: Table = {
    "nodes": {"per_group": 1},
    "manager": {"block": "16 KiB", "memory": "64 KiB"},
}


def on_dragonfly(jobs: list[Table], **more: Any) -> Table:
    """A scenario with these jobs."""
    return merged({"machine": DRAGONFLY, "network": ADAPTIVE, "jobs": jobs}, more)


def job(ranks: int, workload: Any, **keys: Any) -> Table:
    """A job."""
    return {"ranks": ranks, "workload": workload, **keys}


#: Pattern, ranks, its own keys.
PATTERNS: list[tuple[str, int, Table]] = [
    ("uniform", 60, {}),
    ("uniform", 60, {"self": True}),
    ("next-group", 72, {}),
    ("next-group", 60, {"ranks_per_group": 10}),
    ("permutation", 50, {}),
    ("permutation", 50, {"seed": 9}),
    ("neighbors", 60, {}),
    ("neighbors", 60, {"dims": [6, 10], "reach": "box", "turn": "in-order", "wrap": False}),
    ("hot-spot", 60, {"share": 0.3, "targets": [4, 11]}),
    ("incast", 40, {"targets": [3, 30]}),
    ("all-to-all", 30, {}),
    ("tornado", 60, {}),
    ("transpose", 64, {}),
    ("bit-complement", 64, {}),
    ("bit-reverse", 64, {}),
    ("shuffle", 64, {}),
    ("bit-rotation", 64, {}),
    ("asymmetric", 64, {}),
    ("shift", 60, {"by": 7}),
    *[
        ("grid", 64, {"dims": [8, 4], "ranks_per_router": 2, "step": step})
        for step in ("neighbor", "diagonal", "tornado", "next")
    ],
    *[
        ("grid", 50, {"dims": [5, 5], "ranks_per_router": 2, "step": step})
        for step in ("transpose", "complement-reverse")
    ],
    ("worst-case", 72, {}),
]

ARRIVALS: dict[str, Table] = {
    "fixed": {"mean_interval": "1 us", "arrival": "fixed"},
    "exponential": {"mean_interval": "1 us", "arrival": "exponential"},
    "bernoulli": {"load": 0.2, "arrival": "bernoulli", "period": "3 ns"},
    "on-off": {"load": 0.1, "arrival": "on-off", "alpha": 0.01, "beta": 0.02, "period": "10 ns"},
    "bursts": {"mean_interval": "300 ns", "on": "2 us", "off": "5 us"},
}


def patterns() -> Iterator[Case]:
    """Every synthetic pattern, and every kind of arrival."""
    for number, (name, ranks, keys) in enumerate(PATTERNS):
        workload = {name: {"load": 0.3, "bytes": "3 KiB", "messages": 15, **keys}}
        own = "-".join(str(keys.get(key)) for key in ("step", "seed", "reach") if key in keys)
        label = f"pattern/{name}/{own or number}"
        yield Case(label, on_dragonfly([job(ranks, workload)]))
    for name, keys in ARRIVALS.items():
        workload = {"uniform": {"bytes": "1 KiB", "messages": 20, **keys}}
        yield Case(f"arrival/{name}", on_dragonfly([job(60, workload, placement="random")]))
    stop = {"uniform": {"bytes": "1 KiB", "load": 0.2, "stop": "9 us"}}
    yield Case("arrival/stop", on_dragonfly([job(60, stop)]))


#: A small model of a training.
MODEL: Table = {"hidden": 64, "sequence": 32, "vocabulary": 500, "flops": 1e12}

#: Name, ranks, workload.
APPLICATIONS: list[tuple[str, int, Any]] = [
    ("milc", 54, {"milc": {"iterations": 2, "message": "20 KiB", "compute": "2 us"}}),
    ("milc-grid", 48, {"milc": {"iterations": 2, "message": "9 KiB", "dims": [2, 2, 3, 4]}}),
    ("nekbone", 60, {"nekbone": {"cg_iterations": 2, "elements_per_edge": 5, "orders": [3, 5]}}),
    ("ior", 40, {"ior": "-w -r -t 64k -b 128k -s 2 -i 2 -F -C"}),
    ("ior-strided", 40, {"ior": "-w -r -t 32k -b 32k -s 4 -z -e"}),
    ("ior-collective", 24, {"ior": "-a MPIIO -c -w -r -t 32k -b 64k -D 0"}),
    (
        "ior-deadline",
        24,
        {"ior": {"writeFile": True, "transferSize": "32 KiB", "deadlineForStonewalling": "40 us"}},
    ),
    (
        "checkpoint-restart",
        24,
        {
            "checkpoint-restart": {
                "work": "4 ms",
                "mtti": "2 ms",
                "total": "480 kB",
                "record": "5 kB",
                "restart": "50 us",
            }
        },
    ),
    (
        "data-loader",
        24,
        {
            "data-loader": {
                "files": 12,
                "samples_per_file": 64,
                "sample": "10 kB",
                "batch": 4,
                "epochs": 2,
                "steps": 3,
                "compute": "20 us",
                "gradient": "36 kB",
            }
        },
    ),
    *[
        (
            f"nccl-{collective}-{protocol}" + ("" if algorithm == "ring" else f"-{algorithm}"),
            24,
            {
                "nccl": {
                    "bytes": "200 kB",
                    "collective": collective,
                    "algorithm": algorithm,
                    "protocol": protocol,
                    "channels": 3,
                    "chunk": "9 kB",
                    "gpus_per_host": 1 if algorithm == "pat" else 4,
                    "iterations": 2,
                }
            },
        )
        for collective, protocol, algorithm in (
            ("all-reduce", "simple", "ring"),
            ("all-reduce", "simple", "tree"),
            ("all-reduce", "ll128", "nvls"),
            ("all-reduce", "simple", "collnet"),
            ("all-reduce", "auto", "auto"),
            ("all-gather", "auto", "ring"),
            ("all-gather", "ll", "ring"),
            ("reduce-scatter", "ll128", "ring"),
            ("all-gather", "auto", "pat"),
            ("reduce-scatter", "simple", "pat"),
            ("broadcast", "simple", "ring"),
        )
    ],
    *[
        (
            f"training-{schedule}",
            24,
            {
                "training": MODEL
                | {
                    "layers": 6,
                    "tensor": 2,
                    "pipeline": 3,
                    "experts": experts,
                    "expert": experts,
                    "micro_batches": 4,
                    "schedule": schedule,
                    "gradients": gradients,
                    "sample": "3 kB",
                    "checkpoint_interval": 1,
                }
            },
        )
        for schedule, gradients, experts in (("1f1b", "all-reduce", 2), ("gpipe", "sharded", 1))
    ],
    (
        "training-interleaved",
        24,
        {
            "training": MODEL
            | {
                "layers": 13,
                "tensor": 2,
                "pipeline": 3,
                "interleave": 2,
                "micro_batches": 6,
                "overlap_gradients": True,
            }
        },
    ),
    (
        "training-overlapped",
        24,
        {
            "training": MODEL
            | {
                "layers": 7,
                "pipeline": 3,
                "experts": 4,
                "expert": 4,
                "dense_layers": 1,
                "micro_batches": 4,
                "gradients": "sharded",
                "overlap_gradients": True,
                "straggler": {"rank": 5, "slowdown": 1.3},
            }
        },
    ),
    *[
        (
            f"training-failures-{name}",
            24,
            {
                "training": MODEL
                | {
                    "layers": 6,
                    "tensor": 2,
                    "pipeline": 3,
                    "experts": 4,
                    "expert": 2,
                    "micro_batches": 2,
                    "iterations": 5,
                    "sample": "3 kB",
                    "checkpoint_interval": 2,
                    "failures": {"restart": "20 us", **failures},
                    **more,
                }
            },
        )
        for name, failures, more in (
            ("after", {"after": [1, 5]}, {}),
            ("mean", {"mean": 3.0, "seed": 4}, {"nccl": {"channels": 2, "gpus_per_host": 4}}),
        )
    ],
    *[
        (
            f"training-nccl-{name}",
            24,
            {
                "training": MODEL
                | {
                    "layers": 6,
                    "tensor": 2,
                    "pipeline": 3,
                    "experts": 2,
                    "expert": 2,
                    "micro_batches": 4,
                    "gradients": gradients,
                    "overlap_gradients": name == "overlapped",
                    "nccl": {
                        "algorithm": algorithm,
                        "protocol": protocol,
                        "channels": 2,
                        "chunk": "8 KiB",
                        "gpus_per_host": 4,
                    },
                }
            },
        )
        for name, algorithm, protocol, gradients in (
            ("ring", "ring", "simple", "sharded"),
            ("tree", "tree", "ll", "all-reduce"),
            ("auto", "auto", "auto", "all-reduce"),
            ("overlapped", "ring", "simple", "sharded"),
        )
    ],
    *[
        (
            f"inference-{transfer}",
            24,
            {
                "inference": {
                    "model": "mixtral-8x7b",
                    "layers": 2,
                    "prefill": 2,
                    "prefill_tensor": 4,
                    "decode": 8,
                    "decode_tensor": 2,
                    "requests": 30,
                    "interval": "50 us",
                    "prompt": 20,
                    "output": 3,
                    "batch": 3,
                    "kv_transfer": transfer,
                }
            },
        )
        for transfer in ("whole", "layerwise")
    ],
    ("allreduce-offload", 60, {"allreduce": {"bytes": "64 B", "algorithm": "offload", "iterations": 20}}),
    ("checkpoint", 40, {"checkpoint": {"iterations": 2, "total": "2 MB", "interval": "4 us"}}),
    (
        "checkpoint-at-zero",
        40,
        {"checkpoint": {"total": "2 MB", "interval": "4 us", "coordinated": False, "offset": "zero"}},
    ),
    (
        "cosmoflow",
        40,
        {"cosmoflow": {"iterations": 3, "elements": 9000, "sample": "90 KiB", "compute": "20 us"}},
    ),
    (
        "cosmoflow-writes",
        40,
        {
            "cosmoflow": {
                "iterations": 2,
                "elements": 9000,
                "sample": "90 KiB",
                "compute": "20 us",
                "io": "write",
                "pipelined": False,
            }
        },
    ),
    *[
        (
            f"stencil-{dimensions}d",
            48,
            {
                "stencil": {
                    "dimensions": dimensions,
                    "message": "9 KiB",
                    "iterations": 3,
                    "compute": "3 us",
                    "allreduce": "2 KiB",
                    "wrap": dimensions != 2,
                }
            },
        )
        for dimensions in (1, 2, 3, 4)
    ],
    (
        "phases",
        24,
        [
            {"stencil": {"message": "9 KiB", "iterations": 2, "compute": "3 us"}},
            {"checkpoint": {"total": "500 kB", "interval": "2 us"}},
            {"cosmoflow": {"iterations": 1, "elements": 900, "sample": "20 KiB", "compute": "2 us"}},
        ],
    ),
]


#: Name, ranks, workload.
SHAPED: list[tuple[str, int, Any]] = [
    ("amg", 60, {"amg": {"setup": "1 us", "compute": "200 us", "message": "1600 B"}}),
    (
        "multigrid",
        60,
        {"multigrid": {"points": 16, "exchanges": [4, 3, 2], "compute": "100 us", "broadcasts": 2}},
    ),
    ("fill-boundary", 60, {"fill-boundary": {"points": 16, "repetitions": 1, "compute": "1 us"}}),
    ("fill-boundary-periodic", 48, {"fill-boundary": {"points": 8, "repetitions": 1, "periodic": True}}),
    ("crystal-router", 61, {"crystal-router": {"payload": "2 MB", "rounds": 2, "compute": "20 us"}}),
    ("ping-pong", 49, {"ping-pong": {"bytes": ["8 B", "40 KiB"], "iterations": 5, "pairs": "halves"}}),
    *[
        (f"{name}-alone", 30, {name: {"bytes": size, "iterations": 2, "compute": "3 us", **keys}})
        for name, size, keys in [
            ("broadcast", "30 KiB", {"algorithm": "scatter-ring", "root": 7}),
            ("reduce", "20 KiB", {"algorithm": "chain"}),
            ("allreduce", "40 KiB", {"algorithm": "ring"}),
            ("gather", "3 KiB", {}),
            ("scatter", "3 KiB", {}),
            ("allgather", "3 KiB", {"algorithm": "neighbor-exchange"}),
            ("reduce-scatter", "2 KiB", {}),
            ("scan", "1 KiB", {}),
            ("exscan", "1 KiB", {"algorithm": "linear"}),
            ("alltoall", "2 KiB", {"overlap": True}),
        ]
    ],
    (
        "algorithms-by-phase",
        30,
        [
            {"barrier": {"iterations": 2, "algorithm": "tree"}},
            {"compute": {"time": "2 us"}},
            {
                "allreduce": {
                    "bytes": "9 KiB",
                    "iterations": 1,
                    "algorithm": "ring",
                    "overlap": True,
                    "compute": "1 us",
                }
            },
            {"allreduce": {"bytes": "9 KiB", "iterations": 1, "algorithm": "recursive-doubling"}},
        ],
    ),
]


def shaped() -> Iterator[Case]:
    """Workloads with the shape of traces, and single collectives."""
    for name, ranks, workload in SHAPED:
        yield Case(f"application/{name}", on_dragonfly([job(ranks, workload, placement="random", repeat=2)]))


def applications() -> Iterator[Case]:
    """Applications, alone, repeated, and several ranks to a node."""
    for name, ranks, workload in APPLICATIONS:
        scenario = on_dragonfly([job(ranks, workload, placement="random")], storage=STORAGE)
        yield Case(f"application/{name}", scenario)
    for name, ranks, workload in APPLICATIONS[0], APPLICATIONS[-1]:
        keys = {"repeat": 3, "ranks_per_node": 5, "start": "3 us"}
        scenario = on_dragonfly([job(ranks, workload, **keys)], storage=STORAGE)
        yield Case(f"application/{name}-repeated", scenario)


STENCIL: Table = {"stencil": {"message": "20 KiB", "iterations": 3, "compute": "20 us"}}
NOISE: Table = {"uniform": {"bytes": "3 KiB", "load": 0.2}}
TRAINING: Table = {
    "cosmoflow": {"iterations": 1, "elements": 3000, "sample": "40 KiB", "compute": "5 us"},
}
CHECKPOINT: Table = {"checkpoint": {"total": "300 KiB", "interval": "4 us"}}

#: Three jobs that share links and servers.
MIX: list[Table] = [
    job(16, STENCIL, name="halo", placement="random"),
    job(12, TRAINING, name="training", placement="random"),
    job(20, CHECKPOINT, name="saver", placement="random", ranks_per_node=2, start="3 us"),
]


def in_routers() -> Iterator[Case]:
    """Collectives in routers: trees for all jobs or for one, beside other traffic."""
    tree = {"fat-tree": {"k": 4, "n": 3}}
    long = {"allreduce": {"bytes": "3 KiB", "algorithm": "switches", "iterations": 5, "compute": "1 us"}}
    short = {"barrier": {"algorithm": "switches", "iterations": 8, "overlap": True, "compute": "2 us"}}
    jobs = [
        job(20, long, name="long", placement="random"),
        job(40, short, name="short", placement="random", ranks_per_node=2, repeat=2),
        job(20, NOISE, name="noise", placement="random", until=["long", "short"]),
    ]
    for trees in (1, 64):
        for lost in (False, True):
            reduction = {"trees": trees, "operations": 3, "data": "512 B"}
            yield Case(
                f"jobs/in-routers-{trees}{'-lost-time' if lost else ''}",
                {
                    "machine": tree,
                    "network": {"reduction": reduction},
                    "run": {"lost_time": lost},
                    "jobs": jobs,
                },
            )


def rules() -> Iterator[Case]:
    """Jobs that wait for others, arrays, placement."""
    chain = [
        job(16, STENCIL, name="main", placement="random"),
        job(24, NOISE, name="noise", placement="random", until="main"),
        job(8, TRAINING, name="then", placement="random", start_after="main", start="2 us"),
        job(6, STENCIL, name="last", start_after=["main", "then"]),
    ]
    yield Case("jobs/chain", on_dragonfly(chain, storage=STORAGE))
    array = [
        job(6, STENCIL, name="work", count=4, stagger="11 us", placement="random"),
        job(8, STENCIL, name="after", start_after="work"),
        job(20, NOISE, name="noise", until=["work", "after"]),
    ]
    yield Case("jobs/array", on_dragonfly(array))
    for placement in ("contiguous", "random", "random-router", "random-group"):
        jobs = [{**one, "placement": placement} for one in MIX]
        yield Case(f"placement/{placement}", on_dragonfly(jobs, storage=STORAGE))
    listed = [
        job(8, STENCIL, name="nodes", placement={"nodes": [70, 3, 42, 41, 12, 60, 61, 5]}),
        job(8, STENCIL, name="clients", placement={"clients": [0, 9, 11, 20, 31, 33, 40, 50]}),
    ]
    yield Case("placement/listed", on_dragonfly(listed, storage=STORAGE))
    groups = {"groups": 4, "rows": 2, "columns": 3, "nodes_per_router": 2, "global_ports_per_router": 2}
    machine = {"service_routers": [2], "dragonfly-2d": groups}
    storage = {"nodes": {"routers": [5]}}
    yield Case("placement/service-routers", {"machine": machine, "jobs": MIX[:2], "storage": storage})


def recorded() -> Iterator[Case]:
    """Optional recordings, and runs that end before their jobs."""
    runs: dict[str, Table] = {
        "mix": {},
        "series": {"series_interval": "7 us"},
        "no-blame": {"blame": False},
        "few-rows": {"message_rows": 60, "io_rows": 10},
        "no-rows": {"message_rows": 0, "io_rows": 0},
        "time-limit": {"time_limit": "41 us"},
        "other-seed": {},
    }
    for name, run in runs.items():
        more = {"seed": 77} if name == "other-seed" else {}
        yield Case(f"run/{name}", on_dragonfly(MIX, storage=STORAGE, run=run, **more))


def examples() -> Iterator[Case]:
    """The scenarios of `examples/`."""
    slow = {"interference", "background"}
    for path in sorted((ROOT / "examples").glob("*.toml")):
        yield Case(f"example/{path.stem}", path, long=path.stem in slow)


def cases() -> Iterator[Case]:
    """All cases of this file."""
    yield from examples()
    yield from patterns()
    yield from applications()
    yield from shaped()
    yield from in_routers()
    yield from rules()
    yield from recorded()
