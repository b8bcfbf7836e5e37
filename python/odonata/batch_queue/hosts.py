"""Host names of a job list as node numbers of the machine.

A file with the hosts in the order of the nodes is the sure way; some presets know the names of their hosts.
Without either, names of one pattern, such as `cn[001-296]`, have the number in their name, counted from the
smallest one, if the machine has that many nodes. Other names are numbered in their order, without gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.wording import counted
from odonata.batch_queue.job_list import MOST_NODES, JobList
from odonata.batch_queue.lines import read_lines
from odonata.errors import InputError

_REMEDY = "odonata import --hosts FILE gives the right order."
_NUMBERED = re.compile(r"(.*?)([0-9]{1,15})([^0-9]*)", re.DOTALL)


@dataclass(frozen=True)
class Machine:
    """The machine whose nodes hosts are."""

    #: Its compute nodes.
    nodes: int = MOST_NODES
    #: A file with its hosts in the order of the nodes.
    hosts: Path | None = None
    #: The preset, which may know the names of its hosts, and the node of each end point of the network.
    preset: str = ""
    node_of: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, described: Mapping[str, Any], hosts: Path | None = None) -> Machine:
        """The machine that the core describes, whose hosts may be in a file."""
        listed = described["end_points"]
        node_of = {end_point: node for node, own in enumerate(listed) for end_point in own}
        return cls(len(listed), hosts, described["preset"] or "", node_of)


def number(found: JobList, machine: Machine) -> None:
    """Gives the jobs of the list that name hosts their node numbers, and records how."""
    hosts_of = found.hosts_of
    listed = sorted({host for hosts in hosts_of.values() for host in hosts}, key=_natural)
    if machine.hosts is not None:
        number_of = _of_file(machine.hosts, machine.nodes)
        _refuse_unknown(found, hosts_of, number_of, machine.hosts)
        if listed:
            found.assumptions.append(f"Hosts have the node numbers of {machine.hosts.name!a}.")
    elif not listed:
        return
    elif (by_preset := _by_preset(found, hosts_of, machine)) is not None:
        number_of = by_preset
        found.assumptions.append(f"Hosts have the node numbers of the preset {machine.preset}.")
    elif (by_name := _by_name(listed, machine.nodes)) is not None:
        number_of = by_name
        first = (
            ""
            if _first_number(listed[0]) in (0, 1)
            else f" {listed[0]} need not be the first host of the machine: {_REMEDY}"
        )
        found.assumptions.append(
            f"Hosts {listed[0]} to {listed[-1]} are nodes 0 to {number_of[listed[-1]]}, by the numbers in "
            f"their names ({counted(len(listed), 'host')} of the list).{first}"
        )
    else:
        number_of = {name: number for number, name in enumerate(listed)}
        gaps = (
            ""
            if len(listed) == machine.nodes
            else " Hosts that the list lacks have no number, so nodes may be at other routers than recorded: "
            f"{_REMEDY}"
        )
        found.assumptions.append(
            f"{counted(len(listed), 'host')} of the list, {listed[0]} to {listed[-1]}, are nodes 0 to "
            f"{len(listed) - 1} in the order of their names.{gaps}"
        )
    for job in found.jobs:
        if job.id in hosts_of:
            job.node_list = [number_of[host] for host in hosts_of[job.id]]


def _of_file(file: Path, nodes: int) -> dict[str, int]:
    """The node numbers of the hosts in a file; raises `InputError`."""
    found: dict[str, int] = {}
    for line in read_lines(file):
        for name in line.hosts(line.text.strip(), "hosts"):
            if name in found:
                raise line.error("a host twice", name, "hosts", "every host once, in the order of the nodes")
            if len(found) == nodes:
                raise line.error("more hosts than compute nodes", name, "hosts", f"at most {nodes}")
            found[name] = len(found)
    if not found:
        raise InputError("a file without hosts", file=str(file), expected="a host per line")
    return found


def _refuse_unknown(
    found: JobList, hosts_of: Mapping[str, list[str]], known: Mapping[str, int], file: Path
) -> None:
    """Raises `InputError` for a host that the file lacks."""
    for job in found.jobs:
        for host in hosts_of.get(job.id, []):
            if host not in known:
                raise InputError(
                    "a host without a node", file=str(found.path), line=job.line, key="node_list", value=host,
                    expected=f"a host that {file} lists",
                )  # fmt: skip


def _by_preset(found: JobList, hosts_of: Mapping[str, list[str]], machine: Machine) -> dict[str, int] | None:
    """The nodes of hosts that the preset knows by name; None if it knows none of them.

    Raises:
        InputError: It knows only some of them.
    """
    known: dict[str, int] = {}
    unknown: tuple[str, str, str] | None = None
    for job, hosts in hosts_of.items():
        for host in hosts:
            if host not in known:
                end_point, expected = _core.host_node(machine.preset, host)
                node = None if end_point is None else machine.node_of.get(end_point)
                if node is not None:
                    known[host] = node
                else:
                    unknown = unknown or (job, host, expected)
    if unknown is not None and known:
        job, host, expected = unknown
        line = next((one.line for one in found.jobs if one.id == job), None)
        raise InputError(
            f"there is no such host in {machine.preset}", file=str(found.path), line=line, key="node_list",
            value=host, expected=expected, hint="leave out jobs of other parts of the machine",
        )  # fmt: skip
    return known or None


def _by_name(hosts: Iterable[str], nodes: int) -> dict[str, int] | None:
    """The numbers in the names, counted from the smallest; None if they give no nodes of the machine.

    >>> _by_name(["cn012", "cn015"], 8), _by_name(["cn012", "cn015"], 3), _by_name(["cn1", "gpu2"], 8)
    ({'cn012': 0, 'cn015': 3}, None, None)
    """
    found: dict[str, int] = {}
    patterns = set()
    for host in hosts:
        match = _NUMBERED.fullmatch(host)
        if match is None:
            return None
        patterns.add((match[1], match[3]))
        found[host] = int(match[2])
    first = min(found.values())
    if len(patterns) > 1 or max(found.values()) - first >= nodes or len(set(found.values())) < len(found):
        return None
    return {host: number - first for host, number in found.items()}


def _first_number(host: str) -> int | None:
    """The number at the end of a name."""
    match = _NUMBERED.fullmatch(host)
    return None if match is None else int(match[2])


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that orders numbers in names by their value.

    >>> sorted(["n10", "n9"], key=_natural)
    ['n9', 'n10']
    """
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|\D+", name)]
