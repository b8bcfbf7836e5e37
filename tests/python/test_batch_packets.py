"""Moments of the batch queue, compared with packets."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import pytest
from batch_cases import MACHINE, alone_in_packets, crowded_queue, put

import odonata
import odonata.machines.hosts
from odonata.base import toml_text
from odonata.batch_queue import (
    confirm,
    page,
    rank_program,
    run,
    settings,
    summary,
)
from odonata.errors import InputError


@pytest.fixture
def crowded(tmp_path):
    return crowded_queue(tmp_path)


def test_moments_are_compared_with_packets(crowded):
    found = odonata.batch(crowded, confirm=1, processes=1)["confirmation"]
    assert len(found["moments"]) == 1
    assert found["compared"] == 2
    assert 0 <= found["median_error"] <= found["p90_error"] < 1


@pytest.mark.parametrize(
    ("setting", "apart"),
    [
        ('"network.links.global.bandwidth" = "2 GB/s"', []),
        # It replaces the key `per_group` of the machine, so it cannot stand beside it.
        ('"storage.nodes.list" = [3, 9]', ["storage.nodes.list=[3, 9]"]),
    ],
)
def test_the_worst_moment_is_a_scenario_of_its_own(crowded, tmp_path, monkeypatch, setting, apart):
    crowded.write_text(f"set.{setting}\n" + crowded.read_text())
    compared = []
    original = confirm.slowdowns
    monkeypatch.setattr(
        confirm,
        "slowdowns",
        lambda together, alone: (compared.append(together), original(together, alone))[1],
    )
    out = tmp_path / "out"
    confirmed = odonata.batch(crowded, out=out, confirm=2)["confirmation"]
    assert (confirmed["worst_scenario"], confirmed["worst_settings"]) == ("worst-moment.toml", apart)
    overrides = dict(one.split("=", 1) for one in apart)
    overrides = {key: tomllib.loads(f"value = {value}")["value"] for key, value in overrides.items()}
    # The scenario is that of the comparison, to the picosecond, and works in another folder.
    out.rename(tmp_path / "moved")
    found = odonata.run(tmp_path / "moved/worst-moment.toml", overrides=overrides)
    marks = {"job-0": [], "job-1": []}
    for row in found.rows("iterations"):
        marks[{"1 (busy)": "job-0", "2 (busy)": "job-1"}[row["job"]]].append(row["last_s"])
    worst = max(range(2), key=lambda at: confirmed["moments"][at]["time_s"] == confirmed["worst_time_s"])
    assert marks == compared[worst]
    # What a moment of the comparison does not record.
    assert found.rows("blame")
    assert found.rows("calls")
    assert found.rows("slowdown")


def test_a_job_alone_in_packets_takes_the_time_of_its_phase(tmp_path):
    put(tmp_path, "machine.toml", MACHINE)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,mixed\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.mixed = { pattern = "halo", intensity = "1 GB/s", share = 0.5, read = "20 MB/s", io_share = 0.2 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))

    # A node reads 64 KiB in 3.3 ms: a cycle has ceil(3.3 ms / period) iterations.
    def iterations(args: dict) -> int:
        return math.ceil(65536 / (20e6 * args["period"]))

    job, _ = alone_in_packets(found, [0, 1, 2, 3], iterations)
    args = job["args"]
    cycle = rank_program.cycle(args["read"], args["write"], args["access"], args["period"])
    assert cycle == iterations(args)


def test_a_host_with_several_end_points_is_a_node(tmp_path):
    """Four hosts of two GPUs: each GPU sends half of the bytes, and a job alone takes its time in packets."""
    sizes = {"hosts_per_pod": 4, "gpus_per_host": 2}
    put(tmp_path, "machine.toml", toml_text.pages({"machine": {"rail-optimized": sizes}}))
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,ring\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.ring = { pattern = "all-reduce", intensity = "1 GB/s", share = 0.5 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    assert summary.summarize(found)["nodes"] == 4
    # Bytes of 100 s: each GPU's interface carries half of those of its host.
    sent = {row["name"]: row["bytes"] for row in run.link_rows(found) if row["name"].startswith("n")}
    assert sorted(sent.values()) == pytest.approx([50e9] * 8, rel=1e-3)
    job, results = alone_in_packets(found, [0, 1, 2, 3])
    args = job["args"]
    assert (job["ranks"], job["placement"]) == (8, {"nodes": list(range(8))})
    # Ranks of one number exchange: 0.5 GB/s of each for the cycles.
    (row,) = results.rows("jobs")
    assert row["bytes_sent"] == pytest.approx(8 * 0.5e9 * args["period"] * args["cycles"], rel=1e-2)


def test_ranks_of_a_moment_use_all_interfaces_of_their_nodes(tmp_path):
    """Nodes with two interfaces of 5 GB/s exchange 8 GB/s, which one interface could not carry."""
    machine = (
        "[machine]\ninterfaces = 2\n[machine.mesh]\ndims = [2]\nnodes_per_router = 4\n"
        '[network.links.terminal]\nbandwidth = "5 GB/s"\n[network.links.local]\nbandwidth = "50 GB/s"\n'
    )
    put(tmp_path, "machine.toml", machine)
    put(tmp_path, "jobs.csv", "submit,nodes,run,profile\n0,4,100,ring\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    profiles.ring = { pattern = "all-reduce", intensity = "4 GB/s", share = 0.5 }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    assert not found.results["jobs"][0]["clipped"]
    job, _ = alone_in_packets(found, [0, 1, 2, 3])
    assert (job["ranks"], job["ranks_per_node"]) == (8, 2)


def storage_of_interfaces(tmp_path: Path, machine: str) -> tuple[list[float], list[float]]:
    """A node writes 8 GB/s half of the time: the bytes of its interfaces by rates, their parts in packets.

    In packets a job alone ends each cycle at its time.
    """
    put(tmp_path, "machine.toml", machine)
    put(tmp_path, "jobs.csv", "submit,nodes,node_list,run,profile\n0,1,0,100,io\n")
    text = """
    scenario = "machine.toml"
    jobs = "jobs.csv"
    queue = { placement = "list" }
    profiles.io = { write = "4 GB/s", io_share = 0.5, access = "512 KiB" }
    """
    found = run.simulate(settings.load(put(tmp_path, "batch.toml", text)))
    record = found.results["jobs"][0]
    assert not record["clipped"]
    sent = [row["bytes"] for row in run.link_rows(found) if row["name"].startswith("n")]
    job, results = alone_in_packets(found, record["nodes"])
    args = job["args"]
    links = [row["bytes"] for row in results.rows("links") if row["name"].startswith("n")]
    written = 4e9 * args["period"] * args["cycles"]
    return sent, [bytes / written for bytes in links]


def test_the_io_of_a_node_takes_all_its_interfaces(tmp_path):
    """A node with two interfaces of 5 GB/s writes at 8 GB/s, which one of them could not carry."""
    device = 'device = { rate = { write = "100 GB/s", read = "100 GB/s", overhead = "0 s" } }\n'
    slow = '[network.links.terminal]\nbandwidth = "5 GB/s"\n[network.links.column]\nbandwidth = "50 GB/s"\n'
    rails = (
        "[machine.rail-optimized]\nhosts_per_pod = 2\ngpus_per_host = 2\nspines = 0\n"
        f"[storage]\nnodes = {{ list = [2, 3] }}\n{device}"
    )
    two = (
        f"[machine]\ninterfaces = 2\n[machine.mesh]\ndims = [2]\nnodes_per_router = 4\n{slow}"
        f'[network.links.local]\nbandwidth = "50 GB/s"\n[storage]\nnodes = {{ list = [3] }}\n{device}'
    )
    for machine in (rails, two):
        sent, links = storage_of_interfaces(tmp_path, machine)
        assert sent[:2] == pytest.approx([200e9] * 2, rel=1e-3)
        assert links[:2] == pytest.approx([0.5] * 2, abs=0.01)


def test_a_comparison_continues_with_the_moments_of_its_journal(crowded, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = odonata.batch(crowded, out=out, confirm=1, processes=1)
    assert len((out / "moments.jsonl").read_text().splitlines()) == 1
    # A killed process leaves part of a line.
    with (out / "moments.jsonl").open("a") as file:
        file.write('{"key": "x"')

    def refuse(*_args, **_options):
        raise AssertionError("a known moment is repeated")

    monkeypatch.setattr(confirm, "_compare", refuse)
    again = odonata.batch(crowded, out=out, confirm=1, processes=1)
    assert again["confirmation"] == first["confirmation"]
    # Another result is not continued.
    crowded.write_text("seed = 2\n" + crowded.read_text())
    with pytest.raises(InputError, match="another result"):
        odonata.batch(crowded, out=out, confirm=1, processes=1)


def test_the_progress_of_a_comparison_has_the_time_that_is_left(monkeypatch):
    times = iter([0.0, 0.001, 10.0, 20.0])
    monkeypatch.setattr(page.time, "perf_counter", lambda: next(times))
    line, shown = page.BatchLine.__new__(page.BatchLine), []
    monkeypatch.setattr(line, "_update", lambda text, _share: shown.append(text))
    # The first moment was known.
    for done in range(4):
        line.moments(done, 5)
    assert [text.partition(" | ")[2] for text in shown] == ["", "", "30 s left", "20 s left"]
