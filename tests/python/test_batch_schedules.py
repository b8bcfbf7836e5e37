"""Schedules of the batch queue without contention, job by job beside those of other batch simulators."""

from __future__ import annotations

import csv
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT

import odonata

EXAMPLES = ROOT / "examples/batch"


def recorded(name: str) -> list[dict[str, str]]:
    """The rows of a recorded schedule."""
    lines = (Path(__file__).parent / f"schedules_{name}.csv").read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def starts(folder: Path, jobs: str, policy: str) -> dict[str, float]:
    """Starts in seconds of the list `jobs` on the machine of the example."""
    (folder / "jobs.csv").write_text(jobs)
    text = f'scenario = "{EXAMPLES / "cluster.toml"}"\njobs = "jobs.csv"\ncontention = false\n'
    (folder / "queue.toml").write_text(f'{text}queue.policy = "{policy}"\n')
    odonata.batch(folder / "queue.toml", out=folder / "out")
    rows = pq.read_table(folder / "out/batch_jobs.parquet").to_pylist()
    return {row["job"]: row["start_s"] for row in rows}


def test_fcfs_starts_jobs_when_accasim_does(tmp_path):
    lines = csv.DictReader((EXAMPLES / "day.csv").open())
    jobs = "".join(f"{row['job']},{row['submit']},{row['nodes']},{row['run']},none\n" for row in lines)
    found = starts(tmp_path, f"job,submit,nodes,run,profile\n{jobs}", "fcfs")
    assert found == {row["job"]: float(row["start"]) for row in recorded("accasim")}


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_backfill_starts_jobs_when_cqsim_does(tmp_path, policy):
    jobs = ["job,submit,nodes,run,limit,profile"]
    submitted: set[int] = set()
    for count, row in enumerate(csv.DictReader((EXAMPLES / "day.csv").open()), start=1):
        submit = int(row["submit"])
        while submit in submitted:
            submit += 1
        submitted.add(submit)
        run = f"{int(row['run']) + count / 1000:.3f}"
        jobs.append(f"{row['job']},{submit},{row['nodes']},{run},{run},none")
    found = starts(tmp_path, "\n".join(jobs) + "\n", policy)
    expected = {row["job"]: float(row[policy]) for row in recorded("cqsim")}
    assert found.keys() == expected.keys()
    for job, start in expected.items():
        assert found[job] == pytest.approx(start, abs=0.01), job
