"""Interfaces with queues per peer under MPI: control messages, sends under way together, long exchanges."""

import pytest

import odonata
from odonata.operations import irecv, isend, recv, send, sendrecv, wait_all

#: Bytes of a long message, which goes by rendezvous, and its time on a link of 10 GB/s.
LONG = 4_000_000
LONG_S = LONG / 10e9


def run(program: object, ranks: int, nic: dict) -> dict[int, float]:
    """Runs `program` on nodes of one router; returns when each rank has ended."""
    scenario = {
        "machine": {
            "dragonfly": {
                "groups": 1,
                "routers_per_group": 1,
                "nodes_per_router": 4,
                "global_ports_per_router": 0,
            }
        },
        "network": {"links": {"terminal": {"bandwidth": "10 GB/s", "latency": "50 ns", "buffer": "64 KiB"}}},
        "nic": nic,
        "jobs": [{"ranks": ranks, "python": program, "placement": "contiguous"}],
    }
    rows = odonata.run(scenario).table("ranks").to_pylist()
    return {row["rank"]: row["elapsed_s"] for row in rows}


def beside_bulk(rank, ranks):
    """Rank 0 sends a long message to rank 1, and one of 32 KiB to rank 2, which posts its receive at once."""
    if rank == 0:
        yield isend(1, LONG, request=0)
        yield isend(2, 32_768, request=1)
        yield wait_all(0, 2)
    elif rank == 1:
        yield recv(0, LONG)
    else:
        yield recv(0, 32_768)


def to_three(rank, ranks):
    """Rank 0 sends a long message to each other rank at once."""
    if rank == 0:
        for other in range(1, ranks):
            yield isend(other, LONG, request=other)
        yield wait_all(1, ranks - 1)
    else:
        yield recv(0, LONG)


def exchange(rank, ranks):
    """Two ranks exchange long messages."""
    yield sendrecv(1 - rank, LONG, 1 - rank)


def shift(rank, ranks):
    """Every rank sends to the next and receives from the one before."""
    yield irecv((rank - 1) % ranks, LONG, request=0)
    yield send((rank + 1) % ranks, LONG)
    yield wait_all(0, 1)


def test_a_rendezvous_does_not_stand_behind_the_data_of_another():
    """In one queue the second message waits for all of the first; with queues per peer it takes a few µs."""
    fifo = run(beside_bulk, 3, {})
    per_peer = run(beside_bulk, 3, {"queues": "per-peer"})
    assert fifo[2] > LONG_S
    assert per_peer[2] < 20e-6
    assert per_peer[1] == pytest.approx(fifo[1], rel=0.02)


def test_sends_under_way_at_once_end_together():
    """k messages end at k times the time of one; in one queue, one after the other."""
    fifo = run(to_three, 4, {})
    per_peer = run(to_three, 4, {"queues": "per-peer"})
    for rank in (1, 2, 3):
        assert fifo[rank] == pytest.approx(rank * LONG_S, rel=0.02)
        assert per_peer[rank] == pytest.approx(3 * LONG_S, rel=0.02)


def test_an_exchange_of_long_messages_has_half_the_rate():
    """With `one_way_above`, two ranks take twice as long as a ring of ranks, which is not slowed."""
    nic = {"queues": "per-peer", "one_way_above": "64 KiB"}
    assert max(run(exchange, 2, nic).values()) == pytest.approx(2 * LONG_S, rel=0.02)
    assert max(run(exchange, 2, {"queues": "per-peer"}).values()) == pytest.approx(LONG_S, rel=0.02)
    assert max(run(shift, 4, nic).values()) == pytest.approx(LONG_S, rel=0.02)
