"""The examples teach what they say they teach."""

import pytest
from conftest import ROOT

import odonata

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def run(name, **overrides):
    settings = {key.replace("__", "."): value for key, value in overrides.items()}
    return odonata.run(ROOT / "examples" / f"{name}.toml", overrides=settings)


def job(results, name):
    return next(row for row in results.rows("jobs") if row["job"] == name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_pass_the_check_and_are_small(path):
    report = odonata.check(path)
    assert report["routing"]["deadlock_free"]
    assert report["cost"]["packet_hops"] < 15e6


def test_uniform_latency_is_flat_and_then_queueing():
    low, high = (job(run("uniform", jobs__0__workload__uniform__load=load), "traffic") for load in (0.1, 0.3))
    assert low["message_latency_p50_s"] < 3e-6
    assert high["message_latency_p50_s"] > 20 * low["message_latency_p50_s"]


def test_the_worst_case_fills_one_cable_per_group_unless_routing_adapts():
    minimal, adaptive = (
        run("worst-case", network__routing__algorithm=name) for name in ("minimal", "progressive-adaptive")
    )
    # 8 nodes send 2,000 packets of 4 KiB over one cable of 4.7 GiB/s.
    bound = 8 * 2_000 * 4096 / (4.7 * 2**30)
    assert minimal.run["simulated_s"] == pytest.approx(bound, rel=0.01)
    assert adaptive.run["simulated_s"] < 0.6 * bound
    used = [
        sum(link["packets"] > 0 for link in results.rows("links") if link["class"] == "global")
        for results in (minimal, adaptive)
    ]
    assert used == [9, 72]


def test_a_burst_buffer_hides_the_file_system_until_it_is_full():
    roomy, tight = (run("storage", storage__device__capacity=size) for size in ("100 GB", "2 GB"))
    assert sum(server["wait_space_s"] for server in roomy.rows("servers")) == 0.0
    assert sum(server["wait_space_s"] for server in tight.rows("servers")) > 1.0
    assert job(tight, "solver")["elapsed_s"] > 1.5 * job(roomy, "solver")["elapsed_s"]
    # The file system takes 1 GB/s from each server, in both cases all that was written.
    assert [server["bytes_drained"] for server in tight.rows("servers")] == [6_000_000_000] * 2


@pytest.mark.slow
def test_jobs_of_the_demonstration_disturb_each_other():
    together = run("interference")
    apart = run("interference", jobs__1__start="1 s", jobs__2__start="2 s")
    slower = {
        name: job(together, name)["elapsed_s"] / job(apart, name)["elapsed_s"]
        for name in ("stencil", "training", "checkpoint")
    }
    assert slower["training"] > 1.25
    assert slower["stencil"] > 1.1
    assert slower["checkpoint"] > 1.03
    assert job(together, "training")["io_s"] > 2 * job(apart, "training")["io_s"]
