"""The beginning of a run as a trial, extrapolated to the whole run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from odonata import _core

#: CPU seconds of a trial, and of its slices.
TRIAL_S, SLICE_S = 2.0, 0.1

#: The CPU time of a trial, and the completed share of the run at that time.
Mark = tuple[float, float]


def run(
    text: str,
    path: str,
    settings: list[str],
    seed: int | None,
    *,
    seconds: float = TRIAL_S,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Any]:
    """The time of a run as `odonata check` reports it, from its first `seconds` by `clock`."""
    begin = clock()
    simulation = _core.Simulation(text, path, [*settings, "run.scheduler=sequential"], seed)
    marks: list[Mark] = [(clock() - begin, 0.0)]
    while True:
        now: dict[str, Any] = simulation.advance(SLICE_S)
        fraction = 1.0 if now["finished"] else now["fraction"] or 0.0
        marks.append((clock() - begin, fraction))
        if now["finished"] or marks[-1][0] >= seconds:
            break
    least, most = extrapolate(marks)
    return {
        "least_s": least,
        "most_s": most,
        "source": "trial",
        "trial": {
            "cpu_s": marks[-1][0],
            "simulated_s": now["simulated_s"],
            "messages": now["messages"],
            "fraction": fraction,
        },
    }


def extrapolate(marks: list[Mark]) -> tuple[float, float | None]:
    """The CPU time of the whole run by the speed of the whole trial, and by that of its second half.

    The smaller is the least and the larger the most time; the most is None if the run has not progressed.

    >>> extrapolate([(1.0, 0.0), (2.0, 0.25), (3.0, 0.75)])
    (3.5, 3.67)
    >>> extrapolate([(1.0, 0.0), (2.0, 1.0)])
    (2.0, 2.0)
    >>> extrapolate([(0.5, 0.0), (2.0, 0.0)])
    (2.0, None)
    """
    (build, _), (end, done) = marks[0], marks[-1]
    if done >= 1.0:
        return end, end
    half = [mark for mark in marks if mark[1] <= done / 2][-1]
    speeds = [(fraction, spent) for fraction, spent in ((done, end - build), (done - half[1], end - half[0]))]
    times = [end + (1.0 - done) * spent / fraction for fraction, spent in speeds if fraction > 0.0]
    if not times:
        return end, None
    return round(min(times), 2), round(max(times), 2)
