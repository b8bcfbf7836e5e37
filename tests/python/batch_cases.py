"""What the tests of the batch queue share: a machine, job lists, and a job alone in packets."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata.batch_queue import confirm

SACCT = """\
User|Submit|NNodes|NodeList|JobID|Start|Elapsed|Timelimit|JobName|Partition|TRESUsageOutTot
ann|2026-01-05T10:00:00|3|nid[0001-0002,0010]|12|2026-01-05T10:01:00|01:00:00|02:00:00|vasp|batch|
||1|nid0001|12.batch|2026-01-05T10:01:00|01:00:00||batch||cpu=1,fs/disk=2K
||2|nid[0001-0002]|12.0|2026-01-05T10:01:00|01:00:00||vasp||cpu=1,fs/disk=1024
bob|2026-01-05T10:00:10|1|nid0009|13|Unknown|00:00:00|2-00:00:00|x|batch|
bob|2026-01-05T10:00:10|1|nid0009|14_2|2026-01-05T10:00:10|1-00:00:02|UNLIMITED|x|batch|
"""
MACHINE = """\
name = "small"
[machine.dragonfly]
groups = 3
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 1
[storage]
nodes = { per_group = 2 }
device = { rate = { write = "1 GB/s", read = "1 GB/s", overhead = "20 us" } }
"""


def put(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def crowded_queue(folder: Path) -> Path:
    """Two jobs in all-to-all on a small machine, and one that waits for both."""
    put(folder, "machine.toml", MACHINE)
    put(folder, "jobs.csv", "submit,nodes,run,profile\n0,9,100,busy\n0,9,100,busy\n1,18,50,none\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    queue = { placement = "random" }
    profiles.busy = { pattern = "all-to-all", intensity = "6 GB/s", share = 0.6 }
    """
    return put(folder, "batch.toml", text)


def alone_in_packets(
    found: Any, nodes: list[int], iterations: Callable[[dict], int] = lambda _args: 1
) -> tuple[dict, Any]:
    """Runs the moment of the first job alone on `nodes`: the job in packets, and the results.

    A cycle has that many `iterations` of the program, and each ends at its time.
    """
    task = confirm.scenario(found, [{"job": 0, "phase": 0, "nodes": nodes}])
    (job,) = tomllib.loads(task.text)["jobs"]
    args = job["args"]
    results = odonata.run(tomllib.loads(task.text), overrides={"run.baselines": False})
    ends = [row["last_s"] for row in results.rows("iterations")]
    period = args["period"] * iterations(args)
    assert len(ends) == args["cycles"]
    # Packets add the latency of the last message and of the last read, microseconds each.
    assert ends == pytest.approx([args["offset"] + (n + 1) * period for n in range(args["cycles"])], rel=0.03)
    return job, results
