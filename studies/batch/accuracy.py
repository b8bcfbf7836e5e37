"""How far slowdowns by rates are off from packets: the tables of README.md, from the moments in data/.

It prints the tables and draws docs/figures/batch.svg.

Beside ours stands the contention of RAPS (ExaDigiT's scheduling and power simulator): a job is slowed by the
overload of its worst link, max(1, sum of the mean loads of all jobs / capacity). It is the formula of
`apply_job_slowdown` and `worst_link_util` in raps/network/base.py, on our loads of links.

python studies/batch/accuracy.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

# study_tools, which all studies share.
sys.path.append(str(Path(__file__).parents[1]))

from matplotlib.figure import Figure
from study_tools import figures
from study_tools.figures import Drawing

from odonata.batch_queue.summary import quantile

#: The lists, and what they are.
WEEKS = {
    "near": "Lublin and Feitelson, fewest groups",
    "scattered": "Lublin and Feitelson, random nodes",
    "powers": "powers of two, contiguous",
    "tapered": "Lublin and Feitelson, random nodes, half the global bandwidth",
    "eager": "the same without rendezvous",
}
DATA = Path(__file__).parent / "data"
#: Jobs count as slowed from here on.
SLOWED = 1.02

Job = dict[str, Any]


def rates(job: Job) -> float:
    """The slowdown by rates."""
    return float(job["rates"])


def raps(job: Job) -> float:
    """The slowdown by the formula of RAPS."""
    return max(1.0, float(job["overload"]))


def none(_job: Job) -> float:
    """No slowdown."""
    return 1.0


def moments(name: str) -> list[list[Job]]:
    """The compared jobs of each moment of a list."""
    return [json.loads(line)["jobs"] for line in (DATA / f"{name}.jsonl").read_text().splitlines()]


def errors(jobs: Iterable[Job], model: Any) -> list[float]:
    """|slowdown of the model / slowdown by packets - 1|, sorted."""
    return sorted(abs(model(job) / job["packets"] - 1.0) for job in jobs)


def words(found: list[float]) -> str:
    """Median, 90th percentile and maximum of sorted errors.

    >>> words([0.0, 0.1, 0.2])
    '10.0% | 20.0% | 20.0%'
    """
    shares = (0.5, 0.9, 1.0)
    return " | ".join(f"{100 * quantile(found, share):.1f}%" if found else "-" for share in shares)


def table(head: str, rows: Iterable[str]) -> None:
    """Prints a table."""
    print(f"| {head} |")
    print("|---" * (head.count("|") + 1) + "|")
    for row in rows:
        print(f"| {row} |")
    print()


def figure() -> Figure:
    """Slowdown by rates over slowdown by packets, a point per job."""
    panels = (("near", "scattered", "powers"), ("tapered", "eager"))
    titles = ("Full global bandwidth", "Half the global bandwidth, random nodes")
    labels = {
        "near": "fewest groups",
        "scattered": "random nodes",
        "powers": "powers of two, contiguous",
        "tapered": "with rendezvous",
        "eager": "without rendezvous",
    }
    picture, every = figures.panels(4.7, 2)
    for axes, names, title, end in zip(every, panels, titles, (1.65, 2.85), strict=True):
        ends = [0.97, end]
        axes.fill_between(
            ends, [0.85 * end for end in ends], [1.15 * end for end in ends], color=figures.BAND
        )
        axes.plot(ends, ends, color=figures.REFERENCE, linewidth=0.8)
        for name in names:
            place = list(labels).index(name)
            jobs = [job for moment in moments(name) for job in moment]
            axes.plot(
                [job["packets"] for job in jobs],
                [rates(job) for job in jobs],
                figures.MARKERS[place],
                color=figures.COLORS[place],
                fillstyle="none",
                markersize=4.5,
                label=f"{labels[name]}, {len(jobs)} jobs",
            )
        axes.set_xlim(*ends)
        axes.set_ylim(*ends)
        axes.set_xlabel("slowdown by packets (shaded: within 15%)")
        axes.set_title(title)
        axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16))
    every[0].set_ylabel("slowdown by rates")
    return picture


FIGURE = Drawing("batch", figure)


def main() -> None:
    """Prints the tables, and draws the figure."""
    found = {name: moments(name) for name in WEEKS if (DATA / f"{name}.jsonl").is_file()}
    found["all but the last"] = [moment for name in found if name != "eager" for moment in found[name]]

    def row(name: str) -> str:
        jobs = [job for moment in found[name] for job in moment]
        slowed = [job for job in jobs if job["packets"] > SLOWED]
        return (
            f"{WEEKS.get(name, name)} | {len(found[name])} | {len(jobs)} | {words(errors(jobs, rates))} | "
            f"{len(slowed)} | {words(errors(slowed, rates))}"
        )

    quantiles = "median | p90 | worst"
    table(f"jobs of | moments | jobs | {quantiles} | slowed by packets | {quantiles}", map(row, found))
    models = {"rates": rates, "RAPS": raps, "no contention": none}

    def against(name: str) -> Iterable[str]:
        jobs = [job for moment in found[name] for job in moment]
        either = [job for job in jobs if max(job["packets"], rates(job), raps(job)) > SLOWED]
        for model, slowdown in models.items():
            yield f"{WEEKS.get(name, name)} | {model} | {len(either)} | {words(errors(either, slowdown))}"

    table(
        f"jobs of | model | slowed by packets or a model | {quantiles}",
        (line for name in ("scattered", "tapered", "eager") if name in found for line in against(name)),
    )
    FIGURE.write()


if __name__ == "__main__":
    main()
