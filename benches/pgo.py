"""Trains profile-guided optimization with typical runs, for a minute or two (make wheel WHEEL_PGO=yes).

The compiler has put counters into the package; their values guide the next build. The training therefore
covers every part that takes time in practice: routers of all kinds, MPI, storage, blame, and several threads.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import odonata
from odonata.benchmarks import bench

ROOT = Path(__file__).parents[1]

#: Scenarios beside the standard cases: jobs that share a machine, storage, programs of ranks.
SCENARIOS = ("examples/interference.toml", "examples/storage.toml", "benches/hop_costs/mpi.toml")


def main() -> None:
    bench.measure([], quick=True, announce=False)
    with tempfile.TemporaryDirectory() as folder:
        for number, scenario in enumerate(SCENARIOS):
            odonata.run(ROOT / scenario, Path(folder) / str(number))


if __name__ == "__main__":
    main()
