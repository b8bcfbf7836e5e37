"""Counts the verdicts on the papers' claims for docs/papers.md, before and now: `counts.py`.

The studies judge their stored results; a claim of a study's own or one that was published elsewhere does not
count. The earlier counts are those of the same pages at the commit `BEFORE`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

STUDIES = Path(__file__).parent
NAMES = ("tpds2016", "cluster2017", "theta", "trinity2017", "mfnetsim")
# The tools of all studies, then the modules of each study.
sys.path += [str(STUDIES), *(str(STUDIES / name) for name in NAMES)]

import cluster2017_study.page  # noqa: E402
import mfnetsim_study.paper_page  # noqa: E402
import theta_study.page  # noqa: E402
import tpds2016_study.page  # noqa: E402
import trinity2017_study.page  # noqa: E402
from study_tools.claims import Kind, Verdict  # noqa: E402
from study_tools.passage import Passage  # noqa: E402
from study_tools.table import Table  # noqa: E402
from study_tools.verdicts import Judged  # noqa: E402

#: Commit and day of the earlier counts, which no longer change.
BEFORE = ("3e9e19c2", "2026-11-28")
PASSAGE = Passage("papers.md", "<!-- verdicts: studies/counts.py page -->", "<!-- verdicts: end -->")
#: A row of the counts of MFNetSim's claims: verdict, without artifacts, with.
_MFNETSIM = re.compile(rf"^\| {Kind.PAPER} \| ([\w ]+) \| (\d+) \| (\d+) \|$", re.MULTILINE)


class Counts(NamedTuple):
    """Numbers of claims by verdict."""

    holds: int
    in_part: int
    does_not: int
    not_judged: int


class Row(NamedTuple):
    """A study under one of its settings."""

    #: Tag of the paper, as on the page.
    tag: str
    study: str
    settings: str
    #: None: nothing was judged.
    before: Counts | None
    now: Counts


def of_paper(judged: Sequence[Judged]) -> Counts:
    """The counts of the claims of the paper."""
    found = [one.verdict for one in judged if one.claim.kind is Kind.PAPER]
    return Counts(*(found.count(verdict) for verdict in Verdict))


def of_mfnetsim(text: str) -> tuple[Counts, Counts]:
    """The counts of MFNetSim's stored claims without artifacts and with them.

    >>> rows = [f"| claims of the paper | {verdict} | {n} | {n + 4} |" for n, verdict in enumerate(Verdict)]
    >>> [tuple(counts) for counts in of_mfnetsim("\\n".join(rows))]
    [(0, 1, 2, 3), (4, 5, 6, 7)]
    """
    found = {verdict: (int(without), int(with_)) for verdict, without, with_ in _MFNETSIM.findall(text)}
    without, with_ = (Counts(*(found[str(verdict)][place] for verdict in Verdict)) for place in (0, 1))
    return without, with_


def rows() -> Iterator[Row]:
    """All studies of the papers, from their stored results."""
    tpds, trinity, theta = tpds2016_study.page, trinity2017_study.page, theta_study.page
    judged = tpds.judge(tpds.evidence(tpds.stored()))
    yield Row("T", "tpds2016", "", Counts(19, 7, 3, 0), of_paper(judged))
    before = {"text": Counts(8, 24, 4, 0), "authors": None}
    for settings, counts in before.items():
        page = cluster2017_study.page
        yield Row("C", "cluster2017", settings, counts, of_paper(page.judge(page.stored(settings))))
    yield Row("C", "theta", "", Counts(0, 1, 1, 0), of_paper(theta.judge(theta.stored())))
    judged = trinity.judge(trinity.stored(), trinity.stored_logs())
    yield Row("X", "trinity2017", "", Counts(1, 4, 1, 0), of_paper(judged))
    without, with_ = of_mfnetsim(mfnetsim_study.paper_page.CLAIMS.read_text(encoding="utf-8"))
    yield Row("M", "mfnetsim", "text", Counts(11, 8, 8, 0), without)
    yield Row("M", "mfnetsim", "published runs", Counts(15, 7, 5, 0), with_)


def table() -> Table:
    """Two lines per study and settings: before and now."""
    commit, day = BEFORE
    lines = [
        [row.tag, row.study, row.settings, when, *map(str, counts)]
        for row in rows()
        for when, counts in ((f"{day}, {commit}", row.before), ("now", row.now))
        if counts is not None
    ]
    return Table("", ["tag", "study", "settings", "when", *map(str, Verdict)], lines, left=4)


if __name__ == "__main__":
    PASSAGE.write(table().markdown().strip())
