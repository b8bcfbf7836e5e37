"""Bus bandwidths of all-reduces on hosts of a DGX H100 SuperPOD, beside those measured with NCCL.

    study.py measure [SIZE ...]   runs these sizes, by default all: minutes of CPU time
    study.py page                 the table of docs/all-reduce.md and its figure, from the stored results

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

from matplotlib.figure import Figure  # noqa: E402
from study_tools import command, figures, passage  # noqa: E402
from study_tools.figures import Drawing  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402
from odonata.base.wording import counted  # noqa: E402

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
#: Sizes with published values alone.
LARGER = {"1 GiB": 1 << 30, "4 GiB": 4 << 30, "8 GiB": 8 << 30, "16 GiB": 16 << 30}


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
    sizes = [*SIZES, *LARGER]
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


def figure() -> Figure:
    """Bus bandwidth over size, a panel per number of hosts: ours as lines, published values as points."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    bytes_of = {size: bytes for size, (bytes, _) in SIZES.items()} | LARGER
    picture, every = figures.panels(3.9, len(HOSTS), sharex=True, sharey=True)
    for axes, hosts in zip(every, HOSTS, strict=True):
        for algorithm, style, color in zip(ALGORITHMS, ("-", "--", ":"), figures.COLORS, strict=False):
            name = {"nvls": "NVLS"}.get(algorithm, algorithm)
            found = stored[str(hosts)][algorithm]
            xs = [bytes_of[size] for size in found]
            axes.plot(xs, list(found.values()), style, color=color, linewidth=1.8, label=f"ours, {name}")
        known = {name: row["bus_GBps"] for name, row in published.items() if row["hosts"] == hosts}
        for marker, (name, values) in zip(figures.MARKERS, known.items(), strict=False):
            axes.plot(
                [bytes_of[size] for size in values],
                list(values.values()),
                marker,
                color="black",
                fillstyle="none",
                label=f"measured:\n{name.partition(' of ')[2]}",
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_title(f"{counted(hosts, 'host')} of 8 GPUs")
        axes.legend(loc="lower right", fontsize=7.5, handlelength=2.2, borderpad=0.1)
    ticks = ("1 MiB", "16 MiB", "256 MiB", "4 GiB")
    every[0].set_xticks([bytes_of[size] for size in ticks], [size.replace(" ", "\n") for size in ticks])
    every[0].set_yticks([5, 10, 20, 50, 100, 200, 500], ["5", "10", "20", "50", "100", "200", "500"])
    every[0].set_ylabel("bus bandwidth, GB/s")
    picture.supxlabel("size of the all-reduce", fontsize=8.5)
    return picture


FIGURE = Drawing("all-reduce", figure)


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), ", ".join(SIZES), measure, PASSAGE, text, FIGURE)


if __name__ == "__main__":
    command.run(main)
