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

#: Columns of the table that are added up.
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

#: The kind of what was lost before a job started.
_START = "start"

_TRAFFIC = {"mpi": "messages", "io": "I/O"}


def of_traffic(culprit_class: str) -> str:
    """What of a job it is, in words.

    >>> of_traffic("mpi")
    'messages'
    """
    return _TRAFFIC.get(culprit_class, culprit_class)


@dataclass(frozen=True)
class Part:
    """What a job lost to another, or to itself."""

    #: The job that held what was waited for.
    culprit: str
    #: mpi or io: what of it.
    culprit_class: str
    #: What was waited for: link, buffer, memory, space, device, metadata or lock.
    kind: str
    #: How much later the job ended for it.
    lost_s: float


@dataclass(frozen=True)
class Lost:
    """What a job lost in all."""

    job: str
    #: How much later it ended.
    lost_s: float
    #: Of that, what others did.
    others_s: float
    #: How long it took.
    elapsed_s: float
    #: How long it took alone, if the run has that baseline.
    alone_s: float | None
    #: By culprit and kind, the largest first; they add up.
    parts: tuple[Part, ...]
    #: How much later it started, by culprit, the largest first; no part of the above.
    before: tuple[Part, ...] = ()

    @property
    def predicted_s(self) -> float:
        """How long it would, about, take alone."""
        return self.elapsed_s - self.others_s

    @property
    def started_later_s(self) -> float:
        """How much later it started than it would have without waits of what it starts after."""
        return _sum(self.before)

    def words(self) -> str:
        """What it lost, as a sentence."""
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
        """All parts, for machines."""
        more = {
            "predicted_s": self.predicted_s,
            "started_later_s": self.started_later_s,
            "words": self.words(),
        }
        return asdict(self) | more


def started_later(before: tuple[Part, ...]) -> str:
    """How much later a job started, by cause."""
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
    """The time alone of each job whose baseline completed."""
    if not results.run.get("baselines"):
        return {}
    times = {}
    for job, baseline in results.baselines.items():
        for row in needed(baseline, "jobs", ("job", "elapsed_s")).to_pylist():
            if row["job"] == job and job not in results.failed_baselines:
                times[job] = row["elapsed_s"]
    return times
