"""Exports of Nsight Systems: output of `odonata trace`, and replay; `tests/traces` writes them."""

from __future__ import annotations

import random

import nsys_writer as nsys
import pytest

import odonata
from odonata import operations
from odonata.errors import InputError
from odonata.traces.nsys_export import calls, files, job, reader

MACHINE = (
    "[machine.torus]\ndims = [4, 2]\n[mpi.collectives]\nallreduce = 'ring'\n[[jobs]]\ntrace = 'x.program'\n"
)
WORLD, PAIRS = 0xF00D_0000_0000_0001, 0xBEE
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"


def step(
    export: nsys.Export, rank: int, *, pid: int = 1, device: int = 0, ranks: int = 4, slow: int = 0
) -> None:
    """A step of a rank: two layers; gradients are reduced on stream 20 meanwhile, then the optimizer runs.

    ```
    stream 7:   forward 1000-3000, backward 3000-6000, optimizer 9500-10000
    stream 20:                     all-reduce 3500-9000 (launched at 800)
    stream 21:  copy 500-900
    ```
    """
    on = {"pid": pid, "device": device}
    export.init(WORLD, rank, ranks, pid=pid)
    export.init(PAIRS + rank // 2, rank % 2, 2, pid=pid, at=20)
    export.range("step 1", 100, 20_000, pid=pid, by_id=False)
    export.copy(1, 1 << 20, 500, 900, stream=21, **on)
    export.kernel("forward", 1000, 3000, launched=100, **on)
    export.kernel("backward", 3000, 6000, launched=110, **on)
    export.call("ncclAllReduce", WORLD, 1 << 20, 700, 850, pid=pid)
    export.kernel(REDUCE, 3500, 9000 + slow, stream=20, launched=800, **on)
    export.kernel("optimizer", 9500 + slow, 10_000 + slow, launched=900, **on)
    # Each rank of a pair sends to the other, in a group, whose end launches the kernel.
    export.range("ncclGroupStart", 1000, 1010, pid=pid)
    export.call("ncclSend", PAIRS + rank // 2, 5000, 1020, 1030, last=1 - rank % 2, pid=pid)
    export.range("ncclGroupStart", 1021, 1022, pid=pid)
    export.range("ncclGroupEnd", 1028, 1029, pid=pid)
    export.call("ncclRecv", PAIRS + rank // 2, 5000, 1040, 1050, last=1 - rank % 2, pid=pid)
    export.range("ncclGroupEnd", 1060, 1100, pid=pid)
    export.kernel("ncclDevKernel_SendRecv", 10_000 + slow, 11_000 + slow, stream=20, launched=1080, **on)


@pytest.fixture
def folder(tmp_path):
    """Four ranks, each in a file of its own; files are not in the order of NCCL's ranks."""
    where = tmp_path / "job"
    where.mkdir()
    for rank in range(4):
        export = nsys.Export(where / f"report.{(rank + 1) % 4}.sqlite")
        step(export, rank, slow=100 * rank)
        export.close()
    return where


def rows_of(program, rank=0):
    return [row for row in program.operations.to_pylist() if row["rank"] == rank]


def converted(path, out, **options):
    """The program made from an export, and its notes."""
    answer = odonata.trace_convert(path, out, **options)
    return operations.read(out), " | ".join(answer.get("notes", []))


def test_info_counts_kernels_calls_bytes_and_what_is_not_used(shell, folder):
    found = odonata.trace_info(folder)
    assert (found["format"], found["nranks"], found["ranks_by_nccl"]) == ("Nsight Systems export", 4, True)
    assert found["total_op_counts"] == {"kernel": 20, "memcpy": 4}
    assert found["total_collective_calls"] == {"allreduce": 4}
    assert (found["total_sends"], found["total_send_bytes"], found["total_recvs_posted"]) == (4, 20_000, 4)
    assert found["kernels"] == {
        REDUCE: 4,
        "ncclDevKernel_SendRecv": 4,
        "forward": 4,
        "backward": 4,
        "optimizer": 4,
    }
    assert found["copied_bytes"] == {"memcpy 1": 4 << 20}
    assert found["communicators"][f"0x{WORLD:x}"] == [0, 1, 2, 3]
    assert sorted(found["communicators"].values()) == [[0, 1], [0, 1, 2, 3], [2, 3]]
    assert [rank["file"] for rank in found["per_rank"]] == [f"report.{n}.sqlite" for n in (1, 2, 3, 0)]
    first = found["per_rank"][0]
    assert (first["span_ns"], first["compute_ns"], first["nccl_ns"]) == (10_500, 400 + 5500, 5500 + 1000)
    assert found["nccl_kernels_without_size"] == {}
    page = shell("trace", "info", str(folder)).out
    assert "4 ranks, 20 kernels" in page
    assert "4 NVTX events that are not NCCL's, left out" in page


def test_kernels_become_operations_on_streams(folder, tmp_path):
    out = tmp_path / "x.program"
    program, output = converted(folder, out)
    rows = rows_of(program)
    assert [row["kind"] for row in rows] == [
        "compute", "compute", "compute", "compute", "allreduce",
        "compute", "compute", "irecv", "isend", "wait_all",
    ]  # fmt: skip
    copy, forward, backward, idle, allreduce, optimizer, pause, recv, send, wait = rows
    # Forward began 100 ns after the copy, the only other activity that had ended.
    assert (forward["after"], forward["duration_ps"]) == ([0], (100 + 2000) * 1000)
    assert (backward["after"], backward["duration_ps"]) == ([], 3000 * 1000)
    assert copy["duration_ps"] == 400 * 1000
    # The all-reduce comes after forward, 500 ns later, and the optimizer after the all-reduce.
    assert (idle["after"], idle["duration_ps"], allreduce["after"]) == ([0, 1], 500 * 1000, [])
    assert (allreduce["bytes"], allreduce["count"], allreduce["comm"]) == (1 << 20, 1 << 18, 0)
    assert (optimizer["after"], optimizer["duration_ps"]) == ([4], (500 + 500) * 1000)
    assert (pause["after"], pause["duration_ps"]) == ([5], 0)
    assert (recv["peer"], send["peer"], send["bytes"]) == (1, 1, 5000)
    assert send["comm"] == recv["comm"] > 0
    assert (wait["request"], wait["count"]) == (recv["request"], 2)
    assert len({row["stream"] for row in (forward, backward, optimizer)}) == 1
    assert len({row["stream"] for row in (copy, forward, allreduce)}) == 3
    assert odonata.trace_lint(out) == []
    assert "operations ordered across streams by their recorded times" in output


def test_streams_wait_for_the_events_that_are_recorded(tmp_path):
    """Stream 9 waits for the first of two kernels of stream 7, not for the second, which ended as well."""
    export = nsys.Export(tmp_path / "x.sqlite")
    export.kernel("first", 1000, 2000, launched=100)
    export.record(5, 7, at=110)
    export.kernel("second", 2000, 3000, launched=120)
    # The same event is recorded again, for another stream, after the wait has been called.
    export.wait(5, 9, at=130)
    export.record(5, 7, at=140)
    # A wait of the host for an event does not concern a stream.
    export.wait(5, 9, at=145, kind=1)
    export.kernel("third", 3500, 4000, stream=9, launched=150)
    # A wait for an unrecorded event, and a kernel without a wait.
    export.wait(6, 9, at=160)
    export.kernel("fourth", 4000, 5000, stream=9, launched=170)
    program, output = converted(export.close(), tmp_path / "x.program")
    first, second, third, fourth = rows_of(program)
    assert (third["after"], third["duration_ps"]) == ([0], (1500 + 500) * 1000)
    assert (first["after"], second["after"], fourth["after"]) == ([], [], [])
    assert "1 operations ordered across streams by recorded events" in output
    assert "1 waits of streams for unrecorded events, left out" in output
    assert "by their recorded times" not in output


def test_a_converted_export_runs_with_one_digest_on_every_scheduler(folder, tmp_path):
    converted(folder, tmp_path / "x.program")
    scenario = tmp_path / "x.toml"
    scenario.write_text(MACHINE)
    first = odonata.run(scenario)
    # Copy, forward, backward and optimizer are one after the other, with 100 ns and 500 ns between them.
    assert min(row["elapsed_s"] for row in first.rows("ranks")) >= 4e-6
    again = odonata.run(scenario, overrides={"run.scheduler": "conservative", "run.threads": 2})
    assert first.run["digest"] == again.run["digest"]


def test_an_export_replays_its_own_times_where_nothing_is_sent(tmp_path):
    """Without communication all activities begin at their recorded times: the run takes the span of the
    recording.
    """
    export = nsys.Export(tmp_path / "one.sqlite")
    draw = random.Random(5)
    ends = {}
    begin = 1000
    for _ in range(200):
        stream = draw.randrange(4)
        start = max(ends.get(stream, begin), begin + draw.randrange(20_000)) + draw.choice((0, 0, 300))
        ends[stream] = start + draw.randrange(1, 500)
        export.kernel("work", start, ends[stream], stream=stream)
    path = export.close()
    span = odonata.trace_info(path)["per_rank"][0]["span_ns"]
    converted(path, tmp_path / "x.program")
    (tmp_path / "x.toml").write_text(MACHINE)
    (row,) = odonata.run(tmp_path / "x.toml").rows("ranks")
    assert row["elapsed_s"] == pytest.approx(span * 1e-9, abs=1e-15)


def test_graphs_that_are_recorded_as_a_whole_take_their_time(tmp_path):
    """Two kernels of 1 ms, a graph of 10 ms twice: 22 ms, of which the graph has 20."""
    ms = 10**6
    export = nsys.Export(tmp_path / "graph.sqlite")
    for number in range(2):
        export.kernel("work", number * ms, (number + 1) * ms)
        export.graph(3, (2 + 10 * number) * ms, (12 + 10 * number) * ms)
    # Another engine of the GPU was busy for 3 ms, which is not replayed: 3 of 25 ms.
    export.base.execute("CREATE TABLE GPU_VIDEO_ENGINE_WORKLOAD (start INTEGER, end INTEGER, gpuId INTEGER)")
    export.base.execute(f"INSERT INTO GPU_VIDEO_ENGINE_WORKLOAD VALUES (0, {3 * ms}, 0)")
    path = export.close()
    found = odonata.trace_info(path)
    assert found["total_op_counts"] == {"kernel": 2, "graph": 2}
    assert found["gpu_time_ns"] == {"kernel": 2 * ms, "graph": 20 * ms}
    assert found["gpu_time_not_used_ns"] == {"GPU_VIDEO_ENGINE_WORKLOAD": 3 * ms}
    program, output = converted(path, tmp_path / "x.program")
    assert sum(row["duration_ps"] for row in rows_of(program)) == 22 * ms * 1000
    assert "2 launches of CUDA graphs, recorded as a whole (20 ms, 80.0% of the GPUs' time)" in output
    assert "tables that are not used: GPU_VIDEO_ENGINE_WORKLOAD (3 ms, 12.0%)" in output
    notes = [finding["text"] for finding in odonata.trace_lint(path)]
    assert any("launches of CUDA graphs" in text for text in notes)


def test_a_gpu_that_runs_graphs_alone_is_a_rank(tmp_path):
    export = nsys.Export(tmp_path / "graph.sqlite")
    export.base.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
    export.graph(1, 0, 500)
    program, _ = converted(export.close(), tmp_path / "x.program")
    assert [row["duration_ps"] for row in rows_of(program)] == [500 * 1000]


def test_processes_and_gpus_of_one_file_are_ranks(tmp_path):
    export = nsys.Export(tmp_path / "node.sqlite")
    for rank in range(4):
        step(export, rank, pid=10 + rank, device=rank)
    path = export.close()
    found = job.read(path)
    assert [rank.device for rank in found.ranks] == [0, 1, 2, 3]
    program, _ = converted(path, tmp_path / "x.program")
    assert {row["rank"] for row in program.operations.to_pylist()} == {0, 1, 2, 3}


def test_a_process_with_several_gpus_shares_the_calls_of_a_group(tmp_path):
    export = nsys.Export(tmp_path / "one.sqlite")
    for device in range(2):
        export.kernel("layer", 0, 100, device=device)
    export.range("ncclGroupStart", 200, 201)
    for device in range(2):
        export.call("ncclAllReduce", WORLD, 4096, 210 + 10 * device, 215 + 10 * device)
    export.range("ncclGroupEnd", 240, 300)
    for device in range(2):
        export.kernel(REDUCE, 300, 400, device=device, stream=20, launched=250 + device)
    found = job.read(export.close())
    sizes = [[call.bytes for one in rank.activities for call in one.calls] for rank in found.ranks]
    assert sizes == [[4096], [4096]]
    assert found.members == {f"0x{WORLD:x}": [0, 1]}


def test_text_of_ranges_is_read_where_there_is_no_payload(tmp_path):
    """As the NCCL of ATLAHS writes it, around NCCL's own range."""
    export = nsys.Export(tmp_path / "text.sqlite")
    export.range("commHash 0xabc commId 0x1 rank 0 nranks 1 pid 7", 1, 1, by_id=False, type=34)
    text = "ncclReduce(): commHash 0xabc, stream 0x55, data_size 8192, type_size 4, red_op 0, root 0, pid 7"
    export.range(text, 100, 200, by_id=False)
    export.range("ncclReduce", 110, 190)
    export.kernel("ncclKernel_Reduce_RING_LL_Sum_float", 300, 400, launched=150)
    found = job.read(export.close())
    (call,) = found.ranks[0].activities[0].calls
    assert call == calls.Call("reduce", "0xabc", 8192, None, 0)
    assert found.sizes == {"0xabc": 1}


def unsized(path, time):
    """An all-reduce from a CUDA graph, whose kernel has no known call."""
    export = nsys.Export(path)
    export.kernel("layer", 0, 1000)
    export.kernel(REDUCE, 1000, 1000 + time, stream=20)
    return export.close()


@pytest.mark.slow
def test_sizes_that_are_not_recorded_are_reported_and_reckoned_on_request_only(tmp_path):
    where = tmp_path / "job"
    where.mkdir()
    for rank, time in enumerate((5000, 4000)):
        unsized(where / f"{rank}.sqlite", time)
    assert odonata.trace_info(where)["nccl_kernels_without_size"] == {REDUCE: 2}
    program, output = converted(where, tmp_path / "a.program")
    assert f"2 NCCL kernels without a recorded size: {REDUCE} (2); --bytes-from-time" in output
    rows = [(row["kind"], row["duration_ps"]) for row in rows_of(program)]
    assert rows == [("compute", 10**6), ("compute", 5 * 10**6)]
    program, output = converted(where, tmp_path / "b.program", bytes_from_time="100 GB/s")
    # 100 GB/s for the shorter of the two times, 4 us, over 2 (p - 1) / p = 1.
    sizes = [row["bytes"] for row in program.operations.to_pylist() if row["kind"] == "allreduce"]
    assert sizes == [400_000] * 2
    assert "1 sizes of calls of allreduce are reckoned from their times" in output
    for text in ("fast", "0 GB/s", "3 GiB"):
        with pytest.raises(InputError, match="no bandwidth"):
            converted(where, tmp_path / "c.program", bytes_from_time=text)
    assert not (tmp_path / "c.program").exists()


def test_one_rank_can_stand_for_all_of_its_communicator(tmp_path):
    export = nsys.Export(tmp_path / "one.sqlite")
    export.init(WORLD, 3, 8)
    export.call("ncclAllGather", WORLD, 4096, 700, 850)
    export.kernel("ncclDevKernel_AllGather_RING_LL", 1000, 2000, launched=800)
    path = export.close()
    out = tmp_path / "x.program"
    with pytest.raises(InputError, match="has 8 ranks, of which 1 are in the files") as caught:
        converted(path, out)
    assert "ranks=8" in str(caught.value.hint)
    with pytest.raises(InputError, match="has 8 ranks"):
        converted(path, out, ranks=4)
    program, _ = converted(path, out, ranks=8)
    sizes = [row["bytes"] for row in program.operations.to_pylist() if row["kind"] == "allgather"]
    assert sizes == [4096] * 8
    converted(path, tmp_path / "y.program", incomplete=True)


def test_members_that_call_other_collectives_are_refused(tmp_path):
    where = tmp_path / "job"
    where.mkdir()
    for rank, bytes in enumerate((4096, 8192)):
        export = nsys.Export(where / f"{rank}.sqlite")
        export.init(WORLD, rank, 2)
        export.call("ncclAllReduce", WORLD, bytes, 700, 850)
        export.kernel(REDUCE, 1000, 2000, launched=800)
        export.close()
    output = "collective number 0 .* is allreduce of 8192 B here, and allreduce of 4096 B in 0.sqlite"
    with pytest.raises(InputError, match=output):
        converted(where, tmp_path / "x.program")
    assert not (tmp_path / "x.program").exists()


def damaged(tmp_path, change=lambda base: None):
    export = nsys.Export(tmp_path / "bad.sqlite")
    step(export, 0)
    change(export.base)
    return export.close()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "no table CUPTI_ACTIVITY_KIND_KERNEL"),
        ("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME streamId TO s", "has no column streamId"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 'soon'", "row 0: end is soon"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = -5", "row 0: start is -5"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = end + 1", "before it starts"),
        ("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 9223372036854775807", "not a number from 0 to"),
        ("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 1.5", "row 0: correlationId is 1.5"),
        (
            "ALTER TABLE NVTX_EVENTS RENAME TO k; CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE "
            "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT k.* FROM k, n",
            "NVTX_EVENTS is a view",
        ),
    ],
)
def test_damage_is_an_error_that_names_its_place(tmp_path, sql, message):
    path = damaged(tmp_path, lambda base: base.executescript(sql))
    with pytest.raises(InputError, match=message) as caught:
        odonata.trace_info(path)
    assert str(caught.value.file).endswith("bad.sqlite")


def test_payloads_that_lie_about_their_size_say_nothing(tmp_path):
    def change(base):
        base.execute("UPDATE NVTX_EVENTS SET binaryData = substr(binaryData, 1, 40)")
        base.execute("UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET offset = 1000000 WHERE name = 'Peer rank'")

    found = job.read(damaged(tmp_path, change))
    assert found.unsized == {REDUCE: 1, "ncclDevKernel_SendRecv": 1}


def test_what_is_no_database_is_refused(shell, tmp_path):
    path = tmp_path / "x.sqlite"
    for data, message in (
        (b"", "the file is empty"),
        (b"hello", "it is no SQLite database"),
        (files.MAGIC + b"\xff" * 4000, "SQLite: file is not a database"),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=message):
            odonata.trace_info(path)
    done = shell("trace", "info", str(path))
    assert done.code == 2
    assert "SQLite: file is not a database" in done.err


@pytest.mark.slow
def test_flipped_bits_are_errors_or_another_export(tmp_path):
    """Of 12 databases with random changed bytes, none has another effect than `InputError`."""
    good = damaged(tmp_path)
    data = good.read_bytes()
    draw = random.Random(21)
    refused = []
    for _ in range(12):
        bad = bytearray(data)
        for _ in range(draw.choice((1, 20, 400))):
            bad[draw.randrange(16, len(bad))] = draw.randrange(256)
        good.write_bytes(bad if draw.random() < 0.8 else bad[: draw.randrange(len(bad))])
        try:
            job.read(good)
        except InputError as error:
            refused.append(str(error.file))
    assert len(refused) > 2
    assert set(refused) == {str(good)}


def test_bounds_on_memory_hold(tmp_path):
    with pytest.raises(InputError, match=r"MiB of memory|out of memory|failed"):
        reader.read(damaged(tmp_path), memory=1 << 20)


def test_reports_that_are_not_exported_say_what_to_do(tmp_path):
    (tmp_path / "app.nsys-rep").write_bytes(b"")
    with pytest.raises(InputError, match="nsys export -t sqlite"):
        odonata.trace_info(tmp_path / "app.nsys-rep")
