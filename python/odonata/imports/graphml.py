"""GraphML of other tools (networkx, InfraGraph, the Internet Topology Zoo, Gephi) as a graph.

Nodes are routers; those whose `type`, `kind` or `role` is one of `HOSTS` are hosts. A host with one link is a
node of its router. An interface or port (`PASSED`) with two links is part of a cable. Rates and latencies of
edges are taken where a key with a known name gives them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as tree
from fractions import Fraction
from pathlib import Path

from odonata.errors import InputError
from odonata.imports.draft import Draft
from odonata.imports.network_graph import Cable, Network, put

#: An edge: its two ends, rate and latency.
Edge = tuple[str, str, Fraction | None, Fraction | None]

#: Values that make a node a host.
HOSTS = {"host", "server", "compute", "endpoint", "gpu", "xpu", "node"}
#: Values that make a node with two links part of a cable.
PASSED = {"nic", "port"}
#: Keys of edges that give a rate, with bits per second of their unit; of a latency, with picoseconds.
RATES = {"LinkSpeedRaw": 1, "bandwidth_bps": 1, "capacity_bps": 1, "bandwidth_gbps": 10**9, "gbps": 10**9}
LATENCIES = {"latency_ps": 1, "latency_ns": 10**3, "latency_us": 10**6, "delay_ns": 10**3, "delay_us": 10**6}
#: Units of the keys `bandwidth` and `latency`, as InfraGraph writes them: "400 Gbps", "5 ns".
RATE_UNITS = {"bps": 1, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12, "MBps": 8 * 10**6, "GBps": 8 * 10**9}
LATENCY_UNITS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9}
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?(?:[eE][+]?[0-9]{1,2})?")


def load(path: Path, text: str, nodes_per_router: int = 1) -> Draft:
    """The scenario of a file; raises `InputError` for a graph that cannot be a machine."""

    def wrong(problem: str, value: str | None, expected: str, line: int | None = None) -> InputError:
        return InputError(problem, file=str(path), line=line, value=value, expected=expected)

    if re.search(r"<!(DOCTYPE|ENTITY)", text):
        raise wrong("a document type declaration", None, "GraphML without one")
    try:
        root = tree.fromstring(text)
    except tree.ParseError as error:
        raise wrong("not XML", str(error), "GraphML", error.position[0]) from None
    space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
    graphs = root.findall(f"{space}graph")
    if root.tag != f"{space}graphml" or len(graphs) != 1:
        raise wrong(f"{len(graphs)} graphs", None, "GraphML with one graph")
    keys = {key.get("id"): key.get("attr.name", "") for key in root.findall(f"{space}key")}

    def data(element: tree.Element) -> dict[str, str]:
        found = element.findall(f"{space}data")
        return {keys.get(one.get("key"), one.get("key") or ""): (one.text or "").strip() for one in found}

    names: dict[str, bool] = {}
    passed: set[str] = set()
    for node in graphs[0].findall(f"{space}node"):
        name, values = node.get("id", ""), data(node)
        if name in names or not name:
            raise wrong(
                "a node without a name of its own", repr(name[:60]), "an id of its own for every node"
            )
        kinds = {values.get(key, "").lower() for key in ("type", "kind", "role")}
        names[name] = bool(kinds & HOSTS)
        if kinds & PASSED:
            passed.add(name)
    directed = graphs[0].get("edgedefault") == "directed"
    edges: list[Edge] = []
    seen: set[tuple[str, str]] = set()
    for edge in graphs[0].findall(f"{space}edge"):
        a, b = edge.get("source", ""), edge.get("target", "")
        for end in (a, b):
            if end not in names:
                raise wrong("an edge of no node", repr(end[:60]), "nodes of the graph")
        if a == b:
            raise wrong("an edge of a node with itself", repr(a[:60]), "two nodes")
        if directed and (b, a) in seen:
            # The other direction of a cable.
            seen.remove((b, a))
            continue
        seen.add((a, b))
        values = data(edge)
        rate = _value(values, RATES) or _with_unit(values.get("bandwidth", ""), RATE_UNITS)
        latency = _value(values, LATENCIES) or _with_unit(values.get("latency", ""), LATENCY_UNITS)
        edges.append((a, b, rate, latency))
    draft = Draft(path.stem, [f"From the GraphML of {path.name}."], path)
    edges, gone = _contract(edges, passed)
    for name in gone:
        del names[name]
    put(draft, _network(draft, names, edges, nodes_per_router))
    return draft


def _contract(edges: list[Edge], passed: set[str]) -> tuple[list[Edge], set[str]]:
    """The edges with each of `passed` that has two links taken out, and those taken out."""
    at: dict[str, set[int]] = {}
    all_edges: list[Edge | None] = list(edges)
    for place, (a, b, *_) in enumerate(edges):
        for end in (a, b):
            at.setdefault(end, set()).add(place)
    gone: set[str] = set()
    for name in sorted(passed):
        places = sorted(at.get(name, ()))
        pair = [edge for place in places if (edge := all_edges[place]) is not None]
        if len(pair) != 2:
            continue
        ends = [a if b == name else b for a, b, *_ in pair]
        if ends[0] == ends[1]:
            continue
        rates = [edge[2] for edge in pair if edge[2] is not None]
        delays = [edge[3] for edge in pair if edge[3] is not None]
        for place in places:
            all_edges[place] = None
        for end, place in zip(ends, places, strict=True):
            at[end].remove(place)
            at[end].add(len(all_edges))
        all_edges.append((ends[0], ends[1], min(rates, default=None), sum(delays, Fraction(0)) or None))
        gone.add(name)
    return [edge for edge in all_edges if edge is not None], gone


def _with_unit(text: str, units: dict[str, int]) -> Fraction | None:
    """A value such as "400 Gbps"; `None` for others."""
    number, _, unit = text.partition(" ")
    if unit not in units or not _NUMBER.fullmatch(number):
        return None
    return Fraction(number) * units[unit] or None


def _value(values: dict[str, str], units: dict[str, int]) -> Fraction | None:
    """The first value of a known key that is a number above 0."""
    for key, unit in units.items():
        if _NUMBER.fullmatch(values.get(key, "")) and (found := Fraction(values[key]) * unit) > 0:
            return found
    return None


def _network(
    draft: Draft,
    names: dict[str, bool],
    edges: list[Edge],
    nodes_per_router: int,
) -> Network:
    has_hosts = any(names.values())
    links: dict[str, list[str]] = {name: [] for name in names}
    for a, b, *_ in edges:
        links[a].append(b)
        links[b].append(a)
    leaves = {
        name: found[0]
        for name, found in links.items()
        if names[name] and len(found) == 1 and not names[found[0]]
    }
    counts = {name: 0 for name in names if name not in leaves}
    if not has_hosts:
        counts = dict.fromkeys(counts, nodes_per_router)
        draft.leave("nodes", None, f"no node is a host: every router has {nodes_per_router}")
    for name in counts:
        counts[name] += int(names[name])
    for router in leaves.values():
        counts[router] += 1
    place = {name: at for at, name in enumerate(counts)}
    cables = []
    terminal: tuple[Fraction | None, Fraction | None] = (None, None)
    for a, b, rate, delay in edges:
        if a in leaves or b in leaves:
            terminal = (rate, delay) if terminal == (None, None) else terminal
            if (rate, delay) != terminal:
                draft.leave("links of hosts", f"{a}, {b}", "all have the rate and latency of the first")
            continue
        kind = "column" if names[a] or names[b] else "local"
        cables.append(Cable((place[a], place[b]), kind, rate, delay))
    return Network([(_word(name, at), counts[name]) for name, at in place.items()], cables, terminal)


def _word(name: str, place: int) -> str:
    """The name of a router as a word of an edge list."""
    plain = re.sub(r"[^A-Za-z0-9_.:-]", "_", name)
    return f"{plain}.{place}" if plain != name or plain in ("router", "nodes") else plain
