"""Interference between jobs: the table blame in words and as a matrix."""

import io
import tomllib

import pyarrow as pa
import pytest

import odonata
from odonata import Results
from odonata.analysis import blame, summary_page

COLUMNS = (
    "victim",
    "victim_class",
    "culprit",
    "culprit_class",
    "resource",
    "place",
    "name",
    "server",
    "waited_s",
)

ROWS = [
    # Of 10 s of I/O calls 4.1 s at two servers for the checkpoint, 0.6 s for itself.
    ("cosmoflow", "io", "checkpoint", "io", "device", "server", "", 3, 3.0),
    ("cosmoflow", "io", "checkpoint", "io", "memory", "server", "", 5, 1.1),
    ("cosmoflow", "io", "cosmoflow", "io", "device", "server", "", 5, 0.6),
    # Of 50 packet-seconds of milc in the network 6 for I/O of cosmoflow, on two links, most on the second.
    ("milc", "mpi", "cosmoflow", "io", "link", "local", "r1>r2", -1, 2.0),
    ("milc", "mpi", "cosmoflow", "io", "credit", "global", "r3>r7", -1, 4.0),
    ("milc", "mpi", "milc", "mpi", "link", "terminal", "r1>n4", -1, 2.5),
    # Before the network: not part of the time in it, and not in the words.
    ("milc", "mpi", "cosmoflow", "io", "link", "nic", "n4>r1", -1, 40.0),
    # Less than 1%.
    ("milc", "mpi", "checkpoint", "io", "link", "local", "r1>r2", -1, 0.4),
    # The end of the run cut these waits short.
    ("checkpoint", "io", "", "", "link", "local", "r9>r2", -1, 3.0),
    # Its I/O delayed its own messages.
    ("checkpoint", "mpi", "checkpoint", "io", "input", "local", "r9>r2", -1, 0.3),
]


def results(rows=ROWS, run=None):
    jobs = {
        "job": ["milc", "cosmoflow", "checkpoint"],
        "bytes_written": [0, 0, 1000],
        "mpi_network_s": [50.0, 0.0, 1.0],
        "io_network_s": [0.0, 30.0, 30.0],
        "io_calls_s": [0.0, 10.0, 20.0],
    }
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)})
    # Of the machine's 66 servers, cosmoflow uses eight.
    ranks = pa.table({"job": ["cosmoflow"] * 16 + ["milc"], "server": [*range(8), *range(8), -1]})
    servers = pa.table(
        {"server": list(range(70)), "tier": ["storage"] * 66 + ["io"] * 2 + ["file-system"] * 2}
    )
    tables = {"jobs": pa.table(jobs), "blame": table, "ranks": ranks, "servers": servers}
    return Results(run or {"outcome": "completed", "blame": True}, tables)


def test_a_wait_at_a_link_of_any_class_counts():
    """Of 50 packet-seconds 4 at a cable between chassis: 8%."""
    row = ("milc", "mpi", "cosmoflow", "io", "link", "column", "r1>r9", -1, 4.0)
    found = blame.findings(results([row]))
    assert [finding.words() for finding in found] == [
        "Milc's messages spent 8% of their time in the network waiting behind cosmoflow's I/O, "
        "on r1>r9 (column)"
    ]
    assert results([row]).blame_matrix(place="column")["milc"]["cosmoflow"] == 4.0


def test_what_matters_is_reported_the_heaviest_first():
    assert [found.words() for found in blame.findings(results())] == [
        "Cosmoflow spent 41% of its I/O time waiting behind checkpoint, at the devices of 2 of its 8 servers",
        "Checkpoint's messages spent 30% of their time in the network waiting behind checkpoint's I/O, "
        "on r9>r2 (local)",
        "Milc's messages spent 12% of their time in the network waiting behind cosmoflow's I/O, on 2 links, "
        "most on r3>r7 (global)",
        "Cosmoflow spent 6% of its I/O time waiting behind its own requests, "
        "at the device of 1 of its 8 servers",
        "Milc's messages spent 5% of their time in the network waiting behind each other, "
        "on r1>n4 (terminal)",
    ]


def test_with_slowdowns_the_waits_of_the_most_slowed_job_are_first():
    found = blame.findings(results(), {"milc": 1.4, "cosmoflow": 1.1, "checkpoint": 1.0})
    assert [one.victim for one in found if not one.own] == ["milc", "cosmoflow", "checkpoint"]


def _printed(of):
    """The lines about interference of a summary."""
    out = io.StringIO()
    found = [one.as_dict() for one in blame.findings(of)]
    page = {"blame": found, "blame_estimate": None, "slowdown": None, "single_job": False, "jobs": [{}, {}]}
    summary_page._findings(summary_page.console(out), page)
    return out.getvalue().splitlines()[2:]


def test_a_list_without_waits_for_other_jobs_says_so_first():
    own = results([("milc", "mpi", "milc", "mpi", "link", "local", "r1>r2", -1, 5.0)])
    assert _printed(own) == [
        "No job spent 1% of its time or more waiting behind another.",
        "- Waits behind own traffic, of the time in the network: milc's messages 10%",
    ]


def test_without_baselines_shares_are_not_mistaken_for_slowdowns():
    assert _printed(results())[-1].startswith("Shares are of waiting times, not of run times")


def test_what_traffic_did_to_itself_is_a_sentence_for_each_place():
    own = [found.as_dict() for found in blame.findings(results()) if found.own]
    assert blame.own_words(own) == [
        "Waits behind own traffic, of the time in the network: milc's messages 5%",
        "Waits behind own traffic, of I/O time: cosmoflow's I/O 6%",
    ]


def test_shares_are_of_the_victims_time_in_the_network_or_in_io_calls():
    found = {(f.victim, f.culprit, f.where): f for f in blame.findings(results())}
    assert found["cosmoflow", "checkpoint", "servers"].share == pytest.approx(4.1 / 10)
    assert found["milc", "cosmoflow", "network"].share == pytest.approx(6 / 50)
    assert found["milc", "milc", "network"].share == pytest.approx(2.5 / 50)


def test_shares_of_an_interrupted_run_are_at_most_1():
    """Packets in flight have waited, but their time in the network is missing from the total."""
    found = blame.findings(results([("milc", "mpi", "cosmoflow", "io", "link", "local", "r1>r2", -1, 53.5)]))
    assert (found[0].share, found[0].waited_s, found[0].at_most) == (1.0, 53.5, True)
    assert found[0].words() == (
        "When the run ended, milc's messages had waited 53.5 s, summed over packets, "
        "behind cosmoflow's I/O, on r1>r2 (local)"
    )
    own = blame.findings(results([("milc", "mpi", "milc", "mpi", "link", "local", "r1>r2", -1, 53.5)]))
    assert blame.own_words([one.as_dict() for one in own]) == [
        "Waits behind own traffic, of the time in the network: milc's messages an unknown part"
    ]


def test_a_share_of_a_job_that_has_not_ended_is_an_upper_bound():
    unfinished = results([("milc", "mpi", "cosmoflow", "io", "link", "local", "r1>r2", -1, 5.0)])
    jobs = unfinished.table("jobs")
    jobs = jobs.append_column("ranks", pa.array([4, 4, 4])).append_column(
        "ranks_finished", pa.array([3, 4, 4])
    )
    tables = {name: unfinished.table(name) for name in unfinished.tables} | {"jobs": jobs}
    found = blame.findings(Results(unfinished.run, tables))
    assert "Milc's messages spent at most 10% of their time" in found[0].words()


def test_servers_are_counted_of_those_that_the_job_uses():
    row = ("cosmoflow", "io", "checkpoint", "io", "device", "server", "", 3, 3.0)
    lone = results([row])
    tables = {name: lone.table(name) for name in lone.tables}
    tables["ranks"] = pa.table({"job": ["cosmoflow"], "server": [3]})
    found = blame.findings(Results(lone.run, tables))
    assert found[0].words() == (
        "Cosmoflow spent 30% of its I/O time waiting behind checkpoint, at the device of its server"
    )


def test_data_on_its_way_down_waits_for_a_part_of_all_that_it_waits_there_and_a_read_in_its_call():
    """The checkpoint waits 3 s there, 2.4 s of them for cosmoflow, which waits 2 of its 10 s of calls."""
    rows = [
        ("checkpoint", "io", "cosmoflow", "io", "device", "file-system", "", 68, 1.4),
        ("checkpoint", "io", "cosmoflow", "io", "device", "server", "", 66, 1.0),
        ("checkpoint", "io", "checkpoint", "io", "device", "file-system", "", 69, 0.6),
        ("cosmoflow", "io", "checkpoint", "io", "device", "file-system", "", 69, 2.0),
    ]
    found = blame.findings(results(rows))
    assert [finding.words() for finding in found] == [
        "Cosmoflow spent 20% of its I/O time waiting behind checkpoint, "
        "at the device of 1 server below its own",
        "Checkpoint's data on their way down spent 80% of their waiting time behind cosmoflow, "
        "at the devices of 2 servers below its own",
        "Checkpoint's data on their way down spent 20% of their waiting time behind each other, "
        "at the device of 1 server below its own",
    ]
    assert blame.own_words([finding.as_dict() for finding in found if finding.own]) == [
        "Waits behind own traffic, of the waiting time of data on their way down: checkpoint's I/O 20%"
    ]


def test_what_waits_below_the_servers_of_a_run_with_tiers_is_no_part_of_its_calls(tmp_path):
    done = odonata.run("examples/tiers.toml", tmp_path / "out")
    lower = blame.servers_below(done)
    assert {row["tier"] for row in done.rows("servers") if row["server"] in lower} == {"io", "file-system"}
    found = blame.totals(done)
    below = [one for one in found if one.victim == "checkpoint" and one.where == "below"]
    assert {one.culprit for one in below} == {"checkpoint", "training"}
    assert sum(one.share for one in below) == pytest.approx(1.0)
    calls = [one for one in found if one.victim == "checkpoint" and one.where == "servers"]
    assert sum(one.share for one in calls) <= 1.0
    # It reads from below, and writes nothing.
    assert all(one.in_calls for one in found if one.victim == "training")


def test_waits_for_a_fault_have_no_culprit_and_are_named():
    rows = [
        ("cosmoflow", "io", "", "", "fault", "server", "", 3, 3.0),
        ("cosmoflow", "io", "", "", "device", "server", "", 3, 2.0),
    ]
    found = blame.findings(results(rows))
    assert [finding.words() for finding in found] == [
        "Cosmoflow spent 30% of its I/O time waiting because of a fault, at 1 of its 8 servers"
    ]
    assert results(rows).blame_matrix(resource="fault")["cosmoflow"][""] == 3.0


def test_a_long_list_is_cut():
    many = [("milc", "mpi", f"job {n}", "mpi", "link", "local", "r1>r2", -1, 1.0 + n) for n in range(20)]
    found = blame.findings(results(many))
    assert [f.culprit for f in found] == [f"job {n}" for n in range(19, 11, -1)]


def test_a_run_that_did_not_measure_blame_has_none():
    for unmeasured in (
        results([], {"outcome": "completed", "blame": False}),
        Results({"outcome": "completed"}, {"jobs": pa.table({"job": ["milc"]})}),
    ):
        assert blame.findings(unmeasured) is None
        with pytest.raises(KeyError, match=r"run\.blame"):
            unmeasured.blame_matrix()


def test_the_matrix_adds_up_all_waits():
    matrix = results().blame_matrix()
    assert list(matrix) == ["milc", "cosmoflow", "checkpoint"]
    assert list(matrix["milc"]) == ["milc", "cosmoflow", "checkpoint", ""]
    assert matrix["milc"] == pytest.approx({"milc": 2.5, "cosmoflow": 46.0, "checkpoint": 0.4, "": 0.0})
    assert matrix["checkpoint"][""] == 3.0
    assert sum(sum(row.values()) for row in matrix.values()) == pytest.approx(sum(row[-1] for row in ROWS))


def test_the_matrix_of_a_resource_a_place_or_a_class():
    assert results().blame_matrix(place="server")["cosmoflow"]["checkpoint"] == pytest.approx(4.1)
    assert results().blame_matrix(resource="credit")["milc"]["cosmoflow"] == 4.0
    assert results().blame_matrix(victim_class="mpi")["checkpoint"]["checkpoint"] == 0.3
    assert results().blame_matrix(place="nic", resource="link")["milc"]["cosmoflow"] == 40.0
    with pytest.raises(
        ValueError, match="no place 'switch'; there are nic, terminal, local, column, global, server"
    ):
        results().blame_matrix(place="switch")


def test_waits_of_fsync_are_charged_to_the_owner_of_the_blocks_in_flight(tmp_path):
    """Two jobs write to the same buffers, and one of them synchronizes down to the file system."""
    scenario = """
[machine.dragonfly]
groups = 5
routers_per_group = 2
nodes_per_router = 2
global_ports_per_router = 2
[storage]
nodes = { list = [0, 4] }
layout = "round-robin"
sync = "below"
device = { capacity = "1 TB", rate = { write = "2 GB/s", read = "2 GB/s", overhead = "20 us" } }
policy = { blocks_in_flight = 1 }
tiers = [{ name = "io", nodes = { list = [8] } }]
file_system = { object_servers = 2, bandwidth = "200 MB/s" }
[run]
blame = true
[[jobs]]
name = "saver"
ranks = 4
workload = { checkpoint = { iterations = 2, total = "16 MB", interval = "100 us", fsync = true } }
[[jobs]]
name = "other"
ranks = 4
workload = { checkpoint = { iterations = 2, total = "16 MB", interval = "100 us" } }
"""
    done = odonata.run(tomllib.loads(scenario), tmp_path / "out")
    # A completed run was audited: all waits are charged, to the picosecond.
    assert done.outcome == "completed"
    rows = [row for row in done.rows("blame") if row["resource"] == "reserve"]
    assert {(row["victim"], row["place"]) for row in rows} == {("saver", "server")}
    assert "other" in {row["culprit"] for row in rows}
    charged = done.blame_matrix(resource="reserve")
    assert charged["saver"]["other"] > 0.01
    assert charged["other"] == {"saver": 0.0, "other": 0.0}


def test_a_sample_of_packets_says_about_what_all_say_and_that_it_is_one(tmp_path):
    """With one packet in 4, the sum of n waits of one length has a standard error of sqrt(3 / n) of it."""
    sender = {"ranks": 32, "placement": "random"}
    scenario = {
        "machine": {
            "dragonfly": {
                "groups": 5,
                "routers_per_group": 4,
                "nodes_per_router": 4,
                "global_ports_per_router": 1,
            }
        },
        "run": {"blame": True},
        "jobs": [
            sender | {"name": name, "workload": {"alltoall": {"bytes": "64 KiB", "iterations": 2}}}
            for name in ("one", "other")
        ],
    }
    at_routers = {}
    for packets in (1, 4):
        run = {"run.blame_sampling": packets}
        done = odonata.run(scenario, tmp_path / str(packets), overrides=run)
        rows = [row for row in done.rows("blame") if row["place"] != "nic"]
        at_routers[packets] = sum(row["waited_s"] for row in rows)
        estimate = "waits at routers are estimated from one packet in 4"
        page = io.StringIO()
        summary_page.show(done.summary(), page)
        assert (estimate in " ".join(page.getvalue().split())) == (packets == 4)
        assert done.summary()["blame_estimate"] == (estimate if packets == 4 else None)
    # 60,000 packets that wait once each or more.
    assert at_routers[4] == pytest.approx(at_routers[1], rel=0.05)
    assert at_routers[4] != at_routers[1]
