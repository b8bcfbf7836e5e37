"""Values that must be equal: counts, bytes, paths. A difference here is an error of one of the simulators.

Counts do not depend on routing, paths do: under adaptive routing, hops and the bytes on links between routers
are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mfnetsim_study.data import Link, Rank, RunData

#: Bytes of a full packet.
PACKET = 4096

#: Stored means of hops have 3 decimals per rank and 6 per run.
RANK_HOPS_ROUNDING = 0.5e-3
RUN_HOPS_ROUNDING = 0.5e-6
#: Computation is a sum of whole picoseconds; smaller differences are floating-point errors.
COMPUTE_ROUNDING_S = 0.5e-12
#: Half a unit of the last decimal is within rounding, with a margin for floating point.
EPSILON = 1e-6

#: The baselines that a mix without shared links and servers must repeat, and the mix.
SEPARATE = ("cont-min-milc", "cont-min-checkpoint", "cont-min-cosmo")
MIX = "cont-min-wkld2"


@dataclass(frozen=True)
class Check:
    """A comparison of many values that must be equal."""

    name: str
    compared: int
    wrong: int
    #: One value that differs, as a starting point.
    example: str = ""

    @property
    def passed(self) -> bool:
        """Whether there was anything to compare, and all of it is equal."""
        return self.compared > 0 and self.wrong == 0

    def __str__(self) -> str:
        if self.passed:
            return f"{self.name}: {self.compared:,} equal"
        if not self.compared:
            return f"{self.name}: nothing to compare"
        return f"{self.name}: {self.wrong:,} of {self.compared:,} differ, e.g. {self.example}"


def checks(ours: RunData, stored: RunData) -> list[Check]:
    """All exact comparisons of our run with the stored one."""
    done = [
        _equal("messages", [("run", ours.messages, stored.messages)]),
        _equal("packets", [("run", ours.packets, stored.packets)]),
        _per_rank("node of each rank", ours, stored, "node"),
        _per_rank("messages per rank", ours, stored, "messages_sent", "messages_received"),
        _per_rank("bytes per rank", ours, stored, "bytes_sent", "bytes_received", "bytes_written"),
        _per_rank("packets per rank", ours, stored, "packets_received"),
        _per_rank("computation per rank", ours, stored, "compute_s", within=COMPUTE_ROUNDING_S),
        _equal("terminal traffic", _traffic(ours, stored, terminal=True)),
        _equal("server bytes and writes", _servers(ours, stored)) if stored.servers or ours.servers else None,
    ]
    if stored.minimal:
        hops = [("run", ours.hops_mean, stored.hops_mean)]
        done += [
            _equal("link traffic", _traffic(ours, stored, terminal=False)),
            _per_rank("hops per rank", ours, stored, "hops_mean", within=RANK_HOPS_ROUNDING),
            _equal("hops", hops, within=RUN_HOPS_ROUNDING),
            _equal("non-minimal packets", [("run", ours.packets_nonminimal, 0)]),
        ]
    return [check for check in done if check is not None]


def superposition(mix: Iterable[Mapping[str, Any]], alone: Iterable[Mapping[str, Any]]) -> Check:
    """Whether the rows of `ranks` of a mix equal those of its jobs run alone, bit for bit."""
    rows = {(row["job"], row["rank"]): row for row in alone}
    pairs: list[tuple[str, Any, Any]] = []
    for row in mix:
        other = rows.pop((row["job"], row["rank"]), {})
        place = f"{row['job']} rank {row['rank']}"
        pairs += [(f"{place} {column}", value, other.get(column)) for column, value in row.items()]
    pairs += [(f"{job} rank {rank}", None, "only alone") for job, rank in rows]
    return _equal(f"{MIX} = its three baselines, rank by rank, bit for bit", pairs)


def _equal(name: str, pairs: Iterable[tuple[str, Any, Any]], within: float = 0.0) -> Check:
    compared = wrong = 0
    example = ""
    for what, ours, stored in pairs:
        compared += 1
        if ours is None or stored is None:
            equal = False
        else:
            equal = ours == stored or (within > 0 and abs(ours - stored) <= within * (1 + EPSILON))
        if not equal:
            wrong += 1
            example = example or f"{what}: ours {_shown(ours)}, stored {_shown(stored)}"
    return Check(name, compared, wrong, example)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return f"{value:,}" if isinstance(value, int) else "nothing" if value is None else str(value)


def _per_rank(name: str, ours: RunData, stored: RunData, *fields: str, within: float = 0.0) -> Check:
    return _equal(name, _rank_pairs(ours, stored, fields), within)


def _rank_pairs(ours: RunData, stored: RunData, fields: tuple[str, ...]) -> Iterable[tuple[str, Any, Any]]:
    def key(rank: Rank) -> tuple[str, int]:
        return rank.app, rank.rank

    left = {key(rank): rank for rank in ours.ranks}
    right = {key(rank): rank for rank in stored.ranks}
    for app, number in left | right:
        one, other = left.get((app, number)), right.get((app, number))
        for name in fields:
            yield f"{app} rank {number} {name}", getattr(one, name, None), getattr(other, name, None)


def _traffic(ours: RunData, stored: RunData, *, terminal: bool) -> Iterable[tuple[str, Any, Any]]:
    # Some links between routers are not stored; see `stored`.
    barriers = any(rank.app == "nekbone" for rank in stored.ranks)
    for key in ours.links | stored.links if terminal else stored.links:
        if ("T" in key) != terminal:
            continue
        one, other = ours.links.get(key), stored.links.get(key)
        source_kind, source, target_kind, target = key
        name = f"{source_kind}{source} to {target_kind}{target} bytes"
        yield name, one and one.bytes, other and _without_empty(one, other, barriers)
        yield f"{name}: class", one and one.link_class, other and other.link_class


def _without_empty(ours: Link | None, stored: Link, barriers: bool) -> int:
    """The stored bytes of a link, without the bytes that its table counts for packets of a barrier.

    CODES records a packet of 0 bytes as a full one. The number of such packets on a link is not stored, so
    any whole number passes, and only if a job has barriers.
    """
    extra = stored.bytes - ours.bytes if ours else 0
    return stored.bytes - extra if barriers and extra > 0 and extra % PACKET == 0 else stored.bytes


def _servers(ours: RunData, stored: RunData) -> Iterable[tuple[str, Any, Any]]:
    for number in ours.servers | stored.servers:
        one, other = ours.servers.get(number), stored.servers.get(number)
        for name in ("node", "bytes_written", "device_writes"):
            yield f"server {number} {name}", getattr(one, name, None), getattr(other, name, None)
