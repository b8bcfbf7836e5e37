"""Claims with their verdicts as text for the terminal, as Markdown and as CSV; a page from its template."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study_tools.claims import Answer, Claim, Data, Kind, Verdict, answer, share
from study_tools.table import Table

#: The origin of a claim, in a table.
_WHOSE = {Kind.PAPER: "the paper's", Kind.PUBLISHED: "published elsewhere", Kind.OWN: "our own"}


@dataclass(frozen=True)
class Judged:
    """A claim with its measurements."""

    claim: Claim[Any]
    answer: Answer

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        return self.answer.verdict


def judge(claims: Sequence[Claim[Data]], of: Data) -> list[Judged]:
    """Judges all claims by the measurements."""
    return [Judged(claim, answer(claim, of)) for claim in claims]


def counts(judged: Sequence[Judged]) -> str:
    """Numbers of claims by verdict and origin: "claims of the paper: 12 hold, 9 hold in part; ..."."""
    kinds = [[one for one in judged if one.claim.kind == kind] for kind in Kind]
    return "; ".join(f"{of[0].claim.kind}: {_counted(of)}" for of in kinds if of)


def _counted(judged: Sequence[Judged]) -> str:
    words = {
        Verdict.HOLDS: "hold",
        Verdict.PART: "hold in part",
        Verdict.NOT: "do not hold",
        Verdict.UNKNOWN: "were not judged",
    }
    found = {verdict: sum(one.verdict == verdict for one in judged) for verdict in Verdict}
    return ", ".join(
        f"{count} {words[verdict]}"
        for verdict, count in found.items()
        if count or verdict in list(Verdict)[:3]
    )


def tally(judged: Sequence[Judged]) -> Table:
    """Numbers of claims by verdict and origin, for Markdown."""
    rows = []
    for kind in Kind:
        verdicts = [one.verdict for one in judged if one.claim.kind == kind]
        if verdicts:
            rows.append([kind, *(str(verdicts.count(verdict)) for verdict in Verdict)])
    return Table("", ["", *(str(verdict) for verdict in Verdict)], rows)


def overview(judged: Sequence[Judged]) -> Table:
    """One line per claim, for a terminal."""
    rows = [
        [one.claim.key, one.claim.source, one.claim.number, one.verdict, share(one.answer.values)]
        for one in by_kind(judged)
    ]
    return Table(counts(judged).capitalize(), ["claim", "in", "paper", "verdict", "as claimed"], rows, left=4)


def by_kind(judged: Sequence[Judged]) -> list[Judged]:
    """Claims of the paper first, checks of the study last."""
    kinds = list(Kind)
    return sorted(judged, key=lambda one: kinds.index(one.claim.kind))


def short(judged: Sequence[Judged]) -> Table:
    """Each claim and its verdict, for Markdown."""
    rows = [
        [one.claim.says, one.claim.source, f"**{one.verdict}**", share(one.answer.values)]
        for one in by_kind(judged)
    ]
    header = ["claim", "in", "verdict", "cases as claimed"]
    return Table("", header, rows, left=len(header))


def table(judged: Sequence[Judged]) -> Table:
    """All claims with their numbers, for Markdown."""
    rows = [
        [
            f"`{one.claim.key}`",
            one.claim.says,
            one.claim.source,
            one.claim.number,
            f"**{one.verdict}**",
            share(one.answer.values),
            one.answer.text(),
        ]
        for one in by_kind(judged)
    ]
    header = ["claim", "it says", "in", "number", "verdict", "cases as claimed", "ours"]
    if len({one.claim.kind for one in judged}) > 1:
        header.insert(1, "whose")
        for row, one in zip(rows, by_kind(judged), strict=True):
            row.insert(1, _WHOSE[one.claim.kind])
    return Table("", header, rows, left=len(header))


def reasons(judged: Sequence[Judged], notes: Mapping[str, str]) -> str:
    """The reason for every claim that does not fully hold: a list in Markdown."""
    wanting = [one for one in judged if one.verdict in (Verdict.PART, Verdict.NOT)]
    lines = [
        f"- **`{one.claim.key}`** ({one.verdict}). {notes.get(one.claim.key, 'Not explained.')}\n"
        for one in wanting
    ]
    return "".join(lines) or "All claims hold.\n"


def notes(file: Path) -> dict[str, str]:
    """The paragraphs of a file in Markdown, each below a heading that names its claim."""
    found = {}
    for part in file.read_text(encoding="utf-8").split("\n## ")[1:]:
        key, _, text = part.partition("\n")
        found[key.strip()] = " ".join(text.split())
    return found


def rules(judged: Sequence[Judged]) -> str:
    """The grading of each claim: a list in Markdown."""
    return "".join(f"- `{one.claim.key}`: {one.claim.rule}\n" for one in judged)


def write_csv(file: Path, judged: Sequence[Judged]) -> None:
    """Writes every graded or shown number, a row each."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(
            ["claim", "whose", "source", "paper", "verdict", "quantity", "case", "value", "unit", "grade"]
        )
        for one in judged:
            start = [
                one.claim.key, one.claim.kind, one.claim.source, one.claim.number, one.verdict,
            ]  # fmt: skip
            for value in one.answer.values:
                grade = value.grade.name.lower() if value.grade is not None else ""
                writer.writerow([*start, value.quantity, value.case, value.number, value.unit, grade])
