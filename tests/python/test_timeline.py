"""Timelines: recorded events become a valid trace whose totals equal those of the tables."""

import io
import json
import math
import re
import shutil
from collections import defaultdict
from pathlib import Path

import many_commands
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SMALL, Shell

import odonata
from odonata.timeline import totals
from odonata.timeline.recorded import Recorded, Slices
from odonata.timeline.trace import NS, TraceWriter, ps

pb = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

#: The small scenario with everything recorded, requests of files among it.
RECORDED = SMALL.replace(
    "[machine.dragonfly]",
    '[run]\nseries_interval = "20 us"\n[run.timeline]\n\n[storage.drain]\nbandwidth = "500 MB/s"\n'
    "\n[machine.dragonfly]",
)


def run(shell: Shell, text: str = RECORDED, *arguments: str, out: str = "out", code: int = 0) -> Path:
    shell.write(text)
    done = shell("run", "scenario.toml", "-o", out, "--quiet", *arguments)
    assert done.code == code, done.err
    return shell.folder / out


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, server: many_commands.Server) -> Path:
    return run(Shell(tmp_path_factory.mktemp("recorded"), server))


def trace_of(results: odonata.Results, **choice) -> tuple[dict, totals.Trace, bytes]:
    """The answer of `Results.timeline`, and the trace, read back."""
    file = results.path.parent / "trace.pftrace"
    answer = results.timeline(file, force=True, **choice)
    content = file.read_bytes()
    return answer, totals.read(io.BytesIO(content)), content


def sums(trace: totals.Trace, *way: str) -> dict[str, int]:
    """Picoseconds by category on a track."""
    found: dict[str, int] = defaultdict(int)
    for (category, _), one in trace.at(*way).items():
        found[category] += one.duration_ps
    return found


def test_a_trace_is_of_perfettos_schema_and_has_no_field_that_it_does_not_know(recorded):
    """The whole parses as one message, and the parser knows every field."""
    answer, _, content = trace_of(odonata.load(recorded))
    whole = pb.Trace.FromString(content)
    events = [packet for packet in whole.packet if packet.HasField("track_event")]
    assert len(events) == answer["events"]
    assert answer["bytes"] == len(content)
    # The parser drops unknown fields.
    assert sum(len(packet.SerializeToString()) for packet in whole.packet) < len(content)
    assert pb.Trace.FromString(content).SerializeToString() == content
    assert {packet.trusted_packet_sequence_id for packet in whole.packet} == {1}
    first, *others = whole.packet
    assert first.sequence_flags == pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert all(packet.sequence_flags == pb.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE for packet in others)
    tracks = [packet.track_descriptor for packet in whole.packet if packet.HasField("track_descriptor")]
    assert len({track.uuid for track in tracks}) == len(tracks)
    threads = [track.thread for track in tracks if track.HasField("thread")]
    pids = {track.process.pid for track in tracks if track.HasField("process")}
    assert len({thread.tid for thread in threads}) == len(threads) == 28
    assert not pids & {thread.tid for thread in threads}
    assert 0 not in pids
    assert {thread.pid for thread in threads} < pids


def test_totals_of_ranks_and_servers_are_those_of_the_tables(recorded):
    results = odonata.load(recorded)
    answer, trace, _ = trace_of(results)
    assert totals.differences(results, trace) == ([], 28 * (3 * 2 + 4) + 7 * 4)
    assert (answer["ranks"], answer["ranks_recorded"], answer["left_out"]) == (28, 28, [])
    # And once more without the module's knowledge of categories and places.
    for row in results.rows("ranks"):
        found = sums(trace, f"job {row['job']}", f"rank {row['rank']}")
        for category, column in (("compute", "compute_s"), ("mpi", "mpi_s"), ("io", "io_s")):
            assert found[category] == ps(row[column])
        calls = trace.at(f"job {row['job']}", f"rank {row['rank']}").values()
        assert sum(one.sums["sent"] for one in calls) == row["messages_sent"]
        assert sum(one.sums["received_bytes"] for one in calls) == row["bytes_received"]
        exact = sum(one.duration_ps for one in calls)
        rounded = sum(one.duration_ns for one in calls)
        assert abs(exact - NS * rounded) <= NS * sum(one.slices for one in calls)
    busy = sum(
        sum(sums(trace, *trace.way(track)).values())
        for track in trace.totals
        if trace.way(track)[-1].startswith("device")
    )
    assert busy == sum(ps(row["device_busy_s"]) for row in results.rows("servers")) > 0
    drained = [trace.totals[t] for t in trace.totals if trace.way(t)[-1] == "drain"]
    assert sum(one["storage", "drain"].sums["bytes"] for one in drained) == sum(
        row["bytes_drained"] for row in results.rows("servers")
    )


def test_every_message_is_an_arrow_from_its_sender_to_its_receiver(recorded):
    results = odonata.load(recorded)
    answer, trace, _ = trace_of(results)
    flows = results.rows("flows")
    assert (
        answer["messages"]
        == len(flows)
        == len(trace.starts)
        == sum(r["messages_sent"] for r in results.rows("ranks"))
    )
    assert set(trace.starts) == set(trace.ends)
    for number, flow in enumerate(flows, 1):
        (start, left), (end, taken) = trace.starts[number], trace.ends[number]
        assert trace.way(start) == (f"job {flow['job']}", f"rank {flow['source_rank']}")
        assert trace.way(end) == (f"job {flow['job']}", f"rank {flow['target_rank']}")
        assert left <= ps(flow["sent_s"]) / NS < ps(flow["arrived_s"]) / NS <= taken + 1


def test_iterations_requests_queues_and_links_are_shown(recorded):
    results = odonata.load(recorded)
    _, trace, _ = trace_of(results)
    iterations = trace.at("job halo", "rank 3", "iterations")
    assert sorted(name for _, name in iterations) == [f"iteration {number}" for number in range(5)]
    (last,) = [
        row["last_s"] for row in results.rows("iterations") if (row["job"], row["iteration"]) == ("halo", 4)
    ]
    of_all = [
        sum(one.duration_ps for one in trace.at("job halo", f"rank {rank}", "iterations").values())
        for rank in range(16)
    ]
    # The job starts at zero.
    assert max(of_all) == ps(last)
    requests = [one for rank in range(16) for one in trace.at("job halo", f"rank {rank}", "requests").items()]
    assert sum(one.slices for _, one in requests) == sum(
        row["job"] == "halo" for row in results.rows("requests")
    )
    assert {name for (_, name), _ in requests} == {"MPI_Isend", "MPI_Irecv"}
    counters = {trace.way(track): values for track, values in trace.counters.items()}
    queues = [values for way, values in counters.items() if way[-1] == "waiting for device 0"]
    assert len(queues) == 4
    assert all(values[-1][1] == 0 for values in queues)
    assert max(value for values in queues for _, value in values) > 0 <= min(v for q in queues for _, v in q)
    space = [max(v for _, v in values) for way, values in counters.items() if way[-1] == "space used"]
    peaks = [row["peak_used_bytes"] for row in results.rows("servers")]
    assert sorted(value for value in space if value) == sorted(peak for peak in peaks if peak)
    links = {way[1]: values for way, values in counters.items() if way[0] == "busiest links"}
    assert len(links) == 16
    busy = {f"{row['name']} ({row['class']})": row["busy_s"] for row in results.rows("links")}
    for name, values in links.items():
        assert sum(value for _, value in values) / 100 * 20e-6 == pytest.approx(busy[name], rel=1e-9)
        assert values[-1][1] == 0


def test_jobs_ranks_and_a_period_are_chosen(recorded):
    results = odonata.load(recorded)
    answer, trace, _ = trace_of(results, jobs=["halo"], ranks="0,5,8-9")
    assert {trace.way(t)[:2] for t in trace.totals if trace.way(t)[0].startswith("job")} == {
        ("job halo", f"rank {rank}") for rank in (0, 5, 8, 9)
    }
    assert answer["ranks"] == 4
    assert 0 < answer["messages"] < len(results.rows("flows"))
    assert set(trace.starts) == set(trace.ends)
    assert totals.differences(results, trace)[0] == []
    every, trace, _ = trace_of(results, ranks="every:8", from_s=20e-6, until_s=40e-6)
    assert every["ranks"] == 4
    assert (every["from_s"], every["until_s"]) == (20e-6, 40e-6)
    calls = [one for t, of in trace.totals.items() if len(trace.way(t)) == 2 for one in of.values()]
    expected = [
        row
        for row in results.rows("calls")
        if row["rank"] % 8 == 0
        and row["name"] != "iteration"
        and row["begin_s"] < 40e-6
        and (row["end_s"] > 20e-6 or row["begin_s"] >= 20e-6)
    ]
    of_ranks = sum(one.slices for one in calls)
    assert of_ranks == len(expected) > 0
    numbers = trace_of(results, jobs=["halo"], ranks=[3])[0]
    assert numbers["ranks"] == 1
    assert numbers["messages"] == 0


@pytest.mark.parametrize("most", [4000, 1500, 300, 40])
def test_a_trace_has_no_more_events_than_are_allowed_and_says_what_it_lacks(recorded, most):
    results = odonata.load(recorded)
    answer, trace, _ = trace_of(results, max_events=most)
    assert trace.events == answer["events"] <= most
    assert answer["left_out"]
    assert answer["ranks"] <= 28
    assert set(trace.starts) == set(trace.ends)
    different, compared = totals.differences(results, trace)
    # Complete parts still add up.
    assert different == []
    assert compared > 0 or most < 1500
    if most == 4000:
        assert any("every 2nd of each job" in message for message in answer["left_out"])
    if most == 40:
        assert any(message.startswith("calls of ranks after") for message in answer["left_out"])


def test_an_unfinished_run_has_its_calls_to_its_end(shell):
    folder = run(shell, RECORDED, "--set", 'run.time_limit="60 us"')
    results = odonata.load(folder)
    assert results.outcome == "time-limit"
    _, trace, content = trace_of(results)
    different, compared = totals.differences(results, trace)
    assert different == []
    assert compared >= 28 * 6
    ends = [
        packet.timestamp for packet in totals.packets(io.BytesIO(content)) if packet.HasField("track_event")
    ]
    assert max(ends) <= 60_000 + 20_000
    assert b"unfinished" in content


def test_a_run_that_fails_has_a_timeline_too(shell):
    """Rank 0 waits forever for a message that is never sent."""
    (shell.folder / "late.py").write_text(
        "from odonata.operations import compute, recv\n"
        "def ranks(rank, size):\n"
        "    yield compute(1e-5)\n"
        "    if rank == 0:\n"
        "        yield recv(1, 8)\n",
    )
    text = (
        SMALL.partition("[storage]")[0]
        + '[run.timeline]\n[[jobs]]\nname = "late"\nranks = 2\npython = "late.py:ranks"\n'
    )
    folder = run(shell, text, code=3)
    done = shell("timeline", "out", "--check", "--json")
    assert done.code == 0, done.err
    assert done.json["ranks"] == 2
    assert "of rank 0" not in done.err
    calls = odonata.load(folder).rows("calls")
    assert [(c["rank"], c["name"], c["finished"]) for c in calls] == [
        (0, "compute", 1),
        (0, "MPI_Recv", 0),
        (1, "compute", 1),
    ]


def test_the_command_writes_checks_and_refuses_to_replace(shell, recorded):
    shutil.copytree(recorded, shell.folder / "out")
    before = set(shell.files())
    done = shell("timeline", "out", "--check")
    assert (done.code, done.err) == (0, "")
    first, second, where, checked = done.out.splitlines()
    assert first.startswith("Timeline: out/timeline.pftrace (")
    assert "28 of 28 recorded ranks, 4 storage servers, 16 links; " in second
    assert "ui.perfetto.dev" in where
    assert checked.endswith("totals compared with the tables, 0 differ")
    assert set(shell.files()) - before == {"out/timeline.pftrace"}
    again = shell("timeline", "out")
    assert again.code == 2
    assert "--force" in again.err
    replaced = shell("timeline", "out", "--force", "--json", "--ranks", "0")
    assert replaced.code == 0
    assert replaced.json["file"] == "out/timeline.pftrace"
    assert replaced.json["ranks"] == 3
    unread = shell("timeline", "out", "-o", "/dev/null", "--check")
    assert unread.code == 2
    assert "cannot be read back" in unread.err
    piped = shell("timeline", "out", "-o", "/dev/null", "--json")
    assert piped.code == 0
    assert piped.json["ranks"] == 28
    # The results remain valid.
    assert shell("summary", "out").code == 0
    refused = shell("timeline", "out", "-o", "out/calls.parquet", "--force")
    assert refused.code == 2
    assert "is an input" in refused.err


def test_a_trace_that_is_wrong_is_found(shell, recorded, capsys):
    """Totals of one run differ from those of another, and a damaged trace is invalid."""
    results = odonata.load(recorded)
    file = shell.folder / "one.pftrace"
    results.timeline(file)
    assert totals.main([str(recorded), str(file)]) == 0
    ranks = results.table("ranks")
    longer = pa.compute.add(ranks["mpi_s"], 1e-12)
    changed = ranks.set_column(ranks.schema.get_field_index("mpi_s"), ranks.schema.field("mpi_s"), longer)
    other = shell.folder / "other"
    shutil.copytree(recorded, other)
    pq.write_table(changed, other / "ranks.parquet")
    odonata.load(other).timeline(shell.folder / "two.pftrace")
    capsys.readouterr()
    assert totals.main([str(other), str(shell.folder / "two.pftrace")]) == 1
    assert "mpi_s of rank 0 of halo: " in capsys.readouterr().out
    content = file.read_bytes()
    for number, damaged in enumerate(
        [
            content[:-3],
            b"\x08" + content,
            b"\x0a\xff\xff\xff\xff\x0f",
            content[len(content) // 2 :],
            b"\x0a\x02\x0a\x99",
        ]
    ):
        bad = shell.folder / f"bad-{number}.pftrace"
        bad.write_bytes(damaged)
        assert totals.main([str(recorded), str(bad)]) == 2
    assert totals.main([str(recorded)]) == 2


def test_a_run_without_a_recording_says_which_key_to_set(shell, small):
    done = shell("timeline", str(small), "--json")
    assert done.code == 2
    assert done.json["error"]["key"] == "run.timeline"
    assert "--set run.timeline={}" in done.json["error"]["expected"]
    with pytest.raises(odonata.InputError, match="recorded no timeline"):
        odonata.load(small).timeline(shell.folder / "x.pftrace")
    assert shell.files() == []
    nowhere = shell("timeline", "nowhere")
    assert nowhere.code == 2
    assert "not a result of odonata" in nowhere.err


def test_what_is_missing_or_damaged_is_named(shell, recorded):
    folder = shell.folder / "out"
    shutil.copytree(recorded, folder)
    for table in ("calls", "requests", "flows", "accesses", "link_series"):
        file = folder / f"{table}.parquet"
        content = file.read_bytes()
        file.unlink()
        done = shell("timeline", "out")
        assert done.code == 2, done.err
        assert f"the table {table} is missing" in done.err
        file.write_bytes(content[: len(content) // 2])
        done = shell("timeline", "out")
        assert done.code == 2
        assert "damaged" in done.err
        assert file.name in done.err
        file.write_bytes(content)
    assert not (folder / "timeline.pftrace").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--jobs", "hallo"], 'did you mean "halo"?'),
        (["--ranks", "3-1"], "not a range of ranks"),
        (["--ranks", "every:0"], "the step is 0"),
        (["--ranks", "x" * 500], "0,5,8-15 or every:16"),
        (["--ranks", "999"], "the selection has no recorded events"),
        (["--from", "soon"], '"1.5 ms"'),
        (["--from", "2 ms", "--until", "1 ms"], "ends before it starts"),
        (["--max-events", "10"], "--max-events"),
    ],
)
def test_mistakes_are_reported(shell, recorded, arguments, message):
    done = shell("timeline", str(recorded), "-o", "x.pftrace", *arguments)
    assert done.code == 2, done.err
    assert message in done.err
    assert len(done.err) < 1500
    assert shell.files() == []


def hostile(recorded: Path, folder: Path, names: dict[str, str], **columns) -> odonata.Results:
    """The results with other names of jobs, and other values in columns of the table calls."""
    shutil.copytree(recorded, folder)
    for file in folder.glob("*.parquet"):
        table = pq.read_table(file)
        if "job" in table.column_names:
            renamed = pa.array([names.get(job, job) for job in table["job"].to_pylist()], pa.string())
            place = table.schema.get_field_index("job")
            table = table.set_column(place, table.schema.field("job"), renamed)
        if file.stem == "calls":
            for column, value in columns.items():
                place = table.schema.get_field_index(column)
                values = pa.array([value] * table.num_rows, table.schema.field(column).type)
                table = table.set_column(place, table.schema.field(column), values)
        pq.write_table(table, file)
    return odonata.load(folder)


def test_hostile_names_are_shown_as_they_are_or_shortened(tmp_path, recorded):
    names = {
        "halo": "a[bold]<script>alert(1)</script>\u202e ünïcödé 🚀\n\x00\x1b[31m",
        "training": "x" * 100_000,
        "saver": "",
    }
    results = hostile(recorded, tmp_path / "names", names)
    answer, trace, content = trace_of(results)
    processes = [trace.tracks[track].name for track in trace.processes.values()]
    assert processes[0].startswith("job a[bold]<script>alert(1)</script>")
    assert "🚀" in processes[0]
    assert all(name.isprintable() and len(name) <= 200 for name in processes)
    assert processes[2] == "job "
    assert answer["ranks"] == 28
    assert totals.differences(results, trace)[0] == []
    assert len(content) < 2_000_000


@pytest.mark.parametrize(
    ("column", "value", "wrong"),
    [
        ("begin_s", math.nan, True),
        ("end_s", math.inf, True),
        ("begin_s", -1.0, True),
        ("end_s", 1e300, True),
        ("bytes", 2**64 - 1, False),
        ("name", "n" * 50_000, False),
        ("class", "strange", False),
        ("rank", 2**64 - 1, True),
        ("call", 0, False),
        ("stream", 2**64 - 1, False),
        ("iteration", -(2**63), False),
        ("end_s", 0.0, True),
    ],
)
def test_hostile_tables_make_a_sound_trace_or_an_error(tmp_path, recorded, column, value, wrong):
    results = hostile(recorded, tmp_path / "out", {}, **{column: value})
    if wrong:
        with pytest.raises(odonata.InputError, match=r"not a time|two calls at once"):
            results.timeline(tmp_path / "x.pftrace")
        assert not (tmp_path / "x.pftrace").exists()
        return
    results.timeline(tmp_path / "x.pftrace")
    with open(tmp_path / "x.pftrace", "rb") as file:
        totals.read(file)


def test_names_beyond_those_that_are_interned_stand_in_their_packets(monkeypatch):
    from odonata.timeline import trace

    monkeypatch.setattr(trace, "MOST_NAMES", 2)
    file = io.BytesIO()
    writer = TraceWriter(file)
    track = writer.thread("rank 0", 1, 2) if writer.process("job", 1) else 0
    for number in range(4):
        writer.begin(
            track, number, f"name {number}", f"kind {number}", {f"key {number}": number, "text": f"t{number}"}
        )
        writer.end(track, number)
    read = totals.read(io.BytesIO(file.getvalue()))
    assert sorted(read.totals[track]) == [(f"kind {number}", f"name {number}") for number in range(4)]
    texts = [
        one.string_value or one.string_value_iid
        for packet in totals.packets(io.BytesIO(file.getvalue()))
        for one in packet.track_event.debug_annotations
        if one.HasField("string_value") or one.HasField("string_value_iid")
    ]
    assert texts == [1, 2, "t2", "t3"]


def test_what_was_cut_while_it_was_recorded_is_reported_and_not_compared(shell):
    folder = run(shell, RECORDED, "--set", "run.timeline.rows=100")
    described = json.loads((folder / "run.json").read_text())
    detail = described["detail"]
    assert detail.startswith("run.timeline.rows is too small: the timeline has 100 of "), detail
    assert described["timeline_cut"] is True
    done = shell("timeline", "out", "--check")
    assert done.code == 0
    assert "nothing compared" in done.err
    cut = odonata.load(folder)
    # A field says so, whatever the words of the detail.
    cut.run["detail"] = None
    assert not Recorded(cut).whole
    cut.run["timeline_cut"] = False
    assert Recorded(cut).whole


def test_baselines_have_timelines_of_their_own(shell):
    folder = run(shell, RECORDED, "--baselines")
    done = shell("timeline", "out/baselines/halo", "--check", "--json")
    assert done.code == 0, done.err
    assert done.json["ranks"] == 16
    assert (folder / "baselines/halo/timeline.pftrace").exists()


def test_what_the_guide_shows_works(shell, recorded):
    guide = (ROOT / "docs/timeline.md").read_text()
    (keys,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    shell.write(SMALL.replace("[machine.dragonfly]", keys + "\n[machine.dragonfly]"))
    done = shell("check", "scenario.toml", "--json")
    assert done.code == 0, done.err
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    names = {"odonata": odonata}
    exec(code.replace("results/recorded", str(recorded)), names)
    lasts = names["calls"].lasts_s.sum()
    spent = sum(row["compute_s"] + row["mpi_s"] + row["io_s"] for row in odonata.load(recorded).rows("ranks"))
    assert lasts == pytest.approx(spent)
    (call,) = re.findall(r"`results\.timeline\((.*?)\)`", guide)
    arguments = call.replace('"part.pftrace"', repr(str(shell.folder / "part.pftrace"))).replace("e-3", "e-6")
    assert eval(f"results.timeline({arguments})", {"results": odonata.load(recorded)})["ranks"] == 8


def test_rows_of_a_rank_are_its_own_in_tables_of_any_size():
    # Arrow groups a batch of rows at a time, and numbers the groups that are new in it in any order.
    ranks, each = 1999, 5
    numbers = [(rank * 131) % ranks for rank in range(ranks)] * each
    table = pa.table(
        {
            "job": pa.array([f"job{number % 3}" for number in numbers]),
            "rank": pa.array(numbers, pa.uint64()),
            "call": pa.array(range(len(numbers)), pa.uint64()),
        }
    )
    table = pa.concat_tables([table.slice(0, 7_000), table.slice(7_000)])
    slices = Slices.from_table(table, "job", "rank", "call")
    for rank in range(ranks):
        rows = list(slices.rows((f"job{rank % 3}", rank)))
        assert {row["rank"] for row in rows} == {rank}
        assert [row["call"] for row in rows] == [i for i, number in enumerate(numbers) if number == rank]
