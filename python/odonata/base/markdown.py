"""Parts of generated Markdown pages."""

from __future__ import annotations

#: First line of every generated page.
GENERATED = "<!-- Generated from the types by `make docs`; edit the doc comments there. -->\n"


def cell(text: str) -> str:
    """Puts `text` on one line, escaped for a table cell."""
    return " ".join(text.split()).replace("|", "\\|")
