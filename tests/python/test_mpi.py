"""Detection of several processes, and the error of a process that cannot join them."""

import pytest

from odonata.errors import InputError
from odonata.running import mpi

#: Variables that launchers set, and the launch: rank, size, a word of the launcher's name. From runs under
#: MPICH 4.0 and Open MPI 4.1, and from the sources of Slurm (src/plugins/mpi) and its manual page of srun.
STARTED = {
    "mpirun of MPICH": (
        {"PMI_RANK": "2", "PMI_SIZE": "4", "PMI_FD": "7", "MPI_LOCALNRANKS": "4"},
        2,
        4,
        "MPICH",
    ),
    "mpirun of Open MPI 4, which sets PMIX_* too": (
        {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "3", "PMIX_RANK": "0"},
        0,
        3,
        "Open MPI",
    ),
    "srun --mpi=pmi2": (
        {"PMI_RANK": "5", "PMI_SIZE": "6", "SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6"},
        5,
        6,
        "pmi2",
    ),
    "srun --mpi=pmix, a step of part of the job": (
        {"PMIX_RANK": "1", "SLURM_PROCID": "1", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "2"},
        1,
        2,
        "pmix",
    ),
    "mpirun of Open MPI in a Slurm job": (
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "1", "SLURM_NTASKS": "8"},
        1,
        2,
        "Open MPI",
    ),
}

#: Variables that do not make a process one of several.
ALONE = {
    "nothing": {},
    "the batch script of a Slurm job of 8 tasks": {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},
    "srun without an MPI": {"SLURM_PROCID": "3", "SLURM_NTASKS": "8", "SLURM_STEP_NUM_TASKS": "8"},
    "half of what mpirun sets": {"OMPI_COMM_WORLD_SIZE": "4"},
    "no numbers": {"PMI_RANK": "first", "PMI_SIZE": "4"},
    "a number that is not among them": {"PMI_RANK": "4", "PMI_SIZE": "4"},
}


@pytest.fixture
def start(monkeypatch):
    """Makes this process look as if started with these variables, by a build for `library`."""

    def start(variables, library=None):
        for _, rank, sizes in mpi._LAUNCHERS:
            for name in (rank, *sizes):
                monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(mpi._core, "mpi_library", lambda: library)

    return start


@pytest.mark.parametrize("case", STARTED)
def test_launchers_are_known_by_their_variables(case, start):
    variables, rank, size, name = STARTED[case]
    start(variables)
    started = mpi.launch()
    assert started is not None
    assert (started.rank, started.size) == (rank, size)
    assert name in started.launcher


@pytest.mark.parametrize("case", ALONE)
def test_who_was_started_alone_runs_alone(case, start):
    start(ALONE[case])
    with mpi.processes() as group:
        assert (group.rank, group.size, group.first) == (0, 1, True)


def test_one_process_of_mpirun_needs_no_mpi(start):
    start({"PMI_RANK": "0", "PMI_SIZE": "1"})
    with mpi.processes() as group:
        assert group.size == 1


def test_first_of_several_processes_says_that_the_build_has_no_mpi(start):
    start({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4"})
    with pytest.raises(InputError) as caught, mpi.processes():
        pytest.fail("came together")
    assert str(caught.value).splitlines()[0] == (
        "4 processes were started by mpirun of Open MPI, but this build of Odonata does not speak MPI"
    )
    assert "--features mpi" in caught.value.hint
    assert "docs/mpi.md" in caught.value.hint


def test_all_others_leave_in_silence(start, capfd):
    start({"PMI_RANK": "3", "PMI_SIZE": "4"})
    with pytest.raises(mpi.FailedElsewhere) as caught, mpi.processes():
        pytest.fail("came together")
    assert caught.value.code == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("rank", "expected"), [("0", InputError), ("1", mpi.FailedElsewhere)])
def test_library_that_finds_fewer_processes_than_were_started_is_refused(start, monkeypatch, rank, expected):
    start({"PMI_RANK": rank, "PMI_SIZE": "2"}, library="Some MPI 1.0")
    monkeypatch.setattr(mpi._core, "mpi_start", lambda: (0, 1), raising=False)
    monkeypatch.setattr(mpi.atexit, "register", lambda _: None)
    with pytest.raises(expected) as caught, mpi.processes():
        pytest.fail("came together")
    if rank == "0":
        assert "but Some MPI 1.0, for which Odonata was built, finds 1" in str(caught.value)


class Others:
    """Plays the other processes of a group: their value for every minimum."""

    def __init__(self, monkeypatch, *values):
        self.values = list(values)
        monkeypatch.setattr(mpi._core, "mpi_all_min", self._all_min, raising=False)

    def _all_min(self, values):
        return [min(both) for both in zip(values, self.values.pop(0), strict=True)]


def test_step_that_works_everywhere_gives_its_result(monkeypatch):
    Others(monkeypatch, [2, 2])
    assert mpi.Processes(0, 2).agree(lambda: "built") == "built"


def test_first_process_that_fails_raises_its_error_and_all_others_leave(monkeypatch):
    def fail():
        raise OSError("disk full")

    # No other has an error; then process 0 has one too; then process 2 has an input error.
    for others, raised in (([3, 3], OSError), ([3, 0], mpi.FailedElsewhere), ([2, 2], mpi.FailedElsewhere)):
        Others(monkeypatch, others)
        with pytest.raises(raised):
            mpi.Processes(1, 3).agree(fail)


def test_input_error_goes_before_the_errors_that_follow_from_it(monkeypatch):
    def fail():
        raise InputError("no such file")

    Others(monkeypatch, [2, 0])
    with pytest.raises(InputError, match="no such file"):
        mpi.Processes(1, 2).agree(fail)


def test_flag_of_any_process_is_seen_by_all(monkeypatch):
    Others(monkeypatch, [0], [1], [1])
    group = mpi.Processes(0, 2)
    assert [group.any(False), group.any(False), group.any(True)] == [True, False, True]


@pytest.mark.parametrize("agreed", [False, True])
def test_error_that_only_this_process_knows_ends_all(monkeypatch, capfd, agreed):
    ended = []
    monkeypatch.setattr(mpi._core, "mpi_abort", ended.append, raising=False)
    monkeypatch.setattr(mpi, "_gathered", lambda: mpi.Processes(1, 2, agreed))
    with pytest.raises(InputError), mpi.processes():
        raise InputError("only here")
    assert ended == ([] if agreed else [2])
    assert ("error: process 1 of 2 failed" in capfd.readouterr().err) == (not agreed)
