"""The output of `odonata explain`: the sentence with the total, and the chain wait by wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from odonata.analysis.explain import Explanation
from odonata.base.terminal import console, explain


def show(chains: Sequence[Explanation], most: int, stream: TextIO | None = None) -> None:
    """Prints the chains, at most `most` waits of each."""
    out = console(stream)
    for number, chain in enumerate(chains):
        explain(out, *([""] if number else []), *chain.words())
        explain(out, *(f"- {line}" for line in chain.chain_words(most)))
