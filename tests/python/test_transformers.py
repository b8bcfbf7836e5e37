"""Training and inference of transformers: shares of a GPU's time, latencies of requests."""

import analytic_machines
import pytest

import odonata

#: Latency of a message in s; its overheads and its bytes take no time.
LATENCY = 1e-6


def scenario(ranks, workload):
    job = {"name": "model", "ranks": ranks, "workload": workload}
    return analytic_machines.with_job(job, latency="1 us", per_byte="0 ps/B", send="0 ns", receive="0 ns")


TRAINING = {
    "training": {
        "layers": 8,
        "hidden": 256,
        "heads": 2,
        "sequence": 128,
        "vocabulary": 1000,
        "micro_batches": 4,
        "flops": 1e12,
        "peak_flops": 2e12,
    }
}
INFERENCE = {
    "inference": {
        "model": "llama-3-8b",
        "layers": 2,
        "requests": 4,
        "batch": 2,
        "prompt": 100,
        "output": 5,
        "prefill": 2,
    }
}


def test_shares_of_a_training_job_are_its_closed_form():
    (row,) = odonata.run(scenario(8, TRAINING)).summary()["efficiency"]
    # Forward operations of a micro-batch: 24 s h^2 + 4 s^2 h in a layer, 2 s h V in the output.
    layer = 24 * 128 * 256**2 + 4 * 128**2 * 256
    operations = 3 * 4 * (8 * layer + 2 * 128 * 256 * 1000)
    # Seven ranks further twice: 2 (p - 1) messages around the ring.
    iteration = operations / 1e12 + 14 * LATENCY
    assert row["iteration_s"] == pytest.approx(iteration, rel=1e-6)
    assert row["compute_share"] == pytest.approx(operations / 1e12 / iteration, rel=1e-6)
    assert row["exposed_data_share"] == pytest.approx(14 * LATENCY / iteration, rel=1e-6)
    assert row["exposed_tensor_share"] == row["bubble_share"] == row["bubble_ideal"] == 0
    assert row["tokens_per_s"] == pytest.approx(8 * 4 * 128 / iteration, rel=1e-6)
    assert row["mfu"] == pytest.approx(operations / 2e12 / iteration, rel=1e-6)


def test_latencies_of_an_inference_job_are_quantiles_of_its_requests():
    results = odonata.run(scenario(3, INFERENCE))
    requests = results.rows("inference")
    (row,) = results.summary()["inference"]
    # Two prompts at a time.
    first = sorted(request["time_to_first_token_s"] for request in requests)
    assert first[2] == pytest.approx(2 * first[0], rel=1e-3)
    assert row["requests"] == 4
    assert row["time_to_first_token_p50_s"] == pytest.approx((first[1] + first[2]) / 2)
    assert row["time_to_first_token_p99_s"] == pytest.approx(first[3], rel=1e-2)
    end = max(request["end_s"] for request in requests)
    assert row["tokens_per_s"] == pytest.approx(4 * 5 / end)


@pytest.mark.parametrize(
    ("workload", "ranks", "heading"),
    [(TRAINING, 8, "shares of a GPU's time"), (INFERENCE, 3, "latencies and throughput")],
)
def test_people_see_them(shell, tmp_path, workload, ranks, heading):
    results = odonata.run(scenario(ranks, workload), out=tmp_path / "out")
    page = shell("summary", str(tmp_path / "out")).out
    assert heading in page
    rows = results.summary()["efficiency"] or results.summary()["inference"]
    assert f"{rows[0]['tokens_per_s']:,.0f}" in page
    assert f">{rows[0]['tokens_per_s']:,.0f}<" in odonata.load(tmp_path / "out").report()


def test_a_model_that_is_not_known_is_an_error_with_the_nearest(shell):
    machine = "[machine.fat-tree]\ndown = [4, 4]\nup = [1, 2]\n"
    text = f'{machine}[[jobs]]\nranks = 8\nworkload.training.model = "llama-3-7b"\n'
    shell.write(text, "model.toml")
    run = shell("check", "model.toml")
    assert run.code == 2
    assert "jobs.0.workload.training.model" in run.err
    assert "llama-3-8b" in run.err
