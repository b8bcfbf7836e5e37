"""BookSim's `anynet`: a file of routers, their nodes and channels, as a graph.

A line is `router 0 node 0 node 1 router 1 10 router 2`: a router, then its neighbors. A number behind a
neighbor is the latency of that channel in cycles, 1 without one (anynet.cpp). A channel back that no line
gives has latency 1.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

from odonata.errors import InputError
from odonata.imports.draft import Draft
from odonata.imports.network_graph import Cable, Network

#: Longest latency of a channel, in cycles.
MOST_CYCLES = 1 << 20
#: The picoseconds of a cycle of the preset `booksim`.
CYCLE = Fraction(1000)

_NUMBER = re.compile(r"[0-9]{1,9}")


def parse(text: str, path: Path, draft: Draft) -> Network:
    """The network of a file; raises `InputError` with the line of a problem."""
    channels: dict[tuple[int, int], int | None] = {}
    router_of: dict[int, int] = {}
    routers: set[int] = set()
    slow_terminals = False
    for line, row in enumerate(text.splitlines(), 1):
        words = row.split()

        def wrong(problem: str, value: str | None, expected: str, line: int = line) -> InputError:
            return InputError(problem, file=str(path), line=line, value=value, expected=expected)

        parts: list[tuple[str, int, int | None]] = []
        while words:
            kind = words.pop(0)
            if kind not in ("router", "node"):
                raise wrong("an unknown word", repr(kind), "router NUMBER or node NUMBER, then a latency")
            if not words or not _NUMBER.fullmatch(words[0]):
                raise wrong(f"a {kind} without a number", repr(words[0]) if words else None, f"{kind} NUMBER")
            place, cycles = int(words.pop(0)), None
            if parts and words and _NUMBER.fullmatch(words[0]):
                cycles = int(words.pop(0))
                if not 1 <= cycles <= MOST_CYCLES:
                    raise wrong("a latency out of range", str(cycles), f"1 to {MOST_CYCLES} cycles")
            parts.append((kind, place, cycles))
        if not parts:
            continue
        head, number, _ = parts[0]
        if head == "router":
            routers.add(number)
        for kind, other, cycles in parts[1:]:
            if head == kind == "node":
                raise wrong("two nodes are connected", f"node {number} node {other}", "a node and a router")
            if head == kind == "router":
                routers.add(other)
                if other == number:
                    raise wrong("a router is connected with itself", str(number), "two routers")
                channels[number, other] = cycles
                channels.setdefault((other, number), None)
                continue
            node, router = (other, number) if head == "router" else (number, other)
            routers.add(router)
            if router_of.setdefault(node, router) != router:
                raise wrong(f"node {node} has two routers", f"{router_of[node]} and {router}", "one router")
            slow_terminals |= cycles not in (None, 1)
    return _network(path, draft, (routers, router_of, channels), slow_terminals=slow_terminals)


def _network(
    path: Path,
    draft: Draft,
    found: tuple[set[int], dict[int, int], dict[tuple[int, int], int | None]],
    *,
    slow_terminals: bool,
) -> Network:
    routers, router_of, channels = found
    if sorted(router_of) != list(range(len(router_of))) or not router_of:
        raise InputError(
            "nodes are not numbered from 0 without gaps", file=str(path), expected="nodes 0, 1, 2, ..."
        )
    if slow_terminals:
        draft.leave("latencies of nodes", None, "the links of all nodes take one cycle")
    # Nodes are numbered router by router.
    nodes: dict[int, list[int]] = {router: [] for router in sorted(routers)}
    for node in sorted(router_of):
        nodes[router_of[node]].append(node)
    order = sorted(nodes, key=lambda router: nodes[router][:1] or [1 << 40])
    ordered = [node for router in order for node in nodes[router]]
    if ordered != sorted(ordered):
        draft.leave(
            "numbers of nodes", None, "nodes are numbered here router by router, in the order of the graph"
        )
    place = {router: at for at, router in enumerate(order)}
    uneven = 0
    cables = []
    for (a, b), cycles in channels.items():
        if a > b:
            continue
        there, back = cycles or 1, channels[b, a] or 1
        uneven += there != back
        cables.append(Cable((place[a], place[b]), "local", None, max(there, back) * CYCLE))
    if uneven:
        draft.leave(
            "latencies", f"{uneven} cables", "both directions of a cable have the longer latency of the two"
        )
    return Network([(f"r{router}", len(nodes[router])) for router in order], cables, (None, CYCLE))
