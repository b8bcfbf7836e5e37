"""Storage servers: their nodes, their clients, their handling of requests, and the tiers below them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from case import Case, merged
from workloads import on_dragonfly

Table = dict[str, Any]

#: A checkpoint, a training that reads, and accesses of all kinds (`rank_programs.files`).
JOBS: list[Table] = [
    {
        "name": "saver",
        "ranks": 20,
        "placement": "random",
        "workload": {"checkpoint": {"iterations": 2, "total": "800 kB", "interval": "4 us"}},
    },
    {
        "name": "training",
        "ranks": 16,
        "placement": "random",
        "workload": {
            "cosmoflow": {"iterations": 2, "elements": 3000, "sample": "60 KiB", "compute": "5 us"},
        },
    },
]

BASE: Table = {
    "nodes": {"per_group": 1},
    "manager": {"block": "16 KiB", "memory": "64 KiB"},
    "device": {
        "capacity": "1 GB",
        "rate": {"write": "2 GB/s", "read": "3 GB/s", "overhead": "3 us"},
    },
}

VARIANTS: dict[str, Table] = {
    "plain": {},
    "last-nodes": {"nodes": {"per_group": 2, "position": "last"}},
    "first-nodes": {"nodes": {"per_group": 2, "position": "first"}},
    "random": {"assignment": "random"},
    "round-robin": {"assignment": "round-robin"},
    "small-memory": {"manager": {"memory": "16 KiB"}},
    "small-blocks": {"manager": {"block": "3000 B", "memory": "1 MB"}},
    "one-piece": {"manager": {"pieces_in_flight": 1, "control_message": "1 KiB"}},
    "one-object": {"manager": {"object_per_file": False}},
    "seeks": {"device": {"rate": {"seek": "40 us"}}},
    "seek-window": {
        "manager": {"object_per_file": False},
        "device": {"rate": {"seek": "40 us", "seek_window": "64 KiB"}},
    },
    "drain": {"drain": {"bandwidth": "1 GB/s", "latency": "5 us"}},
    "drain-above": {"drain": {"bandwidth": "1 GB/s", "latency": "5 us", "threshold": "100 kB"}},
    "in-turn": {"manager": {"sharing": "round-robin"}},
    "by-weight": {"manager": {"sharing": "weighted", "memory": "32 KiB"}},
    "write-back": {"manager": {"acknowledge": "memory"}},
    "extents": {
        "manager": {"extents": True, "acknowledge": "memory"},
        "drain": {"bandwidth": "1 GB/s", "latency": "5 us"},
    },
    # Writes wait until the drain has made room.
    "nearly-full": {
        "device": {"capacity": "100 kB"},
        "drain": {"bandwidth": "0.5 GB/s", "latency": "1 us"},
    },
    "hash": {"layout": "hash"},
    "random-files": {"layout": "random"},
    "round-robin-files": {"layout": "round-robin"},
    "striped": {"layout": {"striped": {"stripe": "7 KiB"}}},
    "striped-over-two": {"layout": {"striped": {"stripe": "1000 B", "count": 2, "start": "round-robin"}}},
    "striped-from-the-third": {"layout": {"striped": {"stripe": "20 KiB", "start": {"server": 2}}}},
    "locks": {"layout": "hash", "locks": {"granularity": "64 KiB", "revocation": "2 us"}},
    "write-behind": {"write_behind": "60 KiB"},
    # Writes wait forever.
    "full": {"device": {"capacity": "90 kB"}},
}

#: Devices in place of the one with fixed rates: every model, a short queue, several with rules.
DEVICES: dict[str, Table] = {
    "ssd": {"device": {"preset": "intel-d3-s4510"}},
    "ssd-one-at-a-time": {"device": {"ssd": {"channels": 2, "ways": 2}, "queue_depth": 1}},
    "nvme": {"device": {"nvme": {"lanes": 2}}},
    "hdd": {"device": {"preset": "seagate-st2000nx0253"}},
    "by-size": {
        "devices": [
            {"name": "flash", "ssd": {}, "capacity": "1 GB"},
            {"name": "disk", "hdd": {}},
        ],
        "rules": [{"device": "flash", "below": "20 kB"}, {"device": "disk"}],
        "drain": {"bandwidth": "1 GB/s", "latency": "5 us"},
    },
}


def _files() -> Iterator[Case]:
    """The file and the offset that each rank writes to."""
    storage = merged(BASE, {"layout": {"striped": {"stripe": "16 KiB"}}, "locks": {"granularity": "4 KiB"}})
    kinds: dict[str, Table] = {
        "per-rank": {"file": "per-rank", "record": "15 kB"},
        "segmented": {"record": "15 kB"},
        "strided": {"offset": "strided", "record": "15 kB"},
        "together": {"collective": {"aggregators": 3, "buffer": "100 kB"}},
    }
    for name, keys in kinds.items():
        saver, training = merged(JOBS[0], {"workload": {"checkpoint": keys}}), JOBS[1]
        yield Case(f"storage/files-{name}", on_dragonfly([saver, training], storage=storage))
    shared = [{**job, "io": {"directory": "common", "write_behind": "30 kB"}} for job in JOBS]
    yield Case("storage/files-common", on_dragonfly(shared, storage=storage))


#: Calls that metadata servers answer, and faults that pass.
METADATA: dict[str, Table] = {
    "shared": {"metadata": {"threads": 2, "serial_directories": True}},
    "spread": {"metadata": {"nodes": {"list": [3, 17, 40]}, "threads": 1, "distribution": "by-directory"}},
    "faults": {
        "metadata": {"nodes": {"per_group": 1}},
        "faults": [
            {"server": 0, "at": "300 us", "duration": "200 us", "kind": "stall"},
            {"server": 9, "at": "200 us", "kind": {"slow": 3.5}},
        ],
    },
}


def _metadata() -> Iterator[Case]:
    mdtest = {"name": "mdtest", "ranks": 12, "workload": {"mdtest": "-n 6 -z 1 -b 2 -w 3k -y -N 1"}}
    for name, keys in METADATA.items():
        yield Case(f"storage/metadata-{name}", on_dragonfly([*JOBS, mdtest], storage=merged(BASE, keys)))


#: Settings of file synchronization.
SYNC: dict[str, Table] = {
    "device": {"manager": {"acknowledge": "memory"}},
    "disk-cache": {"device": {"hdd": {}}},
    "below": {
        "sync": "below",
        "policy": {"drain": "job-end"},
        "tiers": [{"name": "io", "nodes": {"list": [60, 61]}}],
        "file_system": {
            "object_servers": 3,
            "bandwidth": "1 GB/s",
            "layout": {"striped": {"stripe": "16 KiB"}},
        },
    },
}


#: Clients that give up, and servers that fail for good or for a while.
FAILURES: dict[str, Table] = {
    "error": {"client": {"on_failure": "error"}},
    "re-route": {"client": {"on_failure": "re-route", "lost_reads": "below"}},
    "drain": {
        "client": {"on_failure": "re-route", "lost_reads": "below"},
        "manager": {"acknowledge": "memory"},
        "drain": {"bandwidth": "1 GB/s", "latency": "5 us"},
        "layout": {"striped": {"stripe": "16 KiB"}},
    },
    "tiers": {
        "client": {"on_failure": "re-route", "lost_reads": "below", "retries": 0},
        "policy": {"write": "through", "read": "cache"},
        "tiers": [{"name": "io", "nodes": {"list": [60, 61]}}],
        "file_system": {"object_servers": 3, "bandwidth": "1 GB/s"},
    },
    "locks": {
        "client": {"on_failure": "re-route", "lost_reads": "below"},
        "layout": {"striped": {"stripe": "16 KiB"}},
        "locks": {"granularity": "4 KiB"},
    },
    "metadata": {
        "client": {"on_failure": "re-route"},
        "metadata": {"nodes": {"list": [3, 17]}, "threads": 1, "serial_directories": True},
        "faults": [
            {"server": 9, "at": "0 s", "duration": "2 ms", "kind": "fail"},
            {"server": 10, "at": "3 ms", "kind": "fail"},
        ],
    },
    "below": {
        "client": {"on_failure": "re-route", "lost_reads": "below"},
        "policy": {"keep": True},
        "tiers": [{"name": "io", "nodes": {"list": [60, 61]}, "device": {"capacity": "1 GB"}}],
        "faults": [{"server": 9, "at": "200 us", "duration": "1 ms", "kind": "fail"}],
    },
    "object-servers": {
        "client": {"on_failure": "re-route", "lost_reads": "below"},
        "tiers": [{"name": "io", "nodes": {"list": [60, 61]}}],
        "file_system": {
            "object_servers": 3,
            "bandwidth": "1 GB/s",
            "latency": "5 us",
            "layout": {"striped": {"stripe": "16 KiB"}},
        },
        "faults": [
            {"server": 11, "at": "200 us", "duration": "1 ms", "kind": "fail"},
            {"server": 12, "at": "100 us", "kind": "fail"},
        ],
    },
    "device": {
        "client": {"on_failure": "error", "lost_reads": "below"},
        "locks": {"granularity": "4 KiB"},
        "devices": [
            {"name": "flash", "capacity": "1 GB", "ssd": {}},
            {"name": "disk", "capacity": "1 GB", "rate": {"overhead": "5 us"}},
        ],
        "rules": [{"device": "flash", "below": "10 kB"}, {"device": "disk"}],
        "faults": [
            {"server": 0, "device": "disk", "at": "150 us", "kind": "fail"},
            {"server": 1, "device": "flash", "at": "90 us", "duration": "400 us", "kind": "fail"},
        ],
    },
}


def _failures() -> Iterator[Case]:
    client = {"timeout": "900 us", "retries": 2, "backoff": "20 us"}
    faults = [
        {"server": 0, "at": "40 us", "duration": "30 us", "kind": "fail"},
        {"server": 2, "at": "70 us", "kind": "fail"},
    ]
    for name, keys in FAILURES.items():
        base = {key: value for key, value in BASE.items() if key != "device" or "devices" not in keys}
        base = merged(base, {"client": client, "faults": faults})
        yield Case(f"storage/failure-{name}", on_dragonfly(JOBS, storage=merged(base, keys)))


#: Checkpoints whose servers fail repeatedly, alone or above a tier that fails too.
RESTARTS: dict[str, Table] = {
    "one-tier": {},
    "tiers": {
        "client": {"timeout": "2 ms"},
        "policy": {"read": "cache", "read_ahead": "48 KiB"},
        "tiers": [{"name": "io", "nodes": {"list": [60, 61]}, "device": {"capacity": "1 GB"}}],
        "faults": [
            {"server": 1, "at": "900 us", "kind": "fail"},
            *(
                {"server": 9, "at": f"{at} us", "duration": "20 us", "kind": "fail"}
                for at in range(500, 9000, 700)
            ),
        ],
    },
}


def _restarts() -> Iterator[Case]:
    workload = {
        "work": "4 ms",
        "mtti": "1 ms",
        "interval": "300 us",
        "total": "480 kB",
        "record": "5 kB",
        "restart": "50 us",
    }
    jobs = [{"name": "solver", "ranks": 24, "workload": {"checkpoint-restart": workload}}]
    client = {"timeout": "200 us", "retries": 1, "backoff": "20 us", "on_failure": "re-route"}
    faults = [
        {"server": server, "at": f"{at} us", "duration": "10 us", "kind": "fail"}
        for server in (0, 1)
        for at in range(300 + 150 * server, 9000, 400)
    ]
    base = merged(BASE, {"client": client, "faults": faults})
    for name, keys in RESTARTS.items():
        yield Case(f"storage/restart-{name}", on_dragonfly(jobs, storage=merged(base, keys)))


def _sync() -> Iterator[Case]:
    checkpoint = {**JOBS[0]["workload"]["checkpoint"], "fsync": True}
    jobs = [
        {**JOBS[0], "workload": {"checkpoint": checkpoint}},
        {
            "name": "ior",
            "ranks": 4,
            "workload": {"ior": "-w -r -e -t 16k -b 64k"},
            "io": {"write_behind": "32 kB"},
        },
    ]
    for name, keys in SYNC.items():
        base = {key: value for key, value in BASE.items() if key != "device" or "device" not in keys}
        yield Case(f"storage/sync-{name}", on_dragonfly(jobs, storage=merged(base, keys)))


#: Stage-in before a job starts or while it reads, and stage-out at its end; with metadata servers and
#: temporary faults.
STAGES: dict[str, Table] = {
    "in-and-out": {"policy": {"drain": "job-end"}},
    "read-ahead": {"policy": {"read": "cache", "read_ahead": "48 KiB"}},
    "with-all": {
        "sync": "below",
        "layout": {"striped": {"stripe": "16 KiB"}},
        "policy": {"keep": True, "drain": "above-watermark", "watermark": "100 kB"},
        "metadata": {"nodes": {"list": [62]}, "threads": 1, "serial_directories": True},
        "faults": [
            {"server": 0, "at": "100 us", "duration": "200 us", "kind": "stall"},
            {"server": 3, "at": "200 us", "kind": {"slow": 3.5}},
        ],
    },
}


def _stages() -> Iterator[Case]:
    reader = {"iterations": 3, "elements": 3000, "sample": "60 KiB", "compute": "5 us"}
    inputs = [{"bytes": "180 KiB", "per_rank": True}, {"file": 5, "bytes": "1 MB"}]
    jobs = [
        {**JOBS[0], "io": {"stage_out": True}},
        {
            "name": "reader",
            "ranks": 12,
            "placement": "random",
            "io": {"stage_in": inputs},
            "workload": {"cosmoflow": reader},
        },
        {
            "name": "early",
            "ranks": 5,
            "start_after": "saver",
            "io": {"stage_in": inputs[:1], "stage_wait": False, "stage_out": True},
            "workload": {"ior": "-w -r -e -t 16k -b 64k"},
        },
    ]
    below = SYNC["below"]
    tiers = {key: below[key] for key in ("tiers", "file_system")}
    for name, keys in STAGES.items():
        yield Case(f"storage/stage-{name}", on_dragonfly(jobs, storage=merged(merged(BASE, tiers), keys)))


#: Removal of files from servers with an index of extents, while other jobs write and drain.
REMOVALS: dict[str, Table] = {
    "index": {"manager": {"extents": True}, "layout": {"striped": {"stripe": "16 KiB"}}},
    "through": {
        "manager": {"acknowledge": "memory"},
        "policy": {"write": "through", "read": "cache", "read_ahead": "32 KiB"},
    },
    "clean": {"policy": {"keep": True, "drain": "above-watermark", "watermark": "100 kB"}},
}


def _removals() -> Iterator[Case]:
    jobs = [
        JOBS[0],
        {"name": "ior", "ranks": 9, "workload": {"ior": "-w -r -C -F -i 3 -t 16k -b 96k"}},
        {"name": "kept", "ranks": 5, "workload": {"ior": "-w -k -i 2 -t 16k -b 64k"}},
        {"name": "mdtest", "ranks": 8, "workload": {"mdtest": "-n 4 -F -w 5k -i 2"}},
    ]
    base = merged(BASE, {"metadata": {"nodes": {"list": [62]}, "threads": 1}})
    below = SYNC["below"]
    tiers = {key: below[key] for key in ("tiers", "file_system")}
    for name, keys in REMOVALS.items():
        storage = base if name == "index" else merged(base, tiers)
        yield Case(f"storage/removed-{name}", on_dragonfly(jobs, storage=merged(storage, keys)))


def cases() -> Iterator[Case]:
    """All cases of this file."""
    for name, keys in DEVICES.items():
        yield Case(f"storage/{name}", on_dragonfly(JOBS, storage={**BASE, "device": {}, **keys}))
    for name, keys in VARIANTS.items():
        yield Case(f"storage/{name}", on_dragonfly(JOBS, storage=merged(BASE, keys)))
    yield from _files()
    yield from _metadata()
    yield from _failures()
    yield from _restarts()
    yield from _sync()
    yield from _stages()
    yield from _removals()
    routers = merged(BASE, {})
    routers["nodes"] = {"routers": [3]}
    yield Case("storage/routers", on_dragonfly(JOBS, storage=routers))
    listed = merged(BASE, {"assignment": {"list": [client % 3 for client in range(69)]}})
    listed["nodes"] = {"list": [0, 17, 40]}
    yield Case("storage/listed", on_dragonfly(JOBS, storage=listed))
    rates = {"rate": "3 GB/s", "rates": {"compute": "1 GB/s", "storage": "2 GB/s"}}
    yield Case("storage/nic-rates", on_dragonfly(JOBS, storage=BASE, nic=rates))
    for router in ("output-queued", "pipelined"):
        network = {"router": router, **({"clock": "1 ns"} if router == "pipelined" else {})}
        yield Case(f"storage/plain-{router}", on_dragonfly(JOBS, storage=BASE, network=network))
    classes = {
        "traffic_classes": [
            {"name": "mpi", "share": 0.6},
            {"name": "io", "share": 0.2},
        ]
    }
    sorted_out = [{**job, "traffic_class": {"mpi": "mpi", "io": "io"}} for job in JOBS]
    yield Case("storage/classes", on_dragonfly(sorted_out, storage=BASE, network=classes))
