"""`odonata what-if`, and the comparison of points seed by seed."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pytest
from batch_cases import MACHINE, put
from conftest import ROOT
from sweep_cases import points, sweep_file

import odonata
from odonata.answers.compare_sweeps import SweepComparison
from odonata.answers.what_if import WhatIf
from odonata.base.json_types import check
from odonata.batch_queue import page, what_if
from odonata.errors import InputError
from odonata.sweeps import extremes, statistics
from odonata.sweeps.axes import list_axis
from odonata.sweeps.reader import Source, Table

BATCH = """
scenario = "machine.toml"
jobs = "jobs.csv"
queue = { placement = "random" }
profiles.busy = { pattern = "all-to-all", intensity = "6 GB/s", share = 0.6 }
"""


@pytest.fixture
def batch(tmp_path):
    """Two jobs in all-to-all on a small machine, and one that waits for both."""
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,9,100,busy\n0,9,100,busy\n1,18,50,none\n")
    return put(tmp_path, "batch.toml", BATCH)


def test_variants_are_compared_seed_by_seed(batch, tmp_path):
    over = {"contention": [True, False]}
    answer = odonata.what_if(batch, over, seeds=3, out=tmp_path / "out")
    check(answer, WhatIf)
    first, second = answer["variants"]
    assert [one["seed"] for one in first["runs"]] == [1, 2, 3]
    for measure in ("turnaround_s", "slowdown"):
        pair = next(one for one in second["pairs"] if one["measure"] == measure)
        logs = [
            math.log(two[measure] / one[measure])
            for one, two in zip(first["runs"], second["runs"], strict=True)
        ]
        assert pair["ratio"] == pytest.approx(math.exp(sum(logs) / 3))
        assert pair["fell"] == 3
    # Every run equals that of `odonata batch`.
    alone = put(tmp_path, "other.toml", f"seed = 2\ncontention = false\n{BATCH}")
    assert odonata.batch(alone)["digest"] == second["runs"][1]["digest"]
    # The same command repeats no run.
    lines = (tmp_path / "out/runs.jsonl").read_text()
    again = odonata.what_if(batch, over, seeds=3, out=tmp_path / "out")
    assert (tmp_path / "out/runs.jsonl").read_text() == lines
    assert again == answer == json.loads((tmp_path / "out/what-if.json").read_text())


def test_keys_of_the_machine_are_settings(batch):
    answer = odonata.what_if(batch, {"network.routing.algorithm": ["minimal", "valiant"]}, seeds=1)
    digests = {one["runs"][0]["digest"] for one in answer["variants"]}
    assert len(digests) == 2
    # By rates UGAL is minimal routing with other draws, so that a ratio of 1.00 is not its effect.
    assert "by rates adaptive routing takes no detours, so packets may differ." in answer["sentences"][0]


def test_a_key_that_rates_do_not_know_is_said(batch):
    """Otherwise a ratio of 1.00 would look like a result."""
    over = {"network.links.global.buffer": ["64 KiB", "16 KiB"], "queue.placement": ["random"]}
    (sentence,) = odonata.what_if(batch, over, seeds=2)["sentences"]
    assert "buffer = 16 KiB, queue.placement = random has exactly the results of" in sentence
    assert "packets may differ. --confirm N compares the variants in packets" in sentence
    over = {"network.links.global.bandwidth": ["1 GB/s", "9 GB/s"]}
    assert "packets may differ" not in " ".join(odonata.what_if(batch, over, seeds=2)["sentences"])


def test_the_page_says_what_rates_do_not_know_beside_a_ratio_of_one(batch, capsys):
    over = {"network.links.global.buffer": ["64 KiB", "16 KiB"]}
    answer = odonata.what_if(batch, over, seeds=2)
    page.show_variants(answer)
    shown = " ".join(capsys.readouterr().out.split())
    assert "1.00x" in shown
    assert "has exactly the results of network.links.global.buffer = 64 KiB by rates" in shown
    assert "packets may differ" in shown
    # A variant without runs has no means.
    for one in answer["variants"]:
        one["runs"], one["pairs"] = [], []
    page.show_variants({**answer, "outcome": "interrupted", "sentences": []})
    assert "0.00x" not in capsys.readouterr().out


def test_rates_and_packets_know_traffic_classes(batch, tmp_path):
    """The first job gets a class that goes first: it loses no time by rates and little in packets."""
    put(
        tmp_path, "jobs.csv",
        "job,submit,nodes,run,profile\na,0,9,100,busy\nb,0,9,100,other\nc,1,18,50,none\n",
    )  # fmt: skip
    classes = '[{ name = "usual", share = 0.5 }, { name = "first", share = 0.5, priority = 1 }]'
    text = batch.read_text() + BATCH.splitlines()[-1].replace("busy", "other")
    batch.write_text(f'set."network.traffic_classes" = {classes}\n{text}\n')
    over = {"profiles.busy.class": ["usual", "first"]}
    answer = odonata.what_if(batch, over, seeds=1, confirm=1, out=tmp_path / "out")
    check(answer, WhatIf)
    usual, first = (variant["runs"][0] for variant in answer["variants"])
    found = {}
    for name, run in (("usual", usual), ("first", first)):
        (line,) = (tmp_path / "out" / run["key"] / "moments.jsonl").read_text().splitlines()
        found[name] = {job["job"]: job for job in json.loads(line)["jobs"]}
    assert found["first"]["a"]["rates"] == 1.0
    for tier in ("rates", "packets"):
        assert found["usual"]["a"][tier] > 1.05
        assert found["first"]["a"][tier] < 1 + 0.5 * (found["usual"]["a"][tier] - 1)
        assert found["first"]["b"][tier] > found["usual"]["b"][tier]
    pair = next(one for one in answer["variants"][1]["pairs"] if one["measure"] == "packet_slowdown")
    assert pair["ratio"] == pytest.approx(first["packet_slowdown"] / usual["packet_slowdown"])
    # What is known is not repeated.
    assert odonata.what_if(batch, over, seeds=1, confirm=1, out=tmp_path / "out") == answer
    # Without packets the answer is that of rates.
    again = odonata.what_if(batch, over, seeds=1)
    assert [one["runs"][0]["digest"] for one in again["variants"]] == [usual["digest"], first["digest"]]
    assert "packets" not in " ".join(again["sentences"])


def test_two_classes_share_a_link_by_rates_as_their_shares_say(tmp_path):
    """Two jobs want the only cable between two routers all the time, with shares 0.2 and 0.6.

    The second has 3/4 of the cable and ends after 100 s / (3/4); the first has done 1/4 of that by then, and
    the rest of its 100 s follows at full speed.
    """
    put(
        tmp_path, "machine.toml",
        "[machine.mesh]\ndims = [2]\nnodes_per_router = 2\n"
        "[network.links.terminal]\nbandwidth = \"10 GB/s\"\n[network.links.local]\nbandwidth = \"1 GB/s\"\n"
        "[[network.traffic_classes]]\nname = \"bulk\"\nshare = 0.2\n"
        "[[network.traffic_classes]]\nname = \"fast\"\nshare = 0.6\n",
    )  # fmt: skip
    put(
        tmp_path, "jobs.csv",
        "job,submit,nodes,node_list,run,profile\na,0,2,0 2,100,a\nb,0,2,1 3,100,b\n",
    )  # fmt: skip
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    queue = { placement = "list" }
    profiles.a = { pattern = "all-reduce", intensity = "1 GB/s", share = 1.0 }
    profiles.b = { pattern = "all-reduce", intensity = "1 GB/s", share = 1.0, class = "bulk" }
    """
    over = {"profiles.b.class": ["bulk", "fast"]}
    equal, shared = odonata.what_if(put(tmp_path, "a.toml", text), over, seeds=1)["variants"]
    assert equal["runs"][0]["turnaround_s"] == pytest.approx(200.0, rel=1e-4)
    b = 100 / 0.75
    assert shared["runs"][0]["turnaround_s"] == pytest.approx((b + b + (100 - b / 4)) / 2, rel=1e-4)
    for wrong, expected in (("fastt", "did you mean fast?"), ("", None)):
        put(tmp_path, "b.toml", text.replace('class = "bulk"', f'class = "{wrong}"'))
        if expected is None:
            odonata.batch(tmp_path / "b.toml")
            continue
        with pytest.raises(InputError) as caught:
            odonata.batch(tmp_path / "b.toml")
        assert (caught.value.key, caught.value.line) == ("profiles.b.class", 6)
        assert caught.value.hint == expected


@pytest.mark.parametrize("over", [{"queue.policy": ["easyy"]}, {"queue.polic": ["easy"]}, {}])
def test_wrong_variants_are_refused_before_a_run(batch, over):
    with pytest.raises(InputError):
        odonata.what_if(batch, over)


class Stopped:
    """A request to stop that comes at once."""

    requested = True


def test_a_stopped_comparison_is_interrupted(batch):
    axes = [list_axis("contention", [True, False], Table({}, Source()), "over")]
    answer = what_if.compare(what_if.variants(batch, axes), 2, None, stop=Stopped())
    check(answer, WhatIf)
    assert (answer["outcome"], answer["sentences"]) == ("interrupted", [])


def test_a_folder_of_another_kind_is_refused(batch):
    with pytest.raises(InputError, match="not a comparison"):
        odonata.what_if(batch, {"contention": [True, False]}, out=ROOT / "docs")


def test_pairs_have_the_interval_of_student():
    """Ratios e^0.1 and e^0.3: mean 0.2, s = 0.2 / sqrt 2, t = 12.706 with one degree of freedom."""
    found = statistics.paired([1.0, 1.0], [math.exp(0.1), math.exp(0.3)])
    assert found is not None
    assert math.log(found.ratio) == pytest.approx(0.2)
    assert math.log(found.high) - 0.2 == pytest.approx(
        12.7062 * (0.2 / math.sqrt(2)) / math.sqrt(2), rel=1e-5
    )
    assert (found.fell, found.rose, found.differs) == (0, 2, False)
    # Both seeds rise, which may be chance.
    assert found.in_words == "1.22x (0.34x to 4.35x), not certain"
    assert statistics.paired([1.0, 1.0], [1.1, 1.11]).in_words.endswith("in all 2 seeds")
    assert statistics.paired([1.0, 1.0], [1.0, 1.0]).in_words == "1.00x in all 2 seeds"


def test_a_measure_that_no_seed_changes_is_said(batch):
    over = {"queue.placement": ["contiguous", "list"], "contention": [False]}
    pair = odonata.what_if(batch, over, seeds=2)["variants"][1]["pairs"][0]
    assert (pair["pairs"], pair["words"]) == (1, "1.00x, no seed changes it")


def _sweep(times):
    """Two points with these times by seed."""
    rows = [
        {
            "point": point, "key": ("a", "b")[point], "seed": seed, "job": "halo", "outcome": "completed",
            "digest": f"{point} {seed}", "elapsed_s": time, "elapsed_ratio": None,
        }
        for point, values in enumerate(times)
        for seed, time in enumerate(values)
    ]  # fmt: skip
    intervals = []
    for point, values in enumerate(times):
        found = statistics.interval(values)
        intervals.append(
            {
                "key": ("a", "b")[point], "point": point, "job": "halo", "measure": "elapsed_s", "unit": "s",
                "seeds": len(values), "results": len(values), "mean": found.mean,
                "half_width": found.half_width, "low": found.low, "high": found.high,
            }
        )  # fmt: skip
    description = {"swept": [{"key": "key", "unit": ""}], "points": 2, "confidence": 0.95}
    return odonata.Sweep(description, pa.Table.from_pylist(rows), pa.Table.from_pylist(intervals))


def test_points_whose_intervals_overlap_are_distinguished_by_their_pairs():
    before = [1.0, 2.0, 1.5, 1.2, 1.8]
    sweep = _sweep([before, [0.85, 1.70, 1.25, 1.00, 1.55]])
    rows = sweep.intervals().to_pylist()
    assert rows[1]["high"] > rows[0]["low"]
    (output,) = extremes.sentences(sweep)
    assert "0.85x" in output
    assert "shortest / longest is 0.8" in output
    assert "in all 5 seeds" in output
    pair = sweep.pairs("elapsed_s").to_pylist()[0]
    assert (pair["pairs"], pair["fell"], pair["against"]) == (5, 5, 0)
    assert pair["high"] < 1
    assert sweep.pairs("elapsed_s", against=1).to_pylist()[0]["low"] > 1


def test_pairs_that_disagree_tell_nothing_apart():
    (output,) = extremes.sentences(_sweep([[1.0, 2.0, 1.5], [1.1, 1.5, 1.5]]))
    assert "no point is known to be faster" in output


def test_two_sweeps_are_compared_seed_by_seed(shell):
    sweep_file(shell, "seeds = 3\n[grid]\njobs.halo.ranks = [4, 6]\n")
    assert shell("sweep", "sweep.toml", "-o", "a", "-q").code == 0
    assert (
        shell(
            "sweep", "sweep.toml", "-o", "b", "-q", "--set", "jobs.halo.workload.stencil.compute=20 us"
        ).code
        == 0
    )
    done = shell("compare", "a", "b", "--json")
    assert done.code == 0, done.err
    check(done.json, SweepComparison)
    assert done.json["points"] == 2
    times = [
        {
            (row["point"], row["seed"], row["job"]): row["elapsed_s"]
            for row in points(shell.folder / name).to_pylist()
        }
        for name in ("a", "b")
    ]
    row = next(
        row
        for row in done.json["rows"]
        if (row["measure"], row["job"], row["values"]) == ("elapsed_s", "halo", {"jobs.halo.ranks": 6})
    )
    logs = [math.log(times[1][1, seed, "halo"] / times[0][1, seed, "halo"]) for seed in (3, 4, 5)]
    assert row["ratio"] == pytest.approx(math.exp(sum(logs) / 3))
    assert row["pairs"] == 3
    output = shell("compare", "a", "b").out
    assert "jobs.halo.ranks = 6" in output
    # The other key would tell the points of the second sweep apart, but the first one fixes it.
    sweep_file(shell, '[grid]\nnetwork.packet = ["1 KiB", "2 KiB"]\n')
    assert shell("sweep", "sweep.toml", "-o", "c", "-q").code == 0
    refused = shell("compare", "a", "c")
    assert refused.code == 2
    assert "equal values of the common keys" in refused.err
