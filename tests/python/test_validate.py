"""`odonata validate` repeats measured collectives on the presets of their machines."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics

import pytest

import odonata
from odonata.base.json_types import check
from odonata.machines import hosts, measured, validation
from odonata.scenario import agreement
from odonata.tool_answers import Validation


@pytest.mark.parametrize("machine", measured.MACHINES)
def test_every_point_has_an_allocation_and_most_have_an_algorithm(machine):
    points = measured.points(machine)
    assert points
    for point in points:
        nodes, _ = measured.placed(machine, point.allocation, point.ranks)
        assert len(set(nodes)) == point.ranks
    known = [point for point in points if measured.workload(point) is not None]
    assert len(known) > 0.8 * len(points)


@pytest.mark.parametrize("machine", measured.MACHINES)
def test_points_to_fit_are_few_and_of_one_run(machine):
    fitted = [point for point in measured.points(machine) if point.split == "fitted"]
    assert 0 < len(fitted) < len(measured.points(machine)) / 4
    assert len({point.run for point in fitted}) == 1
    assert max(point.bytes for point in fitted) <= 8 << 20


def test_ranks_of_a_torus_are_at_their_coordinates():
    # 2 x 2 x 2: y is the fastest dimension of the ranks, x that of the machine.
    nodes, keys = measured.placed("fugaku", "2025_03_26___19_49_06", 8)
    assert keys == {"machine.torus.dims": [2, 2, 2]}
    assert nodes[:3] == [0, 2, 4]


def test_the_blocks_of_a_gather_are_those_that_a_rank_contributes():
    point = next(p for p in measured.points("lumi") if p.collective == "allgather" and p.bytes == 2048)
    workload = measured.workload(point)
    assert workload is not None
    assert workload["allgather"]["bytes"] == f"{2048 // point.ranks} B"


def test_agreement_is_counted_by_collective_and_size():
    answer = odonata.validate("fugaku", largest=256, most_ranks=8)
    ratios = [point["ratio"] for point in answer["points"] if not point["fitted"]]
    every = next(g for g in answer["groups"] if not g["fitted"] and g["collective"] == g["size"] == "all")
    assert every["points"] == len(ratios)
    assert every["median_ratio"] == statistics.median(ratios)
    assert every["mean_factor"] == pytest.approx(
        math.exp(sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios))
    )
    assert every["within_20_percent"] == sum(abs(ratio - 1) <= 0.2 for ratio in ratios) / len(ratios)
    for point in answer["points"]:
        assert point["ratio"] == point["simulated_s"] / point["measured_s"]


@pytest.mark.parametrize("machine", measured.MACHINES)
def test_measured_percentiles_are_in_order_and_noise_is_of_the_table_mpi(machine):
    assert all(p.p10_s <= p.median_s <= p.p90_s for p in measured.points(machine))
    assert set(measured.noise(machine)) == {"mpi.call_jitter", "mpi.noise", "mpi.send_delay"}


def test_a_delay_of_each_call_spreads_a_message_by_its_percentiles():
    """A broadcast between two ranks has a uniform delay at its root: p90 - p10 is 0.8 of the range."""
    point = next(p for p in measured.points("fugaku") if p.collective == "allreduce" and p.bytes == 4)
    jitter = {"mpi.call_jitter": {"min": "0 ns", "max": "100 ns"}}
    one = dataclasses.replace(point, ranks=2, collective="bcast", algorithm="binomial_over", bytes=1024)
    alone = validation.simulate(one, "fugaku", {})
    times = validation.repeated(one, "fugaku", {**jitter, "mpi.eager_threshold": "none"}, 400)
    assert alone is not None
    assert times is not None
    low, median, high = validation.percentiles(times)
    # The standard error of a decile of 400 uniform samples is 1.5% of the range, of the median 2.5%.
    assert [low - alone, median - alone, high - alone] == pytest.approx([10e-9, 50e-9, 90e-9], abs=8e-9)


def test_with_noise_percentiles_are_compared():
    answer = odonata.validate("fugaku", largest=32, most_ranks=8, noise=True)
    check(answer, Validation)
    assert answer == odonata.validate("fugaku", largest=32, most_ranks=8, noise=True)
    for point in answer["points"]:
        assert point["simulated_p90_s"] > point["simulated_s"]
        assert point["p90_ratio"] == point["simulated_p90_s"] / point["measured_p90_s"]
    for group in answer["groups"]:
        assert 0.8 < group["p90_ratio"] / group["median_ratio"] < 1.2
    silent = odonata.validate("fugaku", largest=32, most_ranks=8)
    assert {one["p90_ratio"] for one in (*silent["points"], *silent["groups"])} == {None}


def test_the_table_names_fitted_and_given_points(shell):
    done = shell("validate", "fugaku", "--largest", "32 B", "--points")
    assert done.code == 0, done.err
    assert "fitted" in done.out
    assert "given, not fitted" in done.out
    assert "2025_03_26___19_49_06" in done.out
    assert "p90" not in done.out
    assert "p90 ratio" in shell("validate", "fugaku", "--largest", "32 B", "--most-ranks", "8", "--noise").out
    answer = json.loads(shell("validate", "fugaku", "--largest", "32 B", "--json").out)
    assert answer["preset"] == "fugaku"
    assert answer["not_repeated"] == ["allgather default-linear"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["theta"], "there are no measured times"), (["fugaku", "--largest", "much"], "not a size")],
)
def test_mistakes_are_named(shell, arguments, message):
    done = shell("validate", *arguments)
    assert done.code == 2
    assert message in done.err


def test_hosts_have_nodes():
    with pytest.raises(odonata.InputError, match="there is no host"):
        hosts.node("lumi", "lrdn0001")
    pairs = validation.PAIRS["lumi"]
    routers = {where: [hosts.node("lumi", host) // 16 for host in pair] for where, pair in pairs.items()}
    assert len(set(routers["same switch"])) == 1
    assert len({router // 32 for router in routers["same group"]}) == 1
    assert len({router // 32 for router in routers["other group"]}) == 2


def test_small_messages_are_near_what_was_measured():
    answer = odonata.validate("fugaku", largest=2048, most_ranks=8)
    every = next(g for g in answer["groups"] if not g["fitted"] and g["collective"] == g["size"] == "all")
    assert every["mean_factor"] < 1.3


def test_a_machine_with_the_costs_of_another_says_that_nothing_was_compared(shell):
    assert set(agreement.NOT_COMPARED) < {one["name"] for one in odonata.presets()}
    assert "no measured time was compared" in " ".join(shell("presets", "aurora").out.split())
    sentence = agreement.sentence("alps")
    assert sentence is not None
    assert "ping-pongs" in sentence
    # Neither have the networks without software costs, nor the measured machines.
    for name in ("theta", "lumi", "mfnetsim"):
        assert name not in agreement.NOT_COMPARED


def test_pairs_of_alps_are_at_their_distances():
    routers = {
        where: [hosts.node("alps", host) // 14 for host in pair]
        for where, pair in validation.PAIRS["alps"].items()
    }
    assert [len(set(found)) for found in routers.values()] == [1, 2, 2]
    assert [len({router // 32 for router in found}) for found in routers.values()] == [1, 1, 2]


@pytest.mark.parametrize("preset", ["cori", "theta-full"])
def test_eight_bytes_take_the_published_time_between_nodes_of_an_xc_blade(preset):
    job = {
        "name": "pair",
        "ranks": 2,
        "placement": {"hosts": ["c0-0c0s0n0", "c0-0c0s0n1"]},
        "workload": {"ping-pong": {"bytes": ["8 B"], "iterations": 3}},
    }
    results = odonata.run({"preset": preset, "jobs": [job]})
    ends = [row["last_s"] for row in results.rows("iterations")]
    # 1.3 us: Cray, XC series network, WP-Aries01-1112.
    assert (ends[-1] - ends[0]) / 4 == pytest.approx(1.3e-6, rel=0.01)


def test_a_preset_says_how_far_off_it_is(shell):
    sentence = agreement.sentence("fugaku")
    assert sentence is not None
    assert "odonata validate fugaku" in sentence
    assert "measured collectives" in shell("presets", "fugaku").out
    job = {"ranks": 2, "workload": {"barrier": {}}}
    summary = odonata.run({"preset": "fugaku", "jobs": [job]}).summary()
    assert summary["preset_agreement"] == sentence
