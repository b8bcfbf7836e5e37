"""Queues of chosen links over time (`run.queue_links`): closed forms, conservation, schedulers, errors."""

import json
import tomllib

import pytest
from conftest import Shell

import odonata

#: Eight nodes behind two routers with one cable. Links carry 8 bytes per ns, a packet has 64 flits of 8 ns.
MACHINE = """
[run]
series_interval = "300 ns"
[machine.dragonfly]
groups = 2
routers_per_group = 1
nodes_per_router = 4
global_ports_per_router = 1
[network]
packet = "4 KiB"
flit = "64 B"
router_delay = "90 ns"
routing = { algorithm = "minimal" }
links.terminal = { bandwidth = "8 GB/s", latency = "20 ns", buffer = "8 KiB", credit_delay = "20 ns" }
links.global = { bandwidth = "8 GB/s", latency = "300 ns", buffer = "8 KiB", credit_delay = "300 ns" }
[nic]
message_delay = "0 ns"
[mpi]
eager_threshold = "none"
recv_overhead = "0 ns"
"""

#: One packet at a time in each direction, ten times.
PING_PONG = """
[[jobs]]
name = "pair"
ranks = 2
placement = { nodes = [0, 4] }
workload.ping-pong = { bytes = "4 KiB", iterations = 10 }
"""

#: Three nodes send to one behind the other router, beside a pair that crosses the same cable.
INCAST = """
[[jobs]]
name = "incast"
ranks = 4
placement = { nodes = [4, 0, 1, 2] }
workload.incast = { bytes = "40 KiB", mean_interval = "8 us", messages = 3 }
[[jobs]]
name = "pair"
ranks = 2
placement = { nodes = [3, 6] }
workload.ping-pong = { bytes = "64 KiB", iterations = 6 }
"""

INTERVAL_S = 300e-9


def run(text: str, links: list[str], router: str = "input-queued", **settings: object) -> odonata.Results:
    keys = f'router = "{router}"\n'
    # Pipelined routers have a clock and no delay.
    keys += 'clock = "8 ns"' if router == "pipelined" else 'router_delay = "90 ns"'
    text = MACHINE.replace('router_delay = "90 ns"', keys) + text
    return odonata.run(tomllib.loads(text), overrides={"run.queue_links": links, **settings})


def queues(results: odonata.Results) -> list[dict]:
    return results.table("queue_series").to_pylist()


def integral(results: odonata.Results, link: str, column: str) -> float:
    """The integral of a column of the rows of `link` over the run, whose last interval is cut."""
    end = results.run["simulated_s"]
    return sum(
        row[column] * min(end - row["start_s"], INTERVAL_S) for row in queues(results) if row["name"] == link
    )


def test_a_packet_holds_its_credits_for_the_closed_form():
    """From its start until its credit is back: flit 8, latency 300, router 90, packet 512, credit 300 ns.

    The run ends when the last packet is at its node, 20 ns after the router, before its credit is back.
    """
    results = run(PING_PONG, ["r0>r1", "r1>*"])
    for link, held_ns in (("r0>r1", 10 * 1210), ("r1>r0", 9 * 1210 + 930)):
        expected = held_ns * 1e-9 * 4096
        assert integral(results, link, "buffered_bytes") == pytest.approx(expected, rel=1e-9)
        assert integral(results, link, "waiting_packets") == 0
    rows = queues(results)
    assert all(0 <= row["buffered_bytes"] <= row["capacity_bytes"] == 8192 for row in rows)
    assert {row["name"] for row in rows} == {"r0>r1", "r1>r0", "r1>n4"}


@pytest.mark.parametrize(
    ("router", "arbitration"),
    [
        ("input-queued", "round-robin"),
        ("input-queued", "age"),
        ("input-queued", "first-come"),
        ("output-queued", "round-robin"),
        ("pipelined", None),
    ],
)
def test_queues_add_up_to_the_waits_and_stalls_of_the_run(router: str, arbitration: str | None):
    """Waiting packets add up to their waits (table blame), stalls to those of the table links."""
    settings = {"run.blame": True} | ({"network.arbitration": arbitration} if arbitration else {})
    results = run(INCAST, ["r0>r1", "*>n4", "n1>r0"], router, **settings)
    rows = queues(results)
    assert all(row["buffered_bytes"] <= row["capacity_bytes"] * (1 + 1e-9) for row in rows)
    stalled = {}
    links = {row["name"]: row for row in results.table("links").to_pylist()}
    for name in ("r0>r1", "r1>n4", "n1>r0"):
        stalled[name] = sum(row["stalled_s"] for row in rows if row["name"] == name)
        assert stalled[name] == pytest.approx(links[name]["stalled_s"], abs=1e-13)
        assert integral(results, name, "buffered_bytes") > 0
    assert links["r0>r1"]["busy_s"] > 0.5 * results.run["simulated_s"] or stalled["n1>r0"] > 0
    if router == "pipelined":
        assert all(row["waiting_packets"] == 0 for row in rows)
        return
    for name in ("r0>r1", "r1>n4"):
        charges = [row for row in results.table("blame").to_pylist() if row["name"] == name]
        waited = sum(row["waited_s"] for row in charges if row["resource"] != "input")
        assert integral(results, name, "waiting_packets") == pytest.approx(waited, rel=1e-9, abs=1e-15)
        assert waited > 0 or name != "r0>r1"


@pytest.mark.parametrize("router", ["input-queued", "output-queued", "pipelined"])
def test_queues_are_the_same_on_every_scheduler_and_change_no_result(router: str):
    settings = {"run.threads": 2}
    alone = run(INCAST, ["*>*"], router, **settings, **{"run.scheduler": "sequential"})
    assert len(queues(alone)) > 100
    for scheduler in ("conservative", "optimistic"):
        divided = run(INCAST, ["*>*"], router, **settings, **{"run.scheduler": scheduler, "run.parts": 2})
        assert queues(divided) == queues(alone), scheduler
    without = run(INCAST, [], router, **settings)
    assert without.run["digest"] == alone.run["digest"]
    assert "queue_series" not in without.tables


@pytest.mark.parametrize(
    ("links", "key", "message"),
    [
        (["r0>r1", "r0-r1"], "run.queue_links.1", '"r0-r1" is no link'),
        (["r0>r2"], "run.queue_links.0", 'the machine has no link "r0>r2"'),
        (["*>n8"], "run.queue_links.0", 'the machine has no link "*>n8"'),
    ],
)
def test_a_link_that_does_not_exist_is_named(links: list[str], key: str, message: str):
    with pytest.raises(odonata.InputError) as raised:
        run(INCAST, links)
    assert raised.value.key == key
    assert message in str(raised.value)


def test_queues_need_an_interval_and_a_bounded_number_of_links():
    with pytest.raises(odonata.InputError, match=r"run\.series_interval"):
        odonata.run(
            tomllib.loads(MACHINE.replace('series_interval = "300 ns"', 'queue_links = ["r0>r1"]') + INCAST)
        )
    large = {"machine.dragonfly.routers_per_group": 16, "machine.dragonfly.nodes_per_router": 16}
    with pytest.raises(odonata.InputError, match="at most 1024"):
        run(INCAST, ["*>*"], **large)


def test_a_report_draws_the_queues(shell: Shell):
    shell.write(MACHINE.replace('"300 ns"\n', '"300 ns"\nqueue_links = ["r0>r1", "*>n4"]\n', 1) + INCAST)
    assert shell("run", "scenario.toml", "-o", "out", "--quiet").code == 0
    assert shell("report", "out", "-o", "report.html").code == 0
    page = (shell.folder / "report.html").read_text()
    assert "Buffers behind chosen links" in page
    assert "Packets that wait for chosen links" in page
    listed = json.loads(shell("summary", "out", "--json").out)
    assert listed["outcome"] == "completed"
