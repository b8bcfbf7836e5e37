"""The table that leads from a paper's figures and tables to ours: claims, verdicts, command, size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from study_tools.table import Table
from study_tools.verdicts import Judged


@dataclass(frozen=True)
class Shown:
    """A figure or a table of a paper, and its counterpart."""

    #: "Fig. 7" and what it shows.
    figure: str
    #: The counterpart: a link or the name of a table.
    ours: str
    #: Keys of the claims about it; empty if the paper says nothing that can be judged.
    claims: tuple[str, ...]
    command: str
    #: Size of the runs: that of the paper, or a smaller one with its reason.
    size: str


def table(shown: Sequence[Shown], judged: Sequence[Judged]) -> Table:
    """A row per figure, with the verdict on each claim about it."""
    return of_verdicts(shown, {one.claim.key: one.verdict for one in judged})


def of_verdicts(shown: Sequence[Shown], verdicts: Mapping[str, str]) -> Table:
    """The same from the verdict of each claim."""
    rows = [
        [
            one.figure,
            one.ours,
            "; ".join(f"`{key}` {verdicts[key]}" for key in one.claims) or "no claim",
            f"`{one.command}`" if one.command else "",
            one.size,
        ]
        for one in shown
    ]
    header = ["of the paper", "ours", "verdict", "command", "size"]
    return Table("", header, rows, left=len(header))
