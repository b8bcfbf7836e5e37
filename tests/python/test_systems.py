"""What the papers describe, one scenario each, held against closed forms (docs/papers.md)."""

from __future__ import annotations

import math
import os
import re
import sys
from collections import Counter
from typing import NamedTuple

import pytest
from conftest import ROOT

import odonata

sys.path.insert(0, str(ROOT / "tests" / "traces"))

FOLDER = ROOT / "examples" / "systems"
SCENARIOS = sorted(path.stem for path in FOLDER.glob("*.toml"))
GIB = 1 << 30
MS, US = 1e-3, 1e-6

PAGE = ROOT / "docs" / "papers.md"
BEGIN, END = "<!-- systems: generated -->\n", "<!-- systems: end -->\n"


class System(NamedTuple):
    """A part of the papers, in a row of the page."""

    group: str
    part: str
    #: Tags of the papers that describe it.
    papers: str
    closed_form: str
    test: str


#: Name of a scenario -> its row; filled by `holds`.
HELD: dict[str, System] = {}


def holds(name, group, part, papers, closed_form):
    """Registers the test of a scenario, with its row of the page."""

    def register(test):
        HELD[name] = System(group, part, papers, closed_form, test.__name__)
        return test

    return register


def tables():
    """The tables of the page."""
    text = ""
    for group in ("Networks", "Programs", "Placement", "Storage"):
        text += f"\n## {group}\n\n| part | of | scenario | closed form | test |\n|---|---|---|---|---|\n"
        for name, row in HELD.items():
            if row.group == group:
                link = f"[`{name}`](../examples/systems/{name}.toml)"
                text += f"| {row.part} | {row.papers} | {link} | {row.closed_form} | `{row.test}` |\n"
    return text + "\n"


def run(name, **overrides):
    """Runs a scenario to its end; keys of overrides have two underscores for a dot."""
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    results = odonata.run(FOLDER / f"{name}.toml", overrides=keys)
    assert results.completed
    return results


def sent(results, link_class):
    """Bytes on all links of a class."""
    return sum(row["bytes"] for row in results.rows("links") if row["class"] == link_class)


def first_job(results):
    return results.rows("jobs")[0]


def levels(name, **overrides):
    """Virtual channels that the routing needs on local and global links; whether it is free of deadlock."""
    keys = {key.replace("__", "."): value for key, value in overrides.items()}
    routing = odonata.check(FOLDER / f"{name}.toml", overrides=keys)["routing"]
    _, local, between, _ = routing["virtual_channels_needed"]
    return local, between, routing["deadlock_free"]


# Networks


@holds(
    "dragonfly-minimal",
    "Networks",
    "minimal routing on a dragonfly",
    "T",
    "bytes on global links = bytes sent; levels 2 local, 1 global",
)
def test_minimal_packets_cross_one_global_link():
    results = run("dragonfly-minimal")
    job = first_job(results)
    assert sent(results, "global") == job["bytes_sent"] == 72 * 20 * 4096
    # At most local, global, local.
    assert job["mpi_packets_nonminimal"] == 0
    assert all(row["hops_mean"] <= 4 for row in results.rows("ranks"))
    assert levels("dragonfly-minimal") == (2, 1, True)


@holds(
    "dragonfly-non-minimal",
    "Networks",
    "non-minimal (Valiant) routing",
    "T",
    "bytes on global links = 2 x bytes sent; levels 3, 2 by group and 4, 2 by router",
)
def test_non_minimal_packets_cross_two_global_links():
    results = run("dragonfly-non-minimal")
    job = first_job(results)
    assert sent(results, "global") == 2 * job["bytes_sent"]
    assert job["mpi_packets_nonminimal"] == job["mpi_packets"] == 72 * 20
    assert levels("dragonfly-non-minimal") == (3, 2, True)
    assert levels("dragonfly-non-minimal", network__routing__via="router") == (4, 2, True)


#: All 8 nodes of a group send 200 messages of 4 KiB over one global link.
ONE_LINK_S = 8 * 200 * 4096 / (4.7 * GIB)


@holds(
    "dragonfly-worst-case",
    "Networks",
    "worst-case traffic",
    "T",
    "time = nodes of a group x bytes / bandwidth of a global link",
)
def test_minimal_routing_saturates_at_one_global_link_per_group():
    time = run("dragonfly-worst-case").run["simulated_s"]
    assert time == pytest.approx(ONE_LINK_S, rel=0.01)


@holds(
    "dragonfly-adaptive",
    "Networks",
    "adaptive routing (UGAL)",
    "T, C",
    "worst case ends three times sooner than one link per group allows",
)
def test_adaptive_routing_passes_the_bound_of_minimal_routing():
    results = run("dragonfly-adaptive")
    assert results.run["simulated_s"] < ONE_LINK_S / 3
    job = first_job(results)
    assert job["bytes_sent"] < sent(results, "global") < 2 * job["bytes_sent"]
    alone = run("dragonfly-adaptive", network__routing__algorithm="minimal")
    assert alone.run["simulated_s"] == pytest.approx(ONE_LINK_S, rel=0.01)


@holds(
    "dragonfly-progressive",
    "Networks",
    "progressive adaptive routing",
    "C, M",
    "no detour in an idle network; levels 4, 2 by group and 5, 2 by router",
)
def test_progressive_routing_is_minimal_in_an_idle_network():
    job = first_job(run("dragonfly-progressive"))
    assert job["mpi_packets_nonminimal"] == 0
    # A second decision on the way to the gateway: a fourth local level.
    assert levels("dragonfly-progressive") == (4, 2, True)
    assert levels("dragonfly-progressive", network__routing__via="router") == (5, 2, True)


@holds(
    "xc-group",
    "Networks",
    "two-dimensional groups of a Cray XC",
    "C, X",
    "counts of row, column and global links",
)
def test_a_group_has_all_links_of_its_rows_and_columns():
    rows = [row["class"] for row in run("xc-group").rows("links")]
    groups, per_row, columns = 4, 3, 4
    directions = 2
    assert rows.count("local") == groups * per_row * math.comb(columns, 2) * directions
    assert rows.count("column") == groups * columns * math.comb(per_row, 2) * 3 * directions
    assert rows.count("global") == math.comb(groups, 2) * 4 * directions


@holds(
    "in-group-detours",
    "Networks",
    "non-minimal paths inside a group",
    "C",
    "share of detours = 10 / 12 in a group of 12 routers",
)
def test_packets_inside_a_group_take_detours_over_its_routers():
    job = first_job(run("in-group-detours"))
    # One of 12 routers at random; over the first and the last of the path it is minimal.
    assert job["mpi_packets_nonminimal"] / job["mpi_packets"] == pytest.approx(10 / 12, rel=0.05)
    straight = first_job(run("in-group-detours", network__routing__algorithm="minimal"))
    assert straight["mpi_packets_nonminimal"] == 0
    assert straight["mpi_hops_mean"] == 2


def group_of_port(arrangement, group, port, groups):
    """The group to which a port leads: M. Hastings et al., CLUSTER 2015."""
    if arrangement == "absolute":
        return port if port < group else port + 1
    if arrangement == "relative":
        return (group + port + 1) % groups
    step = port // 2 + 1
    return (group + (step if port % 2 == 0 else -step)) % groups


@holds(
    "arrangements",
    "Networks",
    "absolute, relative, circulant cables",
    "X",
    "target group of every global port by its formula",
)
@pytest.mark.parametrize("arrangement", ["absolute", "relative", "circulant"])
def test_global_links_lead_where_the_arrangement_says(arrangement):
    results = run("arrangements", machine__dragonfly__arrangement=arrangement)
    found: dict[int, set[int]] = {}
    for row in results.rows("links"):
        if row["class"] == "global":
            found.setdefault(row["source"], set()).add(row["target"] // 4)
    for router in range(36):
        group, place = divmod(router, 4)
        ports = (2 * place, 2 * place + 1)
        assert found[router] == {group_of_port(arrangement, group, port, 9) for port in ports}


@holds("torus", "Networks", "dimension order on a torus", "T", "bytes on cables = sum of the shorter ways")
def test_a_message_crosses_the_shorter_way_of_each_dimension():
    results = run("torus")
    cables = 0
    for rank in range(32):
        to = (rank + 11) % 32
        for one, other, size in ((rank % 8, to % 8, 8), (rank // 8, to // 8, 4)):
            cables += min((one - other) % size, (other - one) % size)
    assert sent(results, "local") == cables * 50 * 4096


@holds(
    "diagonal",
    "Networks",
    "traffic across the bisection of a torus",
    "T",
    "bytes on cables = bytes sent x sum of k / 2",
)
def test_diagonal_messages_cross_half_of_every_ring():
    results = run("diagonal")
    assert first_job(results)["bytes_sent"] == 32 * 50 * 4096
    assert sent(results, "local") == (8 // 2 + 4 // 2) * first_job(results)["bytes_sent"]


@holds("fat-tree", "Networks", "fat tree", "C", "bytes on cables = 2 x bytes sent to other leaves")
def test_a_packet_to_another_leaf_goes_up_and_down():
    results = run("fat-tree")
    assert sent(results, "local") == 2 * first_job(results)["bytes_sent"] == 2 * 16 * 20 * 4096
    # To the next node only the last of the four nodes of a leaf needs a cable.
    assert sent(run("fat-tree", jobs__0__workload__shift__by=1), "local") == 2 * 16 * 20 * 4096 / 4


@holds("slim-fly", "Networks", "Slim Fly", "C", "bytes on cables = pairs x (7 + 42 x 2) / 49 cables")
def test_routers_of_a_slim_fly_are_two_cables_apart():
    results = run("slim-fly")
    # q = 5: 2 q^2 routers with (3 q - 1) / 2 neighbors each; all others are two cables away.
    routers, neighbors = 50, 7
    cables = routers * (neighbors + 2 * (routers - 1 - neighbors))
    assert sum(row["bytes"] for row in results.rows("links") if row["class"] != "terminal") == cables * 4096


@holds("bubble", "Networks", "bubble escape", "T", "free of deadlock with one level, two without bubbles")
def test_a_ring_needs_one_channel_with_bubbles_and_two_without():
    assert run("bubble").completed
    assert levels("bubble")[0] == 1
    assert levels("bubble", network__routing__algorithm="dimension-order", network__routing__vcs=2)[0] == 2


@holds("credits", "Networks", "credit flow control", "T", "rate = buffer / credit loop")
def test_a_link_carries_one_buffer_per_credit_loop():
    results = run("credits")
    loop = 2 * 10 * US
    assert 1000 * 4096 / results.run["simulated_s"] == pytest.approx(16384 / loop, rel=0.05)
    twice = run("credits", network__links__local__buffer="32 KiB")
    assert results.run["simulated_s"] / twice.run["simulated_s"] == pytest.approx(2, rel=0.05)


@holds("flits", "Networks", "flits routed one by one", "T", "packets = bytes / flit")
def test_every_flit_is_a_packet():
    assert first_job(run("flits"))["mpi_packets"] == 20 * 512 / 32


@holds(
    "saturation",
    "Networks",
    "busy time and saturation time",
    "T, M",
    "busy = bytes / bandwidth; saturated while the buffer is full",
)
def test_a_link_is_saturated_while_its_buffer_is_full_even_while_it_transmits():
    results = run("saturation")
    (fast,) = [row for row in results.rows("links") if row["class"] == "local" and row["bytes"]]
    bytes_sent = 4 * 200 * 4096
    assert fast["busy_s"] == pytest.approx(bytes_sent / 20e9, rel=1e-6)
    # Four senders fill the buffer at once; it stays full until the slow link has taken all but its content.
    assert fast["saturation_s"] == pytest.approx((bytes_sent - 16384) / 1e9, rel=0.02)


@holds("schedulers", "Networks", "sequential, conservative, optimistic", "T", "equal digests")
@pytest.mark.parametrize("scheduler", ["conservative", "optimistic"])
def test_every_scheduler_gives_the_same_results(scheduler):
    alone = run("schedulers", run__scheduler="sequential")
    assert run("schedulers", run__scheduler=scheduler, run__threads=2).run["digest"] == alone.run["digest"]


# Programs


@holds(
    "rendezvous",
    "Programs",
    "point-to-point messages, eager and rendezvous",
    "T",
    "bytes = payload + 2 control messages per long message",
)
def test_a_long_message_has_two_control_messages():
    assert sent(run("rendezvous"), "local") == 20 * (65536 + 2 * 64)
    assert sent(run("rendezvous", mpi__eager_threshold="none"), "local") == 20 * 65536


@holds("collectives", "Programs", "collectives over point-to-point", "T", "messages = P log2 P")
def test_recursive_doubling_sends_log_p_messages():
    job = first_job(run("collectives"))
    assert job["messages"] == 3 * 64 * math.log2(64)
    assert job["bytes_sent"] == job["messages"] * 1024


@holds("dumpi", "Programs", "DUMPI traces", "T", "messages and bytes of the trace")
def test_a_trace_sends_what_its_program_sent():
    truth = (ROOT / "tests/traces/dumpi/threads-3/ground-truth.json").read_text(encoding="utf-8")
    counts = {key: int(re.search(rf'"{key}":(\d+)', truth)[1]) for key in ("total_sends", "total_send_bytes")}
    job = first_job(run("dumpi"))
    assert (job["messages"], job["bytes_sent"]) == (counts["total_sends"], counts["total_send_bytes"])


def pairs(results, size):
    """Pairs of ranks with a message of this size."""
    rows = results.rows("messages")
    return {(row["source_rank"], row["target_rank"]) for row in rows if row["bytes"] == size}


def place(rank):
    """On a grid of 4 x 4 x 4 ranks."""
    return rank % 4, rank // 4 % 4, rank // 16


@holds("amg", "Programs", "AMG", "T", "pairs = neighbors on a mesh")
def test_amg_exchanges_faces_with_neighbors_of_a_mesh():
    found = pairs(run("amg"), 12800)
    assert len(found) == 6 * 4 * 4 * 3
    assert all(sum(abs(a - b) for a, b in zip(place(i), place(j), strict=True)) == 1 for i, j in found)


@holds("multigrid", "Programs", "Multigrid", "T", "messages across faces, edges and corners")
def test_multigrid_exchanges_ghost_cells_of_boxes():
    counts = Counter(row["bytes"] for row in run("multigrid").rows("messages"))
    # Across faces to six neighbors; across edges and corners over the periodic boundary only.
    assert counts == {
        64 * 64 * 8: 64 * 6,
        64 * 8: 64 * 12 - 12 * 4 * 3 * 3,
        8: 64 * 8 - 8 * 3 * 3 * 3,
    }


@holds("crystal-router", "Programs", "Crystal Router", "T", "bytes = P x payload x log2 P / 2")
def test_a_crystal_router_sends_half_of_the_data_in_each_step():
    job = first_job(run("crystal-router"))
    steps = math.log2(64)
    assert job["messages"] == 64 * steps
    assert job["bytes_sent"] == 64 * 63_000 * steps / 2


@holds(
    "background",
    "Programs",
    "background traffic",
    "C",
    "ends with its job; one message per node and interval",
)
def test_background_traffic_lasts_until_its_job_has_ended():
    job, background = run("background").rows("jobs")
    assert job["start_s"] == pytest.approx(5 * MS)
    assert background["elapsed_s"] == pytest.approx(25 * MS, rel=0.01)
    # 64 nodes, one message per 500 us.
    assert background["messages"] == pytest.approx(64 * 25 / 0.5, rel=0.06)


@holds("conceptual-io", "Programs", "coNCePTuaL with I/O", "M", "bytes read, written and sent by the program")
def test_a_program_reads_writes_and_sends():
    job = first_job(run("conceptual-io"))
    assert job["bytes_written"] == 3 * 8 * 65536
    assert job["bytes_read"] == 3 * 8 * 32768
    assert (job["messages"], job["bytes_sent"]) == (3 * 8, 3 * 8 * 1024)


# Placement


@holds(
    "placements",
    "Placement",
    "contiguous, random nodes, routers, groups",
    "C, M",
    "numbers of routers and groups used",
)
def test_jobs_get_the_lowest_or_random_nodes_routers_or_groups():
    def used(placement):
        rows = run("placements", jobs__0__placement=placement).rows("ranks")
        routers = {row["router"] for row in rows}
        return len(routers), len({router // 4 for router in routers}), min(routers)

    assert used("contiguous") == (12, 3, 0)
    assert used("random-router")[0] == 12
    assert used("random-router")[1] > 3
    assert used("random-group")[:2] == (12, 3)
    assert used("random")[0] > 12


@holds(
    "nearest-buffer",
    "Placement",
    "nearest and random burst buffer",
    "C",
    "no byte between groups with the nearest one",
)
def test_the_nearest_buffer_is_in_the_group_and_a_random_one_is_not():
    near = run("nearest-buffer")
    assert sent(near, "global") == 0
    assert {row["bytes_written"] for row in near.rows("servers")} == {7 * 100_000}
    assert sent(run("nearest-buffer", storage__assignment="random"), "global") > 0


# Storage


@holds(
    "pipelining",
    "Storage",
    "pipelined pulls of a burst-buffer manager",
    "C, M",
    "Little's law: rate = pieces in flight x block / round trip",
)
def test_a_request_moves_its_pieces_in_flight_per_round_trip():
    rates = {
        pieces: first_job(run("pipelining", storage__manager__pieces_in_flight=pieces))[
            "io_bandwidth_bytes_per_s"
        ]
        for pieces in (1, 2, 4)
    }
    # A round trip of 200 us and the time of a piece on its links.
    assert rates[1] == pytest.approx(100e3 / (200 * US + 100e3 / 10e9), rel=0.05)
    assert rates[2] == pytest.approx(2 * rates[1], rel=0.05)
    assert rates[4] == pytest.approx(4 * rates[1], rel=0.05)


@holds(
    "memory-pool", "Storage", "memory pool of the manager", "C, M", "Little's law: rate = pool / round trip"
)
@pytest.mark.parametrize("pool", [300_000, 600_000])
def test_the_memory_pool_bounds_all_requests_together(pool):
    results = run("memory-pool", storage__manager__memory=f"{pool} B")
    assert first_job(results)["io_bandwidth_bytes_per_s"] == pytest.approx(pool / (200 * US), rel=0.05)
    assert results.rows("servers")[0]["peak_memory_bytes"] == pool


@holds(
    "full-device",
    "Storage",
    "blocking reservation, drain",
    "C, M",
    "time = (bytes - capacity) / drain rate; no byte lost",
)
def test_a_full_device_makes_writes_wait_for_its_drain():
    results = run("full-device")
    (server,) = results.rows("servers")
    assert server["peak_used_bytes"] <= 20e6
    # All but the capacity waits for 100 MB/s, and nothing is lost.
    assert first_job(results)["io_completion_s"] == pytest.approx(80e6 / 100e6, rel=0.01)
    assert server["bytes_written"] == server["bytes_drained"] == 100e6


@holds("daly", "Storage", "Daly's checkpoint interval", "C", "the higher-order formula")
def test_the_interval_is_the_optimum_of_dalys_formula():
    (row,) = run("daly").rows("checkpoint_restart")
    time, mtti = row["checkpoint_mean_s"], 100.0
    x = time / (2 * mtti)
    assert row["interval_s"] == pytest.approx(
        math.sqrt(2 * time * mtti) * (1 + math.sqrt(x) / 3 + x / 9) - time, rel=1e-3
    )
    assert row["solved"] == 1


@holds("ior", "Storage", "IOR, N-N and N-1, at an injection rate", "X", "rate = nodes x 2.0 GB/s")
@pytest.mark.parametrize("files", [" -F", ""])
def test_nodes_write_at_the_rate_of_their_interface(files):
    results = run("ior", jobs__0__workload__ior=f"-w -k{files} -t 1000000 -b 50000000")
    (row,) = [row for row in results.rows("ior") if row["access"] == "write"]
    assert row["bandwidth_bytes_per_s"] == pytest.approx(4 * 2e9, rel=0.02)
    assert len(results.rows("files")) == (16 if files else 1)


@holds(
    "striping",
    "Storage",
    "striping over burst buffers",
    "X",
    "bytes of a buffer = bytes of the file / buffers",
)
def test_a_shared_file_is_spread_evenly():
    written = [row["bytes_written"] for row in run("striping").rows("servers")]
    assert written == [4 * 9e6 / 9] * 9


@holds("darshan", "Storage", "Darshan 3 logs", "X", "bytes read and written in the log")
def test_a_log_is_replayed_with_its_bytes(tmp_path):
    pytest.importorskip("darshan")
    from darshan_writer import Writer, in_ranges

    log = Writer(4)
    counters = {**in_ranges("WRITE", [1_000_000] * 8), **in_ranges("READ", [1_000_000] * 4)}
    log.record(
        *("POSIX", 7, "/scratch/shared", -1),
        **{"OPENS": 4, "WRITES": 8, "READS": 4, "MAX_BYTE_WRITTEN": 7_999_999, "MAX_BYTE_READ": 3_999_999},
        **{"CONSEC_WRITES": 4, "SEQ_WRITES": 4, "ACCESS1_ACCESS": 1_000_000, "ACCESS1_COUNT": 12},
        **{"F_WRITE_START_TIMESTAMP": 1.0, "F_WRITE_END_TIMESTAMP": 2.0, "F_WRITE_TIME": 0.5},
        **{"F_READ_START_TIMESTAMP": 3.0, "F_READ_END_TIMESTAMP": 4.0, "F_READ_TIME": 0.5},
        **counters,
    )
    file = log.write(tmp_path / "job.darshan") or tmp_path / "job.darshan"
    odonata.trace_convert(file, tmp_path / "job.program")
    job = first_job(run("darshan", jobs__0__trace=str(tmp_path / "job.program")))
    assert (job["bytes_written"], job["bytes_read"]) == (8_000_000, 4_000_000)


@holds("node-local", "Storage", "node-local burst buffers", "M", "a device per node")
def test_node_local_writes_do_not_share_a_device():
    job = first_job(run("node-local"))
    # 10 MB per node at 2 GB/s, and the first pieces on their way.
    assert 5 * MS <= job["io_completion_s"] < 7 * MS


@holds("compute-side", "Storage", "compute-side burst buffers", "M", "nodes share the device of their buffer")
def test_compute_side_writes_share_the_device_of_their_buffer():
    job = first_job(run("compute-side"))
    assert job["io_completion_s"] == pytest.approx(80e6 / 2e9, rel=0.05)


@holds(
    "storage-side",
    "Storage",
    "storage-side burst buffers",
    "M",
    "requests below 64 kB on flash, others on disk",
)
def test_io_nodes_put_small_requests_on_flash():
    devices = {row["name"]: row["bytes_written"] for row in run("storage-side").rows("devices")}
    assert devices == {"flash": 4 * 320_000, "disk": 4 * 4_000_000}


@holds("ssd", "Storage", "flash model", "M", "T_w = W_ch (N - 1) + T_wait (N_cycle - 1) + W_page")
def test_flash_takes_the_time_of_the_model():
    (server,) = run("ssd").rows("servers")
    pages, dies = 10, 4
    wait = max(0, 100 - 10 * dies)
    time = 10 * (pages - 1) + wait * (math.ceil(pages / dies) - 1) + 100
    assert server["device_busy_s"] == pytest.approx(time * US, rel=1e-9)


@holds("hdd", "Storage", "disk model", "M", "rate of the outermost zone, 136 MB/s")
def test_a_sequential_stream_has_the_rate_of_its_zone():
    (row,) = [row for row in run("hdd").rows("ior") if row["access"] == "read"]
    assert row["bandwidth_bytes_per_s"] == pytest.approx(136e6, rel=0.01)


@holds(
    "hybrid",
    "Programs",
    "solver, checkpoint and training at once",
    "M",
    "same bytes together and alone; training slower together",
)
def test_each_job_of_a_mix_is_compared_with_itself_alone():
    results = run("hybrid")
    for job in results.rows("jobs"):
        (alone,) = results.baselines[job["job"]].rows("jobs")
        assert (alone["bytes_sent"], alone["bytes_written"], alone["bytes_read"]) == (
            *(job["bytes_sent"], job["bytes_written"], job["bytes_read"]),
        )
        assert job["elapsed_s"] >= 0.99 * alone["elapsed_s"]
    training = next(job for job in results.rows("jobs") if job["job"] == "training")
    (alone,) = results.baselines["training"].rows("jobs")
    assert training["elapsed_s"] > 1.1 * alone["elapsed_s"]


# The page


def test_every_scenario_has_a_test_and_a_row_of_the_page():
    """Otherwise: ODONATA_UPDATE_DOCS=1 pytest tests/python/test_systems.py."""
    assert sorted(HELD) == SCENARIOS
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    found, _, after = rest.partition(END)
    if os.environ.get("ODONATA_UPDATE_DOCS"):
        PAGE.write_text(before + BEGIN + tables() + END + after, encoding="utf-8")
    else:
        assert found == tables()


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_says_in_a_line_what_it_isolates(name):
    lines = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len([line for line in lines[1:] if line.strip()]) <= 22
