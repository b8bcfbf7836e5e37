"""Measured points repeated on a preset of their machine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from odonata.calibration.ping_pong import ping_pong
from odonata.machines import hosts, measured
from odonata.machines.measured import PingPong, Point
from odonata.running.execute import in_memory

if TYPE_CHECKING:
    from odonata.tool_answers import Agreement, ValidatedPoint, Validation


def simulate(point: Point, preset: str, overrides: Mapping[str, Any]) -> float | None:
    """The time of the collective of `point` alone, in seconds; None if its algorithm is not known."""
    workload = measured.workload(point)
    if workload is None:
        return None
    nodes, machine = measured.placed(point.machine, point.allocation, point.ranks)
    job = {
        "name": point.collective,
        "ranks": point.ranks,
        "placement": {"nodes": nodes},
        "workload": workload,
    }
    segment = {"mpi.collectives.segment": f"{point.segment_bytes or 0} B"}
    changes = {**machine, **segment, **overrides}
    results = in_memory({"preset": preset, "jobs": [job]}, changes)
    ends: list[float] = [row["last_s"] for row in results.rows("iterations")]
    return max(ends)


#: Repetitions with noise, each with a seed of its own.
REPETITIONS = 21


def repeated(
    point: Point, preset: str, overrides: Mapping[str, Any], repetitions: int = REPETITIONS
) -> list[float] | None:
    """The times of repetitions of `point`, each alone and with a seed of its own, sorted."""
    found = []
    for seed in range(1, repetitions + 1):
        time = simulate(point, preset, {**overrides, "seed": seed})
        if time is None:
            return None
        found.append(time)
    return sorted(found)


def percentiles(samples: list[float]) -> tuple[float, float, float]:
    """The 10th, 50th and 90th percentile of at least two samples, interpolated.

    >>> percentiles([1.0, 2.0, 3.0])
    (1.2, 2.0, 2.8)
    """
    tenths = statistics.quantiles(samples, n=10, method="inclusive")
    return tenths[0], tenths[4], tenths[8]


#: Pairs of hosts at the distances of measured ping-pongs.
PAIRS = {
    "lumi": {
        "same switch": ("x1302c0s3b0n0", "x1302c0s4b0n0"),
        "same group": ("x1302c0s3b0n0", "x1302c1s3b1n0"),
        "other group": ("x1302c0s3b0n0", "x1101c4s2b1n0"),
    },
    "leonardo": {
        "same switch": ("lrdn0001", "lrdn0002"),
        "same group": ("lrdn0001", "lrdn0061"),
        "other group": ("lrdn0001", "lrdn1801"),
    },
    "alps": {
        "same switch": ("x1100c0s0b0n0", "x1100c0s1b0n0"),
        "same group": ("x1100c0s0b0n0", "x1100c3s1b0n0"),
        "other group": ("x1100c0s0b0n0", "x1203c3s1b0n0"),
    },
}


def half_round_trip(pair: PingPong, preset: str, overrides: Mapping[str, Any]) -> float:
    """Half of the round trip of a ping-pong at the distance of `pair`; the same group if not stated."""
    distance = "same group" if pair.distance == "not stated" else pair.distance
    nodes = [hosts.node(pair.machine, host) for host in PAIRS[pair.machine][distance]]
    job = {
        "name": "ping-pong",
        "python": ping_pong,
        "ranks": 2,
        "placement": {"nodes": nodes},
        "args": {"sizes": [pair.bytes], "rounds": 4},
    }
    results = in_memory({"preset": preset, "jobs": [job]}, dict(overrides))
    ends: dict[int, float] = {row["iteration"]: row["last_s"] for row in results.rows("iterations")}
    return (ends[1] - ends[0]) / 8


def validate(
    preset: str,
    overrides: Mapping[str, Any],
    *,
    largest: int | None = None,
    most_ranks: int | None = None,
    noise: bool = False,
    announce: Callable[[int, int], None] | None = None,
) -> Validation:
    """Repeats the measured points of `preset`, up to `largest` bytes and `most_ranks` ranks.

    With `noise`, each point is repeated with the fitted noise of the machine.
    """
    keys = {**(measured.noise(preset) if noise else {}), **overrides}
    wanted = [
        point
        for point in measured.points(preset)
        if (largest is None or point.bytes <= largest) and (most_ranks is None or point.ranks <= most_ranks)
    ]
    found: list[ValidatedPoint] = []
    unknown: dict[str, None] = {}
    for number, point in enumerate(wanted):
        if announce is not None:
            announce(number, len(wanted))
        samples = repeated(point, preset, keys, REPETITIONS if noise else 1)
        if samples is None:
            unknown[f"{point.collective} {point.algorithm}"] = None
            continue
        simulated, p90 = statistics.median(samples), percentiles(samples)[2] if noise else None
        found.append(
            {
                "run": point.run,
                "ranks": point.ranks,
                "collective": point.collective,
                "algorithm": point.algorithm,
                "bytes": point.bytes,
                "fitted": point.split == "fitted",
                "measured_s": point.median_s,
                "simulated_s": simulated,
                "ratio": simulated / point.median_s,
                "measured_p90_s": point.p90_s,
                "simulated_p90_s": p90,
                "p90_ratio": None if p90 is None else p90 / point.p90_s,
            }
        )
    groups: dict[tuple[bool, str, str], list[ValidatedPoint]] = {}
    for one in found:
        for collective in (one["collective"], "all"):
            for size in (size_class(one["bytes"]), "all"):
                groups.setdefault((one["fitted"], collective, size), []).append(one)
    order = sorted(groups, key=lambda key: (not key[0], key[1] == "all", key[1], SIZES.index(key[2])))
    return {
        "preset": preset,
        "groups": [_agreement(key, groups[key]) for key in order],
        "points": found,
        "not_repeated": list(unknown),
    }


#: Classes of sizes, by their largest size in bytes.
CLASSES = {"up to 2 KiB": 1 << 11, "up to 64 KiB": 1 << 16, "up to 1 MiB": 1 << 20, "longer": None}
SIZES = (*CLASSES, "all")


def size_class(size: int) -> str:
    """The class of a size in bytes."""
    return next(name for name, most in CLASSES.items() if most is None or size <= most)


def _agreement(key: tuple[bool, str, str], points: list[ValidatedPoint]) -> Agreement:
    fitted, collective, size = key
    ratios = [one["ratio"] for one in points]
    p90_ratios = [one["p90_ratio"] for one in points if one["p90_ratio"] is not None]
    return {
        "fitted": fitted,
        "collective": collective,
        "size": size,
        "points": len(ratios),
        "median_ratio": statistics.median(ratios),
        "p90_ratio": statistics.median(p90_ratios) if p90_ratios else None,
        "mean_factor": math.exp(statistics.fmean(abs(math.log(ratio)) for ratio in ratios)),
        "within_20_percent": sum(abs(ratio - 1) <= 0.2 for ratio in ratios) / len(ratios),
    }
