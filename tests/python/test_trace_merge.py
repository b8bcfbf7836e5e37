"""`odonata trace merge`: an MPI trace and a log of file access of one job, on their clocks."""

from __future__ import annotations

import importlib.util
import json
import random
from collections import Counter

import dumpi
import pytest
import reference_traces
from darshan_writer import Writer, in_ranges

import odonata
from odonata import operations as op

US, MS = 10**6, 10**9
WORLD, INT, ANY_TAG = 2, 9, 7

MACHINE = {
    "machine": {"torus": {"dims": [4, 2]}},
    "storage": {
        "nodes": {"list": [7]},
        "device": {"rate": {"write": "1 GB/s", "read": "1 GB/s", "overhead": "10 us"}},
    },
}


def messages(folder):
    """A DUMPI trace of two ranks, whose clock begins with MPI_Init.

    In us of rank 0: Init 0 to 1000, Send 11000.06 to 13000.06, Barrier 18000.12 to 19000.12, Finalize from
    22000.18 on.
    """
    ranks = []
    for number in range(2):
        rank = dumpi.Rank(number)
        rank.call("MPI_Init", takes=1_000_000, argv=[])
        rank.compute(10_000_000)
        if number == 0:
            rank.call("MPI_Send", takes=2_000_000, count=100, type=INT, dest=1, tag=7, comm=WORLD)
        else:
            status = [(400, 0, 7, 0)]
            rank.call(
                "MPI_Recv", takes=2_000_000, count=100, type=INT, source=0, tag=7, comm=WORLD, status=status
            )
        rank.compute(5_000_000)
        rank.call("MPI_Barrier", takes=1_000_000, comm=WORLD)
        rank.compute(3_000_000)
        rank.call("MPI_Finalize")
        ranks.append(rank)
    dumpi.write(folder, ranks)
    return folder


def accesses(path, ranks=2, seconds=0.025):
    """A Darshan log in which rank 1 writes three times: beside calls, inside one, and across the end of
    one.
    """
    writes = [(0, 1000, 0.004, 0.006), (1000, 1000, 0.0115, 0.012), (2000, 1000, 0.0185, 0.020)]
    log = Writer(ranks, seconds=seconds)
    log.record(
        "POSIX",
        8,
        "/scratch/own",
        1,
        OPENS=1,
        WRITES=3,
        **in_ranges("WRITE", [1000] * 3),
        MAX_BYTE_WRITTEN=2999,
        F_OPEN_START_TIMESTAMP=0.003,
        F_OPEN_END_TIMESTAMP=0.0035,
        F_CLOSE_START_TIMESTAMP=0.0205,
        F_CLOSE_END_TIMESTAMP=0.021,
    )
    log.segments("DXT_POSIX", 8, "/scratch/own", 1, writes, [])
    return log.write(path)


def operations_of(program, rank):
    """Kinds of a rank's operations, and the microseconds of computation."""
    return [
        round(row["duration_ps"] / US, 2) if row["kind"] == "compute" else row["kind"]
        for row in op.read(program).rank(rank)
    ]


def totals(shell, path):
    """Messages and bytes of a trace, and its file operations."""
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    counts = Counter()
    for name in ("total_sends", "total_send_bytes", "total_recvs_posted"):
        counts[name] = found[name]
    rows = op.read(path).operations.to_pylist() if (path / "program.json").exists() else []
    for row in rows:
        if row["kind"] in ("open", "close", "read", "write"):
            counts[row["kind"]] += 1
            counts[row["kind"], "bytes"] += row["bytes"] or 0
    return counts


@pytest.fixture
def pair(tmp_path):
    return messages(tmp_path / "trace"), accesses(tmp_path / "job.darshan"), tmp_path / "m.program"


def test_operations_are_placed_by_their_starts_and_no_time_counts_twice(shell, pair):
    trace, log, out = pair
    done = shell("trace", "merge", str(trace), str(log), str(out), "--json")
    output = json.loads(done.out)
    assert (output["ranks"], output["from_trace"], output["from_log"]) == (2, 4, 5)
    # Rank 0 accesses no file: as in the trace, and then computation until the log ends.
    found = operations_of(out, 0)
    assert found[:4] == [10000.06, "send", 5000.06, "barrier"]
    assert found[4:] == [pytest.approx(25_000 - 19_000.92, abs=0.2)]
    # Between MPI_Init, until 1 ms, and the message it opens at 3 ms and writes from 4 to 6 ms; the second
    # write is inside the receive, the third goes on for 1 ms after the barrier.
    found = operations_of(out, 1)
    assert found[:-1] == [
        2000.0,
        "open",
        1000.0,
        "write",
        5000.06,
        "recv",
        "write",
        5000.06,
        "barrier",
        "write",
        500.0,
        "close",
    ]
    assert found[-1] == pytest.approx(4500, abs=0.2)
    assert output["log_s"] == pytest.approx(0.002 + 0.0005 + 0.0015)
    # The second write, and the third until MPI_Barrier and MPI_Finalize are over, which counts with it.
    assert output["overlap_s"] == pytest.approx(0.0005 + 0.00050092, abs=1e-9)


def test_messages_bytes_and_accesses_are_the_sum_of_both(shell, pair, tmp_path):
    trace, log, out = pair
    assert shell("trace", "merge", str(trace), str(log), str(out)).code == 0
    parts = [tmp_path / "a.program", tmp_path / "b.program"]
    for source, part in zip((trace, log), parts, strict=True):
        assert shell("trace", "convert", str(source), str(part)).code == 0
    assert totals(shell, out) == totals(shell, parts[0]) + totals(shell, parts[1])
    assert totals(shell, out)["write", "bytes"] == 3000
    assert shell("trace", "lint", str(out)).code == 0
    origin = json.loads((out / "origin.json").read_text())
    assert [file["name"] for file in origin["files"]] == ["/scratch/own"]
    results = odonata.run({**MACHINE, "jobs": [{"trace": str(out)}]})
    assert results.outcome == "completed"


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        # 2 ms later: the open is at 5 ms, and the last write from 20.5 to 22 ms.
        ("0.002", [4000.0, "open", 1000.0, "write", 3000.06, "recv"]),
        # 10 ms earlier: the merged program begins with the log, 10 ms before MPI_Init.
        ("-0.010", [3000.0, "open", 1000.0, "write"]),
    ],
)
def test_an_offset_moves_the_log_on_the_clock_of_the_trace(shell, pair, offset, expected):
    trace, log, out = pair
    assert shell("trace", "merge", str(trace), str(log), str(out), "--offset", offset).code == 0
    found = operations_of(out, 1)
    if offset.startswith("-"):
        # Rank 0 computes until MPI_Init, 10 ms later, which is not replayed.
        total = sum(part for part in operations_of(out, 0) if isinstance(part, float))
        assert total == pytest.approx(10_000 + 10000.06 + 5000.06 + 3000.06, abs=0.02)
    assert found[: len(expected)] == expected


def test_a_log_of_other_ranks_or_with_messages_is_refused(shell, pair, tmp_path):
    trace, _, out = pair
    log = accesses(tmp_path / "other.darshan", ranks=3)
    done = shell("trace", "merge", str(trace), str(log), str(out))
    assert (done.code, "the log has 3 ranks, and the trace 2" in done.err) == (2, True)
    done = shell("trace", "merge", str(trace), str(trace), str(out))
    assert (done.code, "does more than access files: " in done.err) == (2, True)
    done = shell("trace", "merge", str(trace), str(trace), str(out), "--interface", "mpi-io")
    assert (done.code, "--interface" in done.err) == (2, True)
    assert not out.exists()


def test_the_function_of_the_api_does_the_same(shell, pair, tmp_path):
    trace, log, out = pair
    done = shell("trace", "merge", str(trace), str(log), str(out), "--json")
    other = tmp_path / "other.program"
    told_by_api = odonata.trace_merge(trace, log, other)
    assert {**told_by_api, "program": str(out)} == json.loads(done.out)
    assert operations_of(other, 1) == operations_of(out, 1)
    with pytest.raises(odonata.InputError, match="offset"):
        odonata.trace_merge(trace, log, out, offset=1e9)


def test_what_both_do_to_files_is_kept_apart_or_left_out(shell, tmp_path):
    def trace(rank, ranks):
        yield op.compute(1e-3)
        yield op.write_file(5, 0, 100, request=0)
        yield op.barrier()
        yield op.wait(0)

    def log(rank, ranks):
        yield op.compute(0.5e-3)
        yield op.read_file(0, 0, 10, request=0)
        yield op.wait(0)

    one, two, out = (tmp_path / f"{name}.program" for name in ("one", "two", "out"))
    op.write(one, trace, 2)
    op.write(two, log, 2)
    done = shell("trace", "merge", str(one), str(two), str(out))
    assert "those of the log have numbers from 6 on" in done.err
    rows = [row for row in op.read(out).rank(1) if row["kind"] != "compute"]
    assert [(row["kind"], row["file"], row["request"]) for row in rows] == [
        ("iread", 6, 1),
        ("wait", None, 1),
        ("iwrite", 5, 0),
        ("barrier", None, None),
        ("wait", None, 0),
    ]
    done = shell("trace", "merge", str(one), str(two), str(out), "--without-files", "--force")
    assert (done.code, done.err) == (0, "")
    kinds = [row["kind"] for row in op.read(out).rank(1)]
    assert kinds == ["compute", "iread", "wait", "compute", "isend", "barrier", "wait"]
    assert odonata.run({**MACHINE, "jobs": [{"trace": str(out)}]}).outcome == "completed"


def programs(draw):
    """Two random programs of three ranks: computation, messages and streams; computation and files."""

    def trace(rank, ranks, plan):
        for number, (length, kind) in enumerate(plan):
            if length:
                yield op.compute(length * 1e-6)
            if kind == "other":
                yield op.compute(3e-6).on_stream(1, after=[])
            else:
                yield op.barrier()
            yield op.mark(number)

    def log(rank, ranks, plan):
        for length, kind in plan:
            if length:
                yield op.compute(length * 1e-6)
            yield op.open_file(1) if kind == "open" else op.write_file(1, rank * 10, 10)

    plans = [
        [(draw.randrange(4) * 10, draw.choice(("other", "call"))) for _ in range(draw.randrange(8))],
        [(draw.randrange(4) * 10, draw.choice(("open", "write"))) for _ in range(draw.randrange(8))],
    ]
    return trace, log, plans


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_have_the_order_and_the_computation_of_a_plain_reckoning(shell, tmp_path, seed):
    draw = random.Random(seed)
    trace, log, plans = programs(draw)
    offset_us = draw.randrange(-3, 4) * 10
    one, two, out = (tmp_path / f"{name}.program" for name in ("one", "two", "out"))
    op.write(one, trace, 3, args={"plan": plans[0]})
    op.write(two, log, 3, args={"plan": plans[1]})
    done = shell("trace", "merge", str(one), str(two), str(out), "--offset", str(offset_us * 1e-6))
    assert done.code == 0, done.err

    def timed(program, origin):
        now, found = origin, []
        for row in op.read(program).rank(1):
            if row["stream"]:
                continue
            if row["kind"] == "compute":
                now += row["duration_ps"]
            else:
                found.append((now, row["kind"]))
        return found, now

    (ours, end), (theirs, last) = timed(one, 0), timed(two, offset_us * US)
    expected = sorted(ours + theirs, key=lambda item: item[0])
    found, until = timed(out, min(0, offset_us * US))
    assert found == expected
    assert until == max(end, last)
    others = [row for row in op.read(out).rank(1) if row["stream"]]
    assert len(others) == sum(kind == "other" for _, kind in plans[0])
    assert all(row["duration_ps"] == 3 * US for row in others)


def test_what_waits_for_others_waits_for_the_same_after_merging(shell, tmp_path):
    def trace(rank, ranks):
        yield op.compute(20e-6)  # 0
        yield op.send((rank + 1) % 2, 8) if rank == 0 else op.recv(0, 8)  # 1
        yield op.compute(20e-6)  # 2
        yield op.compute(1e-6).on_stream(1, after=[2])  # 3
        yield op.barrier().on_stream(0, after=[3])  # 4

    def log(rank, ranks):
        yield op.compute(10e-6)
        yield op.open_file(1)
        yield op.compute(20e-6)
        yield op.close_file(1)

    one, two, out = (tmp_path / f"{name}.program" for name in ("one", "two", "out"))
    op.write(one, trace, 2)
    op.write(two, log, 2)
    assert shell("trace", "merge", str(one), str(two), str(out)).code == 0
    rows = list(op.read(out).rank(0))
    names = [(row["kind"], row["stream"] or 0) for row in rows]
    assert names == [
        ("compute", 0),
        ("open", 0),
        ("compute", 0),
        ("send", 0),
        ("compute", 0),
        ("close", 0),
        ("compute", 0),
        ("compute", 1),
        ("barrier", 0),
    ]
    # The computation before the barrier is now split in three; the barrier waits for the last one.
    assert rows[7]["after"] == [6]
    assert rows[8]["after"] == [7]
    assert odonata.run({**MACHINE, "jobs": [{"trace": str(out)}]}).outcome == "completed"


@pytest.mark.skipif(importlib.util.find_spec("otf2") is None, reason="the package otf2 is not installed")
def test_an_otf2_archive_is_merged_on_its_clock(shell, tmp_path):
    import otf2_writer

    def work(at, rank):
        at.compute(100)
        at.collective("MPI_Barrier", "BARRIER", 0, 0)
        at.compute(300)
        at.collective("MPI_Barrier", "BARRIER", 0, 0)

    anchor = otf2_writer.write(tmp_path / "archive", 2, work, {})

    def log(rank, ranks):
        yield op.compute(250e-6)
        yield op.open_file(1)

    op.write(tmp_path / "log.program", log, 2)
    plain, out = tmp_path / "plain.program", tmp_path / "out.program"
    assert shell("trace", "convert", str(anchor), str(plain)).code == 0
    assert shell("trace", "merge", str(anchor), str(tmp_path / "log.program"), str(out)).code == 0
    # The clock of the archive begins with the first barrier, which takes 1 us.
    assert operations_of(plain, 0) == ["barrier", 300.0, "barrier"]
    assert operations_of(out, 0) == ["barrier", 249.0, "open", 51.0, "barrier"]


@pytest.mark.parametrize("log", reference_traces.one("darshan", "fresh-coll-6"))
@pytest.mark.parametrize("trace", reference_traces.one("dumpi", "mpiio-6"))
def test_a_real_trace_and_a_real_log_are_merged_to_the_sum_of_both(shell, tmp_path, trace, log):
    (log,) = log.glob("*.darshan")
    out = tmp_path / "out.program"
    done = shell("trace", "merge", str(trace), str(log), str(out), "--json")
    assert done.code == 0, done.err
    parts = [tmp_path / "a.program", tmp_path / "b.program"]
    for source, part in zip((trace, log), parts, strict=True):
        assert shell("trace", "convert", str(source), str(part)).code == 0
    assert totals(shell, out) == totals(shell, parts[0]) + totals(shell, parts[1])
    assert shell("trace", "lint", str(out)).code == 0
