"""`odonata fidelity`: tiers side by side."""

import contextlib
import dataclasses
import io
import json
import os
import signal
import subprocess

import launcher
import pytest
from conftest import ODONATA
from waiting import await_work

import odonata
from odonata.answers import ANSWERS
from odonata.base import json_types
from odonata.running import runner
from odonata.running import tiers as sides
from odonata.running.progress import ProgressLine
from odonata.scenario.given import text_and_path

SCENARIO = {
    "machine": {
        "dragonfly": {
            "groups": 3,
            "routers_per_group": 4,
            "nodes_per_router": 2,
            "global_ports_per_router": 1,
        }
    },
    "run": {"blame": False},
    "jobs": [
        {
            "name": "exchange",
            "ranks": 16,
            "workload": {"alltoall": {"bytes": "64 KiB", "iterations": 1}},
        }
    ],
}


def by_tier(found):
    return {tier["tier"]: tier for tier in found["tiers"]}


def test_flows_are_closer_to_packets_than_the_analytic_model_where_links_are_shared():
    found = odonata.fidelity(SCENARIO, overrides={"network.routing.algorithm": "minimal"})
    json_types.check(dict(found), ANSWERS["fidelity"])
    off = {name: abs(tier["jobs"][0]["off"]["elapsed_s"]) for name, tier in by_tier(found).items()}
    assert off["packet"] == 0
    assert off["flow"] < off["analytic"]
    assert off["flow"] < 0.15


def test_what_a_tier_cannot_do_is_a_row_with_the_reason():
    control = {"congestion_control": {"kind": "ecn", "threshold": "16 KiB"}}
    tiers = by_tier(odonata.fidelity({**SCENARIO, "network": control}))
    assert tiers["packet"]["refused"] is None
    for name in ("flow", "analytic"):
        assert "network.congestion_control" in tiers[name]["refused"]
        assert tiers[name]["jobs"] == []


def test_lost_time_is_left_out_where_no_message_waits():
    scenario = {**SCENARIO, "run": {"blame": True, "lost_time": True, "lost_time_path": 100}}
    found = odonata.fidelity(scenario)
    json_types.check(dict(found), ANSWERS["fidelity"])
    tiers = by_tier(found)
    assert [tier["refused"] for tier in tiers.values()] == [None] * 3
    assert {name: tier["left_out"] for name, tier in tiers.items()} == {
        "packet": [],
        "flow": ["run.lost_time"],
        "analytic": ["run.lost_time"],
    }
    # The setting changes no time.
    plain = by_tier(odonata.fidelity({**SCENARIO, "run": {"blame": True}}))
    for name, tier in tiers.items():
        assert tier["jobs"][0]["elapsed_s"] == plain[name]["jobs"][0]["elapsed_s"]
    # Requested by a setting too, and without a tier in packets.
    alone = odonata.fidelity(SCENARIO, tiers=["flow"], overrides={"run.blame": True, "run.lost_time": True})
    assert alone["tiers"][0]["left_out"] == ["run.lost_time"]
    out = io.StringIO()
    sides.show(found, out)
    assert "flow: without run.lost_time, which it does not model" in " ".join(out.getvalue().split())
    # Settings that need packets are still reported.
    refused = by_tier(odonata.fidelity({**SCENARIO, "run": {"blame": False, "lost_time": True}}))
    assert "run.blame" in refused["packet"]["refused"]


def test_every_tier_says_how_far_it_is():
    reports = {}

    def progress(title):
        reports[title] = []
        return contextlib.nullcontext(reports[title].append)

    task = runner.Task(*text_and_path(SCENARIO), [], None)
    sides.compare(task, ["analytic", "packet"], None, progress)
    assert list(reports) == ["analytic, tier 1 of 2", "packet, tier 2 of 2"]
    assert [seen[-1].whole for seen in reports.values()] == [1.0, 1.0]
    out = io.StringIO()
    with ProgressLine(out, title="packet, tier 2 of 2") as line:
        line(dataclasses.replace(reports["packet, tier 2 of 2"][-1], wall_s=11.0))
    assert out.getvalue().startswith("packet, tier 2 of 2 | 100% | simulated ")


def two_jobs(**of_second):
    """Adds another job beside the exchange, on nodes of its own."""
    exchange = SCENARIO["jobs"][0]
    jobs = [{**exchange, "ranks": 12}, {**exchange, "name": "other", "ranks": 12, **of_second}]
    return {**SCENARIO, "jobs": jobs}


def test_mixed_is_a_tier_where_jobs_say_so():
    scenario = two_jobs(fidelity="flow", placement="random")
    scenario["network"] = {"coupling_interval": "1 us", "routing": {"algorithm": "minimal"}}
    tiers = by_tier(odonata.fidelity(scenario))
    assert list(tiers) == ["packet", "mixed", "flow", "analytic"]
    assert [tier["refused"] for tier in tiers.values()] == [None] * 4
    # Its first job is nearer to packets than with all messages as flows, or without sharing.
    off = {name: abs(tier["jobs"][0]["off"]["elapsed_s"]) for name, tier in tiers.items()}
    assert off["mixed"] < 0.1
    assert off["mixed"] < off["analytic"]
    # The same by a setting.
    keys = {"jobs.other.fidelity": "flow", "network.coupling_interval": "1 us"}
    plain = two_jobs(placement="random") | {"network": {"routing": {"algorithm": "minimal"}}}
    again = by_tier(odonata.fidelity(plain, overrides=keys))
    for name, tier in tiers.items():
        assert [job["elapsed_s"] for job in again[name]["jobs"]] == [job["elapsed_s"] for job in tier["jobs"]]


def test_a_job_by_the_analytic_model_beside_packets_is_mixed_too():
    scenario = two_jobs(fidelity="analytic", placement="random")
    scenario["network"] = {"analytic": {"latency": "1 us"}}
    tiers = by_tier(odonata.fidelity(scenario))
    assert [tier["refused"] for tier in tiers.values()] == [None] * 4
    first, second = tiers["mixed"]["jobs"]
    assert second["elapsed_s"] == tiers["analytic"]["jobs"][1]["elapsed_s"]
    # The first job meets no other traffic: it takes its time alone, on the same nodes.
    alone = odonata.run(two_jobs(placement="random"), baselines=True).slowdown()["exchange"]["elapsed"].alone
    assert first["elapsed_s"] == alone


def test_mixed_needs_jobs_that_differ():
    with pytest.raises(odonata.InputError, match="all jobs have the same fidelity"):
        odonata.fidelity(two_jobs(), tiers=["packet", "mixed"])
    assert list(by_tier(odonata.fidelity(two_jobs(), tiers=None))) == ["packet", "flow", "analytic"]


def test_parameters_of_the_analytic_model_concern_it_alone():
    network = {"fidelity": "analytic", "analytic": {"latency": "1 us"}}
    tiers = by_tier(odonata.fidelity({**SCENARIO, "network": network}))
    assert [tier["refused"] for tier in tiers.values()] == [None] * 3


def test_a_bound_on_packets_leaves_jobs_without_a_time():
    tiers = by_tier(odonata.fidelity(SCENARIO, tiers=["packet", "flow"], packet_until="5 us"))
    assert (tiers["packet"]["outcome"], tiers["packet"]["jobs"][0]["elapsed_s"]) == ("time-limit", None)
    assert tiers["flow"]["jobs"][0]["off"] == {}


def test_what_is_wrong_whatever_the_tier_is_an_error():
    with pytest.raises(odonata.InputError) as caught:
        odonata.fidelity({"machine": {"dragonfly": {"grups": 5}}})
    assert caught.value.key == "machine.dragonfly.grups"
    with pytest.raises(odonata.InputError, match="no such model"):
        odonata.fidelity(SCENARIO, tiers=["exact"])
    with pytest.raises(odonata.InputError, match="each model once"):
        odonata.fidelity(SCENARIO, tiers=["flow", "flow"])


def test_the_command_prints_a_table_and_answers_in_json(tmp_path):
    odonata.Scenario.from_dict(SCENARIO).save(tmp_path / "s.toml")

    def fidelity_output(*options):
        done = launcher.run(
            # Quiet, because a slow machine would print progress.
            [*ODONATA, "fidelity", "s.toml", "--quiet", "--tier", "packet", "--tier", "flow", *options],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "200"},
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    answer = json.loads(fidelity_output("--json"))
    json_types.check(answer, ANSWERS["fidelity"])
    assert [tier["tier"] for tier in answer["tiers"]] == ["packet", "flow"]
    page = fidelity_output()
    assert "exchange" in page
    assert "%" in page


def test_ctrl_c_ends_the_command_and_keeps_what_is_complete(tmp_path):
    # Flows finish immediately, and packets practically never.
    jobs = [
        {"name": "exchange", "ranks": 16, "workload": {"alltoall": {"bytes": "64 MiB", "iterations": 100}}}
    ]
    odonata.Scenario.from_dict({**SCENARIO, "jobs": jobs}).save(tmp_path / "s.toml")
    command = [
        *ODONATA,
        "fidelity",
        "s.toml",
        "--json",
        "--tier",
        "analytic",
        "--tier",
        "packet",
        "--tier",
        "flow",
    ]
    running = launcher.start(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    # It has started, and is in the tier in packets, which would take an hour.
    await_work(running, 4)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=launcher.PATIENCE_S)
    assert running.returncode == 130
    tiers = json.loads(output)["tiers"]
    assert [(tier["tier"], tier["outcome"]) for tier in tiers] == [
        ("analytic", "completed"),
        ("packet", "interrupted"),
    ]
    assert tiers[0]["jobs"][0]["elapsed_s"] > 0
