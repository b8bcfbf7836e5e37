"""All cases, under their names."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import batch
import machines
import mfnetsim
import mpi
import random_scenarios
import storage
import traces
import workloads
from case import Case

#: Cases of which every column of every table is recorded too: together they fill all columns.
COLUMNS_OF = (
    "application/checkpoint-restart",
    "application/data-loader",
    "application/ior",
    "example/conceptual",
    "machine/dragonfly-2d/ugal/input-queued",
    "run/few-rows",
    "run/mix",
    "run/series",
    "storage/drain",
    "storage/metadata-faults",
    "storage/metadata-shared",
)


def all_cases(work: Path) -> dict[str, Case]:
    """All cases; programs in files are in the folder `work` (`traces.prepare`)."""
    modules = (machines, workloads, storage, mpi, batch, random_scenarios, mfnetsim)
    every = chain(*(module.cases() for module in modules), traces.cases(work))
    cases: dict[str, Case] = {}
    for case in every:
        assert case.name not in cases, f"two cases have the name {case.name}"
        cases[case.name] = case
    return cases
