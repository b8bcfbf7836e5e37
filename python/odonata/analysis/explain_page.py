"""The output of `odonata explain`: a table of the losses, and the chain wait by wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from rich.table import Table

from odonata.analysis.explain import Cause, Explanation
from odonata.base.terminal import console, explain, show_table, table
from odonata.base.wording import duration


def show(chains: Sequence[Explanation], most: int, stream: TextIO | None = None) -> None:
    """Prints the chains, at most `most` waits of each."""
    out = console(stream)
    for number, chain in enumerate(chains):
        causes = chain.causes()
        explain(out, *([""] if number else []), f"{chain.heading()}{':' if causes else '.'}")
        if causes:
            show_table(out, _causes(causes))
        explain(out, *chain.notes())
        waits = chain.chain_words(most)
        if waits:
            explain(out, "", "The chain of waits that ended it", *(f"- {line}" for line in waits))


def _causes(causes: Sequence[Cause]) -> Table:
    page = table("lost", "to", "waiting for", "most at", left=4)
    page.columns[0].justify = "right"
    for cause in causes:
        page.add_row(duration(cause.lost_s), cause.to, cause.awaited or "-", cause.most_at or "-")
    return page
