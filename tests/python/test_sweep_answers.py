"""Messages of a sweep about seeds without effect and points by name; replaced pictures."""

import json
import re

import pyarrow as pa
import pytest

import odonata
from odonata.sweeps import extremes, labels, report

BASE = """\
name = "base"
[machine.mesh]
dims = [4, 4]
[[jobs]]
name = "halo"
ranks = 16
workload.stencil = { message = "4 KiB", iterations = 2, compute = "1 us" }
"""
POINTS = """\
scenario = "scenario.toml"
seeds = 3
[[points]]
jobs.halo.placement = "contiguous"
[[points]]
jobs.halo.placement = "random"
machine.mesh.dims = [2, 4, 8]
"""


@pytest.fixture
def swept(shell):
    shell.write(BASE)
    shell.write(POINTS, "points.toml")
    done = shell("sweep", "points.toml", "-o", "out", "--plot", "out.svg", "--measure", "elapsed_s")
    assert done.code == 0, done.err
    return shell, done


def test_seeds_that_change_nothing_have_no_interval_and_it_is_reported(swept):
    """Dimension order on a mesh draws nothing; random placement does."""
    shell, done = swept
    found = odonata.Sweep.load(shell.folder / "out")
    rows = {row["point"]: row for row in found.intervals("elapsed_s").to_pylist()}
    assert (rows[0]["seeds"], rows[0]["results"], rows[0]["half_width"]) == (3, 1, None)
    assert (rows[1]["seeds"], rows[1]["results"]) == (3, 3)
    assert rows[1]["half_width"] > 0
    output = " ".join(done.out.split())
    assert "3, equal" in output
    assert "At 1 of 2 points all seeds gave equal results" in output
    assert "jitter" in output


def test_a_start_with_a_jitter_is_drawn_from_the_seed(tmp_path):
    """Uniformly between `at` and `at` + `jitter`: eight draws of 20 us from 10 us, alike for one seed."""
    scenario = BASE + 'start = { at = "10 us", jitter = "20 us" }\n'

    def start_us(seed):
        path = tmp_path / f"{seed}.toml"
        path.write_text(f"seed = {seed}\n{scenario}", encoding="utf-8")
        return 1e6 * odonata.run(path).table("jobs")["start_s"].to_pylist()[0]

    starts = [start_us(seed) for seed in range(1, 9)]
    assert all(10 <= start <= 30 for start in starts)
    assert len(set(starts)) == len(starts)
    assert min(starts) < 20 < max(starts)
    assert start_us(3) == starts[2]


def test_points_are_shown_by_what_they_set(swept):
    _, done = swept
    output = " ".join(done.out.split())
    assert "as the scenario" in output
    assert "mesh dims [2, 4, 8]" in output
    assert "machine.mesh.dims" not in output


def test_points_with_a_name_are_shown_by_it():
    rows = [{"name": "ring", "a.b": 1, "c": 2}, {"name": "star", "a.b": None, "c": 3}]
    keys, shown = labels.collapsed(["name", "a.b", "c"], rows)
    assert keys == ["points", "c"]
    assert [row["points"] for row in shown] == ["ring", "star"]


def test_a_sweep_replaces_its_own_picture_and_no_other(swept):
    shell, _ = swept
    picture = shell.folder / "out.svg"
    again = ("sweep", "points.toml", "-o", "out", "-q", "--plot", "out.svg", "--measure", "elapsed_s")
    assert shell(*again).code == 0
    picture.write_text("edited by hand")
    refused = shell(*again)
    assert (refused.code, picture.read_text()) == (2, "edited by hand")
    assert "exists" in refused.err
    assert shell(*again, "--force").code == 0
    assert shell(*again).code == 0
    other = shell("sweep", "points.toml", "-o", "other", "-q", "--plot", "out.svg", "--measure", "elapsed_s")
    assert other.code == 2


def test_the_report_without_baselines_opens_with_a_metric_that_there_is(swept):
    shell, _ = swept
    page = report.html(shell.folder / "out" / "points.parquet")
    data = json.loads(re.search(r'id="report-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    chart = data["sweep-chart"]["data"]
    assert "elapsed_ratio" not in chart["rows"]
    assert chart["words"]["elapsed_s"] == "time"
    assert chart["axes"] == ["points"]
    first = re.search(r'name="y"[^>]*>\s*<option value="([^"]*)"', page)[1]
    assert first == "elapsed_s"
    assert all(value is not None for value in chart["rows"][first])


def _measured(times, ratios=None, width=None, seeds=5, results=5):
    """A sweep over the placement of `halo`: its mean times, in ms, and its slowdowns."""
    rows = []
    for measure, values in (("elapsed_s", [time * 1e-3 for time in times]), ("elapsed_ratio", ratios or [])):
        for point, mean in enumerate(values):
            half = None if width is None else width * mean
            rows.append(
                {
                    "jobs.halo.placement": ("random", "contiguous", "spread")[point],
                    "point": point, "job": "halo", "measure": measure, "unit": "", "mean": mean,
                    "seeds": seeds, "results": results, "half_width": half,
                    "low": None if half is None else mean - half,
                    "high": None if half is None else mean + half,
                }
            )  # fmt: skip
    keys = ("point", "jobs.halo.placement")
    points = [{key: row[key] for key in keys} | {"elapsed_s": None, "elapsed_ratio": None} for row in rows]
    description = {"swept": [{"key": "jobs.halo.placement", "unit": ""}], "points": len(times)}
    return odonata.Sweep(description, pa.Table.from_pylist(points), pa.Table.from_pylist(rows))


RANDOM, CONTIGUOUS = "jobs.halo.placement = random", "jobs.halo.placement = contiguous"


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        # The point of the larger slowdown is the faster one.
        (
            _measured([3.0, 4.5], [1.5, 1.0], width=0.01),
            f"halo takes longest at {CONTIGUOUS} (4.5 ms, 1.00x as long as alone), "
            f"shortest at {RANDOM} (3 ms, 1.50x as long as alone).",
        ),
        (
            _measured([3.0, 4.5], [1.004, 0.999], width=0.01),
            f"halo takes longest at {CONTIGUOUS} (4.5 ms), shortest at {RANDOM} (3 ms); "
            "other jobs do not slow it down.",
        ),
        (
            _measured([3.0, 3.001], [1.0, 0.999], width=1e-5),
            "halo takes 3 ms at every point; other jobs do not slow it down.",
        ),
        (
            _measured([3.0, 3.001], [1.2, 1.5], width=1e-5),
            "halo takes 3 ms at every point, 1.20x to 1.50x as long as alone.",
        ),
        (
            _measured([3.0, 3.3], width=0.1),
            "halo takes 3 ms to 3.3 ms; the intervals overlap, so no point is known to be faster.",
        ),
        (
            _measured([3.0, 4.5], seeds=1, results=1),
            f"halo takes longest at {CONTIGUOUS} (4.5 ms), shortest at {RANDOM} (3 ms); "
            "more seeds would show whether this is chance.",
        ),
        (
            _measured([3.0, 4.5], seeds=3, results=1),
            f"halo takes longest at {CONTIGUOUS} (4.5 ms), shortest at {RANDOM} (3 ms).",
        ),
        (_measured([3.0], [1.25], seeds=1), "halo takes 3 ms, 1.25x as long as alone."),
    ],
)
def test_points_are_compared_by_time_and_only_where_they_differ(sweep, message):
    assert extremes.sentences(sweep) == [f"- {message}"]
