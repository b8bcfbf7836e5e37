"""A shared run resumes from the snapshots of all its processes only, on any number of processes."""

import contextlib
import json
import random
import resource
import shutil
import signal

import launcher
import pytest
from long_runs import (
    LONG_SHARED,
    LONGER,
    SOONER_S,
    await_fate,
    await_snapshot,
    newest_snapshot,
    place,
    snapshots,
    unbroken,
)
from mpi_library import KILLED, Underway, run
from waiting import await_that, works

import odonata

pytestmark = pytest.mark.mpi

SCHEDULERS = ["conservative", "optimistic"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return unbroken(LONG_SHARED, tmp_path_factory.mktemp("whole"))


def killed(mpi, shell, processes, *options):
    """A practically endless run, one process of which was killed when all had saved it."""
    shell.write(LONGER)
    underway = Underway(mpi, shell, processes, "-q", *options)
    await_snapshot(shell, underway.mpirun)
    underway.send(signal.SIGKILL, processes - 1)
    code, output = underway.end()
    assert code in KILLED, output


def files_of_the_newest(shell):
    return sorted(path.name for path in newest_snapshot(shell).glob("*.snapshot"))


def digest(shell):
    return json.loads((shell.folder / "out" / "run.json").read_text())["digest"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_killed_run_goes_on_to_the_results_of_one_without_a_break(mpi, shell, whole, scheduler):
    shell.write(LONG_SHARED)
    underway = Underway(mpi, shell, 2, "-q", "--scheduler", scheduler, "--threads", "2")
    await_snapshot(shell, underway.mpirun)
    underway.send(signal.SIGKILL, 0)
    code, output = underway.end()
    assert code in KILLED, output
    assert files_of_the_newest(shell) == ["0.snapshot", "1.snapshot"]
    before = shell.files()
    refused = run(mpi, shell, 2)
    assert refused.code == 2
    assert refused.err.count("error: an unfinished run has this name") == 1
    assert "continue with --resume" in refused.err
    assert shell.files() == before
    done = run(mpi, shell, 2, "--resume", "--json")
    assert done.code == 0, done.err
    assert done.err.count("resumes: saved at") == 1
    answer = json.loads(done.out)
    assert (answer["digest"], answer["scheduler"]) == (whole.run["digest"], scheduler)
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]
    resumed = odonata.load(shell.folder / "out")
    assert resumed.tables == whole.tables
    for name in whole.tables:
        assert resumed.table(name).equals(whole.table(name)), name


def test_resume_begins_where_there_is_nothing_to_go_on_from(mpi, shell, whole):
    shell.write(LONG_SHARED)
    done = run(mpi, shell, 2, "--resume")
    assert done.code == 0, done.err
    assert done.err.count("starts: no snapshot to resume from") == 1
    assert digest(shell) == whole.run["digest"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize(("saved", "resumed"), [(2, 3), (3, 1), (1, 2)])
def test_another_number_of_processes_goes_on_to_the_same_results(
    mpi, shell, whole, scheduler, saved, resumed
):
    shell.write(LONG_SHARED)
    underway = Underway(mpi, shell, saved, "-q", "--scheduler", scheduler, "--set", "run.parts=3")
    await_snapshot(shell, underway.mpirun)
    underway.send(signal.SIGKILL, saved - 1)
    code, output = underway.end()
    assert code in KILLED, output
    assert files_of_the_newest(shell) == [f"{process}.snapshot" for process in range(saved)]
    done = run(mpi, shell, resumed, "--resume", "--json")
    assert done.code == 0, done.err
    assert done.err.count("resumes: saved at") == 1
    answer = json.loads(done.out)
    assert (answer["digest"], answer["scheduler"]) == (whole.run["digest"], scheduler)
    again = odonata.load(shell.folder / "out")
    assert (again.run["processes"], again.run["schedule"]["parts"]) == (resumed, 3)
    for name in whole.tables:
        assert again.table(name).equals(whole.table(name)), name


def test_what_mpi_has_saved_goes_on_without_it(mpi, shell, whole):
    shell.write(LONG_SHARED)
    underway = Underway(mpi, shell, 2, "-q")
    await_snapshot(shell, underway.mpirun)
    underway.send(signal.SIGKILL, 0)
    code, output = underway.end()
    assert code in KILLED, output
    done = shell("run", "scenario.toml", "-o", "out", "--resume", "-q")
    assert done.code == 0, done.err
    assert digest(shell) == whole.run["digest"]


def test_more_processes_than_parts_are_refused(mpi, shell):
    killed(mpi, shell, 2, "--set", "run.parts=2")
    before = shell.files()
    refused = run(mpi, shell, 3, "--resume")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.count("error: ") == 1
    assert "the run was saved in 2 parts, and 3 processes would resume it" in refused.err
    assert "2 processes at most" in refused.err
    assert shell.files() == before


def test_a_run_in_one_piece_is_not_resumed_by_several(mpi, shell):
    killed(mpi, shell, 1, "--scheduler", "sequential")
    before = shell.files()
    refused = run(mpi, shell, 2, "--resume")
    assert refused.code == 2
    assert refused.err.count("error: ") == 1
    assert "the run was saved in one piece, and 2 processes would resume it" in refused.err
    assert shell.files() == before


def test_a_snapshot_that_one_process_lacks_is_refused(mpi, shell, whole):
    killed(mpi, shell, 2)
    file = newest_snapshot(shell) / "1.snapshot"
    content = file.read_bytes()
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 4
    for spoil, message in [
        (lambda: file.write_bytes(changed), "the snapshot is damaged: its checksum is wrong"),
        (lambda: file.write_bytes(content[:-9]), "the snapshot is damaged"),
        (file.unlink, "the snapshot cannot be read: No such file"),
    ]:
        spoil()
        before = shell.files()
        refused = run(mpi, shell, 2, "--resume")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.count("error: ") == 1
        assert message in refused.err
        assert "1.snapshot" in refused.err
        assert "start again with --force" in refused.err
        assert shell.files() == before
    shell.write(LONG_SHARED)
    assert run(mpi, shell, 2, "--force", "-q").code == 0
    assert digest(shell) == whole.run["digest"]


def test_another_setting_is_refused_by_name(mpi, shell):
    killed(mpi, shell, 2)
    refused = run(mpi, shell, 2, "--resume", "--set", "network.packet=2 KiB")
    assert refused.code == 2
    assert refused.err.count("error: ") == 1
    assert "network.packet (4 KiB -> 2 KiB)" in refused.err


@pytest.mark.parametrize("process", [0, 1])
def test_sigterm_of_one_process_saves_the_run_and_stops_all(mpi, shell, whole, process):
    shell.write(LONG_SHARED.replace("0.1 s", "1 h"))
    for work_s in SOONER_S:
        underway = Underway(mpi, shell, 2, "-q")
        await_that((place(shell) / "about.json").exists, underway.mpirun)
        if works(underway.mpirun, work_s, underway.pid(process)):
            with contextlib.suppress(ProcessLookupError):
                underway.send(signal.SIGTERM, process)
        code, output = underway.end()
        if code != 0:
            break
        shutil.rmtree(shell.folder / "out")
    assert code == 130, output
    assert output.count("the run was saved, and stopped by SIGTERM; the run is saved at") == 1
    assert not (shell.folder / "out").exists()
    assert run(mpi, shell, 2, "--resume", "-q").code == 0
    assert digest(shell) == whole.run["digest"]


def test_a_snapshot_that_does_not_fit_on_the_disk_of_one_process_costs_a_warning(
    mpi, shell, whole, monkeypatch
):
    for name, value in launcher.NO_BYTECODE.items():
        monkeypatch.setenv(name, value)
    shell.write(LONG_SHARED.replace("0.1 s", "0.02 s"))
    underway = Underway(mpi, shell, 2, "-q")
    await_snapshot(shell, underway.mpirun)
    # Not sooner: the memory that processes share counts as a file.
    resource.prlimit(underway.pid(1), resource.RLIMIT_FSIZE, (65536, 65536))
    code, output = underway.end()
    assert code == 0, output
    assert "the run could not be saved, and continues: File too large" in output
    assert digest(shell) == whole.run["digest"]
    assert sorted(path.name for path in shell.folder.iterdir()) == ["out", "scenario.toml"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_processes_that_are_killed_at_random_moments_lose_nothing(mpi, shell, whole, request, scheduler):
    """With `--kills N`, N / 4 times; a run that completes is started again, and the last one is not
    killed.
    """
    shell.write(LONG_SHARED)
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    lot = random.Random(seed)
    kills, resumed, ends = 0, 0, 0
    wanted = request.config.getoption("--kills") / 4
    while kills < wanted or ends == 0:
        resumed += bool(snapshots(shell))
        underway = Underway(mpi, shell, 2, "--resume", "--scheduler", scheduler, "--threads", "1")
        if kills < wanted:
            await_fate(shell, underway.mpirun, lot, within_s=1.0, saved=kills % 2 == 1)
            # One of them, which makes mpirun end the others, or all at once.
            for process in lot.choice([[0], [1], [0, 1], [1, 0]]):
                underway.kill(process)
        code, output = underway.end()
        assert "error: " not in output, output
        out = shell.folder / "out"
        if code != 0:
            kills += 1
            if not out.exists():
                continue
        results = odonata.load(out)
        assert results.run["digest"] == whole.run["digest"]
        assert results.tables == whole.tables
        ends += 1
        shutil.rmtree(out)
        shutil.rmtree(place(shell), ignore_errors=True)
    print(f"{kills} kills, {resumed} resumed, {ends} complete")
    assert resumed >= wanted // 4
