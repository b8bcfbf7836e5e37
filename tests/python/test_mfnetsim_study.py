"""The MFNetSim case study: inputs are complete; the comparison finds all differences and nothing else."""

import copy
import csv
import dataclasses
import math
import sys
import tomllib

import launcher
import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "mfnetsim"
sys.path.insert(0, str(STUDY))

import make_inputs  # noqa: E402
from mfnetsim_study import close, exact, report, runs, stored  # noqa: E402
from mfnetsim_study.close import Quantity, Verdict  # noqa: E402
from mfnetsim_study.data import LINK_CLASSES, Iteration, Link, Rank, RunData, Server  # noqa: E402

import odonata  # noqa: E402

STORED = sorted(stored.summary())


def a_rank(app="milc", rank=0, **changes):
    whole = {field.name: 0 for field in dataclasses.fields(Rank) if field.type == "int"}
    real = {field.name: 0.0 for field in dataclasses.fields(Rank) if field.type == "float"}
    return Rank(**(whole | real | {"app": app, "rank": rank} | changes))


def a_run(name="cont-min-milc", **changes):
    """Two ranks that send each other one message of 100 B, and a server that one of them writes to."""
    ranks = [
        a_rank(
            rank=i,
            node=i,
            elapsed_s=1.0 + i,
            compute_s=0.5,
            non_compute_s=0.5 + i,
            io_s=0.25,
            messages_sent=1,
        )
        for i in range(2)
    ]
    links = {
        ("T", 0, "R", 0): Link("terminal_to_router", 4096, 1e-3, 1),
        ("R", 0, "T", 0): Link("router_to_terminal", 100, 0.0, 0),
        ("R", 0, "R", 1): Link("local", 100, 2e-3, 1),
        ("R", 0, "R", 8): Link("global", 0, 0.0, 0),
    }
    values = {
        "messages": 2,
        "packets": 2,
        "packets_nonminimal": 0,
        "hops_mean": 1.5,
        "wall_s": 10.0,
        "cpu_s": 5.0,
        "ranks": ranks,
        "links": links,
        "servers": {0: Server(31, 100, 1, 1, 2.5e-3)},
        "iterations": {"milc": [Iteration(0.8, 0.9, 1.0), Iteration(1.6, 1.8, 2.5)]},
    }
    return RunData(name, **(values | changes))


def failed(ours, beside):
    return [check.name for check in exact.checks(ours, beside) if not check.passed]


# Inputs


def test_there_is_a_scenario_for_every_placement_routing_and_workload():
    files = {file.stem for file in (STUDY / "scenarios").glob("*.toml")}
    assert files == set(make_inputs.names()) == set(runs.ALL)
    assert len(files) == 24


@pytest.mark.parametrize("name", make_inputs.names())
def test_scenarios_are_what_the_script_writes_and_set_nothing_of_their_own(name):
    text = runs.scenario(name).read_text(encoding="utf-8")
    assert text == make_inputs.scenario(name)
    scenario = tomllib.loads(text)
    assert scenario.keys() == {"name", "preset", "network", "jobs"}
    assert scenario["network"].keys() == {"routing"}
    assert scenario["network"]["routing"].keys() == {"algorithm"}


@pytest.mark.parametrize("placement", ["contiguous", "random"])
def test_node_lists_give_every_slot_300_nodes_of_its_own(placement):
    with (STUDY / "nodes" / f"{placement}.csv").open(newline="") as file:
        rows = [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]
    assert [(row["slot"], row["rank"]) for row in rows] == [
        (slot, rank) for slot in range(3) for rank in range(300)
    ]
    assert len({row["terminal"] for row in rows}) == 900
    # Clients 0 to 899; the last two of 32 terminals of a group are servers, groups 30 to 32 stay idle.
    assert {row["client"] for row in rows} == set(range(900))
    assert all(row["terminal"] == 32 * (row["client"] // 30) + row["client"] % 30 for row in rows)


@pytest.mark.parametrize("placement", ["contiguous", "random"])
def test_node_lists_are_those_of_the_published_runs(placement):
    committed = (STUDY / "nodes" / f"{placement}.csv").read_text(encoding="utf-8")
    assert committed == make_inputs.node_list(placement)


@pytest.mark.parametrize("name", ["cont-min-milc", "rand-par-wkld3"])
def test_scenarios_pass_the_check(shell, name):
    answer = shell("check", str(runs.scenario(name)), "--json")
    assert answer.code == 0, answer.err
    content = answer.json
    assert content["machine"]["nodes"] == 1056
    assert content["servers"] == 66
    assert [job["name"] for job in content["jobs"]] == list(make_inputs.WORKLOADS[name.split("-")[2]])
    assert content["routing"]["deadlock_free"]


def test_jobs_that_share_nothing_do_not_notice_each_other():
    """The check of the whole study on shorter jobs."""
    shorter = {
        "milc": {"milc.iterations": 1, "milc.message": "100 kB"},
        "checkpoint": {"checkpoint.total": "600 MB", "checkpoint.interval": "1 ms"},
        "cosmoflow": {"cosmoflow.iterations": 1, "cosmoflow.elements": 100_000, "cosmoflow.compute": "1 ms"},
    }

    def rows(name):
        jobs = make_inputs.WORKLOADS[name.split("-")[2]]
        overrides = {
            f"jobs.{number}.workload.{key}": value
            for number, job in enumerate(jobs)
            for key, value in shorter[job].items()
        }
        return odonata.run(runs.scenario(name), overrides=overrides).rows("ranks")

    check = exact.superposition(rows(exact.MIX), [row for name in exact.SEPARATE for row in rows(name)])
    assert check.passed, str(check)


# Comparison, against the stored runs themselves


@pytest.mark.parametrize("name", STORED)
def test_a_stored_run_does_not_differ_from_itself(name):
    comparison = report.Comparison(stored.load(name), stored.load(name))
    assert comparison.failed == []
    assert len(comparison.checks) >= 8
    for quantities in [*comparison.applications.values(), comparison.storage]:
        assert all(quantity.difference == 0.0 for quantity in quantities)
    for saturation in comparison.saturations:
        assert (saturation.total.difference, saturation.distance, saturation.distance_saturated) == (
            0.0,
            0.0,
            0.0,
        )


@pytest.mark.parametrize("name", STORED)
def test_figures_are_those_of_the_published_overview(name):
    run, overview = stored.load(name), stored.summary()[name]
    for app, expected in overview["apps"].items():
        figures = {quantity.name: quantity.ours for quantity in close.application(app, run, None)}
        assert figures["elapsed, max"] == pytest.approx(1e-6 * expected["elapsed_ns"]["max"], rel=1e-9)
        assert figures["non-compute, mean"] == pytest.approx(
            1e-6 * expected["comm_time_ns"]["mean"], rel=1e-9
        )
        latency = 1e-3 * expected["packet_latency_ns"]["weighted_mean"]
        assert figures["packet latency, mean"] == pytest.approx(latency, rel=1e-6)
        if expected["io_time_ns"]["max"]:
            assert figures["I/O, mean"] == pytest.approx(1e-6 * expected["io_time_ns"]["mean"], rel=1e-9)
        if "message_latency_ns" in expected:
            latency = 1e-3 * expected["message_latency_ns"]["mean_over_messages"]
            assert figures["message latency, mean"] == pytest.approx(latency, rel=1e-6)
        if "iterations" in expected:
            duration = 1e-6 * expected["iterations"]["duration_ns"]["mean"]
            assert figures["iteration, mean"] == pytest.approx(duration, rel=1e-9)
    run.links = stored.labelled_links(name)
    for saturation in close.saturations(run, None):
        expected = overview["links"][saturation.link_class]["saturation_ns"]
        for figure, key in (
            (saturation.total, "total"),
            (saturation.p99, "p99"),
            (saturation.maximum, "max"),
        ):
            assert 1e6 * figure.ours == pytest.approx(expected[key], rel=1e-9, abs=0.06)


@pytest.mark.parametrize("name", STORED)
def test_the_last_label_of_local_links_repeats_the_first_global_port(name):
    """The reason for reading counters by port; see `stored`."""
    links = stored.labelled_links(name)
    for router in range(264):
        group, i = divmod(router, 8)
        if i < 7:
            first = ("R", router, "R", 8 * ((group + 4 * i + 1) % 33) + 7 - i)
            repeated = dataclasses.replace(links["R", router, "R", 8 * group + 7], link_class="global")
            assert repeated == links[first]


def test_counters_are_moved_to_their_links():
    links = stored.load("cont-min-checkpoint").links
    local = {key: link for key, link in links.items() if link.link_class == "local"}
    assert len(local) == 1617
    # Servers are on router 7 of a group, the others have 4 clients each: 4 times 166,666,666 B of data and
    # requests of 128 B are 666,667,176 B. The link from router 6 is among those that are not stored.
    written = {key: link.bytes for key, link in local.items() if link.bytes > 1_000_000}
    assert written == {("R", r, "R", r - r % 8 + 7): 666_667_176 for r in range(80, 160) if r % 8 < 6}


def test_runs_that_differ_are_distinguished():
    contiguous = stored.load("cont-min-milc")
    names = failed(contiguous, stored.load("rand-min-milc"))
    assert names == ["node of each rank", "terminal traffic", "link traffic", "hops per rank", "hops"]


def test_the_stored_mix_repeats_its_baselines_bit_for_bit():
    def rows(name):
        for row in stored.load(name).ranks:
            values = dataclasses.asdict(row)
            yield {"job": values.pop("app"), **values}

    alone = [row for name in exact.SEPARATE for row in rows(name)]
    check = exact.superposition(rows(exact.MIX), alone)
    assert check.passed, str(check)
    assert check.compared == 900 * len(dataclasses.fields(Rank))
    alone[17]["io_s"] = math.nextafter(alone[17]["io_s"], 1.0)
    check = exact.superposition(rows(exact.MIX), alone)
    assert (check.passed, check.wrong) == (False, 1)


# Comparison, on small runs


def test_equal_runs_pass_and_one_wrong_count_is_named():
    assert failed(a_run(), a_run()) == []
    ours = a_run()
    ours.ranks[1] = dataclasses.replace(ours.ranks[1], bytes_sent=99)
    (check,) = [check for check in exact.checks(ours, a_run()) if not check.passed]
    assert str(check) == "bytes per rank: 1 of 6 differ, e.g. milc rank 1 bytes_sent: ours 99, stored 0"


def test_missing_ranks_links_and_servers_are_differences():
    ours = a_run(servers={})
    ours.ranks.pop()
    del ours.links["R", 0, "R", 1]
    names = failed(ours, a_run())
    assert {"messages per rank", "link traffic", "server bytes and writes"} <= set(names)


def test_paths_are_not_compared_under_adaptive_routing():
    ours, beside = a_run("cont-par-wkld2"), a_run("cont-par-wkld2", hops_mean=2.0, packets_nonminimal=1)
    beside.links["R", 0, "R", 1] = Link("local", 0, 0.0, 0)
    assert failed(ours, beside) == []
    beside.links["T", 0, "R", 0] = Link("terminal_to_router", 8192, 0.0, 0)
    assert failed(ours, beside) == ["terminal traffic"]


def test_means_of_hops_agree_within_their_stored_decimals():
    def with_hops(value):
        return a_run(ranks=[a_rank(hops_mean=value)])

    assert failed(with_hops(2.1235), with_hops(2.123)) == []
    assert failed(with_hops(2.1236), with_hops(2.123)) == ["hops per rank"]


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(100.0, "goal"), (104.9, "goal"), (95.1, "goal"), (106.0, "floor"), (90.1, "floor"), (111.0, "missed")],
)
def test_goal_and_floor(ours, verdict):
    assert Quantity("non-compute, mean", "ms", ours, 100.0, judged=True).verdict == verdict


def test_nothing_stored_gives_no_difference_and_no_verdict():
    comparison = report.Comparison(a_run(), None)
    assert comparison.checks == []
    quantities = [*comparison.applications["milc"], *comparison.storage]
    assert all((q.difference, q.verdict) == (None, Verdict.NONE) for q in quantities)
    assert all(s.verdict == Verdict.NONE for s in comparison.saturations)
    assert "no stored run" in report.heading(comparison)


def test_iterations_last_from_slowest_rank_to_slowest_rank():
    figures = {quantity.name: quantity.ours for quantity in close.application("milc", a_run(), None)}
    assert figures["iteration, mean"] == pytest.approx(1250.0)
    assert figures["iteration, max"] == pytest.approx(1500.0)


def test_kolmogorov_smirnov_distance():
    assert close.kolmogorov_smirnov([1, 2, 3, 4], [1, 2, 3, 4]) == 0.0
    assert close.kolmogorov_smirnov([1, 2], [3, 4]) == 1.0
    # Below 3: all of the first four, half of the others.
    assert close.kolmogorov_smirnov([0, 0, 1, 2], [0, 1, 3, 4]) == 0.5
    assert close.kolmogorov_smirnov([0] * 9 + [5], [0] * 10) == pytest.approx(0.1)
    assert close.kolmogorov_smirnov([], []) == 0.0


def test_percentiles_interpolate():
    assert close.percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert close.percentile(list(range(101)), 0.99) == 99
    assert close.percentile([], 0.99) == 0.0


def test_saturation_is_judged_by_total_and_by_distribution():
    links = {("R", i, "R", i + 1): Link("local", 0, float(i), 0) for i in range(100)}
    beside = a_run(links=links)
    near = a_run(
        links={
            key: dataclasses.replace(link, saturation_s=1.05 * link.saturation_s)
            for key, link in links.items()
        }
    )
    assert close.saturation("local", near, beside).verdict == Verdict.GOAL
    # The same total, all of it on one link.
    total = sum(link.saturation_s for link in links.values())
    one = {key: dataclasses.replace(link, saturation_s=total * (key[1] == 0)) for key, link in links.items()}
    shifted = close.saturation("local", a_run(links=one), beside)
    assert shifted.total.difference == 0.0
    assert shifted.verdict == Verdict.MISSED


# Report and command


def test_tables_and_files_hold_every_run(tmp_path):
    other = a_run("rand-min-milc")
    comparisons = [report.Comparison(a_run(), a_run()), report.Comparison(other, copy.deepcopy(other))]
    report.write(tmp_path, comparisons, [exact.Check("mix", 3, 1, "rank 0: ours 1, stored 2")])
    page = (tmp_path / "comparison.md").read_text(encoding="utf-8")
    assert "## cont-min-milc" in page
    assert "mix: 1 of 3 differ" in page
    with (tmp_path / "comparison.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["run"] for row in rows} == {"cont-min-milc", "rand-min-milc", ""}
    subjects = {"milc", "servers", "exact", "run", *LINK_CLASSES}
    assert {row["subject"] for row in rows if row["run"] == "rand-min-milc"} == subjects
    applications, machines = report.summary(comparisons)
    assert max(len(line) for line in (applications.text() + machines.text()).splitlines()) <= 130


def test_sets_of_runs():
    assert runs.expand(["quick", "cont-min-cosmo"]) == list(runs.SETS["quick"])
    assert len(runs.expand(["baselines"])) == 8
    assert len(runs.expand(["all"])) == 24
    assert sorted(runs.expand(["stored"])) == STORED
    with pytest.raises(ValueError, match="cont-min-mlic"):
        runs.expand(["cont-min-mlic"])


def test_results_are_reused_only_for_the_same_inputs_and_build(tmp_path):
    name = "cont-min-milc"
    made_from = runs.origin(name)

    def usable(any_build=False, outcome="completed", **changes):
        (tmp_path / "run.json").write_text(f'{{"outcome": "{outcome}"}}')
        (tmp_path / runs.ORIGIN_FILE).write_text(str(made_from | changes).replace("'", '"'))
        return runs.usable(name, tmp_path, any_build=any_build)

    assert usable()
    assert not usable(input="other")
    assert not usable(build="other")
    assert usable(build="other", any_build=True)
    assert not usable(outcome="stalled")
    (tmp_path / runs.ORIGIN_FILE).unlink()
    assert not runs.usable(name, tmp_path, any_build=True)


def test_an_unknown_run_is_refused():
    command = [sys.executable, str(STUDY / "compare.py"), "cont-min-mlic"]
    done = launcher.run(command)
    assert done.returncode == 2
    assert "'cont-min-mlic' is neither a run nor one of quick, baselines, stored, all" in done.stderr
