"""Bus bandwidths of all-reduces on hosts of a DGX H100 SuperPOD, beside those measured with NCCL.

    study.py measure [SIZE ...]   runs these sizes, by default all: minutes of CPU time
    study.py page                 the table of docs/all-reduce.md, from the stored results

Nothing is fitted: the machine is the preset, NCCL's constants are the workload's defaults.

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED, PUBLISHED = HERE / "data" / "measured.json", HERE / "data" / "published.json"
PASSAGE = Passage("all-reduce.md", "<!-- bandwidths: studies/all_reduce/study.py page -->", "<!-- end -->")

GPUS = 8
ALGORITHMS = ("ring", "tree", "nvls")
HOSTS = (1, 2, 4)
MIB = 1 << 20
#: Sizes, their bytes, and network settings that save time: larger packets, then flows.
SIZES: dict[str, tuple[int, dict[str, Any]]] = {
    "1 MiB": (MIB, {}),
    "16 MiB": (16 * MIB, {"packet": "16 KiB"}),
    "64 MiB": (64 * MIB, {"packet": "16 KiB"}),
    "256 MiB": (256 * MIB, {"fidelity": "flow"}),
}


def scenario(hosts: int, algorithm: str, bytes: int, network: dict[str, Any]) -> dict[str, Any]:
    """One all-reduce on this many hosts of a pod."""
    return {
        "preset": "dgx-h100-superpod-like",
        "machine": {"rail-optimized": {"pods": 1, "hosts_per_pod": max(2, hosts), "spines": max(2, hosts)}},
        "network": network,
        "run": {"blame": False, "message_rows": 0},
        "jobs": [
            {
                "name": "all-reduce",
                "ranks": GPUS * hosts,
                "workload": {"nccl": {"bytes": f"{bytes} B", "algorithm": algorithm}},
            }
        ],
    }


def measure(sizes: list[str]) -> None:
    """Runs the sizes and stores the bandwidths."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for size, (bytes, network) in SIZES.items():
        if sizes and size not in sizes:
            continue
        for hosts in HOSTS:
            for algorithm in ALGORITHMS:
                (call,) = odonata.run(scenario(hosts, algorithm, bytes, network)).summary()["nccl"]
                found = call["bus_bandwidth_bytes_per_s"] / 1e9
                stored.setdefault(str(hosts), {}).setdefault(algorithm, {})[size] = round(found, 2)
                print(f"{hosts} hosts, {algorithm}, {size}: {found:.1f} GB/s", flush=True)
                STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def text() -> str:
    """The table of the page."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    sizes = [*SIZES, "1 GiB", "4 GiB", "8 GiB", "16 GiB"]
    rows = []
    for hosts in HOSTS:
        for algorithm in ALGORITHMS:
            found = stored.get(str(hosts), {}).get(algorithm, {})
            name = f"ours, {hosts} host{'s' if hosts > 1 else ''} of 8 H100, {algorithm}"
            rows.append([name, *(f"{found[size]:.1f}" if size in found else "" for size in sizes)])
        for name, row in published.items():
            if row["hosts"] == hosts:
                known = row["bus_GBps"]
                rows.append([f"measured: {name}", *(str(known.get(size, "")) for size in sizes)])
    sources = "\n".join(
        f"- {name}: {row['source']}" for name, row in published.items() if row["hosts"] in HOSTS
    )
    return f"{Table('', ['bus bandwidth, GB/s', *sizes], rows).markdown()}\n{sources}\n"


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), ", ".join(SIZES), measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
