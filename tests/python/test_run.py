"""`odonata run`: the folder, the summary, the exit codes."""

import json
import re
import signal
import subprocess

import launcher
import pyarrow.parquet as pq
import pytest
from conftest import ENDLESS, ODONATA, SMALL
from waiting import await_that, await_work

CONTRACT = {
    "outcome": str,
    "digest": str,
    "simulated_s": float,
    "wall_s": float,
    "cpu_s": float,
    "events": int,
    "packets": int,
    "packet_hops": int,
    "messages": int,
    "bytes_delivered": int,
    "peak_rss_bytes": int,
    "scheduler": str,
    "threads": int,
    "processes": int,
    "version": str,
    "scenario": dict,
}
TABLES = ["io", "jobs", "links", "messages", "packets", "ranks", "routers", "series", "servers"]

#: A checkpoint that does not fit on the devices, which nothing drains.
FULL = SMALL.replace('capacity = "1 GB"', 'capacity = "5 MB"')


def read(folder):
    return json.loads((folder / "run.json").read_text())


def test_a_result_folder_holds_the_run_and_its_tables(small):
    run = read(small)
    for key, kind in CONTRACT.items():
        assert isinstance(run[key], kind), key
    assert run["outcome"] == "completed"
    assert run["scenario"]["name"] == "small"
    assert run["scenario"]["seed"] == 3
    found = sorted(path.stem for path in small.glob("*.parquet"))
    assert set(TABLES) <= set(found)
    assert sorted(path.name for path in small.iterdir()) == sorted(
        [*(f"{t}.parquet" for t in found), "run.json"]
    )


def test_times_of_a_rank_add_up(small):
    for rank in pq.read_table(small / "ranks.parquet").to_pylist():
        assert rank["non_compute_s"] == pytest.approx(rank["elapsed_s"] - rank["compute_s"], abs=1e-12)
        assert 0 <= rank["mpi_s"] <= rank["non_compute_s"] + 1e-12
        assert rank["elapsed_s"] <= read(small)["simulated_s"] + 1e-12


def test_what_the_jobs_move_is_what_the_scenario_says(small):
    jobs = {job["job"]: job for job in pq.read_table(small / "jobs.parquet").to_pylist()}
    # 16 ranks with 4 neighbors of 16 KiB and an all-reduce of 8 B (4 rounds of doubling), 5 times.
    assert jobs["halo"]["bytes_sent"] == 16 * 5 * (4 * 16384 + 4 * 8)
    assert jobs["training"]["bytes_read"] == 8 * 2 * 2**20
    assert jobs["saver"]["bytes_written"] == 2 * 16_000_000
    assert [job["ranks_finished"] for job in jobs.values()] == [16, 8, 4]


def test_the_summary_has_times_of_jobs_and_busy_links_and_servers(shell):
    shell.write(SMALL)
    done = shell("run", "scenario.toml")
    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith("small: completed, ")
    jobs, headings = (
        ["halo", "training", "saver"],
        ["p99", "Busiest links of routers", "Busiest storage servers"],
    )
    for part in [*jobs, *headings, "results/scenario"]:
        assert part in done.out
    assert max(map(len, done.out.splitlines())) <= 110
    assert shell("summary", "results/scenario").out == done.out


def test_json_is_the_run_and_where_it_lies(shell):
    shell.write(SMALL)
    done = shell("run", "scenario.toml", "-o", "out", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.json == read(shell.folder / "out") | {"results": "out"}


def test_the_same_seed_gives_the_same_digest_and_another_one_does_not(shell, small):
    shell.write(SMALL)

    def digest(*more):
        return shell("run", "scenario.toml", "-o", "out", "--force", "--json", *more).json["digest"]

    assert digest() == read(small)["digest"]
    assert digest("--seed", "3") == read(small)["digest"]
    assert digest("--seed", "4") != read(small)["digest"]


def test_overrides_replace_settings_and_are_saved(shell):
    shell.write(SMALL)
    changes = ["network.routing.algorithm=minimal", "jobs.0.ranks=4", "jobs.0.workload.stencil.dims=[2, 2]"]
    settings = [part for change in changes for part in ("--set", change)]
    done = shell("run", "scenario.toml", "--json", *settings)
    assert done.code == 0
    assert done.json["scenario"]["network"]["routing"]["algorithm"] == "minimal"
    assert done.json["scenario"]["jobs"][0]["ranks"] == 4


def test_force_replaces_an_old_result(shell):
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0
    first = read(shell.folder / "out")
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 2
    assert read(shell.folder / "out") == first
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--force", "--seed", "4").code == 0
    assert read(shell.folder / "out")["scenario"]["seed"] == 4
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]


def test_full_storage_is_a_named_failure_with_results(shell):
    shell.write(FULL)
    done = shell("run", "scenario.toml", "-o", "out")
    assert done.code == 3
    run = read(shell.folder / "out")
    assert run["outcome"] == "storage-full"
    assert "saver" in run["detail"]
    assert done.err.startswith("storage-full: " + run["detail"].replace("; ", "\n- "))
    jobs = {job["job"]: job for job in pq.read_table(shell.folder / "out" / "jobs.parquet").to_pylist()}
    assert jobs["saver"]["ranks_finished"] < 4
    assert jobs["halo"]["ranks_finished"] == 16


def test_a_time_limit_ends_a_run_as_asked(shell):
    shell.write(ENDLESS)
    done = shell("run", "scenario.toml", "--json", "--set", "run.time_limit=1 ms")
    assert done.code == 0
    assert done.json["outcome"] == "time-limit"
    assert done.json["simulated_s"] == pytest.approx(1e-3, rel=0.01)


RING = "[machine.torus]\ndims = [4]\n[[jobs]]\nranks = 4\n"


def test_half_a_result_does_not_look_whole(shell):
    shell.write(RING + "workload = { uniform = { load = 0.01, messages = 1000 } }\n")
    done = shell("run", "scenario.toml", "-o", "out", "--set", "run.time_limit=5 us")
    assert (done.code, done.err) == (0, "")
    first, second = done.out.splitlines()[:2]
    assert first.startswith("scenario: time-limit, 5 us simulated in ")
    assert second == 'job "uniform" has sent 1 of 4000 messages'
    assert shell("summary", "out").out == done.out
    assert read(shell.folder / "out")["outcome"] == "time-limit"
    # Without a number of messages, running to the limit is all requested work.
    shell.write(RING + "workload = { uniform = { load = 0.01 } }\n")
    done = shell("run", "scenario.toml", "--json", "--set", "run.time_limit=5 us")
    assert (done.code, done.json["outcome"], done.json["detail"]) == (0, "completed", None)


def test_a_run_that_passes_the_end_of_simulated_time_is_a_named_failure_with_results(shell):
    shell.write(RING + 'workload = { stencil = { iterations = 3, compute = "4600000 s" } }\n')
    done = shell("run", "scenario.toml", "-o", "out")
    assert done.code == 3
    run = read(shell.folder / "out")
    assert (run["outcome"], run["simulated_s"]) == ("time-overflow", pytest.approx(2**62 * 1e-12))
    first, *others = run["detail"].split("; ")
    assert done.err.splitlines()[: 1 + len(others)] == [
        f"time-overflow: {first}",
        *(f"- {one}" for one in others),
    ]
    # Each fact is stated once.
    assert "the end of simulated time" not in done.out
    assert re.search(r"waiting longest: stencil rank \d: Compute 4600000 s \(operation 13\)", run["detail"])
    assert "after the end of simulated time, 4611686" in shell("summary", "out").out


def test_the_summary_of_a_stalled_run_has_the_cycle_that_the_run_printed(shell):
    shell.write("[machine.mesh]\ndims = [3]\n[[jobs]]\nname = 'w'\nranks = 3\npython = 'ring.py:main'\n")
    ring = "recv((rank + 1) % ranks, 8)\n    yield send((rank - 1) % ranks, 8)"
    (shell.folder / "ring.py").write_text(
        f"from odonata.operations import recv, send\ndef main(rank, ranks):\n    yield {ring}\n"
    )
    done = shell("run", "scenario.toml", "-o", "out")
    assert done.code == 3
    # Each rank waits for the next one, and each has a line of its own.
    waiting = [f"w rank {rank}: Recv from {(rank + 1) % 3} tag 0 (world)" for rank in range(3)]
    lines = done.err.splitlines()
    assert lines[0] == "stalled: 3 ranks have not ended"
    assert lines[1].startswith(f"- waiting longest: {waiting[0]}")
    assert [line[2 : 2 + len(waiting[1])] for line in lines[2:4]] == waiting[1:]
    assert lines[4].startswith("- cycle: rank 0 waits in Recv from 1 tag 0 (world) -> rank 1 waits")
    summary = shell("summary", "out").out
    assert " ".join(lines[4].split()) in " ".join(summary.split())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_it_measured(shell, number):
    shell.write(ENDLESS)
    with launcher.start(
        [*ODONATA, "run", "scenario.toml", "-o", "out"],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        await_that(lambda: list(shell.folder.glob(".out.*.partial")), process)
        await_work(process, 0.5)
        process.send_signal(number)
        out, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert process.returncode == 130
    run = read(shell.folder / "out")
    assert run["outcome"] == "interrupted"
    assert run["packets"] > 0
    assert sum(pq.read_table(shell.folder / "out" / "links.parquet")["packets"].to_pylist()) > 0
    assert "interrupted" in err
    assert "small: interrupted" in out
    assert shell.files().count("out") == 1
    assert not list(shell.folder.glob(".*"))


def test_a_killed_run_leaves_nothing_that_looks_like_a_result(shell):
    shell.write(ENDLESS)
    with launcher.start([*ODONATA, "run", "scenario.toml", "-o", "out", "-q"], cwd=shell.folder) as process:
        await_that(lambda: list(shell.folder.glob(".out.*.partial")), process)
        process.kill()
    assert not (shell.folder / "out").exists()
    assert not list(shell.folder.rglob("run.json"))
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0


def test_a_full_disk_leaves_nothing_behind(shell):
    shell.write(SMALL)
    command = [*ODONATA, "run", "scenario.toml", "-o", "new/out", "-q"]
    done = launcher.run(command, cwd=shell.folder, largest_file=4096)
    assert done.returncode == 1
    assert "nothing was written" in done.stderr
    assert "Traceback" not in done.stderr
    assert shell.files() == ["scenario.toml"]


def test_quiet_means_quiet(shell):
    shell.write(SMALL)
    done = shell("run", "scenario.toml", "-q")
    assert (done.code, done.out, done.err) == (0, "", "")
