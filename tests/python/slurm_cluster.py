"""A Slurm of one machine: its daemons on the loopback interface, with a configuration of their own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import launcher
import pytest

#: The required programs.
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "sinfo", "squeue", "munged")

#: Seconds until it is ready.
PATIENCE_S = 300

CONF = """\
ClusterName=odonata
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 RealMemory=16000 State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Slurm:
    """The daemons, for as long as the context lasts; without them the test is skipped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
        self._daemons: list[launcher.Command] = []

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands."""
        return os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": self._search}

    def __enter__(self) -> Self:
        missing = [name for name in PROGRAMS if shutil.which(name, path=self._search) is None]
        if missing or os.geteuid() != 0:
            reason = f"no Slurm for root (tests/slurm/setup.sh): {', '.join(missing) or 'not root'}"
            if os.environ.get("ODONATA_SLURM_INSTALL") == "1" and os.geteuid() == 0:
                pytest.fail(reason)
            pytest.skip(reason)
        for name in ("state", "spool"):
            (self.folder / name).mkdir(parents=True)
        self.folder.chmod(0o755)
        host = socket.gethostname().partition(".")[0]
        conf = CONF.format(host=host, folder=self.folder, ports=_free_ports(2))
        (self.folder / "slurm.conf").write_text(conf)
        (self.folder / "munge.key").write_bytes(os.urandom(1024))
        (self.folder / "munge.key").chmod(0o400)
        munge = [f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
        try:
            self._start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *munge)
            self._until(lambda: (self.folder / "munge.socket").exists())
            self._start("slurmctld", "-D", "-c")
            self._start("slurmd", "-D", "-N", host)
            self._until(lambda: "idle" in self("sinfo", "-h", "-o", "%T"))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(subprocess.SubprocessError):
            self("scancel", "--full", "--signal=KILL", "--partition=test")
        self._stop()

    def __call__(self, *command: str) -> str:
        """The output of a command of Slurm."""
        done = launcher.run(command, env=self.environment)
        return done.stdout

    def _start(self, name: str, *arguments: str) -> None:
        program = shutil.which(name, path=self._search)
        assert program is not None
        with (self.folder / f"{name}.out").open("wb") as out:
            self._daemons.append(
                launcher.start(
                    [program, *arguments], lasting=True, env=self.environment, stdout=out, stderr=out
                )
            )

    def _until(self, ready) -> None:
        over = time.monotonic() + PATIENCE_S
        while not ready():
            dead = [daemon.args for daemon in self._daemons if daemon.poll() is not None]
            if dead or time.monotonic() > over:
                logs = "".join(file.read_text(errors="replace")[-2000:] for file in self.folder.glob("*.out"))
                pytest.fail(f"Slurm does not start ({dead}):\n{logs}")
            time.sleep(0.2)

    def _stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.terminate()
        for daemon in reversed(self._daemons):
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(timeout=20)
            daemon.end()
