"""One run in the terms that both simulators share: times in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass, field

#: The classes of link directions, as in the published tables.
LINK_CLASSES = ("terminal_to_router", "router_to_terminal", "local", "global")

#: A direction of a link: kind and number of its two ends; "T" is a terminal (node), "R" a router.
LinkKey = tuple[str, int, str, int]


@dataclass(frozen=True)
class Rank:
    """The activity of an MPI rank; packets are those that its node received, MPI and I/O."""

    app: str
    rank: int
    node: int
    elapsed_s: float
    compute_s: float
    #: Elapsed time without computation: the "communication time" of the published runs, including I/O and
    #: waits.
    non_compute_s: float
    io_s: float
    messages_sent: int
    messages_received: int
    bytes_sent: int
    bytes_received: int
    bytes_written: int
    packets_received: int
    packet_latency_mean_s: float
    packet_latency_min_s: float
    packet_latency_max_s: float
    hops_mean: float
    #: Latencies summed over messages. Published: of sent messages; Odonata: of received ones. The sums over
    #: all ranks of an application are equal.
    message_latency_sum_s: float


@dataclass(frozen=True)
class Link:
    """One direction of a link."""

    link_class: str
    bytes: int
    saturation_s: float
    stalled_packets: int


@dataclass(frozen=True)
class Server:
    """A storage server that was used."""

    node: int
    bytes_written: int
    device_writes: int
    seeks: int
    device_busy_s: float


@dataclass(frozen=True)
class Iteration:
    """Completion of an iteration by an application's ranks, since the start."""

    first_s: float
    mean_s: float
    last_s: float


@dataclass
class RunData:
    """A run."""

    name: str
    #: Messages and packets of MPI and I/O together.
    messages: int
    packets: int
    packets_nonminimal: int
    #: Routers visited, mean over all packets.
    hops_mean: float
    wall_s: float
    ranks: list[Rank]
    links: dict[LinkKey, Link]
    servers: dict[int, Server]
    iterations: dict[str, list[Iteration]] = field(default_factory=dict)
    #: Known for runs of Odonata only.
    cpu_s: float | None = None
    outcome: str = "completed"

    @property
    def apps(self) -> list[str]:
        """Names of the applications, in the order of the mix."""
        return list(dict.fromkeys(rank.app for rank in self.ranks))

    @property
    def minimal(self) -> bool:
        """Whether routing is minimal, so that paths are those of the published run."""
        return "-min-" in self.name

    def ranks_of(self, app: str) -> list[Rank]:
        """The ranks of an application."""
        return [rank for rank in self.ranks if rank.app == app]

    def packet_hops_per_cpu_s(self) -> float | None:
        """Routers visited by packets per second of CPU time; the figure of merit of `odonata bench`."""
        return self.packets * self.hops_mean / self.cpu_s if self.cpu_s else None
