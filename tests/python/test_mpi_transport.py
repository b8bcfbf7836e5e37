"""The transport between processes: messages arrive, and no process outlives another."""

import pytest
from mpi_library import KILLED

pytestmark = pytest.mark.mpi


@pytest.mark.parametrize("processes", [1, 2, 3])
@pytest.mark.parametrize("trial", ["exchange", "pieces", "refusals"])
def test_transport_passes_its_trials(mpi, trial, processes):
    done = mpi.program(processes, "transport", trial)
    assert (done.code, done.out.count("\n"), done.err) == (0, 1, "")
    assert done.out.startswith(f"{trial}: passed, {processes} processes, ")


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_toy_model_gives_the_results_of_the_sequential_scheduler(mpi, processes):
    done = mpi.program(processes, "toy")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("30 toys: passed")


@pytest.mark.parametrize("who", ["0", "1", "2"])
@pytest.mark.parametrize(
    ("trial", "message"),
    [
        ("panic", "process {who} of 3 has panicked"),
        ("panic-worker", "process {who} of 3 has panicked"),
        ("out-of-step", "processes are out of step"),
    ],
)
def test_panic_of_one_process_ends_all_with_a_message(mpi, trial, message, who):
    done = mpi.program(3, "transport", trial, who)
    assert done.code == 1
    assert message.format(who=who) in done.err
    assert "passed" not in done.out


@pytest.mark.parametrize("who", ["0", "2"])
@pytest.mark.parametrize(
    ("trial", "codes"),
    # The exit code of mpirun depends on the library: MPICH gives the number of the signal, Open MPI 128 more.
    # In MPICH, a process that leaves silently counts as killed, and so do those that MPICH ends because of
    # it; one that finds its connection broken gives 1. The first report decides. The one that vanishes calls
    # `exit(0)`, so that 0 is possible. The test checks that all end and none passes.
    [("killed", KILLED | {1}), ("abort", {3}), ("exit", {1, 4, 9}), ("vanish", {0, 1, 9})],
)
def test_death_of_one_process_ends_all(mpi, trial, codes, who):
    done = mpi.program(3, "transport", trial, who)
    assert done.code in codes
    assert "passed" not in done.out
    if trial == "killed":
        assert "signal 9" in done.out + done.err
