"""Cycles of a dragonfly per second of CPU time, beside BookSim 2: 1,056 nodes, minimal and adaptive routing.

    .venv/bin/python benches/booksim_speed.py --booksim ../booksim2/src/booksim
    .venv/bin/python benches/booksim_speed.py                     # beside recorded rates

Both simulate 30,000 cycles of warm-up and 30,000 more of uniform traffic, with packets of one flit and the
settings of studies/booksim. They run one after the other at each load. CPU time is that of the whole process
(BookSim) and of the run (Odonata). With --rounds all loads are repeated in turn, and the medians count.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import odonata

SCENARIOS = Path(__file__).parents[1] / "studies" / "booksim" / "scenarios"
#: Cycles of warm-up, and of the measurement.
CYCLES = 30_000
#: Routing -> load -> cycles of BookSim per second of CPU time, used without a binary. Measured once in
#: November 2026: runs of 2,354 to 2,722 cycles, commit 28f43299 built with g++ 12.2 -O3, on two shared x86-64
#: cores.
RECORDED = {
    "min": {0.1: 382.0, 0.3: 150.0, 0.5: 89.0, 0.7: 68.0},
    "ugal": {0.1: 371.0, 0.3: 143.0, 0.5: 90.0, 0.7: 57.0},
}
#: Routing -> virtual channels.
CHANNELS = {"min": 2, "ugal": 3}


@dataclass(frozen=True)
class Rate:
    """A simulator at a load."""

    cycles: int
    cpu_s: float

    @property
    def per_cpu_s(self) -> float:
        """Cycles per second of CPU time."""
        return self.cycles / self.cpu_s


def configuration(routing: str, load: float, cycles: int) -> str:
    """BookSim's configuration: one period of warm-up, one that counts."""
    settings = {
        **{"topology": "dragonflynew", "k": 4, "n": 1, "routing_function": routing},
        **{"num_vcs": CHANNELS[routing], "vc_buf_size": 256, "internal_speedup": "2.0"},
        **{"routing_delay": 0, "credit_delay": 2, "wait_for_tail_credit": 0, "use_noc_latency": 0},
        **{"vc_allocator": "separable_input_first", "sw_allocator": "separable_input_first"},
        **{"packet_size": 1, "injection_rate_uses_flits": 1, "injection_rate": load, "traffic": "uniform"},
        **{"sim_type": "latency", "warmup_periods": 1, "max_samples": 2, "sample_period": cycles},
        **{"latency_thres": "2000.0", "seed": 12345},
    }
    return "".join(f"{key} = {value};\n" for key, value in settings.items())


def read(output: str) -> int:
    """Cycles that BookSim simulated, by what it printed."""
    cycles = re.findall(r"^Time taken is (\d+) cycles", output, re.MULTILINE)
    if not cycles:
        last = "\n".join(output.strip().splitlines()[-5:])
        raise SystemExit(f"BookSim did not end as expected; its last lines:\n{last}")
    return int(cycles[-1])


def booksim(binary: Path, routing: str, load: float, cycles: int) -> Rate:
    """BookSim's rate; its drain counts, in cycles and in time."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dragonfly.cfg"
        file.write_text(configuration(routing, load, cycles), encoding="utf-8")
        before = os.times()
        done = subprocess.run([binary, file], capture_output=True, text=True, check=False, cwd=folder)
        after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Rate(read(done.stdout), used)


def ours(routing: str, load: float, cycles: int) -> Rate:
    """Odonata's rate; the run is as long as its sources, whose messages arrive at random."""
    traffic = {"load": load, "arrival": "bernoulli", "self": True, "messages": round(2 * load * cycles)}
    results = odonata.run(
        SCENARIOS / f"dragonfly_{routing}_uniform.toml",
        overrides={
            "run.scheduler": "sequential",
            "run.message_rows": 0,
            "jobs.0.workload": {"uniform": traffic},
        },
    )
    return Rate(2 * cycles, results.run["cpu_s"])


def compare(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """A row per routing and load."""
    found: dict[tuple[str, float], tuple[list[Rate], list[Rate]]] = {}
    for _ in range(arguments.rounds):
        for routing in arguments.routings:
            for load in arguments.loads:
                mine, theirs = found.setdefault((routing, load), ([], []))
                if arguments.booksim:
                    theirs.append(booksim(arguments.booksim, routing, load, arguments.cycles))
                mine.append(ours(routing, load, arguments.cycles))
    rows = []
    for (routing, load), (mine, theirs) in found.items():
        rate = statistics.median(one.per_cpu_s for one in mine)
        if theirs:
            other = statistics.median(one.per_cpu_s for one in theirs)
        else:
            other = RECORDED[routing].get(load, float("nan"))
        row = {
            "routing": routing,
            "load": load,
            "cycles_per_cpu_s": rate,
            "booksim": other,
            "times": rate / other,
        }
        rows.append(
            row
            | {"measured": bool(theirs), "ours": [asdict(one) for one in mine]}
            | {"theirs": [asdict(one) for one in theirs]}
        )
    return rows


def parse(words: list[str] | None = None) -> argparse.Namespace:
    description, _, rest = str(__doc__).partition("\n\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--booksim", type=Path, metavar="BINARY", help="BookSim 2, built as it comes")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="[%(default)s]")
    parser.add_argument("--cycles", type=int, default=CYCLES, metavar="N", help="each half [%(default)s]")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.1, 0.3, 0.5, 0.7], metavar="LOAD")
    parser.add_argument("--routings", nargs="+", default=list(CHANNELS), choices=list(CHANNELS))
    parser.add_argument("--json", action="store_true", help="every run, as JSON")
    arguments = parser.parse_args(words)
    if arguments.booksim is not None:
        arguments.booksim = arguments.booksim.resolve()
        if not os.access(arguments.booksim, os.X_OK):
            parser.error(f"--booksim: {arguments.booksim} is no program")
    if arguments.rounds < 1 or arguments.cycles < 1:
        parser.error("--rounds, --cycles: at least 1")
    return arguments


def main() -> int:
    """Prints a line per routing and load."""
    arguments = parse()
    rows = compare(arguments)
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    where = "measured beside ours" if arguments.booksim else "recorded once, not measured now"
    print(f"routing  load  cycles per CPU-second  BookSim's, {where}  times")
    for row in rows:
        print(
            f"{row['routing']:7}  {row['load']:4}  {row['cycles_per_cpu_s']:21,.0f}  "
            f"{row['booksim']:{len(where) + 11},.0f}  {row['times']:5.1f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
