"""Links of different rates, and the paths that packets take over them: closed forms."""

import pytest

import odonata

GIB = 1 << 30

PROGRAM = """
from odonata.operations import irecv, send, wait_all


def incast(rank, ranks, *, senders, nbytes):
    if rank == 0:
        for i in range(senders):
            yield irecv(i + 1, nbytes, request=i)
        yield wait_all(0, senders)
    elif rank <= senders:
        yield send(0, nbytes)


def two_ways(rank, ranks, *, nbytes):
    # To rank 8 from another host over the interface, and from a GPU of its own host over NVLink.
    if rank == 8:
        yield irecv(0, nbytes, request=0)
        yield irecv(9, 7 * nbytes, request=1)
        yield wait_all(0, 2)
    if rank == 0:
        yield send(8, nbytes)
    if rank == 9:
        yield send(8, 7 * nbytes)
"""


def run(folder, scenario, function, **args):
    (folder / "program.py").write_text(PROGRAM)
    job = {"name": "job", "python": f"{folder / 'program.py'}:{function}", "args": args}
    scenario = {**scenario, "jobs": [job | scenario["jobs"]]}
    results = odonata.run(scenario)
    assert results.run["outcome"] == "completed"
    return results


@pytest.mark.parametrize("senders", [1, 2, 3, 4, 7])
def test_an_incast_takes_its_bytes_over_the_rate_of_its_links(tmp_path, senders):
    """k n / min(k b_slow, b_fast), and the terminal link is busy for k n / b_fast."""
    dragonfly = {
        "groups": 1,
        "routers_per_group": 8,
        "nodes_per_router": 1,
        "global_ports_per_router": 0,
    }
    machine = {"machine": {"dragonfly": dragonfly}, "mpi": {"eager_threshold": "none"}, "jobs": {"ranks": 8}}
    results = run(tmp_path, machine, "incast", senders=senders, nbytes=1 << 20)
    [job] = results.rows("jobs")
    nbytes = senders << 20
    expected = nbytes / min(senders * 5.25 * GIB, 16 * GIB)
    assert expected < job["elapsed_s"] < 1.01 * expected + 2e-6
    [last] = [link for link in results.rows("links") if link["name"] == "r0>n0"]
    assert last["busy_s"] == pytest.approx(nbytes / (16 * GIB), rel=1e-5)


def test_a_gpu_gets_what_nvlink_and_its_interface_carry_together(tmp_path):
    """7 n over 450 GB/s of NVLink beside n over 50 GB/s of an interface: n / 50 GB/s, the longer one."""
    machine = {
        "preset": "dgx-h100-superpod-like",
        "machine": {"rail-optimized": {"pods": 1, "hosts_per_pod": 2, "spines": 2}},
        "jobs": {"ranks": 16},
    }
    nbytes = 16 << 20
    [job] = run(tmp_path, machine, "two_ways", nbytes=nbytes).rows("jobs")
    expected = nbytes / 50e9
    assert expected < job["elapsed_s"] < 1.01 * expected


@pytest.mark.parametrize(("ties", "links"), [(None, 22), ("first", 22), ("random", None)])
def test_packets_of_a_blue_gene_pair_take_one_path(ties, links):
    """11 hops, half way around every ring: 11 links there and 11 back, and 1.8 GiB/s of one link."""
    routing = {} if ties is None else {"network": {"routing": {"ties": ties}}}
    nbytes = 256 << 10
    job = {
        "name": "pair",
        "ranks": 2,
        # 4, 2, 2, 2 and 1 steps in the five dimensions of 8, 4, 4, 4 and 2.
        "placement": {"nodes": [0, 4 + 2 * 8 + 2 * 32 + 2 * 128 + 512]},
        "workload": {"ping-pong": {"bytes": [f"{nbytes} B"], "iterations": 4}},
    }
    scenario = {
        "preset": "bluegene-q",
        "mpi": {"eager_threshold": "none"},
        "run": {"message_rows": 0},
        "jobs": [job],
        **routing,
    }
    results = odonata.run(scenario)
    used = [link for link in results.rows("links") if link["class"] == "local" and link["bytes"]]
    rate = 8 * nbytes / results.rows("jobs")[0]["elapsed_s"]
    if links is None:
        assert len(used) > 22
        assert rate > 1.2 * 1.8 * GIB
    else:
        assert len(used) == links
        assert 0.9 * 1.8 * GIB < rate < 1.8 * GIB


def test_detours_inside_a_group_are_counted():
    """Valiant in a group of 4 x 6 routers. An intermediate makes no detour if it is on a shortest path: one
    of 4 routers for the 15 targets in another row and column, one of 2 for the 8 others. So
    (15 x 20 + 8 x 22) / (23 x 24) of the packets make one."""
    job = {"name": "job", "ranks": 24, "workload": {"alltoall": {"bytes": "8 KiB", "iterations": 1}}}
    scenario = {
        "machine": {
            "dragonfly-2d": {
                "groups": 1,
                "rows": 4,
                "columns": 6,
                "nodes_per_router": 1,
                "global_ports_per_router": 0,
            }
        },
        "jobs": [job],
    }
    counted = {}
    for algorithm in ("minimal", "valiant"):
        results = odonata.run({**scenario, "network": {"routing": {"algorithm": algorithm}}})
        [row] = results.rows("jobs")
        counted[algorithm] = row["mpi_packets_nonminimal"] / row["mpi_packets"]
    assert counted["minimal"] == 0
    assert counted["valiant"] == pytest.approx(476 / 552, abs=0.04)
