"""Runs of a sweep in processes of this computer."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from odonata.running.baselines import cores
from odonata.sweeps.work import Work
from odonata.sweeps.worker_process import WorkerProcess


class Local:
    """A number of processes, by default one per core."""

    def __init__(self, processes: int | None = None) -> None:
        self._processes = processes or cores()
        self.threads = max(1, cores() // self._processes)
        self._workers = [WorkerProcess() for _ in range(self._processes)]
        self._idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for worker in reversed(self._workers):
            self._idle.put(worker)
        #: One thread waits for the messages of each process.
        self._pool = ThreadPoolExecutor(self._processes, thread_name_prefix="odonata-sweep")
        self._futures: set[Future[dict[str, Any]]] = set()
        self._running: dict[str, float | None] = {}

    def room(self) -> int:
        """Number of further pieces that it accepts now: one more than processes, so that no process waits."""
        return self._processes + 1 - len(self._futures)

    def submit(self, work: Work) -> None:
        """Accepts a piece of work."""
        self._futures.add(self._pool.submit(self._carry_out, work))

    def finished(self, timeout_s: float) -> list[dict[str, Any]]:
        """The records of the pieces that ended since the last call; waits up to the timeout for the first
        one.
        """
        done, self._futures = wait(self._futures, timeout=timeout_s, return_when=FIRST_COMPLETED)
        return [future.result() for future in done]

    def running(self) -> Mapping[str, float | None]:
        """Progress of each piece."""
        return dict(self._running)

    def close(self) -> None:
        """Ends the pieces that still run."""
        for future in self._futures:
            future.cancel()
        for worker in self._workers:
            worker.close()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _carry_out(self, work: Work) -> dict[str, Any]:
        worker = self._idle.get()
        try:
            self._running[work.key] = 0.0

            def set_progress(share: float | None) -> None:
                self._running[work.key] = share

            return worker.run(work.request, set_progress)
        finally:
            self._running.pop(work.key, None)
            self._idle.put(worker)
