"""Baselines: every job alone, each in a process of its own, beside the run itself.

They are processes, not threads: a baseline that runs out of memory or crashes leaves the run intact, and its
outcome is named. Processes start afresh (no fork), from any program including a notebook, and end with the
process that started them. A baseline is complete or absent; run.json states why it is absent.

Traffic whose end depends on other jobs has no end alone. Its baseline waits for the end of the run, and sends
for as long as the job did there.

Baselines of a resumable run are resumable: complete ones stay, the others continue.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.analysis.slowdown import ends_with_others
from odonata.base.folder import RUN_FILE
from odonata.errors import InputError
from odonata.results.results import Results
from odonata.running import runner

if TYPE_CHECKING:
    from odonata.running.checkpoint import Checkpoints

#: The folder of the baselines in a result folder.
FOLDER = "baselines"

#: Keys that run.json copies from the run.json of a baseline.
ENDING = ("outcome", "detail", "digest", "wall_s")

#: Bytes of a crashed process's output that are kept.
LAST_WORDS = 20_000


def cores() -> int:
    """Processor cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def wanted(scenario: dict[str, Any]) -> list[str]:
    """The jobs of a resolved scenario that need a baseline; a single job is its own baseline.

    >>> wanted({"run": {"baselines": True}, "jobs": [{"name": "milc"}, {"name": "noise"}]})
    ['milc', 'noise']
    >>> wanted({"run": {"baselines": True}, "jobs": [{"name": "milc"}]})
    []
    """
    jobs = [job["name"] for job in scenario["jobs"]]
    return jobs if scenario["run"]["baselines"] and len(jobs) > 1 else []


def folder_names(jobs: list[str]) -> dict[str, str]:
    """A folder name for every job: its own name if file systems accept it, else one derived from it.

    >>> folder_names(["milc", "I/O", "i_o", ".."])
    {'milc': 'milc', 'I/O': 'I_O', 'i_o': 'i_o-2', '..': '_.'}
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for number, job in enumerate(jobs):
        name = re.sub(r'[/\\:*?"<>|]', "_", re.sub(r"^\.", "_", job))
        # Some file systems ignore case, and none accepts very long names.
        name = name if len(name.encode()) <= 200 else name[:40]
        while name.casefold() in taken:
            name += f"-{number}"
        taken.add(name.casefold())
        names[job] = name
    return names


def ending(folder: Path) -> dict[str, Any] | None:
    """The ending of the baseline in `folder`; None unless it is complete and intact."""
    from odonata.analysis.slowdown import job_rows

    if not (folder / RUN_FILE).is_file():
        return None
    try:
        results = Results.load(folder)
        if len(job_rows(results)) != 1:
            return None
    except InputError:  # an altered baseline is run again, which costs time but no results
        return None
    return {key: results.run[key] for key in ENDING}


@dataclass
class _Baseline:
    job: str
    name: str
    #: Whether it cannot start before the end of the run is known.
    waits: bool = False
    #: Seconds for which the job sends, if that depends on other jobs.
    sends_for_s: float | None = None
    process: subprocess.Popen[bytes] | None = None
    errors: IO[bytes] | None = None
    received: bytes = b""
    #: Completed share.
    fraction: float | None = 0.0
    #: Its entry in run.json; empty before its end.
    ending: dict[str, Any] = field(default_factory=dict)


class Baselines:
    """The baselines of one run; leaving the context ends those that still run."""

    def __init__(
        self,
        task: runner.Task,
        scenario: dict[str, Any],
        folder: Path,
        processes: int | None,
        checkpoints: Checkpoints | None = None,
    ) -> None:
        self._folder = folder
        waiting = {job["name"] for job in scenario["jobs"] if ends_with_others(job)}
        names = folder_names(wanted(scenario))
        self._all = [_Baseline(job, name, waits=job in waiting) for job, name in names.items()]
        self._processes = processes or min(cores(), len(names) + 1)
        if scenario["run"]["threads"] == "auto":
            # By default, each would take all cores.
            share = max(1, cores() // self._processes)
            task = replace(task, overrides=[*task.overrides, f"run.threads={share}"])
        self._task = task
        self._checkpoints = checkpoints
        folder.mkdir(exist_ok=True)
        for one in self._all:
            done = ending(folder / one.name)
            if done is not None:  # by an earlier process
                one.fraction, one.ending = 1.0, done | {"folder": f"{FOLDER}/{one.name}"}

    def __enter__(self) -> Baselines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def follow(self, *, beside_run: bool) -> dict[str, float | None]:
        """Starts baselines on free cores, reads reports, and returns the progress of each."""
        running = sum(one.process is not None for one in self._all)
        for one in self._all:
            if one.process is not None:
                self._hear(one)
                running -= one.process is None
        for one in self._all:
            if running + beside_run >= self._processes:
                break
            if one.process is None and not one.ending and not one.waits:
                self._start(one)
                running += 1
        return {one.job: one.fraction for one in self._all}

    @property
    def are_complete(self) -> bool:
        """Whether all baselines have ended."""
        return all(one.ending for one in self._all)

    def start_waiting(self, run: Mapping[str, Any], jobs: list[dict[str, Any]]) -> None:
        """Starts the baselines that wait for the end of the run: `run` is its run.json, `jobs` its table."""
        lasted_s = {row["job"]: row["elapsed_s"] for row in jobs}
        for one in self._all:
            if one.ending:
                continue
            if one.waits and run["outcome"] in GOOD_OUTCOMES:
                one.waits, one.sends_for_s = False, lasted_s[one.job]
            elif one.waits:
                detail = "alone, it sends for as long as beside the others, and that run ended as "
                self._end(one, "not-run", detail + run["outcome"])

    def complete(self, report: runner.Report | None, last: runner.Progress, stop: runner.StopRequest) -> None:
        """Waits for all baselines, or until `stop` is requested."""
        begin = time.perf_counter()
        while not stop.requested:
            fractions = self.follow(beside_run=False)
            if report is not None:
                wall_s = last.wall_s + time.perf_counter() - begin
                report(replace(last, wall_s=wall_s, baselines=fractions))
            if self.are_complete:
                return
            time.sleep(runner.SLICE_S / 2)

    def stop(self) -> None:
        """Ends the running baselines; incomplete ones are removed."""
        for one in self._all:
            if one.process is not None:
                one.process.kill()
                one.process.wait()
                self._close(one)
            if not one.ending:
                self._end(one, "interrupted", "the run was stopped before this baseline was complete")
        with contextlib.suppress(OSError):  # empty, if no baseline is complete
            self._folder.rmdir()

    def endings(self) -> dict[str, dict[str, Any]]:
        """The entries of the baselines in run.json."""
        return {one.job: one.ending for one in self._all}

    def _start(self, one: _Baseline) -> None:
        import tempfile

        one.errors = tempfile.TemporaryFile()  # noqa: SIM115, open for as long as the process runs
        package = str(Path(__file__).parents[2])
        search = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
        one.process = subprocess.Popen(
            # -P: a json.py in the user's folder must not be imported.
            [sys.executable, "-P", "-m", "odonata.running.baseline_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=one.errors,
            env=os.environ | {"PYTHONPATH": search},
            # Only the main process handles Ctrl-C.
            start_new_session=True,
        )
        assert one.process.stdin is not None
        assert one.process.stdout is not None
        os.set_blocking(one.process.stdout.fileno(), False)
        task = asdict(replace(self._task, only=one.job, sends_for_s=one.sends_for_s))
        request: dict[str, Any] = {"task": task, "folder": str(self._folder / one.name), "checkpoints": None}
        if self._checkpoints is not None:
            checkpoints = self._checkpoints.baseline(one.name)
            request["checkpoints"] = [str(checkpoints.folder), checkpoints.interval_s]
        with contextlib.suppress(BrokenPipeError):  # it died at once; `_hear` reports its ending
            one.process.stdin.write(json.dumps(request).encode())
            one.process.stdin.close()

    def _hear(self, one: _Baseline) -> None:
        """Reads the new reports of a process, and its ending."""
        assert one.process is not None
        ended = one.process.poll() is not None
        for answer in self._answers(one):
            if "progress" in answer:
                one.fraction = answer["progress"]
            elif "done" in answer:
                one.fraction = 1.0
                one.ending = answer["done"] | {"folder": f"{FOLDER}/{one.name}"}
            else:
                self._end(one, answer["error"]["name"], answer["error"]["detail"])
        if ended:
            if not one.ending:
                self._end(one, *explain(one.process.returncode, self._last_words(one)))
            self._close(one)

    @staticmethod
    def _answers(one: _Baseline) -> Iterator[dict[str, Any]]:
        assert one.process is not None
        assert one.process.stdout is not None
        while chunk := one.process.stdout.read():
            one.received += chunk
        *lines, one.received = one.received.split(b"\n")
        for line in lines:
            yield json.loads(line)

    @staticmethod
    def _last_words(one: _Baseline) -> str:
        assert one.errors is not None
        size = one.errors.seek(0, os.SEEK_END)
        one.errors.seek(max(0, size - LAST_WORDS))
        return one.errors.read().decode(errors="replace").strip()

    @staticmethod
    def _close(one: _Baseline) -> None:
        assert one.process is not None
        assert one.process.stdout is not None
        assert one.errors is not None
        one.process.stdout.close()
        one.errors.close()
        one.process = None

    def _end(self, one: _Baseline, name: str, detail: str) -> None:
        shutil.rmtree(self._folder / one.name, ignore_errors=True)
        one.fraction = 1.0
        one.ending = {"outcome": name, "detail": detail, "digest": None, "wall_s": None, "folder": None}


def explain(code: int, words: str) -> tuple[str, str]:
    r"""Name and description of the outcome of a process that ended without an answer.

    >>> explain(-6, "memory allocation of 8589934592 bytes failed")
    ('out-of-memory', 'memory allocation of 8589934592 bytes failed')
    >>> explain(-9, "")[0]
    'killed'
    >>> explain(1, "Traceback (most recent call last):\nImportError: no pyarrow")
    ('crashed', 'its process ended with exit code 1: ImportError: no pyarrow')
    """
    lines = words.splitlines()
    for line in lines:
        if line.startswith(("memory allocation of", "MemoryError")):
            return "out-of-memory", line
    if code == -signal.SIGKILL:
        return "killed", (
            "its process was killed (signal 9), as systems do when memory runs out; --processes 1 runs the "
            "baselines one after the other"
        )
    ended = f"signal {-code}" if code < 0 else f"exit code {code}"
    return "crashed", f"its process ended with {ended}" + (f": {lines[-1]}" if lines else "")
