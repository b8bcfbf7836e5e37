"""`odonata run` by several processes: one result, the same as of one process; one voice; one end."""

import json
import os
import signal
import subprocess
import time

import pytest
from conftest import ENDLESS, ODONATA, PATIENCE_S, SMALL

pytestmark = pytest.mark.slow


def run(mpi, shell, processes, *options):
    """`odonata run scenario.toml -o out` by so many processes."""
    return mpi(processes, *ODONATA, "run", "scenario.toml", "-o", "out", *options, folder=shell.folder)


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
    assert (done.code, done.err) == (0, "")
    # One answer, that of the first process.
    answer = json.loads(done.out)
    alone = json.loads((small / "run.json").read_text())
    assert (answer["outcome"], answer["digest"]) == ("completed", alone["digest"])
    assert answer["ranks"] == processes
    assert sorted(path.name for path in (shell.folder / "out").iterdir()) == sorted(
        path.name for path in small.iterdir()
    )


def test_summary_is_shown_once(mpi, shell):
    shell.write(SMALL)
    done = run(mpi, shell, 2)
    assert done.code == 0
    assert done.out.count("small: completed") == 1


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (SMALL.replace("groups = 5", "groups = 50"), [], "machine.dragonfly.groups"),
        (None, [], "the scenario cannot be read"),
        (SMALL, ["--baselines"], "run.baselines"),
        (SMALL, ["--resume"], "cannot be resumed"),
        (SMALL, ["--set", "run.threads=none"], "run.threads"),
        (SMALL, ["-o", ""], "no name for the result folder"),
    ],
)
def test_wrong_input_is_said_once_and_nothing_is_written(mpi, shell, text, options, said):
    if text is not None:
        shell.write(text)
    before = shell.files()
    done = run(mpi, shell, 3, *options)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("error: ") == 1
    assert said in done.err
    assert shell.files() == before


def test_existing_result_is_refused_once(mpi, shell):
    shell.write(SMALL)
    (shell.folder / "out").mkdir()
    done = run(mpi, shell, 3)
    assert done.code == 2
    assert done.err.count("error: ") == 1
    assert shell.files() == ["out", "scenario.toml"]


class Underway:
    """A run without end by two processes, the number of each in a file."""

    def __init__(self, mpi, shell):
        shell.write(ENDLESS)
        self.folder = shell.folder
        command = [*ODONATA, "run", "scenario.toml", "-o", "out", "--quiet"]
        script = 'echo $$ > pid.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; exec "$@"'
        self.mpirun = subprocess.Popen(
            mpi.command(2, "bash", "-c", script, "run", *command),
            cwd=shell.folder,
            env=mpi.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        deadline = time.monotonic() + PATIENCE_S
        # The folder in the making, beside the two files and the scenario: the run has begun.
        while len(shell.files()) < 4:
            assert self.mpirun.poll() is None, self.mpirun.communicate()[0]
            assert time.monotonic() < deadline, shell.files()
            time.sleep(0.05)
        time.sleep(1)

    def send(self, number: signal.Signals, process: int) -> None:
        os.kill(int((self.folder / f"pid.{process}").read_text()), number)

    def end(self) -> tuple[int, str]:
        try:
            said, _ = self.mpirun.communicate(timeout=PATIENCE_S)
        finally:
            self.mpirun.kill()
        return self.mpirun.returncode, said


@pytest.mark.parametrize("process", [0, 1])
def test_interrupt_of_one_process_ends_all_and_keeps_the_results(mpi, shell, process):
    underway = Underway(mpi, shell)
    underway.send(signal.SIGINT, process)
    code, said = underway.end()
    assert code == 130, said
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "interrupted"


@pytest.mark.parametrize("process", [0, 1])
def test_death_of_one_process_ends_the_run_without_results(mpi, shell, process):
    underway = Underway(mpi, shell)
    underway.send(signal.SIGKILL, process)
    code, said = underway.end()
    assert code in {9, 137}, said
    assert "signal 9" in said
    assert not (shell.folder / "out").exists()
