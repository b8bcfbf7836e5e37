"""Python's side of several processes: the printing process, agreement on an error, and the end of all by one
error.
"""

import os
import sys

import launcher
import pytest
from mpi_library import library

pytestmark = pytest.mark.mpi

#: The steps of `odonata run` around a run.
FRAME = """\
import sys, click
from odonata.running import mpi
from odonata.cli.answer import reported
from odonata.errors import InputError
try:
    with reported(as_json=False), mpi.processes() as group:
        {body}
except click.exceptions.Exit as end:
    sys.exit(end.exit_code)
if group.first:
    print("done")
"""


def frame(body: str) -> str:
    return FRAME.format(body=body.replace("\n", "\n        "))


@pytest.mark.parametrize("processes", [1, 3])
def test_processes_count_themselves_and_agree(mpi, processes):
    done = mpi.python(
        processes,
        frame(
            "assert group.least(group.rank, 2**64 - 1) == [0, 2**64 - 1]\n"
            "assert group.any(group.rank == group.size - 1)\n"
            "assert not group.any(False)\n"
            "assert group.agree(lambda: group.rank) == group.rank\n"
            f"assert group.size == {processes}"
        ),
    )
    assert (done.code, done.out, done.err) == (0, "done\n", "")


@pytest.mark.parametrize("wrong", ["group.rank == 1", "True", "group.rank > 0"])
def test_error_that_all_settle_is_reported_once(mpi, wrong):
    done = mpi.python(
        3,
        frame(
            "def build():\n"
            f"    if {wrong}:\n"
            "        raise InputError('no such thing', key='a.b')\n"
            "group.agree(build)"
        ),
    )
    assert done.code == 2
    assert done.err.count("error: no such thing\n  key       a.b\n") == 1
    assert "Traceback" not in done.err
    assert done.out.count("done") == 0


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ("OSError(28, 'No space left on device')", 1, "(OSError [Errno 28] No space left on device)"),
        ("KeyError('surprise')", 1, "Traceback"),
        ("KeyboardInterrupt", 130, "(KeyboardInterrupt)"),
    ],
)
def test_error_of_one_process_ends_those_that_wait_for_it(mpi, error, code, message):
    done = mpi.python(3, frame(f"if group.rank == 1:\n    raise {error}\ngroup.least(1)"))
    assert done.code == code
    assert "error: process 1 of 3 failed" in done.err
    assert message in done.err
    assert "done" not in done.out


def test_error_after_the_block_ends_those_that_wait_in_another(mpi):
    done = mpi.python(
        2,
        "from odonata.running import mpi\n"
        "with mpi.processes() as group:\n    group.least(1)\n"
        "if group.rank == 1:\n    raise LookupError('of the script')\n"
        "with mpi.processes() as group:\n    group.least(1)\n",
    )
    assert done.code == 1
    assert "LookupError: of the script" in done.err


def test_build_without_mpi_says_how_to_get_it(mpi):
    without = "from odonata import _core\n_core.mpi_library = lambda: None\n"
    done = mpi.python(3, without + frame("print('never')"))
    assert done.code == 2
    assert done.err.count("error: 3 processes were started by mpirun") == 1
    assert "this build of Odonata does not speak MPI" in done.err
    assert "--features mpi" in done.err
    assert done.out.count("never") == 0


@pytest.mark.parametrize(("started", "built"), [("mpich", "openmpi"), ("openmpi", "mpich")])
def test_build_for_another_library_says_so(started, built):
    """Each process is alone: without the check each would run and write everything."""
    other = library(built).folder / "site"
    code = f"import sys; sys.path.insert(0, {str(other)!r})\n" + frame("print('never')")
    done = library(started).python(3, code)
    assert done.code == 2
    assert done.err.count("error: 3 processes were started by mpirun") == 1
    assert "for which Odonata was built, finds 1" in done.err
    assert done.out.count("never") == 0


def test_build_with_mpi_runs_alone_without_starting_it(mpi):
    code = (
        "from odonata import _core\nfrom odonata.running import mpi\n"
        "with mpi.processes() as group:\n    print(group, _core.mpi_library())"
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_"))
    }
    environment["PYTHONPATH"] = str(mpi.folder / "site")
    done = launcher.run([sys.executable, "-c", code], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "rank=0, size=1" in done.stdout
    assert "MPI" in done.stdout
