"""Campaign: sizes a thousand to a trillion times too large, and sources that overload a machine.

A size with too many zeros is refused before anything of that size is made, or it runs up to the budget; both
within seconds and within the small memory of a worker. A source that the machine cannot serve ends its run as
a named failure.
"""

from __future__ import annotations

import random
import tomllib
from pathlib import Path
from typing import Any

import odonata
from hostile import bases, calls, mutations, oracle, toml_writer
from hostile.campaign import Announce, Campaign, Trial, Verdict

NAME = "scenario.toml"
EVENTS = 100_000
#: Events of a run with growing queues.
OVERLOAD_EVENTS = 30_000_000

#: Keys of sizes and numbers.
SIZES = frozenset(
    """
    groups routers_per_group nodes_per_router global_ports_per_router rows columns column_cables
    leaves_per_group spines_per_group nodes_per_leaf global_ports_per_spine local_cables cables dims q
    down up parallel k n nodes router ranks ranks_per_node count repeat messages iterations elements total
    sample message bytes block memory capacity pieces_in_flight control_message queue vcs terminal local
    global packet flit buffer parts threads message_rows io_rows window segment candidates journal
    events_per_round load share targets routers index per_group list size rounds allreduce bandwidth rate
    read write latency router_delay compute interval time_limit start stagger send_per_byte threshold
    eager_threshold orders element input_speedup internal_speedup crossbar routing
    """.split()  # noqa: SIM905 - so many are read more easily so
)
#: Keys whose small values are expensive.
INTERVALS = frozenset(["series_interval", "knowledge_interval", "period", "mean_interval", "clock"])

#: Further small machines, with traffic that fills them.
MACHINES = (
    "torus = { dims = [4, 2], nodes_per_router = 1 }",
    "mesh = { dims = [2, 2, 2], nodes_per_router = 1 }",
    "fat-tree = { k = 2, n = 3 }",
    "fat-tree = { down = [4, 2], up = [1, 2], parallel = [1, 1] }",
    "slim-fly = { q = 3, nodes_per_router = 1 }",
    "polarfly = { q = 3, nodes_per_router = 1 }",
    "rail-optimized = { pods = 2, hosts_per_pod = 2, gpus_per_host = 2 }",
    "hyperx = { dims = [3, 3], cables = 1, nodes_per_router = 1 }",
    "dragonfly = { groups = 3, routers_per_group = 2, nodes_per_router = 2, global_ports_per_router = 1 }",
    "dragonfly-2d = { groups = 3, rows = 2, columns = 2, nodes_per_router = 1, global_ports_per_router = 1 }",
    "dragonfly-plus = { groups = 3, leaves_per_group = 2, spines_per_group = 2, nodes_per_leaf = 1, "
    "global_ports_per_spine = 1 }",
)
TRAFFIC = (
    "uniform = { load = 0.1, messages = 5 }",
    "all-to-all = { mean_interval = '1 us', bytes = '1 KiB', messages = 5 }",
    "stencil = { iterations = 1, message = '4 KiB' }",
    "milc = { iterations = 1 }",
    "nekbone = { cg_iterations = 1, orders = [3] }",
)


class Extremes(Campaign):
    """See the head of this file."""

    share = 0.6
    #: Including the interpreter and its libraries, which need half of it.
    memory = 2 << 30
    patience_s = 20.0

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A scenario with an excessive size."""
        files: dict[str, bytes] = {}
        about: dict[str, Any] = {"events": EVENTS}
        if lot.random() < 0.02:
            text = overload(lot)
            about["events"] = OVERLOAD_EVENTS
        else:
            if lot.random() < 0.5:
                base = lot.choice(bases.small_bases())
                tree, files = tomllib.loads(base.text), base.files
            else:
                jobs = f"[[jobs]]\nranks = 8\nworkload.{lot.choice(TRAFFIC)}\n"
                tree = tomllib.loads(f"[machine]\n{lot.choice(MACHINES)}\n{jobs}")
            about["keys"] = [enlarge(tree, lot) for _ in range(lot.choice([1, 1, 2]))]
            text = toml_writer.document(tree)
        (folder / NAME).write_text(text, encoding="utf-8")
        for name, content in files.items():
            (folder / name).write_bytes(content)
        return Trial([f"odonata check {NAME}", f"odonata run {NAME} -o out"], about)

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """`check`, and a run within the budget."""
        before = calls.contents(folder)
        scenario = folder / NAME
        announce("check")
        checked = oracle.attempt("check", lambda: odonata.check(scenario))
        announce("run")
        ran = oracle.attempt("run", lambda: calls.simulate(scenario, trial.about["events"], tables=["jobs"]))
        found = [finding for finding in (checked.finding, ran.finding) if finding]
        if checked.refusal is not None:
            found += oracle.refusal_rules("check", checked.refusal, before)
        found += oracle.agreement_rules(checked, ran)
        if ran.value is None:
            return Verdict("refused" if ran.refusal else "crashed", found)
        found += oracle.outcome_rules("run", ran.value.run)
        if ran.value.finished:
            found += oracle.whole_rules("run", ran.value.run, calls.rows(ran.value, "jobs"))
        return Verdict(ran.value.outcome, found)


def enlarge(tree: dict[str, Any], lot: random.Random) -> str:
    """Makes a size larger by some zeros, or an interval shorter; returns its key."""
    found = [path for path in mutations.places(tree) if is_size(tree, path)]
    path = lot.choice(found)
    value = mutations.at(tree, path)
    factor = lot.choice([10**3, 10**6, 10**6, 10**6, 10**9, 10**12])
    short = name_of(path) in INTERVALS
    if isinstance(value, str):
        number, _, unit = value.partition(" ")
        mutations.replace(
            tree, path, f"{float(number) / factor if short else float(number) * factor:g} {unit}"
        )
    else:
        larger = value * factor
        mutations.replace(tree, path, min(larger, 2**63 - 1) if isinstance(larger, int) else larger)
    return ".".join(map(str, path))


def name_of(path: mutations.Path) -> str:
    """The key at the end of a path, or that of the list there."""
    return str(next(step for step in reversed(path) if isinstance(step, str)))


def is_size(tree: dict[str, Any], path: mutations.Path) -> bool:
    """Whether the value is a size or a number of items."""
    value = mutations.at(tree, path)
    if name_of(path) not in SIZES | INTERVALS or isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and value[:1].isdigit() and " " in value)


def overload(lot: random.Random) -> str:
    """Open-loop sources that offer many times the capacity of their links."""
    size = lot.choice(["64 B", "4 KiB", "1 MiB", "1 GB"])
    pattern = lot.choice(
        ["incast = { targets = [0],", "uniform = {", "hot-spot = { share = 0.9, targets = [0],"]
    )
    end = lot.choice(["", "", "time_limit = '100 s'\n"])
    until = "" if end else ", messages = 1000000000"
    return (
        f"[run]\nmessage_rows = 0\n{end}[machine.torus]\ndims = [4, 4]\n"
        f"[network.links.local]\nbandwidth = '{lot.choice([1, 100])} MB/s'\n"
        f"[[jobs]]\nranks = 16\nworkload.{pattern} bytes = '{size}', load = 1.0{until} }}\n"
    )
