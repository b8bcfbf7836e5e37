"""Chakra execution traces: output of `odonata trace`, and replay; `tests/traces` writes them."""

from __future__ import annotations

import gzip
import json
import random

import chakra_writer as chakra
import pytest
import reference_traces
from chakra_writer import COLL, COMP, LOAD, METADATA, RECV, SEND, node

import odonata
from odonata import operations
from odonata.errors import InputError
from odonata.traces.chakra import files, order, reader, survey

MACHINE = "[machine.torus]\ndims = [4, 2]\n[[jobs]]\ntrace = 'x.program'\n"


def step(rank, ranks=4):
    """A step of training: two layers on the GPU, launched by the CPU, gradients reduced, a message along."""
    gpu = {"is_cpu_op": False, "tid": 7}
    return [
        node(1, METADATA, "## process_group:init ##"),
        node(10, COMP, "launch", us=5, is_cpu_op=True, tid=1),
        node(11, COMP, "layer 1", (10,), us=100, **gpu),
        node(12, LOAD, "load weights", (11,), us=9),
        node(13, COMP, "layer 2", (12,), us=100, **gpu),
        node(14, COLL, "c10d::allreduce_", (11,), us=4, is_cpu_op=True, tid=2),
        node(15, COLL, "ncclAllReduce", (14,), us=50, is_cpu_op=False, comm_type=0, comm_size=1 << 20),
        node(
            16, COLL, "ncclReduceScatter", (15,), comm_type=7, comm_size=1 << 16,
            pg_name="even" if rank % 2 == 0 else "odd", involved_dim=[True],
        ),
        node(17, SEND, "nccl:send", (13,), comm_size=5000, comm_dst=(rank + 1) % ranks, comm_tag=3),
        node(18, RECV, "nccl:recv", (13,), comm_size=5000, comm_src=(rank - 1) % ranks, comm_tag=3),
        node(19, COMP, "optimizer", (16, 17, 18), us=20, packed=False, **gpu),
    ]  # fmt: skip


def rows_of(program, rank=0):
    return [row for row in program.operations.to_pylist() if row["rank"] == rank]


@pytest.fixture
def trace(tmp_path):
    return chakra.write(tmp_path / "step", [step(rank) for rank in range(4)])


def test_info_counts_nodes_dependencies_times_and_bytes(shell, trace):
    found = json.loads(shell("trace", "info", str(trace), "--json").out)
    assert (found["name"], found["format"], found["nranks"]) == ("job", "Chakra trace", 4)
    assert found["node_types"] == {
        "METADATA": 4, "MEM_LOAD": 4, "COMP": 16, "COMM_SEND": 4, "COMM_RECV": 4, "COMM_COLL": 12
    }  # fmt: skip
    assert (found["nodes"], found["data_deps"], found["ctrl_deps"]) == (44, 44, 0)
    assert found["sum_duration_micros"] == 4 * (5 + 100 + 9 + 100 + 4 + 50 + 20)
    assert found["sum_comm_size"] == 4 * ((1 << 20) + (1 << 16))
    assert found["comm_coll_with_comm_type"] == {"0": 4, "7": 4}
    assert found["comm_coll_without_comm_type"] == 4
    assert (found["total_sends"], found["total_send_bytes"], found["total_recvs_posted"]) == (4, 20000, 4)
    assert found["process_groups"] == {"": [0, 1, 2, 3], "even": [0, 2], "odd": [1, 3]}
    assert found["attr_names"]["tid"] == 20
    assert found["per_rank"][2]["schema"] == "1.0.1"
    page = shell("trace", "info", str(trace / "job.2.et")).out
    assert "job: Chakra trace, 4 ranks, 44 nodes" in page
    assert "1 memory operations, left out: load weights (1)" in page


def test_a_graph_becomes_operations_on_streams(shell, trace, tmp_path):
    out = tmp_path / "x.program"
    done = shell("trace", "convert", str(trace), str(out))
    assert done.code == 0, done.err
    program = operations.read(out)
    rows = rows_of(program)
    kinds = [row["kind"] for row in rows]
    assert kinds[:4] == ["compute"] * 4
    assert kinds[4:] == ["allreduce", "reduce_scatter_block", "isend", "recv", "compute"]
    launch, first, second, call, allreduce, scatter, send, recv, last = rows
    # Both layers on one stream of the GPU; the memory operation between them is skipped.
    assert first["stream"] == second["stream"] == last["stream"] != launch["stream"]
    assert (first["after"], second["after"]) == ([0], [])
    assert call["stream"] not in (launch["stream"], first["stream"])
    assert (allreduce["bytes"], allreduce["after"], allreduce["comm"]) == (1 << 20, [3], 0)
    # Half of the vector for each of two.
    assert scatter["bytes"] == 1 << 15
    assert scatter["comm"] > 0
    assert (send["peer"], recv["peer"], send["tag"], send["bytes"]) == (1, 3, 3, 5000)
    assert send["request"] == operations.DETACHED
    assert last["after"] == [5, 6, 7]
    assert [row["duration_ps"] for row in (launch, first, last)] == [5 * 10**6, 10**8, 2 * 10**7]
    members = {row["comm"]: row["members"] for row in program.communicators.to_pylist()}
    assert sorted(members.values()) == [[0, 2], [1, 3]]
    assert shell("trace", "lint", str(out)).code == 0
    assert "4 calls on the CPU" not in done.err
    assert (
        "calls on the CPU that start collectives, computation of their duration: c10d::allreduce_" in done.err
    )


def test_a_converted_trace_runs_with_one_digest_on_every_scheduler(shell, trace, tmp_path):
    assert shell("trace", "convert", str(trace), str(tmp_path / "x.program")).code == 0
    scenario = tmp_path / "x.toml"
    scenario.write_text(MACHINE)
    first = odonata.run(scenario)
    # Launch, two layers and the optimizer are in a row.
    assert min(row["elapsed_s"] for row in first.rows("ranks")) >= 225e-6
    digests = {first.run["digest"]}
    digests.add(
        odonata.run(scenario, overrides={"run.scheduler": "conservative", "run.threads": 2}).run["digest"]
    )
    assert len(digests) == 1


def test_a_receive_that_needs_the_send_before_it_does_not_stall_a_ring(shell, tmp_path):
    """Like MSCCL's rings: each rank sends 64 KiB, above the eager threshold, before it receives."""

    def ring(rank, ranks=4):
        return [
            node(1, SEND, "s", comm_size=1 << 16, comm_dst=(rank + 1) % ranks),
            node(2, RECV, "r", (1,), comm_size=1 << 16, comm_src=(rank - 1) % ranks),
            node(3, COMP, "sum", (2,), us=7),
        ]

    folder = chakra.write(tmp_path / "ring", [ring(rank) for rank in range(4)])
    lint = shell("trace", "lint", str(folder))
    assert lint.code == 0, lint.out
    assert shell("trace", "convert", str(folder), str(tmp_path / "x.program")).code == 0
    scenario = tmp_path / "x.toml"
    scenario.write_text(MACHINE)
    run = odonata.run(scenario)
    assert run.outcome == "completed"
    assert all(row["bytes_received"] == 1 << 16 for row in run.rows("ranks"))


@pytest.mark.parametrize("attribute", ["pg_name", "comm_group"])
def test_groups_of_collectives_are_honoured_by_either_attribute(shell, tmp_path, attribute):
    def rank(number):
        group = 1 + number // 4
        named = str(group) if attribute == "pg_name" else group
        return [node(1, COLL, "sum", comm_type=0, comm_size=1 << 20, **{attribute: named})]

    folder = chakra.write(tmp_path / "groups", [rank(number) for number in range(8)])
    found = json.loads(shell("trace", "info", str(folder), "--json").out)
    assert found["process_groups"] == {"1": [0, 1, 2, 3], "2": [4, 5, 6, 7]}
    assert shell("trace", "convert", str(folder), str(tmp_path / "x.program")).code == 0
    members = operations.read(tmp_path / "x.program").communicators.to_pylist()
    assert sorted(row["members"] for row in members) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_operations_take_their_time_at_a_stated_rate(shell, tmp_path):
    nodes = [
        node(1, COMP, "a", num_ops=3 * 10**12),
        node(2, COMP, "b", (1,), us=5, num_ops=10**12),
    ]
    folder = chakra.write(tmp_path / "ops", [nodes])
    out = tmp_path / "x.program"
    done = shell("trace", "convert", str(folder), str(out), "--flops", "2 TFLOP/s")
    assert done.code == 0, done.err
    # 3e12 / 2e12 = 1.5 s; a given duration stays.
    assert [row["duration_ps"] for row in rows_of(operations.read(out))] == [15 * 10**11, 5 * 10**6]
    assert "1 nodes without duration compute their num_ops at the rate of --flops" in done.err
    assert "no duration" not in done.err
    for text in ("fast", "0 TFLOP/s"):
        bad = shell("trace", "convert", str(folder), str(out), "--force", "--flops", text)
        assert (bad.code, "no rate of operations" in bad.err) == (2, True)
    without = chakra.write(tmp_path / "timed", [[node(1, COMP, us=5)]])
    refused = shell("trace", "convert", str(without), str(tmp_path / "y"), "--flops", "2 TFLOP/s")
    assert (refused.code, "all nodes with num_ops have a duration" in refused.err) == (2, True)


def test_attributes_without_effect_are_counted_and_named(shell, tmp_path):
    nodes = [
        node(1, COLL, "sum", comm_type=0, comm_size=64, comm_priority=3, rf_id=1),
        node(2, COMP, "a", us=5, tensor_size=7),
        node(3, COMP, "b", us=5, tensor_size=7),
    ]
    output = shell("trace", "lint", str(chakra.write(tmp_path / "odd", [nodes]))).out
    assert "2 attributes have no effect: tensor_size (2), comm_priority (1)" in output


def test_files_packed_by_gzip_are_read(shell, tmp_path):
    whole = chakra.trace(*step(0, 1))
    plain = tmp_path / "plain" / "x.0.et"
    for name, data in (
        ("plain/x.0.et", whole),
        ("named/x.0.et.gz", gzip.compress(whole)),
        ("unnamed/x.0.et", gzip.compress(whole)),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(data)
    first = json.loads(shell("trace", "info", str(plain), "--json").out)
    for folder in ("named", "unnamed"):
        found = json.loads(shell("trace", "info", str(tmp_path / folder), "--json").out)
        assert {**found, "per_rank": 0, "bytes": 0} == {**first, "per_rank": 0, "bytes": 0}
    cut = tmp_path / "cut.0.et"
    cut.write_bytes(gzip.compress(whole)[:-20])
    done = shell("trace", "info", str(cut))
    assert (done.code, "cannot be unpacked" in done.err) == (2, True)
    packed = tmp_path / "small.0.json.gz"
    packed.write_bytes(
        gzip.compress(json.dumps({"workload_graph": [{"id": 1, "type": 4, "runtime": 7}]}).encode())
    )
    assert json.loads(shell("trace", "info", str(packed), "--json").out)["sum_duration_micros"] == 7


def test_files_without_metadata_are_read_and_nodes_of_old_schemas_are_named(shell, tmp_path):
    def framed(*messages):
        return b"".join(chakra.varint(len(message)) + message for message in messages)

    path = tmp_path / "x.0.et"
    path.write_bytes(framed(node(1, COMP, us=7), node(2, COMP, after=(1,), us=5)))
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    assert (found["nodes"], found["sum_duration_micros"]) == (2, 12)
    old_names = chakra.number(1, 1) + chakra.text(2, "a") + chakra.number(3, 6)
    for old in (
        # 0.0.1: the kind of a collective is field 13. 0.0.3: attributes are field 11.
        old_names + chakra.number(13, 1) + chakra.number(18, 64),
        old_names + chakra.text(11, chakra.text(1, "comm_type") + chakra.number(2, 2)),
    ):
        path.write_bytes(framed(old))
        done = shell("trace", "info", str(path))
        assert done.code == 2
        assert "a node of a Chakra schema before October 2023 (0.0.1 to 0.0.3)" in done.err


def test_one_rank_can_stand_for_many(shell, tmp_path):
    nodes = [
        node(1, COMP, us=10),
        node(2, COLL, "allgather", (1,), comm_type=2, comm_size=4096),
        node(3, COLL, "alltoall", (2,), comm_type=6, comm_size=4099),
        node(4, COLL, "broadcast", (3,), comm_type=5, comm_size=64),
        node(5, COLL, "barrier", (4,), comm_type=9),
    ]
    folder = chakra.write(tmp_path / "one", [nodes])
    out = tmp_path / "x.program"
    alone = shell("trace", "convert", str(folder), str(out))
    assert "the trace has one rank: its collectives send nothing; --ranks N has N do the same" in alone.err
    done = shell("trace", "convert", str(folder), str(out), "--force", "--ranks", "8")
    assert done.code == 0, done.err
    program = operations.read(out)
    assert program.description["ranks"] == 8
    assert rows_of(program, 7) == [{**row, "rank": 7} for row in rows_of(program, 0)]
    # The contribution of each, and an eighth for each, rounded up.
    assert [row["bytes"] for row in rows_of(program)][1:] == [4096, 513, 64, None]
    assert "8 collectives of bytes that are no multiple of the ranks: rounded up" in done.err
    assert "8 calls of broadcast have rank 0 of their group as root" in done.err
    four = chakra.write(tmp_path / "four", [step(rank) for rank in range(4)])
    refused = shell("trace", "convert", str(four), str(tmp_path / "y"), "--ranks", "8")
    assert refused.code == 2
    assert "the trace has files of 4 ranks" in refused.err


def test_many_dependencies_are_joined_and_each_is_kept(shell, tmp_path):
    nodes = [node(i, COMP, us=i, is_cpu_op=False, tid=i) for i in range(1, 13)]
    nodes.append(node(20, COMP, "all", tuple(range(1, 13)), us=1, is_cpu_op=True))
    out = tmp_path / "x.program"
    assert shell("trace", "convert", str(chakra.write(tmp_path / "wide", [nodes])), str(out)).code == 0
    rows = rows_of(operations.read(out))
    assert len({row["stream"] for row in rows}) == 13
    joined = rows[12:]
    assert [row["duration_ps"] for row in joined] == [0, 0, 10**6]
    assert sorted(number for row in joined for number in row["after"]) == list(range(12))
    assert len({row["stream"] for row in joined}) == 1


def test_control_dependencies_order_where_all_of_them_can_be_kept(tmp_path):
    def graph(*nodes):
        (tmp_path / "x.0.et").write_bytes(chakra.trace(*nodes))
        return order.dependency_graph(reader.read(files.RankFile(tmp_path / "x.0.et", 0)))

    kept = graph(node(1, COMP, us=1, calls=(2,)), node(2, COMP, us=1))
    assert (kept.order, kept.by_control) == ([1, 0], True)
    itself = graph(node(1, COMP, us=1, calls=(1,)), node(2, COMP, us=1))
    assert (itself.order, itself.by_control) == ([0, 1], False)
    assert "1 on the node itself" in itself.notes[0]
    lost = graph(node(1, COMP, us=1, calls=(9,)), node(2, COMP, us=1))
    assert "1 of 1 control dependencies are on missing nodes" in lost.notes[0]
    against = graph(node(1, COMP, us=1, calls=(2,)), node(2, COMP, after=(1,), us=1))
    assert (against.order, against.by_control) == ([0, 1], False)
    assert "contradict" in against.notes[0]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node(1, COMP, after=(2,)), node(2, COMP, after=(3,)), node(3, COMP, after=(2,))],
         "data dependencies go in a circle of 2: 2 needs 3 needs 2"),
        ([node(1, COMP, after=(1,))], "data dependencies go in a circle of 1: 1 needs 1"),
        ([node(1, COMP, after=(7,))], "1 data dependencies are on nodes that are not there: 7 of node 1"),
        ([node(1, COMP), node(1, COMP)], "1 nodes have the id of another: 1"),
        ([node(1, SEND, comm_size=1, comm_dst=5)], "has comm_dst 5, of 1 ranks"),
    ],
)  # fmt: skip
def test_what_is_no_order_is_found_and_not_converted(shell, tmp_path, nodes, message):
    folder = chakra.write(tmp_path / "bad", [nodes])
    done = shell("trace", "lint", str(folder))
    assert done.code == 1
    assert f"error: graph: job.0.et: {message}" in done.out or message in done.out
    refused = shell("trace", "convert", str(folder), str(tmp_path / "y"))
    assert refused.code == 2
    assert message in refused.err
    assert not (tmp_path / "y").exists()


def test_members_that_call_different_collectives_are_refused(shell, tmp_path):
    ranks = [[node(1, COLL, "a", comm_type=0, comm_size=8 + 8 * rank)] for rank in range(2)]
    folder = chakra.write(tmp_path / "odd", ranks)
    done = shell("trace", "lint", str(folder))
    assert done.code == 1
    assert (
        "error: replay: job.1.et: collective number 0 of process group '' is allreduce of 16 B here, "
        "and allreduce of 8 B in job.0.et" in done.out
    )


def test_ranks_without_a_file_and_folders_with_several_traces_are_named(shell, trace):
    (trace / "job.1.et").unlink()
    assert "error: graph: rank 1: the file of this rank is missing" in shell("trace", "lint", str(trace)).out
    chakra.write(trace, [[node(1, COMP)]], "other")
    done = shell("trace", "info", str(trace))
    assert done.code == 2
    assert "the folder has several traces: job.*.et, other.*.et" in done.err
    assert shell("trace", "info", str(trace / "other.0.et")).code == 0
    missing = shell("trace", "info", str(trace / "none.0.et"))
    assert (missing.code, "No such file" in missing.err) == (2, True)


def test_collectives_that_lack_type_or_size_are_named_and_counted(shell, tmp_path):
    nodes = [
        node(1, COLL, "ncclKernel_ReduceScatter_RING", comm_size=64),
        node(2, COLL, "mystery", comm_size=64),
        node(3, COLL, "ncclAllReduce"),
        node(4, 11, "odd"),
        node(5, COMP, "flops", num_ops=10**9),
    ]
    out = tmp_path / "x.program"
    done = shell("trace", "convert", str(chakra.write(tmp_path / "some", [nodes])), str(out), "--ranks", "2")
    assert done.code == 0, done.err
    assert [row["kind"] for row in rows_of(operations.read(out))] == ["reduce_scatter_block"]
    assert (
        "2 messages and collectives that lack type, size or peer, left out: mystery (1), ncclAllReduce (1)"
        in (done.err)
    )
    assert "2 collectives without comm_type are by their names: reduce_scatter_block" in done.err
    assert "1 nodes of no known type, left out: type 11 (odd) (1)" in done.err
    assert "1 node with num_ops but no duration: no time" in done.err


def test_the_json_form_is_read_too(shell, tmp_path):
    graph = [
        {
            "Id": 1,
            "Name": "a",
            "NodeType": 4,
            "ctrlDeps": [0],
            "data_deps": [],
            "runtime": 7,
            "is_cpu_op": True,
        },
        {"Id": 2, "Name": "b", "NodeType": 7, "data_deps": [1], "comm_type": 0, "comm_size": 64},
    ]
    path = tmp_path / "small.0.json"
    path.write_text(json.dumps({"workload_graph": graph, "ngpus": 8}))
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    assert (found["format"], found["sum_duration_micros"], found["sum_comm_size"]) == ("Chakra trace", 7, 64)
    out = tmp_path / "x.program"
    assert shell("trace", "convert", str(path), str(out), "--ranks", "4").code == 0
    assert [row["kind"] for row in rows_of(operations.read(out), 3)] == ["compute", "allreduce"]
    graph[1]["data_deps"] = ["1"]
    path.write_text(json.dumps({"workload_graph": graph}))
    refused = shell("trace", "info", str(path))
    assert refused.code == 2
    assert "node number 1 of workload_graph: data_deps is '1'" in refused.err
    path.write_text('{"workload_graph": [')
    assert "it is no JSON" in shell("trace", "info", str(path)).err


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (chakra.trace(node(1, COMP))[:-1], "the file ends at byte"),
        (b"\xff" * 11, "its length is no number of 64 bits"),
        (chakra.trace() + b"\xff\xff\xff\xff\x7f", "would end at byte"),
        (chakra.trace() + b"\x00", "message 1, at byte 19, is empty"),
        (chakra.trace() + b"\x03\x12\x01\xff", "is no node"),
        (chakra.trace(node(1, COMP, us=1 << 62)), "takes 4611686018427387904 us"),
        (chakra.trace(node(1, COLL, comm_size=-5)), "comm_size is -5"),
        (chakra.trace(node(1, COLL, comm_type="x")), "comm_type is 'x'"),
    ],
)
def test_damage_is_an_error_that_names_its_place(shell, tmp_path, data, message):
    path = tmp_path / "x.0.et"
    path.write_bytes(data)
    done = shell("trace", "info", str(path))
    assert done.code == 2
    assert message in done.err
    assert "x.0.et" in done.err


def test_old_metadata_is_read(tmp_path):
    (tmp_path / "x.0.et").write_bytes(chakra.trace(node(1, COMP), old=True))
    assert reader.read(files.RankFile(tmp_path / "x.0.et", 0)).schema == "1.0.1"


def test_bytes_that_were_changed_give_an_error_or_a_trace_and_nothing_else(tmp_path):
    lot = random.Random(7)
    whole = chakra.trace(*step(0, 1))
    path = tmp_path / "x.0.et"
    endings = set()
    for _ in range(600):
        data = bytearray(whole[: lot.randrange(len(whole))] if lot.random() < 0.2 else whole)
        for _ in range(lot.randint(1, 4)):
            if data:
                data[lot.randrange(len(data))] = lot.randrange(256)
        path.write_bytes(data)
        try:
            survey.info(survey.take(path))
            endings.add("taken")
        except InputError as error:
            endings.add("refused" if error.file == str(path) else f"without the file: {error}")
    assert endings == {"taken", "refused"}


@pytest.mark.parametrize("folder", reference_traces.sets("chakra"))
def test_real_traces_give_the_numbers_of_their_truth_and_run(shell, tmp_path, folder):
    truth = json.loads((folder / "ground-truth.json").read_text())
    path = folder / truth["file"]
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    for key, value in truth.items():
        if key != "file":
            assert found[key] == value, key
    assert shell("trace", "lint", str(path)).code == 0
    assert shell("trace", "convert", str(path), str(tmp_path / "x.program"), "--ranks", "8").code == 0
    program = operations.read(tmp_path / "x.program")
    calls = [row["bytes"] for row in rows_of(program) if row["kind"] in ("allreduce", "broadcast")]
    assert sum(calls) == truth["sum_comm_size"]
    (tmp_path / "x.toml").write_text(MACHINE)
    assert odonata.run(tmp_path / "x.toml").outcome == "completed"
