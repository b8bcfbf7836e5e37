"""`odonata load-sweep`."""

import csv
import json
import os
import signal
import subprocess

import launcher
import pytest
from conftest import ODONATA
from launcher import PATIENCE_S
from waiting import await_work

from odonata.load_curves import request as load_request

#: A switch of 16 nodes: one flit per nanosecond, 15 cycles from node to node without a queue.
SWITCH = """\
name = "switch"

[machine.dragonfly]
groups = 1
routers_per_group = 1
nodes_per_router = 16
global_ports_per_router = 1

[mpi]
send_delay = "0 s"
send_per_byte = "0 ps/B"

[nic]
message_delay = "0 s"

[network]
packet = "64 B"
flit = "64 B"
router_delay = "3 ns"
input_queues = "fifo"

[network.links]
terminal = { bandwidth = "64 GB/s", latency = "5 ns", buffer = "1 KiB" }

[[jobs]]
name = "traffic"
ranks = 16
workload.uniform = { load = 0.5, self = true, arrival = "bernoulli", period = "1 ns" }
"""

BOOKSIM = ("--method", "booksim", "--sample-period", "500", "--latency-threshold", "500")


def test_a_curve_is_shown_written_and_drawn(shell):
    shell.write(SWITCH)
    done = shell(
        "load-sweep",
        "scenario.toml",
        "--loads",
        "0.1,0.3:0.5:0.2",
        *BOOKSIM,
        "-o",
        "out",
        "--plot",
        "curve.svg",
    )
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    shown = [line for line in lines if line and line[0] in ("0.1", "0.3", "0.5")]
    assert [line[0] for line in shown] == ["0.1", "0.3", "0.5"]
    assert "mean cycles" in done.out
    assert "not saturated up to 0.5" in done.out
    assert shell.files() == ["curve.svg", "out", "out/points.csv", "out/sweep.json", "scenario.toml"]
    assert (shell.folder / "curve.svg").read_text().startswith("<?xml")
    report = json.loads((shell.folder / "out/sweep.json").read_text())
    assert (report["kind"], report["outcome"], report["cycle_ns"]) == ("load-sweep", "completed", 1.0)
    means = []
    for point in report["points"]:
        cycles = point["latency_cycles"]
        assert point["accepted"] == pytest.approx(point["offered"], rel=0.05)
        assert cycles["min"] == 15.0
        assert 15 <= cycles["p50"] <= cycles["p99"] <= cycles["max"]
        assert cycles["mean"] == pytest.approx(point["latency_ns"]["mean"])
        assert point["hops"] == 1.0
        # 3 periods of 500 cycles warm up; 3 at least are measured.
        assert point["warmup_periods"] == 3
        assert point["packets"] == pytest.approx(
            16 * 500 * point["measured_periods"] * point["offered"], rel=0.1
        )
        means.append(cycles["mean"])
    assert means == sorted(means)
    rows = list(csv.DictReader((shell.folder / "out/points.csv").open()))
    assert [float(row["mean_cycles"]) for row in rows] == means


def test_sweeps_of_several_machines_make_one_page(shell):
    shell.write(SWITCH)
    # A ring of 4 routers with 4 nodes each: 16 terminal cables, 4 local ones of which 2 are between halves.
    ring = SWITCH.replace('name = "switch"', 'name = "ring"').replace(
        "[machine.dragonfly]\ngroups = 1\nrouters_per_group = 1\nnodes_per_router = 16\n"
        "global_ports_per_router = 1",
        "[machine.torus]\ndims = [4]\nnodes_per_router = 4",
    )
    shell.write(ring, "ring.toml")
    for file, folder in (("scenario.toml", "one"), ("ring.toml", "two")):
        done = shell("load-sweep", file, "--loads", "0.05,0.1", *BOOKSIM, "-o", folder, "--quiet")
        assert done.code == 0, done.err
    report = json.loads((shell.folder / "two/sweep.json").read_text())
    machine = report["machine"]
    assert {one["class"]: one["cables"] for one in machine["links"]} == {"terminal": 16, "local": 4}
    assert (machine["bisection"]["cables"], machine["diameter"]["routers"]) == (2, 2)
    assert machine["routing"]["deadlock_free"] is True
    done = shell("report", "one", "two", "-o", "both.html")
    assert done.code == 0, done.err
    text = (shell.folder / "both.html").read_text()
    for part in (
        "latency-chart",
        "accepted-chart",
        "machines-table",
        "cables-table",
        "no cycle: free of deadlock",
    ):
        assert part in text
    done = shell("report", "one")
    assert (done.code, (shell.folder / "one/report.html").is_file()) == (0, True)
    # A run is no load sweep.
    shell.write(SWITCH.replace("load = 0.5", "load = 0.5, messages = 10"), "run.toml")
    assert shell("run", "run.toml", "-o", "run", "--quiet").code == 0
    assert shell("report", "one", "run").code == 2


def test_the_saturation_point_of_fifo_queues_is_found(shell):
    shell.write(SWITCH)
    done = shell(
        "load-sweep", "scenario.toml", "--loads", "0.4:1:0.1", "--saturation", "0.02", "--json", "--quiet"
    )
    assert done.code == 0
    report = done.json
    found = report["saturation"]
    # 0.586 for many ports, 0.6184 for 8 (Karol, Hluchyj, Morgan 1987, table I): about 0.60 for 16, with
    # arbiters that draw; those that go round robin fall into step, and take a little less.
    assert 0.54 < found["last_stable"] < found["first_saturated"] < 0.66
    assert found["first_saturated"] - found["last_stable"] <= 0.02 + 1e-9
    # Not all loads up to 1: two saturated ones suffice, and some may be running then.
    assert max(point["offered"] for point in report["points"]) <= 0.9
    saturated = [point for point in report["points"] if point["saturated"]]
    assert all(point["reason"] for point in saturated)
    assert report["zero_load_ns"] == pytest.approx(15, abs=1)


def test_points_do_not_depend_on_how_many_run_at_once(shell):
    shell.write(SWITCH)
    reports = [
        shell("load-sweep", "scenario.toml", "--loads", "0.2,0.5", *BOOKSIM, "--json", "-j", workers).json
        for workers in ("1", "2")
    ]
    for report in reports:
        for point in report["points"]:
            del point["cpu_s"], point["wall_s"]
    assert reports[0]["points"] == reports[1]["points"]


def test_the_confidence_interval_is_as_narrow_as_asked_for(shell):
    shell.write(SWITCH)
    done = shell("load-sweep", "scenario.toml", "--loads", "0.5", "--precision", "0.01", "--json")
    (point,) = done.json["points"]
    latency = point["latency_ns"]
    assert point["converged"]
    assert 0 < latency["half_width"] <= 0.01 * latency["mean"] * 1.001


@pytest.mark.parametrize(
    ("arguments", "key", "text"),
    [
        (("--loads", "0.1,x"), "--loads", "not a list"),
        (("--loads", "0"), "--loads", "not a list"),
        (("--loads", "0.5:0.1:0.1"), "--loads", "a range without loads"),
        (("--loads", "0.1:0.9:0.00001"), "--loads", "too many"),
        (("--method", "guess"), "--method", "steady or booksim"),
        (
            ("--method", "booksim", "--sample-period", "5 parsecs"),
            "--sample-period",
            "invalid parameter of the method",
        ),
        (("--method", "booksim", "--max-samples", "2"), "--warmup-periods", "fewer than max-samples"),
        (("--precision", "7"), "--precision", "below 1"),
        (("--saturation", "0"), "--saturation", "0.0001"),
        (("--plot", "curve.gif"), "--plot", "png"),
        (("--plot", "no/curve.png"), "--plot", "a folder that exists"),
        (("--job", "other"), "jobs", "one of traffic"),
    ],
)
def test_what_is_wrong_is_reported_and_nothing_is_written(shell, arguments, key, text):
    shell.write(SWITCH)
    done = shell("load-sweep", "scenario.toml", *arguments, "-o", "out")
    assert (done.code, done.out) == (2, "")
    assert key in done.err
    assert text in done.err
    assert shell.files() == ["scenario.toml"]


def test_cycles_need_traffic_with_a_clock(shell):
    shell.write(SWITCH.replace(', arrival = "bernoulli", period = "1 ns"', ""))
    done = shell("load-sweep", "scenario.toml", *BOOKSIM)
    assert done.code == 2
    assert "no clock" in done.err
    done = shell(
        "load-sweep", "scenario.toml", "--method", "booksim", "--sample-period", "500 ns",
        "--latency-threshold", "500 ns", "--loads", "0.2", "--json",
    )  # fmt: skip
    (point,) = done.json["points"]
    assert point["latency_cycles"] is None
    assert point["latency_ns"]["mean"] > 15


def test_a_result_is_replaced_only_when_told_so(shell):
    shell.write(SWITCH)
    sweep = ("load-sweep", "scenario.toml", "--loads", "0.1", *BOOKSIM, "-q", "-o", "out")
    assert shell(*sweep).code == 0
    assert shell(*sweep).code == 2
    assert shell(*sweep, "--force").code == 0
    (shell.folder / "out/sweep.json").unlink()
    assert shell(*sweep, "--force").code == 2
    assert (shell.folder / "out/points.csv").is_file()


def test_ctrl_c_keeps_the_loads_that_have_ended(shell):
    shell.write(SWITCH)
    # The second load practically never ends: half of all packets, to a thousandth.
    command = [*ODONATA, "load-sweep", "scenario.toml", "--loads", "0.05,0.58", "-j", "1", "-o", "out"]
    endless = ["--precision", "0.00001", "--max-samples", "1000", "--sample-period", "2000000", "--json"]
    running = launcher.start(
        [*command, *endless], cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    # It is past its start, and has begun its loads.
    await_work(running, 4)
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130
    report = json.loads(out)
    assert report["outcome"] == "interrupted"
    assert len(report["points"]) < 2
    assert json.loads((shell.folder / "out/sweep.json").read_text())["points"] == report["points"]


def test_loads_are_lists_and_ranges():
    assert load_request.parse_loads("0.1:0.9:0.2") == [0.1, 0.3, 0.5, 0.7, 0.9]
    assert load_request.parse_loads(None)[-1] == 1.0
    assert load_request.parse_loads("1,1,0.5") == [0.5, 1.0]


def test_new_traffic_runs_to_its_end(shell):
    for workload in (
        "worst-case = { load = 0.2, messages = 5 }",
        'grid = { step = "diagonal", load = 0.2, messages = 5 }',
        "shift = { by = 3, load = 0.2, messages = 5 }",
        "bit-rotation = { load = 0.2, messages = 5, self = true }",
        "asymmetric = { load = 0.2, messages = 5 }",
        "permutation = { load = 0.2, messages = 5, seed = 9 }",
        'uniform = { load = 0.1, messages = 5, arrival = "on-off", period = "200 ns", '
        "alpha = 0.1, beta = 0.1 }",
    ):
        shell.write(
            "[machine.dragonfly]\ngroups = 4\nrouters_per_group = 2\nnodes_per_router = 2\n"
            f"global_ports_per_router = 2\n[[jobs]]\nranks = 16\nworkload.{workload}\n"
        )
        done = shell("run", "scenario.toml", "-o", "out", "--force", "--json")
        assert done.code == 0, (workload, done.err)
        assert done.json["outcome"] == "completed"
