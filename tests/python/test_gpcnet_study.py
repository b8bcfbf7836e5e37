"""The study of GPCNeT: contrary data changes a claim's verdict, and measurements are correct."""

import dataclasses
import random
import sys

import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "gpcnet"
sys.path.insert(0, str(STUDY))

from gpcnet_study import cells, claims, figures, machines, measures, page, patterns, published  # noqa: E402
from gpcnet_study.cells import Cell  # noqa: E402
from gpcnet_study.measures import Row  # noqa: E402
from gpcnet_study.page import verdicts  # noqa: E402
from study_tools import parquet  # noqa: E402

import odonata  # noqa: E402

Verdict = verdicts.Verdict
CLAIMS = {claim.key: claim for claim in claims.CLAIMS}


def a_row(cell):
    """1 us alone, the published factor beside aggressors; far worse without congestion control."""
    factor = 1.0
    if cell.aggressor:
        theirs = published.impact(cell.machine, cell.victim, cell.aggressor, cell.percent)
        factor = theirs.factor if theirs else {"per-pair": 1.0, "ecn": 5.0, "none": 30.0}[cell.control]
        if cell.suite == "map" and cell.control != machines.OWN_CONTROL[cell.machine]:
            factor = {"per-pair": 1.0, "none": 30.0}[cell.control]
    seconds = factor * 1e-6
    return Row(
        **dataclasses.asdict(cell),
        iterations=100,
        mean_s=seconds,
        p99_s=seconds,
        slowest_s=seconds,
        packet_hops=1,
        cpu_s=1.0,
    )


def the_rows():
    return [a_row(cell) for cell in (*cells.gpcnet(), *cells.victim_map())]


def slower(rows, factor, **wanted):
    """The same rows; times of those with these values are multiplied."""
    return [
        dataclasses.replace(
            row, mean_s=row.mean_s * factor, p99_s=row.p99_s * factor, slowest_s=row.slowest_s * factor
        )
        if row.aggressor and all(getattr(row, key) == value for key, value in wanted.items())
        else row
        for row in rows
    ]


def verdict(key, rows):
    return verdicts.judge([CLAIMS[key]], rows)[0].verdict


#: Claim -> change that turns its verdict from "holds" into another.
PERTURBATIONS = {
    "slingshot-canaries": lambda rows: slower(rows, 2, suite="GPCNeT", machine="Slingshot"),
    "aries-canaries": lambda rows: slower(rows, 0.1, suite="GPCNeT", machine="Aries"),
    "aries-incast-map": lambda rows: slower(rows, 10, suite="map", percent=90),
    "aries-all-to-all-map": lambda rows: slower(rows, 10, aggressor="all-to-all"),
    "slingshot-incast-map": lambda rows: slower(rows, 10, suite="map", machine="Slingshot"),
    "incast-worse": lambda rows: slower(rows, 100, aggressor="all-to-all"),
    "incast-grows": lambda rows: slower(rows, 100, percent=10),
    "random-worse": lambda rows: slower(rows, 10, suite="map, linear"),
    "control-explains": lambda rows: slower(rows, 100, machine="Slingshot", control="per-pair"),
    "control-on-aries": lambda rows: slower(rows, 5, suite="GPCNeT", machine="Aries", control="per-pair"),
    "ecn-weaker": lambda rows: slower(rows, 0.01, control="ecn"),
}


def test_every_claim_has_a_perturbation_a_source_and_a_rule():
    assert PERTURBATIONS.keys() == CLAIMS.keys()
    assert all(one.source and one.rule and one.number and one.says for one in claims.CLAIMS)


@pytest.mark.parametrize("key", CLAIMS)
def test_data_that_say_otherwise_turn_the_verdict(key):
    assert verdict(key, the_rows()) is Verdict.HOLDS
    assert verdict(key, PERTURBATIONS[key](the_rows())) is not Verdict.HOLDS


@pytest.mark.parametrize("key", CLAIMS)
def test_without_rows_nothing_is_judged(key):
    assert verdict(key, []) is Verdict.UNKNOWN


# What is run


def test_every_cell_gives_all_its_nodes_to_jobs_and_its_scenario_is_right():
    for cell in (*cells.gpcnet(), *cells.victim_map()):
        ranks = [job["ranks"] for job in cell.jobs()]
        nodes = machines.NODES[cell.machine] if cell.suite == "GPCNeT" else cells.MAP_NODES
        if cell.aggressor:
            # GPCNeT's four congestors share a divisible part of the nodes.
            assert nodes - len(cells.CONGESTORS) < sum(ranks) <= nodes
        assert ranks[0] == nodes - nodes * cell.percent // 100


def test_a_ring_sends_what_gpcnet_says():
    """16 messages of 128 KiB per rank and round, each with its receive; all ranks agree on the order."""
    arguments = {"size": 131072, "outstanding": 8, "orders": 2, "rounds": 1, "synchronize": True}
    ranks = 6
    sent, received = [], []
    for rank in range(ranks):
        for number, operation in enumerate(patterns.ring(rank, ranks, **arguments)):
            if operation.kind in ("isend", "irecv"):
                peer, size = operation.numbers["peer"], operation.numbers["bytes"]
                # 32 calls, a wait, a barrier and a mark are a round.
                if operation.kind == "isend":
                    sent.append((number // 35, rank, peer, size))
                else:
                    received.append((number // 35, peer, rank, size))
    assert len(sent) == 2 * ranks * 16
    assert sorted(sent) == sorted(received)
    assert {size for *_, size in sent} == {131072}


def test_iterations_that_have_not_ended_count_with_the_time_they_took():
    """Four ranks, cut off: the times of every recorded rank add up to its duration."""
    results = odonata.run(
        {
            "machine": {"torus": {"dims": [4]}},
            "run": {"threads": 1, "time_limit": "50 us", "timeline": {"jobs": "victim"}},
            "jobs": [
                {
                    "name": "victim",
                    "ranks": 4,
                    "start": "10 us",
                    "workload": {"allreduce": {"bytes": "8 B", "iterations": 1000}},
                }
            ],
        }
    )
    by_rank = measures.iteration_times(results, 2)
    assert len(by_rank) == 2
    assert all(times.sum() == pytest.approx(40e-6) for times in by_rank)
    cell = Cell("map", "Aries", "none", "all-reduce 8 B", "", 90)
    row = measures.of_results(cell, results, 2)
    assert row.iterations == sum(len(times) for times in by_rank)
    assert row.mean_s <= row.slowest_s


def test_the_slowest_rank_of_each_iteration_counts():
    times = [[1.0, 5.0, 1.0], [2.0, 1.0]]
    assert measures.slowest([measures.np.array(one) for one in times]) == pytest.approx((2 + 5 + 1) / 3)


def test_an_incast_slows_down_traffic_that_shares_its_cables():
    """Five nodes send to a sixth on a ring of eight; the victim's packets cross the same cables."""
    ring = {"machine": {"torus": {"dims": [8]}}, "mpi": {"eager_threshold": "none"}}
    victim = {
        "name": "victim",
        "ranks": 2,
        "placement": {"nodes": [1, 5]},
        "workload": {"ping-pong": {"bytes": "8 B", "iterations": 100000}},
    }
    aggressor = {"name": "aggressor", "ranks": 6, **cells.AGGRESSORS["incast"]}
    aggressor["placement"] = {"nodes": [4, 0, 2, 3, 6, 7]}
    means = []
    for jobs in ([victim], [victim, aggressor]):
        timeline = {"jobs": "victim"}
        run = {"threads": 1, "time_limit": "2 ms", "blame": False, "timeline": timeline}
        times = measures.iteration_times(odonata.run({**ring, "run": run, "jobs": jobs}), 1)
        means.append(times[0].mean())
    assert means[1] > 2 * means[0]


# The page


def test_the_pages_are_what_their_data_say():
    """If not: `make study-gpcnet WHAT=page`."""
    texts = page.texts()
    assert {path.name for path in texts} == {"README.md", "APPENDIX.md"}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path


def test_every_claim_that_does_not_hold_is_explained():
    judged = page.judge(page.stored())
    wanting = {one.claim.key for one in judged if one.verdict in (Verdict.PART, Verdict.NOT)}
    assert verdicts.notes(STUDY / "notes.md").keys() == wanting


def test_the_figure_is_drawn(tmp_path):
    figures.draw(tmp_path, page.stored())
    assert (tmp_path / "gpcnet.svg").stat().st_size > 5000


def test_kept_rows_come_back_as_they_were(tmp_path):
    rows = the_rows()
    random.Random(1).shuffle(rows)
    parquet.write(tmp_path / "one.parquet", measures.Row, rows)
    assert measures.read(tmp_path / "one.parquet") == rows
