"""Algorithm and bus bandwidth of NCCL's collectives, against closed forms of the LogGP model."""

from fractions import Fraction

import analytic_machines
import pytest

import odonata

#: Of a message in the network, of a step and of a call in ps; per byte of a message and of a reduction, in
#: ps.
LATENCY, STEP, LAUNCH, PER_BYTE, REDUCTION = 1_000_000, 300_000, 2_000_000, 250, 500
#: Overhead of a rank to send and to receive a message, in ps.
SEND, RECEIVE = 100_000, 150_000
RANKS, BYTES = 8, 8 * 4096
#: Bus bandwidth over algorithm bandwidth (doc/PERFORMANCE.md of nccl-tests).
FACTORS = {
    "all-reduce": Fraction(2 * (RANKS - 1), RANKS),
    "all-gather": Fraction(RANKS - 1, RANKS),
    "reduce-scatter": Fraction(RANKS - 1, RANKS),
    "broadcast": 1,
}


def nccl(collective, **keys):
    return {
        "nccl": {
            "collective": collective,
            "bytes": f"{BYTES} B",
            "channels": 1,
            "chunk": "1 TiB",
            "gpus_per_host": 4,
            "launch": f"{LAUNCH} ps",
            "step_latency": f"{STEP} ps",
            "reduction": f"{REDUCTION} ps/B",
        }
        | keys
    }


def scenario(workload, **job):
    return analytic_machines.with_job(
        {"name": "gpus", "ranks": RANKS, "workload": workload} | job,
        latency=f"{LATENCY} ps",
        per_byte=f"{PER_BYTE} ps/B",
        send=f"{SEND} ps",
        receive=f"{RECEIVE} ps",
    )


def run(workload, **job):
    return odonata.run(scenario(workload, **job))


def ring_ps(collective):
    """The closed form of docs/training.md, around a ring with one chunk."""
    block = BYTES // RANKS
    step = SEND + LATENCY + RECEIVE + (block - 1) * PER_BYTE + STEP
    around = RANKS - 1
    return (
        LAUNCH
        + around
        * {
            "all-reduce": 2 * step + REDUCTION * block,
            "all-gather": step,
            "reduce-scatter": step + REDUCTION * block,
        }[collective]
    )


@pytest.mark.parametrize("collective", ["all-reduce", "all-gather", "reduce-scatter"])
def test_bandwidths_are_those_of_nccl_tests(collective):
    results = run(nccl(collective, iterations=3, compute="1 ms"), start="5 ms")
    (row,) = results.summary()["nccl"]
    # The computation before a call is not part of it, nor is the time before the job.
    seconds = ring_ps(collective) / 1e12
    assert row["time_mean_s"] == pytest.approx(seconds, rel=1e-9)
    assert row["time_max_s"] == pytest.approx(seconds, rel=1e-9)
    assert row["algorithm_bandwidth_bytes_per_s"] == pytest.approx(BYTES / seconds, rel=1e-9)
    assert row["bus_bandwidth_bytes_per_s"] == pytest.approx(
        float(FACTORS[collective]) * BYTES / seconds, rel=1e-9
    )
    assert (row["job"], row["collective"], row["bytes"]) == ("gpus", collective, BYTES)
    assert (row["ranks"], row["calls"], row["test"]) == (RANKS, 3, 0)


def test_the_bus_bandwidth_of_a_broadcast_is_its_algorithm_bandwidth():
    results = run(nccl("broadcast"))
    (row,) = results.summary()["nccl"]
    (iteration,) = results.rows("iterations")
    assert row["time_mean_s"] == pytest.approx(iteration["mean_s"])
    assert row["bus_bandwidth_bytes_per_s"] == row["algorithm_bandwidth_bytes_per_s"]
    assert row["algorithm_bandwidth_bytes_per_s"] == pytest.approx(BYTES / iteration["mean_s"])


def test_each_collective_of_a_list_has_its_own_calls():
    phases = [nccl("all-gather", iterations=2), nccl("all-reduce", compute="1 ms")]
    first, second = run(phases, repeat=2).summary()["nccl"]
    assert [(row["test"], row["collective"], row["calls"]) for row in (first, second)] == [
        (0, "all-gather", 4),
        (1, "all-reduce", 2),
    ]
    for row in (first, second):
        assert row["time_max_s"] == pytest.approx(ring_ps(row["collective"]) / 1e12, rel=1e-9)


def test_jobs_of_other_workloads_have_no_row():
    assert run([nccl("all-gather"), {"barrier": {}}]).summary()["nccl"] == []
    assert run({"barrier": {}}).summary()["nccl"] == []


def test_people_see_them_in_gigabytes_per_second(shell, tmp_path):
    odonata.run(scenario(nccl("all-reduce")), out=tmp_path / "out")
    seconds = ring_ps("all-reduce") / 1e12
    rates = [f"{BYTES / seconds / 1e9:.2f}", f"{1.75 * BYTES / seconds / 1e9:.2f}"]
    page = shell("summary", str(tmp_path / "out")).out
    assert "algbw(GB/s)" in page
    (row,) = (line.split() for line in page.splitlines() if "all-reduce" in line and "32 KiB" in line)
    assert row[-2:] == rates
    html = odonata.load(tmp_path / "out").report()
    assert f">{rates[1]}<" in html


def test_rings_of_mpi_with_the_latency_of_a_step_take_as_long_as_those_of_nccl():
    """The times that docs/training.md states for an all-reduce of 1 MiB in a host of eight GPUs."""

    def microseconds(workload, **mpi):
        machine = {"pods": 1, "hosts_per_pod": 4, "spines": 4}
        job = {"name": "gpus", "ranks": 8, "workload": workload}
        results = odonata.run(
            {
                "preset": "dgx-h100-superpod-like",
                "machine": {"rail-optimized": machine},
                "mpi": mpi,
                "jobs": [job],
            }
        )
        return 1e6 * results.table("jobs")["elapsed_s"][0].as_py()

    ring = {"allreduce": {"bytes": "1 MiB", "iterations": 1, "algorithm": "ring"}}
    nccl_ring = microseconds({"nccl": {"bytes": "1 MiB", "channels": 8}})
    assert nccl_ring == pytest.approx(108, rel=0.01)
    assert microseconds(ring) == pytest.approx(18.9, rel=0.01)
    # But for the fixed time of a call of 8.4 us.
    assert microseconds(ring, send_delay="6 us") == pytest.approx(nccl_ring - 8.4, rel=0.02)
