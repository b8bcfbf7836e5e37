"""Who slowed whom: the table `blame`, added up and put into words.

Every wait is charged to the job that held what was waited for. On links the charge is in packet-seconds and
is held against the time that all the victim's packets were in the network; at servers it is in
request-seconds and is held against the time from request to acknowledgement, summed over the victim's I/O
calls. Waiting in a node's own network interface (place "nic") is before the network, and stays out of the
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from odonata.wording import share

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.results import Results

#: What can be waited for, where, and by what traffic.
NAMES = {
    "resource": ("link", "credit", "input", "space", "memory", "device"),
    "place": ("nic", "terminal", "local", "global", "server"),
    "victim_class": ("mpi", "io"),
}

#: Places inside the network, whose waits are part of a packet's time in the network.
ROUTER_PLACES = ("terminal", "local", "global")

#: Share of the victim's time from which on a wait is worth a sentence.
LEAST_SHARE = 0.01

#: What is said of others, and of traffic that held itself up.
MOST_FINDINGS = 8

_TRAFFIC = {"mpi": "messages", "io": "I/O"}


@dataclass(frozen=True)
class Finding:
    """What one kind of traffic cost another, in the network or at the servers."""

    victim: str
    victim_class: str
    culprit: str
    culprit_class: str
    #: "network" or "servers".
    where: str
    #: Time waited: packet-seconds, or request-seconds.
    waited_s: float
    #: What the share is a share of: the victim's time in the network, or in I/O calls.
    whole_s: float
    #: Links or servers at which it waited.
    places: int
    #: The link, or the number of the server, at which it waited most.
    most: str
    #: Class of that link; "server".
    most_place: str
    #: What it waited for most: "link", "credit", "input", "space", "memory" or "device".
    resource: str

    @property
    def share(self) -> float:
        """Share of the victim's time that was waited."""
        return self.waited_s / self.whole_s

    @property
    def own(self) -> bool:
        """Whether traffic held itself up."""
        return (self.culprit, self.culprit_class) == (self.victim, self.victim_class)

    def words(self, servers: int) -> str:
        """The finding as a sentence, in a machine with so many servers."""
        part = share(self.waited_s, self.whole_s)
        if self.where == "servers":
            place = f"at {self.places} of {servers} servers ({self.resource})"
            if self.culprit == self.victim:
                return f"{self.victim} held up its own I/O: {part} of its I/O time, {place}"
            return f"{self.culprit} delayed {self.victim} by {part} of its I/O time, {place}"
        links = "1 link" if self.places == 1 else f"{self.places} links"
        place = f"{part} of their time in the network, on {links}, most on {self.most} ({self.most_place})"
        if self.places == 1:
            place = f"{part} of their time in the network, on {self.most} ({self.most_place})"
        victims = _TRAFFIC[self.victim_class]
        if self.victim_class == "io":
            place = place.replace(" their ", " its ")
        if self.own:
            return f"{self.victim} held itself up: its {victims} waited {place}"
        if self.culprit == self.victim:
            return f"{self.victim}'s {_TRAFFIC[self.culprit_class]} delayed its own {victims}: {place}"
        return f"{self.culprit}'s {_TRAFFIC[self.culprit_class]} delayed {self.victim}'s {victims}: {place}"

    def as_dict(self, servers: int) -> dict[str, Any]:
        """All parts, for machines."""
        return asdict(self) | {"share": self.share, "own": self.own, "words": self.words(servers)}


def measured(results: Results) -> bool:
    """Whether the run charged waits to jobs; where it did not, the tables are empty."""
    return "blame" in results.tables and bool(results.run.get("blame", True))


def matrix(
    table: pa.Table, jobs: Sequence[str], chosen: Mapping[str, str | None]
) -> dict[str, dict[str, float]]:
    """Seconds waited, victim -> culprit, in the order of `jobs`; `chosen` restricts columns to one value.

    Raises:
        ValueError: A value that its column never has.
    """
    for column, value in chosen.items():
        if value is None:
            continue
        if value not in NAMES[column]:
            raise ValueError(f"no {column} {value!r}; there are {', '.join(NAMES[column])}")
        table = table.filter(pc.equal(table[column], value))
    sums = table.group_by(["victim", "culprit"]).aggregate([("waited_s", "sum")]).to_pylist()
    # Who is no job (unknown, as the run was cut short) comes after the jobs.
    culprits = [*jobs, *sorted({row["culprit"] for row in sums} - set(jobs))]
    waited = {(row["victim"], row["culprit"]): row["waited_s_sum"] for row in sums}
    return {victim: {culprit: waited.get((victim, culprit), 0.0) for culprit in culprits} for victim in jobs}


def totals(results: Results) -> list[Finding]:
    """All waits, added up by victim, culprit and network or servers; in the order of the jobs."""
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in results.rows("blame"):
        where = "servers" if row["place"] == "server" else "network"
        if where == "network" and row["place"] not in ROUTER_PLACES:
            continue
        key = (row["victim"], row["victim_class"], row["culprit"], row["culprit_class"], where)
        groups.setdefault(key, []).append(row)
    jobs = {row["job"]: row for row in results.rows("jobs")}
    order = {job: number for number, job in enumerate(jobs)}
    keys = sorted(groups, key=lambda key: (order.get(key[0], len(order)), *key))
    return [_finding(key, groups[key], jobs.get(key[0], {})) for key in keys]


def findings(results: Results) -> list[Finding] | None:
    """What is worth saying, the largest share first, what traffic did to itself last.

    None if the run did not measure blame.
    """
    if not measured(results):
        return None
    heavy = [
        found
        for found in totals(results)
        # Nobody's name: the run ended before it was known whom the wait was for.
        if found.culprit and found.whole_s > 0 and found.share >= LEAST_SHARE
    ]
    heavy.sort(key=lambda found: -found.share)
    own = [found for found in heavy if found.own]
    return [found for found in heavy if not found.own][:MOST_FINDINGS] + own[:MOST_FINDINGS]


def own_words(own: Sequence[Mapping[str, Any]]) -> str:
    """What traffic did to itself, of all jobs, in one sentence.

    >>> own_words([{"victim": "milc", "victim_class": "mpi", "where": "network", "share": 0.2}])
    "held up by themselves: milc's messages 20 % of their time in the network"
    """
    parts = []
    for where, whole in (
        ("network", "of their time in the network"),
        ("servers", "of their calls, at servers"),
    ):
        shares = [
            f"{found['victim']}'s {_TRAFFIC[found['victim_class']]} {share(found['share'], 1.0)}"
            for found in own
            if found["where"] == where
        ]
        if shares:
            parts.append(f"{', '.join(shares)} {whole}")
    return "held up by themselves: " + "; ".join(parts)


def _finding(key: tuple[str, ...], rows: list[dict[str, Any]], job: Mapping[str, Any]) -> Finding:
    victim, victim_class, culprit, culprit_class, where = key
    at_servers = where == "servers"
    whole = "io_calls_s" if at_servers else f"{victim_class}_network_s"
    places = _sums(rows, "server" if at_servers else "name")
    most = max(places, key=lambda place: places[place])
    resources = _sums(rows, "resource")
    return Finding(
        victim,
        victim_class,
        culprit,
        culprit_class,
        where,
        waited_s=sum(row["waited_s"] for row in rows),
        whole_s=job.get(whole, 0.0),
        places=sum(waited > 0 for waited in places.values()),
        most=str(most),
        most_place=next(row["place"] for row in rows if row["server" if at_servers else "name"] == most),
        resource=max(resources, key=lambda resource: resources[resource]),
    )


def _sums(rows: list[dict[str, Any]], column: str) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for row in rows:
        sums[row[column]] = sums.get(row[column], 0.0) + row["waited_s"]
    return sums
