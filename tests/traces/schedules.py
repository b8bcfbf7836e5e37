"""GOAL schedules whose ends are known: collectives and exchanges in the LogGOPS model, as closed forms.

Of a message of s bytes, with m = s - 1 and a free receiver (`crates/formats/odonata-goal/src/loggops.rs`):

    S = o + mO                 the sender's processor
    A = max(g + mG, S)         from one send of a rank to its next
    H = o + max(mG, mO)        the receiver's processor
    R = max(g + mG, H)         from one receive of a rank to its next
    T = max(o + L, S) + H      from the start of a send to the end of its receive, both ranks sending
    E = S, or o + L            a send, up to the threshold and above it: a rendezvous ends when it is matched

Where a rank sends while messages arrive, the forms hold if the latency is longer than the sends: `assert`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goal import Rank

#: L, o, g, G, O in ns and ns/B; S in bytes. A fast fabric, one where processors copy bytes, one with a slow
#: interface, and one where every message above 63 bytes is a rendezvous.
PARAMS = (
    {"L": 6500, "o": 1500, "g": 1000, "G": 6, "O": 0, "S": 65535},
    {"L": 9000, "o": 400, "g": 200, "G": 1, "O": 2, "S": 65535},
    {"L": 60000, "o": 300, "g": 5000, "G": 3, "O": 1, "S": 65535},
    {"L": 40000, "o": 700, "g": 900, "G": 2, "O": 1, "S": 63},
)


class Times:
    """The times of a message."""

    def __init__(self, params: dict[str, int], size: int) -> None:
        m, o = size - 1, params["o"]
        self.send = o + m * params["O"]
        self.sends_apart = max(params["g"] + m * params["G"], self.send)
        self.handle = o + m * max(params["G"], params["O"])
        self.receives_apart = max(params["g"] + m * params["G"], self.handle)
        self.arrive = o + params["L"]
        self.message = max(self.arrive, self.send) + self.handle
        self.rendezvous = size > params["S"]
        self.end = max(self.arrive, self.send) if self.rendezvous else self.send
        assert self.sends_apart <= self.message


def ring_allreduce(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """A ring: 2(P - 1) steps of T, of which those of the first half end with a sum of `work` ns."""
    count, size, work = 6, 4096, 3000
    ranks = [Rank() for _ in range(count)]
    for number, rank in enumerate(ranks):
        last: tuple[int, ...] = ()
        for step in range(2 * (count - 1)):
            rank.send((number + 1) % count, size, *last)
            # The next task waits for the receive, as it would for the sum of the received data.
            last = (rank.recv((number - 1) % count, size, *last),)
            if step < count - 1:
                last = (rank.calc(work, *last),)
    end = 2 * (count - 1) * Times(params, size).message + (count - 1) * work
    return ranks, count * [end]


def dissemination_barrier(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """Each rank sends to the one 1, 2, 4, ... further, each after the last message: ceil(log2 P) times T."""
    count, size, rounds = 11, 8, 4
    ranks = [Rank() for _ in range(count)]
    for number, rank in enumerate(ranks):
        last: tuple[int, ...] = ()
        for distance in (1 << step for step in range(rounds)):
            rank.send((number + distance) % count, size, *last)
            last = (rank.recv((number - distance) % count, size, *last),)
    return ranks, count * [rounds * Times(params, size).message]


def binomial_broadcast(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """A tree, send after send: the k-th child has the message k max(A, E) + o + L + H after its parent."""
    count, size = 16, 1000
    times = Times(params, size)
    apart = max(times.sends_apart, times.end)
    ranks, has, ends = [Rank() for _ in range(count)], {0: 0}, []
    for number, rank in enumerate(ranks):
        lowest = number & -number if number else count
        after = (rank.recv(number - lowest, size),) if number else ()
        children = [number + (1 << bit) for bit in reversed(range(lowest.bit_length() - 1))]
        for place, child in enumerate(children):
            after = (rank.send(child, size, *after),)
            has[child] = has[number] + place * apart + times.arrive + times.handle
        sends = (len(children) - 1) * apart + times.end if children else 0
        ends.append(has[number] + sends)
    return ranks, ends


def gather(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """All send to rank 0 at once, which receives P - 1 messages, R apart; a rendezvous ends when it is
    received.
    """
    count, size = 7, 500
    times = Times(params, size)
    ranks = [Rank() for _ in range(count)]
    for number in range(1, count):
        ranks[0].recv(number, size)
        ranks[number].send(0, size)
    taken = [times.arrive + place * times.receives_apart for place in range(count - 1)]
    return ranks, [taken[-1] + times.handle, *(at if times.rendezvous else times.send for at in taken)]


def halo_exchange(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """A torus of 3 x 4: in each iteration four sends A apart, four messages R apart, and computation."""
    rows, columns, size, work, iterations = 3, 4, 64, 20_000, 3
    times = Times(params, size)
    # The last send ends before the first message arrives, and messages arrive no faster than they are
    # received.
    assert 3 * times.sends_apart + times.send <= times.arrive
    ranks = [Rank() for _ in range(rows * columns)]
    for number, rank in enumerate(ranks):
        row, column = divmod(number, columns)
        steps = ((0, 1), (0, -1), (1, 0), (-1, 0))
        peers = [(row + down) % rows * columns + (column + right) % columns for down, right in steps]
        after: tuple[int, ...] = ()
        for _ in range(iterations):
            for peer in peers:
                rank.send(peer, size, *after)
            # The message from the left was sent to the right.
            received = [rank.recv(peers[place ^ 1], size, *after) for place in range(4)]
            after = (rank.calc(work, *received),)
    once = times.arrive + 3 * times.receives_apart + times.handle + work
    return ranks, rows * columns * [iterations * once]


def ping_pong(params: dict[str, int]) -> tuple[list[Rank], list[int]]:
    """One rank's message is the other's answer: 2N times o + L + H."""
    size, rounds = 2000, 5
    times = Times(params, size)
    assert times.send <= times.arrive
    ranks = [Rank(), Rank()]
    after: tuple[int, ...] = ()
    for _ in range(rounds):
        sent = ranks[0].send(1, size, *after)
        after = (ranks[0].recv(1, size, sent),)
    after = ()
    for _ in range(rounds):
        received = ranks[1].recv(0, size, *after)
        after = (ranks[1].send(0, size, received),)
    one = times.arrive + times.handle
    return ranks, [2 * rounds * one, (2 * rounds - 1) * one + times.end]


SCHEDULES: dict[str, Callable[[dict[str, int]], tuple[list[Rank], list[int]]]] = {
    "allreduce-ring-6": ring_allreduce,
    "barrier-dissemination-11": dissemination_barrier,
    "broadcast-binomial-16": binomial_broadcast,
    "gather-7": gather,
    "halo-12": halo_exchange,
    "ping-pong-2": ping_pong,
}


def made(name: str) -> tuple[list[Rank], list[dict[str, Any]]]:
    """A schedule, and its ends under each set of parameters."""
    results = [(params, *SCHEDULES[name](params)) for params in PARAMS]
    return results[0][1], [{"params": params, "host_finish_ns": ends} for params, _, ends in results]
