"""Collectives of NCCL that Python programs yield (`odonata.nccl`), against the workload `nccl`."""

import pytest

import odonata
from odonata import nccl
from odonata.operations import allreduce, barrier, comm_split, communicators, compute

TORUS = {"machine": {"torus": {"dims": [4, 4]}}}
BYTES = 300_000


def one_call(rank, ranks, collective="all_reduce", **keys):
    yield from getattr(nccl, collective)(rank, ranks, BYTES, **({"gpus_per_host": 4} | keys))


def elapsed(job):
    (row,) = odonata.run({**TORUS, "jobs": [{"ranks": 16} | job]}).rows("jobs")
    return row["elapsed_s"]


@pytest.mark.parametrize(
    ("collective", "keys"),
    [
        ("all_reduce", {}),
        ("all_reduce", {"algorithm": "tree", "protocol": "ll128"}),
        ("all_reduce", {"algorithm": "nvls", "channels": 2}),
        ("all_reduce", {"algorithm": "auto", "protocol": "auto"}),
        ("all_gather", {"protocol": "auto"}),
        ("all_gather", {"protocol": "ll"}),
        ("all_gather", {"algorithm": "pat", "gpus_per_host": 1}),
        ("reduce_scatter", {"algorithm": "auto", "protocol": "auto", "gpus_per_host": 1}),
        ("reduce_scatter", {"channels": 1}),
        ("broadcast", {"channels": 3}),
    ],
)
def test_a_call_takes_as_long_as_that_of_the_workload(collective, keys):
    workload = {"collective": collective.replace("_", "-"), "bytes": f"{BYTES} B", "gpus_per_host": 4, **keys}
    expected = elapsed({"workload": {"nccl": workload}})
    assert elapsed({"python": one_call, "args": {"collective": collective, **keys}}) == expected


def test_times_and_chunks_of_a_call_can_be_set():
    times = {"chunk": "4096 B", "step_latency": "3 us", "launch": "5 us"}
    workload = {"bytes": f"{BYTES} B", "gpus_per_host": 4, **times}
    expected = elapsed({"workload": {"nccl": workload}})
    args = {"chunk": 4096, "step_latency": 3e-6, "launch": 5e-6}
    assert elapsed({"python": one_call, "args": args}) == expected


def after_others(rank, ranks, repeat=1):
    for _ in range(repeat):
        yield compute(1e-3)
        yield from nccl.all_reduce(rank, ranks, BYTES, gpus_per_host=4)
    yield compute(2e-3)


def test_a_call_begins_after_the_operations_before_it_and_ends_before_those_after_it():
    alone = elapsed({"python": one_call})
    assert elapsed({"python": after_others}) == pytest.approx(alone + 3e-3, rel=1e-12)
    assert elapsed({"python": after_others, "args": {"repeat": 2}}) == pytest.approx(
        2 * alone + 4e-3, rel=1e-3
    )


@communicators(lambda ranks: {1: [range(0, ranks, 2), range(1, ranks, 2)]})
def halves(rank, ranks):
    yield comm_split(new=1)
    yield from nccl.all_reduce(rank // 2, ranks // 2, BYTES, gpus_per_host=8, comm=1)
    yield allreduce(8)
    yield barrier()


def test_a_call_goes_over_a_communicator():
    results = odonata.run({**TORUS, "jobs": [{"python": halves, "ranks": 16}]})
    assert results.completed
    sent = {
        (row["source_rank"] % 2, row["target_rank"] % 2)
        for row in results.rows("messages")
        if row["bytes"] > 1000
    }
    assert sent == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("arguments", "keys", "message"),
    [
        ((4, 4, 1), {}, "there is no rank 4 of 4"),
        ((0, 6, 1), {"gpus_per_host": 4}, "nccl.gpus_per_host: 6 ranks do not fill hosts of 4 GPUs"),
        ((0, 4, 1), {"channels": 65}, "nccl.channels"),
        ((0, 4, 1), {"protocol": "fast"}, "unknown variant `fast`"),
        ((0, 4, -1), {}, "-1 B"),
    ],
)
def test_wrong_arguments_are_raised_at_the_call(arguments, keys, message):
    with pytest.raises(ValueError, match=message):
        nccl.all_reduce(*arguments, **keys)
