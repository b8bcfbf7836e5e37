"""A killed run resumes from its snapshot, with the results of an uninterrupted one."""

import json
import os
import random
import shutil
import signal
import subprocess
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import launcher
import pytest
from conftest import ODONATA, SMALL
from long_runs import LONG, LONGER, SOONER_S, await_fate, await_snapshot, newest_snapshot, place, snapshots
from waiting import await_that, await_work, works

import odonata
from odonata import InputError, RunSuspended
from odonata.base.lock import hold
from odonata.running import runner
from odonata.running.checkpoint import Checkpoints
from odonata.running.mpi import Processes
from odonata.running.unfinished import place_of, prepare


def start(shell, *arguments, **options):
    command = [*ODONATA, "run", "scenario.toml", "-o", "out", "-q", *arguments]
    return launcher.start(command, cwd=shell.folder, stderr=subprocess.PIPE, text=True, **options)


def killed(shell, text=LONG, *arguments):
    """A run of `text` that was killed after its first snapshot."""
    shell.write(text)
    with start(shell, *arguments) as process:
        await_snapshot(shell, process)
        process.kill()
    return process


def digest_of(folder):
    return json.loads((folder / "run.json").read_text())["digest"]


def test_a_killed_run_leaves_no_result_and_says_that_it_can_be_resumed(shell):
    killed(shell)
    assert sorted(path.name for path in shell.folder.iterdir()) == [".out.unfinished", "scenario.toml"]
    assert not list(shell.folder.rglob("run.json"))
    before = shell.files()
    refused = shell("run", "scenario.toml", "-o", "out")
    assert refused.code == 2
    assert "an unfinished run has this name" in refused.err
    assert "it is saved at" in refused.err
    assert "--resume" in refused.err
    assert shell.files() == before


def test_a_resumed_run_has_the_results_of_one_without_a_break(shell, whole):
    killed(shell)
    done = shell("run", "scenario.toml", "-o", "out", "--resume")
    assert (done.code, done.err.splitlines()[0][:17]) == (0, "resumes: saved at")
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]
    resumed = odonata.load(shell.folder / "out")
    assert resumed.run["digest"] == whole.run["digest"]
    assert resumed.tables == whole.tables
    for name in whole.tables:
        assert resumed.table(name).equals(whole.table(name)), name
    # Not the events: schedulers on several threads differ in the number of idle wake-ups.
    same = ("outcome", "detail", "simulated_s", "packets", "packet_hops", "messages")
    assert {key: resumed.run[key] for key in same} == {key: whole.run[key] for key in same}


def test_what_a_run_has_cost_before_it_was_killed_counts(shell):
    killed(shell, LONG.replace("0.1 s", "0.5 s"))
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--resume").code == 0
    run = odonata.load(shell.folder / "out").run
    assert run["wall_s"] > 0.5
    assert run["cpu_s"] > 0.25


def test_resume_begins_where_there_is_nothing_to_go_on_from(shell, whole):
    shell.write(LONG)
    done = shell("run", "scenario.toml", "-o", "out", "--resume")
    assert done.code == 0
    assert done.err.startswith("starts: no snapshot to resume from")
    assert digest_of(shell.folder / "out") == whole.run["digest"]
    again = shell("run", "scenario.toml", "-o", "out", "--resume")
    assert again.code == 2
    assert "the result folder exists" in again.err


@pytest.mark.slow
def test_another_scenario_seed_or_setting_is_refused_by_name(shell):
    killed(shell)
    before = shell.files()
    for arguments, changed in [
        (["--seed", "4"], "seed (3 -> 4)"),
        (
            ["--set", "jobs.0.ranks=8", "--set", "jobs.0.workload.stencil.dims=[4, 2]"],
            "jobs.halo.ranks (16 -> 8)",
        ),
        (["--set", "network.packet=2 KiB"], "network.packet (4 KiB -> 2 KiB)"),
        (["--baselines"], "run.baselines (False -> True)"),
    ]:
        refused = shell("run", "scenario.toml", "-o", "out", "--resume", *arguments)
        assert refused.code == 2
        assert "the run cannot be resumed: the scenario differs from the saved one" in refused.err
        assert changed in refused.err
        assert "--force" in refused.err
    assert shell.files() == before
    # The interval of snapshots is free.
    done = shell(
        "run", "scenario.toml", "-o", "out", "-q", "--resume", "--set", "run.checkpoint_interval=1 h"
    )
    assert (done.code, done.err) == (0, "")


@pytest.mark.slow
def test_a_damaged_snapshot_is_refused_and_stays(shell, whole):
    killed(shell)
    file = newest_snapshot(shell) / "0.snapshot"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 4
    file.write_bytes(content)
    refused = shell("run", "scenario.toml", "-o", "out", "--resume")
    assert refused.code == 2
    assert "the snapshot is damaged: its checksum is wrong" in refused.err
    assert file.read_bytes() == content
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--force").code == 0
    assert digest_of(shell.folder / "out") == whole.run["digest"]
    assert not place(shell).exists()


def test_a_mistake_in_the_scenario_costs_no_snapshot(shell):
    killed(shell)
    before = shell.files()
    shell.write(LONG.replace("ranks = 16", "ranks = -1"))
    for option in ("--resume", "--force"):
        refused = shell("run", "scenario.toml", "-o", "out", option)
        assert refused.code == 2
        assert "jobs.0.ranks" in refused.err
    assert shell.files() == before


def test_a_run_of_a_live_process_is_left_alone(shell):
    shell.write(LONGER)
    with start(shell) as process:
        await_snapshot(shell, process)
        for option in ([], ["--resume"], ["--force"]):
            refused = shell("run", "scenario.toml", "-o", "out", *option)
            assert refused.code == 2
            assert "another process works on this run" in refused.err
        assert process.poll() is None
        process.kill()


def test_sigterm_saves_a_run_and_stops_it(shell, whole):
    shell.write(LONG.replace("0.1 s", "1 h"))
    for work_s in SOONER_S:
        with start(shell) as process:
            await_that(place(shell).exists, process)
            if works(process, work_s):
                process.terminate()
            _, err = process.communicate(timeout=launcher.PATIENCE_S)
        if process.returncode != 0:
            break
        shutil.rmtree(shell.folder / "out")
    assert process.returncode == 130
    assert "the run was saved, and stopped by SIGTERM; the run is saved at" in err
    assert not (shell.folder / "out").exists()
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--resume").code == 0
    assert digest_of(shell.folder / "out") == whole.run["digest"]


def test_ctrl_c_ends_a_run_with_snapshots_as_any_other(shell):
    shell.write(LONGER)
    with start(shell) as process:
        await_snapshot(shell, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert process.returncode == 130
    assert (
        "the run and its snapshots are gone; SIGTERM in place of Ctrl-C keeps snapshots for --resume" in err
    )
    assert odonata.load(shell.folder / "out").outcome == "interrupted"
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]


def test_a_snapshot_that_does_not_fit_on_the_disk_costs_a_warning(shell, whole):
    shell.write(LONG)
    with start(shell, "--set", "run.message_rows=0", largest_file=65536) as process:
        _, err = process.communicate(timeout=launcher.PATIENCE_S)
    assert "the run could not be saved, and continues: File too large" in err
    assert "Traceback" not in err
    if process.returncode == 0:
        assert odonata.load(shell.folder / "out").outcome == "completed"
    else:  # the results did not fit either
        assert sorted(path.name for path in shell.folder.iterdir()) == ["scenario.toml"]


def test_without_an_interval_nothing_is_saved(shell):
    shell.write(LONGER.replace('checkpoint_interval = "0.1 s"', ""))
    with start(shell) as process:
        await_that(lambda: list(shell.folder.glob(".out.*.partial")), process)
        await_work(process, 0.5)
        assert not place(shell).exists()
        assert not list(shell.folder.rglob("*.snapshot"))
        process.kill()


@pytest.mark.slow
def test_baselines_are_resumed_and_those_that_are_complete_stay(shell):
    shell.write(LONG)
    with start(shell, "--baselines") as process:
        run_file = place(shell) / "results" / "baselines" / "halo" / "run.json"
        await_that(run_file.exists, process)
        process.kill()
    written_at = run_file.stat().st_mtime_ns
    assert not (shell.folder / "out").exists()
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--baselines", "--resume").code == 0
    results = odonata.load(shell.folder / "out")
    assert (results.path / "baselines" / "halo" / "run.json").stat().st_mtime_ns == written_at
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]
    assert not list(results.path.rglob("*.lock"))
    plain = odonata.run(
        shell.folder / "scenario.toml",
        shell.folder / "plain",
        baselines=True,
        overrides={"run.checkpoint_interval": "1 h"},
    )
    assert results.run["digest"] == plain.run["digest"]
    assert list(results.baselines) == list(plain.baselines)
    for job, baseline in plain.baselines.items():
        assert results.baselines[job].run["digest"] == baseline.run["digest"]
    assert repr(results.rows("slowdown")) == repr(plain.rows("slowdown"))


def test_in_python_a_run_is_resumed_too(tmp_path, whole):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(LONG, encoding="utf-8")

    class Killed(Exception):
        pass

    def kill(now):
        if list((tmp_path / ".out.unfinished").glob("checkpoint/run/[0-9]")):
            raise Killed

    with pytest.raises(Killed) as raised:
        odonata.run(scenario, tmp_path / "out", progress=kill)
    assert "continue with resume=True" in raised.value.__notes__[0]
    with pytest.raises(InputError, match="unfinished"):
        odonata.run(scenario, tmp_path / "out")
    walls = []
    results = odonata.run(
        scenario, tmp_path / "out", resume=True, progress=lambda now: walls.append((now.wall_s, now.fraction))
    )
    assert results.run["digest"] == whole.run["digest"]
    assert walls[0][0] > 0.1
    with pytest.raises(InputError, match="without a folder"):
        odonata.run(scenario, resume=True)


def test_sigterm_raises_in_python(tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(LONGER, encoding="utf-8")
    with pytest.raises(RunSuspended):
        odonata.run(scenario, tmp_path / "out", progress=lambda _: os.kill(os.getpid(), signal.SIGTERM))
    assert list((tmp_path / ".out.unfinished").glob("checkpoint/run/[0-9]*/0.snapshot"))


def test_a_failure_before_the_first_snapshot_leaves_nothing(tmp_path):
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(LONG.replace("0.1 s", "1 h"), encoding="utf-8")

    def fail(now):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full") as raised:
        odonata.run(scenario, tmp_path / "new" / "out", progress=fail)
    assert not getattr(raised.value, "__notes__", [])
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.toml"]


class Disk:
    """A simulation of the disk only."""

    is_full = False

    def save(self, path):
        if self.is_full:
            raise OSError(28, "No space left on device")
        path.write_text("state")


#: Its progress.
NOW = runner.Progress(1.0, 2e-3, 0, 0, 0, 0, fraction=0.5)


def test_a_snapshot_stays_until_the_next_one_is_whole(tmp_path):
    simulation = Disk()
    checkpoints = Checkpoints(tmp_path / "run", 1.0)
    now = NOW
    assert checkpoints.save(simulation, now)
    assert checkpoints.save(simulation, now)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["2"]
    simulation.is_full = True
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert not checkpoints.save(simulation, now)
    assert "No space left on device" in str(caught[0].message)
    # Killed while writing the next one.
    (tmp_path / "run" / "3.0.partial").mkdir()
    saved = checkpoints.latest()
    assert (saved.folder, saved.simulated_s, saved.fraction) == (
        tmp_path / "run" / "2",
        2e-3,
        0.5,
    )
    # Killed when the next was complete and the old one still existed.
    shutil.copytree(tmp_path / "run" / "2", tmp_path / "run" / "10")
    assert checkpoints.latest().folder.name == "10"


class Threads(Processes):
    """One of several threads that act as processes."""

    def __init__(self, rank, table, barrier):
        super().__init__(rank, barrier.parties)
        self._table = table
        self._barrier = barrier

    def least(self, *values):
        self._table[self.rank] = values
        self._barrier.wait(timeout=launcher.PATIENCE_S)
        least = [min(column) for column in zip(*self._table, strict=True)]
        self._barrier.wait(timeout=launcher.PATIENCE_S)
        return least


@pytest.mark.parametrize("full", [0, 1, 2])
def test_a_snapshot_of_several_processes_is_that_of_all(tmp_path, full):
    table, barrier = [None] * 3, threading.Barrier(3)
    folder = tmp_path / "run"
    warned = []

    def process(rank):
        checkpoints = Checkpoints(folder, 1.0, warn=warned.append, group=Threads(rank, table, barrier))
        disk = Disk()
        done = [checkpoints.save(disk, NOW), checkpoints.save(disk, NOW)]
        # Killed while writing the next one.
        if rank == full:
            (folder / "3.7.partial").mkdir()
        disk.is_full = rank == full
        done.append(checkpoints.save(disk, NOW))
        latest = checkpoints.broadcast(checkpoints.latest() if rank == 0 else None)
        disk.is_full = False
        done.append(checkpoints.save(disk, NOW))
        return done, latest.folder

    with ThreadPoolExecutor(3) as threads:
        for done, latest in threads.map(process, range(3)):
            assert done == [True, True, False, True]
            assert latest == folder / "2"
    assert warned == ["the run could not be saved, and continues: No space left on device"]
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*")) == [
        "3",
        "3/0.snapshot",
        "3/1.snapshot",
        "3/2.snapshot",
        "3/progress.json",
    ]


def test_a_lock_is_held_by_one_and_let_go_with_its_file(tmp_path):
    path = tmp_path / "folder" / "lock"
    first = hold(path)
    assert first is not None
    assert hold(path) is None
    os.close(first)
    second = hold(path)
    assert second is not None
    # A process that waits for a lock whose folder is removed would hold a lock that others cannot see.
    shutil.rmtree(path.parent)
    third = hold(path)
    assert hold(path) is None
    for file in (second, third):
        os.close(file)


def test_a_run_that_has_become_another_is_prepared_without_touching_anything(tmp_path):
    task = runner.Task(SMALL, "small.toml", [], None)
    folder, _ = prepare(task, tmp_path / "out")
    assert type(folder).__name__ == "ResultFolder"
    assert list(tmp_path.iterdir()) == []
    place_of(tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="unfinished"):
        prepare(task, tmp_path / "out")
    # Without an interval, too, a new run with the option to replace clears up.
    folder, _ = prepare(task, tmp_path / "out", replace=True)
    with folder:
        (folder.path / "run.json").write_text("{}")
        folder.publish()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_loses_nothing(shell, whole, request):
    """With `--kills N`, N times; a run that completes is started again, and the last one is not killed."""
    shell.write(LONG)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    lot = random.Random(seed)
    kills, resumed, ends = 0, 0, 0
    wanted = request.config.getoption("--kills")
    while kills < wanted or ends == 0:
        resumed += bool(snapshots(shell))
        process = start(shell, "--resume")
        if kills < wanted:
            await_fate(shell, process, lot, within_s=1.5, saved=kills % 2 == 1)
            process.kill()
        _, err = process.communicate(timeout=launcher.PATIENCE_S)
        out = shell.folder / "out"
        if process.returncode == -signal.SIGKILL:
            kills += 1
            if not out.exists():
                continue
        # The folder exists: killed or not, it must be complete.
        assert process.returncode in (0, -signal.SIGKILL), err
        results = odonata.load(out)
        assert results.run["digest"] == whole.run["digest"]
        assert results.tables == whole.tables
        ends += 1
        shutil.rmtree(out)
        shutil.rmtree(place(shell), ignore_errors=True)
    print(f"{kills} kills, {resumed} resumed, {ends} complete")
    assert resumed >= wanted // 4
