"""Pages in Markdown that are made, not written."""

from __future__ import annotations

#: First line of every page that is made.
GENERATED = "<!-- Generated from the types by `make docs`; edit the doc comments there. -->\n"


def cell(text: str) -> str:
    """`text` on one line, fit for a cell."""
    return " ".join(text.split()).replace("|", "\\|")
