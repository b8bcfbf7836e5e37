"""The claims of the MFNetSim paper: inputs, measures on tables made by hand, verdicts, the whole command."""

import csv
import dataclasses
import sys
import tomllib

import pyarrow as pa
import pytest
from conftest import ROOT

STUDY = ROOT / "studies" / "mfnetsim"
sys.path.insert(0, str(STUDY))

import make_inputs  # noqa: E402
import paper  # noqa: E402
from mfnetsim_study import cases, claim_report, claims, figures, io_split, paper_page, runs  # noqa: E402
from mfnetsim_study.cases import Case  # noqa: E402
from mfnetsim_study.claims import Grade, Kind, Value, Verdict  # noqa: E402
from study_tools import parquet  # noqa: E402

import odonata  # noqa: E402

CLAIMS = {claim.key: claim for claim in claim_report.CLAIMS}


# Inputs


def test_there_is_a_scenario_of_the_paper_for_every_mix():
    files = {file.stem for file in (STUDY / "paper").glob("*.toml")}
    assert files == set(make_inputs.paper_names()) == set(runs.PAPER.names)
    assert len(files) == 8


@pytest.mark.parametrize("name", make_inputs.paper_names())
def test_scenarios_of_the_paper_are_what_the_script_writes_and_set_nothing_of_their_own(name):
    text = runs.PAPER.scenario(name).read_text(encoding="utf-8")
    assert text == make_inputs.paper_scenario(name)
    scenario = tomllib.loads(text)
    assert scenario.keys() == {"name", "preset", "network", "run", "jobs"}
    assert (scenario["preset"], scenario["run"]) == ("mfnetsim", {"baselines": True})
    assert scenario["network"] == {"routing": {"algorithm": make_inputs.ROUTINGS[name.split("-")[1]]}}
    # Every parameter of a job is the default of its workload, which is the paper's.
    assert all(list(job["workload"].values()) == [{}] for job in scenario["jobs"])


@pytest.mark.parametrize("placement", ["contiguous", "random"])
def test_node_lists_of_the_paper_are_those_of_the_runs_behind_the_servers(placement):
    published = (STUDY / "nodes" / f"{placement}.csv").read_text(encoding="utf-8")
    shifted = (STUDY / "paper" / "nodes" / f"{placement}.csv").read_text(encoding="utf-8")
    assert shifted == make_inputs.paper_node_list(published)
    rows = [list(csv.DictReader(text.splitlines())) for text in (published, shifted)]
    for one, other in zip(*rows, strict=True):
        assert (one["slot"], one["rank"], one["client"]) == (other["slot"], other["rank"], other["client"])
        # Same group, two nodes on; the first two nodes of 32 are servers.
        assert int(other["terminal"]) == int(one["terminal"]) + 2
        assert int(other["terminal"]) // 32 == int(one["terminal"]) // 32
        assert int(other["terminal"]) % 32 >= 2


@pytest.mark.parametrize("name", ["cont-min-wkld2", "rand-par-wkld3"])
def test_scenarios_of_the_paper_pass_the_check(shell, name):
    content = shell("check", str(runs.PAPER.scenario(name)), "--json").json
    assert (content["machine"]["nodes"], content["servers"]) == (1056, 66)
    assert content["routing"]["deadlock_free"]


def test_a_result_is_that_of_its_inputs_and_settings():
    origins = [
        runs.origin("cont-min-wkld2", kind, overrides)["input"]
        for kind in (runs.PUBLISHED, runs.PAPER)
        for overrides in ([], ["run.baselines=true"])
    ]
    assert len(set(origins)) == 4


# Tables made by hand


def results(measured=True, **tables):
    run = {"outcome": "completed", "blame": measured, "baselines": {}}
    return odonata.Results(run, {name: pa.Table.from_pylist(rows) for name, rows in tables.items()})


def a_link(link_class, source, target, size=0, saturation=0.0):
    return {
        "class": link_class,
        "source": source,
        "target": target,
        "bytes": size,
        "saturation_s": saturation,
    }


def a_message(low, high, count=1, job="checkpoint", traffic="io"):
    return {"job": job, "class": traffic, "latency_low_s": low, "latency_high_s": high, "count": count}


def a_bucket(low, count, job="cosmoflow", traffic="io", measure="network"):
    return {"job": job, "class": traffic, "measure": measure, "latency_low_s": low, "count": count}


def a_wait(victim, culprit, resource, waited, place="server", traffic="io"):
    return {
        "victim": victim,
        "victim_class": traffic,
        "culprit": culprit,
        "resource": resource,
        "place": place,
        "waited_s": waited,
    }


def test_io_time_is_request_to_acknowledgement_per_rank():
    rows = [{"job": "a", "start_s": 1.0, "end_s": 1.5}, {"job": "a", "start_s": 2.0, "end_s": 2.25}]
    tables = results(
        jobs=[{"job": "a", "ranks": 3}, {"job": "b", "ranks": 1}],
        io=[*rows, {"job": "c", "start_s": 0.0, "end_s": 9.0}],
    )
    assert cases.io_time(tables, "a") == pytest.approx(0.25)
    assert cases.io_time(tables, "b") == 0.0


def test_the_worst_step_is_the_file_number_whose_mean_grew_most():
    def with_files(*durations):
        files = (0, 1, 1000, 1001)
        rows = [{"file": file, "end_s": 5.0 + d} for file, d in zip(files, durations, strict=True)]
        other = {"job": "checkpoint", "file": 0, "start_s": 0.0, "end_s": 99.0}
        return results(io=[{"job": "cosmoflow", "start_s": 5.0} | row for row in rows] + [other])

    case = Case(
        "rand", "min", "wkld2", with_files(2.0, 3.0, 2.0, 5.0), {"cosmoflow": with_files(1.0, 1.0, 3.0, 1.0)}
    )
    # Step 0: 2 / 2; step 1: 4 / 1.
    assert cases.worst_step(case, "cosmoflow") == pytest.approx(4.0)


def test_pooled_latencies_are_three_per_node_that_received_packets():
    columns = ("packet_latency_mean_s", "packet_latency_max_s", "packet_latency_min_s")
    ranks = [
        {"job": job, "packets_received": packets} | dict(zip(columns, values, strict=True))
        for job, packets, values in (
            ("a", 5, (2.0, 9.0, 1.0)),
            ("a", 0, (0.0, 0.0, 0.0)),
            ("b", 1, (7.0, 7.0, 7.0)),
        )
    ]
    assert cases.pooled(results(ranks=ranks), "a") == [2.0, 9.0, 1.0]
    assert cases.share_below([2.0, 9.0, 1.0], 2.0) == pytest.approx(1 / 3)


def test_the_worst_node_is_that_whose_largest_packet_latency_grew_most():
    def with_latencies(*latencies):
        return results(ranks=[{"job": "milc", "packet_latency_max_s": latency} for latency in latencies])

    case = Case(
        "rand", "min", "wkld2", with_latencies(4.0, 9.0, 1.0), {"milc": with_latencies(1.0, 3.0, 0.0)}
    )
    assert cases.worst_node(case, "milc") == 4.0


def test_short_messages_are_counted_of_rows_and_of_histograms():
    messages = [
        a_message(1e-6, 1e-6),
        a_message(1.9e-6, 2.1e-6, 4),
        a_message(5e-7, 6e-7, 3),
        a_message(1e-7, 1e-7, 50, traffic="mpi"),
        a_message(1e-7, 1e-7, 50, job="cosmoflow"),
    ]
    assert cases.io_messages_below(results(messages=messages), "checkpoint", 2e-6) == pytest.approx(4 / 8)


def test_distance_of_histograms():
    alone = [a_bucket(1.0, 8), a_bucket(2.0, 2, traffic="mpi"), a_bucket(9.0, 99, measure="total")]
    mixed = [a_bucket(1.0, 10), a_bucket(4.0, 10)]
    case = Case("cont", "min", "wkld2", results(packets=mixed), {"cosmoflow": results(packets=alone)})
    # Up to 2.0: all ten of the values alone, half of the others.
    assert cases.distance(case, "cosmoflow") == pytest.approx(0.5)


def test_links_of_a_job_start_in_its_groups():
    ranks = [{"job": "checkpoint", "router": 8}, {"job": "milc", "router": 0}]
    ends = [(8, 0), (9, 16), (0, 8)]
    alone = [a_link("global", *end, saturation=1e-3) for end in ends]
    mixed = [a_link("global", *end, saturation=s) for end, s in zip(ends, (3e-3, 1e-3, 5e-3), strict=True)]
    tables = [results(ranks=ranks, links=links) for links in (mixed, alone)]
    case = Case("cont", "par", "wkld2", tables[0], {"checkpoint": tables[1]})
    assert cases.groups(tables[0], "checkpoint") == {1}
    assert cases.saturation_increases(case, "checkpoint") == pytest.approx([2e-3, 0.0])


def test_carriers_are_the_fewest_routers_with_most_of_the_bytes():
    links = [a_link("local", router, 7, size) for router, size in enumerate((50, 30, 15, 5))]
    links += [a_link("local", 0, 6, 100), a_link("global", 3, 8, 10_000)]
    assert cases.carriers(results(links=links), 0.9) == 2
    assert cases.carriers(results(links=links), 1.0) == 4


def test_waits_are_shares_of_the_victims_time():
    blame = [
        a_wait("cosmoflow", "checkpoint", "device", 3.0),
        a_wait("cosmoflow", "checkpoint", "space", 1.0),
        a_wait("cosmoflow", "milc", "link", 2.0, place="global"),
        a_wait("cosmoflow", "milc", "link", 5.0, place="nic"),
        a_wait("cosmoflow", "milc", "link", 7.0, place="local", traffic="mpi"),
    ]
    jobs = [{"job": "cosmoflow", "io_calls_s": 8.0, "io_network_s": 4.0, "mpi_network_s": 70.0}]
    case = Case("rand", "min", "wkld2", results(jobs=jobs, blame=blame), {})
    assert cases.waits(case, "cosmoflow", "io", "servers") == {"checkpoint": 0.5}
    assert cases.waits(case, "cosmoflow", "io", "network") == {"milc": 0.5}
    assert cases.waits(case, "cosmoflow", "mpi", "network") == {"milc": 0.1}
    unmeasured = dataclasses.replace(case, together=results(measured=False, jobs=jobs, blame=blame))
    assert cases.waits(unmeasured, "cosmoflow", "io", "servers") == {}


# Verdicts


def graded(*grades):
    return [Value("", "case", 1.0, "x", grade) for grade in grades]


def test_the_verdict_follows_from_the_grades():
    assert claims.verdict(graded()) == Verdict.UNKNOWN
    assert claims.verdict(graded(None)) == Verdict.UNKNOWN
    assert claims.verdict(graded(Grade.YES, None, Grade.YES)) == Verdict.HOLDS
    assert claims.verdict(graded(Grade.NO, Grade.NO)) == Verdict.NOT
    assert claims.verdict(graded(Grade.YES, Grade.NO)) == Verdict.PART
    assert claims.verdict(graded(Grade.PART)) == Verdict.PART


def test_rules_have_their_tolerances():
    assert [claims.near(value, 100.0) for value in (79.9, 80.1, 119.9, 120.1)] == [0, 2, 2, 0]
    assert [claims.unchanged(ratio) for ratio in (0.94, 0.96, 1.04, 1.06)] == [0, 2, 2, 0]
    assert [claims.between(x, 1.5, 1.9, 1.1) for x in (1.05, 1.2, 1.6, 2.0)] == [0, 1, 2, 1]


def test_a_quantity_is_shown_with_its_range():
    values = [Value("alone", "a", 0.3, "ms"), Value("alone", "b", 300.4, "ms"), Value("ratio", "a", 1.5, "x")]
    assert claims.summaries(values) == ["alone 0.3 ms to 300 ms", "ratio 1.50x"]


# All claims, on eight mixes as the paper describes them and on eight without interference

ROUTERS = {"cont": range(80, 160), "rand": range(240)}


def a_result(case, job_times, *, alone, like_paper):
    """Tables of one run. `job_times` is job -> (MPI, I/O) in seconds."""
    slow = like_paper and not alone and case[0] == "rand"
    jobs, ranks, io, packets, messages = [], [], [], [], []
    for job, (mpi, io_s) in job_times.items():
        latency = {"nekbone": 103.0, "milc": 16.0}.get(job, 1.0) if slow else 1.0
        sent = {"milc": 200, "nekbone": 100, "cosmoflow": 50, "checkpoint": 0}[job]
        jobs.append(
            {"job": job, "ranks": 1, "mpi_s": mpi, "io_s": io_s, "non_compute_s": mpi + io_s}
            | {"elapsed_s": 0.645 + mpi + io_s, "bytes_sent": sent, "io_calls_s": io_s, "io_device_s": 0.1}
            | {"message_latency_mean_s": 1e-5 * latency, "message_latency_max_s": 1e-4 * latency}
            | {"mpi_network_s": 1.0, "io_network_s": 1.0}
        )
        # The mean over the three pooled values grows like `latency`, and Checkpoint's maximum a hundredfold.
        longest = 1e-4 if slow and job == "checkpoint" else 1e-6 * latency
        for router in ROUTERS[case[0]]:
            ranks.append(
                {"job": job, "router": router, "packets_received": 1, "packet_latency_max_s": longest}
                | {"packet_latency_mean_s": 1e-6 * latency, "packet_latency_min_s": 1e-6 * latency}
            )
        io.append({"job": job, "file": 0, "start_s": 0.0, "end_s": io_s})
        packets.append(a_bucket(1e-6, 100, job=job))
        messages.append(a_message(1e-6, 1e-6, 100, job=job))
    links = []
    for number, router in enumerate(ROUTERS[case[0]]):
        links.append(a_link("local", router, router ^ 1, 1000 if alone or not like_paper else 1100))
        saturation = 0.0
        if like_paper and not alone:
            if case[0] == "rand" or case[1] == "par":
                saturation = 2e-3 if case[0] == "rand" or number < 48 else 0.0
            elif number == 0:
                saturation = 0.106
        links.append(a_link("global", router, 263 - router, saturation=saturation))
    blame = [a_wait("cosmoflow", "checkpoint", "device", 0.01)]
    return results(
        jobs=jobs, ranks=ranks, io=io, packets=packets, messages=messages, links=links, blame=blame
    )


def eight(like_paper):
    found = []
    for name in runs.PAPER.names:
        placement, routing, load = case = name.split("-")
        jobs = make_inputs.WORKLOADS[load]
        slower = {"milc": 1.2, "nekbone": 1.6, "cosmoflow": 1.7, "checkpoint": 1.1}
        if routing == "par":
            slower = {"milc": 1.3, "nekbone": 1.7, "cosmoflow": 1.82, "checkpoint": 1.1}
        alone = {job: (0.5, {"checkpoint": 2.0, "cosmoflow": 0.3}.get(job, 0.0)) for job in jobs}
        if like_paper and placement == "cont":
            # Adaptive routing helps Checkpoint a little.
            factor = 2.0 if routing == "min" else 1.5
            alone = {job: (2 * mpi, factor * io) for job, (mpi, io) in alone.items()}
        together = dict(alone)
        if like_paper and placement == "rand":
            together = {job: (mpi * slower[job], io) for job, (mpi, io) in alone.items()}
            together["cosmoflow"] = together["cosmoflow"][0], 0.75
        found.append(
            Case(
                *case,
                a_result(case, together, alone=False, like_paper=like_paper),
                {
                    job: a_result(case, {job: times}, alone=True, like_paper=like_paper)
                    for job, times in alone.items()
                },
            )
        )
    return found


#: Claims that the hand-made tables of the paper do not meet, and the reason.
NOT_LIKE_THAT = {
    "cosmoflow-non-compute": "1.6 to 1.8 with I/O and without it cannot both be",
    "random-degrades": "Checkpoint's I/O does not degrade, by another claim",
    "adaptive-risk": "nor under adaptive routing; and contiguous placement is stable",
}


def test_every_claim_holds_where_things_are_as_the_paper_says():
    judged = claim_report.judge(eight(like_paper=True), eight(like_paper=False))
    verdicts = {j.claim.key: j.without.verdict for j in judged}
    expected = {key: Verdict.HOLDS if key not in NOT_LIKE_THAT else Verdict.PART for key in CLAIMS}
    assert verdicts == expected


def test_no_claim_about_a_difference_holds_where_there_is_none():
    judged = claim_report.judge(eight(like_paper=True), eight(like_paper=False))
    holding = {j.claim.key for j in judged if j.artifacts.verdict == Verdict.HOLDS}
    # The remaining claims: those without an effect of interference, and more routers for random jobs.
    assert holding == PERTURBATIONS.keys()


TABLES = ("jobs", "ranks", "io", "packets", "messages", "links", "blame")


def edited(found, table, edit, *, alone=False, random=None):
    """The cases with a table of the mixes, or of the baselines, edited row by row."""

    def change(tables):
        rows = {name: tables.table(name).to_pylist() for name in TABLES}
        return results(**rows | {table: [row | edit(row) for row in rows[table]]})

    return [
        case
        if random is not None and case.random != random
        else dataclasses.replace(case, alone={job: change(one) for job, one in case.alone.items()})
        if alone
        else dataclasses.replace(case, together=change(case.together))
        for case in found
    ]


def later(row):
    """An access that takes twice as long."""
    return {"end_s": 2 * row["end_s"] - row["start_s"]}


#: Claims that hold without interference, too -> a change of the mixes or baselines that turns each verdict.
PERTURBATIONS = {
    "checkpoint-short-messages": lambda of: edited(
        of, "ranks", lambda row: {"packet_latency_mean_s": 1e-3, "packet_latency_min_s": 1e-3}
    ),
    "checkpoint-short-messages-counted": lambda of: edited(
        of, "messages", lambda row: {"latency_low_s": 1e-3, "latency_high_s": 1e-3}
    ),
    "checkpoint-io-time": lambda of: edited(of, "io", later),
    "checkpoint-spread": lambda of: edited(
        of, "links", lambda row: {"bytes": row["bytes"] if row["source"] < 10 else 0}, alone=True, random=True
    ),
    "checkpoint-router-traffic": lambda of: edited(of, "links", lambda row: {"bytes": 2 * row["bytes"]}),
    "global-alone": lambda of: edited(of, "links", lambda row: {"saturation_s": 1e-3}, alone=True),
    "cosmoflow-distribution": lambda of: edited(
        of, "packets", lambda row: {"latency_low_s": 2 * row["latency_low_s"]}
    ),
    "cosmoflow-contiguous": lambda of: edited(of, "io", later, random=False),
    "latency-contiguous": lambda of: edited(
        of,
        "jobs",
        lambda row: {"message_latency_mean_s": 2 * row["message_latency_mean_s"]},
        random=False,
    ),
}


@pytest.mark.parametrize("key", PERTURBATIONS)
def test_data_that_say_otherwise_turn_the_verdict(key):
    """Of claims that hold without interference; all others turn in the test above."""
    found = eight(like_paper=True)
    assert claims.answer(CLAIMS[key], found).verdict is Verdict.HOLDS
    assert claims.answer(CLAIMS[key], PERTURBATIONS[key](found)).verdict is not Verdict.HOLDS


def test_claims_about_absent_runs_are_not_computed():
    judged = claim_report.judge([], eight(like_paper=True)[:1])
    assert {j.without.verdict for j in judged} == {Verdict.UNKNOWN}
    verdicts = {j.claim.key: j.artifacts.verdict for j in judged}
    assert verdicts["cosmoflow-io"] == verdicts["random-faster"] == Verdict.UNKNOWN
    assert verdicts["cosmoflow-contiguous"] == Verdict.HOLDS


def test_page_and_table_hold_every_claim_and_number(tmp_path):
    both = eight(like_paper=True), eight(like_paper=False)
    judged = claim_report.judge(*both)
    claim_report.write(tmp_path, judged, *both)
    page = (tmp_path / "claims.md").read_text(encoding="utf-8")
    with (tmp_path / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for claim in CLAIMS.values():
        whose = {Kind.PAPER: "the paper's", Kind.OWN: "our own"}[claim.kind]
        assert f"| {claim.says} | {whose} | {claim.source} | {claim.number} |" in page
        assert f"- `{claim.key}`: {claim.rule}" in page
        assert {row["artifacts"] for row in rows if row["claim"] == claim.key} == {"with", "without"}
    assert "cosmoflow waited, of its I/O time, at servers: checkpoint" in page
    (value,) = [
        row["value"]
        for row in rows
        if (row["claim"], row["run"], row["quantity"], row["artifacts"])
        == ("cosmoflow-io", "rand-par-wkld2", "together", "without")
    ]
    assert float(value) == pytest.approx(750.0)


def test_the_page_about_the_paper_lists_every_claim():
    page = (STUDY / "PAPER.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| ") and "**" in line]
    whose = {Kind.PAPER: "the paper's", Kind.OWN: "our own"}
    starts = [
        f"| {claim.says} | {whose[claim.kind]} | {claim.source} | {claim.number} | **"
        for claim in CLAIMS.values()
    ]
    assert [line[: len(start)] for line, start in zip(listed, starts, strict=True)] == starts
    # A sentence is counted once: other interpretations are checks of the study, with counts of their own.
    for kind, name in whose.items():
        for verdict in (Verdict.HOLDS, Verdict.PART, Verdict.NOT):
            cells = [line.split(" | ") for line in listed if line.split(" | ")[1] == name]
            without, artifacts = (sum(of[column].strip("*") == verdict for of in cells) for column in (4, 6))
            assert f"| {kind} | {verdict} | {without} | {artifacts} |" in page


# Device or network

TWO_JOBS = """\
[machine.dragonfly]
groups = 3
routers_per_group = 2
nodes_per_router = 3
global_ports_per_router = 1

[network.links.local]
bandwidth = "{local}"

[storage]
nodes = {{ list = [0] }}
device = {{ rate = {{ write = "{device}", read = "{device}", overhead = "0 s" }} }}

[[jobs]]
name = "checkpoint"
ranks = 2
placement = {{ nodes = [3, 4] }}
workload = {{ checkpoint = {{ total = "40 MB", interval = "1 us", coordinated = false }} }}

[[jobs]]
name = "cosmoflow"
ranks = 1
placement = {{ nodes = [5] }}
workload = {{ cosmoflow = {{ iterations = 1, elements = 1, sample = "10 MB", io = "write" }} }}
"""


def two_jobs(local, device):
    """A writer and a training on one router, the only server on the other."""
    text = TWO_JOBS.format(local=local, device=device)
    together = odonata.run(tomllib.loads(text), baselines=True)
    return Case("rand", "min", "wkld2", together, together.baselines)


def test_where_the_device_is_slow_it_takes_the_time():
    case = two_jobs(local="16 GiB/s", device="1 GB/s")
    for run in (case.together, case.alone["cosmoflow"]):
        split = io_split.split(run, "cosmoflow")
        assert split.calls_s == cases.job_row(run, "cosmoflow")["io_calls_s"]
        # 10 MB at 1 GB/s.
        assert split.service_s == pytest.approx(0.01)
        assert split.network_s >= 0.0
    more = io_split.slowdown(case, "cosmoflow")
    assert more.calls_s == pytest.approx(more.service_s + sum(more.waits_s.values()) + more.network_s)
    assert more.calls_s > 0.01
    assert more.service_s == pytest.approx(0.0, abs=1e-12)
    assert more.waited("device", "checkpoint") / more.calls_s > 0.95
    assert more.device_s / more.calls_s > 0.95


def test_where_the_link_is_slow_the_network_takes_the_time():
    more = io_split.slowdown(two_jobs(local="1 GB/s", device="100 GB/s"), "cosmoflow")
    assert more.calls_s > 0.005
    assert more.network_s / more.calls_s > 0.95


def test_without_blame_there_is_no_split():
    quiet = results(measured=False, jobs=[{"job": "cosmoflow"}])
    case = Case("rand", "min", "wkld2", quiet, {"cosmoflow": quiet})
    assert not io_split.measured(case, "cosmoflow")
    with pytest.raises(ValueError, match="did not measure blame"):
        io_split.split(quiet, "cosmoflow")


# The command

SHORTER = {
    "milc = {}": 'milc = { iterations = 1, message = "100 kB" }',
    "nekbone = {}": "nekbone = { orders = [2], cg_iterations = 1 }",
    "checkpoint = {}": 'checkpoint = { total = "600 MB", interval = "1 ms" }',
    "cosmoflow = {}": 'cosmoflow = { iterations = 2, elements = 100000, sample = "1 MiB", compute = "1 ms" }',
}


@pytest.fixture
def shorter(tmp_path, monkeypatch):
    """The eight scenarios with short jobs."""
    folder = tmp_path / "paper"
    (folder / "nodes").mkdir(parents=True)
    for placement in make_inputs.PLACEMENTS.values():
        text = (STUDY / "paper" / "nodes" / f"{placement}.csv").read_text(encoding="utf-8")
        (folder / "nodes" / f"{placement}.csv").write_text(text, encoding="utf-8")
    for name in make_inputs.paper_names():
        text = make_inputs.paper_scenario(name)
        for long, short in SHORTER.items():
            text = text.replace(long, short)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    kind = runs.Kind(folder, folder / "nodes", runs.PAPER.names)
    monkeypatch.setattr(runs, "PAPER", kind)
    return tmp_path


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["paper.py", "--no-split", "--processes", "2", *map(str, arguments)])
    return paper.main()


@pytest.mark.slow
def test_the_whole_study_on_short_jobs(shorter, monkeypatch, capfd):
    out = shorter / "out"
    assert command(monkeypatch, "--out", out, "--published", shorter / "none") == 0
    text = capfd.readouterr()
    assert "without the artifacts: all 8 runs; with them: 0 of 8 runs" in text.out
    assert text.err.count(": running") == 8
    with (out / "claims.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["verdict"] for row in rows if row["artifacts"] == "with"} == {Verdict.UNKNOWN}
    assert Verdict.UNKNOWN not in {row["verdict"] for row in rows if row["artifacts"] == "without"}
    # Under contiguous placement and minimal routing the jobs share nothing.
    for case in paper.with_baselines(["cont-min-wkld2", "cont-min-wkld3"], out):
        for job in case.jobs:
            assert case.ratio(job, "elapsed_s") == 1.0
        assert io_split.slowdown(case, "cosmoflow").calls_s == 0.0
    # A second call computes nothing, and has the same output.
    before = (out / "claims.md").read_text(encoding="utf-8")
    assert command(monkeypatch, "--out", out, "--published", shorter / "none") == 0
    assert capfd.readouterr().err.count("results are there") == 8
    assert (out / "claims.md").read_text(encoding="utf-8") == before


def test_unknown_runs_and_too_few_jobs_are_refused(monkeypatch, capsys):
    for wrong, message in ((["rand-min-milc"], "is none of cont-min-wkld2"), (["-j", "0"], "at least 1")):
        monkeypatch.setattr(sys, "argv", ["paper.py", *wrong])
        with pytest.raises(SystemExit) as ended:
            paper.main()
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


# The page and its figures


def test_the_page_about_the_paper_is_what_its_data_say():
    """Otherwise: `make study-mfnetsim-paper RUNS=--page`."""
    assert (STUDY / "PAPER.md").read_text(encoding="utf-8") == paper_page.text()


def test_every_claim_of_the_paper_has_a_figure_or_a_section():
    of_paper = {key for key, claim in CLAIMS.items() if claim.kind is Kind.PAPER}
    assert of_paper == {key for row in paper_page.SHOWN for key in row.claims}
    assert set(paper_page.verdicts()) == set(CLAIMS)


def test_the_authors_figures_are_drawn_from_their_tables(tmp_path):
    measured = figures.authors()
    # Each of four jobs alone under two placements, and three jobs of the mix under four settings.
    latencies = {(one.job, one.setting, one.load) for one in measured if one.measure == figures.LATENCY}
    assert len(latencies) == 4 * 2 + 3 * 4
    for one in measured:
        assert len(one.quantiles) == figures.POINTS
        assert one.quantiles == sorted(one.quantiles)
        assert one.quantiles[0] <= one.mean <= one.quantiles[-1]
    files = figures.draw(tmp_path, measured)
    assert [file.name for file in files] == [f"mfnetsim-figure-{number}.svg" for number in (10, 11, 12, 13)]
    parquet.write(tmp_path / "kept.parquet", figures.Measured, measured)
    assert parquet.read(tmp_path / "kept.parquet", figures.Measured) == measured


def test_our_figures_have_the_times_of_the_tables():
    case = two_jobs(local="16 GiB/s", device="1 GB/s")
    measured = {(one.job, one.measure, one.load): one for one in figures.of_cases([case])}
    io = measured["cosmoflow", figures.IO, "alone"]
    assert io.mean == pytest.approx(1e3 * cases.io_time(case.alone["cosmoflow"], "cosmoflow"))
    together = measured["cosmoflow", figures.COMMUNICATION, "wkld2"]
    assert together.mean == pytest.approx(1e3 * cases.job_row(case.together, "cosmoflow")["non_compute_s"])
    assert measured["checkpoint", figures.TRAFFIC, "alone"].quantiles[-1] > 0
    assert len(figures.boxes(list(measured.values()), 12).axes) == 3
