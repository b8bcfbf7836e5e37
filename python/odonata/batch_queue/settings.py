"""A batch file: the machine, the job list, the queue and the application profiles."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from odonata.base import quantities
from odonata.base.toml_text import value_text
from odonata.batch_queue import job_list, profiles
from odonata.batch_queue.lines import MOST_LISTED, node_numbers
from odonata.batch_queue.profiles import Profile
from odonata.errors import InputError, of_another_kind
from odonata.scenario.reading import check_seed, read_scenario
from odonata.sweeps import axes
from odonata.sweeps.reader import Source, Table, read

POLICIES = ("easy", "fcfs", "conservative", "replay")
ORDERS = ("fcfs", "priority", "fair-share", "shortest")
PLACEMENTS = ("contiguous", "random", "least-groups", "topology-aware", "whole-groups", "list")
LIMITS = ("extend", "enforce")

KEYS = (
    "name", "preset", "scenario", "set", "jobs", "seed", "contention", "queue", "profiles", "partitions",
    "reservations", "failures", "assumptions",
)  # fmt: skip
_QUEUE = ("policy", "order", "placement", "limits", "requeue", "half_life", "depth")
#: Most entries of a list, and most assumptions with the most characters of each.
MOST_ENTRIES, MOST_ASSUMPTIONS, LONGEST_ASSUMPTION = 100_000, 1000, 10_000


@dataclass(frozen=True)
class Queue:
    """The batch queue."""

    policy: str = "easy"
    order: str = "fcfs"
    placement: str = "contiguous"
    limits: str = "extend"
    requeue: bool = True
    half_life_s: float = 7 * 86_400.0
    depth: int = 1000


@dataclass(frozen=True)
class Window:
    """Nodes that are reserved or down for a time."""

    nodes: list[int]
    from_s: float
    to_s: float


@dataclass(frozen=True)
class Spec:
    """A batch file."""

    source: Source
    name: str
    #: The scenario of the machine: its text, its path for errors, and the preset whose name it has.
    text: str
    path: str
    preset: str | None
    overrides: list[str]
    jobs: Path
    seed: int
    contention: bool = True
    queue: Queue = field(default_factory=Queue)
    profiles: Mapping[str, Profile] = field(default_factory=lambda: dict(profiles.BUILT_IN))
    #: Nodes of each partition; empty: one of all nodes.
    partitions: Mapping[str, list[int]] = field(default_factory=dict)
    reservations: tuple[Window, ...] = ()
    failures: tuple[Window, ...] = ()
    #: What the import of the job list assumed, a sentence each.
    assumptions: tuple[str, ...] = ()


def load(file: Path, changes: Mapping[str, Any] | None = None) -> Spec:
    """The batch file at `file`; raises `InputError`.

    `changes` replace values by dotted key. A key of the batch file is its own; others are settings of the
    machine.
    """
    table = read(file)
    if changes:
        table = replace(table, values=_changed(table.values, changes))
    if "machine" in table.values:
        raise InputError(
            "it is a scenario, not a batch file",
            file=str(file),
            expected="a batch file, with the keys " + ", ".join(KEYS),
            hint=f'a batch file names its machine: scenario = "{file.name}", or preset = "theta"',
        )
    is_batch = all(key in KEYS for key in table.values)
    if not is_batch and (other := of_another_kind(str(file), table.values, "a batch file")):
        raise other
    table.refuse_others(KEYS)
    jobs = table.get("jobs", str, "the path of a job list")
    if jobs is None:
        raise table.error("no job list", "jobs", None, "the path of a job list")
    preset = table.get("preset", str, "the name of a preset")
    scenario = table.get("scenario", str, "the path of a scenario")
    if (preset is None) == (scenario is None):
        raise table.error("not exactly one machine", "preset", preset, "preset or scenario")
    if preset is not None:
        if not all(letter.isalnum() or letter in "-_" for letter in preset):
            raise table.error("not a name", "preset", preset, "the name of a preset")
        text, path = f'preset = "{preset}"\n', str(file)
    else:
        path = str(file.parent / scenario)
        text = read_scenario(Path(path))
    seed = table.get("seed", int, "a whole number")
    check_seed(seed)
    contention = table.get("contention", bool, "true or false")
    fixed = axes.flat(Table(table.values.get("set", {}), table.source, "set"))
    return Spec(
        source=table.source,
        name=table.get("name", str, "a text") or file.stem,
        text=text,
        path=path,
        preset=preset,
        overrides=[f"{key}={value_text(one)}" for key, one in fixed.items()],
        jobs=file.parent / jobs,
        seed=1 if seed is None else seed,
        contention=True if contention is None else contention,
        queue=_queue(table.table("queue")),
        profiles=profiles.read(table.table("profiles")),
        partitions=_partitions(table.table("partitions")),
        reservations=_windows(table, "reservations"),
        failures=_windows(table, "failures"),
        assumptions=_assumptions(table),
    )


def _assumptions(table: Table) -> tuple[str, ...]:
    """The sentences of `assumptions`."""
    found = table.get("assumptions", list, "a list of sentences") or []
    if len(found) > MOST_ASSUMPTIONS or not all(
        isinstance(one, str) and one.isprintable() and len(one) <= LONGEST_ASSUMPTION for one in found
    ):
        raise table.error(
            "not a list of sentences",
            "assumptions",
            len(found),
            f"at most {MOST_ASSUMPTIONS} texts of a line",
        )
    return tuple(found)


def _changed(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a batch file with changes.

    >>> _changed({"queue": {"policy": "easy"}}, {"queue.policy": "fcfs", "network.routing.algorithm": "ugal"})
    {'queue': {'policy': 'fcfs'}, 'set': {'network.routing.algorithm': 'ugal'}}
    """
    found = copy.deepcopy(dict(values))
    for key, value in changes.items():
        first, _, rest = key.partition(".")
        if first not in KEYS or first == "set":
            # A set key may be written as tables.
            fixed = axes.flat(Table(found.get("set", {}), Source(), "set"))
            found["set"] = fixed | {rest if first == "set" else key: value}
            continue
        at = found
        while rest:
            at = at.setdefault(first, {})
            if not isinstance(at, dict):
                break
            first, _, rest = rest.partition(".")
        else:
            at[first] = value
    return found


def _queue(table: Table | None) -> Queue:
    """The queue of its table."""
    if table is None:
        return Queue()
    table.refuse_others(_QUEUE)
    requeue = table.get("requeue", bool, "true or false")
    half_life = profiles.quantity(table, "half_life", _TIMES, "a time such as `7 d`")
    if half_life == 0:
        raise table.error("a number out of range", "half_life", "0", "a time above 0")
    return Queue(
        policy=table.one_of("policy", POLICIES, "easy"),
        order=table.one_of("order", ORDERS, "fcfs"),
        placement=table.one_of("placement", PLACEMENTS, "contiguous"),
        limits=table.one_of("limits", LIMITS, "extend"),
        requeue=True if requeue is None else requeue,
        half_life_s=Queue.half_life_s if half_life is None else half_life,
        depth=table.count("depth", Queue.depth),
    )


#: Units of times, with days.
_TIMES = quantities.TIMES | {"d": 86_400}


def _nodes(table: Table, name: str, most: int = MOST_LISTED) -> list[int]:
    """Node numbers of a key, a text such as `0-127`."""
    text = table.get(name, str, "node numbers such as `0-127 200`")
    try:
        found = node_numbers(text or "", most)
    except ValueError as error:
        expected = f"node numbers such as `0-127 200`, each once, {MOST_LISTED} in all entries at most"
        raise table.error(str(error), name, text, expected) from None
    if not found:
        raise table.error("not a list of nodes", name, text, "node numbers such as `0-127 200`")
    return found


def _partitions(table: Table | None) -> dict[str, list[int]]:
    """The nodes of each partition."""
    found: dict[str, list[int]] = {}
    taken: set[int] = set()
    for name in [] if table is None else table.values:
        assert table is not None
        nodes = _nodes(table, name, MOST_LISTED - len(taken))
        if taken.intersection(nodes):
            both = min(taken.intersection(nodes))
            raise table.error(
                f"node {both} is in two partitions", name, table.values[name], "disjoint partitions"
            )
        taken.update(nodes)
        found[name] = sorted(nodes)
    return found


def _windows(table: Table, name: str) -> tuple[Window, ...]:
    """The entries of `reservations` or `failures`."""
    entries = table.get(name, list, "a list of tables") or []
    if len(entries) > MOST_ENTRIES or not all(isinstance(one, dict) for one in entries):
        raise table.error("not a list of tables", name, len(entries), f"at most {MOST_ENTRIES} tables")
    found: list[Window] = []
    listed = 0
    for place, entry in enumerate(entries):
        inner = Table(entry, table.source, f"{name}.{place}")
        inner.refuse_others(("nodes", "from", "to"))
        times = {
            key: profiles.quantity(inner, key, _TIMES, "a time such as `12 h`") for key in ("from", "to")
        }
        start, end = times["from"], times["to"]
        if start is None or end is None or not start < end <= job_list.MOST_SECONDS:
            raise inner.error("not a span of time", "to", entry.get("to"), "times `from` before `to`")
        found.append(Window(_nodes(inner, "nodes", MOST_LISTED - listed), start, end))
        listed += len(found[-1].nodes)
    return tuple(found)
