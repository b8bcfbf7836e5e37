"""The study of Trinity: every claim is judged, and contrary data changes its verdict."""

import dataclasses
import itertools
import sys

import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "trinity2017"
sys.path.insert(0, str(STUDY))

from trinity2017_study import measures, page  # noqa: E402
from trinity2017_study.claims import MERGED_BUFFERS, Kind  # noqa: E402
from trinity2017_study.logs import Replay  # noqa: E402
from trinity2017_study.measures import Run  # noqa: E402
from trinity2017_study.page import parquet, verdicts  # noqa: E402

import odonata  # noqa: E402
from odonata.sweeps import points, spec  # noqa: E402

Verdict = verdicts.Verdict
CLAIMS = {claim.key: claim for claim in page.CLAIMS}


#: N-N read of the merged machine is off by more than 15% from 2,048 nodes on, and grows by less.
READ_SHARE = {2048: 0.8, 4096: 0.8, 8192: 0.88}


def a_run(machine, arrangement, files, access, nodes, start="hash"):
    """A run with the text's values: every claim holds on all such runs together."""
    slower = {"absolute": 1.0, "relative": 0.9, "circulant": 0.95}[arrangement]
    merged = machine == "merged"
    rate = min(2.0e9 * nodes, MERGED_BUFFERS if merged else 1200e9) * slower
    if nodes == 512 or (nodes == 256 and not merged):
        rate *= 0.9
    if (machine, files, nodes) == ("merged", "N-1", 512):
        rate *= 0.9
    if (machine, access) == ("merged", "read"):
        rate *= READ_SHARE.get(nodes, 1.0)
    if start == "round-robin":
        rate *= 1.1
    whole = {
        "machine": machine,
        "arrangement": arrangement,
        "files": files,
        "access": access,
        "nodes": nodes,
        "buffers": 230,
        "transfers": 2,
        "bytes": rate,
        "seconds": 1.0,
        "local_busy": 0.9,
        "global_busy": 0.5,
        "device_busy": 0.5,
        "packet_hops": 1,
        "cpu_s": 1.0,
        "start": start,
    }
    return Run(**whole)


def the_runs():
    kinds = [("phase2", "absolute", "N-N", "write"), ("phase2", "absolute", "N-1", "write")]
    kinds += [
        ("merged", arrangement, "N-N", "write") for arrangement in ("absolute", "relative", "circulant")
    ]
    kinds += [("phase2", "absolute", "N-N", "read"), ("merged", "absolute", "N-N", "read")]
    kinds += [("merged", "absolute", "N-1", "write"), ("merged", "absolute", "N-1", "read")]
    runs = [a_run(*kind, nodes) for kind in kinds for nodes in (1, 16, 256, 512, 1024, 2048, 4096, 8192)]
    turns = [
        a_run("phase2", "absolute", "N-N", "write", nodes, start="round-robin") for nodes in (256, 512, 1024)
    ]
    return runs + turns


def the_replays():
    """Two logs off by 40 and 60%, which slow each other down by half."""
    alone = [Replay("a", 4, 1e6, 1e6, 0.6e6, "", 1.0), Replay("b", 8, 1e6, 1e6, 1.6e6, "", 1.0)]
    return [
        *alone,
        Replay("a", 4, 1e6, 1e6, 0.6e6, "b", 1.5),
        Replay("b", 8, 1e6, 1e6, 1.6e6, "a", 1.5),
    ]


def slower(runs, factor, **wanted):
    return [
        dataclasses.replace(run, bytes=run.bytes * factor)
        if all(getattr(run, key) == value for key, value in wanted.items())
        else run
        for run in runs
    ]


def verdict(key, runs):
    return verdicts.judge([CLAIMS[key]], runs)[0].verdict


#: Claim -> change that turns its verdict from "holds" into another.
PERTURBATIONS = {
    "two-per-node": lambda runs: slower(runs, 0.5, machine="phase2"),
    "local-links": lambda runs: [dataclasses.replace(run, global_busy=1.0) for run in runs],
    "buffers-cap": lambda runs: slower(runs, 2.0, machine="phase2"),
    "shared-file": lambda runs: slower(runs, 0.5, files="N-1"),
    "read-1k": lambda runs: [dataclasses.replace(run, bytes=0.0) for run in runs],
    "two-groups": lambda runs: slower(runs, 0.5, nodes=256),
    "read-cap": lambda runs: slower(runs, 0.5, nodes=4096),
    "merged-per-node": lambda runs: slower(runs, 0.5, machine="merged"),
    "cabling": lambda runs: [run for run in runs if run.arrangement == "absolute"],
    "shared-gap": lambda runs: slower(runs, 1.2, machine="merged", files="N-1", nodes=512),
    "read-error": lambda runs: slower(runs, 1.2, machine="merged", files="N-N", access="read"),
    "shared-read-error": lambda runs: slower(runs, 1.2, machine="merged", files="N-1", access="read"),
    "read-grows": lambda runs: slower(runs, 0.9, machine="merged", access="read", nodes=8192),
    "even-start": lambda runs: slower(runs, 0.9, start="round-robin"),
}
#: The text prints no number for it.
NOT_JUDGED = "shared-phase2"
LOG_PERTURBATIONS = {
    "log-error": lambda replays: [dataclasses.replace(one, simulated=one.logged) for one in replays],
    "log-interference": lambda replays: [dataclasses.replace(one, slowdown=1.0) for one in replays],
}


def test_every_claim_has_a_perturbation_a_source_and_a_rule():
    assert {*PERTURBATIONS, NOT_JUDGED} == CLAIMS.keys()
    assert LOG_PERTURBATIONS.keys() == {claim.key for claim in page.LOG_CLAIMS}
    everything = [*page.CLAIMS, *page.LOG_CLAIMS]
    assert all(claim.source and claim.rule and claim.number and claim.says for claim in everything)


def test_a_sentence_without_a_number_is_shown_and_not_judged():
    assert CLAIMS[NOT_JUDGED].measure(the_runs())
    assert verdict(NOT_JUDGED, the_runs()) is Verdict.UNKNOWN


@pytest.mark.parametrize("claim", page.LOG_CLAIMS, ids=lambda claim: claim.key)
def test_logs_that_say_otherwise_turn_the_verdict(claim):
    def verdict_of(replays):
        return verdicts.judge([claim], replays)[0].verdict

    assert verdict_of(the_replays()) is Verdict.HOLDS
    assert verdict_of(LOG_PERTURBATIONS[claim.key](the_replays())) is Verdict.NOT
    assert verdict_of([]) is Verdict.UNKNOWN


def test_every_figure_of_the_text_has_a_row_and_every_claim_of_the_text_a_figure():
    assert {row.figure.split(",")[0] for row in page.SHOWN} >= {f"Fig. {number}" for number in range(7, 15)}
    judged = page.judge(page.stored(), page.stored_logs())
    of_text = {one.claim.key for one in judged if one.claim.kind is Kind.PAPER}
    assert of_text <= {key for row in page.SHOWN for key in row.claims}


@pytest.mark.parametrize("key", PERTURBATIONS)
def test_data_that_say_otherwise_turn_the_verdict(key):
    assert verdict(key, the_runs()) is Verdict.HOLDS
    assert verdict(key, PERTURBATIONS[key](the_runs())) is not Verdict.HOLDS


@pytest.mark.parametrize("key", CLAIMS)
def test_without_runs_nothing_is_judged(key):
    assert verdict(key, []) is Verdict.UNKNOWN


# From a sweep to verdicts


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """The runs of up to 64 nodes."""
    folder = tmp_path_factory.mktemp("trinity") / "quick"
    found = odonata.sweep(STUDY / "sweeps" / "quick.toml", folder, processes=1)
    assert found.outcome == "completed"
    return measures.of_sweep(folder)


@pytest.mark.slow
def test_a_row_is_what_the_tables_of_its_run_say(quick):
    asked = set(itertools.product(("N-N", "N-1"), ("write", "read"), (1, 16, 64)))
    assert len(quick) == len(asked)
    assert {(run.files, run.access, run.nodes) for run in quick} == asked
    for run in quick:
        assert (run.buffers, run.arrangement) == (230, "absolute")
        assert run.bytes == {1: 32e6, 16: 512e6, 64: 1024e6}[run.nodes]
        # A node injects 2.0 GB/s, and receives at the rate of its link, 8.0 GB/s.
        rate = {"write": 2.0e9, "read": 8.0e9}[run.access]
        assert run.seconds >= run.bytes / (run.nodes * rate)
        assert 0 < run.device_busy < 1
        assert 0 < run.local_busy < 1


@pytest.mark.slow
def test_claims_on_few_nodes_hold_of_what_was_run_now(quick):
    assert verdict("two-per-node", quick) is Verdict.HOLDS
    assert verdict("shared-file", quick) is Verdict.HOLDS
    assert verdict("two-per-node", slower(quick, 0.5)) is Verdict.NOT
    assert verdict("shared-file", slower(quick, 0.5, files="N-1")) is Verdict.NOT
    # Claims without runs.
    assert verdict("buffers-cap", quick) is verdict("local-links", quick) is Verdict.UNKNOWN


@pytest.mark.slow
def test_what_is_run_now_is_what_the_page_says(quick):
    kept = {run.name: run for run in page.stored() if run.machine == "phase2"}
    for run in quick:
        assert run.bandwidth == pytest.approx(kept[run.name].bandwidth, rel=0.02)


@pytest.mark.parametrize(
    ("name", "runs", "groups"),
    [
        ("quick", 12, 23),
        ("phase2", 20, 23),
        ("large", 8, 23),
        ("largest", 8, 23),
        ("longer", 1, 23),
        ("merged", 20, 57),
        ("merged-large", 4, 57),
        ("merged-shared", 2, 57),
        ("cabling", 6, 57),
        ("start", 8, 23),
        ("start-longer", 3, 23),
    ],
)
def test_every_point_is_right_and_has_whole_transfers(name, runs, groups):
    asked = spec.load(STUDY / "sweeps" / f"{name}.toml")
    found = points.list_points(asked, (STUDY / "scenario.toml").read_text(encoding="utf-8"), [])
    assert len(found) == runs
    for point in found:
        assert point.scenario["machine"]["dragonfly-2d"]["groups"] == groups
        assert point.scenario["nic"]["rates"]["compute"] == "2 GB/s"


def test_the_pages_are_what_their_data_say():
    """Otherwise: `make study-trinity2017 WHAT=page`."""
    texts = page.texts()
    assert {path.name for path in texts} == {"README.md", "APPENDIX.md"}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path


def test_every_claim_that_does_not_hold_is_explained():
    wanting = {
        one.claim.key
        for one in page.judge(page.stored(), page.stored_logs())
        if one.verdict in (Verdict.PART, Verdict.NOT)
    }
    assert verdicts.notes(STUDY / "notes.md").keys() == wanting


def test_kept_rows_come_back_as_they_were(tmp_path):
    parquet.write(tmp_path / "one.parquet", Run, the_runs())
    assert parquet.read(tmp_path / "one.parquet", Run) == the_runs()


def test_claims_of_the_paper_and_checks_of_our_own_are_counted_apart():
    judged = page.judge(page.stored(), page.stored_logs())
    own = [one.claim.key for one in judged if one.claim.kind is Kind.OWN]
    assert own == ["shared-file", "read-1k", "two-groups", "even-start"]
    assert [row[0] for row in verdicts.table(judged).rows][-4:] == [f"`{key}`" for key in own]
    elsewhere = [one.claim.key for one in judged if one.claim.kind is Kind.PUBLISHED]
    assert elsewhere == ["cabling"]  # a result of the paper that the text cites
    theirs, cited, ours = verdicts.tally(judged).rows
    assert sum(map(int, theirs[1:])) == len(judged) - len(own) - len(elsewhere)
    assert sum(map(int, cited[1:])) == len(elsewhere)
    assert sum(map(int, ours[1:])) == len(own)


def test_a_merged_machine_is_held_against_its_links_and_buffers_up_to_2048_nodes():
    """2.0 GB/s per node, and 570 / 230 of 1,200 GB/s at most: 2,974 GB/s with 2,048 nodes."""
    claim = CLAIMS["merged-per-node"]
    values = {value.case: value for value in claim.measure(page.stored())}
    assert len(values) == 6
    assert pytest.approx(2973.9e9, rel=1e-4) == MERGED_BUFFERS
    largest = max(values.values(), key=lambda value: value.number)
    assert (largest.number, largest.grade) == (pytest.approx(1587.2, rel=1e-4), 0)
