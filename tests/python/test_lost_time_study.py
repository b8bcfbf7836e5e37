"""The study of lost time: its cases, its text about predictions, and its page."""

import dataclasses
import sys

import pytest
from conftest import ROOT

import odonata

STUDY = ROOT / "studies" / "lost_time"
sys.path.insert(0, str(STUDY))

from lost_time_study import cases, measure, table, wave  # noqa: E402
from lost_time_study.measure import Prediction  # noqa: E402

EVERY = list(cases.cases())


@pytest.mark.slow
def test_every_case_has_a_name_of_its_own_and_several_jobs():
    assert len({case.name for case in EVERY}) == len(EVERY) >= 20
    for case in EVERY:
        found = odonata.check(case.scenario, overrides=case.overrides | measure.SETTINGS)
        assert len(found["jobs"]) >= 2, case.name


def test_the_trace_is_what_its_writer_writes_and_a_wave_takes_its_steps():
    trace = STUDY / "data" / "wave.goal"
    assert trace.read_text(encoding="utf-8") == wave.schedule()
    lines = wave.schedule().splitlines()
    # Each sweep covers all ranks but one.
    sends = sum(": send " in line for line in lines)
    receives = sum(": recv " in line for line in lines)
    assert sends == receives == wave.SWEEPS * (wave.RANKS - 1)


def test_errors_are_shares_of_the_time_alone():
    one = Prediction("x", "a", False, together_s=1.5, predicted_s=1.1, alone_s=1.0)
    assert (one.slowdown, one.error) == (pytest.approx(0.5), pytest.approx(0.1))
    others = [dataclasses.replace(one, predicted_s=value) for value in (0.99, 1.02, 1.3)]
    output = table.verdict([one, *others], False)
    # Sorted: 1%, 2%, 10%, 30%.
    assert output == "6.0% | at most 2%: missed | +30.0% (a of *x*) | 4"
    # A job that takes as long alone was not delayed.
    alone = dataclasses.replace(one, together_s=1.0, predicted_s=1.0)
    assert table.verdict([one, *others, alone], False) == output
    adaptive = [dataclasses.replace(of, adaptive=True) for of in others[:2]]
    assert table.verdict(adaptive, True).startswith("1.5% | at most 5%: kept |")


def test_the_page_is_what_its_data_say():
    """Otherwise: `.venv/bin/python studies/lost_time/study.py page`."""
    assert table.PAGE.read_text(encoding="utf-8") == table.text()
    assert {one.case for one in measure.read(table.DATA)} <= {case.name for case in EVERY}


def test_a_case_is_run_together_and_job_by_job():
    (case,) = (case for case in EVERY if case.name == "traces")
    found = {one.job: one for one in measure.run(case)}
    assert set(found) == {"wave", "exchange"}
    for one in found.values():
        assert one.alone_s > 0
        assert 0 < one.predicted_s <= one.together_s
    kept = {one.job: one for one in measure.read(table.DATA) if one.case == case.name}
    assert {job: one.alone_s for job, one in kept.items()} == {job: one.alone_s for job, one in found.items()}
