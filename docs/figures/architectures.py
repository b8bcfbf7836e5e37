"""The tables and the picture of docs/storage.md on tiers of storage.

`python docs/figures/architectures.py` runs `examples/tiers.toml` under the three values of
`storage.architecture`, prints the table, and draws `docs/figures/architectures.svg`. With `burst`, it runs a
checkpoint while the one before drains.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import odonata
from odonata.base.wording import duration

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "examples/tiers.toml"
NAMES = ("node-local", "compute-side", "storage-side")


def measured(results: Any, alone: Any) -> dict[str, float]:
    """Measurements of I/O, network, halo job and drain; `alone`: the halo job without the others."""
    jobs = {row["job"]: row for row in results.table("jobs").to_pylist()}
    tiers = results.table("tiers").to_pylist()
    links = [row for row in results.table("links").to_pylist() if row["class"] in ("local", "global")]
    safe = max(row["last_safe_s"] for row in tiers if row["job"] == "checkpoint")
    return {
        "checkpoint": jobs["checkpoint"]["io_max_s"],
        "training": jobs["training"]["io_max_s"],
        "network": float(sum(row["bytes"] for row in links)),
        "halo": jobs["halo"]["mpi_s"] / alone["mpi_s"],
        "safe": safe,
    }


def main() -> None:
    """Runs, prints, draws."""
    if "burst" in sys.argv[1:]:
        burst()
        return
    found = {}
    for name in NAMES:
        results = odonata.run(SCENARIO, overrides={"storage.architecture": name, "run.baselines": True})
        halo = next(row for row in results.table("slowdown").to_pylist() if row["job"] == "halo")
        found[name] = measured(results, {"mpi_s": halo["mpi_alone_s"]})
    print(
        "| architecture | checkpoint in I/O | training in I/O | on router-to-router links |"
        " halo, time in MPI | safe below after |"
    )
    print("|---|---|---|---|---|---|")
    for name, one in found.items():
        print(
            f"| {name} | {duration(one['checkpoint'])} | {duration(one['training'])} |"
            f" {one['network'] / 1e9:.3g} GB | x {one['halo']:.2f} | {duration(one['safe'])} |"
        )
    draw(found)


#: A second checkpoint 20 ms after the first, whose data is then in flight.
BURST = {
    "jobs.0.workload.checkpoint.iterations": 2,
    "jobs.0.workload.checkpoint.interval": "20 ms",
    "storage.policy.keep": False,
    "run.series_interval": "20 ms",
}


def burst() -> None:
    """A checkpoint while the previous one drains: the waits, and the series."""
    results = odonata.run(SCENARIO, overrides=BURST)
    calls = [row for row in results.table("io").to_pylist() if row["job"] == "checkpoint"]
    calls.sort(key=lambda row: row["start_s"])
    first, second = calls[: len(calls) // 2], calls[len(calls) // 2 :]
    for name, each in (("first", first), ("second", second)):
        took = max(row["end_s"] for row in each) - min(row["start_s"] for row in each)
        print(f"{name} checkpoint: {duration(took)}")
    tier_of = {row["server"]: row["tier"] for row in results.table("servers").to_pylist()}
    waits: dict[tuple[str, str], float] = {}
    for row in results.table("blame").to_pylist():
        if (row["victim"], row["victim_class"]) == ("checkpoint", "io"):
            place = tier_of.get(row["server"], row["place"])
            name = (place, row["resource"])
            waits[name] = waits.get(name, 0.0) + row["waited_s"]
    for (place, resource), waited in sorted(waits.items()):
        print(f"| {place} | {resource} | {waited:.3g} s |")
    series: dict[float, dict[str, float]] = {}
    for row in results.table("server_series").to_pylist():
        held = series.setdefault(row["start_s"], {})
        tier = tier_of[row["server"]]
        held[tier] = held.get(tier, 0.0) + row["used_bytes"]
    for row in results.table("blame_series").to_pylist():
        if row["victim"] == "checkpoint":
            interval = series.setdefault(row["start_s"], {})
            place = "servers" if row["place"] in ("server", "file-system") else "links"
            interval[place] = interval.get(place, 0.0) + row["waited_s"]
    for start, one in sorted(series.items()):
        held = [one.get(tier, 0.0) / 1e6 for tier in ("storage", "file-system")]
        waited = [one.get(place, 0.0) for place in ("links", "servers")]
        print(f"| {start * 1e3:.0f} ms | {held[0]:.0f} MB | {held[1]:.0f} MB |", end=" ")
        print(f"{waited[0]:.3g} s | {waited[1]:.3g} s |")


def draw(found: dict[str, dict[str, float]]) -> None:
    """Four bars per architecture, each with its own scale."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "architectures"
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    panels = {
        "checkpoint": ("checkpoint: time in I/O [ms]", 1e3),
        "network": ("router-to-router links [GB]", 1e-9),
        "halo": ("halo: time in MPI, alone = 1", 1.0),
        "safe": ("all in the file system after [ms]", 1e3),
    }
    page, axes = plt.subplots(1, len(panels), figsize=(11, 2.6), layout="constrained")
    for axis, (key, (title, scale)) in zip(axes, panels.items(), strict=True):
        axis.bar(
            list(found), [one[key] * scale for one in found.values()], color=["#4477aa", "#ccbb44", "#aa3377"]
        )
        axis.set_title(title, fontsize=9)
        if "[ms]" in title:
            axis.set_yscale("log")
            axis.yaxis.set_minor_formatter(NullFormatter())
        axis.tick_params(labelsize=8)
        axis.tick_params(axis="x", labelrotation=20)
    page.savefig(Path(__file__).with_name("architectures.svg"), metadata={"Date": None})
    plt.close(page)


if __name__ == "__main__":
    main()
