"""Worker processes, and the handling of crashes and hangs.

A trial counts as hung when its worker has used more CPU time than the campaign allows, unless it announces
endless user code, which the limit is meant for. Wall time counts only if almost no CPU time was used
meanwhile, and after ten times as much: threads that wait for each other are an error. Time in which a thread
was ready and had no core does not count: a busy computer is no error.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile.campaign import Campaign
from hostile.oracle import Finding

#: Wall time, as a multiple of the CPU time of a trial.
WALL = 10
#: Most CPU use of a waiting process.
IDLE = 0.05
#: Bytes of a dead worker's output that are kept.
MOST_WORDS = 4000


@dataclass
class Report:
    """The result of a trial."""

    number: int
    ending: str
    findings: list[Finding] = field(default_factory=list)


class Worker:
    """A process that runs trials, one at a time."""

    def __init__(self, name: str, seed: int, fixtures: Path, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.errors = scratch / "stderr"
        place = Path(__file__).parent.parent
        # Allocators that reserve unused address space would exceed the memory limit.
        environment = os.environ | {
            "HOSTILE_STDERR": str(self.errors),
            "PYTHONPATH": os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]),
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
            "OMP_NUM_THREADS": "1",
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "RUST_BACKTRACE": "0",
        }
        with self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "hostile.worker", name, str(seed), str(fixtures), str(scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                start_new_session=True,
            )
        self.number: int | None = None
        self.doing = "start"
        self.ready = False
        #: Whether the trial has endless user code.
        self.endless = False
        self._since = time.monotonic()
        self._cpu_before = 0.0
        self._without_core_before = 0.0
        self._buffer = b""

    def give(self, number: int) -> None:
        """Sends it the number of a trial."""
        assert self.process.stdin is not None
        self.number, self.doing, self.endless = number, "make", False
        self._since, self._cpu_before = time.monotonic(), self._cpu_s() or 0.0
        self._without_core_before = self._without_core_s()
        self.process.stdin.write(f"{number}\n".encode())
        self.process.stdin.flush()

    def answers(self) -> list[dict[str, Any]]:
        """Its new messages; the pipe has data, or is closed."""
        assert self.process.stdout is not None
        self._buffer += os.read(self.process.stdout.fileno(), 1 << 20)
        *lines, self._buffer = self._buffer.split(b"\n")
        found = [json.loads(line) for line in lines]
        for answer in found:
            self.doing = answer.get("doing", self.doing)
            self.ready |= "ready" in answer
            self.endless |= "endless" in answer
        return found

    def hangs(self, patience_s: float) -> str | None:
        """How long it has worked on its trial, if that is too long."""
        wall = time.monotonic() - self._since
        if wall <= patience_s:
            return None
        cpu = self._cpu_s()
        used = wall if cpu is None else cpu - self._cpu_before
        wall -= self._without_core_s() - self._without_core_before
        if used > patience_s:
            return f"more than {patience_s:g} s of CPU time"
        if wall > WALL * patience_s or (wall > 2 * patience_s and used < IDLE * patience_s):
            return f"more than {patience_s:g} s on the wall"
        return None

    def _cpu_s(self) -> float | None:
        """CPU time of the process, if the system reports it."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _without_core_s(self) -> float:
        """Longest time that a ready thread waited for a core, if the system reports it."""
        waited = [0]
        for task in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                waited.append(int(task.read_text().split()[1]))
        return max(waited) / 1e9

    def end(self) -> int:
        """Ends it and its child processes; returns its exit code."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        return self.process.wait()

    def last_words(self) -> str:
        """The end of its standard error."""
        return self.errors.read_bytes()[-MOST_WORDS:].decode(errors="replace").strip()


def ending_of(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def carry_out(
    campaign: Campaign,
    name: str,
    seed: int,
    scratch: Path,
    *,
    workers: int,
    seconds: float,
    trials: int | None,
    first: int = 0,
) -> Generator[Report, None, None]:
    """Runs trials from number `first` on, with this many workers, for a time or a number of trials."""
    deadline = time.monotonic() + seconds
    number = first
    alive: list[Worker] = []
    with selectors.DefaultSelector() as selector:

        def more() -> bool:
            return number < first + trials if trials is not None else time.monotonic() < deadline

        def start(place: int) -> None:
            worker = Worker(name, seed, campaign.fixtures, scratch / str(place))
            alive.append(worker)
            selector.register(worker.process.stdout, selectors.EVENT_READ, (worker, place))  # type: ignore[arg-type]

        def lose(worker: Worker) -> int:
            selector.unregister(worker.process.stdout)  # type: ignore[arg-type]
            alive.remove(worker)
            return worker.end()

        try:
            for place in range(workers):
                start(place)
            while alive:
                for key, _ in selector.select(timeout=0.2):
                    worker, place = key.data
                    answers = worker.answers()
                    for answer in answers:
                        if "number" in answer:
                            findings = [
                                Finding(rule, seen, cause) for rule, seen, cause in answer["findings"]
                            ]
                            yield Report(answer["number"], answer["ending"], findings)
                            worker.number = None
                    if not answers and worker.process.poll() is not None:
                        yield from _dead(worker, ending_of(lose(worker)))
                        if more():
                            start(place)
                        continue
                    if worker.number is None and worker.ready:
                        if more():
                            worker.give(number)
                            number += 1
                        else:
                            lose(worker)
                for worker in list(alive):
                    long = worker.hangs(campaign.patience_s) if worker.number is not None else None
                    if long is not None:
                        place = next(
                            key.data[1] for key in selector.get_map().values() if key.data[0] is worker
                        )
                        lose(worker)
                        assert worker.number is not None
                        if worker.endless and "CPU" in long:
                            yield Report(worker.number, "endless")
                        else:
                            finding = Finding("hang", f"{worker.doing}: {long}")
                            yield Report(worker.number, "hung", [finding])
                        if more():
                            start(place)
        finally:
            for worker in list(alive):
                worker.end()


def _dead(worker: Worker, how: str) -> Iterator[Report]:
    """The report of a trial whose worker died."""
    words = worker.last_words()
    if worker.number is None:
        raise RuntimeError(f"a worker could not be started ({how}):\n{words}")
    telling = next((line for line in words.splitlines() if "memory allocation" in line), how)
    rule = "out of memory" if "memory allocation" in telling else "crash"
    yield Report(worker.number, "crashed", [Finding(rule, f"{worker.doing}: {telling} ({how})\n{words}")])
