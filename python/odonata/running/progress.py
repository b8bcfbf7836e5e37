"""Progress on standard error: a live line on a terminal, a plain line now and then elsewhere (batch logs)."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from odonata.base import notebook
from odonata.base.wording import duration, rate
from odonata.running.runner import Progress

#: Wall time between two lines of a log, in seconds.
LOG_EVERY_S = 10.0


def line(now: Progress, before: Progress | None) -> str:
    """One line with the progress of the run and its baselines; rates refer to the time since `before`.

    >>> line(Progress(2.0, 1.5e-3, 24_000_000, 0, 9_000_000, 0, fraction=0.5), None)
    '50% | simulated 1.5 ms | 12 M events/s | 4.5 M packet-hops/s | 2 s left'
    """
    span = now.wall_s - (before.wall_s if before else 0.0)
    events = now.events - (before.events if before else 0)
    hops = now.packet_hops - (before.packet_hops if before else 0)
    parts = [f"simulated {duration(now.simulated_s)}"]
    if now.whole is not None:
        # Not 100% before the last baseline has ended.
        parts.insert(0, f"{math.floor(100 * now.whole) if now.baselines else round(100 * now.whole)}%")
    if span > 0:
        parts += [f"{rate(events / span)} events/s", f"{rate(hops / span)} packet-hops/s"]
    if now.left_s is not None:
        parts.append(f"{duration(now.left_s)} left")
    return " | ".join(parts)


def baselines_line(now: Progress) -> str:
    """One line about the baselines.

    >>> baselines_line(Progress(2.0, 0.0, 0, 0, 0, 0, None, baselines={"milc": 1.0, "noise": 0.25}))
    'alone: milc 100%, noise 25%'
    """
    shares = (
        f"{job} {'?' if share is None else f'{100 * share:.0f}%'}" for job, share in now.baselines.items()
    )
    return "alone: " + ", ".join(shares)


class LiveLine:
    """A line of progress that exists as long as the context; it is live on a terminal only."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._console = Console(file=stream or sys.stderr, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._updated_s = time.perf_counter()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=10, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def _update(self, text: str, share: float | None = None) -> None:
        """Shows `text`, after a bar if a `share` is done; a log gets it every `LOG_EVERY_S`."""
        if self._live is not None:
            grid = Table.grid(padding=(0, 1))
            bar = [] if share is None else [ProgressBar(total=1.0, completed=share, width=20)]
            grid.add_row(*bar, Text(text))
            self._live.update(grid)
        elif time.perf_counter() - self._updated_s >= LOG_EVERY_S:
            self._log(text)
            self._updated_s = time.perf_counter()

    def _log(self, text: str) -> None:
        """Prints a line of a log; a full disk under the log does not end a run."""
        with contextlib.suppress(OSError):
            self._console.print(text, soft_wrap=True)


class TextLine(LiveLine):
    """Shows a text on a terminal, and nothing elsewhere."""

    def __call__(self, text: str) -> None:
        """Replaces the text."""
        if self._live is not None:
            self._live.update(text)


class ProgressLine(LiveLine):
    """Shows the progress of a run, after the name of the run if there are several."""

    def __init__(self, stream: TextIO | None = None, title: str = "") -> None:
        super().__init__(stream)
        self._title = f"{title} | " if title else ""
        #: Rates are averages over about the last second, so that they neither jump nor lag.
        self._shown: list[Progress] = []
        self._logged_s = 0.0

    def __call__(self, now: Progress) -> None:
        """Shows `now`."""
        before = self._shown[0] if self._shown else None
        if self._live is not None:
            self._live.update(self._bar(now, before))
            self._shown = [*self._shown, now][-10:]
        elif now.wall_s - self._logged_s >= LOG_EVERY_S:
            text = self._title + line(now, before)
            if now.baselines:
                text += f" | {baselines_line(now)}"
            self._log(text)
            self._shown, self._logged_s = [now], now.wall_s

    def _bar(self, now: Progress, before: Progress | None) -> Table:
        grid = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=1.0, completed=now.whole or 0.0, width=20, pulse=now.whole is None)
        grid.add_row(bar, self._title + line(now, before))
        if now.baselines:
            grid.add_row("", Text(baselines_line(now), overflow="ellipsis", no_wrap=True))
        return grid


def run_progress(
    wanted: Callable[[Progress], None] | bool | None,
) -> contextlib.AbstractContextManager[Callable[[Progress], None] | None]:
    """The function to call with the progress of a run: `wanted`, a line, or nothing."""

    def words(now: Progress) -> tuple[str, float | None]:
        alone = f" | {baselines_line(now)}" if now.baselines else ""
        return line(now, None) + alone, now.whole

    return notebook.shown(wanted, words, ProgressLine)
