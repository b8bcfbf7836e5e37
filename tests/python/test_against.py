"""The comparison with an earlier commit: pairs, their ratio, its interval, cases that a commit cannot run."""

import doctest
import stat
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))

import against


class Planted(against.Program):
    """A program with given costs of its runs, in order."""

    def __init__(self, name, costs):
        super().__init__(name, ROOT)
        self.costs = iter(costs)

    def cost(self, case, *, quick):
        found = next(self.costs)
        if isinstance(found, Exception):
            raise found
        return against.Cost(*found)


def test_ratios_are_taken_within_pairs_and_per_hop():
    """The machine is three times as slow in the second round; ratios of pairs are unaffected."""
    then = Planted("then", [(2.0, 100), (6.0, 100), (2.2, 100)])
    now = Planted("now", [(2.0, 200), (6.0, 200), (2.0, 200)])
    row = against.compare(then, now, "case", rounds=3, quick=False)
    # 2.0 / 100 over 2.0 / 200, and 2.2 / 100 over 2.0 / 200.
    assert row["ratios"] == pytest.approx([2.0, 2.0, 2.2])
    assert row["ratio"] == pytest.approx(2.0)
    assert row["interval"] == pytest.approx([2.0, 2.2])
    # The smallest and the largest of three enclose the median unless all lie on one side: 1 - 2 / 2^3.
    assert row["coverage"] == pytest.approx(0.75)


def test_a_case_that_a_commit_cannot_run_says_why():
    then = Planted("then", [against.CannotRun("error: unknown key `lost_time`")])
    row = against.compare(then, Planted("now", [(1.0, 1)]), "storage", rounds=2, quick=False)
    assert row == {"case": "storage", "cannot_run": "error: unknown key `lost_time`"}
    assert against.lines_of([row], "abc")[-1] == "| storage | error: unknown key `lost_time` | | | |"


def test_a_key_of_a_feature_that_a_commit_has_not_is_left_out(tmp_path, monkeypatch):
    """The program refuses `scheduler` and then `blame`, like commits without them, and accepts the others."""
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\n"
        'case "$1" in -c) echo "ValueError: no such case" >&2; exit 1;; esac\n'
        'for key in scheduler blame; do case "$*" in *run.$key=*)\n'
        '  echo "error: unknown key \\"$key\\"" >&2; exit 2;; esac; done\n'
        'mkdir "$6"\n'
        'echo \'{"cpu_s": 1.5, "packet_hops": 3}\' > "$6/run.json"\n'
    )
    python.chmod(python.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setattr(against, "CACHE", tmp_path)
    monkeypatch.setattr(against.sys, "executable", str(python))
    program = against.Program("old", tmp_path)
    with pytest.raises(against.CannotRun, match="ValueError: no such case"):
        program.cost("no such case", quick=False)
    assert program.cost("storage", quick=False) == against.Cost(1.5, 3)
    assert program.unknown == {"run.scheduler", "run.blame"}


def test_a_key_outside_of_run_that_a_commit_has_not_ends_the_case(tmp_path, monkeypatch):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'error: unknown key \"tiers\"' >&2\nexit 2\n")
    python.chmod(python.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setattr(against, "CACHE", tmp_path)
    monkeypatch.setattr(against.sys, "executable", str(python))
    with pytest.raises(against.CannotRun, match="tiers"):
        against.Program("old", tmp_path).cost("mpi", quick=False)


def test_the_commit_is_built_under_the_settings_of_the_present_profile():
    variables = against.present_profile()
    assert variables["CARGO_PROFILE_RELEASE_LTO"] == "off"
    assert variables["CARGO_PROFILE_RELEASE_OPT_LEVEL"] == "3"
    assert variables["CARGO_PROFILE_RELEASE_DEBUG"] == "false"


def test_examples_of_the_module_are_true():
    found = doctest.testmod(against)
    assert found.attempted > 0
    assert found.failed == 0
