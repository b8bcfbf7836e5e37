"""OTF2 archives: output of `odonata trace`, and replay; the package otf2 writes them."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter

import pytest
import reference_traces

import odonata
from odonata import operations
from odonata.errors import InputError
from odonata.traces import report as trace_report

MACHINE = "[machine.torus]\ndims = [4, 4]\n[[jobs]]\ntrace = 'x.program'\n"
RANKS = 4


def work(at, rank):
    """A non-blocking ring, all kinds of collectives, requests that are tested and canceled."""
    right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
    pair = "even" if rank % 2 == 0 else "odd"
    at.call("MPI_Init")
    at.compute(50)
    at.call("MPI_Irecv", ("mpi_irecv_request", 1))
    at.call("MPI_Isend", ("mpi_isend", right, "world", 7, 1000, 2))
    at.call("user_function")
    at.compute(30)
    at.call("MPI_Test", ("mpi_request_test", 1))
    at.compute(5)
    at.call("MPI_Test", ("mpi_request_test", 1))
    at.call("MPI_Waitall", ("mpi_isend_complete", 2), ("mpi_irecv", left, "world", 7, 1000, 1))
    at.call("MPI_Irecv", ("mpi_irecv_request", 3))
    at.call("MPI_Cancel", ("mpi_request_cancelled", 3))
    at.call("MPI_Sendrecv", ("mpi_send", right, "world", 1, 20), ("mpi_recv", left, "world", 1, 20))
    if rank % 2 == 0:
        at.call("MPI_Ssend", ("mpi_send", 1, pair if rank == 9 else "world", 2, 30)) if rank == 0 else None
    elif rank == 1:
        at.call("MPI_Recv", ("mpi_recv", 0, "world", 2, 30))
    at.collective("MPI_Bcast", "BCAST", 4 * 64 if rank == 1 else 0, 64, root=1)
    at.collective("MPI_Allreduce", "ALLREDUCE", 2 * 80, 2 * 80, pair)
    at.collective("MPI_Gatherv", "GATHERV", 10 + rank, 46 if rank == 2 else 0, root=2)
    at.collective("MPI_Allgatherv", "ALLGATHERV", 4 * (10 + rank), 46)
    at.collective("MPI_Alltoall", "ALLTOALL", 4 * 12, 4 * 12)
    at.collective("MPI_Barrier", "BARRIER", 0, 0, "self")
    at.collective("MPI_Comm_dup", "CREATE_HANDLE", 0, 0)
    at.compute(70)
    at.call("MPI_Finalize")


@pytest.fixture(scope="module")
def anchor(tmp_path_factory):
    import otf2_writer

    folder = tmp_path_factory.mktemp("archive") / "run"
    return otf2_writer.write(folder, RANKS, work, {"even": [0, 2], "odd": [1, 3]})


def test_info_counts_events_messages_bytes_and_collectives(shell, anchor):
    found = json.loads(shell("trace", "info", str(anchor), "--json").out)
    assert (found["name"], found["format"], found["nranks"]) == ("traces", "OTF2 archive", RANKS)
    assert found["event_counts"]["MPI_ISEND_COMPLETE"] == RANKS
    assert found["event_counts"]["MPI_REQUEST_TEST"] == 2 * RANKS
    assert (found["total_sends"], found["total_send_bytes"]) == (9, 4 * 1020 + 30)
    assert found["per_location"]["0"]["send_bytes"] == 1050
    assert found["collectives"]["BCAST"] == RANKS
    first, last = found["per_location"]["1"]["first_tick"], found["per_location"]["1"]["last_tick"]
    assert first == 100
    assert found["max_rank_span_ns"] >= (last - first) * 1000
    page = shell("trace", "info", str(anchor.parent)).out
    assert "traces: OTF2 archive, 4 ranks, 4 locations" in page


def test_calls_become_operations_with_computation_between(anchor, tmp_path):
    out = tmp_path / "x.program"
    written = trace_report.convert(anchor, out)
    program = operations.read(out)
    rows = [row for row in program.operations.to_pylist() if row["rank"] == 0]
    assert [row["kind"] for row in rows] == [
        "compute", "irecv", "isend", "compute", "wait", "wait", "sendrecv", "ssend", "broadcast", "allreduce",
        "gatherv", "allgatherv", "alltoall", "barrier", "barrier", "compute",
    ]  # fmt: skip
    # 50 us; a function of the program and the time before the first test; none between tests.
    assert [row["duration_ps"] // 10**6 for row in rows if row["kind"] == "compute"] == [50, 31, 70]
    irecv, isend = rows[1], rows[2]
    assert (irecv["peer"], irecv["tag"], irecv["bytes"], isend["peer"], isend["bytes"]) == (
        3,
        7,
        1000,
        1,
        1000,
    )
    assert {irecv["request"], isend["request"]} == {row["request"] for row in rows if row["kind"] == "wait"}
    assert (rows[6]["peer"], rows[6]["recv_peer"], rows[6]["recv_bytes"]) == (1, 3, 20)
    sizes = {row["kind"]: row["bytes"] for row in rows if row["bytes"] is not None}
    assert (sizes["broadcast"], sizes["allreduce"], sizes["alltoall"]) == (64, 80, 12)
    members = Counter(row["comm"] for row in program.communicators.to_pylist())
    assert members[rows[9]["comm"]] == 1
    # The communicator of one rank each has a row for each rank.
    assert members[rows[13]["comm"]] == RANKS
    lists = {(row["rank"], row["counts"]): row["by_giver"] for row in program.counts.to_pylist()}
    assert lists[0, 0] == [10]
    assert lists[2, 0] == lists[0, 1] == [10, 11, 12, 13]
    assert "8 tests and probes that found nothing, left out" in written.notes
    assert "4 requests that were cancelled, left out" in written.notes
    assert "4 collectives that make or free a handle: barriers of their communicator" in written.notes
    assert "8 events MPI_REQUEST_TEST, left out" not in written.notes


def test_a_converted_archive_is_right_and_runs_with_one_digest(anchor, tmp_path):
    assert [each for each in trace_report.lint(anchor) if each["severity"] == "error"] == []
    trace_report.convert(anchor, tmp_path / "x.program")
    (tmp_path / "x.toml").write_text(MACHINE)
    first = odonata.run(tmp_path / "x.toml")
    other = odonata.run(tmp_path / "x.toml", overrides={"run.scheduler": "conservative", "run.threads": 2})
    assert first.run["digest"] == other.run["digest"]


def test_messages_without_a_receive_are_found(tmp_path):
    import otf2_writer

    def send(at, rank):
        if rank == 0:
            at.call("MPI_Send", ("mpi_send", 1, "world", 0, 8))
        else:
            at.call("MPI_Barrier")

    anchor = otf2_writer.write(tmp_path / "run", 2, send, {})
    findings = trace_report.lint(anchor)
    assert any(each["severity"] == "error" and each["check"] == "messages" for each in findings), findings


def test_files_that_are_missing_or_cut_are_errors_that_name_them(shell, anchor, tmp_path):
    copy = shutil.copytree(anchor.parent, tmp_path / "copy")
    events = copy / "traces/2.evt"
    data = events.read_bytes()
    events.unlink()
    done = shell("trace", "info", str(copy))
    assert done.code == 2, done.out
    assert "location 2 has 0 events, where the definitions say" in done.err
    assert "traces.otf2" in done.err
    assert shell("trace", "info", str(copy), "--incomplete").code == 0
    assert "error: complete: location 2 has 0 events" in shell("trace", "lint", str(copy)).out
    events.write_bytes(data)
    (copy / "traces.def").unlink()
    done = shell("trace", "info", str(copy / "traces.otf2"))
    assert done.code == 2
    assert "traces.def, the definitions of the archive, is missing beside it" in done.err
    assert "No such file" in shell("trace", "lint", str(copy / "none.otf2")).err


def test_archives_that_were_changed_give_an_error_or_numbers_and_nothing_else(anchor, tmp_path):
    lot = random.Random(5)
    endings = Counter()
    for number in range(4):
        copy = shutil.copytree(anchor.parent, tmp_path / str(number))
        path = lot.choice(sorted(path for path in copy.rglob("*") if path.is_file()))
        data = bytearray(path.read_bytes())
        if number % 2:
            del data[lot.randrange(len(data)) :]
        for _ in range(3):
            if data:
                data[lot.randrange(len(data))] = lot.randrange(256)
        path.write_bytes(data)
        try:
            trace_report.convert(copy / "traces.otf2", tmp_path / f"{number}.program")
            endings["taken"] += 1
        except InputError as error:
            endings["refused" if "--> " in str(error) else f"without a file: {error}"] += 1
    assert set(endings) <= {"taken", "refused"}


@pytest.mark.parametrize("folder", reference_traces.sets("otf2"))
def test_real_archives_give_the_numbers_of_their_truth_and_run(tmp_path, folder):
    truth = json.loads((folder / "ground-truth.json").read_text())
    found = trace_report.info(folder)
    for key in ("locations", "event_counts", "collectives"):
        assert found[key] == truth[key], key
    for ref, counts in truth["per_location"].items():
        there = found["per_location"][ref]
        assert {key: there[key] for key in counts} == counts
    assert [each for each in trace_report.lint(folder) if each["severity"] == "error"] == []
    trace_report.convert(folder, tmp_path / "x.program")
    rows = operations.read(tmp_path / "x.program").operations.to_pylist()
    sent = sum(row["bytes"] for row in rows if row["kind"] in ("send", "isend"))
    assert sent == sum(counts["send_bytes"] for counts in truth["per_location"].values())
    (tmp_path / "x.toml").write_text(MACHINE)
    assert odonata.run(tmp_path / "x.toml").outcome == "completed"
