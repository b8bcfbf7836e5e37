"""The pages of a study, README.md and APPENDIX.md, generated from its templates `page.md` and
`details.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

#: Template -> page.
PAGES = {"page.md": "README.md", "details.md": "APPENDIX.md"}


def made(study: Path, **values: object) -> dict[Path, str]:
    """The text of each page of a study: its template with `values` in place of their names."""
    return {
        study / page: (study / template).read_text(encoding="utf-8").format(**values)
        for template, page in PAGES.items()
    }


def write(texts: Mapping[Path, str]) -> None:
    """Writes pages, and prints their names."""
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
        print(f"written: {path}")
