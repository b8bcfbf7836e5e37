"""Rows of text as a table for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text; the first `left` columns are left-aligned, the others right-aligned."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    def text(self) -> str:
        """Aligned columns."""
        widths = [max(map(len, column)) for column in zip(self.header, *self.rows, strict=True)]
        lines = [
            self.title,
            "",
            self._line(self.header, widths),
            self._line(["-" * w for w in widths], widths),
        ]
        return "\n".join([*lines, *(self._line(row, widths) for row in self.rows)]) + "\n"

    def markdown(self) -> str:
        """A table of GitHub's Markdown."""
        rule = ["---" if i < self.left else "---:" for i in range(len(self.header))]
        rows = [self.header, rule, *self.rows]
        head = f"{self.title}\n\n" if self.title else ""
        return head + "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"

    def _line(self, cells: Sequence[str], widths: Sequence[int]) -> str:
        pairs = enumerate(zip(cells, widths, strict=True))
        return "  ".join(c.ljust(w) if i < self.left else c.rjust(w) for i, (c, w) in pairs).rstrip()
