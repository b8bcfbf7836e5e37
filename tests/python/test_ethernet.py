"""Messages over an Ethernet (fidelity "ethernet"): closed form, conservation, schedulers, errors."""

from collections.abc import Iterator
from typing import Any

import pytest

import odonata
from odonata.operations import Operation, irecv, isend, wait_all

LINK = {"bandwidth": "12.5 GB/s", "latency": "1 us"}


def send_all(rank: int, ranks: int, *, pairs: list[list[int]], size: int) -> Iterator[Operation]:
    """All flows of a rank at once."""
    incoming = [source for source, target in pairs if target == rank]
    outgoing = [target for source, target in pairs if source == rank]
    for request, source in enumerate(incoming):
        yield irecv(source, size, request=request)
    for request, target in enumerate(outgoing):
        yield isend(target, size, request=len(incoming) + request)
    if incoming or outgoing:
        yield wait_all(0, len(incoming) + len(outgoing))


def scenario(pairs: list[tuple[int, int]], size: int, **ethernet: Any) -> dict[str, Any]:
    """Flows of `size` bytes on a fat tree of 16 nodes and three levels, 100 Gb/s, 1 us per link."""
    roce = ethernet.get("transport") == "roce"
    return {
        "machine": {"fat-tree": {"down": [2, 2, 4], "up": [1, 2, 2]}},
        "network": {
            "fidelity": "ethernet",
            "ethernet": {"record_flows": True, **ethernet},
            "packet": "4000 B" if roce else "4086 B",
            "header": "64 B",
            "router_delay": "0 s",
            "links": {"terminal": LINK, "local": LINK, "global": LINK},
            "routing": {"up": "random"},
        },
        "nic": {"message_delay": "0 s"},
        "mpi": {
            "send_delay": "0 s",
            "send_overhead": "0 s",
            "recv_overhead": "0 s",
            "eager_threshold": "none",
        },
        "jobs": [{"name": "flows", "ranks": 16, "python": send_all, "args": {"pairs": pairs, "size": size}}],
    }


def test_a_flow_alone_takes_its_closed_form() -> None:
    # [s + 64 N + (H - 1) 4150] 0.08 ns + 2 H us + H 64 B, with N = 490 packets over H = 6 links.
    results = odonata.run(scenario([(0, 15)], 2_000_000))
    (flow,) = results.rows("ethernet_flows")
    expected = (2_000_000 + 64 * 490 + 5 * 4150 + 6 * 64) * 0.08e-9 + 12e-6
    assert flow["completion_s"] == pytest.approx(expected, abs=1e-9)
    assert (flow["job"], flow["source"], flow["target"], flow["bytes"]) == ("flows", 0, 15, 2_000_000)
    assert results.run["scenario"]["network"]["ethernet"]["base_rtt"] == "14.02272 us"


def test_a_short_message_of_roce_is_a_short_packet() -> None:
    # H (8 + 64 + 64) 0.08 ns + 2 H us over H = 6 links; htsim's packets have all 4,064 B.
    for full, wire in [(False, 8 + 64), (True, 4064)]:
        results = odonata.run(scenario([(0, 15)], 8, transport="roce", full_packets=full))
        (flow,) = results.rows("ethernet_flows")
        assert flow["completion_s"] == pytest.approx(6 * (wire + 64) * 0.08e-9 + 12e-6, abs=1e-12)


INCAST = [(source, 0) for source in range(1, 9)]


@pytest.mark.parametrize(
    ("ethernet", "lost"),
    [
        ({}, "trimmed_packets"),
        ({"congestion_control": "constant"}, "trimmed_packets"),
        ({"congestion_control": "rccc"}, "trimmed_packets"),
        ({"congestion_control": "swift"}, "trimmed_packets"),
        ({"trimming": False, "queue": "32 KiB"}, "dropped_packets"),
        ({"transport": "roce"}, None),
        (
            {"transport": "roce", "congestion_control": "dcqcn", "ecn_low": "4 KiB", "ecn_high": "40 KiB"},
            None,
        ),
    ],
)
def test_every_packet_is_accounted_for(ethernet: dict[str, Any], lost: str | None) -> None:
    results = odonata.run(scenario(INCAST, 400_000, **ethernet))
    assert results.outcome == "completed"
    (row,) = results.rows("ethernet")
    links = results.rows("ethernet_links")
    assert (row["flows"], row["bytes"], row["delivered_bytes"]) == (8, 3_200_000, 3_200_000)
    arrived = row["delivered_packets"] + row["duplicate_packets"]
    assert row["packets"] + row["resent_packets"] == arrived + row["trimmed_packets"] + row["dropped_packets"]
    for column in ("trimmed_packets", "dropped_packets"):
        assert row[column] == sum(link[column] for link in links)
        assert (row[column] > 0) == (column == lost)
    assert (sum(link["pauses"] for link in links) > 0) == (ethernet.get("transport") == "roce")
    is_dcqcn = ethernet.get("congestion_control") == "dcqcn"
    assert (row["congestion_notifications"] > 0) == (row["marked_packets"] > 0 and is_dcqcn) == is_dcqcn
    # Counters of the general table of links agree.
    packets = {link["link"]: link["data_packets"] + link["control_packets"] for link in links}
    assert all(link["packets"] == packets[link["link"]] for link in results.rows("links"))


@pytest.mark.parametrize(
    "ethernet",
    [
        {},
        {"congestion_control": "rccc"},
        {"transport": "roce"},
        {"transport": "roce", "congestion_control": "dcqcn", "ecn_high": "40 KiB", "ecn_probability": 1.0},
    ],
)
def test_every_scheduler_gives_one_digest(ethernet: dict[str, Any]) -> None:
    digests = {
        odonata.run(
            scenario(INCAST, 100_000, **ethernet),
            overrides={"run.scheduler": scheduler, "run.threads": threads},
        ).run["digest"]
        for scheduler, threads in (("sequential", 1), ("conservative", 2), ("optimistic", 2))
    }
    assert len(digests) == 1


@pytest.mark.parametrize(("retransmission", "discards"), [("selective", False), ("go-back-n", True)])
def test_roce_without_pauses_drops_and_repairs(retransmission: str, discards: bool) -> None:
    keys = {"transport": "roce", "pauses": False, "queue": "32 KiB", "retransmission": retransmission}
    results = odonata.run(scenario(INCAST, 400_000, **keys))
    assert results.outcome == "completed"
    (row,) = results.rows("ethernet")
    assert row["delivered_bytes"] == 3_200_000
    assert row["dropped_packets"] > 0
    assert (row["out_of_sequence_packets"] > 0) == discards
    arrived = row["delivered_packets"] + row["duplicate_packets"] + row["out_of_sequence_packets"]
    assert row["packets"] + row["resent_packets"] == arrived + row["dropped_packets"]
    assert sum(link["pauses"] for link in results.rows("ethernet_links")) == 0


def test_pauses_are_proved_free_of_deadlock_or_their_cycle_is_named() -> None:
    case = scenario([(0, 1)], 8, transport="roce")
    tree = odonata.check(case)["routing"]
    assert (tree["waits_for"], tree["deadlock_free"]) == ("pauses", True)
    assert tree["channels"] > 0
    assert tree["dependencies"] > 0
    del case["network"]["routing"]
    case["machine"] = {"torus": {"dims": [8], "nodes_per_router": 2}}
    del case["network"]["links"]["global"]
    ring = odonata.check(case)["routing"]
    assert (ring["waits_for"], ring["deadlock_free"]) == ("pauses", False)
    hops = [tuple(int(word) for word in hop.split() if word.isdigit()) for hop in ring["cycle"]]
    assert sorted(start for start, _ in hops) == list(range(8))
    assert all(end == hops[(i + 1) % 8][0] for i, (_, end) in enumerate(hops))
    # Credits have virtual channels, and drops make no packet wait.
    network = {key: value for key, value in case["network"].items() if key not in ("ethernet", "fidelity")}
    assert odonata.check(case | {"network": network})["routing"]["deadlock_free"]
    case["network"]["ethernet"]["pauses"] = False
    drops = odonata.check(case)["routing"]
    assert (drops["waits_for"], drops["deadlock_free"], drops["cycle"]) == ("nothing", True, [])


def test_a_cycle_of_pauses_stops_a_run_and_a_routing_without_one_does_not() -> None:
    """A ring under load: dimension order fills the cycle that the check names."""
    ring: dict[str, Any] = {
        "machine": {"torus": {"dims": [8], "nodes_per_router": 4}},
        "network": {
            "fidelity": "ethernet",
            "ethernet": {"transport": "roce", "pause_above": 2, "resume_below": 1},
            "packet": "1000 B",
        },
        "jobs": [{"ranks": 32, "workload": {"alltoall": {"bytes": "64 KiB", "iterations": 1}}}],
    }
    assert not odonata.check(ring)["routing"]["deadlock_free"]
    with pytest.raises(odonata.RunFailed, match="stalled"):
        odonata.run(ring)
    free = {"network.routing.algorithm": "up-down"}
    assert odonata.check(ring, overrides=free)["routing"]["deadlock_free"]
    assert odonata.run(ring, overrides=free).outcome == "completed"


def test_jobs_and_storage_share_an_ethernet() -> None:
    case = scenario([], 0)
    case["storage"] = {"nodes": {"list": [14, 15]}}
    case["jobs"] = [
        {"name": "training", "ranks": 8, "workload": {"allreduce": {"bytes": "256 KiB", "iterations": 2}}},
        {
            "name": "checkpoint",
            "ranks": 4,
            "workload": {"checkpoint": {"total": "4 MiB", "iterations": 1}},
        },
    ]
    results = odonata.run(case)
    assert results.outcome == "completed"
    rows = {(row["job"], row["traffic"]): row for row in results.rows("ethernet")}
    assert rows["training", "mpi"]["delivered_bytes"] == rows["training", "mpi"]["bytes"] > 0
    assert rows["checkpoint", "io"]["bytes"] >= 4 << 20
    assert "ethernet" not in odonata.run(scenario([(0, 1)], 8) | {"network": {}}).tables


@pytest.mark.parametrize(
    ("overrides", "key", "text"),
    [
        ({"network.fidelity": "packet"}, "network.ethernet", "nothing in the scenario uses an Ethernet"),
        ({"run.blame": True}, "run.blame", "not charged to jobs"),
        ({"network.ethernet.entropies": 48}, "network.ethernet.entropies", "a power of two"),
        ({"network.ethernet.pause_above": 20}, "network.ethernet.pause_above", "pause no sender"),
        (
            {"network.ethernet.ecn_low": "2 MB", "network.ethernet.ecn_high": "1 MB"},
            "network.ethernet.ecn_low",
            "up to network.ethernet.ecn_high",
        ),
        # One threshold beyond the default of the other.
        ({"network.ethernet.ecn_low": "1 GB"}, "network.ethernet.ecn_low", "up to network.ethernet.ecn_high"),
        (
            {"network.ethernet.ecn_high": "1 B"},
            "network.ethernet.ecn_high",
            "from network.ethernet.ecn_low",
        ),
        # No packet fits into the window.
        ({"network.ethernet.window": "1 B"}, "network.ethernet.window", "at least, a full packet"),
        (
            {"network.router": "pipelined", "network.clock": "1 ns", "network.header": "0 B"},
            "network.router",
            "cycle",
        ),
        ({"network.ethernet.load_balancing": "mixd"}, None, "mixed"),
        (
            {"network.ethernet.congestion_control": "dcqcn"},
            "network.ethernet.congestion_control",
            'or transport = "roce"',
        ),
        (
            {"network.ethernet.transport": "roce", "network.ethernet.congestion_control": "rccc"},
            "network.ethernet.congestion_control",
            '"none", "dcqcn" or "hpcc"',
        ),
        (
            {"network.ethernet.retransmission": "go-back-n"},
            "network.ethernet.retransmission",
            'transport = "roce"',
        ),
        ({"network.ethernet.pauses": True}, "network.ethernet.pauses", 'transport = "roce"'),
        (
            {
                "network.ethernet.transport": "roce",
                "network.ethernet.pauses": False,
                "network.ethernet.pause_above": 9,
            },
            "network.ethernet.pause_above",
            "with pauses",
        ),
        (
            {
                "network.ethernet.congestion_control": "swift",
                "network.ethernet.swift.scaling_least": 100.0,
            },
            "network.ethernet.swift.scaling_least",
            "less than network.ethernet.swift.scaling_most, 100",
        ),
        (
            {"network.ethernet.swift.beta": 0.5},
            "network.ethernet.swift",
            'congestion_control = "swift"',
        ),
        ({"network.ethernet.dcqcn.gain": 0.5}, "network.ethernet.dcqcn", "does not use it"),
        (
            {"network.ethernet.hpcc.increase_stages": 2},
            "network.ethernet.hpcc",
            'congestion_control = "hpcc"',
        ),
        (
            {"network.ethernet.congestion_control": "hpcc"},
            "network.ethernet.congestion_control",
            'or transport = "roce"',
        ),
        *[
            (
                {
                    "network.ethernet.transport": "roce",
                    "network.ethernet.congestion_control": "hpcc",
                    f"network.ethernet.hpcc.{key}": value,
                },
                f"network.ethernet.hpcc.{key}",
                expected,
            )
            for key, value, expected in (
                ("target_utilization", 1.0, "0.01 to 0.999"),
                ("additive_increase", "0 B", "1 to"),
                ("increase_stages", -1, "increase_stages"),
            )
        ],
        (
            {
                "network.ethernet.transport": "roce",
                "network.ethernet.congestion_control": "hpcc",
                "network.ethernet.window": "1 KiB",
            },
            "network.ethernet.window",
            "a full packet with its header",
        ),
        (
            {
                "network.ethernet.transport": "roce",
                "network.ethernet.congestion_control": "dcqcn",
                "network.ethernet.dcqcn.gain": 1.5,
            },
            "network.ethernet.dcqcn.gain",
            "more than 0 and at most 1",
        ),
        ({"network.ethernet.ecn_probability": 2.0}, "network.ethernet.ecn_probability", "0 to 1"),
    ],
)
def test_impossible_settings_are_refused(overrides: dict[str, Any], key: str | None, text: str) -> None:
    with pytest.raises(odonata.InputError) as error:
        odonata.check(scenario([(0, 1)], 8), overrides=overrides)
    assert text in str(error.value)
    if key is not None:
        assert error.value.key == key
