"""The measures of the claims, a row per run of IOR: read from the folder of a sweep, stored as Parquet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import odonata

#: Groups of the machine -> its name in the text.
MACHINES = {23: "phase2", 57: "merged"}


@dataclass(frozen=True)
class Run:
    """A run of IOR that writes, or one that reads."""

    #: "phase2" or "merged".
    machine: str
    #: Cabling of the global links: "absolute", "relative" or "circulant".
    arrangement: str
    #: "N-N" or "N-1".
    files: str
    #: "write" or "read".
    access: str
    #: Compute nodes, and buffers of the machine.
    nodes: int
    buffers: int
    #: Transfers of each rank.
    transfers: int
    #: Bytes, and the time from the first open to the last close, as in IOR's bandwidth.
    bytes: float
    seconds: float
    #: Largest share of that time in which a link within groups, one between groups, and a device was busy.
    local_busy: float
    global_busy: float
    device_busy: float
    #: Cost of the run.
    packet_hops: int
    cpu_s: float
    #: Buffer of a file's first transfer: "hash" of its name, or "round-robin" by its number.
    start: str = "hash"

    @property
    def name(self) -> str:
        """machine-arrangement-files-access-nodes, the transfers of a rank, and an unusual start."""
        parts = (self.machine, self.arrangement, self.files, self.access, self.nodes)
        start = "" if self.start == "hash" else f", {self.start}"
        return f"{'-'.join(map(str, parts))} x {self.transfers}{start}"

    @property
    def bandwidth(self) -> float:
        """Bandwidth in bytes/s."""
        return self.bytes / self.seconds

    @property
    def per_node(self) -> float:
        """Bandwidth in bytes/s and node."""
        return self.bandwidth / self.nodes


def of_sweep(folder: Path) -> list[Run]:
    """Every successful run of a sweep."""
    sweep = odonata.Sweep.load(folder)
    rows = [row for row in sweep.table.to_pylist() if row["outcome"] == "completed"]
    return [of_results(odonata.load(folder / row["folder"])) for row in rows]


def of_results(results: odonata.Results) -> Run:
    """A run, from its tables."""
    scenario = results.run["scenario"]
    job = results.rows("jobs")[0]
    dragonfly = scenario["machine"]["dragonfly-2d"]
    links, servers = results.table("links"), results.rows("servers")
    (ior,) = results.rows("ior")
    seconds = ior["total_s"]

    def busiest(*classes: str) -> float:
        chosen = links.filter(pc.is_in(links["class"], pa.array(classes)))
        return float(pc.max(chosen["busy_s"]).as_py() / seconds)

    return Run(
        machine=MACHINES[dragonfly["groups"]],
        arrangement=dragonfly["arrangement"],
        files="N-N" if scenario["jobs"][0]["workload"]["ior"]["filePerProc"] else "N-1",
        access=ior["access"],
        nodes=job["nodes"],
        buffers=len(servers),
        transfers=round(ior["bytes"] / ior["transfer_bytes"] / ior["tasks"]),
        bytes=float(ior["bytes"]),
        seconds=seconds,
        local_busy=busiest("local", "column"),
        global_busy=busiest("global"),
        device_busy=max(row["device_busy_s"] for row in servers) / seconds,
        packet_hops=results.run["packet_hops"],
        cpu_s=results.run["cpu_s"],
        start=scenario["storage"]["layout"]["striped"]["start"],
    )
