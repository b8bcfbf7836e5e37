"""Rules that give every job an application profile: by name, user, size or counters.

The first rule whose conditions all hold decides. A job without a rule draws one of the default profiles by
the seed and its id, so that other jobs do not change its draw.
"""

from __future__ import annotations

import fnmatch
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odonata.base import quantities
from odonata.batch_queue import darshan_logs, profiles
from odonata.batch_queue.job_list import Job, JobList, about
from odonata.batch_queue.profiles import Profile
from odonata.sweeps.reader import Table, unknown

#: Conditions on texts (with `*` and `?`), and least values of counters.
_TEXTS = ("name", "application", "user", "group", "partition")
_COUNTERS = {"min_sent": "sent_bytes", "min_read": "read_bytes", "min_written": "written_bytes"}
MOST_RULES = 10_000
#: The profiles of jobs without a rule, with their weights: assumptions, not measurements.
DEFAULT_MIX = {"none": 0.4, "halo": 0.3, "all-reduce": 0.15, "checkpoint": 0.1, "all-to-all": 0.05}


@dataclass(frozen=True)
class Rule:
    """A rule: conditions and a profile."""

    profile: str
    texts: Mapping[str, str] = field(default_factory=dict)
    min_nodes: int = 0
    max_nodes: int = 1 << 31
    counters: Mapping[str, float] = field(default_factory=dict)

    def holds(self, job: Job) -> bool:
        """Whether the rule applies to the job."""
        return (
            self.min_nodes <= job.nodes <= self.max_nodes
            and all(fnmatch.fnmatchcase(getattr(job, name), pattern) for name, pattern in self.texts.items())
            and all((getattr(job, name) or 0.0) >= least for name, least in self.counters.items())
        )


@dataclass(frozen=True)
class Rules:
    """All rules of a file."""

    rules: tuple[Rule, ...] = ()
    #: Profiles of jobs without a rule, with their weights.
    defaults: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULT_MIX))
    profiles: Mapping[str, Profile] = field(default_factory=lambda: dict(profiles.BUILT_IN))
    #: The text of the tables `profiles`, for the batch file.
    written: Mapping[str, Any] = field(default_factory=dict)
    #: A folder of Darshan logs with ids of jobs in their names.
    darshan: Path | None = None


def read(table: Table) -> Rules:
    """The rules of a rules file."""
    table.refuse_others(("rules", "defaults", "profiles", "darshan"))
    logs = table.get("darshan", str, "a folder of Darshan logs")
    beside = Path() if table.source.file is None else table.source.file.parent
    known = profiles.read(table.table("profiles"))

    def check(name: str, at: Table, key: str) -> str:
        if name not in known:
            raise unknown(at.source, at.key(key), name, known, "unknown profile")
        return name

    entries = table.get("rules", list, "a list of tables") or []
    if len(entries) > MOST_RULES or not all(isinstance(one, dict) for one in entries):
        raise table.error("not a list of rules", "rules", len(entries), f"at most {MOST_RULES} tables")
    found = []
    for place, entry in enumerate(entries):
        rule = Table(entry, table.source, f"rules.{place}")
        rule.refuse_others(("profile", *_TEXTS, "min_nodes", "max_nodes", *_COUNTERS))
        texts = {name: rule.get(name, str, "a text with * and ?") for name in _TEXTS}
        counters = {
            field_: profiles.quantity(rule, name, quantities.SIZES, "a size such as `1 GB`")
            for name, field_ in _COUNTERS.items()
        }
        profile = rule.get("profile", str, "the name of a profile")
        if profile is None:
            raise rule.error("a rule without a profile", "profile", None, "the name of a profile")
        found.append(
            Rule(
                check(profile, rule, "profile"),
                {name: text for name, text in texts.items() if text is not None},
                rule.count("min_nodes", 0),
                rule.count("max_nodes", 1 << 31, most=1 << 31),
                {name: value for name, value in counters.items() if value is not None},
            )
        )
    defaults = dict(DEFAULT_MIX)
    if (mix := table.table("defaults")) is not None:
        defaults = {}
        for name in mix.values:
            weight = mix.get(name, (int, float), "a weight above 0")
            if not 0 < weight <= 1e9:
                raise mix.error("a number out of range", name, weight, "a weight above 0")
            defaults[check(name, mix, name)] = float(weight)
        if not defaults:
            raise table.error("no default profile", "defaults", None, "profiles with weights, `halo = 1`")
    written = dict(table.values.get("profiles", {}))
    return Rules(tuple(found), defaults, known, written, None if logs is None else beside / logs)


def apply(found: JobList, rules: Rules, seed: int) -> None:
    """Gives jobs counters of Darshan logs, and a profile to each without; records what was assumed."""
    if rules.darshan is not None:
        darshan_logs.of_folder(found, rules.darshan)
    by_rule: Counter[str] = Counter()
    drawn: Counter[str] = Counter()
    for job in found.jobs:
        if job.profile:
            continue
        rule = next((rule for rule in rules.rules if rule.holds(job)), None)
        if rule is not None:
            job.profile = rule.profile
            by_rule[job.profile] += 1
        else:
            job.profile = _draw(rules.defaults, seed, job.id)
            drawn[job.profile] += 1
    if by_rule:
        found.assumptions.append(f"Profiles by rule: {_counts(by_rule)}.")
    if drawn:
        weights = ", ".join(f"{name} {weight:g}" for name, weight in rules.defaults.items())
        found.assumptions.append(
            f"Profiles drawn for jobs without a rule, by seed {seed} and weights {weights}: {_counts(drawn)}."
        )
        if not by_rule:
            found.assumptions.append(
                "Drawn profiles are no measurements: the disturbances are an illustration."
            )
    counters = [
        job.id
        for job in found.jobs
        if any(value is not None for value in (job.sent_bytes, job.read_bytes, job.written_bytes))
    ]
    if counters:
        found.assumptions.append(
            about(
                counters,
                "has counters, which replace the rates of its profile",
                "have counters, which replace the rates of their profiles",
            )
        )
    if without := [job.id for job in found.jobs if job.limit_s is None]:
        found.assumptions.append(
            about(
                without,
                "has no time limit, so the queue plans with its run time",
                "have no time limit, so the queue plans with their run times",
            )
        )


def _counts(counts: Counter[str]) -> str:
    """Numbers of jobs by profile."""
    return ", ".join(
        f"{count} {name}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    )


def _draw(weights: Mapping[str, float], seed: int, name: str) -> str:
    """One of the names, by weight."""
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    place = int.from_bytes(digest, "little") / 2**64 * sum(weights.values())
    for chosen, weight in weights.items():
        place -= weight
        if place < 0:
            return chosen
    return list(weights)[-1]
