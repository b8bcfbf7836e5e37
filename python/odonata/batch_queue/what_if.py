"""A batch file at several values of its keys, on the same jobs and seeds.

Runs with the same seed draw the same placements and paths, so that their ratios vary less than the runs do.
All variants are compared with the first one, seed by seed.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.base import journal as journals
from odonata.base.journal import Journal
from odonata.batch_queue import confirm as confirming
from odonata.batch_queue import run, settings, summary
from odonata.batch_queue.settings import Spec
from odonata.errors import InputError, option
from odonata.running.stopping import StopRequest
from odonata.sweeps.axes import Axis
from odonata.sweeps.reader import Source
from odonata.sweeps.statistics import Paired, paired
from odonata.sweeps.values import text
from odonata.sweeps.work import build

if TYPE_CHECKING:
    from odonata.answers.what_if import WhatIf, WhatIfPair, WhatIfRun

#: The runs, and the file with the answer.
JOURNAL, WHAT_IF_FILE = "runs.jsonl", "what-if.json"
#: Measures of a run that are compared, and their names for people.
MEASURES = {
    "turnaround_s": "turnaround (wait and run)",
    "makespan_s": "time until all jobs have ended",
    "slowdown": "slowdown by contention",
    "lost_share": "node time lost to contention",
    "packet_slowdown": "slowdown in packets",
}
#: Ratios of runs without randomness that are this close to 1 are none.
NOISE = 0.005
#: How to learn what rates do not know.
_ASK_PACKETS = " --confirm N compares the variants in packets, at N moments of each seed."
#: Most variants.
MOST = 1000

#: Called with the number of runs that are done and of all, and the progress of the present run.
Report = Callable[[int, int, float, int, int], None]


@dataclass(frozen=True)
class Variant:
    """A variant of a batch file."""

    values: Mapping[str, Any]
    spec: Spec

    @property
    def label(self) -> str:
        """Its values."""
        return ", ".join(f"{key} = {text(value)}" for key, value in self.values.items())


def variants(file: Path, axes: Sequence[Axis]) -> list[Variant]:
    """Every combination of the values of `axes`; raises `InputError` for a wrong one."""
    count = math.prod(len(axis.rows) for axis in axes)
    if not axes or count > MOST:
        raise InputError(
            "nothing varies" if not axes else "too many variants", key=option("over"),
            value=str(count) if axes else None, expected=f"KEY=A,B, and at most {MOST} variants",
        )  # fmt: skip
    found = []
    for rows in itertools.product(*(axis.rows for axis in axes)):
        values = {axis.keys[0]: row[0] for axis, row in zip(axes, rows, strict=True)}
        found.append(Variant(values, settings.load(file, values)))
    return found


def compare(
    found: Sequence[Variant],
    seeds: int,
    folder: Path | None,
    *,
    stop: StopRequest,
    report: Report | None = None,
    confirm: int = 0,
) -> WhatIf:
    """Simulates every variant with every seed; runs in the journal of `folder` are not repeated.

    In each run `confirm` drawn moments are repeated with packets. Runs that rates do not tell apart have the
    same moments, so that their ratio is what packets say.
    """
    with contextlib.ExitStack() as stack:
        journal, known = None, {}
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            journal = stack.enter_context(Journal(folder / JOURNAL))
            known = _known(folder / JOURNAL)
        runs: dict[tuple[int, int], WhatIfRun] = {}
        done, count = 0, len(found) * seeds
        # Seed by seed: a stopped comparison has whole pairs.
        for shift, (number, variant) in itertools.product(range(seeds), enumerate(found)):
            spec = replace(variant.spec, seed=variant.spec.seed + shift)
            key = _key(spec, confirm)
            one = known.get(key)
            if one is None and not stop.requested:

                def show(simulated_s: float, ended: int, jobs: int, done: int = done) -> None:
                    assert report is not None
                    report(done, count, simulated_s, ended, jobs)

                result = run.simulate(spec, stop=stop, report=None if report is None else show)
                packets = None
                if confirm and result.outcome == "completed":
                    packets = _in_packets(result, confirm, None if folder is None else folder / key, stop)
                if result.outcome == "completed" and not (confirm and stop.requested):
                    one = _measured(key, result, packets)
                    if journal is not None:
                        journal.add(one)
            if one is not None:
                done += 1
                runs[number, spec.seed] = one
    return _answer(found, runs, count)


def _known(journal: Path) -> dict[str, Any]:
    """The runs of a journal by key; damaged ones are left out."""
    from odonata.answers.what_if import WhatIfRun
    from odonata.base.json_types import Wrong, check

    found = {}
    for record in journals.records(journal):
        with contextlib.suppress(Wrong):
            check(record, WhatIfRun)
            found[record["key"]] = record
    return found


def _in_packets(
    result: run.BatchResult, moments: int, folder: Path | None, stop: StopRequest
) -> float | None:
    """The mean slowdown in packets of the jobs at drawn moments, which `folder` keeps; None without jobs."""
    if folder is not None:
        folder.mkdir(exist_ok=True)
    found: list[float] = []
    confirming.confirm(result, moments, stop=stop, folder=folder, slowdowns_in_packets=found)
    return sum(found) / len(found) if found else None


def _key(spec: Spec, confirm: int) -> str:
    """A digest of what a run depends on."""
    rest = asdict(replace(spec, source=Source(), assumptions=()))
    content = json.dumps(
        [build(), rest, spec.jobs.read_text(errors="replace"), confirm], sort_keys=True, default=str
    )
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def _measured(key: str, result: run.BatchResult, packets: float | None) -> WhatIfRun:
    """The measures of a run."""
    found = summary.summarize(result)
    turnarounds = [
        record["end"] / run.MICROS - job.submit_s
        for job, record in zip(result.jobs, result.results["jobs"], strict=True)
        if record["end"] is not None
    ]
    return {
        "key": key,
        "seed": result.spec.seed,
        "digest": found["digest"],
        "turnaround_s": sum(turnarounds) / len(turnarounds) if turnarounds else 0.0,
        "makespan_s": found["simulated_s"],
        "wait_s": 0.0 if found["wait_s"] is None else found["wait_s"]["mean"],
        "slowdown": 1.0 if found["slowdown"] is None else found["slowdown"]["mean"],
        "lost_share": found["lost_share"],
        "utilization": found["utilization"],
        "packet_slowdown": packets,
    }


def _answer(found: Sequence[Variant], runs: Mapping[tuple[int, int], WhatIfRun], count: int) -> WhatIf:
    """The variants with their runs, and their comparison with the first one."""
    answer: WhatIf = {
        "kind": "what-if",
        "outcome": "completed" if len(runs) == count else "interrupted",
        "name": found[0].spec.name,
        "variants": [],
        "sentences": [],
    }
    by_variant = [
        {seed: one for (number, seed), one in runs.items() if number == place} for place in range(len(found))
    ]
    for variant, own in zip(found, by_variant, strict=True):
        pairs: list[WhatIfPair] = []
        for measure in MEASURES if own is not by_variant[0] else ():
            pair = _pair(by_variant[0], own, measure)
            if pair is not None:
                pairs.append(
                    {
                        "measure": measure, "ratio": pair.ratio,
                        "low": None if math.isnan(pair.low) else pair.low,
                        "high": None if math.isnan(pair.high) else pair.high,
                        "pairs": pair.pairs, "fell": pair.fell, "rose": pair.rose,
                        "words": _words(pair, len(own)),
                    }
                )  # fmt: skip
                is_fixed = pair.pairs == 1 and len(own) > 1
                if pair.differs or (is_fixed and abs(pair.ratio - 1) > NOISE):
                    difference = f"{MEASURES[measure]} is {_words(pair, len(own))}"
                    answer["sentences"].append(f"{variant.label} against {found[0].label}: {difference}.")
        answer["variants"].append(
            {
                "variant": variant.label, "values": dict(variant.values), "runs": list(own.values()),
                "pairs": pairs,
            }
        )  # fmt: skip
    answer["sentences"] = [*caveats(answer), *answer["sentences"]]
    if not answer["sentences"] and len(runs) == count:
        answer["sentences"].append(f"No variant is known to differ from {found[0].label}.")
    return answer


def caveats(answer: WhatIf | dict[str, Any]) -> list[str]:
    """Which variants rates may not tell apart from the first one, a sentence each."""
    first, *others = answer["variants"]
    of_first = {run["seed"]: run["digest"] for run in first["runs"]}
    found = []
    for one in others:
        keys = [key for key, value in one["values"].items() if value != first["values"][key]]
        runs = one["runs"]
        know = "" if any(run["packet_slowdown"] is not None for run in runs) else _ASK_PACKETS
        is_equal = bool(runs) and all(of_first.get(run["seed"]) == run["digest"] for run in runs)
        if keys and is_equal and all(key.partition(".")[0] not in settings.KEYS for key in keys):
            found.append(
                f"{one['variant']} has exactly the results of {first['variant']} by rates. Rates know no "
                f"detours of adaptive routing and no buffers: packets may differ.{know}"
            )
        elif runs and any(key.startswith("network.routing") for key in keys):
            found.append(
                f"{one['variant']} against {first['variant']}: by rates adaptive routing takes no "
                f"detours, so packets may differ.{know}"
            )
    return found


def _words(pair: Paired, seeds: int) -> str:
    """A ratio in words; of one pair and several seeds, that nothing depends on them."""
    return pair.in_words + (", no seed changes it" if pair.pairs == 1 and seeds > 1 else "")


def _pair(before: Mapping[int, Any], after: Mapping[int, Any], measure: str) -> Paired | None:
    """The ratio of a measure, seed by seed; equal runs are one observation."""
    pairs = {
        (before[seed]["digest"], after[seed]["digest"]): (before[seed][measure], after[seed][measure])
        for seed in sorted(before.keys() & after.keys())
        if before[seed][measure] is not None and after[seed][measure] is not None
    }
    if not pairs:
        return None
    return paired([one for one, _ in pairs.values()], [two for _, two in pairs.values()])
