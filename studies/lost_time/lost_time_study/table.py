"""The page docs/lost-time-accuracy.md, from what is stored here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from study_tools.table import Table

from lost_time_study import HERE, STUDIES
from lost_time_study.measure import Prediction, read
from odonata.base.wording import duration

DATA = HERE / "data" / "predictions.json"
TEMPLATE = HERE / "page.md"
PAGE = STUDIES.parent / "docs" / "lost-time-accuracy.md"

#: Goals for the median error: for routing independent of load, and dependent on it.
GOALS = {False: 0.02, True: 0.05}


#: Smallest delay for a meaningful prediction.
LEAST = 0.01


def held_up(found: Iterable[Prediction]) -> list[Prediction]:
    """The jobs that others have delayed."""
    return [one for one in found if one.slowdown >= LEAST]


def table(found: Sequence[Prediction]) -> Table:
    """A row per job."""
    rows = [
        [
            one.case,
            one.job,
            duration(one.together_s),
            duration(one.alone_s),
            f"{100 * one.slowdown:+.1f}%",
            duration(one.predicted_s),
            f"{100 * one.error:+.1f}%",
        ]
        for one in found
    ]
    header = ["case", "job", "together", "alone", "slower by", "predicted alone", "error"]
    return Table("", header, rows, left=2)


def verdict(found: Sequence[Prediction], adaptive: bool) -> str:
    """Cells of a row: the median error, whether it meets the goal, the largest error, the number of jobs."""
    judged = [one for one in held_up(found) if one.adaptive == adaptive]
    off = [abs(one.error) for one in judged]
    worst = max(judged, key=lambda one: abs(one.error))
    goal = GOALS[adaptive]
    kept = "kept" if median(off) <= goal else "missed"
    return (
        f"{100 * median(off):.1f}% | at most {100 * goal:.0f}%: {kept} | "
        f"{100 * worst.error:+.1f}% ({worst.job} of *{worst.case}*) | {len(off)}"
    )


def text() -> str:
    """The page."""
    found = read(DATA)
    late = held_up(found)
    nearer = sum(abs(one.error) < abs(one.slowdown) for one in late)
    return TEMPLATE.read_text(encoding="utf-8").format(
        table=table(found).markdown().strip(),
        minimal=verdict(found, False),
        adaptive=verdict(found, True),
        nearer=nearer,
        held_up=len(late),
        cases=len({one.case for one in found}),
    )
