"""Campaign: invalid rank programs.

A program of random rounds (`rank_program.py`) with operations that are lost, repeated, swapped, changed or
invalid, or that raises, or never ends. Its run ends with a named outcome, which is never an internal error,
and is the same on every scheduler. The campaign's limit of CPU time ends a program that loops in Python
without an operation.
"""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from hostile import calls, mutated_program, oracle, rank_program, toml_writer
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.networks import one_of
from hostile.oracle import Finding

NAME = "scenario.toml"
EVENTS = 300_000
SCHEDULES = {
    "one queue": ["run.scheduler=sequential", "run.parts=1"],
    "threads": ["run.scheduler=conservative", "run.threads=2", "run.parts=3"],
    "ahead": ["run.scheduler=optimistic", "run.threads=2", "run.parts=4"],
}
#: Keys that must be equal.
EQUAL = ("outcome", "detail", "digest")


class Programs(Campaign):
    """See the head of this file."""

    share = 0.6
    patience_s = 10.0

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A program with an error."""
        files = lot.random() < 0.5
        args: dict[str, Any] = {"seed": lot.randrange(100_000), "faults": one_of(lot, 1, 5, 20)}
        args |= {"files": files, "rounds": lot.randint(1, 6)}
        if lot.random() < 0.01:
            args["end"] = one_of(lot, "compute", "test", "mark", "probe", "nothing")
        job = {"name": "wrong", "ranks": lot.randint(1, 12), "args": args}
        job["python"] = "mutated_program.py:work"
        tree: dict[str, Any] = {"machine": {"torus": {"dims": [4, 4]}}, "jobs": [job]}
        tree["mpi"] = {"eager_threshold": one_of(lot, "0 B", "1 KiB", "none")}
        if lot.random() < 0.3:
            tree["mpi"]["progress"] = "in-calls"
        if files or lot.random() < 0.3:
            device = {"capacity": one_of(lot, "20 kB", "1 GB")}
            tree["storage"] = {"nodes": {"list": [1, 6]}, "device": device}
        if lot.random() < 0.2:
            tree["run"] = {"time_limit": one_of(lot, "5 us", "50 us")}
        (folder / NAME).write_text(toml_writer.document(tree), encoding="utf-8")
        for module in (rank_program, mutated_program):
            path = Path(str(module.__file__))
            (folder / path.name).write_bytes(path.read_bytes())
        ways = enumerate(SCHEDULES.values())
        commands = [f"odonata run {NAME} -o {number} {_shown(way)}" for number, way in ways]
        # A rank that never yields never returns control: the limit of CPU time ends it.
        return Trial(commands, endless=args.get("end") == "nothing")

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """Three schedulers."""
        before = calls.contents(folder)
        found: list[Finding] = []
        first: calls.Simulated | None = None
        for name, settings in SCHEDULES.items():
            announce(name)
            ran = oracle.attempt(name, partial(calls.simulate, folder / NAME, EVENTS, settings))
            if ran.finding:
                return Verdict("crashed", [*found, ran.finding])
            if ran.refusal:
                return Verdict("refused", found + oracle.refusal_rules(name, ran.refusal, before))
            assert ran.value is not None
            if not ran.value.finished:
                return Verdict("out of budget", found)
            found += oracle.outcome_rules(name, ran.value.run)
            first = first or ran.value
            for key in EQUAL:
                if ran.value.run[key] != first.run[key]:
                    seen = f"{name}: {key} {ran.value.run[key]}\nwith one queue: {first.run[key]}"
                    found.append(Finding("depends on the scheduler", seen, key))
        return Verdict(first.outcome if first else "nothing", found)


def _shown(settings: list[str]) -> str:
    return " ".join(f"--set {setting}" for setting in settings)
