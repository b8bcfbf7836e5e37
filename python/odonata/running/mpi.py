"""Several processes that share one run, started by `mpirun` or `srun`.

Here MPI is the library between the processes of the simulator (the MPI that jobs use is simulated). The
environment tells whether this process is one of several, so that a single process neither loads nor needs
MPI. docs/mpi.md describes how to build Odonata for it.

A block holds the steps that the processes take together:

    with mpi.processes() as group:
        simulation = group.agree(task.build)  # succeeds in all of them, or fails in all of them
        ...
        if group.first:
            print("only one process prints")

An error that leaves the block in one process ends all processes: the others would wait for it forever.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from odonata import _core
from odonata.errors import HOST_FAILED, INPUT_WRONG, INTERRUPTED, InputError

T = TypeVar("T")

#: Launchers, and the variables in which each passes the number of a process and the number of processes.
#: Batch scripts of Slurm see its SLURM_* too, so these count only beside a PMIX_RANK.
_LAUNCHERS = (
    ("mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("mpirun of MPICH or a relative, or srun --mpi=pmi2", "PMI_RANK", ("PMI_SIZE",)),
    ("srun --mpi=pmix", "PMIX_RANK", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")),
)


@dataclass(frozen=True)
class Launch:
    """The launch of this process, from its environment."""

    launcher: str
    #: The number of this process, counted from 0.
    rank: int
    #: Number of processes.
    size: int


def launch(environment: Mapping[str, str] | None = None) -> Launch | None:
    """The launch of this process together with others; None for a single process.

    >>> launch({"PMI_RANK": "1", "PMI_SIZE": "4"}).size
    4
    >>> launch({"SLURM_NTASKS": "4", "SLURM_PROCID": "0"})
    """
    variables = os.environ if environment is None else environment
    for launcher, rank_name, size_names in _LAUNCHERS:
        rank = variables.get(rank_name, "")
        size = next((variables[name] for name in size_names if name in variables), "")
        if rank.isdecimal() and size.isdecimal() and int(rank) < int(size):
            return Launch(launcher, int(rank), int(size))
    return None


class FailedElsewhere(SystemExit):
    """Another process reports the error, and ends with its exit code; this one ends silently.

    It ends with exit code 0, because a launcher may kill the reporting process when another one has failed
    before.
    """

    def __init__(self) -> None:
        super().__init__(0)


@dataclass
class Processes:
    """The processes of a run, seen from one of them. All of them must call every method."""

    rank: int = 0
    size: int = 1
    #: Whether all processes know about the failure, and end in the usual way.
    _agreed: bool = False

    @property
    def first(self) -> bool:
        """Whether this is the process that prints and writes."""
        return self.rank == 0

    def least(self, *values: int) -> list[int]:
        """The smallest of each of `values` (0 to 2^64 - 1) over all processes."""
        return list(values) if self.size == 1 else _core.mpi_all_min(list(values))

    def broadcast(self, value: int) -> int:
        """The `value` (0 to 2^64 - 1) of the first process, in all processes."""
        return self.least(value if self.first else 2**64 - 1)[0]

    def any(self, flag: bool) -> bool:
        """Whether `flag` holds in at least one process."""
        return self.least(int(not flag)) == [0]

    def agree(self, step: Callable[[], T]) -> T:
        """The result of `step`, if it succeeds in all processes.

        Otherwise the first failing process raises its error, and all others raise `FailedElsewhere`. An
        `InputError` of any process takes precedence over other errors, which may be its consequence.
        """
        error = None
        try:
            result = step()
        except (Exception, KeyboardInterrupt) as caught:
            error = caught
        own = self.size if error is None else self.rank
        wrong, failed = self.least(own if isinstance(error, InputError) else self.size, own)
        if failed == self.size:
            return result
        self._agreed = True
        if error is not None and self.rank == (failed if wrong == self.size else wrong):
            raise error
        raise FailedElsewhere


#: A single process.
ALONE = Processes()


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """The processes of this run for the duration of the block; one unless several were started.

    If several were started and this build cannot connect them, the first raises `InputError`, and the others
    raise `FailedElsewhere`.
    """
    group = _gathered()
    try:
        yield group
    except BaseException as error:
        if group.size > 1 and not group._agreed:
            _say_last_words(group, error)
            _core.mpi_abort(exit_code(error))
        raise


def exit_code(error: BaseException) -> int:
    """The exit code of a process that ends with `error`; never 0.

    >>> exit_code(InputError("no")), exit_code(OSError()), exit_code(SystemExit(3))
    (2, 1, 3)
    """
    if isinstance(error, InputError):
        return INPUT_WRONG
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    # Exceptions of Click and of the interpreter carry their exit code.
    code = getattr(error, "exit_code", getattr(error, "code", None))
    return code if isinstance(code, int) and 0 < code < 256 else HOST_FAILED


def _gathered() -> Processes:
    """Starts MPI if several processes were started, and counts them."""
    started = launch()
    if started is None or started.size == 1:
        return Processes()
    library = _core.mpi_library()
    if library is None:
        raise _refusal(started, "this build of Odonata does not speak MPI")
    rank, size = _core.mpi_start()
    atexit.register(_finish)
    if size != started.size:
        raise _refusal(started, f"{library}, for which Odonata was built, finds {size}")
    return Processes(rank, size)


def _refusal(started: Launch, problem: str) -> BaseException:
    """The error for processes that cannot connect; only the first one reports it."""
    if started.rank > 0:
        return FailedElsewhere()
    return InputError(
        f"{started.size} processes were started by {started.launcher}, but {problem}",
        expected="a build for the MPI library whose mpirun or srun starts it",
        hint="build it with MPICC=mpicc pip install . -C build-args='--features mpi' where mpicc is that "
        "library's (docs/mpi.md), or start one process",
    )


def _say_last_words(group: Processes, error: BaseException) -> None:
    """Prints why all processes end, with a traceback for an internal error."""
    if not isinstance(error, InputError | OSError | MemoryError | KeyboardInterrupt | SystemExit):
        traceback.print_exception(error)
    cause = f"{type(error).__name__} {error}".strip()
    print(
        f"error: process {group.rank} of {group.size} failed ({cause}); all processes are ended",
        file=sys.stderr,
        flush=True,
    )


def _finish() -> None:
    """Ends MPI with the interpreter; after an error here, ends all other processes at once."""
    if getattr(sys, "last_value", None) is not None:
        _core.mpi_abort(HOST_FAILED)
    _core.mpi_finish()
