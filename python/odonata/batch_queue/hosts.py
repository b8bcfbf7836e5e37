"""Host names of a job list as node numbers of the machine.

A file with the hosts in the order of the nodes is the sure way. Without one, names of one pattern, such as
`cn[001-296]`, have the number in their name, counted from the smallest one, if the machine has that many
nodes. Other names are numbered in their order, without gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from odonata.base.wording import counted
from odonata.batch_queue.job_list import MOST_NODES, JobList
from odonata.batch_queue.lines import MOST_LISTED, Line, read_lines
from odonata.errors import InputError

_LISTED = re.compile(r"([^\[\],]+)(?:\[([0-9,-]+)\]([^\[\],]*))?(?:,|$)")
_REMEDY = "odonata import --hosts FILE gives the right order."
_NUMBERED = re.compile(r"(.*?)([0-9]{1,15})([^0-9]*)", re.DOTALL)


@dataclass(frozen=True)
class Machine:
    """The machine whose nodes hosts are."""

    #: Its compute nodes.
    nodes: int = MOST_NODES
    #: A file with its hosts in the order of the nodes.
    hosts: Path | None = None


def names(line: Line, text: str, field: str) -> list[str]:
    """The host names of a list such as `nid[0001-0004,7],login1`."""
    found: list[str] = []
    place = 0
    while place < len(text):
        match = _LISTED.match(text, place)
        if match is None or match.end() == place:
            raise line.error("not a list of hosts", text, field, "names such as nid[001-004],gpu1")
        place = match.end()
        prefix, numbers, suffix = match.groups()
        if numbers is None:
            found.append(line.name(prefix, field))
            continue
        line.name(prefix + (suffix or ""), field)
        for part in numbers.split(","):
            low, _, high = part.partition("-")
            last = high or low
            if (
                not (low.isdigit() and last.isdigit())
                or len(low) > 9
                or len(last) > 9
                or int(last) < int(low)
            ):
                raise line.error("not a range of hosts", part, field, "a range such as 001-004")
            if len(found) + int(last) - int(low) >= MOST_LISTED:
                raise line.error("a list with too many nodes", text, field, f"at most {MOST_LISTED}")
            found += [f"{prefix}{number:0{len(low)}}{suffix}" for number in range(int(low), int(last) + 1)]
    if len(set(found)) < len(found):
        raise line.error("a node twice", text, field, "every node once")
    return found


def number(found: JobList, hosts_of: Mapping[str, list[str]], machine: Machine) -> None:
    """Gives the jobs of the list node numbers for their hosts, and records how."""
    listed = sorted({host for hosts in hosts_of.values() for host in hosts}, key=_natural)
    if machine.hosts is not None:
        number_of = _of_file(machine.hosts, machine.nodes)
        _refuse_unknown(found, hosts_of, number_of, machine.hosts)
        if listed:
            found.assumptions.append(f"Hosts have the node numbers of {machine.hosts.name!a}.")
    elif not listed:
        return
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
        job.node_list = [number_of[host] for host in hosts_of.get(job.id, [])]


def _of_file(file: Path, nodes: int) -> dict[str, int]:
    """The node numbers of the hosts in a file; raises `InputError`."""
    found: dict[str, int] = {}
    for line in read_lines(file):
        for name in names(line, line.text.strip(), "hosts"):
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
                    "a host without a node", file=str(found.path), line=job.line, key="NodeList", value=host,
                    expected=f"a host that {file} lists",
                )  # fmt: skip


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
