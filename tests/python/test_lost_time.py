"""Lost time of jobs: in sentences, and compared with baselines."""

import math
import os

import launcher
import pyarrow as pa
import pytest
from conftest import ODONATA, SMALL

import odonata
from odonata import Results
from odonata.analysis import lost_time, summary

COLUMNS = ("victim", "culprit", "culprit_class", "kind", "lost_s")

ROWS = [
    ("milc", "checkpoint", "io", "device", 31.0),
    ("milc", "halo", "mpi", "link", 6.0),
    ("milc", "milc", "mpi", "link", 2.0),
    ("milc", "milc", "io", "device", 1.0),
    ("milc", "halo", "mpi", "buffer", 0.0),
    ("halo", "halo", "mpi", "link", 0.5),
]


def results(asked=True, rows=ROWS):
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)})
    jobs = pa.table({"job": ["milc", "halo", "checkpoint"], "elapsed_s": [100.0, 90.0, 80.0]})
    run = {"outcome": "completed", "scenario": {"run": {"lost_time": asked}}}
    return Results(run, {"jobs": jobs, "lost_time": table})


def test_a_sentence_names_losses_and_culprits_and_adds_up():
    milc, halo, checkpoint = lost_time.of_jobs(results())
    assert milc.words() == (
        "Milc lost 40 s: 31 s to checkpoint's I/O at the devices of servers, "
        "6 s to halo's messages on links, 3 s to itself; predicted time alone: 63 s"
    )
    assert (milc.lost_s, milc.others_s, milc.predicted_s) == (40.0, 37.0, 63.0)
    assert sum(part.lost_s for part in milc.parts) == milc.lost_s
    assert halo.words() == "Halo lost 500 ms: 500 ms to itself"
    assert checkpoint.words() == "Checkpoint lost nothing"


def test_what_was_lost_before_a_start_is_distinguished():
    rows = [*ROWS, ("checkpoint", "halo", "mpi", "start", 2.0), ("checkpoint", "milc", "io", "start", 3.0)]
    checkpoint = lost_time.of_jobs(results(rows=rows))[2]
    assert checkpoint.words() == (
        "Checkpoint lost nothing; it started 5 s later: "
        "3 s because of milc's I/O, 2 s because of halo's messages"
    )
    assert (checkpoint.lost_s, checkpoint.predicted_s, checkpoint.started_later_s) == (0, 80.0, 5.0)


def test_without_lost_time_nothing_is_reported():
    assert lost_time.of_jobs(results(asked=False)) is None


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lost_time")
    (folder / "scenario.toml").write_text(SMALL, encoding="utf-8")
    command = [*ODONATA, "run", "scenario.toml", "-o", "out", "--baselines", "--set", "run.lost_time=true"]
    done = launcher.run(command, cwd=folder, env=os.environ | {"COLUMNS": "300"})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout, odonata.load(folder / "out")


def test_the_prediction_stands_beside_the_baseline(together):
    page, loaded = together
    found = summary.collect(loaded)["lost_time"]
    assert [lost["job"] for lost in found] == [row["job"] for row in loaded.rows("jobs")]
    for lost in found:
        # Lines may be wrapped.
        assert f"- {lost['words']}" in " ".join(page.split())
        assert lost["alone_s"] == loaded.baselines[lost["job"]].rows("jobs")[0]["elapsed_s"]
        assert math.isclose(lost["lost_s"], sum(part["lost_s"] for part in lost["parts"]), rel_tol=1e-12)
        # A job alone loses nothing to others.
        alone = lost_time.of_jobs(loaded.baselines[lost["job"]])
        assert alone is None or all(one.others_s == 0 for one in alone)


def test_what_jobs_lost_explains_most_of_what_the_others_cost_them(together):
    """For the most delayed job, the prediction is nearer to the time alone than the run is."""
    _, loaded = together
    found = summary.collect(loaded)["lost_time"]
    worst = max(found, key=lambda lost: lost["elapsed_s"] - lost["alone_s"])
    late = worst["elapsed_s"] - worst["alone_s"]
    assert late > 0
    assert abs(worst["predicted_s"] - worst["alone_s"]) < 0.5 * late
