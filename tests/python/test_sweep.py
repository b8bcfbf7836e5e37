"""`odonata sweep`: points, seeds, intervals, reuse, and the remains of a stopped sweep."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import launcher
import pyarrow.parquet as pq
import pytest
from conftest import ODONATA, ROOT
from launcher import PATIENCE_S
from waiting import await_that

import odonata
from odonata.errors import InputError
from odonata.sweeps import points as sweep_points
from odonata.sweeps import samples, spec, statistics, table
from odonata.sweeps.scheduler import Scheduler
from odonata.sweeps.store import Store, read

#: Two jobs on 12 nodes; simulated in a few milliseconds.
TINY = """\
name = "tiny"
seed = 3

[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 1

[[jobs]]
name = "halo"
ranks = 4
placement = "random"
workload = { stencil = { message = "16 KiB", iterations = 3, compute = "1 us" } }

[[jobs]]
name = "noise"
ranks = 6
placement = "random"
workload = { uniform = { bytes = "4 KiB", mean_interval = "1 us", messages = 20 } }
"""

#: Columns that differ between two executions of the same run.
TIMES = ["run_wall_s", "run_cpu_s", "attempts"]


def sweep_file(shell, text, scenario=TINY):
    shell.write(scenario)
    return shell.write(f'scenario = "scenario.toml"\n{text}', "sweep.toml")


def points(folder):
    return pq.read_table(Path(folder) / "points.parquet")


def journal(folder):
    return [json.loads(line) for line in (Path(folder) / "journal.jsonl").read_text().splitlines()]


def same(one, other):
    return one.drop_columns(TIMES).equals(other.drop_columns(TIMES))


def test_a_grid_with_seeds_is_a_row_per_point_seed_and_job(shell):
    sweep_file(shell, 'seeds = 3\nbaselines = true\n[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["outcome"] == "completed"
    assert (done.json["points"], done.json["seeds"]) == (2, 3)
    found = points(shell.folder / "out")
    keys = zip(
        *(found[name].to_pylist() for name in ("point", "jobs.halo.placement", "seed", "job")), strict=True
    )
    assert list(keys) == [
        (point, placement, seed, job)
        for point, placement in enumerate(("random", "contiguous"))
        for seed in (3, 4, 5)
        for job in ("halo", "noise")
    ]
    assert set(found["outcome"].to_pylist()) == set(found["baseline"].to_pylist()) == {"completed"}
    # Each equals the result of `odonata run`, digests included.
    shell("run", "scenario.toml", "--seed", "4", "--baselines", "-o", "run", "-q")
    results = odonata.load(shell.folder / "run")
    slowdowns = results.slowdown()
    for row in found.to_pylist()[2:4]:
        assert row["digest"] == results.run["digest"]
        assert row["elapsed_ratio"] == slowdowns[row["job"]]["elapsed"].ratio
        assert row["message_latency_p99_ratio"] == slowdowns[row["job"]]["message_latency_p99"].ratio
        own = next(one for one in results.rows("jobs") if one["job"] == row["job"])
        assert {name: row[name] for name in own} == own


def test_columns_say_what_they_are(shell):
    sweep_file(
        shell, '[grid]\njobs.noise.workload.uniform.bytes = ["4 KiB", "8 KiB"]\njobs.halo.ranks = [4, 6]\n'
    )
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    for name in ("points", "intervals"):
        found = pq.read_table(shell.folder / f"out/{name}.parquet")
        assert table.swept_keys(found) == ["jobs.noise.workload.uniform.bytes", "jobs.halo.ranks"]
        field = found.schema.field("jobs.noise.workload.uniform.bytes")
        assert field.metadata[b"unit"] == b"bytes"
        assert set(found[field.name].to_pylist()) == {4096.0, 8192.0}
        assert set(found["jobs.halo.ranks"].to_pylist()) == {4, 6}
        for field in found.schema:
            assert field.metadata[b"description"], field.name
    for column in table.job_columns():
        assert (
            points(shell.folder / "out").schema.field(column.name).metadata.get(b"unit", b"").decode()
            == column.unit
        )


def test_no_two_measures_have_one_name():
    names = table.measure_names()
    assert len({table.words(name) for name in names}) == len(names)


def test_a_second_sweep_runs_only_what_is_new(shell):
    sweep_file(
        shell, "seeds = 2\nbaselines = true\n[grid]\njobs.noise.workload.uniform.messages = [10, 20]\n"
    )
    first = shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"]
    # The stencil alone is the same beside less and more noise; the noise alone is not.
    assert first == {"executed": 4 + 4 + 2, "reused": 2}
    kept = points(shell.folder / "out")
    assert shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"] == {"executed": 0, "reused": 12}
    assert same(points(shell.folder / "out"), kept)
    sweep_file(
        shell, "seeds = 2\nbaselines = true\n[grid]\njobs.noise.workload.uniform.messages = [10, 20, 30]\n"
    )
    more = shell("sweep", "sweep.toml", "-o", "out", "--json").json["runs"]
    assert more == {"executed": 4, "reused": 14}
    # Another folder can reuse them, and settings of execution do not count.
    settings = ("--set", "run.threads=1", "--set", "name=other")
    other = shell("sweep", "sweep.toml", "-o", "more", "--reuse", "out", "--json", *settings)
    assert other.json["runs"]["executed"] == 0
    keys = [kept["key"] for kept in journal(shell.folder / "out")]
    assert len(keys) == len(set(keys)) == 14


@pytest.mark.slow
def test_shared_baselines_are_those_that_each_point_would_have(shell):
    """Also for traffic that ends with other jobs, and for a job that starts after another."""
    scenario = TINY.replace("messages = 20", "").replace('name = "noise"', 'name = "noise"\nuntil = ["halo"]')
    scenario += '\n[[jobs]]\nname = "late"\nranks = 2\nstart_after = ["halo"]\nplacement = "random"\n'
    scenario += 'workload = { stencil = { message = "4 KiB", iterations = 2, compute = "1 us" } }\n'
    grid = "jobs.halo.workload.stencil.iterations = [2, 4]\n"
    grid += 'jobs.late.workload.stencil.message = ["4 KiB", "8 KiB"]\n'
    sweep_file(shell, f"baselines = true\n[grid]\n{grid}", scenario)
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    # Alone, the stencil differs in its iterations, the late job in its messages.
    assert done.json["runs"]["reused"] >= 4
    rows = points(shell.folder / "out").to_pylist()
    for row in rows:
        if row["job"] != "halo":
            continue
        size = f"{row['jobs.late.workload.stencil.message']:.0f} B"
        settings = (
            "--set", f"jobs.0.workload.stencil.iterations={row['jobs.halo.workload.stencil.iterations']}",
            "--set", f"jobs.2.workload.stencil.message={size}",
        )  # fmt: skip
        shell("run", "scenario.toml", "--baselines", "-o", "run", "--force", "-q", *settings)
        slowdowns = odonata.load(shell.folder / "run").slowdown()
        for one in rows:
            if one["point"] == row["point"]:
                for name in ("message_latency_mean", "message_latency_p99", "mpi"):
                    assert one[f"{name}_alone_s"] == slowdowns[one["job"]][name].alone, (one["job"], name)


@pytest.mark.slow
def test_zips_points_and_samples(shell):
    sweep_file(
        shell,
        'seeds = [7, 9]\n[zip]\n"jobs.halo.ranks" = [2, 4]\njobs.noise.ranks = [4, 2]\n'
        '[[points]]\njobs.halo.start = "1 us"\n[[points]]\njobs.noise.start = "2 us"\n'
        '[sample]\nmethod = "latin-hypercube"\ncount = 2\n'
        "[sample.over]\njobs.noise.workload.uniform.messages = { low = 1, high = 20, integer = true }\n"
        'jobs.noise.workload.uniform.mean_interval = { low = "1 us", high = "10 us", scale = "log" }\n',
    )
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    assert done.json["points"] == 2 * 2 * 2
    rows = points(shell.folder / "out").to_pylist()
    assert {row["seed"] for row in rows} == {7, 9}
    assert {(row["jobs.halo.ranks"], row["jobs.noise.ranks"]) for row in rows} == {(2, 4), (4, 2)}
    starts = {(row["jobs.halo.start"], row["jobs.noise.start"]) for row in rows}
    assert starts == {(1e-6, None), (None, 2e-6)}
    messages = sorted({row["jobs.noise.workload.uniform.messages"] for row in rows})
    assert len(messages) == 2
    assert 1 <= messages[0] <= 10 < messages[1] <= 20
    for row in rows:
        assert row["ranks"] == row[f"jobs.{row['job']}.ranks"]
        assert row["start_s"] == (row[f"jobs.{row['job']}.start"] or 0.0)


@pytest.mark.parametrize("method", samples.METHODS)
def test_samples_fill_the_cube_and_are_the_same_for_a_seed(method):
    if method == "sobol":
        pytest.importorskip("scipy")
    one = samples.unit_cube(method, 64, 3, seed=5)
    assert one == samples.unit_cube(method, 64, 3, seed=5) != samples.unit_cube(method, 64, 3, seed=6)
    assert all(0 <= x < 1 for point in one for x in point)
    strata = [len({int(64 * x) for x in axis}) for axis in zip(*one, strict=True)]
    assert all(count == 64 for count in strata) if method != "random" else all(count > 30 for count in strata)


def test_intervals_are_those_of_student():
    """Against closed forms, a table of the distribution, and the definition."""
    for confidence in (0.5, 0.9, 0.95, 0.99):
        # One and two degrees of freedom have closed forms.
        assert statistics.quantile(confidence, 1) == pytest.approx(
            math.tan(math.pi * confidence / 2), rel=1e-9
        )
        two = confidence * math.sqrt(2 / (1 - confidence**2))
        assert statistics.quantile(confidence, 2) == pytest.approx(two, rel=1e-9)
    known = {
        (0.95, 3): 3.182446,
        (0.95, 9): 2.262157,
        (0.99, 5): 4.032143,
        (0.9, 24): 1.710882,
        (0.95, 119): 1.980100,
    }
    for (confidence, freedom), value in known.items():
        assert statistics.quantile(confidence, freedom) == pytest.approx(value, abs=2e-6)
    values = [4.0, 7.0, 7.0, 10.0]
    found = statistics.interval(values, 0.95)
    assert (found.mean, found.deviation) == (7.0, pytest.approx(math.sqrt(6)))
    assert found.half_width == pytest.approx(3.182446 * math.sqrt(6) / 2, rel=1e-6)
    assert statistics.interval([5.0]).mean == 5.0
    assert math.isnan(statistics.interval([5.0]).half_width)
    assert statistics.interval([5.0, 5.0, 5.0]).relative == 0.0


@pytest.mark.slow
def test_the_table_of_intervals_is_that_of_the_points(shell):
    sweep_file(shell, "seeds = 4\nconfidence = 0.9\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\n")
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    found = odonata.Sweep.load(shell.folder / "out")
    for row in found.intervals("elapsed_ratio", "elapsed_s", "message_latency_p99_s").to_pylist():
        values = [
            one[row["measure"]]
            for one in found.table.to_pylist()
            if (one["point"], one["job"]) == (row["point"], row["job"])
        ]
        assert row["seeds"] == len(values) == 4
        expected = statistics.interval(values, 0.9)
        assert (row["mean"], row["half_width"]) == (expected.mean, expected.half_width)
        assert (row["least"], row["largest"]) == (min(values), max(values))
    with pytest.raises(KeyError, match="elapsed_ratoi"):
        found.intervals("elapsed_ratoi")


@pytest.mark.slow
def test_seeds_are_added_until_intervals_are_narrow(shell):
    stop = '[stop]\nmetric = "elapsed_s"\nhalf_width = 0.05\nmost = 40\njobs = ["halo"]\n'
    sweep_file(shell, f'seeds = 3\n{stop}[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0, done.err
    found = odonata.Sweep.load(shell.folder / "out").intervals("elapsed_s").to_pylist()
    random, contiguous = (row for row in found if row["job"] == "halo")
    # A stencil on neighboring nodes, without other traffic, takes the same time with all seeds.
    assert contiguous["seeds"] == 3
    assert 3 < random["seeds"] <= 40
    assert random["half_width"] <= 0.05 * random["mean"] or random["seeds"] == 40
    # With fewer seeds it would not be narrow.
    rows = [
        row for row in points(shell.folder / "out").to_pylist() if row["job"] == "halo" and row["point"] == 0
    ]
    fewer = statistics.interval([row["elapsed_s"] for row in rows][:3])
    assert fewer.relative > 0.05


FAILING = """
import os, time
from odonata.operations import compute

def program(rank, ranks):
    yield compute(1e-6)
    while "{ending}" == "hang":
        time.sleep(0.01)
    if "{ending}" == "crash":
        os.abort()
"""


@pytest.mark.parametrize(
    ("ending", "outcome", "attempts", "timeout"),
    # The start of a worker counts for its run, and takes long on a busy machine.
    [("crash", "crashed", 2, PATIENCE_S), pytest.param("hang", "timed-out", 1, 30, marks=pytest.mark.slow)],
)
def test_a_run_that_dies_is_a_row_and_the_others_go_on(shell, ending, outcome, attempts, timeout):
    shell.write(FAILING.format(ending=ending), "bad.py")
    shell.write(FAILING.format(ending="none"), "good.py")
    scenario = TINY.replace("workload = { stencil", 'python = "good.py:program"\n#')
    sweep_file(
        shell,
        f'attempts = 2\ntimeout = "{timeout} s"\n'
        '[grid]\njobs.halo.python = ["good.py:program", "bad.py:program"]\n',
        scenario,
    )
    done = shell("sweep", "sweep.toml", "-o", "out", "-j", "2", "--json")
    assert done.code == 3, done.err
    assert done.json["outcome"] == "failed"
    (failed,) = done.json["failed"]
    assert (failed["point"], failed["outcome"], failed["attempts"]) == (1, outcome, attempts)
    assert "point 1, seed 3" in done.err
    assert outcome in done.err
    rows = points(shell.folder / "out").to_pylist()
    assert [(row["point"], row["job"], row["outcome"]) for row in rows] == [
        (0, "halo", "completed"),
        (0, "noise", "completed"),
        (1, "halo", outcome),
        (1, "noise", outcome),
    ]
    assert rows[2]["elapsed_s"] is None
    # The next call runs it again, because it has no result, and succeeds after the repair.
    shell.write(FAILING.format(ending="none"), "bad.py")
    again = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert again.code == 0, again.err
    assert again.json["runs"] == {"executed": 1, "reused": 1}


def test_a_simulation_that_fails_is_a_result(shell):
    sweep_file(shell, '[grid]\nrun.time_limit = ["1 ms", "1 us"]\n')
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    # The scenario asks for its time limit.
    assert (done.code, done.json["outcome"]) == (0, "completed")
    assert [row["outcome"] for row in points(shell.folder / "out").to_pylist()][::2] == [
        "completed",
        "time-limit",
    ]


@pytest.mark.slow
def test_tables_are_kept_on_request(shell):
    sweep_file(shell, 'keep = "tables"\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\n')
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    for row in points(shell.folder / "out").to_pylist():
        results = odonata.load(shell.folder / "out" / row["folder"])
        assert results.run["digest"] == row["digest"]
        assert results.table("links").num_rows
    assert len(list((shell.folder / "out/runs").iterdir())) == len(journal(shell.folder / "out"))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--over", "jobs.hallo.ranks=2,4"), 'did you mean "halo"'),
        (("--over", "jobs.halo.rankz=2,4"), 'did you mean "ranks"'),
        (("--over", "jobs.halo.ranks=2,400"), "at point 1 of the sweep: jobs.halo.ranks = 400"),
        (("--over", "jobs.halo.ranks"), "KEY=A,B,C"),
        (("--over", "jobs.halo.ranks=2,2"), "a repeated value"),
        (("--over", "jobs.halo.ranks=2", "--over", "jobs.halo.ranks=4"), "a repeated key"),
        (("--seeds", "many"), "a number of seeds"),
        (("--reuse", "nothing"), "not a sweep"),
        (("--reuse", "a" * 300), "not a sweep"),
        pytest.param(("--dask", "tcp://127.0.0.1:9"), "no Dask scheduler", marks=pytest.mark.slow),
        (("--slurm-time", "1:00:00"), "--slurm PARTITION"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_run(shell, arguments, text):
    if arguments[0] == "--dask":
        pytest.importorskip("distributed")
    shell.write(TINY)
    done = shell("sweep", "scenario.toml", *arguments, "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert shell.files() == ["scenario.toml"]


def test_an_option_stands_where_else_a_file_does(shell):
    shell.write(TINY)
    for text, key in (("jobs.halo.rankz=2,4", "jobs.halo.rankz"), ("jobs.halo.ranks=2,2", "jobs.halo.ranks")):
        done = shell("sweep", "scenario.toml", "--over", text, "-o", "out")
        assert done.code == 2
        lines = [line.split() for line in done.err.splitlines()]
        assert ["-->", "--over", text] in lines
        assert ["key", key] in lines
    assert "  --> --over foo\n" in shell("sweep", "scenario.toml", "--over", "foo", "-o", "out").err


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("sedes = 5\n", 2, 'did you mean "seeds"'),
        ("seeds = 0\n", 2, "1 to 10000"),
        ("[grid]\njobs.halo.ranks = 4\n", 3, "a list such as"),
        ("[grid]\njobs.halo.rank = [4]\n", 3, 'did you mean "ranks"'),
        ("[zip]\njobs.halo.ranks = [2, 4]\njobs.noise.ranks = [1]\n", 4, "different lengths"),
        ("[[points]]\nseed = 1\n[[points]]\njobs.halo.ranks = 99\n", 5, "at most 12"),
        (
            "[sample]\ncount = 3\n[sample.over]\njobs.halo.ranks = { low = 4, high = 2 }\n",
            5,
            "an empty range",
        ),
        ('[sample]\nmethod = "sobel"\ncount = 3\n[sample.over]\nseed = [1, 2]\n', 3, 'did you mean "sobol"'),
        ('baselines = true\n[stop]\nmetric = "elapsed_ration"\n', 4, 'did you mean "elapsed_ratio"'),
        ('baselines = false\n[stop]\nmetric = "elapsed_ratio"\n', 4, "no baselines"),
        ("[grid\n", 2, "not TOML"),
    ],
)
def test_a_wrong_file_is_said_with_its_line(shell, text, line, said):
    sweep_file(shell, text)
    done = shell("sweep", "sweep.toml", "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert f"sweep.toml:{line}" in done.err
    assert said in done.err
    assert shell.files() == ["scenario.toml", "sweep.toml"]


def test_a_folder_of_something_else_is_not_touched(shell):
    shell.write(TINY)
    shell.write("mine", "thesis.txt")
    done = shell("sweep", "scenario.toml", "-o", ".")
    assert done.code == 2
    assert "not a sweep" in done.err
    assert shell.files() == ["scenario.toml", "thesis.txt"]


def start(shell, *arguments):
    command = [*ODONATA, "sweep", "sweep.toml", "-o", "out", "-j", "2", "-q", *arguments]
    return launcher.start(
        command, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(shell, runs, process):
    """Waits for this many ended runs."""
    place = shell.folder / "out/journal.jsonl"
    await_that(lambda: place.exists() and place.read_bytes().count(b"\n") >= runs, process, 2 * PATIENCE_S)


@pytest.mark.slow
def test_200_points_are_run_once_each_whenever_the_sweep_is_killed(shell):
    sweep_file(
        shell,
        "seeds = 5\n[grid]\njobs.halo.ranks = [2, 3, 4, 5]\n"
        "jobs.noise.workload.uniform.messages = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n",
    )
    seen = 0
    for runs in (20, 70, 120, 121):
        running = start(shell)
        wait_for(shell, runs, running)
        os.kill(running.pid, signal.SIGKILL)
        running.communicate()
        seen = len(read(shell.folder / "out/journal.jsonl"))
        assert runs <= seen < 200
    # An incomplete line, as after a full disk.
    with (shell.folder / "out/journal.jsonl").open("ab") as file:
        file.write(b'{"key":"half')
    done = shell("sweep", "sweep.toml", "-o", "out", "-j", "2", "--json")
    assert done.code == 0, done.err
    assert done.json["runs"] == {"executed": 200 - seen, "reused": seen}
    keys = [kept["key"] for kept in journal(shell.folder / "out")]
    assert len(keys) == len(set(keys)) == 200
    rows = points(shell.folder / "out").to_pylist()
    assert len({(row["point"], row["seed"], row["job"]) for row in rows}) == len(rows) == 400
    assert shell("sweep", "sweep.toml", "-o", "whole", "-j", "2", "-q").code == 0
    assert same(points(shell.folder / "out"), points(shell.folder / "whole"))


def test_ctrl_c_keeps_what_has_ended_and_the_same_command_goes_on(shell):
    sweep_file(shell, "seeds = 30\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\n")
    running = start(shell, "--json")
    wait_for(shell, 10, running)
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    assert "repeat the command to continue" in err
    report = json.loads(out)
    assert report["outcome"] == "interrupted"
    assert 0 < points(shell.folder / "out").num_rows < 120
    done = shell("sweep", "sweep.toml", "-o", "out", "--json")
    assert done.code == 0
    assert points(shell.folder / "out").num_rows == 120
    keys = [kept["key"] for kept in journal(shell.folder / "out")]
    assert len(keys) == len(set(keys))


class Waiting:
    """An executor whose runs start, and never end."""

    threads = 1

    def __init__(self):
        self.begun = {}

    def room(self):
        return 2 - len(self.begun)

    def submit(self, work):
        self.begun[work.key] = 1e-9

    def running(self):
        return self.begun


def test_the_time_left_after_a_resume_is_that_of_the_runs_before(shell):
    sweep_file(shell, "seeds = 4\n[grid]\njobs.halo.ranks = [2, 4]\n")
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    more = spec.load(sweep_file(shell, "seeds = 9\n[grid]\njobs.halo.ranks = [2, 4]\n"))
    found = sweep_points.of(more, (shell.folder / "scenario.toml").read_text(), [])
    with Store(shell.folder / "out", []) as store:
        for kept in store.runs.values():
            kept["wall_s"] = 60.0
        places = Waiting()
        sweep = Scheduler(more, found, store, places, None, None)
        for _ in range(2):
            places.submit(sweep._waiting.popleft())
        now = sweep.progress()
    # 18 runs are needed and 8 exist; the other ten take 60 s each, two at a time.
    assert now.reused == 8
    assert now.left_s == pytest.approx(10 * 60.0 / 2, rel=0.01)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing_but_time(shell):
    sweep_file(shell, "seeds = 40\n[grid]\njobs.halo.ranks = [2, 4]\n")
    running = start(shell, "--json")
    wait_for(shell, 5, running)
    # It starts nothing while the test looks for its workers.
    os.kill(running.pid, signal.SIGSTOP)
    killed = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = re.search(r"^PPid:\s*(\d+)", (folder / "status").read_text(), re.M)
        except OSError:
            continue
        if b"odonata.sweeps.point_worker" in words and parent and int(parent[1]) == running.pid:
            os.kill(int(folder.name), signal.SIGKILL)
            killed += 1
    os.kill(running.pid, signal.SIGCONT)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert killed > 0
    assert running.returncode == 0, err
    assert json.loads(out)["outcome"] == "completed"
    assert len(journal(shell.folder / "out")) == 80


@pytest.mark.slow
def test_two_sweeps_do_not_work_in_one_folder(shell):
    sweep_file(shell, "seeds = 2000\n")
    running = start(shell)
    wait_for(shell, 2, running)
    second = shell("sweep", "sweep.toml", "-o", "out")
    running.kill()
    running.communicate()
    assert second.code == 2
    assert "another process" in second.err


def test_from_python(shell):
    scenario = shell.write(TINY)
    seen = []
    found = odonata.sweep(
        scenario, over={"jobs.halo.ranks": [2, 4]}, seeds=2, baselines=True, processes=2, progress=seen.append
    )
    assert (found.outcome, found.failed, found.path) == ("completed", [], None)
    assert found.table.num_rows == 2 * 2 * 2
    assert found.swept == ["jobs.halo.ranks"]
    assert found.intervals("elapsed_ratio").num_rows == 4
    assert set(found.to_pandas()["jobs.halo.ranks"]) == {2, 4}
    assert seen
    assert seen[-1].done == seen[-1].planned == 4
    scenario = tomllib.loads(TINY)
    again = odonata.sweep(scenario, over={"jobs.halo.ranks": [2, 4]}, seeds=2, baselines=True)
    assert same(again.table, found.table)
    with pytest.raises(InputError, match="did you mean"):
        odonata.sweep(scenario, over={"jobs.halo.rankz": [2, 4]})
    assert shell.files() == ["scenario.toml"]


def test_the_page_and_the_picture(shell):
    shell.write(TINY)
    done = shell(
        "sweep", "scenario.toml", "--over", "jobs.halo.placement=random,contiguous", "--seeds", "3",
        "--baselines", "-o", "out", "--plot", "slowdown.svg",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "tiny" not in done.out.splitlines()[0]
    assert "2 points with 3 seeds each" in done.out
    assert re.search(r"random +halo +[\d.]+ us ±[\d.]+ us +1\.\d+x ±0\.\d+", done.out)
    assert "slowdown, message p99: together / alone." in " ".join(done.out.split())
    assert (shell.folder / "slowdown.svg").read_text().startswith("<?xml")
    again = shell("sweep", "scenario.toml", "--plot", "slowdown.svg", "-o", "out")
    assert again.code == 2


@pytest.mark.slow
def test_keys_that_change_together_are_one_axis_of_pictures_and_pages(shell):
    """Otherwise a page would fix the second key of a `zip` at its first value, which leaves a single
    point.
    """
    import matplotlib.figure as figures

    placements = 'jobs.halo.placement = ["random", "contiguous"]\n'
    sweep_file(shell, f"seeds = 2\n[zip]\n{placements}jobs.noise.workload.uniform.messages = [10, 20]\n")
    done = shell("sweep", "sweep.toml", "-o", "out", "-q", "--plot", "elapsed.pdf", "--measure", "elapsed_s")
    assert (done.code, done.err) == (0, "")
    wrong = shell("sweep", "sweep.toml", "-o", "out", "--plot", "x.png", "--measure", "slowdown")
    assert 'did you mean "elapsed_ratio"?' in wrong.err
    assert (shell.folder / "elapsed.pdf").read_bytes().startswith(b"%PDF")
    found = odonata.Sweep.load(shell.folder / "out")
    for key in found.swept:
        drawn = found.plot("elapsed_s", x=key)
        assert isinstance(drawn, figures.Figure)
        # A series per job, not one per job and value of the other key.
        assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["halo", "noise"]
        (other,) = set(found.swept) - {key}
        assert other in drawn.axes[0].get_xlabel()
    assert shell("report", "out", "-o", "page.html").code == 0
    text = (shell.folder / "page.html").read_text()
    assert "With jobs.halo.placement change: jobs.noise.workload.uniform.messages." in text
    assert "only:jobs.halo.placement" in text
    assert "only:jobs.noise.workload.uniform.messages" not in text


def test_a_sweep_of_examples_is_short(shell):
    """Three jobs, two placements, five seeds, slowdowns with intervals: one file, two commands."""
    file = ROOT / "examples/sweeps/placement.toml"
    assert len(file.read_text().splitlines()) <= 25
    found = spec.load(file)
    assert found.seeds == 5
    done = shell("sweep", str(file), "--set", "jobs.stencil.ranks=100000", "-o", "out")
    # Every point is resolved before any runs.
    assert done.code == 2
    assert "at point 0 of the sweep" in done.err


def test_a_sweep_can_be_reported(shell):
    sweep_file(shell, 'seeds = 2\nbaselines = true\n[grid]\njobs.halo.placement = ["random", "contiguous"]\n')
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    done = shell("report", "out", "-o", "page.html")
    assert done.code == 0, done.err
    text = (shell.folder / "page.html").read_text()
    assert "a sweep over jobs.halo.placement" in text
    roles = {field.name: field.metadata[b"role"] for field in points(shell.folder / "out").schema}
    assert [name for name, role in roles.items() if role == b"axis"] == ["jobs.halo.placement"]
    assert [name for name, role in roles.items() if role == b"replication"] == ["seed"]
    assert [name for name, role in roles.items() if role == b"metric"] == table.measure_names()


def test_the_guide_shows_the_example_and_names_every_key_and_column(shell):
    guide = (ROOT / "docs/sweeps.md").read_text()
    shown = tomllib.loads(re.search(r"```toml\n(.*?)```", guide, re.S)[1])
    assert shown == tomllib.loads((ROOT / "examples/sweeps/placement.toml").read_text())
    named = set(re.findall(r"`\[*([a-z]+)\]*`", guide))
    assert set(spec.KEYS) <= named
    sweep_file(shell, "[grid]\njobs.halo.ranks = [2, 4]\n")
    assert shell("sweep", "sweep.toml", "-o", "out", "-q").code == 0
    known = {column.name for column in table.job_columns()} | {"jobs.halo.ranks"}
    for name in ("points", "intervals"):
        columns = pq.read_schema(shell.folder / f"out/{name}.parquet").names
        assert [column for column in columns if column not in known and f"`{column}`" not in guide] == []


if sys.platform != "linux":
    pytest.skip("kills processes by what /proc says", allow_module_level=True)
