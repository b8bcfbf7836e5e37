"""Several processes that share one run, as `mpirun` or `srun` starts them.

Here MPI is the library between the processes of the simulator (the MPI that jobs use is simulated). Whether
this process is one of several is seen in its environment, so that nobody who runs alone pays for MPI or needs
it. docs/mpi.md says how to build Odonata for it.

What the processes do together stands in a block::

    with mpi.processes() as group:
        simulation = group.settle(task.build)  # works in all of them, or is an error of all of them
        ...
        if group.first:
            print("one of them speaks")

An error that leaves the block in one process ends all of them: the others would wait for it for ever.
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

#: Who starts processes, and the variables in which each of them finds its number and how many they are.
#: Batch scripts of Slurm see its SLURM_* too, so these count only beside a PMIX_RANK.
_LAUNCHERS = (
    ("mpirun of Open MPI", "OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("mpirun of MPICH or a relative, or srun --mpi=pmi2", "PMI_RANK", ("PMI_SIZE",)),
    ("srun --mpi=pmix", "PMIX_RANK", ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS")),
)


@dataclass(frozen=True)
class Launch:
    """How this process was started, as its environment tells."""

    launcher: str
    #: The number of this process, from 0.
    rank: int
    #: How many were started.
    size: int


def launch(environment: Mapping[str, str] | None = None) -> Launch | None:
    """Who has started this process together with others, if anybody has.

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
    """Another process says what is wrong, and ends with the exit code of that; this one leaves in silence.

    With exit code 0, for whoever started them may kill the one that speaks when another has failed before.
    """

    def __init__(self) -> None:
        super().__init__(0)


@dataclass
class Processes:
    """The processes of a run, seen from one of them. Every method has to be called by all of them."""

    rank: int = 0
    size: int = 1
    #: Whether all processes know that they fail, and end in the usual way.
    _agreed: bool = False

    @property
    def first(self) -> bool:
        """Whether this is the one that speaks and writes."""
        return self.rank == 0

    def least(self, *values: int) -> list[int]:
        """The smallest of each of `values` (0 to 2^64 - 1) over all processes."""
        return list(values) if self.size == 1 else _core.mpi_all_min(list(values))

    def tell(self, value: int) -> int:
        """The `value` (0 to 2^64 - 1) of the first process, in all of them."""
        return self.least(value if self.first else 2**64 - 1)[0]

    def any(self, flag: bool) -> bool:
        """Whether `flag` holds in one of them at least."""
        return self.least(int(not flag)) == [0]

    def settle(self, step: Callable[[], T]) -> T:
        """What `step` returns, if it works in all processes.

        Otherwise the first process in which it does not raises its error, and all others `FailedElsewhere`;
        an `InputError` of any process goes before other errors, which may only be what follows from it.
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


#: One process.
ALONE = Processes()


@contextlib.contextmanager
def processes() -> Iterator[Processes]:
    """The processes of this run for as long as the block lasts; one if nobody has started several.

    If several were started and this build cannot bring them together, the first raises `InputError`, and the
    others `FailedElsewhere`.
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
    # Those of typer and of the interpreter say themselves.
    code = getattr(error, "exit_code", getattr(error, "code", None))
    return code if isinstance(code, int) and 0 < code < 256 else HOST_FAILED


def _gathered() -> Processes:
    """Starts MPI if several processes were started, and counts who is there."""
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
    """The error for processes that cannot come together; only the first of them speaks."""
    if started.rank > 0:
        return FailedElsewhere()
    return InputError(
        f"{started.size} processes were started by {started.launcher}, but {problem}",
        expected="a build for the MPI library whose mpirun or srun starts it",
        hint="build it with MPICC=mpicc pip install . -C build-args='--features mpi' where mpicc is that "
        "library's (docs/mpi.md), or start one process",
    )


def _say_last_words(group: Processes, error: BaseException) -> None:
    """Says why all processes are ended. In full if it is nobody's mistake but ours."""
    if not isinstance(error, InputError | OSError | MemoryError | KeyboardInterrupt | SystemExit):
        traceback.print_exception(error)
    cause = f"{type(error).__name__} {error}".strip()
    print(
        f"error: process {group.rank} of {group.size} failed ({cause}); all processes are ended",
        file=sys.stderr,
        flush=True,
    )


def _finish() -> None:
    """Ends MPI with the interpreter; all others at once if an error has ended it here."""
    if getattr(sys, "last_value", None) is not None:
        _core.mpi_abort(HOST_FAILED)
    _core.mpi_finish()
