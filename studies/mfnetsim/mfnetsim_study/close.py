"""Values that should be near: times, latencies, saturation; with the goals of the study."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from mfnetsim_study.data import LINK_CLASSES, Iteration, Rank, RunData, Server

#: Mean non-computing and I/O time of an application: the goal, and the largest accepted difference.
GOAL, FLOOR = 0.05, 0.10
#: Saturation of a link class: its total, and the distance between the distributions over links.
SATURATION_TOTAL, SATURATION_DISTANCE = 0.10, 0.10


class Verdict(StrEnum):
    """The grade of a value; empty without a goal or a stored value."""

    GOAL = "goal"
    FLOOR = "floor"
    MISSED = "missed"
    NONE = ""


@dataclass(frozen=True)
class Quantity:
    """A value of Odonata beside the stored one, in `unit`."""

    name: str
    unit: str
    ours: float
    stored: float | None
    #: Whether goal and floor apply.
    judged: bool = False

    @property
    def difference(self) -> float | None:
        """Relative difference, of the stored value; 0 if both are 0."""
        if self.stored is None:
            return None
        if self.stored == 0.0:
            return 0.0 if self.ours == 0.0 else float("inf")
        return self.ours / self.stored - 1.0

    @property
    def verdict(self) -> Verdict:
        """Goal, floor or missed."""
        difference = self.difference
        if not self.judged or difference is None:
            return Verdict.NONE
        if abs(difference) <= GOAL:
            return Verdict.GOAL
        return Verdict.FLOOR if abs(difference) <= FLOOR else Verdict.MISSED


@dataclass(frozen=True)
class Saturation:
    """Saturation time over the directions of a link class."""

    link_class: str
    total: Quantity
    p99: Quantity
    maximum: Quantity
    saturated: Quantity
    #: Kolmogorov-Smirnov distance of the distributions over all links of the class, and over those that
    #: saturate in either run: idle links agree trivially.
    distance: float | None
    distance_saturated: float | None

    @property
    def verdict(self) -> Verdict:
        """Goal or missed; there is no floor."""
        if self.distance is None or self.total.difference is None:
            return Verdict.NONE
        near = abs(self.total.difference) <= SATURATION_TOTAL and self.distance <= SATURATION_DISTANCE
        return Verdict.GOAL if near else Verdict.MISSED


def application(app: str, ours: RunData, stored: RunData | None) -> list[Quantity]:
    """Times and latencies of an application."""
    one = ours.ranks_of(app)
    other = stored.ranks_of(app) if stored else None

    def quantity(
        name: str, unit: str, value_of: Callable[[Sequence[Rank]], float], judged: bool = False
    ) -> Quantity:
        scale = {"ms": 1e3, "us": 1e6, "": 1.0}[unit]
        return Quantity(name, unit, scale * value_of(one), scale * value_of(other) if other else None, judged)

    does_io = any(rank.io_s > 0 for rank in [*one, *(other or [])])
    communicates = any(rank.messages_sent > 0 for rank in one)
    result = [
        quantity("elapsed, mean", "ms", lambda ranks: mean([rank.elapsed_s for rank in ranks])),
        quantity("elapsed, max", "ms", lambda ranks: max(rank.elapsed_s for rank in ranks)),
        quantity("non-compute, mean", "ms", lambda ranks: mean([rank.non_compute_s for rank in ranks]), True),
    ]
    if does_io:
        result.append(quantity("I/O, mean", "ms", lambda ranks: mean([rank.io_s for rank in ranks]), True))
        result.append(quantity("I/O, max", "ms", lambda ranks: max(rank.io_s for rank in ranks)))
    result.append(quantity("packet latency, mean", "us", packet_latency))
    result.append(
        quantity("packet latency, max", "us", lambda ranks: max(rank.packet_latency_max_s for rank in ranks))
    )
    if communicates:
        result.append(quantity("message latency, mean", "us", message_latency))
    result.append(quantity("hops, mean", "", hops))
    steps = ours.iterations.get(app, [])
    stored_steps = stored.iterations.get(app, []) if stored else []
    if steps:
        value = 1e3 * mean(durations(steps))
        beside = 1e3 * mean(durations(stored_steps)) if stored_steps else None
        result.append(Quantity("iteration, mean", "ms", value, beside))
        longest = 1e3 * max(durations(stored_steps)) if stored_steps else None
        result.append(Quantity("iteration, max", "ms", 1e3 * max(durations(steps)), longest))
    return result


def storage(ours: RunData, stored: RunData | None) -> list[Quantity]:
    """Seeks and busy time of the servers' devices; none without I/O."""
    if not ours.servers:
        return []
    one = list(ours.servers.values())
    other = list(stored.servers.values()) if stored else []

    def quantity(name: str, unit: str, value_of: Callable[[Sequence[Server]], float]) -> Quantity:
        return Quantity(name, unit, value_of(one), value_of(other) if other else None)

    return [
        quantity("seeks, total", "", lambda servers: sum(s.seeks for s in servers)),
        quantity("device busy, mean", "ms", lambda servers: 1e3 * mean([s.device_busy_s for s in servers])),
        quantity("device busy, max", "ms", lambda servers: 1e3 * max(s.device_busy_s for s in servers)),
    ]


def saturation(link_class: str, ours: RunData, stored: RunData | None) -> Saturation:
    """Saturation of a link class."""
    # If there are stored values, only links with one count.
    known = stored.links if stored else ours.links
    one = {
        key: link.saturation_s
        for key, link in ours.links.items()
        if link.link_class == link_class and key in known
    }
    other = {key: link.saturation_s for key, link in known.items() if link.link_class == link_class}

    def quantity(name: str, unit: str, value_of: Callable[[Sequence[float]], float]) -> Quantity:
        scale = 1e3 if unit else 1.0
        beside = scale * value_of(list(other.values())) if stored else None
        return Quantity(name, unit, scale * value_of(list(one.values())), beside)

    either = [key for key in one if key in other and (one[key] > 0 or other[key] > 0)]
    distance = distance_saturated = None
    if stored:
        distance = kolmogorov_smirnov(list(one.values()), list(other.values()))
        distance_saturated = kolmogorov_smirnov([one[key] for key in either], [other[key] for key in either])
    return Saturation(
        link_class,
        total=quantity("total", "ms", sum),
        p99=quantity("p99", "ms", lambda values: percentile(values, 0.99)),
        maximum=quantity("max", "ms", lambda values: max(values, default=0.0)),
        saturated=quantity("saturated", "", lambda values: sum(1 for value in values if value > 0)),
        distance=distance,
        distance_saturated=distance_saturated,
    )


def saturations(ours: RunData, stored: RunData | None) -> list[Saturation]:
    """Saturation of all link classes."""
    return [saturation(link_class, ours, stored) for link_class in LINK_CLASSES]


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0


def durations(steps: Sequence[Iteration]) -> list[float]:
    """Duration of each iteration, from the slowest rank of one to the slowest of the next."""
    ends = [0.0, *(step.last_s for step in steps)]
    return [end - start for start, end in pairwise(ends)]


def packet_latency(ranks: Sequence[Rank]) -> float:
    """Mean latency of the packets that the ranks' nodes received."""
    packets = sum(rank.packets_received for rank in ranks)
    return sum(rank.packet_latency_mean_s * rank.packets_received for rank in ranks) / max(packets, 1)


def message_latency(ranks: Sequence[Rank]) -> float:
    """Mean latency of messages; an application receives the messages that it sends."""
    return sum(rank.message_latency_sum_s for rank in ranks) / max(
        sum(rank.messages_sent for rank in ranks), 1
    )


def hops(ranks: Sequence[Rank]) -> float:
    """Routers visited, mean over the packets that the ranks' nodes received."""
    packets = sum(rank.packets_received for rank in ranks)
    return sum(rank.hops_mean * rank.packets_received for rank in ranks) / max(packets, 1)


def percentile(values: Sequence[float], share: float) -> float:
    """Percentile, interpolated between neighbors (type 7 of Hyndman and Fan, 1996); 0 of nothing."""
    if not values:
        return 0.0
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def kolmogorov_smirnov(one: Sequence[float], other: Sequence[float]) -> float:
    """Largest difference between the two empirical distribution functions; 0 if both are empty."""
    if not one or not other:
        return 0.0 if not one and not other else 1.0
    left, right = sorted(one), sorted(other)
    # Between two neighboring values both functions are constant, so the values decide.
    return max(
        abs(bisect_right(left, value) / len(left) - bisect_right(right, value) / len(right))
        for value in {*left, *right}
    )
