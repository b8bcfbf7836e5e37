"""The cause of longer I/O together than alone: the device, or the network.

A request is, at any moment, in one of these states. The tables of a run with `run.blame` hold the time of
each, summed over the requests of a job:

- a device serves it (`jobs.io_device_s`);
- at its server it waits for the device, for memory or for space (table `blame`, place "server", by culprit);
- it is in flight: a request, pull, data or acknowledgement is in the network or in an interface. That is the
  rest of `jobs.io_calls_s`, request to acknowledgement.

So the difference between together and alone is exactly the sum of the differences of the three.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow.compute as pc

import odonata
from mfnetsim_study.cases import Case, job_row

RESOURCES = ("device", "memory", "space")


@dataclass(frozen=True)
class Split:
    """The parts of the time of a job's I/O calls, or their differences; seconds summed over requests."""

    calls_s: float
    service_s: float
    #: Waits at servers: (resource, culprit) -> seconds.
    waits_s: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def network_s(self) -> float:
        """The time outside service and waits at a server."""
        return self.calls_s - self.service_s - sum(self.waits_s.values())

    @property
    def device_s(self) -> float:
        """Service, and waits for a device: the part that faster devices would shorten."""
        return self.service_s + self.waited("device")

    def waited(self, resource: str, culprit: str | None = None) -> float:
        """Waits for a resource that one culprit, or any job, held."""
        return sum(
            waited
            for (what, who), waited in self.waits_s.items()
            if what == resource and culprit in (None, who)
        )

    def __sub__(self, other: Split) -> Split:
        keys = [*self.waits_s, *(key for key in other.waits_s if key not in self.waits_s)]
        waits = {key: self.waits_s.get(key, 0.0) - other.waits_s.get(key, 0.0) for key in keys}
        return Split(self.calls_s - other.calls_s, self.service_s - other.service_s, waits)


def split(results: odonata.Results, job: str) -> Split:
    """The split of a job's I/O in one run.

    Raises:
        ValueError: The run did not measure blame.
    """
    if not results.run.get("blame"):
        raise ValueError("the run did not measure blame (run.blame = true)")
    row = job_row(results, job)
    table = results.table("blame")
    rows = table.filter(pc.and_(pc.equal(table["victim"], job), pc.equal(table["place"], "server")))
    waits: dict[tuple[str, str], float] = {}
    for wait in rows.to_pylist():
        key = wait["resource"], wait["culprit"]
        waits[key] = waits.get(key, 0.0) + wait["waited_s"]
    return Split(row["io_calls_s"], row["io_device_s"], waits)


def slowdown(case: Case, job: str) -> Split:
    """The additional time of the job's I/O together, by part."""
    return split(case.together, job) - split(case.alone[job], job)


def measured(case: Case, job: str) -> bool:
    """Whether both runs measured blame."""
    return all(results.run.get("blame") for results in (case.together, case.alone[job]))
