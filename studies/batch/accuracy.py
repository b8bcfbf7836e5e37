"""How far slowdowns by rates are off from packets: the tables of README.md, from the moments in data/.

Beside ours stands the contention of RAPS (ExaDigiT's scheduling and power simulator): a job is slowed by the
overload of its worst link, max(1, sum of the mean loads of all jobs / capacity). It is the formula of
`apply_job_slowdown` and `worst_link_util` in raps/network/base.py, on our loads of links.

python studies/batch/accuracy.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

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


def main() -> None:
    """Prints the tables."""
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


if __name__ == "__main__":
    main()
