"""A network read from another tool, as an edge list and the keys of its machine.

Routers and cables become the file of `[machine.graph]`. The most frequent rate and delay of a class of links
become keys of `[network.links.CLASS]`; cables that differ carry their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from odonata.errors import InputError
from odonata.imports.draft import Beside, Draft, number

#: Most routers, cables and nodes.
MOST_ROUTERS, MOST_CABLES, MOST_NODES = 1 << 20, 1 << 22, 1 << 24
#: Largest multiple of the bandwidth of a class.
MOST_FACTOR = 1000


@dataclass(frozen=True)
class Cable:
    """A cable between two routers, by their places in the list."""

    ends: tuple[int, int]
    #: "local", "column" or "global".
    kind: str
    #: Bits per second and picoseconds; `None`: not given.
    rate: Fraction | None = None
    delay: Fraction | None = None


@dataclass
class Network:
    """Routers by name, with their numbers of nodes, and cables."""

    routers: list[tuple[str, int]]
    cables: list[Cable]
    #: Rate and delay of the links between nodes and routers.
    terminal: tuple[Fraction | None, Fraction | None] = (None, None)
    names: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {name: place for place, (name, _) in enumerate(self.routers)}


def put(draft: Draft, network: Network) -> None:
    """Makes `network` the machine of `draft`; raises `InputError` if it has no node or no cable."""
    nodes = sum(count for _, count in network.routers)
    for what, count, most in (
        ("routers", len(network.routers), MOST_ROUTERS),
        ("cables", len(network.cables), MOST_CABLES),
        ("nodes", nodes, MOST_NODES),
    ):
        if count > most:
            raise InputError(f"{count} {what}", file=str(draft.path), expected=f"at most {most} {what}")
    if nodes == 0:
        raise InputError("no node is connected", file=str(draft.path), expected="a network with nodes")
    draft.put("machine.graph", "file", "", f"{len(network.routers)} routers, {nodes} nodes")
    usual = {
        kind: _usual([cable for cable in network.cables if cable.kind == kind]) for kind in _kinds(network)
    }
    for kind, (rate, delay) in {"terminal": network.terminal, **usual}.items():
        table = f"network.links.{kind}"
        if rate is not None:
            draft.put(table, "bandwidth", f'"{number(float(rate / 10**9))} Gbit/s"')
        if delay is not None:
            draft.put(table, "latency", f'"{_time(delay)}"')
    draft.beside = Beside("machine.graph", "file", ".graph.txt", _edge_list(network, usual))


def _kinds(network: Network) -> list[str]:
    return sorted({cable.kind for cable in network.cables})


def _usual(cables: Sequence[Cable]) -> tuple[Fraction | None, Fraction | None]:
    """The most frequent rate and delay; of equally frequent ones the first."""
    rates = Counter(cable.rate for cable in cables if cable.rate is not None)
    delays = Counter(cable.delay for cable in cables if cable.delay is not None)
    first = [counter.most_common(1) for counter in (rates, delays)]
    rate, delay = (one[0][0] if one else None for one in first)
    return rate, delay


def _time(picoseconds: Fraction) -> str:
    """A time with its unit, to the picosecond."""
    whole = round(picoseconds)
    return f"{number(whole / 1000)} ns" if whole % 1000 else f"{whole // 1000} ns"


def _edge_list(network: Network, usual: dict[str, tuple[Fraction | None, Fraction | None]]) -> str:
    lines = ["# Routers with their nodes, then cables (docs/networks.md)."]
    lines += [f"router {name} nodes={nodes}" for name, nodes in network.routers]
    same = Counter(network.cables)
    for cable, count in same.items():
        rate, delay = usual[cable.kind]
        a, b = (network.routers[end][0] for end in cable.ends)
        words = [a, b]
        if count > 1:
            words.append(f"cables={count}")
        if cable.kind != "local":
            words.append(f"class={cable.kind}")
        if cable.rate is not None and rate is not None and cable.rate != rate:
            words.append(f"bandwidth={number(float(cable.rate / rate))}")
        if cable.delay is not None and cable.delay != delay:
            words.append(f"latency={_time(cable.delay).replace(' ', '')}")
        lines.append(" ".join(words))
    return "\n".join(lines) + "\n"


def hosts_at_switches(hosts: Sequence[int], switch_of: dict[int, int]) -> dict[int, int] | None:
    """The number of hosts of each switch, by their first hosts, if hosts are numbered switch by switch."""
    counts: dict[int, int] = {}
    last = None
    for host in hosts:
        switch = switch_of[host]
        if switch != last and switch in counts:
            return None
        counts[switch] = counts.get(switch, 0) + 1
        last = switch
    return counts
