"""Runs of a sweep on the workers of a Dask cluster: an existing one, or jobs of Slurm.

Each worker executes runs in processes of their own, as a local sweep does (`worker_process`), so that a crash
leaves the worker intact. Dask gives the work of a lost worker to another worker. A run that has lost too many
workers counts as killed.
"""

from __future__ import annotations

import contextlib
import queue
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odonata.base.optional_packages import require
from odonata.errors import InputError, option
from odonata.sweeps import record
from odonata.sweeps.spec import Slurm
from odonata.sweeps.work import Work
from odonata.sweeps.worker_process import WorkerProcess

#: Wall time after which a silent scheduler counts as absent, in seconds.
CONNECT_S = 20

#: Pieces of work that wait at the cluster per thread, so that no thread waits for this process.
AHEAD = 2


class Cluster:
    """A Dask cluster, by the address of its scheduler or by its object (`dask_jobqueue.SLURMCluster`)."""

    threads = 1

    def __init__(self, address: Any, owned: Any = None) -> None:
        distributed = require("distributed", option("dask"), key=option("dask"))
        try:
            self._client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers: {error}", key=option("dask"), value=str(address),
                expected="the address of a scheduler, such as tcp://host:8786",
            ) from None  # fmt: skip
        #: A cluster that ends with the sweep.
        self._owned = owned
        self._futures: dict[Any, Work] = {}
        #: Finished futures, reported by threads of Dask.
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def room(self) -> int:
        """Number of further pieces that it accepts now; above 0 even before the first worker has joined."""
        threads: int = sum(self._client.nthreads().values())
        return max(1, AHEAD * threads) - len(self._futures)

    def submit(self, work: Work) -> None:
        """Accepts a piece of work."""
        # No key: Dask would take a second attempt for the first.
        future = self._client.submit(carry_out, work.request, pure=False)
        self._futures[future] = work
        future.add_done_callback(self._done.put)

    def finished(self, timeout_s: float) -> list[dict[str, Any]]:
        """The records of the pieces that ended since the last call; waits up to the timeout for the first
        one.
        """
        if not self._futures:
            return []
        found = []
        with contextlib.suppress(queue.Empty):
            future = self._done.get(timeout=timeout_s)
            while True:
                found.append(_answer(future, self._futures.pop(future)))
                future = self._done.get_nowait()
        if self._client.status not in ("running", "connecting"):
            raise OSError("the Dask scheduler is gone")
        return found

    def running(self) -> Mapping[str, float | None]:
        """The pieces at the cluster, if it has workers; their progress is unknown."""
        return {work.key: None for work in self._futures.values()} if self._client.nthreads() else {}

    def close(self) -> None:
        """Withdraws pieces that have not started, and disconnects; results of running pieces are lost."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._futures))
        self._client.close()
        if self._owned is not None:
            self._owned.close()


def _answer(future: Any, work: Work) -> dict[str, Any]:
    if future.status == "finished":
        answer: dict[str, Any] = future.result()
        return answer
    if future.status == "error":
        error = future.exception()
        if type(error).__name__ == "KilledWorker":
            return record.failure(work.key, "killed", "every worker that had it was lost")
        return record.failure(work.key, "crashed", f"its worker: {type(error).__name__}: {error}")
    return record.failure(work.key, "killed", "the cluster lost it")


def slurm(asked: Slurm, logs: Path) -> Cluster:
    """A cluster of Slurm jobs, whose output goes to the folder `logs`."""
    jobqueue = require("dask_jobqueue", option("slurm"), key=option("slurm"))
    cluster = jobqueue.SLURMCluster(
        # The path goes into a job script, and may have a space.
        python=shlex.quote(sys.executable),
        queue=asked.partition,
        walltime=asked.time,
        memory=asked.memory,
        cores=asked.cores,
        processes=1,
        account=asked.account,
        job_extra_directives=list(asked.directives),
        log_directory=str(logs.resolve()),
    )
    try:
        _try(cluster.job_script())
        # Jobs that end before the sweep are replaced.
        cluster.adapt(minimum_jobs=asked.workers, maximum_jobs=asked.workers)
        return Cluster(cluster, owned=cluster)
    except BaseException:
        cluster.close()
        with contextlib.suppress(OSError):  # unless output exists
            logs.rmdir()
        raise


def _try(script: str) -> None:
    """Submits the script as a test: for a script that Slurm refuses, Dask would wait forever."""
    try:
        done = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True)
    except FileNotFoundError:
        raise InputError(
            "Slurm is not installed", key=option("slurm"), expected="the command sbatch"
        ) from None
    if done.returncode != 0:
        reason = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise InputError(
            f"Slurm refuses the jobs: {reason}", key=option("slurm"), expected="jobs that Slurm can start"
        )


#: Idle processes of this worker; at most as many as it has threads.
_idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Executes a run in a worker of the cluster."""
    try:
        worker = _idle.get_nowait()
    except queue.Empty:
        worker = WorkerProcess()
    try:
        return worker.run(request, lambda _: None)
    finally:
        _idle.put(worker)
