"""Progress of long calls in notebooks: one line below the cell, removed at the end.

Scripts show no progress unless the caller asks for it.
"""

from __future__ import annotations

import contextlib
import html
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Now = TypeVar("Now")

#: Wall time before the first line and between two of them, in seconds.
FIRST_S, EVERY_S = 0.5, 0.25


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel, whose cells show what is displayed.

    >>> in_notebook()
    False
    """
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return found is not None and getattr(found, "kernel", None) is not None


class NotebookLine:
    """A line of progress below the running cell."""

    def __init__(self, words: Callable[[Any], tuple[str, float | None]]) -> None:
        self._words = words
        self._shown: Any = None
        self._next_s = time.monotonic() + FIRST_S

    def __call__(self, now: Any) -> None:
        """Shows `now` if the last line is old enough."""
        if time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + EVERY_S
        text, fraction = self._words(now)
        done = "" if fraction is None else f' value="{fraction:.4f}"'
        self._show(f"<progress{done} style='width: 12em'></progress> <code>{html.escape(text)}</code>")

    def close(self) -> None:
        """Removes the line."""
        if self._shown is not None:
            self._show("")

    def _show(self, content: str) -> None:
        from IPython.display import HTML, display

        if self._shown is None:
            self._shown = display(HTML(content), display_id=True)
        else:
            self._shown.update(HTML(content))


@contextlib.contextmanager
def shown(
    wanted: Callable[[Now], None] | bool | None,
    words: Callable[[Now], tuple[str, float | None]],
    terminal: Callable[[], contextlib.AbstractContextManager[Callable[[Now], None]]],
) -> Iterator[Callable[[Now], None] | None]:
    """The function to call with progress: `wanted`, a line in the notebook or on the terminal, or nothing."""
    if callable(wanted):
        yield wanted
    elif in_notebook() and wanted is not False:
        shown = NotebookLine(words)
        try:
            yield shown
        finally:
            shown.close()
    elif wanted:
        with terminal() as line:
            yield line
    else:
        yield None
