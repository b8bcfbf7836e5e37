"""Results name the fidelity of messages, and show nothing that was not modeled."""

import re

import pytest

import odonata
from odonata.analysis import summary
from odonata.report import several
from odonata.scenario import run_fidelity

MACHINE = {
    "dragonfly": {
        "groups": 3,
        "routers_per_group": 2,
        "nodes_per_router": 2,
        "global_ports_per_router": 1,
    }
}
JOBS = [
    {"name": "halo", "ranks": 6, "workload": {"stencil": {"message": "64 KiB", "iterations": 3}}},
    {"name": "sum", "ranks": 6, "workload": {"allreduce": {"bytes": "64 KiB", "iterations": 3}}},
]
TIERS = ("packet", "flow", "analytic", "mixed")


@pytest.fixture(scope="module")
def runs():
    def made(tier):
        network = {"fidelity": "packet" if tier == "mixed" else tier}
        jobs = [dict(job) for job in JOBS]
        if tier == "mixed":
            jobs[1]["fidelity"] = "flow"
        run = {"series_interval": "5 us"} if tier == "flow" else {}
        return odonata.run({"name": tier, "machine": MACHINE, "network": network, "jobs": jobs, "run": run})

    return {tier: made(tier) for tier in TIERS}


def text(results, capsys):
    from odonata.analysis import summary_page

    summary_page.show(summary.collect(results))
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("tier", TIERS)
def test_the_summary_says_how_messages_went(runs, tier, capsys):
    page = summary.collect(runs[tier])
    of_jobs = {"mixed": ["packet", "flow"]}.get(tier, [tier, tier])
    assert [job["fidelity"] for job in page["jobs"]] == of_jobs
    assert page["fidelity"] == tier
    assert f"({run_fidelity.WORDS[tier]}" in text(runs[tier], capsys)
    for job in page["jobs"]:
        known = job["mpi_packet_latency_p50_s"] is not None
        assert known == (job["fidelity"] == "packet"), job
    has_packets = tier in ("packet", "mixed")
    assert (page["packet_hops_per_cpu_s"] is not None) == has_packets
    assert all((link["saturation_s"] is not None) == has_packets for link in page["links"])
    assert bool(page["links"]) == (tier != "analytic")
    assert len(page["not_modelled"]) == (0 if tier == "packet" else 1)


def test_the_summary_has_no_columns_of_what_was_not_modelled(runs, capsys):
    assert "saturated" in text(runs["packet"], capsys)
    flow = text(runs["flow"], capsys)
    assert "saturated" not in flow
    assert "packet p50" not in flow
    assert "Not modeled" in flow
    mixed = text(runs["mixed"], capsys)
    assert "job ranks messages time" in mixed
    assert "Busiest links of routers" not in text(runs["analytic"], capsys)


def test_a_goal_schedule_under_loggops_has_no_latencies_of_messages(tmp_path, capsys):
    schedule = tmp_path / "pair.goal"
    schedule.write_text("num_ranks 2 rank 0 { send 8b to 1 } rank 1 { recv 8b from 0 }")
    job = {"name": "pair", "trace": str(schedule)}
    results = odonata.run({"machine": MACHINE, "network": {"fidelity": "analytic"}, "jobs": [job]})
    (row,) = results.table("jobs").to_pylist()
    assert row["messages"] == 1
    (found,) = summary.collect(results)["jobs"]
    assert found["message_latency_p50_s"] is None
    assert "Latency" not in text(results, capsys)


@pytest.mark.parametrize("tier", TIERS)
def test_the_report_leaves_out_what_was_not_modelled(runs, tier):
    page = runs[tier].report()
    shown = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert run_fidelity.WORDS[tier] in shown
    assert ("packets never found" in shown) <= (tier in ("packet", "mixed"))
    assert ("saturated" in shown) == (tier in ("packet", "mixed"))
    assert ('id="links-load"' in shown) == (tier != "analytic")
    limits = shown[shown.index("Not measured</h2>") :]
    assert ("messages go as flows" in limits) == (tier in ("flow", "mixed"))
    assert ("analytic model, in which they meet" in limits) == (tier == "analytic")


def test_reports_of_several_runs_say_which_tier_each_is(runs):
    page = several.html([runs["packet"], runs["analytic"]])
    assert "by the analytic model" in page
    assert "as packets" in page
