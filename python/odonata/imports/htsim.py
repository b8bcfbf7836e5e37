"""htsim: a fat tree of two or three tiers (`.topo`).

The semantics are those of FatTreeTopology::load (fat_tree_topology.cpp). `Radix_Down`, `Radix_Up`
and `Bundle` count cables of a switch. `Downlink_speed_Gbps` and `Downlink_Latency_ns` are those of the links
below a tier.
"""

from __future__ import annotations

import re
from pathlib import Path

from odonata.errors import InputError
from odonata.imports.draft import Draft

#: Largest number in a file.
MOST = 1 << 24
_HEADER = {"nodes", "tiers", "podsize"}
_TIER = {
    "downlink_speed_gbps", "radix_up", "radix_down", "queue_up", "queue_down", "oversubscribed", "bundle",
    "switch_latency_ns", "downlink_latency_ns",
}  # fmt: skip


def is_topology(text: str) -> bool:
    """Whether a text is such a file, possibly a damaged one."""
    return re.search(r"^\s*tier\s+[0-9]", text, re.MULTILINE | re.IGNORECASE) is not None


class _Reader:
    """The values of a file with their lines."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.header: dict[str, int] = {}
        self.tiers: dict[int, dict[str, int]] = {}
        self.lines: dict[tuple[int | None, str], int] = {}
        tier = None
        for line, row in enumerate(text.splitlines(), 1):
            words = row.split()
            if not words or words[0].startswith("#"):
                continue
            name = words[0].lower()
            known = _HEADER if tier is None else _TIER
            if len(words) != 2 or not re.fullmatch("[0-9]{1,9}", words[1]) or int(words[1]) > MOST:
                raise self.wrong(
                    "not a setting", line, repr(row.strip()[:60]), f"NAME NUMBER, at most {MOST}"
                )
            value = int(words[1])
            if name == "tier":
                if value > 2 or value in self.tiers:
                    raise self.wrong(
                        "a tier out of order", line, str(value), "each of the tiers 0, 1, 2 once"
                    )
                tier = value
                self.tiers[tier] = {}
            elif name not in known:
                raise self.wrong(
                    "an unknown setting", line, words[0][:40], "one of " + ", ".join(sorted(known))
                )
            else:
                values = self.header if tier is None else self.tiers[tier]
                if name in values:
                    raise self.wrong("a second value", line, words[0], "each setting once")
                values[name] = value
            self.lines[tier, name] = line

    def wrong(self, problem: str, line: int | None, value: str | None, expected: str) -> InputError:
        """The error at a line."""
        return InputError(problem, file=str(self.path), line=line, value=value, expected=expected)

    def get(self, tier: int | None, name: str, default: int | None = None) -> int:
        """A value above 0, or the default."""
        values = self.header if tier is None else self.tiers.get(tier, {})
        where = "the header" if tier is None else f"tier {tier}"
        if name not in values:
            if default is None:
                raise self.wrong(f"{name} is missing in {where}", None, None, f"{name} NUMBER")
            return default
        if values[name] == 0 and default != 0:
            raise self.wrong("a number out of range", self.lines[tier, name], "0", "a number above 0")
        return values[name]


def load(path: Path, text: str) -> Draft:
    """The scenario of a file; raises `InputError` with the line of a problem."""
    reader = _Reader(text, path)
    draft = Draft(path.stem, [f"From the topology {path.name} of htsim."], path)
    tiers = reader.get(None, "tiers")
    if tiers not in (2, 3):
        raise reader.wrong("a number of tiers", reader.lines[None, "tiers"], str(tiers), "2 or 3")
    down, up, parallel = [reader.get(0, "radix_down")], [1], [1]
    for tier in range(1, tiers):
        bundle = reader.get(tier, "bundle", 1)
        for below, name, into in ((tier - 1, "radix_up", up), (tier, "radix_down", down)):
            radix = reader.get(below, name)
            if radix % bundle:
                raise reader.wrong(
                    "ports that are no multiple of the bundle", reader.lines[below, name], str(radix),
                    f"a multiple of {bundle}",
                )  # fmt: skip
            into.append(radix // bundle)
        parallel.append(bundle)
    nodes, made = reader.get(None, "nodes"), 1
    for children in down:
        made *= children
    if nodes != made:
        raise reader.wrong(
            "nodes that do not fill the tree", reader.lines[None, "nodes"], str(nodes),
            f"{made}, the product of the children of all tiers",
        )  # fmt: skip
    pod = reader.get(None, "podsize")
    expected = made if tiers == 2 else down[0] * down[1]
    if pod != expected:
        raise reader.wrong("a pod of another size", reader.lines[None, "podsize"], str(pod), str(expected))
    table = "machine.fat-tree"
    for name, values in (("down", down), ("up", up), ("parallel", parallel)):
        draft.put(table, name, str(values), "Radix_Down, Radix_Up, Bundle" if name == "down" else "")
    for tier, kind in zip(range(tiers), ("terminal", "local", "global"), strict=False):
        links = f"network.links.{kind}"
        speed = reader.get(tier, "downlink_speed_gbps")
        latency = reader.get(tier, "downlink_latency_ns")
        draft.put(links, "bandwidth", f'"{speed} Gbit/s"', f"tier {tier}: Downlink_speed_Gbps")
        draft.put(links, "latency", f'"{latency} ns"', f"tier {tier}: Downlink_Latency_ns")
    delays = [reader.get(tier, "switch_latency_ns", 0) for tier in range(tiers)]
    if len(set(delays)) == 1:
        draft.put("network", "router_delay", f'"{delays[0]} ns"', "Switch_Latency_ns")
    else:
        draft.put("network", "router_delay", f'"{max(delays)} ns"', "the longest Switch_Latency_ns")
        draft.leave("Switch_Latency_ns", ", ".join(map(str, delays)), "all routers have the longest delay")
    if any(name.startswith("queue") for values in reader.tiers.values() for name in values):
        draft.leave("Queue_Up, Queue_Down", None, "buffers are those of the links here")
    draft.put("network.routing", "algorithm", '"shortest-paths"', "ECMP")
    draft.put("network.routing", "spread", '"flow"')
    return draft
