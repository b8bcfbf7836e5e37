"""A rank program: a message goes around a ring, and all ranks add up a sum at the end of each round."""

from odonata.operations import allreduce, compute, irecv, isend, mark, wait_all


def ring(rank, ranks, *, rounds=10, size=65536, work=20e-6):
    """Operations of a rank, one after the other; sizes in bytes, times in seconds."""
    for number in range(rounds):
        yield irecv((rank - 1) % ranks, size, request=0)
        yield isend((rank + 1) % ranks, size, request=1)
        yield compute(work)
        yield wait_all(0, 2)
        yield allreduce(8)
        yield mark(number)
