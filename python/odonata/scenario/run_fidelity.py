"""The fidelity of a run's messages (packets, flows, Ethernet, analytic model), and what it leaves open.

`run.json` records it: `network.fidelity`, and `fidelity` of jobs that differ. All pages about a result use
this module, so that none shows zeros for effects that were not modeled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

PACKET, FLOW, ETHERNET, ANALYTIC, MIXED = "packet", "flow", "ethernet", "analytic", "mixed"

#: The fidelities in words, after "messages go".
WORDS = {
    PACKET: "as packets",
    FLOW: "as flows",
    ETHERNET: "over an Ethernet",
    ANALYTIC: "by the analytic model",
    MIXED: "at mixed fidelity",
}

#: The fidelities in a column.
LABELS = {PACKET: "packets", FLOW: "flows", ETHERNET: "Ethernet", ANALYTIC: "analytic model"}


@dataclass(frozen=True)
class RunFidelity:
    """The fidelity of each job of a run."""

    #: Job -> packet, flow, ethernet or analytic, in the order of the scenario.
    jobs: Mapping[str, str]
    #: The fidelity of the network, which is the default of jobs.
    network: str = PACKET

    @property
    def of_run(self) -> str:
        """The fidelity of all jobs, or `mixed`.

        >>> RunFidelity({"a": "flow", "b": "flow"}).of_run, RunFidelity({"a": "flow", "b": "packet"}).of_run
        ('flow', 'mixed')
        """
        found = set(self.jobs.values()) or {self.network}
        return found.pop() if len(found) == 1 else MIXED

    def of_job(self, job: str) -> str:
        """The fidelity of a job."""
        return self.jobs.get(job, self.network)

    def has(self, *kinds: str) -> bool:
        """Whether any job has one of these fidelities."""
        return any(kind in kinds for kind in self.jobs.values() or [self.network])

    @property
    def has_packets(self) -> bool:
        """Whether there are packets with credits, and therefore buffers and packet latencies."""
        return self.has(PACKET)

    @property
    def uses_links(self) -> bool:
        """Whether messages use links; the analytic model has none."""
        return self.has(PACKET, FLOW, ETHERNET)

    def unknown(self) -> list[str]:
        """The effects that the fidelities of this run do not model, a sentence for each.

        >>> RunFidelity({"a": "packet"}).unknown()
        []
        >>> [line.split(":")[0] for line in RunFidelity({"a": "flow", "b": "analytic"}).unknown()]
        ['Full buffers and the latency of packets of a', 'Contention of b']
        """
        lines = []
        if flows := self._named(FLOW):
            lines.append(
                f"Full buffers and the latency of packets of {flows}: messages go as flows, which share "
                "bandwidth and fill no buffers, so that congestion does not spread through "
                "them. Loads of links over time are missing too. "
                'Run with network.fidelity = "packet"; `odonata fidelity` says how far flows are off.'
            )
        if ethernet := self._named(ETHERNET):
            lines.append(
                f"Blame and the latency of packets of {ethernet}: messages go over an Ethernet, whose waits "
                "are not charged to jobs. The tables ethernet and ethernet_links count losses and pauses."
            )
        if analytic := self._named(ANALYTIC):
            lines.append(
                f"Contention of {analytic}: messages go by the analytic model, in which they meet at the "
                "interfaces of their nodes alone. Links, routers, routing and placement have no part in "
                "their times, and no link shows them. "
                'Run with network.fidelity = "packet" or "flow".'
            )
        return lines

    def _named(self, kind: str) -> str:
        """The jobs of one fidelity, in words; empty if there are none."""
        names = [job for job, fidelity in self.jobs.items() if fidelity == kind]
        if not names:
            return ""
        return "all jobs" if len(names) == len(self.jobs) else _listed(names)


def _listed(names: Iterable[str], most: int = 4) -> str:
    """The first of a list of names, and the number of the others.

    >>> _listed("abcdef"), _listed("ab"), _listed("a")
    ('a, b, c, d and 2 more', 'a and b', 'a')
    """
    shown = list(names)
    more = shown[most:]
    if more:
        return f"{', '.join(shown[:most])} and {len(more)} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def of_scenario(scenario: Mapping[str, Any]) -> RunFidelity:
    """The fidelity of a resolved scenario, as run.json has it.

    >>> of_scenario({"network": {"fidelity": "flow"}, "jobs": [{"name": "a"}]})
    RunFidelity(jobs={'a': 'flow'}, network='flow')
    """
    network = scenario.get("network", {}).get("fidelity") or PACKET
    jobs = {job["name"]: job.get("fidelity") or network for job in scenario.get("jobs", [])}
    return RunFidelity(jobs, network)
