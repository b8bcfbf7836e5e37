"""Sweeps on a real Dask cluster and a real Slurm of this machine."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys

import launcher
import pytest
from conftest import ODONATA
from slurm_cluster import Slurm
from sweep_cases import journal, points, same, sweep_file, wait_for
from waiting import await_that

pytestmark = pytest.mark.slow

#: Seconds for a sweep whose workers must start, on a busy machine.
PATIENCE_S = 300

SWEEP = "seeds = 20\nbaselines = true\n[grid]\njobs.halo.ranks = [2, 4]\njobs.noise.ranks = [2, 4]\n"


@pytest.fixture
def dask(tmp_path):
    """The address of a scheduler with two workers, processes of their own."""
    pytest.importorskip("distributed")
    from distributed import Client

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{one.getsockname()[1]}"
    command = [sys.executable, "-m", "distributed.cli.dask_{}", "--no-dashboard"]
    scheduler = [part.format("scheduler") for part in command]
    worker = [part.format("worker") for part in command]
    with (tmp_path / "dask.log").open("wb") as log:
        started = [
            launcher.start(
                [*scheduler, "--host", "127.0.0.1", "--port", address.rpartition(":")[2]], stderr=log
            ),
            launcher.start(
                [*worker, address, "--nworkers", "2", "--nthreads", "1"], stderr=log, cwd=tmp_path
            ),
        ]
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE_S)
        yield address
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            process.wait(timeout=PATIENCE_S)


def start(shell, *arguments, environment=None):
    command = [*ODONATA, "sweep", "sweep.toml", "-o", "out", "--json", *arguments]
    return launcher.start(
        command, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


def check_whole(shell, running):
    """Checks that the sweep has run everything once, with the results of local processes."""
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, err
    report = json.loads(out)
    assert (report["outcome"], report["failed"]) == ("completed", [])
    keys = [kept["key"] for kept in journal(shell.folder / "out")]
    assert len(keys) == len(set(keys)) == report["runs"]["executed"]
    assert shell("sweep", "sweep.toml", "-o", "local", "-q").code == 0
    assert same(points(shell.folder / "out"), points(shell.folder / "local"))


def test_a_dask_worker_that_is_killed_costs_nothing_but_time(shell, dask):
    from distributed import Client

    sweep_file(shell, SWEEP)
    running = start(shell, "--dask", dask)
    wait_for(shell, 20, running)
    with Client(dask, set_as_default=False) as client:
        pids = client.run(os.getpid)
    os.kill(next(iter(pids.values())), signal.SIGKILL)
    check_whole(shell, running)


def test_a_run_that_dies_takes_no_dask_worker_along(shell, dask):
    from distributed import Client

    shell.write("import os\n\ndef program(rank, ranks):\n    os.abort()\n    yield\n", "bad.py")
    scenario = (
        "machine.torus.dims = [2, 2]\n[[jobs]]\nname = 'a'\nranks = 2\n"
        "workload = { stencil = { iterations = 1 } }\n"
        "[[jobs]]\nname = 'b'\nranks = 2\npython = 'bad.py:program'\n"
    )
    sweep_file(shell, "attempts = 2\nseeds = 2\n", scenario)
    with Client(dask, set_as_default=False) as client:
        before = client.run(os.getpid)
    running = start(shell, "--dask", dask)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 3, err
    assert [(one["outcome"], one["attempts"]) for one in json.loads(out)["failed"]] == [("crashed", 2)] * 2
    with Client(dask, set_as_default=False) as client:
        assert client.run(os.getpid) == before


def jobs_of(slurm):
    """The numbers of the running jobs."""
    return re.findall(r"^(\d+) test RUNNING", slurm("squeue", "-h", "-o", "%i %P %T"), re.M)


@pytest.mark.slurm
def test_slurm_runs_the_points_and_jobs_that_are_killed_cost_nothing_but_time(shell, tmp_path_factory):
    pytest.importorskip("dask_jobqueue")
    # Enough that both jobs start long before the end.
    sweep_file(shell, SWEEP.replace("seeds = 20", "seeds = 40"))
    options = ("--slurm-workers", "2", "--slurm-memory", "500 MB", "--slurm-time", "00:10:00")
    with Slurm(tmp_path_factory.mktemp("slurm")) as slurm:
        # Slurm is asked before anything waits for it.
        refused = start(shell, "--slurm", "nowhere", *options, environment=slurm.environment)
        _, err = refused.communicate(timeout=PATIENCE_S)
        assert refused.returncode == 2
        assert "invalid partition" in err
        assert shell.files() == ["scenario.toml", "sweep.toml"]
        running = start(shell, "--slurm", "test", *options, environment=slurm.environment)
        wait_for(shell, 20, running)
        await_that(lambda: len(jobs_of(slurm)) == 2, running)
        jobs = jobs_of(slurm)
        # Both: others must replace them.
        slurm("scancel", "--full", "--signal=KILL", *jobs)
        check_whole(shell, running)
        # Its jobs end with it.
        await_that(lambda: slurm("squeue", "-h") == "")
    # The output of the two killed jobs and of their replacements.
    printed = {file.stem for file in (shell.folder / "out/slurm").iterdir()}
    assert len(printed) >= 3
