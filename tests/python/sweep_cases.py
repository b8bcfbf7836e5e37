"""A small sweep for tests, and its results."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from launcher import PATIENCE_S
from waiting import await_that

#: Two jobs on 12 nodes; simulated in a few milliseconds.
TINY = """\
name = "tiny"
seed = 3

[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 1

[[jobs]]
name = "halo"
ranks = 4
placement = "random"
workload = { stencil = { message = "16 KiB", iterations = 3, compute = "1 us" } }

[[jobs]]
name = "noise"
ranks = 6
placement = "random"
workload = { uniform = { bytes = "4 KiB", mean_interval = "1 us", messages = 20 } }
"""

#: Columns that differ between two executions of the same run.
TIMES = ["run_wall_s", "run_cpu_s", "attempts"]


def sweep_file(shell, text, scenario=TINY):
    shell.write(scenario)
    return shell.write(f'scenario = "scenario.toml"\n{text}', "sweep.toml")


def points(folder):
    return pq.read_table(Path(folder) / "points.parquet")


def journal(folder):
    return [json.loads(line) for line in (Path(folder) / "journal.jsonl").read_text().splitlines()]


def same(one, other):
    return one.drop_columns(TIMES).equals(other.drop_columns(TIMES))


def wait_for(shell, runs, process):
    """Waits for this many ended runs."""
    place = shell.folder / "out/journal.jsonl"
    await_that(lambda: place.exists() and place.read_bytes().count(b"\n") >= runs, process, 2 * PATIENCE_S)
