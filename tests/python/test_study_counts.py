"""The counts of verdicts per paper (docs/papers.md)."""

import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "studies"))

import counts
from study_tools.claims import Answer, Claim, Kind, Value, yes
from study_tools.verdicts import Judged


def judged(kind, *grades):
    claim = Claim("key", "1", "says", "1", "rule", lambda _: [], kind=kind)
    return Judged(claim, Answer([Value("", "case", 1.0, "x", grade) for grade in grades]))


def test_only_claims_of_the_paper_count_each_with_its_verdict():
    found = [
        judged(Kind.PAPER, yes(True), yes(True)),
        judged(Kind.PAPER, yes(True), yes(False)),
        judged(Kind.PAPER, yes(False)),
        judged(Kind.PAPER, yes(False)),
        judged(Kind.PAPER, None),
        judged(Kind.OWN, yes(True)),
        judged(Kind.PUBLISHED, yes(False)),
    ]
    assert counts.of_paper(found) == counts.Counts(holds=1, in_part=1, does_not=2, not_judged=1)


def test_as_many_claims_as_before_or_more_are_judged():
    for row in counts.rows():
        assert row.before is None or sum(row.now) >= sum(row.before), row


def test_the_page_is_what_the_studies_judge():
    """If not: `.venv/bin/python studies/counts.py`."""
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    passage = counts.PASSAGE
    shown = text.partition(passage.begin)[2].partition(passage.end)[0]
    assert shown.strip() == counts.table().markdown().strip()
