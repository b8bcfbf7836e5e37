"""Placement of files, waits there, and collective access, from scenarios and rank programs."""

import pytest

import odonata
from odonata import operations as ops
from odonata.collective_io import read_file_all, write_file_all

MACHINE = {
    "dragonfly": {"groups": 3, "routers_per_group": 2, "nodes_per_router": 4, "global_ports_per_router": 2}
}
STORAGE = {
    "nodes": {"per_group": 1},
    "manager": {"block": "10 kB"},
    "layout": {"striped": {"stripe": "5 kB"}},
}


def run(jobs, **storage):
    return odonata.run({"machine": MACHINE, "storage": STORAGE | storage, "jobs": jobs})


def pieces(size):
    return lambda rank: (rank * size, size)


@pytest.mark.parametrize("access", [write_file_all, read_file_all])
@pytest.mark.parametrize("aggregators", [1, 3, 12])
@pytest.mark.parametrize("buffer", [3_000, 100_000])
def test_a_collective_access_moves_what_aggregators_do_not_have_and_the_file_once(
    access, aggregators, buffer
):
    """Domains of ceil(E / A) bytes; the aggregator's own part needs no message."""
    ranks, size = 12, 7_000
    whole = ranks * size
    domain = -(-whole // aggregators)
    own = 0
    for number in range(aggregators):
        rank, first = number * ranks // aggregators, number * domain
        own += max(0, min((rank + 1) * size, first + domain, whole) - max(rank * size, first))
    accessed, sent, received = [], 0, 0
    for rank in range(ranks):
        for one in access(rank, ranks, 7, pieces(size), aggregators=aggregators, buffer=buffer):
            if one.kind in ("read", "write"):
                accessed.append((one.numbers["offset"], one.numbers["bytes"]))
            sent += one.numbers.get("bytes", 0) * (one.kind == "isend")
            received += one.numbers.get("bytes", 0) * (one.kind == "irecv")
    assert sent == received == whole - own
    accessed.sort()
    assert accessed[0][0] == 0
    assert [offset + size for offset, size in accessed] == [offset for offset, _ in accessed[1:]] + [whole]
    assert len(accessed) == sum(
        -(-max(0, min(domain, whole - number * domain)) // buffer) for number in range(aggregators)
    )


def test_a_collective_write_of_python_is_that_of_the_checkpoint():
    def together(rank, ranks):
        yield ops.compute(0.0)
        if rank == 0:
            yield ops.open_file(0)
        yield from write_file_all(rank, ranks, 0, pieces(6_000), aggregators=4, buffer=7_000)
        if rank == 0:
            yield ops.close_file(0)

    checkpoint = {
        "total": "72 kB",
        "interval": "0 s",
        "coordinated": False,
        "collective": {"aggregators": 4, "buffer": "7 kB"},
    }
    one = run([{"name": "job", "ranks": 12, "python": together}])
    other = run([{"name": "job", "ranks": 12, "workload": {"checkpoint": checkpoint}}])
    assert one.completed
    assert one.run["digest"] == other.run["digest"]
    assert {row["rank"] for row in one.rows("io")} == {0, 3, 6, 9}


def test_jobs_with_one_directory_share_their_files():
    def writer(rank, ranks):
        yield ops.write_file(7, offset=rank * 1_000, bytes=1_000)

    def reader(rank, ranks):
        yield ops.read_file(7, offset=0, bytes=ranks * 1_000)

    jobs = [
        {"name": "writer", "ranks": 4, "python": writer},
        {"name": "reader", "ranks": 2, "start_after": "writer", "python": reader},
    ]
    apart = run(jobs).rows("files")
    assert [(row["directory"], row["file"], row["jobs"]) for row in apart] == [
        ("reader", 7, 1),
        ("writer", 7, 1),
    ]
    jobs[1]["io"] = {"directory": "writer"}
    (file,) = run(jobs).rows("files")
    assert (file["directory"], file["writers"], file["readers"], file["jobs"]) == ("writer", 4, 2, 2)
    assert (file["bytes_written"], file["bytes_read"], file["size_bytes"]) == (4_000, 4_000, 4_000)
    assert file["servers"] == 1


def test_a_summary_says_that_few_servers_did_the_work(shell):
    text = """
        [machine.dragonfly]
        groups = 9
        routers_per_group = 4
        nodes_per_router = 2
        global_ports_per_router = 2
        [storage]
        nodes = {{ per_group = 1 }}
        assignment = "{assignment}"
        [[jobs]]
        name = "saver"
        ranks = 7
        workload = {{ checkpoint = {{ total = "70 kB", interval = "0 s" }} }}
    """
    shell.write(text.format(assignment="by-group"))
    warned = shell("check", "scenario.toml")
    assert "7 ranks use one of 9 storage servers, server 0" in " ".join(warned.out.split())
    done = shell("run", "scenario.toml", "-o", "one")
    assert done.code == 0, done.err
    words = "1 of 9 storage servers were used; the busiest moved 9.00 times the mean."
    assert words in " ".join(done.out.split())
    shell.write(text.format(assignment="round-robin"))
    assert "storage servers:" not in shell("check", "scenario.toml").out
    assert "were used" not in shell("run", "scenario.toml", "-o", "other").out
