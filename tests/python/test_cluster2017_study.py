"""The study of IEEE Cluster 2017: every claim is judged, and contrary data changes its verdict."""

import dataclasses
import json
import math
import sys
import tomllib

import pyarrow as pa
import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "cluster2017"
sys.path.insert(0, str(STUDY))

import study  # noqa: E402
from cluster2017_study import claims, figures, measures, page  # noqa: E402
from cluster2017_study.measures import Completion, Run  # noqa: E402
from study_tools import verdicts  # noqa: E402
from study_tools.claims import Verdict  # noqa: E402

import odonata  # noqa: E402
from odonata.base import toml_text  # noqa: E402
from odonata.sweeps import points, spec  # noqa: E402

CLAIMS = {claim.key: claim for claim in page.CLAIMS}
SIZES = (512, 1024, 2048, 4096, 8192)


def a_run(nodes, placement, routing, buffers, **changes):
    """A run of the paper's machine: every claim holds on all such runs together."""
    large = SIZES.index(nodes) / 4
    worst = 6.0
    worst *= {"minimal": 1.0, "adaptive": 2.0 if buffers == "nearest" else 90.0}[routing]
    worst *= {"nearest": 1.0, "random": 3.0}[buffers]
    worst *= {"contiguous": 1.0, "random-router": 1.5, "random-node": 2.0 + large}[placement]
    if (placement, buffers) == ("contiguous", "nearest"):
        time = 5.0 if nodes < 8192 else 1.4
        time *= 1.05 if routing == "adaptive" else 1.0
    elif buffers == "nearest":
        time = (
            1.2
            * {"random-router": 1.5, "random-node": 1.0}[placement]
            * (0.9 if routing == "adaptive" else 1.0)
        )
        time *= 1.0 - 0.1 * large
    else:
        time = 0.95 * (0.9 if routing == "adaptive" else 1.0) * (1 + 1.5 * large)
        time *= 1.0 if placement == "random-node" else 1.05
    if nodes == 512:
        time *= {"nearest": 1.0, "random": 0.8}[buffers]
    used = 5 if (placement, buffers) == ("contiguous", "nearest") else 200
    used = min(used, 10) if (nodes, buffers) == (512, "nearest") else used
    whole = {
        "nodes": nodes,
        "placement": placement,
        "routing": routing,
        "buffers": buffers,
        "checkpoint_bytes": 1e12,
        "block_bytes": 1e6,
        "checkpoint_s": time,
        "checkpoint_alone_s": time,
        "first_rank_s": 0.4,
        "last_rank_s": 16.0,
        "steps": 5 if buffers == "nearest" else 1,
        "buffers_used": used,
        "buffers_all": 300,
        "busiest_bytes": 60e9,
        "device_busy": 10 / time if (nodes, placement, buffers) == (512, "contiguous", "nearest") else 0.5,
        "packets": 1000,
        "latency_min_s": 0.5e-6,
        "latency_mean_s": 1.1e-6,
        "latency_max_s": worst * 1e-6,
        "latency_mean_alone_s": 1e-6,
        "latency_max_alone_s": 1.2e-6,
        "packet_hops": 10,
        "cpu_s": 1.0,
        "peak_rss_bytes": 2**20,
    }
    return Run(**(whole | changes))


def the_grid():
    return [
        a_run(nodes, placement, routing, buffers)
        for nodes in SIZES
        for placement in measures.PLACEMENTS.values()
        for routing in measures.ROUTINGS.values()
        for buffers in ("nearest", "random")
    ]


def verdict(key, runs):
    return verdicts.judge([CLAIMS[key]], runs)[0].verdict


# How runs are paired


def test_pairs_differ_in_one_thing_only():
    found = list(claims.pairs(the_grid(), "routing", "minimal", "adaptive"))
    assert len(found) == 30
    for one, other in found:
        assert (one.routing, other.routing) == ("minimal", "adaptive")
        assert (one.nodes, one.placement, one.buffers) == (other.nodes, other.placement, other.buffers)


def test_a_run_without_counterpart_makes_no_pair():
    runs = [run for run in the_grid() if run.routing == "minimal"]
    assert list(claims.pairs(runs, "routing", "minimal", "adaptive")) == []


def test_steps_are_gaps_of_more_than_a_twentieth_of_all():
    assert measures.steps([0.0, 2.0, 2.01, 10.0, 20.0]) == 3
    assert measures.steps([float(i) for i in range(100)]) == 0
    assert measures.steps([3.0, 3.0]) == 0


# Verdicts


def scaled(runs, factor, key="latency_max_s", **wanted):
    """The same runs; `key` of those with these values is multiplied."""
    return [
        dataclasses.replace(run, **{key: getattr(run, key) * factor})
        if all(getattr(run, name) == value for name, value in wanted.items())
        else run
        for run in runs
    ]


def replaced(runs, key, value, **wanted):
    return [
        dataclasses.replace(run, **{key: value})
        if all(getattr(run, name) == asked for name, asked in wanted.items())
        else run
        for run in runs
    ]


#: Claim -> change that turns its verdict from "holds" into another.
PERTURBATIONS = {
    "mean-alone": lambda runs: scaled(runs, 2, "latency_mean_alone_s"),
    "mean-modest": lambda runs: scaled(runs, 9, "latency_mean_s", buffers="random"),
    "minimum-modest": lambda runs: scaled(runs, 2, "latency_min_s", buffers="random"),
    "maximum-varies": lambda runs: replaced(runs, "latency_max_s", 1e-6),
    "nearest-minimal-least": lambda runs: scaled(runs, 1000, buffers="nearest", routing="minimal"),
    "nearest-minimal-worst": lambda runs: scaled(runs, 10, buffers="nearest", routing="minimal"),
    "random-adaptive-ms": lambda runs: scaled(runs, 0.01, buffers="random", routing="adaptive"),
    "4700-times": lambda runs: scaled(runs, 0.01, buffers="random", routing="adaptive"),
    "adaptive-longer": lambda runs: scaled(runs, 1000, routing="minimal"),
    "adaptive-longer-random": lambda runs: scaled(runs, 1000, buffers="nearest", routing="adaptive"),
    "routing-mean": lambda runs: scaled(runs, 2, "latency_mean_s", routing="adaptive"),
    "random-buffers-more": lambda runs: scaled(runs, 1000, buffers="nearest"),
    "contiguous-least": lambda runs: scaled(runs, 1000, placement="contiguous"),
    "random-node-most": lambda runs: scaled(runs, 0.01, placement="random-node"),
    "random-node-grows": lambda runs: scaled(runs, 0.01, placement="random-node", nodes=8192),
    "router-below-node": lambda runs: scaled(runs, 10, placement="random-router"),
    "ssd-no-bottleneck": lambda runs: replaced(runs, "device_busy", 0.99),
    "ssd-10-s": lambda runs: scaled(runs, 2, "checkpoint_s", nodes=512),
    "small-random": lambda runs: scaled(runs, 0.01, "checkpoint_s", nodes=512, buffers="nearest"),
    "large-nearest": lambda runs: scaled(runs, 0.01, "checkpoint_s", nodes=8192, buffers="random"),
    "ten-buffers": lambda runs: replaced(runs, "buffers_used", 18, nodes=512),
    "random-continuous": lambda runs: replaced(runs, "steps", 9, buffers="random"),
    "random-40-times": lambda runs: scaled(runs, 20, "first_rank_s", buffers="random"),
    "nearest-steps": lambda runs: replaced(runs, "steps", 0, buffers="nearest"),
    "adaptive-random": lambda runs: scaled(runs, 2, "checkpoint_s", buffers="random", routing="adaptive"),
    "adaptive-nearest": lambda runs: scaled(runs, 2, "checkpoint_s", buffers="nearest", routing="adaptive"),
    "adaptive-contiguous": lambda runs: scaled(
        runs, 0.5, "checkpoint_s", placement="contiguous", routing="adaptive"
    ),
    "placement-matters": lambda runs: replaced(runs, "checkpoint_s", 1.0),
    "contiguous-idle": lambda runs: replaced(runs, "buffers_used", 300, placement="contiguous"),
    "random-placements": lambda runs: scaled(runs, 0.01, "checkpoint_s", placement="contiguous"),
    "five-times": lambda runs: scaled(runs, 10, "checkpoint_s", placement="contiguous"),
    "router-1.5": lambda runs: scaled(runs, 0.5, "checkpoint_s", placement="random-router"),
    "random-node-fast": lambda runs: scaled(runs, 100, "checkpoint_s", placement="random-node"),
    "quiet-is-slow": lambda runs: replaced(runs, "checkpoint_s", 1.0),
    "fast-is-loud": lambda runs: replaced(runs, "latency_max_s", 1e-6),
    "best-choice": lambda runs: scaled(
        scaled(runs, 100, "checkpoint_s", buffers="nearest"), 1000, buffers="nearest", routing="minimal"
    ),
}


def test_every_claim_has_a_perturbation_a_source_and_a_rule():
    assert PERTURBATIONS.keys() == CLAIMS.keys()
    assert all(claim.source and claim.rule and claim.number and claim.says for claim in page.CLAIMS)


@pytest.mark.parametrize("key", CLAIMS)
def test_data_that_say_otherwise_turn_the_verdict(key):
    runs = the_grid()
    before, after = verdict(key, runs), verdict(key, PERTURBATIONS[key](runs))
    assert before in (Verdict.HOLDS, Verdict.PART), before
    assert after is not before
    # And for the worse.
    assert list(Verdict).index(after) > list(Verdict).index(before)


@pytest.mark.parametrize("key", CLAIMS)
def test_without_runs_nothing_is_judged(key):
    assert verdict(key, []) is Verdict.UNKNOWN


# Inputs


@pytest.mark.parametrize("name", study.SWEEPS)
def test_every_point_is_right_and_all_compute_nodes_have_a_job(name):
    file = STUDY / "sweeps" / f"{name}.toml"
    asked = spec.load(file)
    authors = name.startswith("authors")
    assert asked.scenario.name == ("authors.toml" if authors else "scenario.toml")
    found = points.list_points(asked, asked.scenario.read_text(encoding="utf-8"), [])
    for point in found:
        groups = point.scenario["machine"]["dragonfly-2d"]["groups"]
        ranks = [job["ranks"] for job in point.scenario["jobs"]]
        # The authors' background traffic leaves some nodes idle.
        assert sum(ranks) <= groups * 360 if authors else sum(ranks) == groups * 360
        alone = [] if name in ("daly", "whole", "authors-whole") else ["checkpoint", "background"]
        assert point.baselines == alone
        # Blocks, and the overhead and the seek of each, are scaled alike: 20 us and 2.5 ms for 1 MB.
        block = measures.size(point.scenario["storage"]["manager"]["block"])
        rate = point.scenario["storage"]["device"]["model"]["rate"]
        assert measures.seconds(rate["overhead"]) / block == pytest.approx(20e-12)
        assert measures.seconds(rate["seek"]) / block == pytest.approx(2.5e-9 if authors else 0)
        if authors:
            # Records of 16 MiB go with blocks of 1 MB.
            (checkpoint,) = point.scenario["jobs"][0]["workload"].values()
            assert measures.size(checkpoint["record"]) / block == pytest.approx(16.777216)
    sizes = {"quick": 24, "full": 60, "scales": 21, "whole": 6, "daly": 10}
    sizes |= {"authors-quick": 24, "authors": 60, "authors-scales": 2, "authors-whole": 1}
    assert len(found) == sizes[name]


def test_the_experiment_on_seeks_changes_nothing_but_seeks():
    file = STUDY / "sweeps" / "authors-seeks.toml"
    asked = spec.load(file)
    found = points.list_points(asked, asked.scenario.read_text(encoding="utf-8"), [])
    assert len(found) == 16
    rates = [point.scenario["storage"]["device"]["model"]["rate"] for point in found]
    assert {rate.pop("seek") for rate in rates} == {"39.0625 us", "0 s"}
    assert all(rate == rates[0] for rate in rates)


def test_the_experiment_on_virtual_channels_changes_nothing_but_those_of_the_checkpoint():
    file = STUDY / "sweeps" / "classes.toml"
    asked = spec.load(file)
    found = points.list_points(asked, asked.scenario.read_text(encoding="utf-8"), [])
    assert len(found) == 20
    cases = {}
    for point in found:
        scenario = json.loads(json.dumps(point.scenario))
        classes = scenario["network"].pop("traffic_classes", None)
        used = [job.pop("traffic_class", None) for job in scenario["jobs"]]
        # The checkpoint is in the second class, the background traffic in the first.
        assert used == ([{"mpi": 1, "io": 1}, None] if classes else [None, None])
        cases.setdefault(json.dumps(scenario, sort_keys=True), []).append(bool(classes))
    assert list(cases.values()) == [[False, True]] * 10


# The page


def test_the_pages_are_what_their_data_say():
    """If not: `make study-cluster2017 WHAT=page`."""
    texts = page.texts()
    assert {path.name for path in texts} == {"README.md", "APPENDIX.md"}
    for path, text in texts.items():
        assert path.read_text(encoding="utf-8") == text, path


def test_every_claim_that_does_not_hold_is_explained():
    both = {settings: page.judge(page.stored(settings)) for settings in page.STORED}
    assert page.notes().keys() == page.wanting(both).keys()


def test_a_claim_is_wanting_if_it_is_with_any_settings():
    held, not_held = (page.judge(runs) for runs in (the_grid(), replaced(the_grid(), "latency_max_s", 1e-6)))
    assert "maximum-varies" not in page.wanting({"text": held, "authors": held})
    both = {"text": held, "authors": not_held}
    assert page.wanting(both)["maximum-varies"] == ["text: holds", "authors: does not hold"]
    row = next(row for row in page.side_by_side(both).rows if "varies significantly" in row[0])
    assert row[2:] == ["**holds**", "5 of 5", "**does not hold**", "0 of 5"]


def test_the_scale_of_a_run_is_that_of_its_settings():
    text = a_run(512, "contiguous", "minimal", "nearest", checkpoint_bytes=31.25e9)
    authors = dataclasses.replace(text, checkpoint_bytes=2.0**35, settings="authors")
    assert text.scale == authors.scale == 1
    assert page.at_full_scale(authors)
    smaller = dataclasses.replace(authors, checkpoint_bytes=2.0**29)
    assert page.scale(smaller.scale) == "64"
    assert not page.at_full_scale(smaller)


def test_a_run_without_baselines_has_the_background_alone_of_the_largest_other_run():
    without = a_run(
        512, "contiguous", "minimal", "nearest", latency_mean_alone_s=0.0, latency_max_alone_s=0.0
    )
    small, large = (
        dataclasses.replace(
            without, checkpoint_bytes=size, latency_mean_alone_s=alone, latency_max_alone_s=2 * alone
        )
        for size, alone in ((1e9, 1e-6), (31.25e9, 1.5e-6))
    )
    other = dataclasses.replace(large, nodes=1024, latency_mean_alone_s=9e-6)
    filled, kept = measures.with_alone([without, small], [large, small, other])
    assert (filled.latency_mean_alone_s, filled.latency_max_alone_s) == (1.5e-6, 3e-6)
    assert dataclasses.replace(filled, latency_mean_alone_s=0.0, latency_max_alone_s=0.0) == without
    assert kept == small


def test_cells_are_judged_at_each_scale_and_compared_with_the_whole():
    """Two configurations, small and whole; in one small one the worst packet is too slow."""
    whole = [a_run(nodes, "random-node", "minimal", "nearest") for nodes in (512, 8192)]
    alone = whole[0].latency_max_alone_s
    whole = [dataclasses.replace(run, latency_max_s=10 * alone) for run in whole]
    small = [
        dataclasses.replace(run, checkpoint_bytes=31.25e9, latency_max_s=times * alone)
        for run, times in zip(whole, (10, 100), strict=True)
    ]
    # One that has no whole checkpoint.
    other = a_run(512, "contiguous", "minimal", "nearest", checkpoint_bytes=31.25e9)
    table = page.cell_table([*whole, *small, other])
    assert table.header == ["claim", "scale 1", "scale 1/32"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["configurations"] == ["2", "2"]
    assert rows["`nearest-minimal-worst`"] == ["holds in part (1 of 2)", "holds (2 of 2)"]
    assert rows["`random-node-grows`"] == ["holds (1 of 1)"] * 2
    assert rows["verdicts as with the whole checkpoint"] == ["4 of 5", "5 of 5"]


def test_an_earlier_whole_checkpoint_has_what_was_kept_and_the_background_alone_of_another(tmp_path):
    file = tmp_path / "earlier.csv"
    file.write_text(
        "nodes,placement,routing,buffers,checkpoint_s,latency_mean_s,latency_max_s\n"
        "512,random-node,minimal,nearest,2.15,,1446e-6\n",
        encoding="utf-8",
    )
    (run,) = measures.read_earlier(file)
    assert (run.name, run.whole, run.settings) == ("512-random-node-minimal-nearest", 1.0, "text")
    assert (run.checkpoint_s, run.latency_max_s) == (2.15, 1446e-6)
    assert math.isnan(run.latency_mean_s)
    assert math.isnan(run.device_busy)
    (filled,) = measures.with_alone([run], [a_run(512, "random-node", "minimal", "nearest")])
    assert filled.slowest_packet == pytest.approx(1446 / 1.2)


def test_a_whole_checkpoint_of_an_earlier_model_is_shown_until_it_ran_again():
    earlier = {run.name for run in page.stored_earlier()}
    whole = {run.name for run in page.stored_scales() if page.is_whole(run)}
    assert not earlier & whole
    assert {run.name for run in measures.read_earlier(page.EARLIER)} <= earlier | whole


def test_kept_rows_come_back_as_they_were(tmp_path):
    runs = measures.ordered(the_grid())
    completions = [Completion(512, "contiguous", "minimal", "nearest", 0, 1.0)]
    measures.write(tmp_path, runs, completions, "one")
    assert measures.read(tmp_path, "one") == (runs, completions)


# From a sweep to verdicts


@pytest.fixture(scope="module")
def small_sweep(tmp_path_factory):
    """Two configurations of a machine of two groups."""
    folder = tmp_path_factory.mktemp("sweep")
    text = (STUDY / "scenario.toml").read_text(encoding="utf-8")
    scenario = tomllib.loads(text)
    scenario["machine"] = {"dragonfly-2d": {"groups": 2}}
    scenario["jobs"][0] |= {"ranks": 60, "placement": "contiguous"}
    scenario["jobs"][0]["workload"]["checkpoint"]["total"] = "6 MB"
    scenario["jobs"][1]["ranks"] = 660
    file = folder / "scenario.toml"
    file.write_text(toml_text.document(scenario), encoding="utf-8")
    odonata.sweep(
        file,
        folder / "out",
        over={"storage.assignment": ["nearest", "random"]},
        overrides={"network.routing.algorithm": "minimal"},
        baselines=True,
        keep="tables",
        processes=1,
    )
    return folder / "out"


def test_a_row_is_what_the_tables_of_its_run_say(small_sweep):
    runs, completions = measures.of_sweep(small_sweep)
    assert [(run.nodes, run.placement, run.routing) for run in runs] == [(60, "contiguous", "minimal")] * 2
    nearest, random = (next(run for run in runs if run.buffers == name) for name in ("nearest", "random"))
    # The first chassis has 60 compute nodes and two buffers, which each get half of 6 MB.
    assert (nearest.buffers_used, nearest.buffers_all, nearest.busiest_bytes) == (2, 24, 3e6)
    assert random.buffers_used > 2
    # A device writes at 5.7 GiB/s and takes 312.5 ns for each of the 7 blocks of each of 30 ranks.
    device_s = 3e6 / (5.7 * 2**30) + 30 * 7 * 312.5e-9
    assert nearest.device_busy * nearest.checkpoint_s == pytest.approx(device_s, rel=1e-6)
    assert nearest.checkpoint_s >= device_s
    assert 0 < nearest.latency_min_s <= nearest.latency_mean_s <= nearest.latency_max_s
    assert nearest.slowest_packet >= 1
    assert len(completions) == 120
    ends = [one.end_s for one in completions if one.buffers == "nearest"]
    assert ends == sorted(ends)
    assert ends[-1] == nearest.last_rank_s


def test_figures_have_what_the_runs_have(small_sweep, tmp_path):
    runs, completions = measures.of_sweep(small_sweep)
    names = figures.draw(tmp_path, runs, completions)
    assert sorted(names) == [f"cluster2017-figure-{i}.svg" for i in range(5, 10)]
    assert all((tmp_path / name).stat().st_size > 1000 for name in names)
    # Two panels; a bar with background and one without.
    bars = figures.times(runs, "nearest").axes
    assert [len(axes.patches) for axes in bars] == [0, 2]
    # Times are those of the whole checkpoint.
    nearest, random = (next(run for run in runs if run.buffers == name) for name in ("nearest", "random"))
    assert bars[1].patches[0].get_height() == pytest.approx(nearest.whole * nearest.checkpoint_s)
    ranks = [axes.lines[0].get_ydata() for axes in figures.completion(runs, completions).axes]
    assert [max(ends) for ends in ranks] == [
        pytest.approx(run.whole * run.last_rank_s) for run in (random, nearest)
    ]


def dashed(axes):
    """Positions of the lines that stand for numbers of the paper."""
    return [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"]


def test_figures_have_the_numbers_that_the_paper_prints():
    runs = the_grid()
    ends = [Completion(512, "contiguous", "minimal", name, 0, 1.0) for name in ("random", "nearest")]
    adaptive, minimal = 0, 1
    # 4,700 times 0.001 ms; 5 and 25 times the worst packet without checkpoint, which is 1.2 us in all runs.
    assert dashed(figures.latency(runs, "random").axes[adaptive]) == [4.7]
    assert dashed(figures.latency(runs, "nearest").axes[minimal]) == pytest.approx([0.006, 0.03])
    assert dashed(figures.latency(runs, "random").axes[minimal]) == []
    assert dashed(figures.times(runs, "nearest").axes[minimal]) == [10.0]
    assert dashed(figures.times(runs, "random").axes[minimal]) == []
    assert [dashed(axes) for axes in figures.completion(runs, ends).axes] == [[0.4, 16.0], []]
    # Of a figure with such a line the legend has one entry more than placements.
    legends = [figures.times(runs, name).legends[0].get_texts() for name in ("nearest", "random")]
    assert [len(texts) for texts in legends] == [4, 3]


def test_worst_packets_at_scale_1_are_crosses():
    runs = the_grid()
    (single,) = [run for run in runs if run.name == "512-random-node-adaptive-random"]
    axes = figures.latency(runs, "random", [single]).axes[0]
    crosses = [line.get_ydata()[0] for line in axes.lines if line.get_marker() == "x"]
    assert crosses == [1e3 * single.latency_max_s]


def test_a_missing_baseline_leaves_a_point_out(small_sweep, monkeypatch):
    sweep = odonata.Sweep.load(small_sweep)
    lost = sweep.table.to_pylist()
    for row in lost:
        if row["point"] == 0 and row["job"] == "background":
            row["baseline"] = "crashed"
    damaged = odonata.Sweep(sweep.description, pa.Table.from_pylist(lost), sweep.table, small_sweep)
    monkeypatch.setattr(odonata.Sweep, "load", lambda folder: damaged)
    assert len(measures.of_sweep(small_sweep)[0]) == 1


def test_every_claim_has_a_figure_or_a_section_of_the_paper():
    rows = [key for row in page.SHOWN for key in row.claims]
    assert sorted(rows) == sorted(CLAIMS)
