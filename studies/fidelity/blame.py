"""Waits of three jobs for each other on a shared machine, in packets and as flows.

    blame.py measure [NAME ...]   scenarios with one of these in their names, by default all: a minute
    blame.py page                 the table of docs/fidelity.md, from the stored results

Exit code: 0; 2 if the arguments are wrong; 130 if it was interrupted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

HERE = Path(__file__).parent
# study_tools, which all studies share.
sys.path.append(str(HERE.parent))

from study import scenarios  # noqa: E402
from study_tools import command, passage  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402

import odonata  # noqa: E402
from odonata.analysis.blame import ROUTER_PLACES  # noqa: E402

STORED = HERE / "data" / "blame.json"
PASSAGE = Passage("fidelity.md", "<!-- blame: studies/fidelity/blame.py page -->", "<!-- end of blame -->")

FIDELITIES = ("packet", "flow")

#: The third job, beside the two of a scenario.
THIRD = {
    "name": "uniform",
    "ranks": 16,
    "placement": "random",
    "until": "stencil",
    "workload": {"uniform": {"bytes": "256 KiB", "load": 0.5}},
}


def waits(content: dict[str, Any], fidelity: str) -> dict[str, dict[str, float]]:
    """For each job, the share of its waits at routers behind each job."""
    overrides = {"network.fidelity": fidelity, "run.blame": True}
    rows = odonata.run(content, overrides=overrides, progress=False).table("blame").to_pylist()
    jobs = [job["name"] for job in content["jobs"]]
    found = {}
    for victim in jobs:
        own = [row for row in rows if row["victim"] == victim and row["place"] in ROUTER_PLACES]
        whole = sum(row["waited_s"] for row in own)
        found[victim] = {
            culprit: round(sum(row["waited_s"] for row in own if row["culprit"] == culprit) / whole, 4)
            for culprit in jobs
        }
    return found


def measure(names: list[str]) -> None:
    """Runs the scenarios of two jobs and a third in packets and as flows, and stores the waits."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    for name, _, content in scenarios():
        if len(content["jobs"]) == 2 and (not names or any(part in name for part in names)):
            three = {**content, "jobs": [*content["jobs"], THIRD]}
            stored[name] = {fidelity: waits(three, fidelity) for fidelity in FIDELITIES}
            print(name, stored[name], flush=True)
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def first_of_others(waits: dict[str, float], victim: str) -> tuple[str, float]:
    """The culprit with the largest share of the waits of `victim` for other jobs."""
    first, second = (culprit for culprit in waits if culprit != victim)
    return first, waits[first] / (waits[first] + waits[second])


def text() -> str:
    """The table of the page."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    rows, off = [], []
    own: dict[str, list[float]] = {fidelity: [] for fidelity in FIDELITIES}
    for name, found in stored.items():
        row = [name.replace(": two jobs", "").replace(" - two jobs", "")]
        for victim in found["packet"]:
            (_, packets), (_, flows) = (first_of_others(found[of][victim], victim) for of in FIDELITIES)
            off.append(abs(flows - packets))
            row.append(f"{100 * packets:.0f} / {100 * flows:.0f}%")
            for fidelity in FIDELITIES:
                own[fidelity].append(found[fidelity][victim][victim])
        rows.append([*row, f"{100 * max(off[-3:]):.0f}"])
    found = next(iter(stored.values()))["packet"]
    header = [f"{victim}, for {first_of_others(of, victim)[0]}" for victim, of in found.items()]
    table = Table("", ["scenario", *header, "points off, at most"], rows).markdown()
    of_packets, of_flows = (f"{100 * fmean(own[fidelity]):.0f}%" for fidelity in FIDELITIES)
    return (
        f"{table}\nIn the mean they are {100 * fmean(off):.1f} points off. For themselves jobs wait "
        f"{of_packets} of all waits in packets, and {of_flows} as flows.\n"
    )


def main() -> int:
    """See the top."""
    return passage.main(str(__doc__), "of scenarios, or parts of these", measure, PASSAGE, text)


if __name__ == "__main__":
    command.run(main)
