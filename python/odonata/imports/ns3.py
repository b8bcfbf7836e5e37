"""Topology files of ns-3's HPCC model and of SimAI.

The first line counts: `NODES SWITCHES LINKS`, or in SimAI
`NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE`. Then come the numbers of the switches, NVSwitches
first, and a line `FROM TO RATE DELAY ERROR_RATE` per link. All other nodes are hosts, in SimAI GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from odonata.errors import InputError
from odonata.imports.draft import Draft
from odonata.imports.network_graph import MOST_CABLES, MOST_ROUTERS, Cable, Network, hosts_at_switches, put

_RATE = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)([KMGT]?)(?:bps|b/s)")
_DELAY = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)(s|ms|us|ns|ps)")
_LINK = re.compile(r"[ \t]*\d+[ \t]+\d+[ \t]+[\d.]+[KMGT]?(bps|b/s)\b", re.MULTILINE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PICOSECONDS = {"s": 10**12, "ms": 10**9, "us": 10**6, "ns": 10**3, "ps": 1}


def is_topology(text: str) -> bool:
    """Whether a text is such a file, possibly a damaged one."""
    return _LINK.search(text) is not None


class _Reader:
    """Words with their lines."""

    def __init__(self, text: str, path: Path) -> None:
        self.path, self.line = path, 0
        self.lines = [(line, row.split()) for line, row in enumerate(text.splitlines(), 1) if row.strip()]
        self.words = self._words()

    def _words(self) -> Iterator[str]:
        for line, row in self.lines[1:]:
            self.line = line
            yield from row

    def wrong(self, problem: str, value: str | None, expected: str) -> InputError:
        """The error at the current line."""
        return InputError(
            problem, file=str(self.path), line=self.line or None, value=value, expected=expected
        )

    def whole(self, word: str | None, what: str, most: int) -> int:
        """A whole number up to `most`."""
        if word is None:
            raise self.wrong("the file ends early", None, what)
        if not re.fullmatch(r"[0-9]{1,12}", word) or int(word) > most:
            raise self.wrong("a number out of range", repr(word[:40]), f"{what}, 0 to {most}")
        return int(word)


def load(path: Path, text: str) -> Draft:
    """The scenario of a file; raises `InputError` with the line of a problem."""
    reader = _Reader(text, path)
    draft = Draft(path.stem, [f"From the topology {path.name} of ns-3 or SimAI."], path)
    if not reader.lines:
        raise reader.wrong("the file is empty", None, "NODES SWITCHES LINKS")
    reader.line, head = reader.lines[0]
    if len(head) not in (3, 6):
        raise reader.wrong(
            f"{len(head)} values in the first line", None, "NODES SWITCHES LINKS, or the six values of SimAI"
        )
    counts = [head[0], "0", *head[1:]] if len(head) == 3 else [head[0], head[2], head[3], head[4]]
    limits = (MOST_ROUTERS, MOST_ROUTERS, MOST_ROUTERS, MOST_CABLES)
    whats = ("number of nodes", "number of NVSwitches", "number of switches", "number of links")
    total, nvswitches, switches, links = (
        reader.whole(word, what, most) for word, what, most in zip(counts, whats, limits, strict=True)
    )
    listed = [
        reader.whole(next(reader.words, None), "number of a switch", total - 1)
        for _ in range(nvswitches + switches)
    ]
    kinds = dict.fromkeys(listed[:nvswitches], "nvswitch") | dict.fromkeys(listed[nvswitches:], "switch")
    if len(kinds) != len(listed):
        raise reader.wrong("a switch is listed twice", None, "every switch once")
    found = [_link(reader, total) for _ in range(links)]
    if (left := next(reader.words, None)) is not None:
        raise reader.wrong("more lines than the number of links", repr(left[:40]), f"{links} links")
    if any(errors for *_, errors in found):
        draft.leave("error rates", None, "links lose no packets")
    put(draft, _network(draft, total, kinds, found))
    draft.put("network.routing", "algorithm", '"shortest-paths"', "ECMP")
    draft.put("network.routing", "spread", '"flow"')
    return draft


def _link(reader: _Reader, total: int) -> tuple[int, int, Fraction, Fraction, bool]:
    a, b = (reader.whole(next(reader.words, None), "number of a node", total - 1) for _ in range(2))
    if a == b:
        raise reader.wrong("a link of a node with itself", str(a), "two nodes")
    rate, delay, errors = (next(reader.words, None) for _ in range(3))
    speed = _RATE.fullmatch(rate or "")
    time = _DELAY.fullmatch(delay or "")
    if speed is None or Fraction(speed[1]) == 0:
        raise reader.wrong("not a rate", repr((rate or "")[:40]), "a rate such as 100Gbps")
    if time is None:
        raise reader.wrong("not a delay", repr((delay or "")[:40]), "a delay such as 0.0005ms")
    if errors is None or not re.fullmatch(r"[0-9.eE+-]{1,20}", errors):
        raise reader.wrong("not an error rate", repr((errors or "")[:40]), "a probability such as 0")
    lossy = re.search("[1-9]", errors.lower().partition("e")[0]) is not None
    return a, b, Fraction(speed[1]) * _UNITS[speed[2]], Fraction(time[1]) * _PICOSECONDS[time[2]], lossy


def _network(
    draft: Draft,
    total: int,
    kinds: dict[int, str],
    links: list[tuple[int, int, Fraction, Fraction, bool]],
) -> Network:
    hosts = [number for number in range(total) if number not in kinds]
    of_host: dict[int, list[tuple[int, Fraction, Fraction]]] = {host: [] for host in hosts}
    for a, b, rate, delay, _ in links:
        for here, far in ((a, b), (b, a)):
            if here in of_host:
                of_host[here].append((far, rate, delay))
    # Hosts with one equal link each are nodes of their switch.
    uniform = {link[0][1:] for link in of_host.values() if len(link) == 1}
    single = all(len(found) == 1 and found[0][0] in kinds for found in of_host.values()) and len(uniform) == 1
    counts = (
        hosts_at_switches(hosts, {host: found[0][0] for host, found in of_host.items()}) if single else None
    )
    if counts is not None:
        order = [*counts, *(switch for switch in kinds if switch not in counts)]
        routers = [(f"s{switch}", counts.get(switch, 0)) for switch in order]
        place = {switch: at for at, switch in enumerate(order)}
        kept = [link for link in links if link[0] in kinds and link[1] in kinds]
        terminal: tuple[Fraction | None, Fraction | None] = uniform.pop()
    else:
        # A host with several links, or with one of its own, is a router with one node.
        order = [*hosts, *kinds]
        routers = [
            (f"h{number}" if number in of_host else f"s{number}", int(number in of_host)) for number in order
        ]
        place = {number: at for at, number in enumerate(order)}
        kept = links
        terminal = (sum_of_rates(of_host), None)
        draft.leave(
            "hosts", None,
            "each is a small router with one node, because hosts have several links or different ones",
        )  # fmt: skip
    cables = []
    for a, b, rate, delay, _ in kept:
        ends = {kinds.get(a, "host"), kinds.get(b, "host")}
        kind = "local" if "nvswitch" in ends else "column" if "host" in ends else "global"
        cables.append(Cable((place[a], place[b]), kind, rate, delay))
    return Network(routers, cables, terminal)


def sum_of_rates(of_host: dict[int, list[tuple[int, Fraction, Fraction]]]) -> Fraction | None:
    """The largest rate of all links of a host together: its terminal link is no bottleneck."""
    sums = [sum((rate for _, rate, _ in found), Fraction(0)) for found in of_host.values()]
    return max(sums, default=None) or None
