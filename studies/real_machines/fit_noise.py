"""Fits the noise of a preset to the spread within measured runs; prints residuals.

    fit_noise.py lumi        up to an hour: ten thousand short runs

It fits a random delay of each call, and one source of detours of exponential durations. The data are the
ratios of p10 and p90 to the median, of the points marked `fitted` up to 64 KiB: longer ones depend on the
noise of the network and of the memory. Noise also delays the median: `mpi.send_delay` is lowered until the
simulated median is that without noise.

The first guess is in `python/odonata/machines/data/noise.toml`; the answer goes there by hand.
Exit code: 0; 2 if the arguments are wrong.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from dataclasses import dataclass
from typing import Any

from odonata.machines import measured, validation
from odonata.machines.measured import Point

LARGEST = 64 << 10
#: Bounds of `values`, in nanoseconds.
LEAST = (20.0, 50.0, 5000.0, 50.0)
MOST = (5000.0, 100_000.0, 1e7, 10_000.0)


def values(keys: dict[str, Any]) -> list[float]:
    """The greatest delay of a call, duration and period of the detours, and `send_delay`, in nanoseconds."""
    (source,) = keys["mpi.noise"]
    texts = keys["mpi.call_jitter"]["max"], source["duration"], source["period"], keys["mpi.send_delay"]
    return [float(text.removesuffix(" ns")) for text in texts]


def keys(values: list[float]) -> dict[str, Any]:
    """The keys of these values."""
    delay, duration, period, send_delay = (f"{value:.0f} ns" for value in values)
    return {
        "mpi.send_delay": send_delay,
        "mpi.call_jitter": {"min": "0 ns", "max": delay},
        "mpi.noise": [{"period": period, "duration": duration, "durations": "exponential"}],
    }


@dataclass(frozen=True)
class Residual:
    """A measured point with noise: p10 and p90 over the median, each simulated over measured."""

    point: Point
    p10: float
    p90: float
    #: The simulated median over the simulated time without noise.
    median: float


def residuals(points: list[tuple[Point, float]], preset: str, keys: dict[str, Any]) -> list[Residual]:
    """The residuals of `points`, given with their times without noise."""
    found = []
    for point, silent in points:
        times = validation.repeated(point, preset, keys)
        assert times is not None
        low, median, high = validation.percentiles(times)
        p10 = (low / median) / (point.p10_s / point.median_s)
        p90 = (high / median) / (point.p90_s / point.median_s)
        found.append(Residual(point, p10, p90, median / silent))
    return found


def between_runs(machine: str) -> list[float]:
    """The largest over the smallest median of each collective that several runs measured."""
    medians: dict[tuple[Any, ...], list[float]] = {}
    for p in measured.points(machine):
        key = (p.ranks, p.collective, p.algorithm, p.segment_bytes, p.bytes)
        medians.setdefault(key, []).append(p.median_s)
    return [max(found) / min(found) for found in medians.values() if len(found) > 1]


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("preset", choices=list(measured.MACHINES))
    preset = parser.parse_args().preset
    from scipy.optimize import least_squares

    points = []
    for point in measured.points(preset):
        if point.split == "fitted" and point.bytes <= LARGEST:
            silent = validation.simulate(point, preset, {})
            if silent is not None:
                points.append((point, silent))

    def logs(trial: Any) -> list[float]:
        found = residuals(points, preset, keys([math.exp(value) for value in trial]))
        errors = [math.log(ratio) for one in found for ratio in (one.p10, one.p90, one.median)]
        mean = math.exp(statistics.fmean(map(abs, errors)))
        print(
            f"{mean:.4f} mean factor of error, {[round(math.exp(value)) for value in trial]} ns", flush=True
        )
        return errors

    def to_logs(values: Any) -> list[float]:
        return [math.log(value) for value in values]

    # A step must change percentiles by more than the choice of the detours does.
    done = least_squares(
        logs,
        to_logs(values(measured.noise(preset))),
        bounds=(to_logs(LEAST), to_logs(MOST)),
        diff_step=0.04,
        xtol=1e-2,
        ftol=1e-2,
        max_nfev=8,
        loss="soft_l1",
        f_scale=0.02,
    )
    fitted = keys([math.exp(value) for value in done.x])
    for key, value in fitted.items():
        print(f"{key} = {value}")
    for one in residuals(points, preset, fitted):
        print(
            f"{one.point.ranks} {one.point.collective} {one.point.algorithm}, {one.point.bytes} B: "
            f"p10 / median {one.p10:.3f}, p90 / median {one.p90:.3f} of the measured; "
            f"median {one.median:.3f} of that without noise"
        )
    several = between_runs(preset)
    if several:
        ratio = statistics.median(several)
        print(f"{len(several)} points of several runs: largest / smallest median {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
