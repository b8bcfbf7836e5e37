"""Campaign: combinations of network settings, under short finite traffic.

Topology, router model, switching, routing, knowledge, traffic classes, congestion control, buffers and rates
are drawn on machines of up to a hundred nodes. A refusal must name its key. A machine that `check` proves
free of deadlock must complete, and send, carry and receive every requested message, byte and packet. A
quarter of the trials send one packet alone: its latency is a closed form (docs/model.md, docs/router.md) of
the routers that it has visited.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import odonata
from hostile import calls, networks, oracle, toml_writer
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.networks import one_of
from hostile.oracle import Finding

NAME = "scenario.toml"
#: Events from which a run counts as endless: short traffic on a hundred nodes has a tenth of them.
EVENTS = 8_000_000
#: Patterns in which every rank sends, and their requirements.
PATTERNS: dict[str, dict[str, Any]] = {
    "uniform": {},
    "shift": {"by": 1},
    "all-to-all": {},
    "permutation": {},
    "tornado": {},
}
#: Tolerance of a closed form in seconds: each quantity is rounded to a picosecond.
ROUNDING_S = 40e-12


class Combinations(Campaign):
    """See the head of this file."""

    share = 1.0
    patience_s = 40.0

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A machine, a network, and traffic."""
        machine = networks.draw_machine(lot)
        alone = lot.random() < 0.25
        network = networks.draw_network(lot, machine, refusable=0.0 if alone else 0.15)
        about: dict[str, Any] = {"alone": None, "packet": network.packet}
        jobs: list[dict[str, Any]]
        if alone:
            jobs = [_one_packet(lot, machine, network)]
            about["alone"] = _level(lot, network, jobs[0])
        else:
            jobs = _traffic(lot, machine, network)
        tree = {
            "seed": lot.randrange(1000),
            "run": {"scheduler": "sequential", "blame": False}
            if lot.random() < 0.5
            else {"scheduler": "auto"},
            "machine": {machine.family: machine.keys},
            "network": network.keys,
            "jobs": jobs,
        }
        (folder / NAME).write_text(toml_writer.document(tree), encoding="utf-8")
        for name, content in machine.files.items():
            (folder / name).write_bytes(content)
        return Trial([f"odonata check {NAME}", f"odonata run {NAME} -o out"], about)

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """`check`, a run to its end, and the conservation rules."""
        before = calls.contents(folder)
        scenario = folder / NAME
        announce("check")
        checked = oracle.attempt("check", lambda: odonata.check(scenario))
        if checked.finding:
            return Verdict("crashed", [checked.finding])
        if checked.refusal:
            return Verdict("refused", oracle.refusal_rules("check", checked.refusal, before))
        announce("run")
        wanted = ["jobs", "ranks", "links", "packets"]
        ran = oracle.attempt("run", lambda: calls.simulate(scenario, EVENTS, tables=wanted))
        if ran.finding:
            return Verdict("crashed", [ran.finding])
        if ran.refusal:
            seen = f"{ran.refusal.message} ({ran.refusal.key})"
            return Verdict("refused", [Finding("check accepts what run refuses", seen)])
        assert ran.value is not None
        assert checked.value is not None
        found = oracle.outcome_rules("run", ran.value.run)
        if checked.value["routing"]["deadlock_free"] and ran.value.outcome != "completed" and not found:
            seen = f"{ran.value.outcome}, on a routing free of deadlock: {ran.value.run['detail']}"
            found.append(Finding("no completion", seen))
        if ran.value.outcome == "completed":
            found += conservation(ran.value, trial.about["packet"])
            if trial.about["alone"] is not None:
                found += closed_form(ran.value, trial.about["alone"])
        return Verdict(ran.value.outcome, found)


def _traffic(
    lot: random.Random, machine: networks.Machine, network: networks.Network
) -> list[dict[str, Any]]:
    """One or two jobs in which every rank sends a number of messages."""
    jobs: list[dict[str, Any]] = []
    left = machine.nodes
    for number in range(lot.randint(1, 2)):
        if left < 2:
            break
        # There is no half way around a ring of two.
        ranks = lot.randint(min(3, left), left) if number else lot.randint(max(min(3, left), left // 2), left)
        left -= ranks
        pattern = lot.choice(sorted(PATTERNS))
        keys = dict(PATTERNS[pattern])
        keys["messages"] = lot.randint(1, 12)
        keys["bytes"] = f"{one_of(lot, 0, 1, network.packet, network.packet + 1, 3 * network.packet, 5000)} B"
        if lot.random() < 0.5:
            keys["load"] = one_of(lot, 0.1, 0.5, 1.0)
            if keys["bytes"] == "0 B":
                keys["bytes"] = "1 B"
        else:
            keys["mean_interval"] = one_of(lot, "100 ns", "1 us", "10 us")
        keys["arrival"] = one_of(lot, "fixed", "exponential", "exponential")
        job = {"name": f"job{number}", "ranks": ranks, "workload": {pattern: keys}}
        job["placement"] = one_of(lot, "contiguous", "random", "random-router")
        if network.classes:
            job["traffic_class"] = {"mpi": lot.choice(network.classes)}
        jobs.append(job)
    return jobs


def _one_packet(lot: random.Random, machine: networks.Machine, network: networks.Network) -> dict[str, Any]:
    """A rank that sends one packet to another one."""
    nodes = lot.sample(range(machine.nodes), 2) if machine.nodes > 2 else [0, 1]
    size = one_of(lot, 1, network.packet, lot.randint(1, network.packet))
    keys = {"bytes": f"{size} B", "mean_interval": "1 us", "messages": 1, "targets": [0]}
    return {"name": "one", "ranks": 2, "placement": {"nodes": nodes}, "workload": {"incast": keys}}


def _level(lot: random.Random, network: networks.Network, job: dict[str, Any]) -> dict[str, Any]:
    """Makes all links between routers equal, so that only their number counts; returns the data for the
    closed form.
    """
    links = network.keys["links"]
    between = {name: link for name, link in links.items() if name != "terminal"}
    chosen = dict(lot.choice(sorted(between.values(), key=str)))
    if network.clocked:
        chosen["bandwidth"] = links["terminal"]["bandwidth"] = "1 flit/cycle"
        # Room for credits to return before it is used up.
        room = f"{64 * network.packet + 4096 * 64} B"
        chosen["buffer"] = links["terminal"]["buffer"] = room
        pipeline = network.keys["pipeline"]
        pipeline.pop("internal_speedup", None)
    for name in between:
        links[name] = chosen
    network.keys["routing"].pop("vcs", None)
    bytes_ = networks_bytes(job["workload"]["incast"]["bytes"])
    return {
        "bytes": bytes_,
        "flit": networks_bytes(network.keys["flit"]),
        "switching": network.keys["switching"],
        "clocked": network.clocked,
        "pipeline": network.keys.get("pipeline", {}),
        "router_delay": network.keys.get("router_delay"),
        "terminal": links["terminal"],
        "link": chosen,
    }


def networks_bytes(text: str) -> int:
    """A size in bytes."""
    return int(text.partition(" ")[0])


def _rate(text: str) -> float:
    """Bytes per second."""
    number, _, unit = text.partition(" ")
    return float(number) * {"GB/s": 1e9, "GiB/s": 2.0**30}[unit]


def zero_load_s(about: dict[str, Any], routers: int) -> float:
    """Latency of a lone packet over this many routers, from its start on the terminal link."""
    size, flit = about["bytes"], about["flit"]
    terminal, link = about["terminal"], about["link"]
    if about["clocked"]:
        pipeline, flits = about["pipeline"], max(1, -(-size // flit))
        stages = sum(pipeline.get(key, 1) for key in ("vc_allocation", "switch_allocation", "crossbar"))
        routing = pipeline.get("routing", 0)
        if about["switching"] == "store-and-forward":
            routing = max(routing, flits - 1)
        flight = 2 * int(terminal["latency"].split()[0]) + (routers - 1) * int(link["latency"].split()[0])
        return float(1 + routers * (routing + stages) + flight + flits - 1) * 1e-9
    delay = networks.picoseconds(about["router_delay"]) * 1e-12
    flight = 2 * networks.picoseconds(terminal["latency"]) + (routers - 1) * networks.picoseconds(
        link["latency"]
    )
    slow, between = _rate(terminal["bandwidth"]), _rate(link["bandwidth"])
    whole = about["switching"] == "store-and-forward"
    head = size if whole else min(flit, size)
    found = 2 * head / slow + (routers - 1) * head / between + routers * delay + flight * 1e-12
    if not whole:
        found += (size - head) / (min(slow, between) if routers > 1 else slow)
    return float(found)


def closed_form(simulated: calls.Simulated, about: dict[str, Any]) -> list[Finding]:
    """The latency of the only packet."""
    (row,) = [row for row in calls.rows(simulated, "ranks") if row["packets_received"]]
    routers = round(row["hops_mean"])
    expected = zero_load_s(about, routers)
    seen = row["packet_latency_min_s"]
    # Events between two clock edges wait for the next one.
    late = 1e-9 if about["clocked"] else 0.0
    if not -ROUNDING_S <= seen - expected <= late + ROUNDING_S:
        text = f"{seen * 1e9:.3f} ns over {routers} routers, expected {expected * 1e9:.3f} ns\n{about}"
        return [Finding("zero load", text)]
    return []


def conservation(simulated: calls.Simulated, packet: int) -> list[Finding]:
    """Whether the requested messages and bytes were sent, carried and received."""
    run = simulated.run
    received: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    carried = 0
    for row in calls.rows(simulated, "ranks"):
        sent[f"{row['job']}: messages"] += row["messages_sent"]
        sent[f"{row['job']}: bytes"] += row["bytes_sent"]
        received[f"{row['job']}: messages"] += row["messages_received"]
        received[f"{row['job']}: bytes"] += row["bytes_received"]
        carried += row["bytes_sent"]
    books: list[tuple[str, Any, Any]] = [("received of what was sent", received, sent)]
    messages = oracle.asked_messages(run["scenario"])
    books += [(f"messages of {job}", sent[f"{job}: messages"], asked) for job, asked in messages.items()]
    links = calls.rows(simulated, "links")
    into = sum(row["bytes"] for row in links if row["source_kind"] == "node")
    out = sum(row["bytes"] for row in links if row["target_kind"] == "node")
    books += [("bytes into the network", into, carried), ("bytes out of the network", out, carried)]
    packets = [row for row in calls.rows(simulated, "packets") if row["measure"] == "network"]
    packets_in = sum(row["packets"] for row in links if row["source_kind"] == "node")
    books += [("packets in the histogram", sum(row["count"] for row in packets), run["packets"])]
    books += [("packets into the network", packets_in, run["packets"])]
    expected = 0
    for job in run["scenario"]["jobs"]:
        keys = job["workload"]["synthetic"]
        size = networks_size(keys["bytes"])
        expected += sent[f"{job['name']}: messages"] * max(1, -(-size // packet))
    books.append(("packets of the messages", run["packets"], expected))
    return [
        Finding("conservation", f"{what}: {seen}, expected {wanted}")
        for what, seen, wanted in books
        if seen != wanted
    ]


def networks_size(text: str) -> int:
    """A size as the resolved scenario writes it."""
    number, _, unit = text.partition(" ")
    factor = {"B": 1, "kB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20}[unit]
    return round(float(number) * factor)
