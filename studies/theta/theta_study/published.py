"""Public numbers of Theta and of machines with its interconnect, with sources and certainty."""

from __future__ import annotations

from dataclasses import dataclass

#: Sources.
CODES = "M. Mubarak et al., IEEE Cluster 2017"
XC = "Cray, XC series network, WP-Aries01-1112"
AUSTIN = "B. Austin's slides, in lanl/PPT"
THETA = "ALCF, user guide of Theta, Aries2.gif"
NOISE = "D. De Sensi et al., SC 2019, fig. 3"

#: Worst difference between CODES and Theta: the tolerance for Odonata.
WORST = 0.08
#: Ranks per node of a pair that sends at its full rate.
MANY = 16


@dataclass(frozen=True)
class Point:
    """A published number, and the test to compare it with."""

    machine: str
    quantity: str
    #: us or GB/s.
    value: float
    unit: str
    source: str
    #: "exact" in a text, "table", "read" by eye off a figure (3 to 5%), "second-hand".
    certainty: str
    #: The name of the test.
    test: str
    where: str
    bytes: int
    ranks_per_node: int = 1
    #: The setting of the variant "fitted" that was derived from it; not judged there.
    made_of_it: str = ""


LATENCIES = (
    Point(
        "XC, 750 nodes", "MPI, 8 B", 1.3, "us", XC, "exact", "ping-pong", "same blade", 8, 1, "mpi.send_delay"
    ),
    *(
        Point(
            "Aries, unnamed",
            f"MPI, small, {where}",
            value,
            "us",
            AUSTIN,
            "second-hand",
            "ping-pong",
            where,
            8,
            1,
            made,
        )
        for where, value, made in (
            # The same number as that of the XC, from which the send delay was derived.
            ("same blade", 1.3, "mpi.send_delay"),
            ("same chassis", 1.5, ""),
            ("same group", 1.5, ""),
            ("other group", 2.2, ""),
        )
    ),
)
#: The pair is not specified; within a group, the same link limits every distance but the blade.
RATES = (
    *(
        Point(
            "XC, 750 nodes",
            f"IMB ping-pong, largest, {where}",
            8.5,
            "GB/s",
            XC,
            "exact",
            "ping-pong",
            where,
            4194304,
        )
        for where in ("same blade", "same group", "other group")
    ),
    *(
        Point(
            "XC, 750 nodes",
            f"one way, {where}",
            10.0,
            "GB/s",
            XC,
            "exact",
            "one way",
            where,
            65536,
            MANY,
            "nic.rate",
        )
        for where in ("same blade", "other group")
    ),
    *(
        Point(
            "XC, 750 nodes",
            f"both ways together, {where}",
            15.0,
            "GB/s",
            XC,
            "exact",
            "both ways",
            where,
            65536,
            MANY,
        )
        for where in ("same blade", "other group")
    ),
)
#: Two nodes of a blade, messages of 64 KiB, by ranks per node: the only measurements of Theta itself.
BLADE = tuple(
    Point(
        "Theta",
        f"64 KiB, {ranks} ranks per node, same blade",
        value,
        "GB/s",
        THETA,
        "read",
        "one way",
        "same blade",
        65536,
        ranks,
    )
    for ranks, value in ((1, 6.9), (8, 7.4), (16, 9.8), (64, 11.2))
)
POINTS = (*LATENCIES, *RATES, *BLADE)

#: Groups -> GB/s across the middle of the machine, both ways together, with 12 cables between any two groups.
BISECTION = {6: 4050.0, 8: 7200.0}
#: ns: a hop; a minimal path without the hosts, at most. us: MPI between any two nodes, less than.
HOP_NS, PATH_NS, ANY_US = 100.0, 500.0, 2.0
