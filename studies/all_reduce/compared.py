"""Measured all-reduces of NCCL repeated on presets, with the algorithm and protocol that NCCL chooses.

    compared.py measure [RUN ...]   runs these, by default all: an hour of CPU time
    compared.py page                the second table of docs/all-reduce.md, from the stored results

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED, PUBLISHED = HERE / "data" / "compared.json", HERE / "data" / "published.json"
PASSAGE = Passage(
    "all-reduce.md", "<!-- compared: studies/all_reduce/compared.py page -->", "<!-- end compared -->"
)

MIB = 1 << 20
SIZES = {
    "1 MiB": MIB,
    "16 MiB": 16 * MIB,
    "64 MiB": 64 * MIB,
    "256 MiB": 256 * MIB,
    "512 MiB": 512 * MIB,
    "1 GiB": 1 << 30,
    "4 GiB": 4 << 30,
    "8 GiB": 8 << 30,
    "16 GiB": 16 << 30,
}
#: NVLink 5 as NCCL counts it: 18 links of 40.1 GB/s (SM100_NVLINK_BW in src/graph/topo.h).
NVLINK_5 = "721.8 GB/s"


@dataclass(frozen=True)
class Run:
    """How a published run is repeated."""

    preset: str
    hosts: int
    gpus: int
    #: Keys of the workload.
    nccl: dict[str, Any]
    #: Keys of the network.
    network: dict[str, Any] = field(default_factory=dict)
    #: Sizes to which a number of the preset was fitted.
    fitted: tuple[str, ...] = ()


AUTO = {"algorithm": "auto", "protocol": "auto"}
#: NCCL's 14 us of a step over a network and twice the 35 us that the plugin of EFA states, over two cables.
EFA = "42 us"
B200 = {
    "links": {
        "local": {"bandwidth": NVLINK_5},
        "terminal": {"bandwidth": "1000 GB/s"},
        "column": {"latency": EFA},
    }
}
RUNS = {
    "1 host of 8 H200, ring": Run("dgx-h100-superpod", 1, 8, {"algorithm": "ring"}),
    "1 host of 8 H200, NVLS": Run("dgx-h100-superpod", 1, 8, {**AUTO, "algorithm": "nvls", "channels": 16}),
    "4 hosts of 8 H200, ring": Run("dgx-h100-superpod", 4, 8, {"algorithm": "ring"}),
    "4 hosts of 8 H200, NVLSTree": Run(
        "dgx-h100-superpod", 4, 8, {**AUTO, "algorithm": "nvls", "channels": 16}
    ),
    # EFA's plugin states 35 us, NCCL an efficiency of 0.74 for switches of Blackwell. Assumed: the simple
    # protocol, as the plugin demands where an interface does not keep the order of writes.
    "4 hosts of 8 B200": Run(
        "dgx-h100-superpod",
        4,
        8,
        {
            "algorithm": "auto",
            "channels": 16,
            "network_latency": "35 us",
            "nvlink_bandwidth": NVLINK_5,
            "nvls_efficiency": 0.74,
        },
        B200,
    ),
    "72 GPUs of GB200": Run(
        "dgx-gb200", 1, 72, {**AUTO, "channels": 8, "nvlink_bandwidth": "856 GB/s"}, {}, ("512 MiB", "8 GiB")
    ),
    "144 GPUs of GB200": Run("dgx-gb200", 2, 72, {**AUTO, "channels": 18, "nvlink_bandwidth": "856 GB/s"}),
}


def scenario(run: Run, size: int) -> dict[str, Any]:
    """One all-reduce of `size` bytes."""
    # Larger steps save time where a ring has many.
    chunk = {"chunk": "16 MiB"} if size >= SIZES["4 GiB"] else {}
    hosts = max(2, run.hosts)
    return {
        "preset": run.preset,
        "machine": {"rail-optimized": {"pods": 1, "hosts_per_pod": hosts, "spines": hosts}},
        "network": {**run.network, "fidelity": "flow"},
        "run": {"blame": False, "message_rows": 0},
        "jobs": [
            {
                "name": "all-reduce",
                "ranks": run.gpus * run.hosts,
                "workload": {
                    "nccl": {"bytes": f"{size} B", "gpus_per_host": run.gpus, **run.nccl, **chunk},
                },
            }
        ],
    }


def measure(names: list[str]) -> None:
    """Repeats the runs, and stores bandwidths with the chosen algorithms."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    for name, run in RUNS.items():
        if names and name not in names:
            continue
        for size in published[name]["bus_GBps"]:
            results = odonata.run(scenario(run, SIZES[size]))
            (call,) = results.summary()["nccl"]
            found = call["bus_bandwidth_bytes_per_s"] / 1e9
            workload = results.run["scenario"]["jobs"][0]["workload"]["nccl"]
            kind = f"{workload['algorithm']}, {workload['protocol']}"
            stored.setdefault(name, {})[size] = {"bus_GBps": round(found, 2), "kind": kind}
            print(f"{name}, {size}: {found:.1f} GB/s by {kind}", flush=True)
            STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def text() -> str:
    """The table of the page."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    rows = []
    for name, run in RUNS.items():
        for size, theirs in published[name]["bus_GBps"].items():
            ours = stored.get(name, {}).get(size)
            if ours is None:
                continue
            off = f"{100 * (ours['bus_GBps'] / theirs - 1):+.0f}%" + (
                " (fitted)" if size in run.fitted else ""
            )
            rows.append([name, size, str(theirs), f"{ours['bus_GBps']:.1f}", off, ours["kind"]])
    header = ["run", "size", "measured, GB/s", "ours, GB/s", "difference", "algorithm and protocol"]
    return Table("", header, rows, left=2).markdown()


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), ", ".join(RUNS), measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
