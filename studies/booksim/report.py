"""The pages and figures of the comparison with BookSim."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from odonata import _core

#: The page without its table and its text about single sweeps.
PAGE = Path(__file__).parent / "page.md"


def write(results: dict[str, Any], data: Path, docs: Path, steep: float, enough: int) -> None:
    """Writes validation.json, validation.md and the figure."""
    about = {"version": _core.__version__, "machine": f"{os.cpu_count()} cores, {platform.machine()}"}
    data.write_text(json.dumps({**about, "sweeps": results}, indent=1) + "\n")
    figure(results).savefig(docs / "figures/validation.svg", metadata={"Date": None})
    (docs / "validation.md").write_text(text(results, about, steep, enough))


def text(results: dict[str, Any], about: dict[str, str], steep: float, enough: int) -> str:
    """The page."""
    minutes = sum(result["cpu_s"] for result in results.values()) / 60
    table = ""
    for name, result in results.items():
        f = result["figures"]
        first = "none run" if f["first_saturated"] is None else f"{f['first_saturated']:g}"
        table += (
            f"| {name} | {f['points_compared']} | {f['mean_difference']:.2%} "
            f"| {f['largest_difference']:+.2%} | {f['hops_difference']:+.2%} | {f['p99_difference']:+.1%} "
            f"| {f['last_stable']:g}, {first} "
            f"| {own_saturation(result)} | {f['verdict']} |\n"
        )
    missed = [name for name, result in results.items() if result["figures"]["verdict"].startswith("misses")]
    notes = [f"**{name}** {results[name]['figures']['verdict']}." for name in missed]
    return PAGE.read_text().format(
        minutes=minutes,
        steep=steep,
        enough=enough,
        table=table,
        notes="\n\n".join(notes) or "No sweep misses its goal.",
        **about,
    )


def own_saturation(result: dict[str, Any]) -> str:
    """The last stable and the first saturated load of Odonata."""
    stable = [row["load"] for row in result["ours"] if not row["saturated"]]
    saturated = [row["load"] for row in result["ours"] if row["saturated"]]
    return f"{max(stable):g}, " + (f"{min(saturated):g}" if saturated else "none run")


def figure(results: dict[str, Any]) -> Figure:
    """Small multiples, one per sweep."""
    columns = 4
    rows = -(-len(results) // columns)
    picture = Figure(figsize=(3.2 * columns, 2.4 * rows), layout="constrained")
    for place, (name, result) in enumerate(results.items(), start=1):
        axes = picture.add_subplot(rows, columns, place)
        ours = [row for row in result["ours"] if not row["saturated"]]
        axes.plot(
            [row["load"] for row in ours], [row["mean"] for row in ours], color="#0b6e75", linewidth=1.6
        )
        for saturated, face in ((False, "#c4501b"), (True, "none")):
            rows_of = [
                row for row in result["reference"] if row["saturated"] == saturated and row["mean"] > 0
            ]
            axes.plot(
                [row["load"] for row in rows_of],
                [row["mean"] for row in rows_of],
                linestyle="none",
                marker="o",
                markersize=4,
                markerfacecolor=face,
                markeredgecolor="#c4501b",
            )
        top = max(row["mean"] for row in result["reference"] if not row["saturated"])
        axes.set_ylim(0, 1.25 * top)
        axes.set_title(name.replace("_", " "), fontsize=8, loc="left")
        axes.tick_params(labelsize=7)
        axes.grid(visible=True, linewidth=0.3)
    picture.supxlabel("offered load, flits per node and cycle", fontsize=9)
    picture.supylabel("mean packet latency, cycles", fontsize=9)
    return picture
