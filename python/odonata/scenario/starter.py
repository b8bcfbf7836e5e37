"""Starter scenarios: a machine, storage and jobs, with a comment for every number, and validated.

Comments are the first sentences of the schema, and lines that are commented out show defaults. Sizes are
chosen so that the file runs in seconds.
"""

from __future__ import annotations

import functools
import json
import re
import textwrap
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from odonata import _core
from odonata.base import toml_text
from odonata.base.nearest import did_you_mean, nearest
from odonata.errors import InputError, given, input_errors, option
from odonata.scenario import preset_list

#: Sizes of a small machine of each family, except for families read from a file.
MACHINES: dict[str, dict[str, Any]] = {
    "dragonfly": {
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports_per_router": 2,
    },
    "dragonfly-2d": {
        "groups": 5,
        "rows": 3,
        "columns": 4,
        "nodes_per_router": 2,
        "global_ports_per_router": 1,
    },
    "dragonfly-plus": {
        "groups": 5,
        "leaves_per_group": 4,
        "spines_per_group": 4,
        "nodes_per_leaf": 4,
        "global_ports_per_spine": 2,
    },
    "fat-tree": {"k": 4, "n": 3},
    "hyperx": {"dims": [4, 4], "nodes_per_router": 4},
    "mesh": {"dims": [8, 8], "nodes_per_router": 1},
    "polarfly": {"q": 5},
    "rail-optimized": {"pods": 2, "hosts_per_pod": 4, "gpus_per_host": 8},
    "slim-fly": {"q": 5},
    "torus": {"dims": [4, 4, 4], "nodes_per_router": 1},
}

#: Larger sizes, for jobs that do not fit into the small machine; other sizes stay.
LARGER: dict[str, list[dict[str, Any]]] = {
    "dragonfly": [
        {"nodes_per_router": 4},
        {"groups": 33, "routers_per_group": 8, "nodes_per_router": 4, "global_ports_per_router": 4},
        {"groups": 73, "routers_per_group": 12, "nodes_per_router": 6, "global_ports_per_router": 6},
    ],
    "dragonfly-2d": [
        {"nodes_per_router": 4},
        {"groups": 9, "rows": 6, "columns": 8, "nodes_per_router": 4},
        {"groups": 15, "rows": 6, "columns": 16, "nodes_per_router": 4},
    ],
    "dragonfly-plus": [
        {"groups": 9},
        {"groups": 17, "leaves_per_group": 8, "spines_per_group": 8, "nodes_per_leaf": 8},
        {"groups": 33, "leaves_per_group": 16, "spines_per_group": 16, "nodes_per_leaf": 8},
    ],
    "fat-tree": [{"k": 8}, {"k": 16}],
    "hyperx": [{"dims": [8, 8]}, {"dims": [8, 8, 8], "nodes_per_router": 8}],
    "mesh": [{"dims": [16, 16]}, {"dims": [32, 32], "nodes_per_router": 4}],
    "polarfly": [{"q": 11}, {"q": 19}],
    "rail-optimized": [{"pods": 4, "hosts_per_pod": 8}, {"pods": 8, "hosts_per_pod": 64}],
    "slim-fly": [{"q": 11}, {"q": 17}],
    "torus": [{"dims": [8, 8, 8]}, {"dims": [16, 16, 16]}],
}

#: Values of a job that differ from its defaults, for a run of seconds.
WORKLOADS: dict[str, dict[str, Any]] = {
    "allreduce": {"bytes": "4 MB"},
    "nccl": {"bytes": "4 MB", "gpus_per_host": 1},
    "training": {"layers": 4, "hidden": 1024, "micro_batches": 4},
    "inference": {"model": "llama-3-8b", "layers": 4, "requests": 8, "output": 8},
    "milc": {"iterations": 20, "message": "64 KiB"},
    "nekbone": {"cg_iterations": 10, "orders": [8]},
    "checkpoint": {"iterations": 2, "interval": "2 ms", "total": "256 MB"},
    "cosmoflow": {"iterations": 3, "elements": 2_097_152, "sample": "6 MB", "compute": "4 ms"},
    "ior": {"transferSize": "1 MiB", "blockSize": "4 MiB", "filePerProc": True},
    "checkpoint-restart": {"work": "1 s", "mtti": "200 ms", "total": "64 MB", "restart": "5 ms"},
    "data-loader": {"files": 32, "samples_per_file": 128, "steps": 5, "compute": "5 ms", "gradient": "8 MB"},
    "mdtest": {"items": 100, "files_only": True},
    "stencil": {"iterations": 50, "message": "64 KiB", "compute": "150 us"},
    "grid": {"step": "diagonal", "load": 0.2, "messages": 500},
    "hot-spot": {"share": 0.2, "load": 0.2, "messages": 500},
    "shift": {"by": 1, "load": 0.2, "messages": 500},
}
#: Values of synthetic traffic without a row above.
SYNTHETIC = {"load": 0.2, "messages": 500}

#: Workloads that read or write files.
WITH_STORAGE = ("checkpoint", "checkpoint-restart", "cosmoflow", "data-loader", "ior", "mdtest")

#: Workloads that measure metadata servers.
WITH_METADATA = ("mdtest",)

#: Ranks of workloads that accept no other number.
RANKS = {"inference": 2, "ping-pong": 2}

#: Defaults of the command.
DEFAULT_MACHINE, DEFAULT_JOBS = "dragonfly", ("stencil", "checkpoint")

#: Column at which remarks begin, and the longest line.
_COLUMN, _WIDTH = 40, 120


@dataclass(frozen=True)
class Job:
    """A job of the scenario to write."""

    workload: str
    #: Number of ranks; None: as many as fit.
    ranks: int | None = None
    name: str = ""


@dataclass(frozen=True)
class Starter:
    """The requested parts of the scenario."""

    #: A family of networks; None if the preset has a machine.
    machine: str | None = None
    preset: str | None = None
    jobs: Sequence[Job] = field(default_factory=lambda: [Job(name) for name in DEFAULT_JOBS])
    #: Whether there are storage servers; None: if a job needs them.
    storage: bool | None = None
    name: str = "scenario"


def families() -> list[str]:
    """Families of networks with a small machine."""
    return list(MACHINES)


@functools.cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(_core.schema())
    return schema


def workloads() -> list[str]:
    """Names of the workloads that need no file."""
    variants = _schema()["$defs"]["Workload"]["oneOf"]
    names = {name: table for variant in variants for name, table in variant.get("properties", {}).items()}
    return [name for name, table in names.items() if not _needs_file(_type(table))]


def _needs_file(kind: str) -> bool:
    """Whether a table names a file that must exist."""
    schema = _schema()["$defs"][kind]["properties"].get("file", {})
    return "Required" in schema.get("description", "")


def parse_job(text: str) -> Job:
    """Parses a job of the command line: WORKLOAD or WORKLOAD:RANKS.

    >>> parse_job("stencil:16")
    Job(workload='stencil', ranks=16, name='')
    """
    workload, separator, number = text.strip().partition(":")
    known = workloads()
    if workload not in known:
        raise InputError(
            "no such workload",
            key=option("job"),
            value=text,
            expected=f"WORKLOAD or WORKLOAD:RANKS, of {', '.join(known)}",
            hint=did_you_mean(nearest(workload, known)),
        )
    if separator and not (number.isdecimal() and int(number) > 0):
        raise InputError(
            "not a number of ranks", key=option("job"), value=text, expected="such as stencil:64"
        )
    return Job(workload, int(number) if separator else None)


def parse_machine(name: str) -> tuple[str | None, str | None]:
    """The family and the preset of a name.

    >>> parse_machine("torus"), parse_machine("theta")
    (('torus', None), (None, 'theta'))
    """
    if name in MACHINES:
        return name, None
    presets = _core.preset_names()
    if name in presets:
        return None, name
    known = [*MACHINES, *presets]
    raise InputError(
        "neither a family of networks nor a preset",
        key=option("machine"),
        value=name,
        expected=f"one of {', '.join(known)}",
        hint=did_you_mean(nearest(name, known)),
    )


def has_machine(preset: str) -> bool:
    """Whether a preset describes a machine.

    >>> has_machine("theta"), has_machine("booksim")
    (True, False)
    """
    return "machine" in tomllib.loads(_core.preset_text(preset) or "")


def scenario(wanted: Starter, file: str) -> str:
    """The text of the scenario, validated; raises `InputError` if the request cannot be met.

    `file` is the name of the scenario's file.
    """
    preset = _preset(wanted)
    if wanted.machine is None and "machine" not in preset:
        raise InputError(
            "this preset has no machine" if wanted.preset else "the machine is missing",
            key=option("preset") if wanted.preset else option("machine"),
            value=wanted.preset,
            expected=option("machine") + f" with one of {', '.join(MACHINES)}",
        )
    if wanted.machine is not None and "machine" in preset:
        raise InputError(
            "the preset has a machine", key=option("machine"), value=wanted.machine, expected="one of the two"
        )
    needs_storage = any(job.workload in WITH_STORAGE for job in wanted.jobs)
    if wanted.storage is False and needs_storage and "storage" not in preset:
        names = [job.workload for job in wanted.jobs if job.workload in WITH_STORAGE]
        raise InputError(
            "jobs that do I/O need storage",
            key=option("storage", "--no-storage"),
            value=", ".join(names),
            expected=given("storage"),
        )
    storage = needs_storage if wanted.storage is None else wanted.storage
    metadata = storage and any(job.workload in WITH_METADATA for job in wanted.jobs)
    servers = [*_storage(preset, storage), *_metadata(preset, metadata)]
    head, nodes = _head_that_holds(wanted, preset, servers, file)
    text = "\n".join([head, *_jobs(wanted.jobs, nodes)]) + "\n"
    try:
        with input_errors():
            _core.check(text, file)
    except InputError as error:
        raise _of_options(error, wanted) from None
    return text


def _head_that_holds(
    wanted: Starter, preset: dict[str, Any], servers: list[str], file: str
) -> tuple[str, int]:
    """The scenario up to its jobs, with a machine that holds all requested ranks, and its compute nodes.

    If no machine is large enough, it has the largest.
    """
    ranks = sum(job.ranks or 0 for job in wanted.jobs)
    for larger in ({}, *LARGER.get(wanted.machine or "", [])):
        machine = _machine(wanted, larger)
        head = "\n".join([*_head(wanted, file), *machine, *_network(preset), *servers])
        with input_errors():
            nodes = json.loads(_core.check(head, file))["machine"]["compute_nodes"]
        if nodes >= ranks:
            break
    return head, nodes


def _of_options(error: InputError, wanted: Starter) -> InputError:
    """The same error in the words of the options: there is no file yet whose line could be named."""
    error.file = error.line = error.column = None
    table, _, rest = (error.key or "").partition(".")
    number, _, key = rest.partition(".")
    if table != "jobs" or key != "ranks" or not number.isdecimal() or int(number) >= len(wanted.jobs):
        return error
    job = wanted.jobs[int(number)]
    return InputError(
        error.message,
        key=option("job"),
        value=job.workload if job.ranks is None else f"{job.workload}:{job.ranks}",
        expected=error.expected,
        hint="machines of the starter are small: use fewer ranks, then enlarge both in the file"
        if wanted.preset is None
        else error.hint,
    )


def sweep(jobs: Sequence[Job], scenario_file: str, file: str) -> str:
    """The text of a sweep file for this scenario, over placements and seeds."""
    lines = [
        ("# A sweep: the scenario at several points, with several seeds each. Finished runs are not"),
        "# repeated.",
        "#",
        f"#   odonata sweep {file}",
        "",
        f"scenario = {toml_text.value_text(scenario_file)}",
        _line("seeds", 5, "of every point; more give narrower confidence intervals"),
        _line("baselines", len(jobs) > 1, "also every job alone, for slowdowns"),
        "",
        "# Values that go together; under [grid] every combination would be a point.",
        "[zip]",
    ]
    lines += [
        f"{_dotted('jobs', job.name, 'placement')} = "
        + toml_text.value_text(["random", "contiguous", "random-group"])
        for job in named(jobs)
    ]
    return "\n".join(lines) + "\n"


def named(jobs: Sequence[Job]) -> list[Job]:
    """The same jobs, each with a unique name."""
    counts: dict[str, int] = {}
    found = []
    for job in jobs:
        counts[job.workload] = counts.get(job.workload, 0) + 1
        number = counts[job.workload]
        found.append(
            Job(job.workload, job.ranks, job.workload if number == 1 else f"{job.workload}-{number}")
        )
    return found


def _preset(wanted: Starter) -> dict[str, Any]:
    if wanted.preset is None:
        return {}
    text = _core.preset_text(wanted.preset)
    if text is None:
        raise preset_list.unknown(wanted.preset, option("preset"))
    return tomllib.loads(text)


def _head(wanted: Starter, file: str) -> Iterator[str]:
    yield "# A scenario: a machine, its storage, and the jobs that share them."
    yield "#"
    yield f"#   odonata check {file}    validates it and estimates its cost"
    yield f"#   odonata run {file}      runs it and prints a summary"
    yield "#"
    yield "# Commented lines show defaults. docs/scenario.md has all keys. Quantities are a"
    yield "# number and a unit; KiB, MiB, GiB are powers of 1024, kB, MB, GB of 1000."
    yield ""
    yield _line("name", wanted.name)
    yield _line("seed", 1, "of every random choice; equal seeds give equal results")
    if wanted.preset is not None:
        yield ""
        yield "# Keys of this file replace those of the preset one by one."
        yield _line("preset", wanted.preset, f"`odonata presets {wanted.preset}` shows its numbers")
    yield ""
    yield "[run]"
    several = len(wanted.jobs) > 1
    yield _line("baselines", several, "also every job alone, on the same nodes, for slowdowns")
    yield from _optional("Run", {"time_limit": "10 ms", "series_interval": "1 ms"})


def _machine(wanted: Starter, larger: dict[str, Any]) -> Iterator[str]:
    if wanted.machine is None:
        return
    table = _schema()["$defs"]["Machine"]["properties"][wanted.machine]
    yield ""
    yield from _about(table["description"])
    yield f"[machine.{wanted.machine}]"
    yield from _keys(_type(table), MACHINES[wanted.machine] | larger)


def _network(preset: dict[str, Any]) -> Iterator[str]:
    yield ""
    if "network" in preset:
        yield "# The network is that of the preset."
        return
    yield "# The network has defaults of a dragonfly of 2015: docs/networks.md, docs/routing.md."
    yield "[network]"
    yield from _optional("Network", {"packet": "4 KiB", "router_delay": "100 ns"})
    yield ""
    yield "[network.routing]"
    yield from _optional("Routing", {"algorithm": "minimal"})


def _storage(preset: dict[str, Any], wanted: bool) -> Iterator[str]:
    if "storage" in preset:
        yield ""
        yield "# Storage servers are those of the preset."
        return
    if not wanted:
        return
    yield ""
    yield "# Storage servers (burst buffers) are nodes of the machine that jobs do not use."
    yield "[storage]"
    yield _line("nodes", {"per_group": 1}, "one in every group")
    yield ""
    yield "[storage.device]"
    yield from _keys("Device", {"capacity": "1.6 TB"}, skip=("rate",))
    yield from _about("A pair of NVMe drives.")
    yield _line("rate", {"read": "5.7 GB/s", "write": "2.9 GB/s", "overhead": "20 us"})
    yield ""
    yield "# [storage.drain]"
    yield from _optional("Drain", {"bandwidth": "1 GB/s"})


def _metadata(preset: dict[str, Any], wanted: bool) -> Iterator[str]:
    """Metadata servers, if requested and missing from the preset."""
    if not wanted or "metadata" in preset.get("storage", {}):
        return
    yield ""
    yield (
        "# Metadata servers answer calls for names and attributes; without them, these calls take no time."
    )
    yield "[storage.metadata]"
    yield _line("nodes", {"per_group": 1, "position": "last"}, "one in every group")
    yield from _keys("Metadata", {}, skip=("nodes",))


def _jobs(jobs: Sequence[Job], nodes: int) -> Iterator[str]:
    variants = {
        name: variant
        for variant in _schema()["$defs"]["Workload"]["oneOf"]
        for name in variant.get("properties", {})
    }
    room = nodes - sum(job.ranks or 0 for job in jobs)
    open_jobs = sum(job.ranks is None for job in jobs)
    # Squares that are powers of two: every workload accepts them.
    ranks = next((size for size in (64, 16, 4) if size * open_jobs <= room), 1)
    for job in named(jobs):
        variant = variants[job.workload]
        yield ""
        yield from _about(variant["description"])
        yield "[[jobs]]"
        yield _line("name", job.name)
        yield _line("ranks", job.ranks or RANKS.get(job.workload, ranks))
        yield _line(
            "placement", "random", "contiguous, random, random-router, random-group, or a list of nodes"
        )
        yield ""
        yield f"[jobs.workload.{job.workload}]"
        kind = _type(variant["properties"][job.workload])
        yield from _keys(kind, WORKLOADS.get(job.workload) or _values(kind))


def _values(kind: str) -> dict[str, Any]:
    """The values of a workload without a row of its own: light traffic, and examples of required keys."""
    table = _schema()["$defs"][kind]
    if SYNTHETIC.keys() <= table["properties"].keys():
        return SYNTHETIC
    found = {}
    for key, schema in table["properties"].items():
        text = schema.get("description", "")
        example = re.search(r'e\.g\.\s+("[^"]+"|\d+)', text)
        if example and (key in table.get("required", []) or re.search(r"\bRequired\b", text)):
            found[key] = json.loads(example[1])
    return found


def _type(schema: dict[str, Any]) -> str:
    """The table that a key refers to; for a type that may also be a text, its table."""
    for part in (schema, *schema.get("anyOf", [])):
        if "$ref" in part:
            kind = str(part["$ref"].rpartition("/")[2])
            found = _schema()["$defs"][kind]
            return kind if "properties" in found or "anyOf" not in found else _type(found)
    raise KeyError(schema)


def _keys(kind: str, values: dict[str, Any], skip: Sequence[str] = ()) -> Iterator[str]:
    """The keys of a table: those with values, and the defaults of the others as comments."""
    properties = _schema()["$defs"][kind]["properties"]
    ordered = [*values, *(key for key in properties if key not in values)]
    for key in ordered:
        if key in skip:
            continue
        about = _sentence(properties[key].get("description", ""))
        if key in values:
            yield from _explained(key, values[key], about)
        elif properties[key].get("default") not in (None, [], {}):
            yield from _explained(key, properties[key]["default"], about, out=True)


def _optional(kind: str, examples: dict[str, Any]) -> Iterator[str]:
    """Optional keys, as comments; values are examples if there is no default."""
    properties = _schema()["$defs"][kind]["properties"]
    for key, example in examples.items():
        default = properties[key].get("default")
        about = _sentence(properties[key]["description"])
        yield from _explained(key, example if default is None else default, about, out=True)


def _sentence(text: str) -> str:
    """The first sentence, as a remark.

    >>> _sentence('Sizes, e.g. "1 MB"; "0 B":\\nnone. Default: one packet.')
    'Sizes, e.g. "1 MB"; "0 B": none'
    """
    words = " ".join(text.split())
    for place in range(len(words)):
        if (
            words[place] == "."
            and words[place + 1 : place + 2] in ("", " ")
            and words[place - 3 : place] != "e.g"
        ):
            return words[:place]
    return words


def _about(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(" ".join(text.split()), 110)]


def _line(key: str, value: Any, remark: str = "", column: int = _COLUMN) -> str:
    text = f"{key} = {toml_text.value_text(value)}"
    return f"{text:<{column - 1}} # {remark}" if remark else text


def _explained(key: str, value: Any, remark: str, *, out: bool = False) -> Iterator[str]:
    """A key with its remark beside it, or above it if the line is long; `out` makes it a comment."""
    mark = "# " if out else ""
    line = _line(key, value, remark, _COLUMN - len(mark))
    if len(mark + line) <= _WIDTH:
        yield mark + line
    else:
        yield from _about(remark)
        yield mark + _line(key, value)


def _dotted(*keys: str) -> str:
    """A key with dots.

    >>> _dotted("jobs", "a b", "ranks")
    'jobs."a b".ranks'
    """
    return ".".join(map(toml_text.key_text, keys))
