"""Few iterations against all of them: the gain of `odonata extrapolate`, and its error.

    few_iterations.py measure [NAME ...]   applications with one of these in their names, by default all
    few_iterations.py page                 the table of docs/fidelity.md, from the stored results

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402

STORED = HERE / "data" / "few_iterations.json"
PASSAGE = Passage(
    "fidelity.md",
    "<!-- few iterations: studies/fidelity/few_iterations.py page -->",
    "<!-- end of few iterations -->",
)

MACHINE = {
    "dragonfly": {
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports_per_router": 2,
    }
}

#: Jobs, and storage if they need it.
APPLICATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "MILC": ({"workload": {"milc": {"message": "16 KiB", "compute": "20 us", "iterations": 6000}}}, {}),
    "training": (
        {
            "workload": {
                "training": {
                    "layers": 4,
                    "hidden": 256,
                    "heads": 4,
                    "vocabulary": 1024,
                    "sequence": 256,
                    "tensor": 2,
                    "iterations": 4000,
                }
            }
        },
        {},
    ),
    "checkpointing solver": (
        {
            "repeat": 4000,
            "workload": [
                {"stencil": {"message": "16 KiB", "iterations": 5, "compute": "20 us"}},
                {"checkpoint": {"total": "8 MB", "interval": "20 us", "iterations": 1}},
            ],
        },
        {"storage": {"nodes": {"per_group": 1}}},
    ),
}


def measure(names: list[str]) -> None:
    """Runs the applications in part and in full, and stores the times of their jobs."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name, (job, more) in APPLICATIONS.items():
        if names and not any(part in name for part in names):
            continue
        content = {
            "seed": 1,
            "machine": MACHINE,
            "run": {"blame": False, "threads": 1, "message_rows": 0, "io_rows": 0},
            "jobs": [{"name": "job", "ranks": 32, "placement": "random", **job}],
            **more,
        }
        found = odonata.extrapolate(content)
        begin = time.process_time()
        row = odonata.run(content).rows("jobs")[0]
        cpu_s = time.process_time() - begin
        own = found["jobs"][0]
        stored[name] = {
            "steady": found["steady"],
            "runs": found["runs"],
            "cpu_s": [round(found["cpu_s"], 2), round(cpu_s, 2)],
            "own": own,
            **{key: row[key] for key in ("elapsed_s", "mpi_s", "io_s")},
        }
        print(name, stored[name], flush=True)
        kept = {known: stored[known] for known in APPLICATIONS if known in stored}
        STORED.parent.mkdir(exist_ok=True)
        STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def text() -> str:
    """The table of the page."""
    rows = []
    for name, row in json.loads(STORED.read_text(encoding="utf-8")).items():
        own, (few, all_) = row["own"], row["cpu_s"]

        def off(key: str, row: Any = row, own: Any = own) -> str:
            return f"{100 * (own[key] / row[key] - 1):+.2f}%" if row[key] and own[key] is not None else "-"

        rows.append(
            [
                name,
                f"{own['simulated']:,} of {own['iterations']:,}",
                off("elapsed_s"),
                "-" if own["error"] is None else f"{100 * own['error']:.2f}%",
                off("mpi_s"),
                off("io_s"),
                f"{all_:.1f} s",
                f"{few:.2f} s",
                f"{all_ / few:.0f}",
            ]
        )
    header = [
        "application",
        "iterations",
        "time off",
        "stated error",
        "MPI off",
        "I/O off",
        "CPU, all",
        "few",
        "gain",
    ]
    return Table("", header, rows).markdown()


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), "of applications, or parts of these", measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
