"""Latency-load curves beside those of BookSim 2: the data is complete, and the text follows from it."""

import json
import sys
from dataclasses import asdict

import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "booksim"
sys.path.insert(0, str(STUDY))

import validate  # noqa: E402

STORED = json.loads((STUDY / "validation.json").read_text())["sweeps"]


def test_there_is_a_scenario_and_a_stored_result_for_every_reference_curve():
    curves = {path.stem for path in validate.REFERENCE.glob("*.csv")}
    assert len(curves) == 17
    assert curves == {path.stem for path in (STUDY / "scenarios").glob("*.toml")} == set(STORED)


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_stored_result_is_that_of_the_reference_curve(name):
    stored, reference = STORED[name], [row for row, _ in validate.reference_rows(name)]
    assert stored["reference"] == [asdict(row) for row in reference]
    ours = [validate.Row(**row) for row in stored["ours"]]
    figures = validate.Sweep(name, reference, ours, stored["cpu_s"]).figures()
    assert {**figures, "verdict": validate.judge(figures)} == stored["figures"]


def test_mean_latencies_are_within_four_percent_of_the_reference():
    """Three loads of two curves: on a mesh up to two thirds of saturation, and through a fat tree."""
    for name, loads in (("mesh2d_dor_uniform", [0.1, 0.3]), ("fattree_nca_uniform", [0.2])):
        period = {row.load: period for row, period in validate.reference_rows(name)}[loads[0]]
        ours, _ = validate.our_rows(name, loads, period, 1)
        reference = {row.load: row for row, _ in validate.reference_rows(name)}
        for row in ours:
            assert row.mean == pytest.approx(reference[row.load].mean, rel=0.04), (name, row.load)
            assert not row.saturated


#: A figure beyond its bound -> what the verdict names.
PERTURBATIONS = {
    "mean_difference": (0.05, "misses mean"),
    "largest_difference": (-0.08, "misses largest"),
    "hops_difference": (0.02, "misses hops"),
    "p99_difference": (-0.11, "misses p99"),
    "stable_where_stable": (False, "misses saturation"),
    "saturated_where_saturated": (False, "misses saturation"),
}


@pytest.mark.parametrize("figure", PERTURBATIONS)
def test_figures_that_say_otherwise_turn_the_verdict(figure):
    value, verdict = PERTURBATIONS[figure]
    for stored in STORED.values():
        assert not validate.judge(stored["figures"]).startswith("misses")
        assert validate.judge(stored["figures"] | {figure: value}) == verdict
