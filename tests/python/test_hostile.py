"""The hostile trials: a sample of each campaign finds nothing, and planted faults are found."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import launcher
import pytest
from conftest import ROOT
from launcher import PATIENCE_S

import odonata

sys.path.insert(0, str(ROOT / "tests"))

from hostile import calls, combinations, damaged, digests, mutations, oracle, pool, toml_writer
from hostile.campaign import CAMPAIGNS, Trial, lot_of
from planted_faults import FAULTS

#: Number of trials of a campaign, and the first of them; all take half a minute on two cores.
SAMPLE = {
    "scenarios": (200, 0),
    "combinations": (80, 0),
    "digests": (25, 0),
    "programs": (25, 0),
    "commands": (25, 0),
    "damage": (30, 0),
    "extremes": (25, 0),
}


def hostile(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    places = [str(ROOT / "tests"), str(ROOT / "tests/python")]
    return launcher.run(
        [sys.executable, "-m", "hostile", "--keep", str(folder / "kept"), *arguments],
        cwd=folder,
        timeout=10 * PATIENCE_S,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)} | environment,
    )


#: Faults that are found after some seconds.
SLOW_FAULTS = {5, 6, 10, 11}


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_some_trials_of_every_campaign_find_nothing(tmp_path, name):
    trials, first = SAMPLE[name]
    done = hostile(tmp_path, name, "--trials", str(trials), "--first", str(first))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{name}: {trials} trials (")
    assert f"{trials} trials, 0 findings of 0 kinds" in done.stdout
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    "number",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW_FAULTS else []) for n in FAULTS if n],
)
def test_a_planted_fault_is_found_and_kept(tmp_path, number):
    _, rule = FAULTS[number]
    done = hostile(tmp_path, "planted_faults:Planted", "--trials", "1", "--workers", "1", PLANTED=str(number))
    if rule is None:
        assert (done.returncode, done.stderr) == (0, "")
        ending = "endless" if "endless" in FAULTS[number][0] else "well"
        assert f"1 trials (1 {ending}), 0 findings" in done.stdout
        return
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"1 x {rule}: " in done.stdout
    kept = tmp_path / "kept/planted-1-0"
    assert (kept / "files/scenario.toml").read_text() == "[machine.torus]\ndims = [4]\n"
    assert "odonata check scenario.toml\n" in (kept / "findings.txt").read_text()
    # The same draws in every process.
    about = json.loads((kept / "trial.json").read_text())["about"]
    assert about == {"draw": lot_of(1, "planted_faults:Planted", 0).randrange(1000)}
    if rule == "traceback":
        again = hostile(tmp_path, "--again", str(kept), PLANTED=str(number))
        assert (again.returncode, f"== {rule}" in again.stdout) == (1, True)
        assert hostile(tmp_path, "--again", str(kept), PLANTED="0").returncode == 0


def test_a_worker_that_died_is_replaced_and_trials_go_on(tmp_path):
    done = hostile(tmp_path, "planted_faults:Planted", "--trials", "4", PLANTED="4")
    assert done.returncode == 1
    assert "planted_faults:Planted: 4 trials (4 crashed), 4 findings" in done.stdout
    assert len(list((tmp_path / "kept").iterdir())) == 3


def test_no_campaign_of_that_name(tmp_path):
    done = hostile(tmp_path, "digest")
    assert (done.returncode, "no campaign is named digest" in done.stderr) == (2, True)


def rules(found: list[oracle.Finding]) -> list[str]:
    return [finding.rule for finding in found]


def test_a_refusal_needs_a_file_and_a_place_that_is_in_it():
    files = {"a.toml": b"seed = 1\n\n[run]\n"}
    good = odonata.InputError("no", file="/x/a.toml", line=3, key="run")
    assert oracle.refusal_rules("check", good, files) == []
    for bad in (
        odonata.InputError("no"),
        odonata.InputError("no", file="a.toml"),
        odonata.InputError("no", file="a.toml", line=5, key="run"),
        odonata.InputError(" ", file="a.toml", key="run"),
    ):
        assert rules(oracle.refusal_rules("check", bad, files)) == ["error without a place"]
    endless = odonata.InputError("0." + "0" * 300 + "1", file="a.toml", key="run")
    assert rules(oracle.refusal_rules("check", endless, files)) == ["digits without end"]


RUN = {"outcome": "completed", "detail": None, "digest": "0" * 32}


def test_outcomes_are_those_of_the_documentation():
    assert oracle.outcome_rules("run", RUN) == []
    for change, rule in (
        ({"outcome": "fine"}, "unknown outcome"),
        ({"outcome": "conservation-violated"}, "own error"),
        ({"outcome": "stalled"}, "no detail"),
        ({"digest": None}, "no digest"),
    ):
        assert rules(oracle.outcome_rules("run", RUN | change)) == [rule]


def test_half_a_run_is_not_a_completed_one():
    traffic = {"pattern": "uniform", "messages": 5, "stop": None}
    job = {"name": "a", "ranks": 4, "until": [], "repeat": 1, "workload": {"synthetic": traffic}}
    run = RUN | {"scenario": {"run": {"time_limit": None}, "jobs": [job]}}
    whole = [{"job": "a", "ranks": 4, "ranks_finished": 4}]
    assert oracle.whole_rules("run", run, whole, {"a": 20}) == []
    assert rules(oracle.whole_rules("run", run, whole, {"a": 19})) == ["half is called whole"]
    half = [{"job": "a", "ranks": 4, "ranks_finished": 3}]
    assert rules(oracle.whole_rules("run", run, half, {"a": 20})) == ["half is called whole"]
    # Traffic with a stop time has the bytes sent by then.
    traffic["stop"] = "1 us"
    assert oracle.whole_rules("run", run, whole, {"a": 3}) == []


def test_commands_are_held_to_their_exit_codes_and_to_what_they_make():
    def broken(
        code: int, *, out: str = "", err: str = "", after: dict[str, bytes] | None = None
    ) -> list[str]:
        done = calls.Transcript(("run", "a.toml", "-o", "out"), code, out, err)
        before = {"a.toml": b""}
        return rules(calls.command_rules(done, before, before | (after or {}), makes="out"))

    result = {"out/": b"", "out/run.json": json.dumps({"outcome": "completed"}).encode()}
    assert broken(0, after=result) == []
    assert broken(2, err="error: no") == []
    assert broken(3, after=result) == ["exit code and outcome"]
    assert broken(0) == ["no result"]
    assert broken(1, err="error: no") == ["exit code 1"]
    assert broken(2, err="error: no", after={".out.x.partial/": b""}) == ["left behind"]
    assert broken(2, err="error: no", after={"a.toml": b"another"}) == ["left behind"]
    assert broken(2) == ["no error is reported"]
    assert broken(2, err="error: no", out="yes") == ["an answer beside an error"]
    assert broken(2, err="error: x\nTraceback (most recent call last):\nKeyError: 1") == ["traceback"]


def test_check_and_run_have_to_agree():
    refusal = odonata.InputError("no", file="a.toml", key="run")
    yes, no = oracle.Attempt(value={"jobs": [1]}), oracle.Attempt(refusal=refusal)
    assert oracle.agreement_rules(yes, yes) == oracle.agreement_rules(no, no) == []
    assert rules(oracle.agreement_rules(yes, no)) == ["check accepts what run refuses"]
    assert rules(oracle.agreement_rules(no, yes)) == ["check refuses what run accepts"]


def test_a_digest_that_depends_on_the_scheduler_is_found(tmp_path, monkeypatch):
    campaign = digests.Digests(tmp_path)
    trial = campaign.make(lot_of(1, "digests", 0), tmp_path)
    assert len(trial.about["ways"]) == 8
    run = RUN | {"simulated_s": 1.0, "messages": 1, "packets": 1, "bytes_delivered": 1}

    def planted(folder, settings, most, saved=None):
        on_threads = "run.threads=2" in settings
        other = on_threads and "run.scheduler=optimistic" in settings
        return run | ({"digest": "f" * 32} if other else {}), "tables"

    monkeypatch.setattr(digests, "_run", planted)
    found = campaign.run(trial, tmp_path, print).findings
    assert rules(found) == ["depends on the scheduler"]
    assert "ahead on threads" in found[0].seen


def test_a_byte_or_a_picosecond_that_is_missing_is_found(tmp_path):
    (tmp_path / "a.toml").write_text(
        "[machine.torus]\ndims = [4, 4]\n[network]\nrouter_delay = '50 ns'\n"
        "[[jobs]]\nranks = 2\nplacement = { nodes = [0, 5] }\n"
        "workload.incast = { bytes = '1000 B', mean_interval = '1 us', messages = 1, targets = [0] }\n"
    )
    tables = ["jobs", "ranks", "links", "packets"]
    done = calls.simulate(tmp_path / "a.toml", 10_000, tables=tables)
    link = {"bandwidth": "5.25 GiB/s", "latency": "50 ns"}
    about = {
        "bytes": 1000,
        "flit": 32,
        "switching": "cut-through",
        "clocked": False,
        "router_delay": "50 ns",
        "terminal": {"bandwidth": "16 GiB/s", "latency": "30 ns"},
        "link": link,
    }
    assert combinations.conservation(done, 4096) == combinations.closed_form(done, about) == []
    link["latency"] = "50.1 ns"
    assert rules(combinations.closed_form(done, about)) == ["zero load"]
    assert rules(combinations.conservation(done, 512)) == ["conservation"]
    ranks = done.tables["ranks"].to_pylist()
    ranks[0]["bytes_received"] += 1
    done.tables["ranks"] = type("Table", (), {"to_pylist": lambda _: ranks})()
    assert rules(combinations.conservation(done, 4096)) == ["conservation"]


def test_closed_forms_of_pipelined_routers_are_those_of_the_page():
    about = {
        "bytes": 32,
        "flit": 32,
        "switching": "wormhole",
        "clocked": True,
        "pipeline": {},
        "terminal": {"latency": "1 cycles"},
        "link": {"latency": "1 cycles"},
    }
    # docs/router.md: with links of one cycle and the defaults a single flit takes 4 R + 2 cycles.
    for routers in (1, 2, 5):
        assert combinations.zero_load_s(about, routers) == pytest.approx((4 * routers + 2) * 1e-9)


def test_a_cut_file_that_is_taken_in_silence_is_found(tmp_path):
    campaign = damaged.Damaged(tmp_path)
    trial = {"kind": "program", "file": "x.program/operations.parquet", "way": "cut"}

    def broken(code: int, err: str) -> list[str]:
        done = calls.Transcript(("trace", "info", "x.program"), code, "", err)
        return rules(campaign._rules(done, {}, {}, trial))

    assert broken(2, "error: operations.parquet is damaged") == []
    assert broken(0, "") == ["taken in silence"]
    assert broken(2, "error: something is damaged") == ["damaged file is not named"]


def test_trials_are_the_same_wherever_they_are_made(tmp_path):
    for name in ("scenarios", "combinations", "digests", "extremes"):
        made = []
        for place in ("one", "other"):
            from hostile.campaign import campaign

            folder = tmp_path / name / place
            folder.mkdir(parents=True)
            trial = campaign(name, tmp_path).make(lot_of(3, name, 17), folder)
            assert isinstance(trial, Trial)
            made.append((trial, calls.contents(folder)))
        assert made[0] == made[1]


def test_hostile_trees_are_written_as_they_are():
    tree = {"a": 1, "b": {"c": [1.5, float("nan"), "é\x7f"]}, "d": [{"e": toml_writer.Raw("0x1F")}]}
    text = toml_writer.document(tree)
    assert text == 'a = 1\n\n[b]\nc = [1.5, nan, "é\\u007f"]\n\n[[d]]\ne = 0x1F\n'
    assert mutations.places({"a": [1, {"b": 2}]}) == [["a"], ["a", 0], ["a", 1], ["a", 1, "b"]]
    assert mutations.other_quantity("30 ns", random.Random(1)) != "30 ns"


@pytest.mark.parametrize(
    ("cpu_s", "without_core_s", "message"),
    [
        # 100 s on the clock: with a core for 2 s of them, and for all.
        (1.9, 98.0, None),
        (1.9, 0.0, "more than 2 s on the wall"),
        # It did not wait for a core.
        (0.0, 50.0, "more than 2 s on the wall"),
        (2.1, 97.9, "more than 2 s of CPU time"),
    ],
)
def test_a_worker_without_a_core_does_not_hang(monkeypatch, cpu_s, without_core_s, message):
    worker = object.__new__(pool.Worker)
    worker._since, worker._cpu_before, worker._without_core_before = time.monotonic() - 100, 0.0, 0.0
    monkeypatch.setattr(worker, "_cpu_s", lambda: cpu_s)
    monkeypatch.setattr(worker, "_without_core_s", lambda: without_core_s)
    assert worker.hangs(2.0) == message
