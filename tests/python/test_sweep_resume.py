"""`odonata sweep`: runs that fail, and sweeps that are stopped and continued."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import launcher
import pytest
from conftest import ODONATA
from launcher import PATIENCE_S
from sweep_cases import TINY, journal, points, same, sweep_file, wait_for

from odonata.sweeps import points as sweep_points
from odonata.sweeps import spec
from odonata.sweeps.scheduler import Scheduler
from odonata.sweeps.store import Store, read

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


def start(shell, *arguments):
    command = [*ODONATA, "sweep", "sweep.toml", "-o", "out", "-j", "2", "-q", *arguments]
    return launcher.start(
        command, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


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
    found = sweep_points.list_points(more, (shell.folder / "scenario.toml").read_text(), [])
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
@pytest.mark.skipif(sys.platform != "linux", reason="kills processes by what /proc says")
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
