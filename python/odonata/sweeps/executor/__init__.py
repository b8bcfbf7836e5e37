"""The interface between the scheduler and the places that execute the runs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from odonata.sweeps.work import Work


class Executor(Protocol):
    """Executes work; each piece returns exactly once, with its record, however it ended."""

    #: Threads of a run whose scenario leaves the number open.
    threads: int

    def room(self) -> int:
        """Number of further pieces that it accepts now."""

    def submit(self, work: Work) -> None:
        """Accepts a piece of work."""

    def finished(self, timeout_s: float) -> list[dict[str, Any]]:
        """The records of the pieces that ended since the last call; waits up to the timeout for the first
        one.
        """

    def running(self) -> Mapping[str, float | None]:
        """Progress of each piece, by its key; None where it is unknown."""

    def close(self) -> None:
        """Ends the pieces that still run."""
