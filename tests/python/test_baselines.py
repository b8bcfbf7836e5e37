"""Every job alone beside the run: the same nodes, processes of their own, nothing half-written."""

import json
import math
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import launcher
import pyarrow.parquet as pq
import pytest
from conftest import ENDLESS, ODONATA, ROOT, SMALL
from waiting import await_that, await_work

import odonata
from odonata.analysis.slowdown import METRICS
from odonata.running import baselines, runner

JOBS = ["halo", "training", "saver"]

#: A job that ends at once beside one that takes minutes.
SLOW_BASELINE = ENDLESS.replace("ranks = 40", "ranks = 20") + (
    '\n[[jobs]]\nname = "quick"\nranks = 4\nworkload = { stencil = { dims = [4], iterations = 1 } }\n'
)


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baselines")
    (folder / "scenario.toml").write_text(SMALL, encoding="utf-8")
    command = [*ODONATA, "run", "scenario.toml", "-o", "out", "--baselines"]
    done = launcher.run(command, cwd=folder, env=os.environ | {"COLUMNS": "110"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "Alone and together" in done.stdout
    return odonata.load(folder / "out")


def test_the_run_itself_is_the_same_with_and_without_baselines(together, small):
    assert together.run["digest"] == odonata.load(small).run["digest"]
    assert together.run["scenario"]["run"]["baselines"] is True


def test_every_baseline_is_a_whole_result_of_one_job(together):
    assert list(together.run["baselines"]) == list(together.baselines) == JOBS
    for job, ending in together.run["baselines"].items():
        alone = together.baselines[job]
        assert ending["outcome"] == alone.outcome == "completed"
        assert ending["digest"] == alone.run["digest"]
        assert ending["wall_s"] > 0
        assert alone.path == together.path / "baselines" / job
        assert [row["job"] for row in alone.rows("jobs")] == [job]
        assert set(together.tables) == {*alone.tables, "slowdown"}


def test_a_job_alone_has_the_nodes_servers_and_work_that_it_has_beside_the_others(together):
    for job, alone in together.baselines.items():
        places = [
            [(r["rank"], r["node"], r["server"]) for r in results.rows("ranks") if r["job"] == job]
            for results in (alone, together)
        ]
        assert places[0] == places[1]
        work = [
            next((r["bytes_sent"], r["bytes_written"], r["bytes_read"]) for r in rows if r["job"] == job)
            for rows in (alone.rows("jobs"), together.rows("jobs"))
        ]
        assert work[0] == work[1]


def test_a_baseline_is_what_its_own_resolved_placement_gives(together):
    """The scenario in a baseline's run.json has its nodes: run alone with them, it gives the same digest."""
    alone = together.baselines["halo"].run
    nodes = alone["scenario"]["jobs"][0]["placement"]["nodes"]
    # A single job measures no blame by default; a baseline measures the same as the run.
    scenario = tomllib.loads(SMALL) | {"run": {"blame": True}}
    scenario["jobs"] = [scenario["jobs"][0] | {"placement": {"nodes": nodes}}]
    assert odonata.run(scenario).run["digest"] == alone["digest"]


def test_the_slowdowns_are_the_two_runs_held_against_each_other(together):
    rows = {row["job"]: row for row in together.rows("slowdown")}
    beside = {row["job"]: row for row in together.rows("jobs")}
    for job in JOBS:
        alone = together.baselines[job].rows("jobs")[0]
        for column in ("elapsed", "mpi", "non_compute", "message_latency_p99", "mpi_packet_latency_mean"):
            one, other = alone[f"{column}_s"], beside[job][f"{column}_s"]
            assert rows[job][f"{column}_alone_s"] == one
            assert rows[job][f"{column}_together_s"] == other
            assert rows[job][f"{column}_ratio"] == other / one
        assert rows[job]["elapsed_ratio"] > 0.99
    # A job without I/O has no I/O slowdown.
    assert math.isnan(rows["halo"]["io_bandwidth_ratio"])
    assert math.isnan(rows["halo"]["io_message_latency_p50_alone_s"])
    assert rows["saver"]["io_bandwidth_ratio"] > 0
    metrics = together.slowdown()
    assert set(metrics["saver"]) == {metric.name for metric in METRICS}
    assert "io_bandwidth" not in metrics["halo"]
    assert metrics["saver"]["elapsed"].ratio == rows["saver"]["elapsed_ratio"]


def test_the_latency_of_io_messages_is_that_of_the_table_messages(together):
    found = [
        row["latency_low_s"]
        for row in together.rows("messages")
        if (row["job"], row["class"]) == ("saver", "io")
    ]
    latency = together.slowdown()["saver"]
    assert latency["io_message_latency_max"].together == max(found)
    assert latency["io_message_latency_mean"].together == pytest.approx(sum(found) / len(found))
    assert latency["io_message_latency_p50"].together == sorted(found)[(len(found) + 1) // 2 - 1]


@pytest.fixture(scope="module")
def held():
    """The same run in memory with one process, and its progress reports."""
    seen = []
    scenario = tomllib.loads(SMALL)
    return odonata.run(scenario, baselines=True, processes=1, progress=seen.append), seen


def test_processes_change_nothing_and_memory_holds_what_a_folder_holds(together, held):
    held, _ = held
    assert held.path is None
    # As text, since NaN differs from itself.
    assert str(held.rows("slowdown")) == str(together.rows("slowdown"))
    for job in JOBS:
        assert held.baselines[job].run["digest"] == together.baselines[job].run["digest"]
        assert held.baselines[job].table("ranks").equals(together.baselines[job].table("ranks"))


def test_the_scenario_or_the_call_asks_for_baselines():
    asking = tomllib.loads(SMALL) | {"run": {"baselines": True}}
    assert list(odonata.run(asking).baselines) == JOBS
    assert odonata.run(asking, baselines=False).baselines == {}
    with pytest.raises(KeyError, match=r"run\.baselines = true"):
        odonata.run(tomllib.loads(SMALL)).slowdown()


def test_a_single_job_is_its_own_baseline(shell):
    shell.write(SMALL.partition('[[jobs]]\nname = "training"')[0])
    done = shell("run", "scenario.toml", "-o", "out", "--baselines")
    assert (done.code, done.err) == (0, "")
    assert "A single job is its own baseline." in done.out
    assert sorted(path.name for path in (shell.folder / "out").iterdir() if path.is_dir()) == []
    assert json.loads((shell.folder / "out/run.json").read_text())["baselines"] == {}


def test_names_of_jobs_that_are_no_names_of_folders(shell):
    text = SMALL.replace('name = "halo"', 'name = "../../halo"').replace('"training"', '"Saver"')
    shell.write(text)
    assert shell("run", "scenario.toml", "-o", "out", "--baselines", "-q").code == 0
    results = odonata.load(shell.folder / "out")
    assert list(results.baselines) == ["../../halo", "Saver", "saver"]
    for job, alone in results.baselines.items():
        assert alone.path.parent == shell.folder / "out/baselines"
        assert alone.rows("jobs")[0]["job"] == job
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]


def test_a_baseline_that_fails_is_named_and_the_rest_is_kept(shell):
    """The devices are too small for the checkpoint, beside the others and alone."""
    shell.write(SMALL.replace('capacity = "1 GB"', 'capacity = "5 MB"'))
    done = shell("run", "scenario.toml", "-o", "out", "--baselines")
    assert done.code == 3
    assert "saver, alone: storage-full" in done.err
    results = odonata.load(shell.folder / "out")
    assert results.run["baselines"]["halo"]["outcome"] == "completed"
    assert results.baselines["saver"].outcome == "storage-full"
    # An unfinished job has no ratio.
    assert math.isnan(results.slowdown()["saver"]["elapsed"].ratio)
    assert results.slowdown()["halo"]["elapsed"].ratio > 0.99


#: A job after another, traffic until it has ended, and an array of two.
RULES = (
    SMALL.partition("[[jobs]]")[0]
    + """\
[[jobs]]
name = "halo"
ranks = 16
placement = "random"
workload = { stencil = { dims = [4, 4], message = "16 KiB", iterations = 5, compute = "10 us" } }

[[jobs]]
name = "late"
ranks = 4
start = "20 us"
start_after = "halo"
workload = { checkpoint = { iterations = 1, total = "8 MB", interval = "30 us" } }

[[jobs]]
name = "noise"
ranks = 8
start = "5 us"
until = "late"
placement = "random"
workload = { uniform = { bytes = "2 KiB", mean_interval = "4 us" } }

[[jobs]]
name = "pair"
count = 2
stagger = "50 us"
ranks = 3
workload = { stencil = { dims = [3], message = "4 KiB", iterations = 3 } }
"""
)
RULED = ["halo", "late", "noise", "pair-0", "pair-1"]


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    return odonata.run(tomllib.loads(RULES), tmp_path_factory.mktemp("rules") / "out", baselines=True)


def test_a_job_that_waits_for_others_starts_alone_at_its_delay(ruled):
    assert ruled.failed_baselines == {}
    assert list(ruled.baselines) == RULED
    together = {row["job"]: row for row in ruled.rows("jobs")}
    alone = {job: results.rows("jobs")[0] for job, results in ruled.baselines.items()}
    assert together["late"]["start_s"] > together["halo"]["elapsed_s"] + 20e-6
    assert alone["late"]["start_s"] == 20e-6
    # Time counts from the start of the job, so neither includes the wait before it.
    late = ruled.slowdown()["late"]["elapsed"]
    assert late == (alone["late"]["elapsed_s"], together["late"]["elapsed_s"], late.together / late.alone)
    assert 0.99 < late.ratio < 2
    assert [alone[job]["start_s"] for job in ("halo", "pair-0", "pair-1")] == [0, 0, 50e-6]
    for job in RULED:
        assert ruled.baselines[job].run["scenario"]["jobs"][0]["start_after"] == []
        places = [
            [(r["rank"], r["node"], r["server"]) for r in results.rows("ranks") if r["job"] == job]
            for results in (ruled.baselines[job], ruled)
        ]
        assert places[0] == places[1]


def test_traffic_that_others_stop_sends_alone_as_long_and_is_compared_by_its_latencies(ruled):
    together = next(row for row in ruled.rows("jobs") if row["job"] == "noise")
    (alone,) = ruled.baselines["noise"].rows("jobs")
    assert alone["start_s"] == together["start_s"] == 5e-6
    # Alone it ends with its last message; messages are 4 us / 8 apart.
    assert 0 <= together["elapsed_s"] - alone["elapsed_s"] < 10e-6
    assert alone["bytes_sent"] == pytest.approx(together["bytes_sent"], rel=0.05)
    row = next(row for row in ruled.rows("slowdown") if row["job"] == "noise")
    assert row["elapsed_together_s"] == together["elapsed_s"]
    for metric in METRICS:
        assert not metric.whole or math.isnan(row[f"{metric.name}_ratio"])
    for name in ("message_latency_max", "mpi_packet_latency_mean", "mpi_packet_latency_max"):
        found = ruled.slowdown()["noise"][name]
        assert found == (alone[f"{name}_s"], together[f"{name}_s"], found.together / found.alone)
    assert ruled.slowdown()["noise"]["mpi_packet_latency_max"].ratio > 1


def test_one_process_changes_nothing_and_traffic_that_others_stop_waits_for_the_end_of_the_run(ruled):
    seen = []
    held = odonata.run(tomllib.loads(RULES), baselines=True, processes=1, progress=seen.append)
    assert str(held.rows("slowdown")) == str(ruled.rows("slowdown"))
    assert list(seen[-1].baselines.values()) == [1.0] * len(RULED)
    waited = [now.baselines["noise"] for now in seen if now.fraction is None or now.fraction < 1]
    assert set(waited) <= {0.0}


def test_traffic_that_others_stop_is_not_run_alone_if_the_run_failed(shell):
    """The devices are too small for the checkpoint, so nothing tells the traffic to stop."""
    shell.write(RULES.replace('capacity = "1 GB"', 'capacity = "1 MB"'))
    done = shell("run", "scenario.toml", "-o", "out", "--baselines")
    assert done.code == 3
    reason = (
        "noise, alone: not-run: alone, it sends for as long as beside the others, and that run ended as "
        "storage-full"
    )
    assert reason in done.err
    assert "No baseline for noise: alone, not-run" in done.out
    results = odonata.load(shell.folder / "out")
    assert results.outcome == "storage-full"
    assert set(results.failed_baselines) == {"late", "noise"}
    assert results.run["baselines"]["noise"]["folder"] is None
    assert not (shell.folder / "out/baselines/noise").exists()


def test_traffic_that_others_stop_runs_alone_under_a_time_limit():
    limit = {"run.time_limit": "150 us"}
    results = odonata.run(tomllib.loads(RULES), baselines=True, overrides=limit)
    assert results.outcome == "time-limit"
    assert results.failed_baselines == {}
    noise = results.slowdown()["noise"]
    assert noise["elapsed"].together == pytest.approx(145e-6, rel=1e-9)
    assert 120e-6 < noise["elapsed"].alone <= 145e-6


def test_the_core_refuses_traffic_alone_without_an_end():
    with pytest.raises(odonata.InputError, match="depends on other jobs") as caught:
        runner.Task(RULES, "scenario.toml", [], None, only="noise").build()
    assert caught.value.key == "jobs.2.until"
    with pytest.raises(odonata.InputError, match="ends by itself"):
        runner.Task(RULES, "scenario.toml", [], None, only="halo", sends_for_s=1e-3).build()
    for wrong in (-1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="sends_for_s"):
            runner.Task(RULES, "scenario.toml", [], None, only="noise", sends_for_s=wrong).build()


def test_a_baseline_that_runs_out_of_memory_is_a_named_failure(monkeypatch):
    """Only the baselines' processes have the limit, as if a smaller machine hit them first."""
    start = subprocess.Popen

    def starved(command, **options):
        limited = ["bash", "-c", 'ulimit -v 60000; exec "$0" "$@"', *command]
        return start(limited, **options)

    monkeypatch.setattr(baselines.subprocess, "Popen", starved)
    big = tomllib.loads(SMALL)
    big["machine"]["dragonfly"] = {
        "groups": 65,
        "routers_per_group": 32,
        "nodes_per_router": 8,
        "global_ports_per_router": 2,
    }
    with pytest.raises(odonata.RunFailed, match="halo, alone: ") as caught:
        odonata.run(big, baselines=True)
    results = caught.value.results
    assert results.completed
    assert results.baselines == {}
    # A run that certainly does not fit is refused before it is built, with the needed memory.
    endings = results.run["baselines"].values()
    assert {ending["outcome"] for ending in endings} == {"failed"}
    assert all("of memory would be needed" in ending["detail"] for ending in endings)
    assert results.table("slowdown").num_rows == 3


def test_a_baseline_that_crashes_or_is_killed_is_a_named_failure(monkeypatch, tmp_path):
    start = subprocess.Popen
    deaths = iter(["import os; os._exit(7)", "import os; os.kill(os.getpid(), 9)", "1 / 0"])

    def dying(command, **options):
        return start([sys.executable, "-c", next(deaths)], **options)

    monkeypatch.setattr(baselines.subprocess, "Popen", dying)
    results = odonata.run(
        tomllib.loads(SMALL), tmp_path / "out", baselines=True, processes=1, must_succeed=False
    )
    endings = results.run["baselines"]
    assert [endings[job]["outcome"] for job in JOBS] == ["crashed", "killed", "crashed"]
    assert "exit code 7" in endings["halo"]["detail"]
    assert "ZeroDivisionError" in endings["saver"]["detail"]
    assert results.completed
    assert list(results.failed_baselines) == JOBS
    assert not (tmp_path / "out" / "baselines").exists()


def start_and_wait_for(shell, *arguments):
    process = launcher.start(
        [*ODONATA, "run", "scenario.toml", "-o", "out", *arguments],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    await_that(lambda: list(shell.folder.glob(".out.*.partial")), process)
    return process


def children(process):
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def test_ctrl_c_keeps_the_run_and_says_which_baselines_are_missing(shell):
    shell.write(SLOW_BASELINE)
    with start_and_wait_for(shell, "--baselines", "--processes", "2") as process:
        await_that(lambda: children(process), process)
        await_work(process, 0.3)
        workers = children(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert process.returncode == 130
    run = json.loads((shell.folder / "out/run.json").read_text())
    assert run["outcome"] == "interrupted"
    assert run["baselines"]["traffic"]["outcome"] == "interrupted"
    assert run["baselines"]["traffic"]["folder"] is None
    assert "traffic, alone: interrupted" in err
    assert "No baseline for traffic" in out
    assert "Traceback" not in err
    assert not (shell.folder / "out/baselines/traffic").exists()
    assert not list(shell.folder.glob(".*"))
    assert all(launcher.is_gone(pid) for pid in workers)


def test_ctrl_c_among_the_baselines_keeps_the_run_that_is_complete(shell):
    # The run and its baselines share a time limit, and the first baseline takes just as long.
    shell.write(SLOW_BASELINE)
    limit = ("--set", "run.time_limit=20 ms")
    with start_and_wait_for(shell, "--baselines", "--processes", "1", *limit) as process:
        await_that(lambda: children(process), process)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert process.returncode == 130
    run = json.loads((shell.folder / "out/run.json").read_text())
    assert run["outcome"] == "time-limit"
    assert run["baselines"]["traffic"]["outcome"] == "interrupted"
    assert "traffic, alone: interrupted" in err
    assert pq.read_table(shell.folder / "out/slowdown.parquet").num_rows == 2


def test_ctrl_c_says_that_traffic_which_others_stop_was_not_run(shell):
    endless = (
        '[[jobs]]\nname = "noise"\nranks = 4\nuntil = "traffic"\nworkload = { uniform = { load = 0.1 } }\n'
    )
    shell.write(ENDLESS.replace("ranks = 40", "ranks = 20") + endless)
    with start_and_wait_for(shell, "--baselines", "--processes", "2") as process:
        await_that(lambda: children(process), process)
        await_work(process, 0.3)
        workers = children(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert process.returncode == 130
    run = json.loads((shell.folder / "out/run.json").read_text())
    endings = {job: ending["outcome"] for job, ending in run["baselines"].items()}
    assert endings == {"traffic": "interrupted", "noise": "not-run"}
    assert "noise, alone: not-run: " in err
    assert "that run ended as interrupted" in err
    assert all(launcher.is_gone(pid) for pid in workers)


def test_baselines_of_a_killed_run_end_by_themselves(shell):
    shell.write(SLOW_BASELINE)
    with start_and_wait_for(shell, "--baselines", "--processes", "2") as process:
        await_that(lambda: children(process), process)
        await_work(process, 0.6)
        workers = children(process)
        process.kill()
        process.communicate(timeout=launcher.PATIENCE_S)
    await_that(lambda: all(launcher.is_gone(pid) for pid in workers))
    assert not (shell.folder / "out").exists()


def test_progress_tells_how_far_the_baselines_are(held):
    _, seen = held
    assert list(seen[-1].baselines) == JOBS
    assert set(seen[-1].baselines.values()) == {1.0}
    assert all(isinstance(now, runner.Progress) for now in seen)


def test_a_module_of_the_user_is_not_taken_for_ours(shell):
    """A notebook's folder has many names; a baseline's process must import none of them."""
    shell.write(SMALL)
    shell.write("raise SystemExit('not this one')", "json.py")
    script = (
        "import sys; sys.path.pop(0); import odonata; "
        "print(odonata.run('scenario.toml', baselines=True).outcome)"
    )
    done = launcher.run([sys.executable, "-c", script], cwd=shell.folder)
    assert (done.returncode, done.stdout) == (0, "completed\n"), done.stderr


@pytest.mark.slow
def test_the_baselines_of_the_example_are_its_jobs_run_one_after_the_other():
    path = ROOT / "examples/interference.toml"
    results = odonata.run(path, baselines=True)
    apart = odonata.run(path, overrides={"jobs.1.start": "1 s", "jobs.2.start": "2 s"}).rows("jobs")
    for job in apart:
        # Adaptive routing draws at the routers, in a stream shared by all jobs.
        elapsed = results.slowdown()[job["job"]]["elapsed"]
        assert elapsed.alone == pytest.approx(job["elapsed_s"], rel=0.02)
        assert elapsed.ratio > 1.02


@pytest.mark.slow
def test_the_background_of_the_example_pays_more_than_it_costs():
    slowdowns = odonata.run(ROOT / "examples/background.toml", baselines=True).slowdown()
    assert slowdowns["solver"]["elapsed"].ratio == pytest.approx(1, abs=0.01)
    worst = slowdowns["background"]["mpi_packet_latency_max"]
    assert worst.alone < 2e-6
    assert worst.ratio > 10
