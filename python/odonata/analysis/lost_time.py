"""How much later each job ended because of its waits: the table `lost_time`, in words.

A job's time minus its loss to other jobs predicts its time alone; baselines give the measured one. A later
*start*, after other jobs, is reported apart.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from odonata.analysis.measured import needed, offers
from odonata.base.wording import duration, sentence_case

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Name of the table.
NAME = "lost_time"

#: Columns of the table that are summed.
_COLUMNS = ("victim", "culprit", "culprit_class", "kind", "lost_s")

_WHAT = {
    "link": "on links",
    "buffer": "for buffer space",
    "memory": "for memory at servers",
    "space": "for space at servers",
    "device": "at the devices of servers",
    "metadata": "at metadata servers",
    "lock": "for file locks",
}

#: The kind of a loss before the start of a job.
_START = "start"

_TRAFFIC = {"mpi": "messages", "io": "I/O"}


def of_traffic(culprit_class: str) -> str:
    """The class of a job's traffic, in words.

    >>> of_traffic("mpi")
    'messages'
    """
    return _TRAFFIC.get(culprit_class, culprit_class)


@dataclass(frozen=True)
class Part:
    """The loss of a job to another, or to itself."""

    #: The job that held the resource.
    culprit: str
    #: Class of its traffic: mpi or io.
    culprit_class: str
    #: The resource: link, buffer, memory, space, device, metadata or lock.
    kind: str
    #: Delay of the job's end because of it.
    lost_s: float


@dataclass(frozen=True)
class Lost:
    """The whole loss of a job."""

    job: str
    #: Delay of its end.
    lost_s: float
    #: The part of it that other jobs caused.
    others_s: float
    #: Duration of the job.
    elapsed_s: float
    #: Duration alone, if the run has that baseline.
    alone_s: float | None
    #: By culprit and kind, the largest first; they add up to lost_s.
    parts: tuple[Part, ...]
    #: Delay of its start, by culprit, the largest first; not part of lost_s.
    before: tuple[Part, ...] = ()

    @property
    def predicted_s(self) -> float:
        """Estimated duration alone."""
        return self.elapsed_s - self.others_s

    @property
    def started_later_s(self) -> float:
        """Delay of the start because of waits of the jobs that it starts after."""
        return _sum(self.before)

    def words(self) -> str:
        """The loss as a sentence."""
        text = self._lost_words()
        return f"{text}; {started_later(self.before)}" if self.before else text

    def _lost_words(self) -> str:
        if not self.parts:
            return sentence_case(f"{self.job} lost nothing")
        others = [
            f"{duration(part.lost_s)} to {_whose(part)} {_WHAT.get(part.kind, part.kind)}"
            for part in self.parts
            if part.culprit != self.job
        ]
        own_s = sum(part.lost_s for part in self.parts if part.culprit == self.job)
        shares = [*others, *([f"{duration(own_s)} to itself"] if own_s > 0 else [])]
        text = sentence_case(f"{self.job} lost {duration(self.lost_s)}: {', '.join(shares)}")
        if self.others_s > 0 or self.alone_s is not None:
            text += f"; predicted time alone: {duration(self.predicted_s)}"
        if self.alone_s is not None:
            text += f" (measured: {duration(self.alone_s)})"
        return text

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        more = {
            "predicted_s": self.predicted_s,
            "started_later_s": self.started_later_s,
            "words": self.words(),
        }
        return asdict(self) | more


def started_later(before: tuple[Part, ...]) -> str:
    """The delay of a job's start, by cause, in words."""
    shares = (f"{duration(part.lost_s)} because of {_whose(part)}" for part in before)
    return f"it started {duration(_sum(before))} later: {', '.join(shares)}"


def _sum(parts: tuple[Part, ...]) -> float:
    return sum(part.lost_s for part in parts)


def _whose(part: Part) -> str:
    return f"{part.culprit}'s {of_traffic(part.culprit_class)}"


def measured(results: Results) -> bool:
    """Whether the run measured lost time."""
    run = results.run.get("scenario", {}).get("run", {})
    return bool(run.get("lost_time")) and offers(results, NAME)


def of_jobs(results: Results) -> list[Lost] | None:
    """The loss of each job, in the order of the jobs; None if the run did not measure it."""
    if not measured(results):
        return None
    parts: dict[str, list[Part]] = {}
    for row in needed(results, NAME, _COLUMNS).to_pylist():
        if row["lost_s"] > 0:
            part = Part(row["culprit"], row["culprit_class"], row["kind"], row["lost_s"])
            parts.setdefault(row["victim"], []).append(part)
    alone = _alone(results)
    return [
        _lost(row["job"], row["elapsed_s"], alone.get(row["job"]), parts.get(row["job"], []))
        for row in needed(results, "jobs", ("job", "elapsed_s")).to_pylist()
    ]


def _lost(job: str, elapsed_s: float, alone_s: float | None, parts: list[Part]) -> Lost:
    largest_first = sorted(parts, key=lambda part: -part.lost_s)
    before = tuple(part for part in largest_first if part.kind == _START)
    parts = [part for part in largest_first if part.kind != _START]
    others_s = sum(part.lost_s for part in parts if part.culprit != job)
    return Lost(job, sum(part.lost_s for part in parts), others_s, elapsed_s, alone_s, tuple(parts), before)


def _alone(results: Results) -> dict[str, float]:
    """The duration alone of each job whose baseline completed."""
    if not results.run.get("baselines"):
        return {}
    times = {}
    for job, baseline in results.baselines.items():
        for row in needed(baseline, "jobs", ("job", "elapsed_s")).to_pylist():
            if row["job"] == job and job not in results.failed_baselines:
                times[job] = row["elapsed_s"]
    return times
