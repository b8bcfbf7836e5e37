"""The counts and the memory of `odonata check` beside those of the run, for twelve different scenarios."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benches"))
import estimates

#: Shorter runs than those of the bench, of a few seconds in all.
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
def test_messages_and_memory_are_those_of_check_within_a_half(name, tmp_path):
    """expected / found is between 1 / 1.5 and 1.5. Nothing is asserted about the speed of the computer."""
    settings = ["run.scheduler=sequential", SHORTER[name]]
    found = estimates.measure(estimates.SCENARIOS / f"{name}.toml", tmp_path, tmp_path / "cache", settings)
    for what in ("messages", "packet_hops", "memory"):
        assert estimates.factor(found[what]) < estimates.PROMISED, (what, found[what])
    least, most = found["range"]
    assert 0 < least <= most
