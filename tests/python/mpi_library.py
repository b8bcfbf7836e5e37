"""Programs under the mpirun of every MPI library for which `tests/mpi/setup.sh` has built."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import launcher
import pytest
from launcher import PATIENCE_S

if TYPE_CHECKING:
    from conftest import Shell

#: The repository.
ROOT = Path(__file__).parents[2]

#: By default Open MPI 4 refuses more processes than cores, and root.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}

#: Exit codes of mpirun when a process was killed. Open MPI 4.1's sometimes crashes, or hangs and is killed.
KILLED = {9, 128 + signal.SIGKILL, -signal.SIGKILL, -signal.SIGSEGV}

#: Seconds that mpirun has to end once the processes that it started have ended.
LAST_S = 20


@dataclass(frozen=True)
class Ending:
    """The output of mpirun and all processes, and mpirun's exit code."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Mpi:
    """An MPI library and its builds."""

    name: str
    folder: Path

    @property
    def mpirun(self) -> str:
        return (self.folder / "built").read_text().strip()

    def command(self, processes: int, *command: str | Path) -> list[str]:
        """The command line that starts `command` in this many processes."""
        return [self.mpirun, "-n", str(processes), *map(str, command)]

    def environment(self) -> dict[str, str]:
        """Its environment: Python finds the package built for this library."""
        own = {"PYTHONPATH": str(self.folder / "site"), "RUST_BACKTRACE": "0"}
        return os.environ | OPEN_MPI | own

    def __call__(self, processes: int, *command: str | Path, folder: Path | None = None) -> Ending:
        """Starts `command` in this many processes in `folder`, and waits for its end."""
        with launcher.start(
            self.command(processes, *command),
            cwd=folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as mpirun:
            out, err = output_of(mpirun)
        return Ending(mpirun.returncode, out, err)

    def program(self, processes: int, name: str, *arguments: str) -> Ending:
        """Starts an example program of odonata-mpi-transport."""
        return self(processes, self.folder / name, *arguments)

    def python(self, processes: int, code: str) -> Ending:
        """Starts a Python program."""
        return self(processes, sys.executable, "-c", code)


def odonata_run(*options: str) -> list[str]:
    """The command line of each process of a run."""
    return [sys.executable, "-m", "odonata", "run", "scenario.toml", "-o", "out", *options]


def run(mpi: Mpi, shell: Shell, processes: int, *options: str) -> Ending:
    """`odonata run scenario.toml -o out` on this many processes."""
    return mpi(processes, *odonata_run(*options), folder=shell.folder)


class Underway:
    """The same in the background, with the number of each process in a file."""

    def __init__(self, mpi: Mpi, shell: Shell, processes: int, *options: str) -> None:
        self.folder = shell.folder
        self.processes = processes
        script = 'echo $$ > pid.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}; exec "$@"'
        self.mpirun = launcher.start(
            mpi.command(processes, "bash", "-c", script, "run", *odonata_run(*options)),
            cwd=shell.folder,
            env=mpi.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def pid(self, process: int) -> int:
        return int((self.folder / f"pid.{process}").read_text())

    def send(self, number: signal.Signals, process: int) -> None:
        os.kill(self.pid(process), number)

    def kill(self, process: int) -> None:
        """Kills a process if it is running."""
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
            self.send(signal.SIGKILL, process)

    def end(self) -> tuple[int, str]:
        """The exit code of mpirun, and the output."""
        try:
            output, _ = output_of(self.mpirun)
        finally:
            self.mpirun.end()
        for process in range(self.processes):
            (self.folder / f"pid.{process}").unlink(missing_ok=True)
        return self.mpirun.returncode, output


def output_of(mpirun: launcher.Command) -> tuple[str, str]:
    """Waits for mpirun, and kills it if it has not ended long after its processes."""
    until = time.monotonic() + PATIENCE_S
    alone = False
    while True:
        try:
            return mpirun.communicate(timeout=LAST_S)
        except subprocess.TimeoutExpired:
            # Looked at twice: at first, its processes may not have begun.
            was_alone, alone = alone, set(launcher.descendants("test")) <= {mpirun.pid}
            if was_alone and alone:
                mpirun.kill()
            elif time.monotonic() > until:
                raise


def library(name: str) -> Mpi:
    """The library `name`; without it the test is skipped, or fails if setup.sh should have installed it."""
    folder = ROOT / "target" / "mpi" / name
    if not (folder / "built").is_file():
        missing = f"{name}: not built by tests/mpi/setup.sh, which needs its mpicc and mpirun, and libclang"
        if os.environ.get("ODONATA_MPI_INSTALL") == "1" and os.geteuid() == 0:
            pytest.fail(missing)
        pytest.skip(missing)
    return Mpi(name, folder)


def names() -> list[str]:
    """The libraries to test with; those of Debian unless another was found."""
    return ["default"] if (ROOT / "target" / "mpi" / "default").is_dir() else ["mpich", "openmpi"]
