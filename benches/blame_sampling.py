"""Error of blame from a sample of packets (`run.blame_sampling`), relative to all packets.

    .venv/bin/python benches/blame_sampling.py [--one-in N] [--seeds N] [SCENARIO]

Runs the scenario with all packets charged and with one in N. Compares the waits of jobs for each other at
routers, for the pairs with at least 1% of all waits there.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import odonata

ROOT = Path(__file__).parents[1]

#: Smallest share of all waits for a pair to be compared.
LEAST = 0.01

Pair = tuple[str, str]


def waits(scenario: str, seed: int, one_in: int) -> dict[Pair, float]:
    """Seconds that packets waited at routers, by victim and culprit."""
    overrides = {"seed": seed, "run.blame": True, "run.blame_sampling": one_in, "run.baselines": False}
    rows = odonata.run(scenario, overrides=overrides, progress=False).table("blame").to_pylist()
    found: dict[Pair, float] = {}
    for row in rows:
        # Waits at NICs and storage servers are never sampled.
        if row["place"] not in ("nic", "server"):
            pair = (row["victim"], row["culprit"])
            found[pair] = found.get(pair, 0.0) + row["waited_s"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--one-in", type=int, default=16, metavar="N", help="default: 16")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="of the scenario; default: 1")
    parser.add_argument("scenario", nargs="?", default=str(ROOT / "examples/interference.toml"))
    chosen = parser.parse_args()
    off: list[float] = []
    for seed in range(1, chosen.seeds + 1):
        true = waits(chosen.scenario, seed, 1)
        estimate = waits(chosen.scenario, seed, chosen.one_in)
        all_waits = sum(true.values())
        for pair, seconds in sorted(true.items(), key=lambda item: -item[1]):
            if seconds >= LEAST * all_waits:
                off.append(abs(estimate.get(pair, 0.0) / seconds - 1))
                names = " for ".join(pair)
                print(f"seed {seed}: {names:30} {seconds:9.4f} s {100 * off[-1]:6.2f}% off", flush=True)
    mean, most = 100 * statistics.fmean(off), 100 * max(off)
    print(f"{len(off)} pairs: {mean:.2f}% in the mean, {most:.2f}% at most")


if __name__ == "__main__":
    main()
