"""An advice for people, and the progress of its search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

from odonata.advice.answer import dollars
from odonata.base.terminal import console, explain, show_table, table
from odonata.base.wording import duration
from odonata.running.progress import LiveLine
from odonata.sweeps import page as sweep_page
from odonata.sweeps.scheduler import Progress

if TYPE_CHECKING:
    from odonata.answers.advice import Advice

#: Rows of the table of the search.
SHOWN = 8


def show(answer: Advice | dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints an advice to `stream` (default: standard output)."""
    out = console(stream)
    limits = f", with {', '.join(answer['limits'])}" if answer["limits"] else ""
    explain(
        out,
        f"{answer['name']}: {answer['candidates']} candidates for {answer['goal']}{limits}; "
        f"{answer['runs']} runs in {duration(answer['wall_s'])}.",
        *answer["sentences"],
        "Scores are ratios to the scenario as it is; less is better. All intervals of the packets together "
        f"hold with {100 * answer['confidence']:.0f}%.",
    )
    page = table("packets", "seeds", "score", "limits", "cost", left=1)
    for one in answer["confirmed"]:
        page.add_row(
            one["choice"],
            str(one["seeds"]) if not one["failure"] else one["failure"][:40],
            "1" if not one["settings"] else "-" if one["score"] is None else one["score"]["words"],
            "kept" if one["keeps_limits"] else "broken",
            dollars(one["cost"]["total"]),
        )
    show_table(out, page)
    for one in answer["confirmed"]:
        if one["choice"] == answer["best"] and one["jobs"]:
            page = table("job", "time / as the scenario", left=2)
            for job in one["jobs"]:
                page.add_row(job["job"], job["words"])
            show_table(out, page)
        if one["choice"] == answer["best"] and one["waits"]:
            page = table("waits", "for", "in", "before", "after", left=3)
            for wait in one["waits"]:
                page.add_row(
                    f"{wait['victim']} ({wait['victim_class']})",
                    f"{wait['culprit']} ({wait['culprit_class']})",
                    wait["where"],
                    duration(wait["before_s"]),
                    duration(wait["after_s"]),
                )
            show_table(out, page)
    kind = "search by flows (estimates)" if answer["searched_by"] == "flow" else "search in packets"
    page = table(kind, "seeds", "score", "limits", "cost", left=1)
    for searched in answer["searched"][:SHOWN]:
        page.add_row(
            searched["choice"],
            str(searched["seeds"]),
            "-" if searched["ratio"] is None else f"{searched['ratio']:.3f}x",
            "kept" if searched["keeps_limits"] else "broken",
            dollars(searched["cost"]),
        )
    show_table(out, page)
    if answer["left_out"]:
        explain(
            out, f"Candidates left out because the machine does not have them: {len(answer['left_out'])}."
        )


class AdviceLine(LiveLine):
    """The progress of a search."""

    def __call__(self, step: str, now: Progress) -> None:
        """Shows `now`."""
        self._update(f"{step} | {sweep_page.line(now)}", now.done / (now.planned or 1))
