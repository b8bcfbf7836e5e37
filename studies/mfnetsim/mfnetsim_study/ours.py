"""A result folder of `odonata run`, in the form of the published runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import odonata
from mfnetsim_study.data import Iteration, Link, LinkKey, Rank, RunData, Server

#: The published runs count every packet from a terminal to its router as a full one.
FULL_PACKET_BYTES = 4096


def load(name: str, path: Path) -> RunData:
    """The run in folder `path`."""
    return convert(name, odonata.load(path))


def convert(name: str, results: odonata.Results) -> RunData:
    """The same from results in memory."""
    run = results.run
    # Iterations of a job are rows in order.
    iterations: dict[str, list[Iteration]] = {}
    for row in results.rows("iterations"):
        iterations.setdefault(row["job"], []).append(Iteration(row["first_s"], row["mean_s"], row["last_s"]))
    jobs = results.rows("jobs")
    return RunData(
        name=name,
        messages=run["messages"],
        packets=run["packets"],
        packets_nonminimal=sum(job["mpi_packets_nonminimal"] for job in jobs),
        hops_mean=run["packet_hops"] / max(run["packets"], 1),
        wall_s=run["wall_s"],
        cpu_s=run["cpu_s"],
        outcome=results.ending,
        ranks=[_rank(row) for row in results.rows("ranks")],
        links=dict(_link(row) for row in results.rows("links")),
        servers={row["server"]: _server(row) for row in results.rows("servers") if row["requests"]},
        iterations=iterations,
    )


def _rank(row: dict[str, Any]) -> Rank:
    same = (
        "rank",
        "node",
        "elapsed_s",
        "compute_s",
        "non_compute_s",
        "io_s",
        "messages_sent",
        "messages_received",
        "bytes_sent",
        "bytes_received",
        "bytes_written",
        "packets_received",
        "packet_latency_mean_s",
        "packet_latency_min_s",
        "packet_latency_max_s",
        "hops_mean",
    )
    latency = row["message_latency_mean_s"] * row["messages_received"]
    return Rank(app=row["job"], message_latency_sum_s=latency, **{name: row[name] for name in same})


def _link(row: dict[str, Any]) -> tuple[LinkKey, Link]:
    kinds = {"node": "T", "router": "R"}
    key = (kinds[row["source_kind"]], row["source"], kinds[row["target_kind"]], row["target"])
    link_class, size = row["class"], row["bytes"]
    if key[0] == "T":
        link_class, size = "terminal_to_router", FULL_PACKET_BYTES * row["packets"]
    elif key[2] == "T":
        link_class = "router_to_terminal"
    # By the rule of CODES, like the stored values.
    return key, Link(link_class, size, row["stalled_s"], row["stalled_packets"])


def _server(row: dict[str, Any]) -> Server:
    return Server(
        node=row["node"],
        bytes_written=row["bytes_written"],
        device_writes=row["device_writes"],
        seeks=row["seeks"],
        device_busy_s=row["device_busy_s"],
    )
