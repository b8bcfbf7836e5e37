"""The published runs, as reduced tables of reference data (12 of the 24 runs).

The published link table has an error, which `decode` corrects: the counters of router i (of 8 in its group)
that are labelled with local router j are those of its port j. Ports 0 to 6 lead to the other routers of the
group in order, without i itself, ports 7 to 10 to other groups. So a label j < i is right, a label i < j < 7
means router j + 1, the label 7 repeats the first global port, and the link from i to i + 1 is missing. Of the
1,848 directions inside groups 1,617 are known. With this correction, all agree with minimal paths byte by
byte.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mfnetsim_study.data import Iteration, Link, LinkKey, Rank, RunData, Server

#: The stored values; the README there describes their source.
FOLDER = Path(__file__).resolve().parents[1] / "reference"

#: Applications in the order in which a mix lists them.
ORDER = ("milc", "nekbone", "checkpoint", "cosmoflow")

NS = 1e-9

#: Routers per group.
GROUP = 8


def summary() -> dict[str, Any]:
    """The overview of all stored runs, by name."""
    overview: dict[str, Any] = json.loads((FOLDER / "summary.json").read_text(encoding="utf-8"))
    return overview


def load(name: str) -> RunData:
    """The stored run `name`."""
    simulator = summary()[name]["simulator"]
    servers = FOLDER / "servers" / f"{name}.csv.gz"
    return RunData(
        name=name,
        messages=simulator["network_messages"],
        packets=simulator["network_packets"],
        packets_nonminimal=simulator["packets_nonminimal"],
        hops_mean=simulator["mean_hops"],
        wall_s=simulator["wall_s"],
        ranks=sorted(
            (_rank(row) for row in _rows(FOLDER / "ranks" / f"{name}.csv.gz")),
            key=lambda rank: (ORDER.index(rank.app), rank.rank),
        ),
        links=decode(labelled_links(name)),
        servers={int(row["server"]): _server(row) for row in _rows(servers)} if servers.is_file() else {},
        iterations={
            file.name.removeprefix(f"{name}-").removesuffix(".csv.gz"): [
                _iteration(row) for row in _rows(file)
            ]
            for file in sorted((FOLDER / "iterations").glob(f"{name}-*.csv.gz"))
        },
    )


def labelled_links(name: str) -> dict[LinkKey, Link]:
    """The links of a run with the labels of the published table."""
    return dict(_link(row) for row in _rows(FOLDER / "links" / f"{name}.csv.gz"))


def decode(labelled: dict[LinkKey, Link]) -> dict[LinkKey, Link]:
    """The same with each counter at its actual link."""
    links = {}
    for key, link in labelled.items():
        _, source, _, target = key
        if link.link_class == "local" and source % GROUP < target % GROUP:
            if target % GROUP == GROUP - 1:
                continue
            key = ("R", source, "R", target + 1)
        links[key] = link
    return links


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with gzip.open(file, "rt", newline="") as text:
        yield from csv.DictReader(text)


def _rank(row: dict[str, str]) -> Rank:
    return Rank(
        app=row["app"],
        rank=int(row["rank"]),
        node=int(row["terminal"]),
        elapsed_s=float(row["elapsed_ns"]) * NS,
        compute_s=float(row["compute_ns"]) * NS,
        non_compute_s=float(row["comm_time_ns"]) * NS,
        io_s=float(row["io_time_ns"]) * NS,
        messages_sent=int(row["sends"]),
        messages_received=int(row["recvs"]),
        bytes_sent=int(row["bytes_sent"]),
        bytes_received=int(row["bytes_recvd"]),
        bytes_written=int(row["bytes_written"]),
        packets_received=int(row["packets"]),
        packet_latency_mean_s=float(row["pkt_mean_ns"]) * NS,
        packet_latency_min_s=float(row["pkt_min_ns"]) * NS,
        packet_latency_max_s=float(row["pkt_max_ns"]) * NS,
        hops_mean=float(row["mean_hops"]),
        message_latency_sum_s=float(row["send_time_ns"]) * NS,
    )


def _link(row: dict[str, str]) -> tuple[LinkKey, Link]:
    key = (row["src_type"], int(row["src"]), row["dst_type"], int(row["dst"]))
    link_class = {
        ("T", "R"): "terminal_to_router",
        ("R", "T"): "router_to_terminal",
        ("R", "R"): {"L": "local", "G": "global"}.get(row["link_type"], ""),
    }[key[0], key[2]]
    return key, Link(
        link_class, int(row["traffic_bytes"]), float(row["saturation_ns"]) * NS, int(row["stalled_chunks"])
    )


def _server(row: dict[str, str]) -> Server:
    return Server(
        node=int(row["terminal"]),
        bytes_written=int(row["bytes_written"]),
        device_writes=int(row["device_writes"]),
        seeks=int(row["device_seeks"]),
        device_busy_s=float(row["device_busy_ns"]) * NS,
    )


def _iteration(row: dict[str, str]) -> Iteration:
    return Iteration(*(float(row[f"{which}_end_ns"]) * NS for which in ("first", "mean", "last")))
