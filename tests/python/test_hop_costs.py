"""The guard against slow drift: the allowed cost of a hop, accepted rises, the page."""

import doctest
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))

import hop_costs_history as history


def row(instructions, feature="", *, case="a", compiler="rustc", gain="speed", commit="c0"):
    counts = {"instructions": str(instructions), "l1_misses": "20", "l2_misses": "5", "mispredicts": "9"}
    return counts | {
        "date": "2026-01-01",
        "commit": commit,
        "compiler": compiler,
        "case": case,
        "what": "",
        "feature": feature,
        "gain": gain if feature else "",
    }


def rises(rows, instructions, *, compiler="rustc"):
    found = history.rises(rows, "a", {"instructions": instructions}, compiler)
    return [(rise.base, rise.value) for rise in found]


def test_steps_within_the_margin_do_not_add_up():
    """Each step is 2%, less than 3%: only a comparison with the lowest row detects the second one."""
    rows = [row(100.0), row(102.0), row(104.0)]
    assert history.unaccepted(rows[:2]) == []
    assert [(one.base, one.value) for one in history.unaccepted(rows)] == [(100.0, 104.0)]
    assert rises(rows, 102.9) == []
    assert rises(rows, 103.1) == [(100.0, 103.1)]


def test_a_cost_that_was_lowered_stays_low():
    assert rises([row(100.0), row(80.0)], 90.0) == [(80.0, 90.0)]


def test_an_accepted_rise_is_the_new_base_and_a_feature_without_one_is_not():
    rows = [row(100.0), row(110.0, "blame"), row(109.0)]
    assert rises(rows, 112.0) == []
    assert rises(rows, 113.0) == [(109.0, 113.0)]
    # 102 is within the margin: naming a feature there does not move the base.
    assert rises([row(100.0), row(102.0, "blame")], 104.0) == [(100.0, 104.0)]


def test_another_compiler_has_bases_of_its_own_after_its_first_row():
    rows = [row(100.0), row(80.0)]
    # Four times 3% of the other compiler's base, and then its own.
    assert rises(rows, 89.0, compiler="next") == []
    assert rises(rows, 90.0, compiler="next") == [(80.0, 90.0)]
    assert rises([*rows, row(89.0, compiler="next")], 92.0, compiler="next") == [(89.0, 92.0)]


def test_accepted_rises_add_up_per_case():
    rows = [row(100.0), row(110.0, "blame", commit="c1"), row(121.0, "lost time", commit="c2")]
    rows += [row(50.0, case="b"), row(50.5, case="b")]
    text = history.section(rows)
    # 10 + 11 over 100.
    assert "| `a` | 100 (2026-01-01, c0) | 121 (2026-01-01, c2) | +21.0% | 21 (+21.0%) |" in text
    assert "| `b` | 50 (2026-01-01, c0) | 50 (2026-01-01, c0) | +1.0% | 0 (+0.0%) |" in text
    found = [(at["feature"], rise.base, rise.value) for at, rise in history.accepted(rows)]
    assert found == [("blame", 100.0, 110.0), ("lost time", 110.0, 121.0)]


def test_every_recorded_rise_names_its_feature_and_gain():
    """Otherwise: benches/hop_costs.py --record WHAT --accept FEATURE --gain GAIN."""
    assert history.unaccepted(history.read()) == []


def test_the_page_shows_what_is_recorded():
    """Otherwise benches/hop_costs_history.py renews table and chart."""
    rows = history.read()
    page = history.PAGE.read_text(encoding="utf-8")
    assert history.with_section(page, rows) == page
    assert history.CHART.read_text(encoding="utf-8") == history.chart(rows)


def test_a_page_without_a_place_for_the_table_is_refused():
    with pytest.raises(SystemExit, match="are missing"):
        history.with_section("# Speed\n", [row(100.0)])


def test_examples_of_the_module_are_true():
    found = doctest.testmod(history)
    assert found.attempted > 0
    assert found.failed == 0
