"""Signals are handled while user code runs, and endless programs end by themselves."""

import json
import re
import signal
import subprocess
import time

import launcher
import pyarrow.parquet as pq
import pytest
from conftest import ODONATA
from launcher import PATIENCE_S
from waiting import await_that

#: Marks of rank 1 before the tested code: more operations than an estimate examines.
BEFORE = 110_000

#: `odd` is the tested code of rank 1.
PROGRAM = f"""\
import time
from pathlib import Path
from odonata.operations import compute, iprobe, isend, mark, test

def spin():
    while True:
        pass

def spin_on_exceptions():
    while True:
        try:
            sum(range(1000))
        except Exception:
            pass

def spin_on_everything():
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

def sleep():
    time.sleep(3600)

def busy(rank, ranks, odd):
    for number in range({BEFORE} if rank == 1 else 2 * {BEFORE}):
        yield compute(1e-6)
        yield mark(number)
    if rank == 1:
        Path("there").touch()
        globals()[odd]()

def at_once(rank, ranks):
    if rank == 1:
        Path("there").touch()
        spin()
    yield compute(1e-6)

def again(rank, ranks, kind):
    yield compute(1e-6)
    operation = {{"compute": compute(0), "test": test(0), "mark": mark(7), "probe": iprobe(0)}}[kind]
    while rank == 1:
        yield operation
"""

MACHINE = "[machine.torus]\ndims = [4]\n"


def job(function, **args):
    given = ", ".join(f'{key} = "{value}"' for key, value in args.items())
    return f'[[jobs]]\nname = "own"\npython = "own.py:{function}"\nranks = 2\nargs = {{ {given} }}\n'


def start(shell, *arguments, program=PROGRAM):
    shell.write(program, "own.py")
    return launcher.start(
        [*ODONATA, *arguments], cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def await_file(shell, process, name="there"):
    """Waits until the user code reports its start."""
    await_that((shell.folder / name).exists, process)


def stopped(process, number, times=1):
    """Sends the signal; returns the output of the process at its end."""
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.6 if times > 1 else 0)
    out, err = process.communicate(timeout=PATIENCE_S)
    return out, err


@pytest.mark.parametrize(
    ("odd", "number"),
    [
        ("spin_on_exceptions", signal.SIGTERM),
        ("sleep", signal.SIGINT),
        # The tests below cover the end in another thread, and before the first operation.
        pytest.param("spin", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("spin", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("spin_on_exceptions", signal.SIGINT, marks=pytest.mark.slow),
        pytest.param("sleep", signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_code_of_a_user_and_what_was_measured_is_kept(shell, odd, number):
    shell.write(MACHINE + job("busy", odd=odd))
    with start(shell, "run", "scenario.toml", "-o", "out") as process:
        await_file(shell, process)
        out, err = stopped(process, number)
    assert process.returncode == 130, err
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "interrupted"
    marks = pq.read_table(shell.folder / "out" / "iterations.parquet").to_pylist()
    # The generator runs a little ahead of its rank.
    assert sum(row["ranks"] == 2 for row in marks) > BEFORE - 1000
    assert "interrupted" in out
    assert not list(shell.folder.glob(".*"))


@pytest.mark.parametrize("scheduler", [pytest.param("conservative", marks=pytest.mark.slow), "optimistic"])
def test_a_signal_ends_the_code_of_a_user_in_another_thread(shell, scheduler):
    shell.write(MACHINE + job("busy", odd="spin"))
    settings = ["--scheduler", scheduler, "--threads", "2", "--set", "run.parts=4"]
    with start(shell, "run", "scenario.toml", "-o", "out", "-q", *settings) as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGINT)
    assert process.returncode == 130, err
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "interrupted"


def test_a_program_that_does_not_come_to_its_first_operation_is_ended(shell):
    shell.write(MACHINE + job("at_once"))
    with start(shell, "run", "scenario.toml", "-o", "out", "-q") as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGINT)
    assert process.returncode == 130, err
    assert json.loads((shell.folder / "out" / "run.json").read_text())["outcome"] == "interrupted"


def test_a_program_that_catches_everything_is_ended_by_the_third_signal(shell):
    shell.write(MACHINE + job("busy", odd="spin_on_everything"))
    with start(shell, "run", "scenario.toml", "-o", "out", "-q") as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGINT, times=3)
    assert process.returncode == 130, err
    assert not (shell.folder / "out").exists()


@pytest.mark.parametrize("command", [["run", "-o", "out"], ["check"], ["trace", "convert"]])
def test_a_file_that_runs_for_ever_when_it_is_loaded_is_ended(shell, command):
    shell.write(MACHINE + job("busy", odd="spin"))
    arguments = [*command, "scenario.toml"]
    if command[0] == "trace":
        arguments.append("x.program")
    endless = PROGRAM + "Path('there').touch()\nspin()\n"
    with start(shell, *arguments, program=endless) as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGINT)
    assert process.returncode == 130, err
    # A check writes nothing.
    assert ("stopped" if command == ["check"] else "nothing was written") in err
    assert {"out", "x.program"}.isdisjoint(shell.files())


def test_a_program_that_is_written_to_files_for_ever_is_ended(shell):
    shell.write(MACHINE + job("busy", odd="spin"))
    with start(shell, "trace", "convert", "scenario.toml", "x.program") as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGINT)
    assert process.returncode == 130, err
    assert "nothing was written" in err
    assert not list(shell.folder.glob("*x.program*"))


@pytest.mark.parametrize(
    "kind",
    [
        "compute",
        "probe",
        pytest.param("test", marks=pytest.mark.slow),
        pytest.param("mark", marks=pytest.mark.slow),
    ],
)
def test_a_program_that_goes_on_for_ever_at_one_instant_ends_with_its_name(shell, kind):
    shell.write(MACHINE + '[run]\ntime_limit = "1 s"\n' + job("again", kind=kind))
    shell.write(PROGRAM, "own.py")
    done = shell("run", "scenario.toml", "-o", "out", "-q")
    assert done.code == 3, done.err
    run = json.loads((shell.folder / "out" / "run.json").read_text())
    assert run["outcome"] == "program-error"
    assert re.search(
        r'job "own" rank 1: .* \(operation 100001\), after 100000 consecutive operations .* own\.py:again',
        run["detail"],
    ), run["detail"]


#: Rank 1 waits until the test removes a file: no simulation depends on it.
HELD = """\
from pathlib import Path
from odonata.operations import compute, mark

def held(rank, ranks):
    for number in range(300):
        yield compute(1e-6)
        yield mark(number)
        if rank == 1 and number == 200:
            Path("there").touch()
            while Path("hold").exists():
                pass
"""


def test_a_run_that_was_saved_before_its_program_got_stuck_goes_on_from_there(shell):
    traffic = """\
[[jobs]]
name = "noise"
ranks = 2
workload = { uniform = { load = 0.2, messages = 200000 } }
"""
    own = '[[jobs]]\nname = "own"\npython = "own.py:held"\nranks = 2\nstart = "1 ms"\n'
    shell.write(MACHINE + '[run]\nmessage_rows = 0\ncheckpoint_interval = "0.1 s"\n' + traffic + own)
    shell.write("", "hold")
    with start(shell, "run", "scenario.toml", "-o", "out", program=HELD) as process:
        await_file(shell, process)
        _, err = stopped(process, signal.SIGTERM)
    assert process.returncode == 130, err
    assert "can be resumed" in err or "--resume" in err, err
    assert not (shell.folder / "out").exists()
    (shell.folder / "hold").unlink()
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--resume").code == 0
    assert shell("run", "scenario.toml", "-o", "unbroken", "-q").code == 0
    resumed, unbroken = (
        json.loads((shell.folder / name / "run.json").read_text()) for name in ("out", "unbroken")
    )
    assert (resumed["outcome"], resumed["digest"]) == ("completed", unbroken["digest"])


def test_an_endless_program_ends_alike_under_every_scheduler(shell):
    shell.write(MACHINE + job("again", kind="compute"))
    shell.write(PROGRAM, "own.py")
    ends = set()
    for scheduler in ("sequential", "conservative", "optimistic"):
        out = f"{scheduler}-results"
        settings = ["--scheduler", scheduler, "--threads", "2", "--set", "run.parts=4"]
        assert shell("run", "scenario.toml", "-o", out, "-q", *settings).code == 3
        run = json.loads((shell.folder / out / "run.json").read_text())
        ends.add((run["outcome"], run["detail"], run["digest"]))
    assert len(ends) == 1, ends
