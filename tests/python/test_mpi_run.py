"""`odonata run` on several processes: one result, equal to that of one process; one output; one end."""

import json
import signal

import pytest
from conftest import ENDLESS, OVERLOADED, SMALL
from mpi_library import KILLED, Underway, run
from waiting import await_that, await_work

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--scheduler", "conservative", "--threads", "2"],
        ["--scheduler", "optimistic", "--threads", "2", "--set", "run.parts=8"],
    ],
)
@pytest.mark.parametrize("processes", [2, 3])
def test_results_are_those_of_one_process(mpi, shell, small, processes, options):
    shell.write(SMALL)
    done = run(mpi, shell, processes, "--json", *options)
    # A run of seconds on a busy computer prints a line of progress.
    message = [line for line in done.err.splitlines() if "| simulated " not in line]
    assert (done.code, message) == (0, [])
    # One answer, that of the first process.
    answer = json.loads(done.out)
    alone = json.loads((small / "run.json").read_text())
    assert (answer["outcome"], answer["digest"]) == ("completed", alone["digest"])
    assert answer["processes"] == processes
    assert sorted(path.name for path in (shell.folder / "out").iterdir()) == sorted(
        path.name for path in small.iterdir()
    )


def test_summary_is_shown_once(mpi, shell):
    shell.write(SMALL)
    done = run(mpi, shell, 2)
    assert done.code == 0
    assert done.out.count("small: completed") == 1


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (SMALL.replace("groups = 5", "groups = 50"), [], "machine.dragonfly.groups"),
        (None, [], "the scenario cannot be read"),
        (SMALL, ["--baselines"], "run.baselines"),
        (SMALL, ["--set", "run.threads=none"], "run.threads"),
        (SMALL, ["-o", ""], "the result folder has no name"),
    ],
)
def test_wrong_input_is_reported_once_and_nothing_is_written(mpi, shell, text, options, message):
    if text is not None:
        shell.write(text)
    before = shell.files()
    done = run(mpi, shell, 3, *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("error: ") == 1
    assert message in done.err
    assert shell.files() == before


def test_processes_that_come_to_their_memory_limit_keep_what_was_measured(mpi, shell):
    shell.write(OVERLOADED.replace('"sequential"', '"conservative"'))
    done = run(mpi, shell, 2, "--quiet", "--set", "run.memory_limit=300 MB")
    assert done.code == 3, done.err
    assert done.err.count("out-of-memory") == 1
    result = json.loads((shell.folder / "out" / "run.json").read_text())
    assert result["outcome"] == "out-of-memory"
    assert "which run.memory_limit allows" in result["detail"]
    assert result["packets"] > 0
    assert not [name for name in shell.files() if "partial" in name]


def test_existing_result_is_refused_once(mpi, shell):
    shell.write(SMALL)
    (shell.folder / "out").mkdir()
    done = run(mpi, shell, 3)
    assert done.code == 2
    assert done.err.count("error: ") == 1
    assert shell.files() == ["out", "scenario.toml"]


def underway(mpi, shell):
    """A practically endless run on two processes, after its start."""
    shell.write(ENDLESS)
    started = Underway(mpi, shell, 2, "--quiet")
    # The unfinished folder, beside the two files and the scenario.
    await_that(lambda: len(shell.files()) >= 4, started.mpirun)
    for process in range(2):
        await_work(started.mpirun, 0.5, started.pid(process))
    return started


@pytest.mark.parametrize("process", [0, 1])
def test_interrupt_of_one_process_ends_all_and_keeps_the_results(mpi, shell, process):
    run = underway(mpi, shell)
    run.send(signal.SIGINT, process)
    code, output = run.end()
    assert code == 130, output
    answer = json.loads((shell.folder / "out" / "run.json").read_text())
    assert answer["outcome"] == "interrupted"


@pytest.mark.parametrize("process", [0, 1])
def test_death_of_one_process_ends_the_run_without_results(mpi, shell, process):
    run = underway(mpi, shell)
    run.send(signal.SIGKILL, process)
    code, output = run.end()
    assert code in KILLED, output
    assert "signal 9" in output
    assert not (shell.folder / "out").exists()
