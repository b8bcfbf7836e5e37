"""Networks that no family describes: topologies of other tools, own routes, a network as a backend."""

from __future__ import annotations

import itertools
import json
import runpy
import struct
from pathlib import Path

import pytest
from conftest import ROOT, Shell

import odonata
from odonata.errors import InputError
from odonata.imports import files

ANYNET = """\
router 0 node 0 node 1 router 1 10 router 2
router 1 node 2 node 3
router 2 node 4 router 1 5
"""

#: Two servers of two GPUs, an NVSwitch in each, a leaf for each rail, a spine.
SIMAI = """\
9 2 2 3 12 H100
4 5 6 7 8
0 4 2880Gbps 0.000025ms 0
1 4 2880Gbps 0.000025ms 0
2 5 2880Gbps 0.000025ms 0
3 5 2880Gbps 0.000025ms 0
0 6 200Gbps 0.0005ms 0
1 7 200Gbps 0.0005ms 0
2 6 200Gbps 0.0005ms 0
3 7 200Gbps 0.0005ms 0
6 8 400Gbps 0.0005ms 0
7 8 400Gbps 0.0005ms 0
6 8 400Gbps 0.0005ms 0
7 8 100Gbps 0.0005ms 0
"""

HPCC = """\
6 2 5
4 5
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0
2 5 100Gbps 1us 0
3 5 100Gbps 1us 0
4 5 400Gbps 2us 0
"""

HTSIM = """\
# A tree with bundles.
Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 1000
Bundle 1
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Bundle 2
"""

GRAPHML = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>
<key id="d1" for="node" attr.name="type" attr.type="string"/>
<key id="d2" for="edge" attr.name="latency_us" attr.type="double"/>
<graph edgedefault="undirected">
<node id="New York"/><node id="Oslo"/><node id="Rome"/>
<node id="h"><data key="d1">host</data></node><node id="i"><data key="d1">host</data></node>
<edge source="New York" target="Oslo"><data key="d0">1e10</data><data key="d2">9</data></edge>
<edge source="Oslo" target="Rome"><data key="d0">4e10</data></edge>
<edge source="Rome" target="New York"><data key="d0">1e10</data></edge>
<edge source="h" target="Oslo"><data key="d0">1e9</data></edge>
<edge source="Rome" target="i"><data key="d0">1e9</data></edge>
</graph></graphml>
"""


def imported(tmp_path: Path, text: str, name: str = "network") -> tuple[dict, dict]:
    """The answer of the import, and the description of the machine."""
    (tmp_path / name).write_text(text)
    answer = odonata.import_scenario(tmp_path / name)
    if "beside" in answer:
        (tmp_path / "imported.graph.txt").write_text(answer["beside"])
    (tmp_path / "imported.toml").write_text(answer["scenario"])
    return answer, odonata.describe(tmp_path / "imported.toml", routing=True)


def cables(machine: dict) -> dict[str, int]:
    """The cables of each class that has some."""
    return {one["class"]: one["cables"] for one in machine["links"] if one["cables"]}


def test_anynet_keeps_nodes_and_latencies(tmp_path: Path) -> None:
    answer, machine = imported(tmp_path, ANYNET)
    assert (machine["routers"], machine["nodes"], cables(machine)["local"]) == (3, 5, 3)
    assert machine["routing"]["deadlock_free"]
    # The most frequent latency is that of the class; of equally frequent ones, the first.
    assert "r0 r1\n" in answer["beside"]
    assert "r1 r2 latency=5ns" in answer["beside"]
    assert 'latency = "10 ns"' in answer["scenario"]
    assert any("longer latency" in one["reason"] for one in answer["not_taken_over"])


def test_a_configuration_with_anynet_reads_its_file(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(ANYNET)
    _, machine = imported(
        tmp_path, "topology = anynet; network_file = list; routing_function = min; num_vcs = 4;", "config"
    )
    assert machine["nodes"] == 5
    with pytest.raises(InputError, match="cannot be read"):
        imported(tmp_path, "topology = anynet; network_file = none; routing_function = min;", "config")


def test_simai_clusters_have_a_router_for_each_gpu(tmp_path: Path) -> None:
    answer, machine = imported(tmp_path, SIMAI)
    assert (machine["routers"], machine["nodes"]) == (9, 4)
    # Of class local is NVLink, global are links between switches, column are NICs.
    assert cables(machine) == {"terminal": 4, "local": 4, "global": 4, "column": 4}
    assert "s7 s8 class=global bandwidth=0.25" in answer["beside"]
    assert 'bandwidth = "2880 Gbit/s"' in answer["scenario"]


def test_hosts_with_one_equal_link_are_nodes_of_their_switch(tmp_path: Path) -> None:
    answer, machine = imported(tmp_path, HPCC)
    assert (machine["routers"], machine["nodes"], cables(machine)) == (2, 4, {"terminal": 4, "global": 1})
    assert 'latency = "1000 ns"' in answer["scenario"]
    assert machine["routing"]["deadlock_free"]


def test_htsim_trees_are_fat_trees(tmp_path: Path) -> None:
    answer, machine = imported(tmp_path, HTSIM)
    assert (machine["kind"], machine["nodes"]) == ("fat-tree", 8)
    assert "down = [2, 2, 2]" in answer["scenario"]
    assert "up = [1, 2, 2]" in answer["scenario"]
    assert "parallel = [1, 1, 2]" in answer["scenario"]
    # 4 leaves with 2 cables up, 4 switches above with 4.
    assert cables(machine) == {"terminal": 8, "local": 8, "global": 16}


def test_graphml_has_hosts_and_rates(tmp_path: Path) -> None:
    answer, machine = imported(tmp_path, GRAPHML)
    assert (machine["routers"], machine["nodes"], cables(machine)) == (3, 2, {"terminal": 2, "local": 3})
    assert "Oslo Rome bandwidth=4\n" in answer["beside"]
    assert 'latency = "9000 ns"' in answer["scenario"]


def test_interfaces_and_ports_of_infragraph_are_parts_of_cables(tmp_path: Path) -> None:
    """Two hosts with an accelerator and a NIC each, and a switch with a port for each of them."""
    kinds = {"xpu": "xpu", "nic": "nic", "port": "port"}
    parts = [f"h.{host}.{kind}.0" for host in range(2) for kind in ("xpu", "nic")]
    parts += ["sw.0.port.0", "sw.0.port.1", "sw.0.asic.0"]
    links = [(f"h.{host}.xpu.0", f"h.{host}.nic.0", "500 Gbps", "1 ns") for host in range(2)]
    links += [(f"h.{host}.nic.0", f"sw.0.port.{host}", "50 GBps", "100 ns") for host in range(2)]
    links += [(f"sw.0.port.{host}", "sw.0.asic.0", "800 Gbps", "5 ns") for host in range(2)]
    text = '<graphml><key id="t" for="node" attr.name="type"/><key id="b" for="edge" attr.name="bandwidth"/>'
    text += '<key id="l" for="edge" attr.name="latency"/><graph edgedefault="undirected">'
    for part in parts:
        kind = kinds.get(part.split(".")[2], "custom")
        text += f'<node id="{part}"><data key="t">{kind}</data></node>'
    for a, b, rate, latency in links:
        data = f'<data key="b">{rate}</data><data key="l">{latency}</data>'
        text += f'<edge source="{a}" target="{b}">{data}</edge>'
    answer, machine = imported(tmp_path, text + "</graph></graphml>")
    # The slowest part, and the sum of the latencies.
    assert (machine["routers"], machine["nodes"], cables(machine)) == (1, 2, {"terminal": 2})
    assert 'bandwidth = "400 Gbit/s"' in answer["scenario"]
    assert 'latency = "106 ns"' in answer["scenario"]


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        (ANYNET.replace("node 4", "node 3"), 3, "two routers"),
        (ANYNET.replace("router 2 node", "router 2 host"), 3, "unknown word"),
        (ANYNET.replace("router 1 5", "router"), 3, "without a number"),
        (ANYNET.replace("router 1 5", "router 2"), 3, "itself"),
        (ANYNET.replace("node 4", "node 9"), None, "without gaps"),
        (HPCC.replace("400Gbps", "400"), 7, "not a rate"),
        (HPCC.replace("2us", "2"), 7, "not a delay"),
        (HPCC.replace("6 2 5", "6 2 6"), 7, "ends early"),
        (HPCC.replace("6 2 5", "6 2 4"), 7, "more lines"),
        (HPCC.replace("4 5\n0", "4 4\n0"), 2, "twice"),
        (HPCC.replace("4 5 400", "4 9 400"), 7, "out of range"),
        (HPCC.replace("6 2 5", "6000000 2 5"), 1, "out of range"),
        (HTSIM.replace("Nodes 8", "Nodes 9"), 2, "do not fill"),
        (HTSIM.replace("Radix_Up 4", "Radix_Up 3"), 13, "no multiple"),
        (HTSIM.replace("Podsize 4", "Podsize 8"), 4, "another size"),
        (HTSIM.replace("Radix_Up 2", "Radix_Sideways 2"), 8, "unknown setting"),
        (HTSIM.replace("Radix_Up 2\n", ""), None, "radix_up is missing in tier 0"),
        (HTSIM.replace("Tiers 3", "Tiers 5"), 3, "number of tiers"),
        (GRAPHML.replace('target="i"', 'target="j"'), None, "an edge of no node"),
        (GRAPHML.replace("</graph>", ""), 13, "not XML"),
        ("<!DOCTYPE graphml [<!ENTITY a 'b'>]>" + GRAPHML, None, "document type"),
    ],
)
def test_damaged_files_name_the_line(tmp_path: Path, text: str, line: int | None, part: str) -> None:
    (tmp_path / "network").write_text(text)
    with pytest.raises(InputError) as caught:
        files.load([tmp_path / "network"])
    assert part in str(caught.value)
    assert caught.value.line == line


def test_own_global_links_of_codes_become_a_list_of_cables(tmp_path: Path) -> None:
    # Three groups of two routers with one global port each: 0-2, 1-4, 3-5, which is no arrangement's rule.
    pairs = [(0, 2), (2, 0), (1, 5), (5, 1), (3, 4), (4, 3)]
    (tmp_path / "inter").write_bytes(b"".join(struct.pack("<ii", *pair) for pair in pairs))
    (tmp_path / "own.conf").write_text(
        'LPGROUPS { MODELNET_GRP { repetitions = "6"; modelnet_dragonfly_dally = "2";'
        ' modelnet_dragonfly_dally_router = "1"; } }\n'
        'PARAMS { modelnet_order = ( "dragonfly_dally", "dragonfly_dally_router" ); num_routers = "2";'
        ' num_groups = "3"; num_cns_per_router = "2"; num_global_channels = "1"; packet_size = "512";'
        ' chunk_size = "512"; inter-group-connections = "inter"; routing = "minimal"; }\n'
    )
    draft = files.load([tmp_path / "own.conf"])
    if draft.beside is None:
        pytest.fail("the cables match an arrangement")
    assert draft.beside.text == "a,b\n0,2\n1,5\n3,4\n"
    draft.name_beside("own.cables.csv")
    (tmp_path / "own.cables.csv").write_text(draft.beside.text)
    (tmp_path / "own.toml").write_text(draft.text())
    machine = odonata.describe(tmp_path / "own.toml", routing=True)
    assert (machine["kind"], cables(machine)["global"]) == ("dragonfly", 3)
    assert machine["routing"]["deadlock_free"]


def test_routes_by_a_function_are_those_that_packets_take(tmp_path: Path) -> None:
    scenario = {
        "machine": {"torus": {"dims": [5]}},
        "jobs": [{"ranks": 5, "workload": {"uniform": {"load": 0.2, "messages": 20}}}],
    }

    def clockwise(graph, source, destination):  # type: ignore[no-untyped-def]
        assert graph.nodes[source] == 1
        assert len(graph.neighbors[source]) == 2
        steps = (int(destination) - int(source)) % len(graph.routers)
        return [str((int(source) + step) % 5) for step in range(steps + 1)]

    file = odonata.write_routes(scenario, clockwise, tmp_path / "routes.csv")
    scenario["network"] = {"routing": {"algorithm": "table", "routes": str(file)}}
    results = odonata.run(scenario)
    links = results.frame("links")
    used = links[(links["class"] == "local") & (links["packets"] > 0)]
    ends = set(zip(used["source"], used["target"], strict=True))
    assert ends == {(router, (router + 1) % 5) for router in range(5)}
    with pytest.raises(InputError, match="does not connect them"):
        odonata.write_routes(scenario, lambda _, a, b: [a], tmp_path / "other.csv")


def test_shortest_paths_are_those_of_networkx(tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    graph = networkx.random_regular_graph(3, 14, seed=5)
    lines = [f"router {router}" for router in graph] + [f"{a} {b}" for a, b in graph.edges]
    (tmp_path / "g.txt").write_text("\n".join(lines) + "\n")
    scenario = {"machine": {"graph": {"file": str(tmp_path / "g.txt")}}}
    seen = {}

    def remember(found, source, destination):  # type: ignore[no-untyped-def]
        seen[source, destination] = found.distances(source)[destination]
        return networkx.shortest_path(graph, int(source), int(destination))

    odonata.write_routes(scenario, remember, tmp_path / "r.csv")
    lengths = dict(networkx.all_pairs_shortest_path_length(graph))
    assert seen == {(str(a), str(b)): lengths[a][b] for a, b in itertools.permutations(graph, 2)}


def two_switches(tmp_path: Path, spread: str, seed: int = 1) -> odonata.Network:
    """Two leaves of four nodes and four spines."""
    lines = ["nodes 0", "router a nodes=4", "router b nodes=4"]
    lines += [f"{leaf} s{spine}" for leaf in "ab" for spine in range(4)]
    (tmp_path / "clos.txt").write_text("\n".join(lines) + "\n")
    return odonata.Network(
        {
            "machine": {"graph": {"file": str(tmp_path / "clos.txt")}},
            "network": {"packet": "1 KiB", "routing": {"algorithm": "shortest-paths", "spread": spread}},
        },
        seed=seed,
    )


def uplinks(network: odonata.Network) -> list[int]:
    """The packets on each cable from the first leaf to a spine."""
    return [one["packets"] for one in network.links() if one["from_router"] == 0 and one["node"] is None]


def test_a_flow_takes_one_path_and_sprayed_packets_all(tmp_path: Path) -> None:
    for spread, paths in (("flow", 1), ("packet", 4)):
        network = two_switches(tmp_path, spread)
        for _ in range(4):
            network.send(0, 4, 32 * 1024)
        network.run()
        assert sum(packets > 0 for packets in uplinks(network)) == paths
        assert sum(uplinks(network)) == 128


def test_paths_of_flows_differ_between_seeds(tmp_path: Path) -> None:
    chosen = set()
    for seed in range(12):
        network = two_switches(tmp_path, "flow", seed)
        network.send(0, 4, 1024)
        network.run()
        chosen.add(uplinks(network).index(1))
    assert len(chosen) > 1


def test_callbacks_come_in_order_and_may_send(tmp_path: Path) -> None:
    def log() -> list[tuple[int, int, int]]:
        network = two_switches(tmp_path, "packet")
        deliveries: list[tuple[int, int, int]] = []

        def back(message: int, at_ps: int) -> None:
            deliveries.append((message, at_ps, network.now_ps))
            if len(deliveries) < 20:
                network.send(4 + message % 4, message % 4, 3000, on_delivered=back)

        for node in range(4):
            network.send(node, 4 + node, 3000, on_delivered=back, at_ps=1_000_000)
        network.advance(500_000)
        assert (network.now_ps, deliveries, network.is_idle) == (500_000, [], False)
        network.run()
        assert network.is_idle
        return deliveries

    deliveries = log()
    assert len(deliveries) == 23
    assert all(at_ps == now_ps > 1_000_000 for _, at_ps, now_ps in deliveries)
    assert [at_ps for _, at_ps, _ in deliveries] == sorted(at_ps for _, at_ps, _ in deliveries)
    assert log() == deliveries


def test_no_callback_comes_before_the_next_event(tmp_path: Path) -> None:
    network = two_switches(tmp_path, "packet")
    assert network.next_event_ps is None
    heard: list[int] = []
    for node in range(4):
        network.send(node, 4 + node, 3000, on_delivered=lambda _, at_ps: heard.append(at_ps), at_ps=5000)
    assert network.next_event_ps == 5000
    steps = 0
    while (then_ps := network.next_event_ps) is not None:
        assert then_ps > network.now_ps
        network.advance(then_ps - 1)
        before = len(heard)
        network.advance(then_ps)
        assert heard[before:] == [then_ps] * (len(heard) - before)
        steps += 1
    assert len(heard) == 4
    assert steps > 8


def test_simultaneous_arrivals_come_together() -> None:
    """Two messages between pairs of nodes on one router: neither waits for the other."""

    def sent() -> tuple[odonata.Network, list[int]]:
        network = odonata.Network({"machine": {"hyperx": {"dims": [1], "nodes_per_router": 4}}})
        heard: list[int] = []
        for source, target in ((0, 1), (2, 3)):
            network.send(source, target, 3000, on_delivered=lambda _, at_ps: heard.append(at_ps))
        return network, heard

    network, heard = sent()
    network.step()
    arrives_ps = network.now_ps
    assert heard == [arrives_ps] * 2
    network, heard = sent()
    network.advance(arrives_ps - 1)
    assert heard == []
    network.advance(arrives_ps)
    assert heard == [arrives_ps] * 2


def test_slices_of_time_change_nothing(tmp_path: Path) -> None:
    def arrivals(step_ps: int | None) -> dict[int, int]:
        network = two_switches(tmp_path, "adaptive")
        found: dict[int, int] = {}
        for node in range(8):
            network.send(node, (node + 5) % 8, 40_000, on_delivered=found.__setitem__)
        while not network.is_idle:
            if step_ps is None:
                network.run()
            else:
                network.advance(network.now_ps + step_ps)
        return found

    whole = arrivals(None)
    assert len(whole) == 8
    assert arrivals(12_345) == whole == arrivals(1_000_000)


def test_an_idle_network_delivers_by_the_closed_form() -> None:
    """Two links of 1 GB/s and 10 ns, a router of 50 ns, cut-through: 1,000 B take 1 us, once."""
    link = {"bandwidth": "1 GB/s", "latency": "10 ns"}
    network = odonata.Network(
        {
            "machine": {"hyperx": {"dims": [1], "nodes_per_router": 2}},
            "network": {
                "packet": "1000 B", "flit": "10 B", "header": "0 B", "router_delay": "50 ns",
                "links": {"terminal": link},
            },
        }
    )  # fmt: skip
    sent: list[int] = []
    got: list[int] = []
    network.send(
        0,
        1,
        1000,
        on_sent=lambda _, at_ps: sent.append(at_ps),
        on_delivered=lambda _, at_ps: got.append(at_ps),
    )
    network.run()
    # The head: its flit and the link twice, and the router; then the other 99 flits.
    assert got == [1 + 2 * (10_000 + 10_000) + 50_000 + 99 * 10_000]
    assert sent == [1]
    assert network.totals()["packets"] == 1


@pytest.mark.parametrize("fidelity", ["packet", "flow", "ethernet"])
def test_links_count_the_bytes_of_every_message(fidelity: str) -> None:
    """A message of 1,000,000 B through two leaves and a spine: each of its 4 links carries all of it."""
    tree = {"fat-tree": {"down": [2, 2], "up": [1, 1]}}
    link = {"bandwidth": "5 GB/s", "latency": "100 ns"}
    links = {"terminal": link, "local": link}
    network = odonata.Network({"machine": tree, "network": {"fidelity": fidelity, "links": links}})
    network.send(0, 3, 1_000_000)
    network.run()
    assert network.totals()["bytes"] == 1_000_000
    carried = [link["bytes"] for link in network.links() if link["bytes"]]
    assert carried == [1_000_000] * 4
    assert all(link["busy_s"] > 0 for link in network.links() if link["bytes"])


def test_wrong_sends_are_refused() -> None:
    network = odonata.Network({"machine": {"torus": {"dims": [4]}}})
    for arguments, key, value, expected in [
        ((0, 4, 1), "target", "4", "a node, 0 to 3"),
        ((4, 0, 1), "source", "4", "a node, 0 to 3"),
        ((0, 1, 1 << 60), "size", str(1 << 60), "0 to 2^50 bytes"),
        ((-1, 0, 1), "source", "-1", "a node, 0 to 3"),
        ((0, 1, -1), "size", "-1", "0 to 2^50 bytes"),
    ]:
        with pytest.raises(InputError) as refused:
            network.send(*arguments)
        assert (refused.value.key, refused.value.value, refused.value.expected) == (key, value, expected)
    with pytest.raises(InputError, match="out of range") as refused:
        network.send(0, 1, 1, at_ps=-5)
    assert refused.value.key == "at_ps"
    for until_ps in (-1, 1 << 63):
        with pytest.raises(InputError, match="the time is out of range"):
            network.advance(until_ps)
        with pytest.raises(InputError, match="the time is out of range"):
            network.step(until_ps)
    assert network.is_idle
    with pytest.raises(InputError, match="analytic"):
        odonata.Network({"machine": {"torus": {"dims": [4]}}, "network": {"fidelity": "analytic"}})


def test_the_command_writes_the_graph_beside_the_scenario(shell: Shell) -> None:
    (shell.folder / "list").write_text(ANYNET)
    done = shell("import", "list", "-o", "m.toml")
    assert (done.code, done.out.splitlines()[0]) == (0, "m.toml, m.graph.txt: next: odonata describe m.toml")
    assert (shell.folder / "m.graph.txt").exists()
    assert shell("describe", "m.toml", "--routing").code == 0
    done = shell("import", "list")
    assert done.code == 2
    assert "beside the scenario" in done.err
    done = shell("import", "list", "--json")
    assert json.loads(done.out)["beside"].startswith("# Routers")


def test_a_simpy_process_waits_for_messages(tmp_path: Path) -> None:
    simpy = pytest.importorskip("simpy")
    example = runpy.run_path(str(ROOT / "examples/backend/simpy_ping_pong.py"))
    network = two_switches(tmp_path, "flow")
    environment = simpy.Environment()
    bridge = example["Bridge"](environment, network)
    times: list[float] = []

    def ping_pong():  # type: ignore[no-untyped-def]
        for _ in range(3):
            yield bridge.send(0, 4, 1000)
            yield bridge.send(4, 0, 1000)
            times.append(environment.now)

    environment.process(ping_pong())
    environment.run()
    gaps = [round((b - a) * 1e12) for a, b in itertools.pairwise([0.0, *times])]
    # Every exchange takes as long as the first, and a picosecond for each of its two sends.
    assert len(times) == 3
    assert max(gaps) - min(gaps) <= 2
