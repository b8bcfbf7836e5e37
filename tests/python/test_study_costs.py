"""The stored cost of runs at full size (studies/study_tools/cost.py)."""

import json
import sys

from conftest import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study_tools import cost

import odonata

SMALL = {
    "machine": {"torus": {"dims": [4, 4]}},
    "run": {"threads": 1},
    "jobs": [{"name": "a", "ranks": 8, "workload": {"amg": {"cycles": 1, "levels": 2}}}],
}


def a_cost(**changes):
    whole = {
        "run": "512-nodes",
        "threads": 1,
        "events": 2_000_000,
        "packet_hops": 1_500_000,
        "wall_s": 20.0,
        "cpu_s": 10.0,
        "peak_rss_bytes": 64_000_000,
        "digest": "0123456789abcdef",
        "commit": "abc1234",
        "date": "2026-11-30",
        "machine": "a processor, 2 cores",
    }
    return cost.Cost(**(whole | changes))


def test_the_cost_of_a_sweep_is_that_of_its_runs(tmp_path):
    odonata.sweep(SMALL, tmp_path, over={"network.packet": ["512 B", "1 KiB"]}, keep="tables", processes=1)
    found = cost.of_sweep(tmp_path, lambda results: results.run["scenario"]["network"]["packet"])
    assert [one.run for one in found] == ["512 B", "1 KiB"]
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in tmp_path.glob("runs/*/run.json")]
    by_digest = {run["digest"]: run for run in runs}
    for one in found:
        run = by_digest[one.digest]
        for name in ("threads", "events", "packet_hops", "wall_s", "cpu_s", "peak_rss_bytes"):
            assert getattr(one, name) == run[name]
        assert one.commit
        assert one.machine.endswith("cores")


def test_a_run_is_kept_once_with_its_last_cost(tmp_path):
    file = tmp_path / "costs.parquet"
    assert cost.stored(file) == []
    cost.keep(file, [a_cost(), a_cost(run="other")])
    cost.keep(file, [a_cost(cpu_s=5.0), a_cost(run="third")])
    assert cost.stored(file) == [a_cost(cpu_s=5.0), a_cost(run="other"), a_cost(run="third")]


def test_a_row_names_events_time_memory_and_machine():
    (row,) = cost.table([a_cost()]).rows
    assert row == [
        *("512-nodes", "1.5 M", "2 M", "10 s", "20 s", "64 MB", "`01234567`", "2026-11-30, `abc1234`"),
        "a processor, 2 cores",
    ]
