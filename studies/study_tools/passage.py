"""Studies that write their results between two marks of a page of `docs`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from study_tools.figures import Drawing

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Passage:
    """The text between two lines of a page of `docs`."""

    page: str
    begin: str
    end: str

    def write(self, text: str) -> None:
        """Replaces the text."""
        path = DOCS / self.page
        before, _, after = path.read_text(encoding="utf-8").partition(self.begin)
        _, _, after = after.partition(self.end)
        path.write_text(f"{before}{self.begin}\n\n{text}\n{self.end}{after}", encoding="utf-8")
        print(f"written: docs/{self.page}")


def main(
    description: str,
    names: str,
    measure: Callable[[list[str]], None],
    passage: Passage,
    text: Callable[[], str],
    figure: Drawing | None = None,
) -> int:
    """Runs `measure [NAME ...]` or `page`; returns the exit code.

    `description` is the docstring of the script, `names` describes the measurable names; `text` makes the
    passage, beside which stands `figure`.
    """
    first, _, rest = description.partition("\n\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["measure", "page"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=names)
    arguments = parser.parse_args()
    if arguments.what == "measure":
        measure(arguments.names)
    else:
        passage.write(text())
        if figure is not None:
            figure.write()
    return 0
