"""Collectives, computation and ping-pong as workloads: closed forms, the same in a program, wrong names."""

from __future__ import annotations

import functools
import re

import pytest
from conftest import ROOT

import odonata
from odonata import operations as ops

MACHINE = {
    "machine": {
        "dragonfly": {
            "groups": 9,
            "routers_per_group": 4,
            "nodes_per_router": 2,
            "global_ports_per_router": 2,
        }
    },
    "network": {"routing": {"algorithm": "progressive-adaptive"}},
}

#: Workload and the call that it repeats.
CALLS = {
    "barrier": ({}, lambda: ops.barrier()),
    "broadcast": ({"bytes": "30 KiB", "root": 3}, lambda: ops.broadcast(3, 30 << 10)),
    "reduce": ({"bytes": "8 KiB", "root": 2}, lambda: ops.reduce(2, 8 << 10, count=1 << 10)),
    "allreduce": ({"bytes": "30 KiB", "element": "4 B"}, lambda: ops.allreduce(30 << 10, count=7680)),
    "gather": ({"bytes": "3 KiB"}, lambda: ops.gather(0, 3 << 10)),
    "scatter": ({"bytes": "3 KiB"}, lambda: ops.scatter(0, 3 << 10)),
    "allgather": ({"bytes": "3 KiB"}, lambda: ops.allgather(3 << 10)),
    "reduce-scatter": ({"bytes": "800 B"}, lambda: ops.reduce_scatter_block(800, count=100)),
    "scan": ({"bytes": "80 B"}, lambda: ops.scan(80, count=10)),
    "exscan": ({"bytes": "80 B"}, lambda: ops.exscan(80, count=10)),
    "alltoall": ({"bytes": "700 B"}, lambda: ops.alltoall(700)),
}


def program(rank, ranks, *, call, iterations=3):
    """Compute, call, mark."""
    for number in range(iterations):
        yield ops.compute(2e-6)
        yield CALLS[call][1]()
        yield ops.mark(number)


def ping_pong(rank, ranks, *, iterations=3):
    """Two sizes, between neighbors; rank 14 of 15 has no partner."""
    if rank == 14:
        return
    for size in (8, 100_000):
        for number in range(iterations):
            there, back = ops.send(rank ^ 1, size), ops.recv(rank ^ 1, size)
            yield from ((there, back) if rank % 2 == 0 else (back, there))
            yield ops.mark(number + iterations * (size > 8))


def run(job, **how):
    results = odonata.run({**MACHINE, "jobs": [job]}, **how)
    assert results.outcome == "completed"
    return results


#: Eight nodes on one router: a permutation of them never meets another message.
SWITCH = {
    "machine": {"fat-tree": {"radix": 8, "levels": 1}},
    "network": {"packet": "4 KiB"},
    "mpi": {"eager_threshold": "none", "collectives": {"segment": "0 B"}},
}

#: Workload, its size in bytes, algorithm; what eight ranks send one after the other: bytes and how often.
CLOSED_FORMS = [
    ("barrier", None, "dissemination", [(0, 3)]),
    ("allreduce", 8000, "recursive-doubling", [(8000, 3)]),
    ("allreduce", 8000, "ring", [(1000, 2 * 7)]),
    ("allreduce", 8000, "reduce-scatter-allgather", [(4000, 2), (2000, 2), (1000, 2)]),
    ("allreduce", 8000, "reduce-broadcast", [(8000, 6)]),
    ("broadcast", 8000, "binomial", [(8000, 3)]),
    ("broadcast", 8000, "chain", [(8000, 7)]),
    ("reduce", 8000, "binomial", [(8000, 3)]),
    ("reduce", 8000, "chain", [(8000, 7)]),
    ("scatter", 1000, "binomial", [(4000, 1), (2000, 1), (1000, 1)]),
    ("gather", 1000, "binomial", [(4000, 1), (2000, 1), (1000, 1)]),
    ("allgather", 1000, "ring", [(1000, 7)]),
    ("allgather", 1000, "bruck", [(1000, 1), (2000, 1), (4000, 1)]),
    ("allgather", 1000, "recursive-doubling", [(1000, 1), (2000, 1), (4000, 1)]),
    ("allgather", 1000, "neighbor-exchange", [(1000, 1), (2000, 3)]),
    ("reduce-scatter", 1000, "ring", [(1000, 7)]),
    ("reduce-scatter", 1000, "pairwise", [(1000, 7)]),
    ("reduce-scatter", 1000, "recursive-halving", [(4000, 1), (2000, 1), (1000, 1)]),
    ("scan", 1000, "linear", [(1000, 7)]),
    ("scan", 1000, "recursive-doubling", [(1000, 3)]),
    ("exscan", 1000, "linear", [(1000, 7)]),
    ("alltoall", 1000, "pairwise", [(1000, 7)]),
    ("alltoall", 1000, "pairwise-exchange", [(1000, 7)]),
    ("alltoall", 1000, "bruck", [(4000, 3)]),
]


def elapsed_on_switch(workload):
    results = odonata.run(SWITCH | {"jobs": [{"name": "job", "ranks": 8, "workload": workload}]})
    assert results.outcome == "completed"
    return results.rows("jobs")[0]["elapsed_s"]


@functools.cache
def message_s(size):
    """Time of a message on the idle machine: half a round trip, alpha + beta times its bytes."""
    return elapsed_on_switch({"ping-pong": {"bytes": f"{size} B", "iterations": 1}}) / 2


def test_a_message_takes_alpha_and_beta_times_its_bytes():
    # 16 GiB/s, the default of terminal links; both sizes are one packet.
    beta = (message_s(4000) - message_s(1000)) / 3000
    assert beta == pytest.approx(1 / (16 * 2**30), rel=1e-3)


@pytest.mark.parametrize(("workload", "size", "algorithm", "messages"), CLOSED_FORMS)
def test_a_collective_takes_the_time_of_the_messages_one_after_the_other(workload, size, algorithm, messages):
    keys = {"algorithm": algorithm, "iterations": 1} | ({} if size is None else {"bytes": f"{size} B"})
    expected = sum(times * message_s(count) for count, times in messages)
    assert elapsed_on_switch({workload: keys}) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("call", CALLS)
def test_a_collective_as_a_workload_has_the_digest_of_a_program(call):
    keys = CALLS[call][0] | {"iterations": 3, "compute": "2 us"}
    ours = run({"name": "job", "ranks": 15, "workload": {call: keys}})
    theirs = run({"name": "job", "ranks": 15, "python": program, "args": {"call": call}})
    assert ours.run["digest"] == theirs.run["digest"]
    assert ours.rows("jobs")[0]["messages"] > 0


def test_ping_pong_has_the_digest_of_a_program():
    keys = {"bytes": ["8 B", "100 kB"], "iterations": 3, "pairs": "neighbors"}
    ours = run({"name": "job", "ranks": 15, "workload": {"ping-pong": keys}})
    theirs = run({"name": "job", "ranks": 15, "python": ping_pong})
    assert ours.run["digest"] == theirs.run["digest"]


def test_an_algorithm_of_the_workload_is_that_of_the_table_mpi_for_this_job_only():
    keys = {"bytes": "64 KiB", "iterations": 2}
    auto = run({"name": "job", "ranks": 16, "workload": {"allreduce": keys}})
    named = run({"name": "job", "ranks": 16, "workload": {"allreduce": keys | {"algorithm": "ring"}}})
    forced = run(
        {"name": "job", "ranks": 16, "workload": {"allreduce": keys}},
        overrides={"mpi.collectives.allreduce": "ring"},
    )
    assert named.run["digest"] == forced.run["digest"] != auto.run["digest"]
    # 2 n (n - 1) messages.
    assert named.rows("jobs")[0]["messages"] == 2 * 2 * 16 * 15


def test_phases_have_algorithms_of_their_own():
    one, other = (
        {"bytes": "64 KiB", "iterations": 2, "algorithm": name} for name in ("ring", "recursive-doubling")
    )
    job = {"name": "job", "ranks": 16, "workload": [{"allreduce": one}, {"allreduce": other}], "repeat": 2}
    messages = run(job).rows("jobs")[0]["messages"]
    # n log2 n of recursive doubling.
    assert messages == 2 * (2 * 2 * 16 * 15 + 2 * 16 * 4)


def test_a_collective_beside_computation_takes_no_longer_than_the_longer_of_them():
    keys = {"bytes": "1 MB", "iterations": 4}

    def elapsed(**more):
        return run({"name": "job", "ranks": 8, "workload": {"allreduce": keys | more}}).rows("jobs")[0][
            "elapsed_s"
        ]

    alone = elapsed()
    compute = {"compute": "500 us"}
    assert elapsed(**compute) == pytest.approx(alone + 4 * 500e-6, rel=1e-3)
    overlapped = elapsed(**compute, overlap=True)
    assert max(alone, 4 * 500e-6) <= overlapped < 1.1 * max(alone, 4 * 500e-6)


@pytest.mark.parametrize(
    ("workload", "key", "message"),
    [
        ({"all_to_all": {}}, "jobs.0.workload", 'is "alltoall"'),
        ({"allreduce_ring": {}}, "jobs.0.workload", '"allreduce" with algorithm = "ring"'),
        ({"MPI_Bcast": {}}, "jobs.0.workload", '"broadcast"'),
        ({"gatherv": {}}, "jobs.0.workload", "python ="),
        ({"halo3d": {}}, "jobs.0.workload", '"stencil"'),
        ({"gromacs": {}}, "jobs.0.workload", "a program of your own"),
        ({"allreduce": {}}, "jobs.0.workload.allreduce", 'the key "bytes" is missing'),
        ({"allreduce": {"bytes": 8}}, "jobs.0.workload.allreduce.bytes", "8 B"),
        (
            {"allreduce": {"bytes": "9 B", "element": "4 B"}},
            "jobs.0.workload.allreduce.element",
            "a divisor of bytes",
        ),
        (
            {"allreduce": {"bytes": "9 B", "element": "0 B"}},
            "jobs.0.workload.allreduce.element",
            "1 B at least",
        ),
        (
            {"allreduce": {"bytes": "8 B", "algorithm": "rign"}},
            "jobs.0.workload.allreduce.algorithm",
            '"ring"',
        ),
        (
            {"allreduce": {"bytes": "8 B", "algorithm": "ring"}},
            "jobs.0.workload.allreduce",
            "at least as many elements",
        ),
        (
            {"allreduce": {"bytes": "8 B", "iterations": 0}},
            "jobs.0.workload.allreduce.iterations",
            "iterations is 0",
        ),
        (
            {"alltoall": {"bytes": "8 B", "algorithm": "pairwise-exchange"}},
            "jobs.0.workload.alltoall",
            "a power of two of ranks, not 12",
        ),
        ({"broadcast": {"bytes": "8 B", "root": 12}}, "jobs.0.workload.broadcast.root", "0 to 11"),
        ({"ping-pong": {"bytes": []}}, "jobs.0.workload.ping-pong.bytes", "1 to 1000"),
        ({"ping-pong": {"pairs": "0-2"}}, "jobs.0.workload.ping-pong.pairs", '"0-1"'),
        ({"compute": {"time": "2 parsecs"}}, "jobs.0.workload.compute.time", "parsecs"),
    ],
)
def test_a_mistake_is_reported_with_what_there_is_instead(workload, key, message):
    with pytest.raises(odonata.InputError) as caught:
        odonata.check({**MACHINE, "jobs": [{"name": "job", "ranks": 12, "workload": workload}]})
    text = str(caught.value)
    assert key in text
    assert message.replace('"', "") in text.replace('"', "")


def test_the_examples_of_the_page_are_right(tmp_path):
    page = (ROOT / "docs/programs.md").read_text()
    section = page[page.index("## Ready-made workloads") : page.index("## Programs in Python")]
    (toml,) = re.findall(r"```toml\n(.*?)```", section, flags=re.DOTALL)
    machine = "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 8\nnodes_per_router = 4\n"
    path = tmp_path / "page.toml"
    path.write_text(machine + "global_ports_per_router = 2\n" + toml)
    assert [job["ranks"] for job in odonata.check(path)["jobs"]] == [64, 125, 16]
