"""Fits the costs of a preset to ping-pongs and to the points marked `fitted`; prints residuals.

    fit.py lumi        minutes: some hundred short runs

The values go into the preset by hand. Exit code: 0; 2 if the arguments are wrong.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from odonata.machines import measured, validation


@dataclass(frozen=True)
class Parameter:
    """Keys that share a value, its first guess, and its text in a scenario."""

    keys: tuple[str, ...]
    first: float
    text: Callable[[float], Any]


def ns(*keys: str, first: float) -> Parameter:
    return Parameter(keys, first, lambda value: f"{value:.3f} ns")


def per_byte(*keys: str, first: float) -> Parameter:
    return Parameter(keys, first, lambda value: f"{value:.6f} ns/B")


def rate(*keys: str, first: float) -> Parameter:
    return Parameter(keys, first, lambda value: f"{value:.6f} GB/s")


PARAMETERS = {
    "lumi": (
        ns("network.links.global.latency", first=700),
        ns("mpi.send_delay", first=1910),
        ns("mpi.send_overhead", "mpi.recv_overhead", first=490),
        ns("mpi.fetch_delay", first=610),
        ns("mpi.control_delay", first=470),
        rate("mpi.reduce_rate", first=5),
    ),
    "leonardo": (
        ns("mpi.send_delay", first=840),
        ns("mpi.fetch_delay", first=150),
        per_byte("mpi.send_overhead_per_byte", "mpi.recv_overhead_per_byte", first=0.17),
        ns("mpi.control_delay", first=400),
        ns("mpi.collective_overhead", first=400),
        rate("nic.rate", first=15),
    ),
    "fugaku": (
        ns("mpi.send_delay", first=1150),
        ns("mpi.send_overhead", "mpi.recv_overhead", first=1050),
        ns("mpi.fetch_delay", first=300),
        per_byte("mpi.send_overhead_per_byte", "mpi.recv_overhead_per_byte", first=0.1),
        ns("mpi.control_delay", first=800),
        rate("mpi.reduce_rate", first=17),
    ),
    # Nothing but ping-pongs was measured: those at stated distances are fitted, the others are not.
    "alps": (
        ns("network.links.global.latency", first=900),
        ns("mpi.send_delay", first=3200),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("preset", choices=list(PARAMETERS))
    preset = parser.parse_args().preset
    from scipy.optimize import least_squares

    parameters = PARAMETERS[preset]
    points = [p for p in measured.points(preset) if p.split == "fitted" and measured.workload(p) is not None]
    # Longer ping-pongs use all rails or interfaces of a host.
    pairs = [p for p in measured.ping_pongs(preset) if p.bytes <= 4096]
    if not points:
        pairs = [p for p in pairs if p.distance != "not stated"]

    def keys(logs: Any) -> dict[str, Any]:
        return {
            key: one.text(math.exp(value))
            for one, value in zip(parameters, logs, strict=True)
            for key in one.keys
        }

    def residuals(logs: Any) -> list[float]:
        values = keys(logs)
        found = [math.log(validation.half_round_trip(p, preset, values) / p.half_round_trip_s) for p in pairs]
        for point in points:
            simulated = validation.simulate(point, preset, values)
            assert simulated is not None
            found.append(math.log(simulated / point.median_s))
        print(f"{math.exp(sum(map(abs, found)) / len(found)):.3f} mean factor of error", flush=True)
        return found

    first = [math.log(one.first) for one in parameters]
    done = least_squares(
        residuals, first, diff_step=0.02, xtol=1e-3, ftol=1e-3, max_nfev=12, loss="soft_l1", f_scale=0.1
    )
    for key, value in keys(done.x).items():
        print(f"{key} = {value}")
    names = [f"ping-pong, {p.distance}, {p.bytes} B" for p in pairs]
    names += [f"{p.ranks} {p.collective} {p.algorithm}, {p.bytes} B" for p in points]
    for name, residual in zip(names, residuals(done.x), strict=True):
        print(f"{name}: simulated / measured {math.exp(residual):.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
