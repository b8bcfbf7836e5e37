"""The batch queue and its results."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from batch_cases import MACHINE, crowded_queue, put
from conftest import ROOT

import odonata
import odonata.machines.hosts
from odonata.answers.batch import Batch
from odonata.base import toml_text
from odonata.base.json_types import check
from odonata.batch_queue import (
    page,
    report_waits,
    run,
    settings,
    summary,
)
from odonata.batch_queue import report as batch_report
from odonata.errors import InputError

EXAMPLES = ROOT / "examples/batch"


@pytest.fixture
def crowded(tmp_path):
    return crowded_queue(tmp_path)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('jobs = "a.csv"', "preset"),
        ('jobs = "a.csv"\npreset = "x"\nscenario = "y"', "preset"),
        ('preset = "theta"', "jobs"),
        ('jobs = "a.csv"\npreset = "theta"\n[queue]\npolicy = "easyy"', "queue.policy"),
        ('jobs = "a.csv"\npreset = "theta"\n[queue]\nhalf_life = "0 s"', "queue.half_life"),
        ('jobs = "a.csv"\npreset = "theta"\n[partitions]\na = "0-3"\nb = "3-5"', "partitions.b"),
        ('jobs = "a.csv"\npreset = "theta"\n[partitions]\na = "0-99999999999"', "partitions.a"),
        (
            'jobs = "a.csv"\npreset = "theta"\nfailures = [{ nodes = "1", from = "2 h", to = "1 h" }]',
            "failures.0.to",
        ),
    ],
)
def test_wrong_batch_files_are_refused_by_key(tmp_path, text, key):
    with pytest.raises(InputError) as caught:
        settings.load(put(tmp_path, "a.toml", text))
    assert caught.value.key == key


def test_a_machine_has_the_name_of_its_preset(tmp_path):
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,2,10,none\n")
    file = put(tmp_path, "big.toml", 'preset = "theta"\njobs = "jobs.csv"\n')
    found = odonata.batch(file)
    assert (found["name"], found["machine"]) == ("big", "theta")


def test_contention_delays_the_queue(crowded, tmp_path):
    answer = odonata.batch(crowded, out=tmp_path / "out")
    check(answer, Batch)
    jobs = pq.read_table(tmp_path / "out/batch_jobs.parquet").to_pylist()
    assert jobs[0]["slowdown"] > 1.01
    assert jobs[1]["slowdown"] > 1.01
    assert jobs[2]["start_s"] == max(jobs[0]["end_s"], jobs[1]["end_s"]) > 101
    for one in jobs:
        # Time is work or lost to others, and all lost time has a culprit.
        assert one["elapsed_s"] == pytest.approx(one["run_s"] + one["lost_s"], abs=1e-3)
    lost = pq.read_table(tmp_path / "out/batch_lost.parquet").to_pylist()
    assert {(one["victim"], one["culprit"]) for one in lost} == {("1", "2"), ("2", "1")}
    without = crowded.with_name("without.toml")
    without.write_text("contention = false\n" + crowded.read_text())
    assert odonata.batch(without)["slowdown"]["max"] == 1.0


def test_waits_are_drawn_by_size_and_over_time():
    """Twelve jobs of three sizes, submitted every 900 s; job number n waits n hours. Another never starts."""
    jobs = [
        {"nodes": 1 << (number % 3), "submit_s": 900.0 * number, "wait_s": 3600.0 * number}
        for number in range(12)
    ]
    jobs.append({"nodes": 64, "submit_s": 0.0, "wait_s": None})
    by_size, over_time = report_waits.charts(jobs)
    traces = {trace["name"]: trace for trace in by_size.traces}
    # Jobs 0, 3, 6, 9 have 1 node; 1, 4, 7, 10 have 2; 2, 5, 8, 11 have 4.
    assert traces["median"]["x"] == ["1", "2-3", "4-7"]
    assert traces["median"]["y"] == [3.0, 4.0, 5.0]
    assert traces["mean"]["y"] == [4.5, 5.5, 6.5]
    assert traces["p90"]["y"] == traces["largest"]["y"] == [9.0, 10.0, 11.0]
    assert traces["mean"]["text"] == ["4 jobs"] * 3
    last = over_time.traces[2]
    assert (last["name"], last["y"]) == ("4-7 nodes", [2.0, 5.0, 8.0, 11.0])
    # Points lie in the middle of intervals of 9900 s / 48.
    hour = 9900.0 / 48 / 3600
    assert last["x"] == pytest.approx([(at + 0.5) * hour for at in (8, 21, 34, 47)])
    assert report_waits.charts([jobs[-1]])[0].lines == ["No job started."]


def test_disturbance_is_drawn_by_all_that_tells_jobs_apart():
    job = {"job": "1", "name": "a-7", "user": "ann", "profile": "cfd", "nodes": 2, "application": "cfx"}
    # A result without applications: the name stands for it.
    other = {"job": "2", "name": "b", "user": "ann", "profile": "cfd", "nodes": 4}
    lost = [
        {"victim": "1", "culprit": "2", "lost_s": 3600.0},
        {"victim": "2", "culprit": "1", "lost_s": 900.0},
    ]
    charts = {chart.id: chart for chart in batch_report._matrices([job, other], lost)}
    # One user and one profile tell nothing apart.
    assert list(charts) == ["application-matrix", "job-matrix"]
    (cells,) = charts["application-matrix"].traces
    assert (cells["y"], cells["x"]) == (["cfx", "b"], ["b", "cfx"])
    assert cells["z"] == [[2.0, None], [None, 1.0]]
    assert charts["job-matrix"].traces[0]["y"] == ["1 (cfd)", "2 (cfd)"]


def test_links_have_loads(crowded, tmp_path):
    crowded.write_text(crowded.read_text().replace("6 GB/s", "2.2 GB/s"))
    answer = odonata.batch(crowded, out=tmp_path / "out")
    links = pq.read_table(tmp_path / "out/batch_links.parquet").to_pylist()
    # All bytes of the busy jobs, 9 nodes each, leave interfaces of nodes: 2.2 GB/s for 100 s of work, however
    # long that takes.
    sent = sum(one["bytes"] for one in links if one["name"].startswith("n"))
    assert (answer["clipped_jobs"], answer["slowdown"]["max"] > 1.0) == (0, True)
    assert sent == pytest.approx(2 * 9 * 100 * 2.2e9, rel=1e-6)
    # What enters the network leaves it.
    assert sum(one["bytes"] for one in links if ">n" in one["name"]) == pytest.approx(sent, rel=1e-6)
    for one in links:
        mean = one["bytes"] / one["capacity_bytes_per_s"] / answer["simulated_s"]
        assert one["mean_load"] == pytest.approx(mean)
        assert one["mean_load"] <= one["peak_load"] * (1 + 1e-9)
        # Jobs together carry no more than a link can.
        assert one["peak_load"] <= 1.001
    busiest = answer["busiest_links"]
    assert busiest[0]["mean_load"] == pytest.approx(max(one["mean_load"] for one in links))
    loads = pq.read_table(tmp_path / "out/batch_loads.parquet").to_pylist()
    assert {one["link_class"] for one in loads} == {one["link_class"] for one in links}
    # The mean of a class over time is that of its links. All intervals but the last are of equal length.
    of_class = [one for one in links if one["link_class"] == "terminal"]
    assert all(one["mean_load"] <= one["most_load"] + 1e-9 for one in loads)
    assert max(one["most_load"] for one in loads if one["link_class"] == "terminal") == pytest.approx(
        max(one["peak_load"] for one in of_class)
    )
    assert "loads-chart" in batch_report.html(tmp_path / "out")


def test_small_calls_use_devices_for_longer(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,1,100,reader\n")

    def load(size: str) -> float:
        text = (
            'scenario = "machine.toml"\njobs = "jobs.csv"\n'
            f'profiles.reader = {{ read = "100 MB/s", io_share = 1.0, access = "{size}" }}\n'
        )
        answer = odonata.batch(put(tmp_path, "reader.toml", text))
        return max(one["mean_load"] for one in answer["busiest_links"] if one["link_class"] == "server")

    # A call of s bytes takes 20 us + s / (1 GB/s); servers work in blocks of 1 MB.
    assert load("4 MB") == pytest.approx(100e6 * (20e-6 / 1e6 + 1e-9), rel=1e-3)
    assert load("100 kB") == pytest.approx(100e6 * (20e-6 / 1e5 + 1e-9), rel=1e-3)
    with pytest.raises(InputError) as caught:
        load("1 B")
    assert (caught.value.key, caught.value.value) == ("profiles.reader.access", '"1 B"')


def test_counters_and_lowered_rates_are_shown_by_job(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(
        tmp_path, "jobs.csv",
        "job,submit,nodes,run,profile,written_bytes\na,0,1,100,none,1e12\nb,0,1,100,none,0\nc,0,1,100,none,\n",
    )  # fmt: skip
    file = put(tmp_path, "batch.toml", 'scenario = "machine.toml"\njobs = "jobs.csv"\n')
    answer = odonata.batch(file, out=tmp_path / "out")
    rows = pq.read_table(tmp_path / "out/batch_jobs.parquet").to_pylist()
    assert [row["profile"] for row in rows] == ["none, I/O by counters", "none", "none"]
    # 10 GB/s are more than a server of 1 GB/s writes.
    assert [row["rates_lowered"] for row in rows] == [True, False, False]
    assert (answer["clipped_jobs"], answer["clipped"]) == (1, ["a"])
    assert "its rates were lowered: a (" in page.lowered(answer)


def test_set_changes_keys_of_the_batch_file_and_of_its_machine(crowded, shell):
    def answer(*changes: str) -> dict:
        done = shell("batch", str(crowded), *(f"--set={one}" for one in changes), "-o", "out", "-f", "--json")
        assert done.code == 0, done.err
        return done.json

    assert answer("queue.policy=replay")["queue"]["policy"] == "replay"
    valiant = answer("network.routing.algorithm=valiant", "seed=2")
    assert valiant["seed"] == 2
    changed = {"network.routing.algorithm": "valiant", "seed": 2}
    assert odonata.batch(crowded, overrides=changed)["digest"] == valiant["digest"]
    refused = shell("batch", str(crowded), "--set", "queue.policy", "-o", "out", "-f")
    assert (refused.code, "KEY=VALUE" in refused.err) == (2, True)


def test_results_are_equal_from_run_to_run(crowded):
    assert odonata.batch(crowded)["digest"] == odonata.batch(crowded)["digest"]


def test_replay_partitions_reservations_and_failures(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(
        tmp_path,
        "jobs.csv",
        "job,submit,start,nodes,node_list,run,partition\n"
        "a,0,10,2,10-11,100,left\nb,0,,4,,50,right\nc,0,20,1,0,10,left\nd,0,,1,,10,nowhere\n",
    )
    text = 'scenario = "machine.toml"\njobs = "jobs.csv"\nqueue = { policy = "replay" }\n'
    odonata.batch(put(tmp_path, "a.toml", text), out=tmp_path / "a")
    rows = pq.read_table(tmp_path / "a/batch_jobs.parquet").to_pylist()
    assert [(row["start_s"], row["node_list"]) for row in rows][:1] == [(10, "10-11")]
    # b, without a recorded start and nodes, takes node 0 until 50; c waits for it.
    late = "1 job started later than recorded, because its nodes were busy: c."
    assert late in odonata.batch(tmp_path / "a.toml")["assumptions"]
    assert {row["job"]: row["start_s"] for row in rows} == {"a": 10, "b": 0, "c": 50, "d": 0}
    parts = text + '[partitions]\nleft = "0-8"\nright = "9-17"\n'
    with pytest.raises(InputError) as caught:
        odonata.batch(put(tmp_path, "b.toml", parts))
    assert (caught.value.key, caught.value.line) == ("partition", 5)
    whole = 'scenario = "machine.toml"\njobs = "jobs.csv"\n'
    windows = (
        'reservations = [{ nodes = "0-17", from = "20 s", to = "300 s" }]\n'
        'failures = [{ nodes = "0", from = "310 s", to = "320 s" }]\n'
    )
    odonata.batch(put(tmp_path, "c.toml", whole + windows), out=tmp_path / "c")
    rows = {row["job"]: row for row in pq.read_table(tmp_path / "c/batch_jobs.parquet").to_pylist()}
    # c and d end before the reservation; b follows it; a fails on node 0 and starts again.
    assert (rows["c"]["start_s"], rows["d"]["start_s"]) == (0, 0)
    assert (rows["b"]["start_s"], rows["a"]["starts"], rows["a"]["outcome"]) == (300, 2, "completed")


def test_backfilling_lowers_waits(tmp_path):
    """Four nodes. FCFS: the small job waits behind the large one. EASY: it runs beside the first one."""
    sizes = {"groups": 1, "routers_per_group": 2, "nodes_per_router": 2, "global_ports_per_router": 0}
    put(tmp_path, "machine.toml", toml_text.pages({"machine": {"dragonfly": sizes}}))
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,3,100,none\n0,4,10,none\n0,1,100,none\n")
    text = 'scenario = "machine.toml"\njobs = "jobs.csv"\nqueue = {{ policy = "{}" }}\n'
    found = {
        name: odonata.batch(put(tmp_path, f"{name}.toml", text.format(name)))
        for name in ("fcfs", "easy", "conservative")
    }
    # Waits of 0, 100 and 110 s until 210 s, and of 0, 100 and 0 s until 110 s: 440 node-seconds.
    assert found["fcfs"]["wait_s"]["mean"] == pytest.approx(70.0)
    assert found["fcfs"]["utilization"] == pytest.approx(440 / (4 * 210))
    for name in ("easy", "conservative"):
        assert found[name]["wait_s"]["mean"] == pytest.approx(100 / 3)
        assert found[name]["utilization"] == pytest.approx(1.0)
    # As published, on the day of the example: less than half of the wait of FCFS, at a higher utilization.
    day = {
        name: odonata.batch(EXAMPLES / "day.toml", overrides={"queue.policy": name, "contention": False})
        for name in ("fcfs", "easy")
    }
    assert day["easy"]["wait_s"]["mean"] < 0.5 * day["fcfs"]["wait_s"]["mean"]
    assert day["easy"]["utilization"] > day["fcfs"]["utilization"]


class Stopped:
    """A request to stop that comes at once."""

    requested = True


def test_a_stopped_queue_keeps_what_it_has_simulated(crowded, tmp_path, monkeypatch):
    # A slice is one instant: the submissions at 0.
    monkeypatch.setattr(run, "SLICE_S", 0.0)
    found = run.simulate(settings.load(crowded), stop=Stopped())
    answer = summary.summarize(found)
    check(answer, Batch)
    assert (answer["outcome"], answer["outcomes"]) == ("interrupted", {"running": 2, "waiting": 1})
    run.write(found, tmp_path, answer)
    assert "nodes-chart" not in batch_report.html(tmp_path)
    assert "No job ended" in batch_report.html(tmp_path)


def test_a_damaged_list_of_nodes_in_a_result_is_refused(crowded, tmp_path):
    odonata.batch(crowded, out=tmp_path / "out")
    table = pq.read_table(tmp_path / "out/batch_jobs.parquet")
    place = table.schema.names.index("node_list")
    pq.write_table(
        table.set_column(place, table.schema.field(place), [["0-x"] * table.num_rows]),
        tmp_path / "out/batch_jobs.parquet",
    )
    with pytest.raises(InputError) as caught:
        batch_report.html(tmp_path / "out")
    assert caught.value.key == "node_list"


def test_the_windows_of_a_batch_file_are_bounded_together(tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "MOST_LISTED", 5)
    text = (
        'jobs = "a.csv"\npreset = "theta"\nreservations = [\n'
        '{ nodes = "0-2", from = "1 h", to = "2 h" },\n{ nodes = "0-2", from = "3 h", to = "4 h" },\n]\n'
    )
    with pytest.raises(InputError) as caught:
        settings.load(put(tmp_path, "a.toml", text))
    assert caught.value.key == "reservations.1.nodes"
