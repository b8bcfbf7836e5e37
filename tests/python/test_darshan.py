"""Darshan logs: output of `odonata trace`, and replay; `tests/traces` writes them."""

from __future__ import annotations

import json
import math
import os
from collections import Counter

import pytest
import reference_traces
from conftest import ROOT
from darshan_writer import Writer, in_ranges

import odonata
from odonata import operations
from odonata.traces.darshan_log import accesses, reader

KIB, MIB = 1 << 10, 1 << 20

MACHINE = """\
[machine.dragonfly]
groups = 1
routers_per_group = 8
nodes_per_router = 4
global_ports_per_router = 0
[storage]
nodes = { per_group = 2 }
device = { capacity = "10 GB", rate = { write = "5 GB/s", read = "5 GB/s", overhead = "20 us" } }
"""


def job(**more):
    """A log of 4 ranks: a file of all, one of rank 1 with DXT, and a stream."""
    log = Writer(4, **more)
    log.record(
        "POSIX",
        7,
        "/scratch/shared",
        -1,
        OPENS=4,
        WRITES=16,
        READS=4,
        **in_ranges("WRITE", [MIB] * 12 + [300] * 4),
        **in_ranges("READ", [MIB] * 4),
        MAX_BYTE_WRITTEN=13 * MIB - 1,
        MAX_BYTE_READ=4 * MIB - 1,
        CONSEC_WRITES=12,
        SEQ_WRITES=12,
        ACCESS1_ACCESS=MIB,
        ACCESS1_COUNT=16,
        ACCESS2_ACCESS=300,
        ACCESS2_COUNT=4,
        FASTEST_RANK=1,
        FASTEST_RANK_BYTES=4 * MIB + 300,
        SLOWEST_RANK=2,
        SLOWEST_RANK_BYTES=4 * MIB + 300,
        F_OPEN_START_TIMESTAMP=0.5,
        F_OPEN_END_TIMESTAMP=0.6,
        F_WRITE_START_TIMESTAMP=1.0,
        F_WRITE_END_TIMESTAMP=3.0,
        F_READ_START_TIMESTAMP=4.0,
        F_READ_END_TIMESTAMP=5.0,
        F_CLOSE_START_TIMESTAMP=6.0,
        F_CLOSE_END_TIMESTAMP=6.1,
        F_WRITE_TIME=1.6,
        SEEKS=3,
    )
    log.layout(7, "/scratch/shared", 4 * MIB, [3, 9])
    writes = [(i * 1000, 1000, 2.0 + i, 2.5 + i) for i in range(3)]
    log.record(
        "POSIX",
        8,
        "/scratch/own",
        1,
        OPENS=1,
        WRITES=3,
        **in_ranges("WRITE", [1000] * 3),
        MAX_BYTE_WRITTEN=2999,
    )
    log.segments("DXT_POSIX", 8, "/scratch/own", 1, writes, [])
    log.record("STDIO", 9, "<STDOUT>", 0, OPENS=1, WRITES=3, BYTES_WRITTEN=100, MAX_BYTE_WRITTEN=99)
    # POSIX carried out the requests of MPI-IO.
    log.record("MPI-IO", 7, "/scratch/shared", -1, COLL_OPENS=4, COLL_WRITES=4, BYTES_WRITTEN=12 * MIB + 1200)
    return log


@pytest.fixture
def log(tmp_path):
    return job().write(tmp_path / "job.darshan")


def moved(program):
    """Numbers and bytes of opens, reads and writes of each file, as the program's table has them."""
    found = Counter()
    for row in program.operations.to_pylist():
        if row["kind"] in ("open", "read", "write"):
            found[row["file"], row["kind"], "count"] += 1
            found[row["file"], row["kind"], "bytes"] += row["bytes"] or 0
    return found


def assert_same_as_counted(program, origin):
    """Per file, the operations of the program equal the counts of the log."""
    found = moved(program)
    for file in origin["files"]:
        for kind, name in (("open", "opens"), ("read", "reads"), ("write", "writes")):
            assert found[file["file"], kind, "count"] == file[name], (file, kind)
        assert found[file["file"], "read", "bytes"] == file["bytes_read"]
        assert found[file["file"], "write", "bytes"] == file["bytes_written"]


@pytest.mark.parametrize("version", ["3.41", "3.21"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_info_says_what_is_in_a_log_of_any_version_and_byte_order(shell, tmp_path, version, order):
    path = job(version=version, order=order).write(tmp_path / "job.darshan")
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    assert (found["nranks"], found["job"]["nprocs"], found["job"]["log_ver"]) == (4, 4, version)
    assert found["exe"] == "./program with arguments"
    assert found["n_name_records"] == 3
    assert found["total_op_counts"] == {"open": 6, "read": 4, "write": 22}
    posix = found["modules"]["POSIX"]
    assert posix["records"] == 2
    assert posix["counters"]["POSIX_WRITES"] == {"sum": 19, "max": 16}
    assert posix["bytes_per_rank"]["1"] == {"POSIX_BYTES_READ": 0, "POSIX_BYTES_WRITTEN": 3000}
    assert posix["fcounters"]["POSIX_F_WRITE_TIME"]["sum"] == 1.6
    dxt = found["modules"]["DXT_POSIX"]
    assert (dxt["write_segments"], dxt["write_bytes"], dxt["first_start"], dxt["last_end"]) == (
        3,
        3000,
        2.0,
        4.5,
    )
    assert found["modules"]["LUSTRE"]["layouts"] == [
        {"stripe_bytes": 4 * MIB, "stripe_count": 2, "components": 1}
    ]


def test_info_shows_modules_and_files(shell, log):
    page = shell("trace", "info", str(log))
    assert page.code == 0
    assert "Darshan log 3.41, 4 ranks" in page.out
    assert "ran for 10 s; 4 MiB read and 12 MiB written, in 3 files" in page.out
    assert "/scratch/shared" in page.out
    assert "2 x 4 MiB" in page.out


def test_a_log_is_found_by_its_first_bytes_too(shell, log):
    other = log.rename(log.with_name("other"))
    assert json.loads(shell("trace", "info", str(other), "--json").out)["format"] == "Darshan log"


def test_a_folder_stands_for_the_only_log_in_it(shell, log, tmp_path):
    assert shell("trace", "convert", log.name, "file.program").code == 0
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "README.md").write_text("of a job\n")
    (folder / "._job.darshan").write_bytes(b"of a macOS archive")
    moved = log.rename(folder / "job.darshan")
    assert json.loads(shell("trace", "info", "logs", "--json").out)["name"] == "job.darshan"
    assert shell("trace", "lint", "logs").code == 0
    assert shell("trace", "convert", "logs", "folder.program").code == 0
    written = [(tmp_path / f"{name}.program/operations.parquet").read_bytes() for name in ("file", "folder")]
    assert written[0] == written[1]

    (folder / "other.darshan").write_bytes(moved.read_bytes())
    for command in (["info", "logs"], ["lint", "logs"], ["convert", "logs", "x.program"]):
        refused = shell("trace", *command)
        assert refused.code == 2
        message = " ".join(refused.err.split())
        assert "the folder holds 2 Darshan logs: job.darshan, other.darshan" in message
        assert "--> logs expected the path of one of them" in message
    assert not (tmp_path / "x.program").exists()


def test_lint_says_what_is_missing_and_what_is_assumed(shell, tmp_path):
    whole = job().write(tmp_path / "whole.darshan")
    done = shell("trace", "lint", str(whole))
    assert done.code == 0, done.out
    assert "note: replay: 3 seeks: not replayed" in done.out
    partial = job(partial=("POSIX",)).write(tmp_path / "partial.darshan")
    done = shell("trace", "lint", str(partial))
    assert done.code == 1
    assert "error: complete: module POSIX is partial" in done.out


def test_bytes_and_operations_of_every_file_are_those_of_the_log(shell, log, tmp_path):
    out = tmp_path / "x.program"
    done = shell("trace", "convert", str(log), str(out))
    assert done.code == 0, done.err
    assert "not known: the ranks of 1 records" in done.err
    origin = json.loads((out / "origin.json").read_text())
    files = {file["name"]: file for file in origin["files"]}
    shared = files["/scratch/shared"]
    assert (shared["opens"], shared["reads"], shared["writes"]) == (4, 4, 16)
    assert (shared["bytes_read"], shared["bytes_written"]) == (4 * MIB, 12 * MIB + 1200)
    assert (shared["stripe_bytes"], shared["stripe_count"]) == (4 * MIB, 2)
    assert files["<STDOUT>"]["bytes_written"] == 100
    assert_same_as_counted(operations.read(out), origin)


def assert_simulated(results, origin):
    """Per file, the requests to the servers equal the counts of the log."""
    found = Counter()
    for row in results.rows("io"):
        found[row["file"], row["operation"], "count"] += 1
        found[row["file"], row["operation"], "bytes"] += row["bytes"]
    for file in origin["files"]:
        for kind, name, bytes in (("read", "reads", "bytes_read"), ("write", "writes", "bytes_written")):
            assert found[file["file"], kind, "count"] == file[name], (file, kind)
            assert found[file["file"], kind, "bytes"] == file[bytes], (file, kind)


def test_the_converted_program_is_the_simulated_one(log, tmp_path, shell):
    assert shell("trace", "convert", str(log), str(tmp_path / "x.program")).code == 0
    (tmp_path / "s.toml").write_text(MACHINE + '[[jobs]]\ntrace = "x.program"\n')
    results = odonata.run(tmp_path / "s.toml")
    (row,) = results.rows("jobs")
    assert results.outcome == "completed"
    assert (row["bytes_read"], row["bytes_written"]) == (4 * MIB, 12 * MIB + 1200 + 3000 + 100)
    assert row["io_operations"] == 4 + 16 + 3 + 3
    assert_simulated(results, json.loads((tmp_path / "x.program/origin.json").read_text()))
    # Ranks compute until the job ends, except for the difference in access times.
    assert 9.0 < row["elapsed_s"] < 10.5


def test_accesses_with_dxt_are_exact(log):
    found = accesses.find(reader.read(log))
    own = next(file for file in found.files if file.name == "/scratch/own")
    mine = (found.file == own.number) & (found.kind == accesses.WRITE)
    assert found.rank[mine].tolist() == [1, 1, 1]
    assert found.offset[mine].tolist() == [0, 1000, 2000]
    assert found.start_s[mine].tolist() == [2.0, 3.0, 4.0]
    assert own.exact == 3


def test_sizes_come_from_common_sizes_and_ranges(log):
    found = accesses.find(reader.read(log))
    shared = next(file for file in found.files if file.name == "/scratch/shared")
    writes = found.bytes[(found.file == shared.number) & (found.kind == accesses.WRITE)]
    assert Counter(writes.tolist()) == {MIB: 12, 300: 4}
    assert not found.contradictions


def test_the_same_log_gives_the_same_program(shell, log, tmp_path):
    for name in ("a", "b"):
        assert shell("trace", "convert", str(log), str(tmp_path / name)).code == 0
    one, other = (operations.read(tmp_path / name).operations for name in ("a", "b"))
    assert one.equals(other)


def test_dxt_that_lacks_accesses_is_completed_from_counters(tmp_path):
    log = Writer(1)
    log.record("POSIX", 7, "/a", 0, OPENS=1, WRITES=5, **in_ranges("WRITE", [1000] * 3 + [5000] * 2))
    log.segments("DXT_POSIX", 7, "/a", 0, [(0, 1000, 1.0, 1.1), (1000, 5000, 1.2, 1.3)], [])
    found = accesses.find(reader.read(log.write(tmp_path / "a.darshan")))
    (file,) = found.files
    assert (file.writes, file.bytes_written, file.exact) == (5, 13000, 2)
    sizes = found.bytes[found.kind == accesses.WRITE]
    # Of the three that are reconstructed, two are in the range of the small ones, one in that of the large.
    assert sorted(size > KIB for size in sizes.tolist()) == [False, False, False, True, True]


def test_dxt_that_contradicts_the_counters_is_reported(shell, tmp_path):
    log = Writer(1)
    log.record("POSIX", 7, "/a", 0, OPENS=1, WRITES=1, **in_ranges("WRITE", [1000]))
    log.segments("DXT_POSIX", 7, "/a", 0, [(0, 1000, 1.0, 1.1), (1000, 5000, 1.2, 1.3)], [])
    done = shell("trace", "lint", str(log.write(tmp_path / "a.darshan")))
    assert done.code == 1
    assert "DXT_POSIX has 2 writes of 6000 B of /a, and POSIX counts 1 of 1000 B" in done.out


def test_a_shared_record_gives_each_rank_its_recorded_bytes(tmp_path):
    log = Writer(8)
    # Ranks 0 and 4 wrote half each, as two aggregators; mean 100, so that the variance is 400^2 x 2 / 8 -
    # 100^2.
    log.record(
        "POSIX",
        7,
        "/a",
        -1,
        WRITES=8,
        **in_ranges("WRITE", [100] * 8),
        MAX_BYTE_WRITTEN=799,
        CONSEC_WRITES=6,
        SEQ_WRITES=6,
        FASTEST_RANK=1,
        SLOWEST_RANK=7,
        F_VARIANCE_RANK_BYTES=400**2 * 2 / 8 - 100**2,
    )
    found = accesses.find(reader.read(log.write(tmp_path / "a.darshan")))
    assert found.rank.tolist() == [0] * 4 + [4] * 4
    assert found.offset.tolist() == [0, 100, 200, 300, 400, 500, 600, 700]


def test_the_interface_of_the_application_can_be_taken(shell, log, tmp_path):
    out = tmp_path / "x.program"
    assert shell("trace", "convert", str(log), str(out), "--interface", "mpi-io").code == 0
    origin = json.loads((out / "origin.json").read_text())
    shared = next(file for file in origin["files"] if file["name"] == "/scratch/shared")
    assert (shared["interfaces"], shared["writes"], shared["reads"]) == (["MPI-IO"], 4, 0)
    assert shared["bytes_written"] == 12 * MIB + 1200
    # A file without a record of it is taken from the other.
    own = next(file for file in origin["files"] if file["name"] == "/scratch/own")
    assert own["interfaces"] == ["POSIX"]
    assert_same_as_counted(operations.read(out), origin)
    refused = shell("trace", "convert", str(log), str(tmp_path / "y"), "--interface", "hdf5")
    assert refused.code == 2
    assert "one of posix, mpi-io" in refused.err


def test_files_of_daos_are_replayed_by_its_file_system(tmp_path):
    log = Writer(4)
    for rank in range(4):
        counts = in_ranges("WRITE", [MIB] * 6)
        log.record("DFS", 20 + rank, f"/pool/{rank}", rank, OPENS=1, WRITES=4, NB_WRITES=2, **counts)
    # Requests of MPI-IO go through DFS and are not replayed twice.
    log.record("MPI-IO", 7, "daos:/pool/0", -1, COLL_OPENS=4, COLL_WRITES=24, BYTES_WRITTEN=24 * MIB)
    read = reader.read(log.write(tmp_path / "a.darshan"))
    found = accesses.find(read)
    assert [(file.writes, file.bytes_written) for file in found.files] == [(6, 6 * MIB)] * 4
    assert any("1 records of the same files" in text for text in found.unknown)
    (file,) = accesses.find(read, "MPI-IO").files
    assert (file.writes, file.bytes_written) == (24, 24 * MIB)


def test_files_can_be_left_out(shell, log, tmp_path):
    out = tmp_path / "x.program"
    assert shell("trace", "convert", str(log), str(out), "--without", "<STD*").code == 0
    names = [file["name"] for file in json.loads((out / "origin.json").read_text())["files"]]
    assert names == ["/scratch/own", "/scratch/shared"]
    refused = shell("trace", "convert", str(log), str(tmp_path / "y"), "--without", "/nowhere*")
    assert refused.code == 2
    assert "no file of the log fits" in refused.err
    assert not (tmp_path / "y").exists()


def test_a_converted_log_is_repeated_and_scaled(shell, log, tmp_path):
    out = tmp_path / "x.program"
    assert shell("trace", "convert", str(log), str(out), "-n", "3", "--compute-scale", "0").code == 0
    rows = operations.read(out).operations.to_pylist()
    assert sum(row["kind"] == "write" for row in rows) == 3 * 22
    assert not any(row["duration_ps"] for row in rows)
    refused = shell("trace", "repeat", str(log), "-n", "3", "-o", str(tmp_path / "y"))
    assert refused.code == 2
    assert "odonata trace convert --repeat" in refused.err


def test_a_log_that_is_cut_is_refused_with_the_place(shell, log):
    content = log.read_bytes()
    for length, words in (
        (0, "too few for the header"),
        (500, "in its header of 1328 bytes"),
        (1500, "would end at"),
    ):
        log.write_bytes(content[:length])
        refused = shell("trace", "info", str(log))
        assert refused.code == 2
        assert words in refused.err, refused.err
        assert str(log) in refused.err
    log.write_bytes(content + b"more")
    assert "4 bytes are behind it" in shell("trace", "lint", str(log)).err


def test_a_module_that_is_damaged_is_refused_unless_incomplete_logs_are_read(shell, log, tmp_path):
    content = bytearray(log.read_bytes())
    offset = int.from_bytes(content[48 + 16 : 48 + 24], "little")  # of module 1, POSIX
    content[offset + 10 : offset + 30] = bytes(20)
    log.write_bytes(content)
    refused = shell("trace", "convert", str(log), str(tmp_path / "x"))
    assert refused.code == 2
    assert "module POSIX" in refused.err
    assert "--incomplete" in refused.err
    done = shell("trace", "convert", str(log), str(tmp_path / "x"), "--incomplete")
    assert done.code == 0, done.err
    assert "not read: module POSIX" in done.err
    # MPI-IO has the file of all, and the stream is whole.
    names = {file["name"] for file in json.loads((tmp_path / "x/origin.json").read_text())["files"]}
    assert {"/scratch/shared", "<STDOUT>"} <= names


def test_what_is_no_log_is_refused(shell, tmp_path):
    for content, words in (
        (b"x" * 2000, "not Darshan's magic number"),
        (b"\x1f\x8b" + bytes(50), "Darshan 2"),
    ):
        path = tmp_path / "x.darshan"
        path.write_bytes(content)
        refused = shell("trace", "info", str(path))
        assert refused.code == 2
        assert words in refused.err
    assert "a Darshan log (.darshan, or" in shell("trace", "info", str(ROOT / "README.md")).err


def test_what_is_not_there_or_no_file_is_refused(shell, tmp_path):
    (tmp_path / "folder.darshan").mkdir()
    os.mkfifo(tmp_path / "pipe.darshan")
    for name, words in (
        ("folder", "the folder is empty"),
        ("pipe", "a named pipe"),
        ("nowhere", "No such file"),
    ):
        refused = shell("trace", "info", f"{name}.darshan")
        assert refused.code == 2, refused.err
        assert words in refused.err


def test_a_reader_that_takes_too_much_is_stopped(log):
    with pytest.raises(odonata.InputError, match=r"memory|decompression|cannot be loaded|SIG|failed while"):
        reader.read(log, memory=200 << 20)


def test_numbers_that_cannot_be_are_refused(shell, tmp_path):
    log = Writer(2)
    log.record("POSIX", 7, "/a", 0, WRITES=1 << 40, **in_ranges("WRITE", [1]))
    refused = shell("trace", "convert", str(log.write(tmp_path / "a.darshan")), str(tmp_path / "x"))
    assert refused.code == 2
    assert "it counts more than 30000000 opens, reads and writes" in refused.err
    log = Writer(2)
    log.record("POSIX", 7, "/a", 5, WRITES=1, **in_ranges("WRITE", [1]))
    assert (
        "a record of rank 5, of 2 ranks" in shell("trace", "info", str(log.write(tmp_path / "a.darshan"))).err
    )
    log = Writer(2)
    log.segments("DXT_POSIX", 7, "/a", 0, [(0, -5, 1.0, 1.1)], [])
    assert "a negative length" in shell("trace", "lint", str(log.write(tmp_path / "a.darshan"))).err


def same(found, truth, place=""):
    """Differences between an answer and the expected result: numbers by value, also numbers in texts."""
    if truth is None:
        return []
    if isinstance(truth, dict):
        missing = [f"{place}/{key} is missing" for key in truth if key not in found]
        return missing + [
            one for key in truth if key in found for one in same(found[key], truth[key], f"{place}/{key}")
        ]
    if isinstance(truth, list):
        if len(found) != len(truth):
            return [f"{place}: {len(found)} instead of {len(truth)}"]
        return [
            one
            for i, pair in enumerate(zip(found, truth, strict=True))
            for one in same(*pair, f"{place}[{i}]")
        ]
    if isinstance(truth, float):
        return (
            [] if math.isclose(found, truth, rel_tol=1e-9, abs_tol=1e-12) else [f"{place}: {found}, {truth}"]
        )
    if isinstance(truth, str) and isinstance(found, str) and found != truth:
        # The recorded numbers were rounded to floating point.
        try:
            return [] if float(found) == float(truth) else [f"{place}: {found}, {truth}"]
        except ValueError:
            pass
    return [] if found == truth else [f"{place}: {found}, {truth}"]


@pytest.mark.slow
@pytest.mark.parametrize("folder", reference_traces.sets("darshan"))
def test_real_logs_are_what_their_truth_says(shell, tmp_path, folder):
    (path,) = folder.glob("*.darshan")
    truth = json.loads((folder / "ground-truth.json").read_text())
    found = json.loads(shell("trace", "info", str(path), "--json").out)
    for module in truth["modules"].values():
        # Odonata has its own message for an unread module.
        module.pop("error", None)
    assert same(found, truth) == [], path
    out = tmp_path / f"{folder.name}.program"
    assert shell("trace", "convert", str(path), str(out)).code == 0
    assert_same_as_counted(operations.read(out), json.loads((out / "origin.json").read_text()))


@pytest.mark.slow
@pytest.mark.parametrize("folder", reference_traces.sets("darshan"))
def test_real_logs_are_replayed_with_their_bytes_and_operations(shell, tmp_path, folder):
    (path,) = folder.glob("*.darshan")
    out = tmp_path / f"{folder.name}.program"
    assert shell("trace", "convert", str(path), str(out)).code == 0
    origin = json.loads((out / "origin.json").read_text())
    ranks, accesses_ = origin["job"]["nprocs"], origin["reads_and_writes"]
    if ranks > 64 or accesses_ > 10_000:
        # Longer than an hour, but `odonata run` accepts them too.
        return
    per_node = max(1, -(-ranks // 30))
    scenario = tmp_path / "s.toml"
    large = MACHINE.replace("10 GB", "100 GB")
    scenario.write_text(f'{large}[[jobs]]\ntrace = "{out.name}"\nranks_per_node = {per_node}\n')
    results = odonata.run(scenario)
    assert results.outcome == "completed"
    assert_simulated(results, origin)


def test_two_jobs_that_share_servers_slow_each_other_down_and_are_blamed(shell, log, tmp_path):
    assert shell("trace", "convert", str(log), str(tmp_path / "x.program"), "--compute-scale", "0").code == 0
    job = '[[jobs]]\nname = "{}"\ntrace = "x.program"\n'
    machine = MACHINE.replace('"5 GB/s", read = "5 GB/s"', '"0.2 GB/s", read = "0.2 GB/s"')
    (tmp_path / "s.toml").write_text(
        machine.replace("{ per_group = 2 }", "{ per_group = 1 }") + job.format("one") + job.format("other")
    )
    results = odonata.run(tmp_path / "s.toml", baselines=True)
    slowdown = results.slowdown()
    assert set(slowdown) == {"one", "other"}
    # Two equal jobs on one server: together they take at least half as long again as alone.
    assert all(metrics["io"].ratio > 1.5 for metrics in slowdown.values())
    waits = [row for row in results.rows("blame") if (row["victim"], row["culprit"]) == ("one", "other")]
    assert sum(row["waited_s"] for row in waits if row["place"] == "server") > 0
