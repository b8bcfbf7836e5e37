"""Where the runs of a sweep go on: what the scheduler asks of any such place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from odonata.sweeps.work import Work


class Executor(Protocol):
    """Carries out work; each piece comes back once, with what is kept of it, however it ended."""

    #: Threads of each run that leaves them open.
    threads: int

    def room(self) -> int:
        """How many more pieces it wants now."""

    def submit(self, work: Work) -> None:
        """Takes a piece of work."""

    def finished(self, timeout_s: float) -> list[dict[str, Any]]:
        """What has ended since the last call; waits for so long if nothing has."""

    def running(self) -> Mapping[str, float | None]:
        """How far each piece has come, by its key; None where that is not known."""

    def close(self) -> None:
        """Ends what still runs."""
