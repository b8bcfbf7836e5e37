"""IOR, mdtest, checkpoint and restart, training: their summaries, and wrong command lines."""

import pytest

import odonata

MACHINE = {
    "dragonfly": {"groups": 1, "routers_per_group": 4, "nodes_per_router": 4, "global_ports_per_router": 0}
}
STORAGE = {
    "nodes": {"per_group": 1},
    "device": {"rate": {"write": "100 MB/s", "read": "200 MB/s", "overhead": "0 s"}},
}


def run(workload, ranks=2, **keys):
    return odonata.run(
        {
            "machine": MACHINE,
            "storage": STORAGE,
            "jobs": [{"name": "a", "ranks": ranks, "workload": workload}],
        }
        | keys
    )


def test_ior_is_summed_up_as_ior_does():
    results = run({"ior": "-w -r -t 128k -b 1m -i 3"})
    write, read = results.summary()["ior"]
    assert [write["access"], read["access"]] == ["write", "read"]
    rows = results.rows("ior")
    assert [row["access"] for row in rows] == ["write", "read", "remove"] * 3
    for access in (write, read):
        rates = [row["bandwidth_bytes_per_s"] for row in access["repetitions"]]
        assert len(rates) == 3
        mean = sum(rates) / 3
        assert access["bandwidth_max_bytes_per_s"] == max(rates)
        assert access["bandwidth_mean_bytes_per_s"] == pytest.approx(mean)
        # Like IOR: population standard deviation of the repetitions.
        deviation = (sum((rate - mean) ** 2 for rate in rates) / 3) ** 0.5
        assert access["bandwidth_deviation_bytes_per_s"] == pytest.approx(deviation)
    assert write["bandwidth_mean_bytes_per_s"] == pytest.approx(100e6, rel=0.05)
    assert read["bandwidth_mean_bytes_per_s"] == pytest.approx(200e6, rel=0.05)


def test_mdtest_is_summed_up_as_mdtest_does():
    storage = STORAGE | {"metadata": {"nodes": {"list": [15]}, "threads": 1}}
    results = run({"mdtest": "-n 10 -F -i 2"}, storage=storage)
    rows = results.rows("mdtest")
    phases = results.summary()["mdtest"]
    assert [phase["phase"] for phase in phases] == list(dict.fromkeys(row["phase"] for row in rows))
    creation = next(phase for phase in phases if phase["phase"] == "file creation")
    first, second = (row["rate_per_s"] for row in rows if row["phase"] == "file creation")
    assert (creation["items"], creation["iterations"]) == (2 * 10, 2)
    assert creation["rate_mean_per_s"] == pytest.approx((first + second) / 2)
    # Like mdtest: population standard deviation of the iterations.
    assert creation["rate_deviation_per_s"] == pytest.approx(abs(first - second) / 2)


SCENARIO = """
[machine.dragonfly]
groups = 1
routers_per_group = 4
nodes_per_router = 4
global_ports_per_router = 0
[storage]
nodes = { per_group = 1 }
[[jobs]]
name = "a"
ranks = 2
workload = { ior = "LINE" }
"""


def test_the_summary_has_iors_table_and_names_flags_without_effect(shell):
    shell.write(SCENARIO.replace("LINE", "-w -t 64k -b 128k -v"), "ior.toml")
    run = shell("run", "ior.toml", "-o", "out")
    assert run.code == 0
    assert "-v (verbose: it concerns IOR's output only)" in run.err
    assert "bw(MiB/s)" in run.out
    (write,) = shell("summary", "out", "--json").json["ior"]
    assert write["transfer_bytes"] == 65536
    assert write["repetitions"][0]["bytes"] == 2 * 128 * 1024


def test_a_flag_that_ior_does_not_have_is_an_error_with_the_nearest(shell):
    shell.write(SCENARIO.replace("LINE", "-w --segments=4"), "ior.toml")
    run = shell("run", "ior.toml")
    assert run.code == 2
    assert "jobs.0.workload.ior" in run.err
    assert "did you mean -s (segmentCount)?" in run.err


def test_training_and_restarts_are_summed_up():
    loader = {"files": 4, "samples_per_file": 8, "sample": "1 MB", "batch": 2, "compute": "5 ms"}
    results = run({"data-loader": loader | {"gradient": "0 B", "readers": 1}}, ranks=1)
    (training,) = results.summary()["training"]
    assert training["steps"] == 16
    # 2 MB at 200 MB/s take 10 ms, twice as long as the computation.
    assert training["step_mean_s"] == pytest.approx(0.010, rel=0.1)
    assert training["stall_share"] == pytest.approx(0.5, abs=0.1)
    solver = {"work": "2 s", "mtti": "500 ms", "total": "1 MB", "record": "50 kB", "restart": "10 ms"}
    (restart,) = run({"checkpoint-restart": solver}).summary()["checkpoint_restart"]
    assert restart["solved"]
    assert restart["failures"] > 0
    assert restart["checkpoint_mean_s"] == pytest.approx(0.010, rel=0.1)
    assert restart["time_to_solution_s"] > 2 + restart["lost_work_s"]
