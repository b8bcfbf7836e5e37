"""Pairs of jobs: GPCNeT's four congestors beside a canary; one aggressor beside one victim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpcnet_study import patterns
from gpcnet_study.machines import NODES, OWN_CONTROL

#: More than any run has time for.
ENDLESS = 1_000_000
PROGRAM = Path(__file__).parents[1] / "access.ncptl"
CANARIES: dict[str, dict[str, Any]] = {
    "latency": {
        "python": patterns.ring,
        "args": {"size": 8, "outstanding": 1, "orders": 30, "rounds": 20, "synchronize": False},
    },
    "bandwidth + sync": {
        "python": patterns.ring,
        "args": {"size": 131072, "outstanding": 8, "orders": 10, "rounds": 1, "synchronize": True},
    },
    "all-reduce": {"workload": {"allreduce": {"bytes": "8 B", "iterations": 100}}},
}
#: Bytes that a rank of the second canary sends in a round.
RING_BYTES = 2 * 8 * 131072
#: Endless: rounds of the aggressor's 128 KiB take milliseconds, and a victim must see several.
VICTIMS: dict[str, dict[str, Any]] = {
    "ping-pong 8 B": {"workload": {"ping-pong": {"bytes": "8 B", "pairs": "halves", "iterations": ENDLESS}}},
    "ping-pong 128 KiB": {
        "workload": {"ping-pong": {"bytes": "128 KiB", "pairs": "halves", "iterations": ENDLESS}}
    },
    "all-reduce 8 B": {"workload": {"allreduce": {"bytes": "8 B", "iterations": ENDLESS}}},
    "barrier": {"workload": {"barrier": {"iterations": ENDLESS}}},
    "all-to-all 8 B": {"workload": {"alltoall": {"bytes": "8 B", "iterations": ENDLESS}}},
}


def all_to_all(size: int) -> dict[str, Any]:
    """Endless; one partner after the other, like GPCNeT's loop over Sendrecv."""
    return {"workload": {"alltoall": {"bytes": f"{size} B", "algorithm": "pairwise", "iterations": ENDLESS}}}


def access(ask: int, answer: int) -> dict[str, Any]:
    """Endless; access.ncptl explains the two sizes."""
    arguments = ["--iterations", f"{ENDLESS}", "--ask", f"{ask}", "--answer", f"{answer}"]
    return {"program": str(PROGRAM), "args": arguments}


CONGESTORS: dict[str, dict[str, Any]] = {
    "all-to-all": all_to_all(4096),
    "incast": access(4096, -1),
    "put": access(4096, 0),
    "get": access(0, 4096),
}
AGGRESSORS: dict[str, dict[str, Any]] = {
    "incast": access(131072, 0),
    "all-to-all": all_to_all(131072),
}
#: Nodes of the Slingshot paper's map, and the percentage that the aggressor has.
MAP_NODES = 512


@dataclass(frozen=True)
class Cell:
    """A victim on a machine, alone or congested."""

    #: "GPCNeT", "map" (random placement) or "map, linear".
    suite: str
    machine: str
    control: str
    victim: str
    #: "" (alone), "all" (GPCNeT's four), "incast" or "all-to-all".
    aggressor: str
    #: Percentage of the nodes that aggressors have, or would have.
    percent: int

    def jobs(self) -> list[dict[str, Any]]:
        """The victim first."""
        nodes = NODES[self.machine] if self.suite == "GPCNeT" else MAP_NODES
        theirs = nodes * self.percent // 100
        place = "contiguous" if self.suite == "map, linear" else "random"
        described = (CANARIES if self.suite == "GPCNeT" else VICTIMS)[self.victim]
        # The aggressors have filled the queues by then, and their first burst is over.
        start = "2 ms" if self.aggressor else "0 s"
        jobs = [{"name": "victim", "ranks": nodes - theirs, "placement": place, "start": start, **described}]
        if self.aggressor == "all":
            share = theirs // len(CONGESTORS)
            jobs += [
                {"name": name, "ranks": share, "placement": place, **described}
                for name, described in CONGESTORS.items()
            ]
        elif self.aggressor:
            jobs.append(
                {"name": "aggressor", "ranks": theirs, "placement": place, **AGGRESSORS[self.aggressor]}
            )
        return jobs


def gpcnet() -> Iterator[Cell]:
    """Every canary: alone, and beside all congestors under every congestion control."""
    for machine, own in OWN_CONTROL.items():
        for victim in CANARIES:
            yield Cell("GPCNeT", machine, own, victim, "", 80)
            for control in dict.fromkeys((own, "none", "ecn", "per-pair")):
                yield Cell("GPCNeT", machine, control, victim, "all", 80)


#: (machine, control, aggressor, percent) of the map.
MAP = (
    ("Aries", "none", "incast", 10),
    ("Aries", "none", "incast", 50),
    ("Aries", "none", "incast", 90),
    ("Aries", "none", "all-to-all", 90),
    ("Aries", "per-pair", "incast", 90),
    ("Slingshot", "per-pair", "incast", 90),
    ("Slingshot", "none", "incast", 90),
)


def victim_map() -> Iterator[Cell]:
    """Every victim beside every aggressor of MAP, and alone; two victims also in the order of the nodes."""
    for suite, victims in (("map", list(VICTIMS)), ("map, linear", ["ping-pong 8 B", "all-reduce 8 B"])):
        for victim in victims:
            for machine, percent in dict.fromkeys((machine, percent) for machine, _, _, percent in MAP):
                yield Cell(suite, machine, OWN_CONTROL[machine], victim, "", percent)
            for machine, control, aggressor, percent in MAP:
                if suite == "map" or (aggressor, control) == ("incast", OWN_CONTROL[machine]):
                    yield Cell(suite, machine, control, victim, aggressor, percent)
