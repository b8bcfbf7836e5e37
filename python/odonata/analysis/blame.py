"""Interference between jobs: sums of the table `blame`, and sentences about them.

Every wait is charged to the job that held the resource. The unit of a charge, and the total that shares refer
to, depend on the place:

- On links: packet-seconds; the time of all the victim's packets in the network.
- At servers: request-seconds; the time from request to acknowledgement, summed over the victim's I/O calls.
- Below the first tier, where written data waits after its call has ended: all waiting time there.

Waits that a fault causes (resource "fault") belong to no job; sentences say "a fault". Waits in a node's own
network interface (place "nic") precede the network, and sentences leave them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from odonata.analysis.measured import needed, offers
from odonata.base.wording import duration, sentence_case, share

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.results.results import Results

#: Resources, their places, and classes of traffic.
NAMES = {
    "resource": (
        *("link", "credit", "input", "space", "memory", "device", "reserve", "lock"),
        *("thread", "directory", "fault"),
    ),
    "place": ("nic", "terminal", "local", "column", "global", "server", "file-system", "metadata"),
    "victim_class": ("mpi", "io"),
}

#: Places inside the network, whose waits are part of a packet's time there.
ROUTER_PLACES = ("terminal", "local", "column", "global")

#: Places at servers, and the sum that each belongs to.
_AT_SERVERS = {"server": "servers", "file-system": "below", "metadata": "metadata"}

#: The tier of the servers that ranks use.
_FIRST_TIER = "storage"

#: The culprit of waits for a server that has failed, pauses or is slow.
FAULT = "a fault"

#: Smallest share of the victim's time that gets a sentence.
LEAST_SHARE = 0.01

#: Most sentences about other jobs, and most about own traffic.
MOST_FINDINGS = 8

_TRAFFIC = {"mpi": "messages", "io": "I/O"}

#: What waits at servers are for, by resource.
_FOR = {
    "device": "at the devices of",
    "space": "for space at",
    "memory": "for memory at",
    "reserve": "for reserved blocks at",
    "lock": "for locks at",
    "thread": "for threads at",
    "directory": "for directories at",
}

#: Columns of the table that are summed.
_COLUMNS = (
    "victim",
    "victim_class",
    "culprit",
    "culprit_class",
    "place",
    "resource",
    "name",
    "server",
    "waited_s",
)


@dataclass(frozen=True)
class Finding:
    """The waits of one class of traffic behind another, in the network or at the servers."""

    victim: str
    victim_class: str
    culprit: str
    culprit_class: str
    #: "network", "servers" (that ranks use), "below" (lower tiers, object servers) or "metadata" (servers).
    where: str
    #: Waiting time: packet-seconds, request-seconds, or call-seconds.
    waited_s: float
    #: The total for the share: the victim's time in the network, in I/O calls or in metadata calls, or all
    #: its waiting time below.
    whole_s: float
    #: Number of links or servers at which the victim waited.
    places: int
    #: The link, or the number of the server, with the longest wait.
    most: str
    #: Class of that link; "server", "file-system", "metadata".
    most_place: str
    #: The resource with the longest wait, as in `NAMES`.
    resource: str
    #: Number of servers that the victim uses; if unknown, `places`.
    servers: int
    #: Whether the share is an upper bound: the run ended before the victim did, so work in flight has waited
    #: but is missing from the total.
    at_most: bool
    #: Whether messages or calls waited; otherwise data moved to a lower tier.
    in_calls: bool

    @property
    def share(self) -> float:
        """Waiting share of the victim's time, at most 1."""
        return min(1.0, self.waited_s / self.whole_s) if self.at_most else self.waited_s / self.whole_s

    @property
    def is_unknown(self) -> bool:
        """Whether nothing is known of the share: its upper bound is all of the time."""
        return is_unknown(self.share, at_most=self.at_most)

    @property
    def own(self) -> bool:
        """Whether the victim waited behind its own traffic."""
        return (self.culprit, self.culprit_class) == (self.victim, self.victim_class)

    def words(self, *, pronoun: bool = False) -> str:
        """The finding as a sentence without its period; `pronoun` replaces the victim's name by "it"."""
        subject, possessive = ("it", "its") if pronoun else (self.victim, f"{self.victim}'s")
        if self.where == "network":
            their, own = ("their", "each other") if self.victim_class == "mpi" else ("its", "its own packets")
            whole = f"{their} time in the network waiting"
            subject = f"{possessive} {_traffic(self.victim_class)}"
            culprit = f"{self.culprit}'s {_traffic(self.culprit_class)}"
        else:
            whole, own, culprit = "its I/O time waiting", "its own requests", self.culprit
            if self.where == "metadata":
                whole, own = "its metadata time waiting", "its own calls"
            elif not self.in_calls:
                subject, whole, own = (
                    f"{possessive} data on their way down",
                    "their waiting time",
                    "each other",
                )
            if self.culprit == self.victim:
                culprit = own
        behind = f"behind {own if self.own else culprit}"
        if self.culprit == FAULT:
            behind = f"because of {FAULT}"
        if self.is_unknown:
            parts = {"network": "packets", "metadata": "calls"}.get(self.where, "requests")
            waited = f"{duration(self.waited_s)}, summed over {parts}"
            return f"When the run ended, {subject} had waited {waited}, {behind}, {self._place()}"
        part = ("at most " if self.at_most else "") + share(self.share, 1.0)
        return sentence_case(f"{subject} spent {part} of {whole} {behind}, {self._place()}")

    def _place(self) -> str:
        """The place of the wait, and the resource there."""
        if self.where == "network":
            link = f"{self.most} ({self.most_place})"
            return f"on {link}" if self.places == 1 else f"on {self.places} links, most on {link}"
        if self.where == "below":
            servers = "1 server below its own" if self.places == 1 else f"{self.places} servers below its own"
        elif self.where == "metadata":
            some = f"all {self.places}" if self.places == self.servers else f"{self.places} of {self.servers}"
            servers = "the metadata server" if self.servers == 1 else f"{some} metadata servers"
        elif self.places == self.servers:
            servers = "its server" if self.servers == 1 else f"all {self.servers} of its servers"
        else:
            servers = f"{self.places} of its {self.servers} servers"
        if self.resource == "device" and self.places == 1:
            return f"at the device of {servers}"
        return f"{_FOR.get(self.resource, 'at')} {servers}"

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return asdict(self) | {"share": self.share, "own": self.own, "words": self.words()}


def measured(results: Results) -> bool:
    """Whether the run charged waits to jobs; otherwise the tables are empty."""
    return bool(results.run.get("blame", True)) and offers(results, "blame")


def estimate(results: Results) -> str | None:
    """The source of estimated waits at routers, in words; None if all waits are charged."""
    packets = results.run.get("scenario", {}).get("run", {}).get("blame_sampling", 1)
    return None if packets == 1 else f"waits at routers are estimated from one packet in {packets}"


def matrix(
    table: pa.Table, jobs: Sequence[str], chosen: Mapping[str, str | None]
) -> dict[str, dict[str, float]]:
    """Seconds waited, victim -> culprit, in the order of `jobs`; `chosen` restricts columns to one value.

    Raises:
        ValueError: `chosen` has a value that its column never has.
    """
    for column, value in chosen.items():
        if value is None:
            continue
        if value not in NAMES[column]:
            raise ValueError(f"no {column} {value!r}; there are {', '.join(NAMES[column])}")
        table = table.filter(pc.equal(table[column], value))
    sums = table.group_by(["victim", "culprit"]).aggregate([("waited_s", "sum")]).to_pylist()
    # Culprits that are no job (unknown, if the run was cut short) follow the jobs.
    culprits = [*jobs, *sorted({row["culprit"] for row in sums} - set(jobs))]
    waited = {(row["victim"], row["culprit"]): row["waited_s_sum"] for row in sums}
    return {victim: {culprit: waited.get((victim, culprit), 0.0) for culprit in culprits} for victim in jobs}


def totals(results: Results) -> list[Finding]:
    """All waits, summed by victim, culprit and network or servers, in the order of the jobs."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    lower = servers_below(results)
    for row in needed(results, "blame", _COLUMNS).select(_COLUMNS).to_pylist():
        where = where_of(row, lower)
        if where == "network" and row["place"] not in ROUTER_PLACES:
            continue
        culprit = FAULT if row["resource"] == "fault" else row["culprit"]
        group = (row["victim"], row["victim_class"], culprit, row["culprit_class"], where)
        groups.setdefault(group, []).append(row)
    jobs = {row["job"]: row for row in needed(results, "jobs", ["job"]).to_pylist()}
    order = {job: number for number, job in enumerate(jobs)}
    keys = sorted(groups, key=lambda key: (order.get(key[0], len(order)), *key))
    used, metadata = _servers_used(results, lower), _metadata_servers(results)
    servers = {"servers": used, "metadata": dict.fromkeys(jobs, metadata)}
    # A job that has written nothing waits below within its calls.
    below: dict[tuple[str, str], float] = {}
    for key in keys:
        if key[4] == "below" and jobs.get(key[0], {}).get("bytes_written"):
            waited_s = sum(row["waited_s"] for row in groups[key])
            of_victim = (key[0], key[1])
            below[of_victim] = below.get(of_victim, 0.0) + waited_s
    return [
        _finding(
            key,
            groups[key],
            jobs.get(key[0], {}),
            below.get((key[0], key[1])) if key[4] == "below" else None,
            servers.get(key[4], {}).get(key[0], 0),
        )
        for key in keys
    ]


def where_of(row: Mapping[str, Any], lower: frozenset[int]) -> str:
    """The place of a row of the table blame, as in `Finding.where`; `lower` comes from `servers_below`."""
    if row["place"] == "server" and row["server"] in lower:
        return "below"
    return _AT_SERVERS.get(row["place"], "network")


def servers_below(results: Results) -> frozenset[int]:
    """The storage servers that ranks do not use directly: those of lower tiers, and object servers."""
    if not offers(results, "servers"):
        return frozenset()
    servers = needed(results, "servers", ["server", "tier"])
    lower = servers.filter(pc.not_equal(servers["tier"], _FIRST_TIER))
    return frozenset(lower["server"].to_pylist())


def _servers_used(results: Results, lower: frozenset[int]) -> dict[str, int]:
    """Number of storage servers that each job uses; empty without the table that records it.

    A job whose layout depends on the rank may use all servers.
    """
    if not {"ranks", "servers"} <= set(results.tables):
        return {}
    ranks = needed(results, "ranks", ["job", "server"])
    every = needed(results, "servers", ["server"]).num_rows - len(lower)
    own: dict[str, set[int]] = {}
    for job, server in zip(ranks["job"].to_pylist(), ranks["server"].to_pylist(), strict=True):
        servers = own.setdefault(job, set())
        if server >= 0:
            servers.add(server)
    return {job: len(servers) or every for job, servers in own.items()}


def _metadata_servers(results: Results) -> int:
    """Number of metadata servers."""
    if "metadata" not in results.tables:
        return 0
    return int(needed(results, "metadata", ["server"]).num_rows)


def findings(results: Results, slowdowns: Mapping[str, float] | None = None) -> list[Finding] | None:
    """The findings above `LEAST_SHARE`: the largest share first, waits behind own traffic last.

    With `slowdowns`, time together / alone by job, those of the most slowed victim are first. None if the run
    did not measure blame.
    """
    if not measured(results):
        return None
    heavy = [
        found
        for found in totals(results)
        # An unnamed culprit means that the run ended before the culprit was known.
        if found.culprit and found.whole_s > 0 and found.share >= LEAST_SHARE
    ]
    # Waits of data that moves down follow the waits of calls.
    slowed = slowdowns or {}
    heavy.sort(key=lambda found: (not found.in_calls, -slowed.get(found.victim, 0.0), -found.share))
    own = [found for found in heavy if found.own]
    return [found for found in heavy if not found.own][:MOST_FINDINGS] + own[:MOST_FINDINGS]


def _traffic(name: str) -> str:
    """A class of traffic in words; its own name if this version does not know it."""
    return _TRAFFIC.get(name, name)


def own_words(own: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each place about the waits of all jobs behind their own traffic.

    >>> own_words([{"victim": "milc", "victim_class": "mpi", "where": "network", "share": 0.2}])
    ["Waits behind own traffic, of the time in the network: milc's messages 20%"]
    """
    sentences = []
    for where, in_calls, whole in (
        ("network", True, "of the time in the network"),
        ("servers", True, "of I/O time"),
        ("below", True, "of I/O time, at servers below"),
        ("below", False, "of the waiting time of data on their way down"),
        ("metadata", True, "of metadata time"),
    ):
        shares = [
            f"{found['victim']}'s {_traffic(found['victim_class'])} {_part(found)}"
            for found in own
            if found["where"] == where and found.get("in_calls", True) == in_calls
        ]
        if shares:
            sentences.append(f"Waits behind own traffic, {whole}: {', '.join(shares)}")
    return sentences


def is_unknown(part: float, *, at_most: bool) -> bool:
    """Whether a share tells nothing: it is at most all, to a per cent.

    >>> is_unknown(1.0, at_most=True), is_unknown(1.0, at_most=False), is_unknown(0.9, at_most=True)
    (True, False, False)
    """
    return at_most and part >= 0.995


def _part(found: Mapping[str, Any]) -> str:
    """The share of a finding in words."""
    bound = bool(found.get("at_most"))
    if is_unknown(found["share"], at_most=bound):
        return "an unknown part"
    return f"{'at most ' if bound else ''}{share(found['share'], 1.0)}"


def _finding(
    key: tuple[str, ...],
    rows: list[dict[str, Any]],
    job: Mapping[str, Any],
    # Waits outside calls have all such waits as their total.
    all_waits_s: float | None,
    servers: int,
) -> Finding:
    victim, victim_class, culprit, culprit_class, where = key
    at_servers = where != "network"
    wholes = {"servers": "io_calls_s", "below": "io_calls_s", "metadata": "metadata_calls_s"}
    whole = wholes.get(where, f"{victim_class}_network_s")
    places = _sums(rows, "server" if at_servers else "name")
    most = max(places, key=lambda place: places[place])
    resources = _sums(rows, "resource")
    waits = sum(waited > 0 for waited in places.values())
    waited_s = sum(row["waited_s"] for row in rows)
    whole_s = job.get(whole, 0.0) if all_waits_s is None else all_waits_s
    unfinished = all_waits_s is None and job.get("ranks_finished", 0) < job.get("ranks", 0)
    return Finding(
        victim,
        victim_class,
        culprit,
        culprit_class,
        where,
        waited_s=waited_s,
        whole_s=whole_s,
        places=waits,
        most=str(most),
        most_place=next(row["place"] for row in rows if row["server" if at_servers else "name"] == most),
        resource=max(resources, key=lambda resource: resources[resource]),
        servers=max(servers, waits if at_servers else 0),
        at_most=unfinished or waited_s > whole_s,
        in_calls=all_waits_s is None,
    )


def _sums(rows: list[dict[str, Any]], column: str) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for row in rows:
        sums[row[column]] = sums.get(row[column], 0.0) + row["waited_s"]
    return sums
