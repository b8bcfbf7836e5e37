"""The claims and their verdicts as text for the terminal, as Markdown and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from study_tools.table import Table

from mfnetsim_study import claims_jobs, claims_storage, claims_system, io_split
from mfnetsim_study.cases import Case, job_row
from mfnetsim_study.claims import Answer, Claim, Kind, Verdict, answer, culprits, number

#: All claims: those of the paper in its order, then checks of the study.
CLAIMS: list[Claim] = sorted(
    [*claims_storage.CLAIMS, *claims_jobs.CLAIMS, *claims_system.CLAIMS],
    key=lambda claim: claim.kind != Kind.PAPER,
)

VARIANTS = ("without", "with")


@dataclass(frozen=True)
class Judged:
    """A claim with the answers of the runs."""

    claim: Claim
    #: Runs as the paper describes them.
    without: Answer
    #: Runs as published.
    artifacts: Answer
    who: list[str]


def judge(paper: Sequence[Case], published: Sequence[Case]) -> list[Judged]:
    """Judges all claims by the runs without the artifacts and by those with them."""
    return [
        Judged(claim, answer(claim, paper), answer(claim, published), culprits(claim, paper))
        for claim in CLAIMS
    ]


def overview(judged: Sequence[Judged]) -> Table:
    """Numbers of claims by verdict, with checks of the study apart."""
    rows = []
    for kind in (Kind.PAPER, Kind.OWN):
        of = [j for j in judged if j.claim.kind == kind]
        for verdict in Verdict:
            counts = [
                sum(item.verdict == verdict for item in column)
                for column in ([j.without for j in of], [j.artifacts for j in of])
            ]
            rows.append([kind, verdict, *map(str, counts)])
    return Table("Claims", ["whose", "verdict", "without artifacts", "with"], rows, left=2)


def verdicts(judged: Sequence[Judged]) -> Table:
    """One line per claim, for a terminal."""
    rows = [
        [j.claim.key, j.claim.source, j.claim.number, j.without.verdict, j.artifacts.verdict] for j in judged
    ]
    header = ["claim", "in", "paper", "without artifacts", "with"]
    return Table("Verdicts", header, rows, left=5)


def details(judged: Sequence[Judged]) -> str:
    """A paragraph per claim, for a terminal."""
    parts = []
    for j in judged:
        lines = [
            f"{j.claim.says} ({j.claim.source})",
            f"  {j.without.verdict}: {j.without.text() or 'no runs'}   (paper: {j.claim.number})",
            f"  with the artifacts {j.artifacts.verdict}: {j.artifacts.text() or 'no runs'}",
            *(f"  {line}" for line in j.who),
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def page(judged: Sequence[Judged], paper: Sequence[Case], published: Sequence[Case]) -> str:
    """claims.md."""
    rules = "".join(f"- `{j.claim.key}`: {j.claim.rule}\n" for j in judged)
    return f"{measurements(judged, paper, published)}\nRules:\n\n{rules}"


def measurements(judged: Sequence[Judged], paper: Sequence[Case], published: Sequence[Case]) -> str:
    """The claims with their numbers, without the rules."""
    parts = [
        f"Computed from {names(paper)} without the artifacts of the published runs, and {names(published)} "
        "with them. Ranges are over these runs; x is together / alone unless it says otherwise.\n",
        overview(judged).markdown(),
        table(judged).markdown(),
        "Waits by culprit (share of the victim's time that it waited, mean over the runs under random "
        "placement without the artifacts):\n",
        "".join(f"- {line}\n" for line in dict.fromkeys(line for j in judged for line in j.who)),
        *(one.markdown() for one in splits(paper, published)),
    ]
    return "\n".join(parts)


def table(judged: Sequence[Judged]) -> Table:
    """All claims with their numbers, for Markdown."""
    rows = [
        [
            j.claim.says,
            "our own" if j.claim.kind == Kind.OWN else "the paper's",
            j.claim.source,
            j.claim.number,
            f"**{j.without.verdict}**",
            j.without.text(),
            str(j.artifacts.verdict),
            j.artifacts.text(),
        ]
        for j in judged
    ]
    header = ["claim", "whose", "in", "paper", "without artifacts", "ours", "with artifacts", "ours"]
    return Table("Claim by claim:", header, rows, left=8)


def splits(paper: Sequence[Case], published: Sequence[Case], job: str = "cosmoflow") -> list[Table]:
    """The parts of a job's I/O delay, for the runs that measured them; no table if there are none."""
    rows = []
    for label, of in (("", paper), (" (artifacts)", published)):
        for case in of:
            if io_split.measured(case, job):
                rows.append([case.name + label, *_split(case, job)])
    header = [
        *("run", "alone", "together", "more", "device serves", "waits for it: Checkpoint", "CosmoFlow"),
        *("memory, space", "network", "device", "network"),
    ]
    title = (
        "Parts of CosmoFlow's longer I/O, ms per rank (request to acknowledgement, all calls), and as "
        "shares of the difference:"
    )
    return [Table(title, header, rows)] if rows else []


def _split(case: Case, job: str) -> list[str]:
    alone, together = (io_split.split(results, job) for results in (case.alone[job], case.together))
    more = together - alone
    ranks = job_row(case.together, job)["ranks"]
    others = sum(more.waited(resource) for resource in io_split.RESOURCES if resource != "device")
    seconds = [
        *(alone.calls_s, together.calls_s, more.calls_s, more.service_s),
        *(more.waited("device", culprit) for culprit in ("checkpoint", "cosmoflow")),
        *(others, more.network_s),
    ]
    # If the difference is below a hundredth, its parts are meaningless.
    tells = abs(more.calls_s) >= 0.01 * alone.calls_s
    shares = [number(part / more.calls_s, "%") if tells else "" for part in (more.device_s, more.network_s)]
    return [f"{1e3 * value / ranks + 0.0:,.2f}" for value in seconds] + shares


def write(folder: Path, judged: Sequence[Judged], paper: Sequence[Case], published: Sequence[Case]) -> None:
    """Writes claims.md, and claims.csv with every number of every run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "claims.md").write_text(page(judged, paper, published), encoding="utf-8")
    with (folder / "claims.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        header = [
            "claim",
            "whose",
            "source",
            "paper",
            "artifacts",
            "verdict",
            "quantity",
            "run",
            "value",
            "unit",
            "grade",
        ]
        writer.writerow(header)
        for j in judged:
            for variant, found in zip(VARIANTS, (j.without, j.artifacts), strict=True):
                start = [
                    *(j.claim.key, j.claim.kind, j.claim.source),
                    *(j.claim.number, variant, found.verdict),
                ]
                if not found.values:
                    writer.writerow([*start, "", "", "", "", ""])
                for value in found.values:
                    grade = value.grade.name.lower() if value.grade is not None else ""
                    writer.writerow([*start, value.quantity, value.case, value.number, value.unit, grade])


def names(of: Sequence[Case]) -> str:
    """Number of runs, and their names if they are not all."""
    if len(of) == 8:
        return "all 8 runs"
    return f"{len(of)} of 8 runs" + (f" ({', '.join(case.name for case in of)})" if of else "")
