"""Job lists of batch systems as a batch file and a CSV file: `odonata batch` runs them."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from odonata import _core
from odonata.base import toml_text
from odonata.base.wording import counted
from odonata.batch_queue import job_list, readers, rules
from odonata.batch_queue.hosts import Machine
from odonata.batch_queue.job_list import JobList, about
from odonata.batch_queue.profiles import BUILT_IN, DEFAULT_ACCESS, DEFAULT_IO_SHARE, DEFAULT_SHARE, Phase
from odonata.errors import InputError, input_errors
from odonata.errors import option as named
from odonata.scenario.reading import check_seed, read_scenario
from odonata.sweeps import reader

#: Names in comments are cut to this length.
LONGEST_NAME = 60


@dataclass(frozen=True)
class JobImport:
    """A job list with profiles, and its batch file."""

    found: JobList
    #: The batch file (TOML), and the job list beside it (CSV).
    text: str
    csv: str

    @property
    def notes(self) -> list[str]:
        """What was left out or assumed, a sentence each."""
        return self.found.notes


def load(
    path: Path,
    machine: str,
    *,
    beside: Path,
    rules_file: Path | None = None,
    processors_per_node: int | None = None,
    hosts_file: Path | None = None,
    seed: int = 1,
) -> JobImport:
    """The batch file `beside` for the job list at `path`.

    Args:
        path: Job list: SWF, `sacct --parsable2`, or CSV.
        machine: Name of a preset, or path of a scenario.
        beside: The batch file to write; the job list gets its name with `.csv`.
        rules_file: Rules that give jobs their profiles.
        processors_per_node: For SWF: processors of a node.
        hosts_file: The hosts of the machine in the order of its nodes.
        seed: Seed of the drawn profiles.

    Raises:
        InputError: A file is wrong, or there is no such machine.
    """
    check_seed(seed)
    key, value, text, place = _machine(machine, beside)
    with input_errors():
        described = json.loads(_core.batch_nodes(text, place, []))
    given = rules.Rules() if rules_file is None else rules.read(reader.read(rules_file))
    nodes = len(described["group_of"])
    found = readers.read(path, processors_per_node, Machine.of(described, hosts_file))
    for job in found.jobs:
        if job.profile and job.profile not in given.profiles:
            raise InputError(
                "unknown profile", file=str(path), line=job.line, key="profile", value=job.profile,
                expected=f"one of {', '.join(given.profiles)}",
            )  # fmt: skip
    rules.apply(found, given, seed)
    if large := [job.id for job in found.jobs if job.nodes > nodes]:
        found.assumptions.append(job_list.too_large(large, f"{nodes} compute nodes of the machine"))
    if beyond := [job.id for job in found.jobs if job.node_list and max(job.node_list) >= nodes]:
        rest = f"ran on nodes beyond the {nodes} of the machine"
        found.assumptions.append(about(beyond, rest, rest))
    if len(names := sorted({job.partition for job in found.jobs if job.partition})) > 1:
        shown = job_list.first_of(names, len(names))
        found.assumptions.append(
            f"Jobs of the {len(names)} partitions {shown} wait in one queue for all nodes: a table "
            "[partitions] gives each its nodes."
        )
    made = JobImport(found, "", job_list.csv_text(found.jobs))
    used = Counter(job.profile for job in found.jobs)
    head = [
        f"# From {path.name[:LONGEST_NAME]!a}: {counted(len(found.jobs), 'job')}. "
        "Times count from the first submission or start.",
        *_assumptions(made.notes),
        "",
        f"{key} = {toml_text.value_text(value)}",
        f"jobs = {toml_text.value_text(beside.with_suffix('.csv').name)}",
        f"seed = {seed}",
        "",
        "[queue]",
        'policy = "easy"           # or fcfs, conservative, replay',
        'order = "fcfs"            # or priority, fair-share, shortest',
        'placement = "contiguous"  # or random, least-groups, topology-aware, whole-groups, list',
        "",
    ]
    tables = []
    for name in sorted(used):
        tables += _profile(name, given.profiles[name], used[name])
    return JobImport(found, "\n".join(head + tables), made.csv)


def _assumptions(notes: list[str]) -> list[str]:
    """The key with what was assumed."""
    return ["assumptions = [", *(f"  {toml_text.value_text(one)}," for one in notes), "]"] if notes else []


def _profile(name: str, phases: tuple[Phase, ...], jobs: int) -> list[str]:
    """The table of a profile."""
    origin = ": an assumption, not a measurement" if BUILT_IN.get(name) == phases else ""
    if len(phases) == 1:
        return [
            f"[profiles.{toml_text.key_text(name)}]  # {counted(jobs, 'job')}{origin}",
            *(f"{key} = {toml_text.value_text(value)}" for key, value in _phase(phases[0]).items()),
            "",
        ]
    lines = [f"[profiles.{toml_text.key_text(name)}]  # {counted(jobs, 'job')}{origin}", "phases = ["]
    lines += [f"  {toml_text.value_text(_phase(phase))}," for phase in phases]
    return [*lines, "]", ""]


def _phase(phase: Phase) -> dict[str, object]:
    """The keys of a phase."""
    keys: dict[str, object] = {"pattern": phase.pattern}
    if phase.intensity:
        keys |= {"intensity": f"{phase.intensity / 1e6:g} MB/s", "share": phase.share}
    elif phase.share != DEFAULT_SHARE and phase.pattern != "none":
        keys["share"] = phase.share
    keys |= {
        name: f"{rate / 1e6:g} MB/s" for name, rate in (("read", phase.read), ("write", phase.write)) if rate
    }
    if phase.io_share != DEFAULT_IO_SHARE:
        keys["io_share"] = phase.io_share
    if phase.access != DEFAULT_ACCESS:
        keys["access"] = f"{round(phase.access)} B"
    if phase.lasts_s is not None:
        keys["lasts"] = f"{phase.lasts_s:g} s"
    if phase.traffic_class:
        keys["class"] = phase.traffic_class
    return keys


def _machine(machine: str, beside: Path) -> tuple[str, str, str, str]:
    """The key of the machine in the batch file and its value, and the text and the path of its scenario."""
    if machine in _core.preset_names():
        return "preset", machine, f'preset = "{machine}"\n', str(beside)
    if not os.path.isfile(machine):
        raise InputError(
            "no such machine", key=named("machine"), value=machine,
            expected=f"a scenario file, or a preset: {', '.join(_core.preset_names())}",
        )  # fmt: skip
    relative = os.path.relpath(machine, beside.parent)
    return "scenario", relative, read_scenario(Path(machine)), machine
