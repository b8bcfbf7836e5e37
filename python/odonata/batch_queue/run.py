"""Runs a batch file: the request to the core, its results, and the result folder.

The core simulates the queue in slices of wall time, between which progress shows and Ctrl-C is heard. A run
that is stopped keeps what it has simulated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.nearest import did_you_mean, nearest
from odonata.base.output_file import whole_file
from odonata.batch_queue import job_list, profiles, readers
from odonata.batch_queue.hosts import Machine
from odonata.batch_queue.job_list import Job, JobList
from odonata.batch_queue.profiles import Profile
from odonata.batch_queue.settings import Spec
from odonata.errors import InputError, input_errors
from odonata.running.stopping import StopRequest

#: Wall time of a slice, seconds.
SLICE_S = 0.1
MICROS = 1_000_000
#: The file that marks a folder as the result of a batch queue, and the tables beside it.
BATCH_FILE = "batch.json"
JOBS, LOST, SERIES = "batch_jobs", "batch_lost", "batch_series"
LINKS, LOADS = "batch_links", "batch_loads"
#: Numbers of patterns in the core.
PATTERNS = {"halo": 0, "all-reduce": 1, "all-to-all": 2, "training": 3, "read": 4, "write": 5}

#: Called with the simulated time in seconds, the number of jobs that have ended, and of all jobs.
Report = Callable[[float, int, int], None]


@dataclass
class BatchResult:
    """The jobs of a batch queue and what happened to them."""

    spec: Spec
    jobs: list[Job]
    #: The machine: `name`, `preset`, `group_of`, `end_points`, `interfaces`, `servers`, `classes`,
    #: `traffic_classes`.
    machine: dict[str, Any]
    #: A record of the core per job, `lost`, `series`, `links`, `loads`, `moments`, `digest`.
    results: dict[str, Any]
    #: `completed` or `interrupted`.
    outcome: str
    simulated_s: float
    wall_s: float
    #: The request to the core.
    request: dict[str, Any] = field(default_factory=dict)
    assumptions: list[str] = field(default_factory=list)


def profile_of(job: Job, spec: Spec) -> Profile:
    """The profile of a job, with the rates and the size of calls that its counters state."""
    profile = spec.profiles[job.profile or "none"]
    if job.access_bytes is not None:
        profile = tuple(replace(phase, access=job.access_bytes) for phase in profile)
    read = -1.0 if job.read_bytes is None else job.read_bytes
    written = -1.0 if job.written_bytes is None else job.written_bytes
    if job.sent_bytes is None and read < 0 and written < 0:
        return profile
    return profiles.with_counters(profile, job.run_s, job.nodes, job.sent_bytes, (read, written))


def simulate(spec: Spec, *, stop: StopRequest | None = None, report: Report | None = None) -> BatchResult:
    """Simulates the batch file.

    Raises:
        InputError: The machine or the job list is wrong, or a job does not fit them.
    """
    with input_errors():
        machine = json.loads(_core.batch_nodes(spec.text, spec.path, spec.overrides))
    machine["name"] = spec.preset or machine["name"]
    found = readers.read(spec.jobs, machine=Machine.of(machine))
    request, assumptions = make_request(spec, found, machine)
    began = time.monotonic()
    results, outcome, simulated_s = advance(spec, request, len(found.jobs), stop, report)
    return BatchResult(
        spec, found.jobs, machine, results, outcome, simulated_s, time.monotonic() - began, request,
        # An import may have stated the same.
        list(dict.fromkeys(
            [*spec.assumptions, *found.notes, *assumptions, *_late(spec, found.jobs, results["jobs"])]
        )),
    )  # fmt: skip


def label_of(job: Job, spec: Spec) -> str:
    """The name of a job's profile, with the traffic that its counters add.

    A job of the profile `none` with counters of storage is `none, I/O by counters`.
    """
    phases = spec.profiles[job.profile or "none"]
    sends = any(phase.intensity for phase in phases)
    stores = any(phase.read or phase.write for phase in phases)
    added = (
        ("messages", bool(job.sent_bytes) and not sends),
        ("I/O", bool(job.read_bytes or job.written_bytes) and not stores),
    )
    words = " and ".join(name for name, is_added in added if is_added)
    return (job.profile or "none") + (f", {words} by counters" if words else "")


def _late(spec: Spec, jobs: list[Job], records: list[dict[str, Any]]) -> list[str]:
    """Which replayed jobs started later than recorded."""
    if spec.queue.policy != "replay":
        return []
    late = [
        job
        for job, record in zip(jobs, records, strict=True)
        if job.start_s is not None
        and record["start"] is not None
        and record["starts"] == 1
        and record["start"] > _micros(max(job.start_s, job.submit_s))
    ]
    if not late:
        return []
    nodes = "nodes were busy" + (", reserved or down" if spec.reservations or spec.failures else "")
    if any(job.after for job in late):
        nodes += " or jobs before had not ended"
    reason = "started later than recorded, because {} " + nodes
    return [job_list.about([job.id for job in late], reason.format("its"), reason.format("their"))]


def advance(
    spec: Spec, request: dict[str, Any], jobs: int, stop: StopRequest | None, report: Report | None
) -> tuple[dict[str, Any], str, float]:
    """Runs a request: its results, the outcome and the simulated time in seconds."""
    with input_errors():
        batch = _core.Batch(spec.text, spec.path, spec.overrides, spec.seed, json.dumps(request))
    outcome = "completed"
    while batch.advance(SLICE_S):
        if report is not None:
            report(*batch.progress(), jobs)
        if stop is not None and stop.requested:
            outcome = "interrupted"
            break
    return json.loads(batch.results()), outcome, batch.progress()[0]


def make_request(spec: Spec, found: JobList, machine: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The request to the core for a job list, and what it assumes."""
    nodes, assumptions = len(machine["group_of"]), []
    partitions = dict(spec.partitions) or {"": list(range(nodes))}
    for name, listed in partitions.items():
        if listed and listed[-1] >= nodes:
            raise spec.source.error(
                f"there is no compute node {listed[-1]}", f"partitions.{name}", value=listed[-1],
                expected=f"0 to {nodes - 1}",
            )  # fmt: skip
    for key, windows in (("reservations", spec.reservations), ("failures", spec.failures)):
        for place, window in enumerate(windows):
            if max(window.nodes) >= nodes:
                raise spec.source.error(
                    f"there is no compute node {max(window.nodes)}", f"{key}.{place}.nodes",
                    value=max(window.nodes), expected=f"0 to {nodes - 1}",
                )  # fmt: skip
    number_of = {job.id: number for number, job in enumerate(found.jobs)}
    users: dict[str, int] = {}
    names = list(partitions)
    by_partition = bool(spec.partitions)
    phases: dict[str, list[dict[str, Any]]] = {}
    jobs = []
    without_storage, outside = [], []
    classes = _classes(spec, machine)
    for job in found.jobs:
        if job.profile and job.profile not in spec.profiles:
            raise InputError(
                "unknown profile", file=str(found.path), line=job.line, key="profile", value=job.profile,
                expected=f"one of {', '.join(spec.profiles)}",
            )  # fmt: skip
        if by_partition and job.partition not in partitions:
            raise InputError(
                "unknown partition", file=str(found.path), line=job.line, key="partition",
                value=job.partition, expected=f"one of {', '.join(partitions)}",
                hint="the table [partitions] lists their nodes",
            )  # fmt: skip
        profile = profile_of(job, spec)
        key = repr(profile)
        if key not in phases:
            phases[key] = [_phase(phase, classes) for phase in profile]
        if machine["servers"] == 0 and any(phase.read or phase.write for phase in profile):
            without_storage.append(job.id)
        node_list = job.node_list
        if node_list and max(node_list) >= nodes:
            outside.append(job.id)
            node_list = []
        jobs.append(
            {
                "submit": _micros(job.submit_s),
                "nodes": job.nodes,
                "run": max(1, _micros(job.run_s)),
                "start": None if job.start_s is None else _micros(job.start_s),
                "limit": None if job.limit_s is None else max(1, _micros(job.limit_s)),
                "node_list": node_list,
                "user": users.setdefault(job.user, len(users)),
                "partition": names.index(job.partition) if by_partition else 0,
                "after": [number_of[name] for name in job.after],
                "priority": job.priority or 0.0,
                "phases": phases[key],
            }
        )
    if without_storage:
        rest = "without its I/O, because the machine has no storage servers"
        assumptions.append(
            job_list.about(without_storage, f"runs {rest}", f"run {rest.replace('its', 'their')}")
        )
    if large := [
        job.id
        for job in found.jobs
        if job.nodes > (len(partitions[job.partition]) if by_partition else nodes)
    ]:
        own = "its partition" if len(large) == 1 else "their partitions"
        most = f"nodes of {own}" if by_partition else f"{nodes} compute nodes of the machine"
        assumptions.append(job_list.too_large(large, most))
    if outside:
        rest = "recorded nodes that the machine lacks, so the placement chooses others"
        assumptions.append(job_list.about(outside, f"has {rest}", f"have {rest}"))
    if spec.queue.policy == "replay" and (unknown := [job.id for job in found.jobs if job.start_s is None]):
        rest = "no recorded start and"
        assumptions.append(
            job_list.about(unknown, f"has {rest} starts when submitted", f"have {rest} start when submitted")
        )
    queue = spec.queue
    settings = {
        "policy": queue.policy,
        "order": queue.order,
        "placement": queue.placement,
        "limits": queue.limits,
        "requeue": queue.requeue,
        "half_life": _micros(queue.half_life_s),
        "contention": spec.contention,
        "depth": queue.depth,
        "seed": spec.seed,
        "partitions": list(partitions.values()),
        "reservations": [
            {"nodes": one.nodes, "from": _micros(one.from_s), "to": _micros(one.to_s)}
            for one in spec.reservations
        ],
        "failures": [
            {"node": node, "from": _micros(one.from_s), "to": _micros(one.to_s)}
            for one in spec.failures
            for node in one.nodes
        ],
    }
    return {"settings": settings, "jobs": jobs}, assumptions


def _micros(seconds: float) -> int:
    return round(seconds * MICROS)


def _classes(spec: Spec, machine: dict[str, Any]) -> dict[str, int]:
    """The numbers of the machine's traffic classes by name; raises `InputError` for an unknown one."""
    known = {one["name"]: number for number, one in enumerate(machine["traffic_classes"])}
    for name, profile in spec.profiles.items():
        for place, phase in enumerate(profile):
            if phase.traffic_class and phase.traffic_class not in known:
                at = f"profiles.{name}" + (f".phases.{place}" if len(profile) > 1 else "")
                raise spec.source.error(
                    "unknown traffic class", f"{at}.class", value=phase.traffic_class,
                    expected=f"one of {', '.join(known)}" if known else
                    "no class: the machine has no network.traffic_classes",
                    hint=did_you_mean(nearest(phase.traffic_class, known)),
                )  # fmt: skip
    # Traffic without a class is in the first one.
    return {"": 0, **known}


def _phase(phase: profiles.Phase, classes: Mapping[str, int]) -> dict[str, Any]:
    """A phase for the core."""
    demands = []
    of_class = {"class": classes[phase.traffic_class]}
    if phase.pattern != "none" and phase.intensity > 0:
        demands.append(
            {
                "pattern": PATTERNS[phase.pattern],
                "rate": phase.intensity,
                "share": phase.share,
                **of_class,
            }
        )
    moved = phase.read + phase.write
    for name, rate in (("read", phase.read), ("write", phase.write)):
        if rate > 0:
            share = phase.io_share * rate / moved
            access = round(phase.access)
            demands.append(
                {"pattern": PATTERNS[name], "rate": rate, "share": share, "access": access, **of_class}
            )
    return {"lasts_s": phase.lasts_s, "demands": demands}


def write(result: BatchResult, folder: Path, answer: dict[str, Any]) -> None:
    """Writes the tables of a result to `folder`, then `answer`."""
    import pyarrow as pa

    from odonata.analysis import tables

    records = result.results["jobs"]
    lost_of = [0.0] * len(records)
    for one in result.results["lost"]:
        lost_of[one["victim"]] += one["lost_s"]
    rows = [
        job_row(job, record, lost, label_of(job, result.spec))
        for job, record, lost in zip(result.jobs, records, lost_of, strict=True)
    ]
    classes = result.machine["classes"]
    lost_rows = [
        {
            "victim": result.jobs[one["victim"]].id,
            "culprit": result.jobs[one["culprit"]].id,
            "link_class": classes[one["class"]],
            "lost_s": one["lost_s"],
        }
        for one in result.results["lost"]
    ]
    series = [
        {
            "time_s": one["time"] / MICROS,
            "busy_nodes": one["busy"],
            "down_nodes": one["down"],
            "running_jobs": one["running"],
            "waiting_jobs": one["waiting"],
        }
        for one in result.results["series"]
    ]
    for name, schema, table in (
        (JOBS, JOB_COLUMNS, rows),
        (LOST, LOST_COLUMNS, lost_rows),
        (SERIES, SERIES_COLUMNS, series),
        (LINKS, LINK_COLUMNS, link_rows(result)),
        (LOADS, LOAD_COLUMNS, _load_rows(result)),
    ):
        fields = [pa.field(key, _TYPES[kind]()) for key, kind in schema.items()]
        tables.write(pa.Table.from_pylist(table, schema=pa.schema(fields)), folder, name)
    write_answer(folder, answer)


def link_rows(result: BatchResult) -> list[dict[str, Any]]:
    """The links that carried bytes, with their mean loads up to the last event."""
    classes = result.machine["classes"]
    return [
        {
            "link": one["link"],
            "name": one["name"],
            "link_class": classes[one["class"]],
            "capacity_bytes_per_s": one["capacity"],
            "bytes": one["bytes"],
            "mean_load": one["bytes"] / (one["capacity"] * result.simulated_s) if result.simulated_s else 0.0,
            "peak_load": one["peak"],
        }
        for one in result.results["links"]
    ]


def _load_rows(result: BatchResult) -> list[dict[str, Any]]:
    """The loads of each class of links with bytes, by interval."""
    loads = result.results["loads"]
    used = sorted({one["class"] for one in result.results["links"]})
    return [
        {
            "start_s": place * loads["interval"] / MICROS,
            "link_class": result.machine["classes"][at],
            "mean_load": of_class[at]["mean"],
            "most_load": of_class[at]["most"],
        }
        for place, of_class in enumerate(loads["loads"])
        for at in used
    ]


def write_answer(folder: Path, answer: dict[str, Any]) -> None:
    """Writes batch.json."""
    with whole_file(folder / BATCH_FILE) as file:
        file.write((json.dumps(answer, indent=1) + "\n").encode())


JOB_COLUMNS = {
    "job": "text", "name": "text", "user": "text", "partition": "text", "application": "text",
    "profile": "text", "nodes": "count", "node_list": "text", "submit_s": "number", "start_s": "number",
    "end_s": "number", "wait_s": "number", "run_s": "number", "elapsed_s": "number", "lost_s": "number",
    "slowdown": "number", "starts": "count", "rates_lowered": "flag", "outcome": "text",
}  # fmt: skip
LINK_COLUMNS = {
    "link": "count", "name": "text", "link_class": "text", "capacity_bytes_per_s": "number",
    "bytes": "number", "mean_load": "number", "peak_load": "number",
}  # fmt: skip
LOAD_COLUMNS = {"start_s": "number", "link_class": "text", "mean_load": "number", "most_load": "number"}
LOST_COLUMNS = {"victim": "text", "culprit": "text", "link_class": "text", "lost_s": "number"}
SERIES_COLUMNS = {
    "time_s": "number", "busy_nodes": "count", "down_nodes": "count", "running_jobs": "count",
    "waiting_jobs": "count",
}  # fmt: skip


def _type(name: str) -> Any:
    def make() -> Any:
        import pyarrow as pa

        return getattr(pa, name)()

    return make


_TYPES = {
    "text": _type("string"),
    "count": _type("int64"),
    "number": _type("float64"),
    "flag": _type("bool_"),
}


def job_row(job: Job, record: dict[str, Any], lost_s: float, profile: str) -> dict[str, Any]:
    """The row of a job in the table of jobs; times of what did not happen are null."""
    start, end = (None if record[key] is None else record[key] / MICROS for key in ("start", "end"))
    elapsed = None if start is None or end is None else end - start
    work = record["work_s"]
    return {
        "job": job.id,
        "name": job.name,
        "user": job.user,
        "partition": job.partition,
        "application": job.application,
        "profile": profile,
        "nodes": job.nodes,
        "node_list": job_list.ranges(record["nodes"]),
        "submit_s": job.submit_s,
        "start_s": start,
        "end_s": end,
        "wait_s": None if start is None else start - job.submit_s,
        "run_s": job.run_s,
        "elapsed_s": elapsed,
        "lost_s": lost_s,
        "slowdown": elapsed / work if elapsed is not None and work > 0 else None,
        "starts": record["starts"],
        "rates_lowered": record["clipped"],
        "outcome": record["outcome"],
    }
