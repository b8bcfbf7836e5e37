"""Estimates of `odonata check`, compared with the runs: ten different scenarios and more."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))
import estimates

#: Shorter than the bench's own: all take some seconds. None of them tests the speed.
SHORTER = {
    "stencil": "jobs.stencil.workload.stencil.iterations=20",
    "allreduce": "jobs.training.workload.allreduce.iterations=2",
    "alltoall": "jobs.transpose.workload.alltoall.iterations=4",
    "small-messages": "jobs.solver.workload.allreduce.iterations=1000",
    "uniform": "jobs.traffic.workload.uniform.messages=5000",
    "adversarial": "jobs.traffic.workload.next-group.messages=4000",
    "pipelined": "jobs.traffic.workload.uniform.messages=3000",
    "checkpoint": "jobs.solver.workload.checkpoint.iterations=1",
    "ior": "jobs.ior.workload.ior=-w -r -t 256k -b 256k -s 128",
    "metadata": "jobs.mdtest.workload.mdtest=-n 1000 -F -C -T -r",
    "mixed": "jobs.halo.workload.stencil.iterations=5",
    "large": "jobs.traffic.workload.uniform.messages=10",
}


def test_every_scenario_of_the_bench_is_held():
    assert {one.stem for one in estimates.SCENARIOS.glob("*.toml")} == set(SHORTER)
    assert len(SHORTER) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORTER)
def test_events_and_memory_are_those_of_check_within_a_half(name, tmp_path):
    """expected / found is between 1 / 1.5 and 1.5. The time depends on the load of the computer."""
    settings = ["--set", "run.scheduler=sequential", "--set", SHORTER[name]]
    found = estimates.measure(estimates.SCENARIOS / f"{name}.toml", tmp_path, tmp_path / "cache", settings)
    for what in ("events", "memory"):
        ratio = estimates.ratio(found[what])
        assert 1 / estimates.PROMISED < ratio < estimates.PROMISED, (what, found[what])
    assert found["time"][0] > 0
