"""Schedulers, threads and parts: report of `check`, options of `run`, `bench --parallel`."""

import json
import shutil
import tomllib

import pytest
from conftest import ROOT, SMALL

import odonata
from odonata.benchmarks import parallel as bench_parallel
from odonata.report import origin
from odonata.running.baselines import cores

SCHEDULERS = ["sequential", "conservative", "optimistic"]


def test_check_tells_the_parts_and_what_they_cut(shell):
    shell.write(SMALL)
    settings = ["--set", "run.threads=2", "--set", "run.parts=5"]
    parallel = shell("check", "scenario.toml", "--json", *settings).json["parallel"]
    # A run begins on one thread, on which the parts take turns, and tries two.
    assert (parallel["asked"], parallel["scheduler"], parallel["threads"]) == ("auto", "sequential", 1)
    assert any("tries 5 parts on 2 threads" in reason for reason in parallel["reasons"])
    division = parallel["division"]
    assert (division["used"], division["threads"]) == (True, 1)
    # Each of the five groups of 4 routers is a part.
    assert [part["first_router"] for part in division["parts"]] == [0, 4, 8, 12, 16]
    assert {(part["routers"], part["nodes"]) for part in division["parts"]} == {(4, 8)}
    assert sum(part["share"] for part in division["parts"]) == pytest.approx(1.0)
    local, of_globals = division["cuts"]
    assert (local["class"], local["cables"], local["cut"]) == ("local", 30, 0)
    # Two cables between any two groups; a credit over them takes as long as the cable.
    assert (of_globals["cables"], of_globals["cut"], of_globals["share"]) == (20, 20, 1.0)
    assert (of_globals["lookahead_s"], of_globals["limit"]) == (300e-9, "credit_delay")
    assert division["lookahead_s"] == 300e-9
    assert division["parallelism"] == 1.0


def test_check_reads_like_this(shell):
    shell.write(SMALL)
    settings = ["run.scheduler=conservative", "run.threads=2", "run.parts=5"]
    options = [option for setting in settings for option in ("--set", setting)]
    done = shell("check", "scenario.toml", "--verbose", *options)
    lines = done.out.splitlines()
    at = lines.index("Parallel")
    assert lines[at + 1] == "conservative, on 2 threads:"
    assert lines[at + 3] == "- run.scheduler requests the conservative scheduler"
    assert "- 5 parts affect each other after 300 ns at the earliest" in lines
    assert "5 parts of 4 routers and 8 nodes, each with " in done.out
    assert "global      20   20   100%     300 ns  credits" in lines


def test_a_cut_inside_of_groups_is_shown_with_its_lookahead(shell):
    shell.write(SMALL)
    settings = ["run.scheduler=optimistic", "run.threads=2", "run.parts={ first_routers = [0, 2] }"]
    options = [option for setting in settings for option in ("--set", setting)]
    division = shell("check", "scenario.toml", "--json", *options).json["parallel"]["division"]
    assert [part["routers"] for part in division["parts"]] == [2, 18]
    # Two routers of a group of four: 2 x 2 of its cables, and all 2 x 2 that lead to other groups.
    assert [cut["cut"] for cut in division["cuts"]] == [4, 4]
    assert division["lookahead_s"] == 50e-9


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_results_do_not_depend_on_scheduler_threads_and_parts(shell, small, scheduler):
    expected = json.loads((small / "run.json").read_text())
    shell.write(SMALL)
    settings = ["--scheduler", scheduler, "--threads", "2", "--set", "run.parts=3"]
    run = shell("run", "scenario.toml", "-o", scheduler, "--json", *settings).json
    assert (run["outcome"], run["digest"]) == ("completed", expected["digest"])
    asked = {key: run["scenario"]["run"][key] for key in ("scheduler", "threads", "parts")}
    assert asked == {"scheduler": scheduler, "threads": 2, "parts": 3}


def test_an_optimistic_run_says_how_far_it_ran_ahead_and_what_it_took_back(shell):
    shell.write(SMALL)
    settings = ["--scheduler", "optimistic", "--threads", "2", "--set", "run.parts=20"]
    schedule = shell("run", "scenario.toml", "-o", "ahead", "--json", *settings).json["schedule"]
    figures = schedule["optimistic"]
    assert figures["speculated"] > 0
    assert figures["rolled_back"] >= figures["rollbacks"] > 0
    assert figures["gvt_rounds"] == schedule["rounds"]
    assert 0 < figures["efficiency"] < 1
    assert figures["peak_journal_bytes"] > 0
    documented = (ROOT / "docs/results.md").read_text()
    assert all(f"`schedule.optimistic.{name}`" in documented for name in figures)


def test_the_call_in_python_takes_them_too():
    scenario = tomllib.loads(SMALL)
    results = odonata.run(scenario, scheduler="sequential", threads="auto")
    assert results.run["scenario"]["run"]["scheduler"] == "sequential"
    assert results.run["scenario"]["run"]["threads"] == "auto"
    with pytest.raises(odonata.InputError) as raised:
        odonata.run(scenario, scheduler="sequental")
    assert (raised.value.key, raised.value.hint) == ("run.scheduler", 'did you mean "sequential"?')
    for wrong in (0, 10**9, "many"):
        with pytest.raises(odonata.InputError) as raised:
            odonata.run(scenario, threads=wrong)
        assert raised.value.key == "run.threads"


def test_baselines_share_the_cores():
    runs = 2
    results = odonata.run(tomllib.loads(SMALL), baselines=True, processes=runs)
    share = max(1, cores() // runs)
    assert {alone.run["scenario"]["run"]["threads"] for alone in results.baselines.values()} == {share}
    asked = odonata.run(tomllib.loads(SMALL), baselines=True, processes=runs, threads=3)
    assert {alone.run["scenario"]["run"]["threads"] for alone in asked.baselines.values()} == {3}


def figures(**changed):
    return {
        "scheduler": "sequential",
        "threads": 1,
        "wall_s": 8.0,
        "cpu_s": 8.0,
        "peak_rss_bytes": 1 << 20,
        "events": 10,
        "packet_hops": 5,
        "digest": "d1",
    } | changed


def configuration(scheduler, threads, *runs, failure=None):
    made = bench_parallel._Configuration("case", scheduler, threads)
    made.runs, made.failure = list(runs), failure
    return made


def report(*configurations):
    machine = {"cpu": "a computer", "cores": 8, "cores_allowed": 4}
    rows = bench_parallel._rows(list(configurations))
    return {"rows": rows, "rounds": 3, "quick": False, "machine": machine, "version": "0"}


def test_speed_up_is_over_the_fastest_run_on_one_thread(capsys):
    walls = (9.0, 8.0, 30.0)
    found = report(
        configuration("sequential", 1, *(figures(wall_s=wall) for wall in walls)),
        configuration("conservative", 1, *(figures(scheduler="conservative", wall_s=6.0) for _ in walls)),
        configuration(
            "conservative", 4, *(figures(scheduler="conservative", threads=3, wall_s=2.0) for _ in walls)
        ),
    )
    median, blocked, parallel = found["rows"]
    assert (median["wall_s"], median["speed_up"]) == (9.0, 6.0 / 9.0)
    assert (blocked["speed_up"], blocked["efficiency"]) == (1.0, 1.0)
    assert (parallel["speed_up"], parallel["efficiency"]) == (3.0, 0.75)
    assert bench_parallel.wrong(found) == []
    bench_parallel.show(found)
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("conservative (ran on 3)") and "3.00x" in line for line in lines)
    assert lines[-1] == "on a computer, 4 of 8 cores; odonata 0"


def test_results_that_differ_and_runs_that_fail_are_reported(capsys):
    found = report(
        configuration("sequential", 1, figures(), figures()),
        configuration("conservative", 2, figures(), figures(digest="d2")),
        configuration("optimistic", 2, failure="it ended as stalled"),
    )
    assert [row.get("digest_equal") for row in found["rows"]] == [True, False, None]
    assert bench_parallel.wrong(found) == [
        "case, conservative, 2 threads: the results differ from those of the sequential scheduler",
        "case, optimistic, 2 threads: it ended as stalled",
    ]
    bench_parallel.show(found)
    assert "DIFFER" in capsys.readouterr().out


def test_without_a_run_on_one_thread_there_is_no_speed_up(capsys):
    found = report(
        configuration("sequential", 1, failure="its process ended with signal 9"),
        configuration("conservative", 2, figures(scheduler="conservative", threads=2)),
    )
    row = found["rows"][1]
    assert (row["speed_up"], row["efficiency"], row["digest_equal"]) == (None, None, None)
    bench_parallel.show(found)
    assert "conservative        2" in capsys.readouterr().out


def test_a_run_that_cannot_be_made_is_a_failure_of_its_row():
    one = bench_parallel._Configuration("no-such-case", "sequential", 1)
    bench_parallel._run(one, quick=True)
    assert "no-such-case" in (one.failure or "")
    assert one.runs == []


@pytest.mark.slow
def test_bench_measures_every_scheduler_on_every_number_of_threads(shell):
    report = shell(
        "bench", "--parallel", "hybrid-1056", "--quick", "--rounds", "1", "--threads", "1,2", "--json"
    ).json
    rows = [(row["scheduler"], row["threads"]) for row in report["rows"]]
    expected = [("sequential", 1)]
    expected += [(scheduler, threads) for scheduler in SCHEDULERS[1:] for threads in (1, 2)]
    assert rows == expected
    for row in report["rows"]:
        assert row["digest_equal"] is True
        assert row["wall_s"] > 0
        assert row["cpu_s"] > 0
        assert row["failure"] is None


def test_a_run_that_measured_its_threads_says_which_it_took(shell, small):
    """Planted: the small run is too short to measure. The measurement is below the first line."""
    why = "1 thread: a trial of 2 took 3% less elapsed time (25% less needed) and 71% more CPU time"
    assert json.loads(shell("summary", str(small), "--json").out)["threads"] is None
    folder = shell.folder / "measured"
    shutil.copytree(small, folder)
    run = json.loads((folder / "run.json").read_text())
    run["schedule"]["measured"] = {"share_of_events": 0.98, "trials": 4, "trial": None, "why": why}
    (folder / "run.json").write_text(json.dumps(run))
    lines = shell("summary", "measured").out.splitlines()
    assert lines[1] == why
    assert shell("summary", "measured", "--json").json["threads"] == why
    assert origin._scheduler(run) == f"sequential, {why}"
    assert origin._scheduler(json.loads((small / "run.json").read_text())) == "sequential, 1 thread"
