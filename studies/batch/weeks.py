"""Job lists of four weeks, for the comparison of slowdowns by rates with packets (README.md).

    python studies/batch/weeks.py results/weeks

Three lists have jobs by the model of U. Lublin and D. Feitelson (The workload on parallel supercomputers,
JPDC 63, 2003), with the parameters of batch jobs there:

- A quarter of the jobs is serial. Other sizes are 2^u, with u from a two-stage uniform distribution, and a
  power of two in 57.6% of the cases.
- The logarithm of the run time is hyper-gamma, with more long jobs among the large ones.

The other list has sizes of 2 to 128 nodes, all powers of two equally likely, and run times of 10 min to 12 h
with a uniform logarithm. Arrivals are a Poisson process with two levels a day, for a load of `LOAD`.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from pathlib import Path

Kind = Callable[[random.Random], tuple[int, int]]

#: Compute nodes of examples/batch/cluster.toml, the offered load, and the time of the list in seconds.
NODES, LOAD, WEEK_S = 270, 0.75, 7 * 86_400
#: Sizes: share of serial jobs, of powers of two, and the stages of the logarithm.
SERIAL, POWER_OF_TWO, LOW, MEDIUM, FIRST = 0.244, 0.576, 0.8, 4.5, 0.86
#: Run times: the two gamma distributions (shape, scale) and the share of the first, a size + b.
SHORT, LONG, SHARE_SLOPE, SHARE = (4.2, 0.94), (312.0, 0.03), -0.0054, 0.78
#: Times of day with most arrivals, and how many more come then.
BUSY_HOURS, BUSY = range(8, 18), 3.0


def size(draw: random.Random) -> int:
    """The nodes of a job."""
    if draw.random() < SERIAL:
        return 1
    high = math.log2(NODES)
    power = draw.uniform(LOW, MEDIUM) if draw.random() < FIRST else draw.uniform(MEDIUM, high)
    if draw.random() < POWER_OF_TWO:
        power = round(power)
    return max(1, min(NODES, round(2**power)))


def run_time(draw: random.Random, nodes: int) -> int:
    """The run time of a job, in seconds: at least a minute, at most a day."""
    share = min(1.0, max(0.0, SHARE_SLOPE * nodes + SHARE))
    shape, scale = SHORT if draw.random() < share else LONG
    return round(min(86_400, max(60.0, math.exp(draw.gammavariate(shape, scale)))))


def lublin(draw: random.Random) -> tuple[int, int]:
    """Nodes and run time of a job by the model."""
    nodes = size(draw)
    return nodes, run_time(draw, nodes)


def powers(draw: random.Random) -> tuple[int, int]:
    """Nodes and run time of a job of the third list."""
    return 2 ** draw.randint(1, 7), round(600 * 72 ** draw.random())


def jobs(seed: int, kind: Kind) -> list[tuple[int, int, int]]:
    """Submission, nodes and run time of the jobs of a week."""
    draw = random.Random(seed)
    sample = [kind(draw) for _ in range(20_000)]
    work = sum(nodes * seconds for nodes, seconds in sample) / len(sample)
    rate = LOAD * NODES / work
    day = (len(BUSY_HOURS) * BUSY + 24 - len(BUSY_HOURS)) / 24
    found, time = [], 0.0
    while time < WEEK_S:
        is_busy = int(time / 3600) % 24 in BUSY_HOURS
        time += draw.expovariate(rate / day * (BUSY if is_busy else 1.0))
        found.append((round(time), *kind(draw)))
    return found


def swf(seed: int, kind: Kind) -> str:
    """The list in the Standard Workload Format; 16 users, and a limit of twice the run time."""
    lines = [f"; MaxNodes: {NODES}", f"; MaxProcs: {NODES}"]
    for number, (submit, nodes, seconds) in enumerate(jobs(seed, kind), 1):
        user = number * 7 % 16
        times = f"{submit} -1 {seconds} {nodes} -1 -1 {nodes} {2 * seconds}"
        lines.append(f"{number} {times} -1 1 {user} 1 {number % 5} 1 1 -1 -1")
    return "\n".join(lines) + "\n"


#: The lists: their names, seeds and jobs.
WEEKS = (("near", 2, lublin), ("scattered", 3, lublin), ("powers", 4, powers), ("tapered", 5, lublin))

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, seed, kind in WEEKS:
        (folder / f"{name}.swf").write_text(swf(seed, kind))
