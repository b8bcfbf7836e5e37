"""The folder of traces of real programs: unset, empty, missing, and incomplete."""

import os
import sys

import launcher
import pytest
import reference
from conftest import ROOT


def test_unset_and_empty_mean_that_no_reference_traces_are_at_hand():
    for environment in ({}, {reference.VARIABLE: ""}):
        assert reference.folder(environment) is None
        assert reference.sets("goal", environment) == []
        assert reference.one("goal", "a", environment) is None
        assert reference.absence("goal", environment) == "ODONATA_REFERENCE is not set: no traces/goal"


def test_a_folder_that_is_not_there_is_an_error_that_names_it(tmp_path):
    for path, message in (
        (tmp_path / "no", "there is no such folder"),
        (tmp_path, "it has no folder traces"),
    ):
        with pytest.raises(reference.NotThere) as caught:
            reference.sets("goal", {reference.VARIABLE: str(path)})
        assert str(caught.value) == f"ODONATA_REFERENCE names {path}: {message}"
    # A relative path starts at the repository, wherever the tests were started.
    with pytest.raises(reference.NotThere, match=f"^ODONATA_REFERENCE names {ROOT}/crates: it has no folder"):
        reference.folder({reference.VARIABLE: "crates"})


def test_a_kind_that_is_missing_is_none_and_one_without_a_truth_is_an_error(tmp_path):
    environment = {reference.VARIABLE: str(tmp_path)}
    goal = tmp_path / "traces/goal"
    for name in ("b", "a", "no-truth"):
        (goal / name).mkdir(parents=True)
    with pytest.raises(reference.NotThere, match=r"no folder of traces/goal has a ground-truth\.json$"):
        reference.sets("goal", environment)
    for name in ("b", "a"):
        (goal / name / "ground-truth.json").write_text("{}")
    assert reference.sets("goal", environment) == [goal / "a", goal / "b"]
    assert reference.one("goal", "b", environment) == goal / "b"
    assert reference.one("goal", "no-truth", environment) is None
    assert reference.sets("otf2", environment) == []
    assert reference.absence("otf2", environment) == f"{tmp_path} has no traces/otf2"


def collected(*options, **environment):
    """pytest's messages about the tests that need reference traces."""
    without = {key: value for key, value in os.environ.items() if key != reference.VARIABLE}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "reference", *options]
    return launcher.run([*command, "tests/python/test_goal.py"], cwd=ROOT, env=without | environment)


def test_tests_of_reference_traces_are_skipped_with_a_reason_or_refuse_to_begin(tmp_path):
    for environment in ({}, {reference.VARIABLE: ""}):
        done = collected(**environment, ODONATA_NO_SKIPS="1")
        assert done.returncode == 0, done
        assert "left out: tests that need traces of real programs (make test-reference)" in done.stdout
        assert "1 skipped" in done.stdout
        done = collected("--only=reference", **environment)
        assert done.returncode == 0, done
        assert "ODONATA_REFERENCE is not set: no traces/goal" in done.stdout
    done = collected(ODONATA_REFERENCE=f"{tmp_path}/no")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"ERROR: ODONATA_REFERENCE names {tmp_path}/no: there is no such folder" in done.stderr
    assert "Traceback" not in done.stderr
    # If the folder is named, a missing kind counts as skipped.
    (tmp_path / "traces").mkdir()
    done = collected("--only=reference", ODONATA_REFERENCE=str(tmp_path), ODONATA_NO_SKIPS="1")
    assert done.returncode == 1
    assert f"{tmp_path} has no traces/goal" in done.stderr
