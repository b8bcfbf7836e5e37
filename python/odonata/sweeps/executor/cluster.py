"""Runs of a sweep on the workers of a Dask cluster: one that is there, or jobs of Slurm.

Each worker runs them in processes of their own, as this computer would (`worker_process`), so that a run that
dies takes no worker along. What a worker had in hands when it is lost, Dask gives to another; a run with
which too many workers were lost counts as killed.
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

#: Wall time after which a scheduler that does not answer is not there, in seconds.
CONNECT_S = 20

#: Pieces of work that wait at the cluster per thread of it, so that none of them waits for this process.
AHEAD = 2


class Cluster:
    """A Dask cluster, by the address of its scheduler or its object (`dask_jobqueue.SLURMCluster`)."""

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
        #: Those that are done, as threads of Dask's say.
        self._done: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def room(self) -> int:
        """How many more pieces it wants now; some even while there is no worker yet."""
        threads: int = sum(self._client.nthreads().values())
        return max(1, AHEAD * threads) - len(self._futures)

    def submit(self, work: Work) -> None:
        """Takes a piece of work."""
        # No key of its own: Dask would take a second attempt for the first.
        future = self._client.submit(carry_out, work.request, pure=False)
        self._futures[future] = work
        future.add_done_callback(self._done.put)

    def finished(self, timeout_s: float) -> list[dict[str, Any]]:
        """What has ended since the last call; waits for so long if nothing has."""
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
        """What is at the cluster, if that has workers; how far each piece has come is not known."""
        return {work.key: None for work in self._futures.values()} if self._client.nthreads() else {}

    def close(self) -> None:
        """Takes back what has not begun, and leaves the cluster; what runs is not heard any more."""
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
    """A cluster of jobs of Slurm; what they print goes to the folder `logs`."""
    jobqueue = require("dask_jobqueue", option("slurm"), key=option("slurm"))
    cluster = jobqueue.SLURMCluster(
        # It goes into the script of a job, and the path may have a space.
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
        # Jobs that end before the sweep does are followed by others.
        cluster.adapt(minimum_jobs=asked.workers, maximum_jobs=asked.workers)
        return Cluster(cluster, owned=cluster)
    except BaseException:
        cluster.close()
        with contextlib.suppress(OSError):  # if something has been printed already
            logs.rmdir()
        raise


def _try(script: str) -> None:
    """Refuses what Slurm would refuse: Dask would wait for workers that never come."""
    try:
        done = subprocess.run(["sbatch", "--test-only"], input=script, capture_output=True, text=True)
    except FileNotFoundError:
        raise InputError(
            "Slurm is not installed", key=option("slurm"), expected="the command sbatch"
        ) from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise InputError(
            f"Slurm refuses the jobs: {said}", key=option("slurm"), expected="jobs that Slurm can start"
        )


#: Processes of this worker that have nothing to do; as many as it has threads at most.
_idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()


def carry_out(request: dict[str, Any]) -> dict[str, Any]:
    """Carries out a run, in a worker of the cluster."""
    try:
        worker = _idle.get_nowait()
    except queue.Empty:
        worker = WorkerProcess()
    try:
        return worker.run(request, lambda _: None)
    finally:
        _idle.put(worker)
