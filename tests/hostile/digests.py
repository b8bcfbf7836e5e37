"""Campaign: results do not depend on the scheduler, the number of threads, the parts, or repetitions.

Random runs on small machines combine everything of `networks`. They have loads published at small intervals
and after multiples of delays, failed and slow cables, storage, and several ranks on a node. Their jobs are
MPI programs, skeletons and traffic, and may wait for each other. Each runs on one queue, the reference, and
eight more times: in clusters, on threads, twice so, optimistically, and saved and resumed. Digests and all
tables must be equal to the last bit.
"""

from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

from hostile import calls, networks, oracle, rank_program, toml_writer
from hostile.campaign import Announce, Campaign, Trial, Verdict
from hostile.networks import one_of
from hostile.oracle import Finding
from odonata import _core
from odonata.running import checkpoint, runner
from odonata.scenario import reading

NAME = "scenario.toml"
PROGRAM = "rank_program.py"
#: Events above which a run is skipped: eight more such runs would cost too much.
EVENTS = 400_000
#: Wall time between two checks for a snapshot, in seconds.
MOMENT_S = 1e-4


class Digests(Campaign):
    """See the head of this file."""

    share = 1.4
    patience_s = 90.0

    def make(self, lot: random.Random, folder: Path) -> Trial:
        """A machine, a network, jobs, and ways to run them."""
        # More published loads than by chance: routers read them at times of their own.
        published = lot.random() < 0.2
        family = one_of(lot, "dragonfly", "dragonfly-2d", "dragonfly-plus") if published else None
        machine = networks.draw_machine(lot, family)
        router = one_of(lot, "pipelined", "pipelined", None) if published else None
        network = networks.draw_network(lot, machine, routing="ugal" if published else None, router=router)
        tree: dict[str, Any] = {"seed": lot.randrange(1000), "run": _recorded(lot, network)}
        tree["machine"] = {machine.family: machine.keys} | _faults(lot, machine, network)
        tree["network"] = network.keys
        tree["mpi"] = _mpi(lot)
        servers = 0
        if lot.random() < 0.5 and machine.nodes > 6:
            servers = machine.groups if machine.groups and machine.nodes > 3 * machine.groups else 2
            tree["storage"] = _storage(lot, machine, servers)
        compute_nodes = machine.nodes - servers
        tree["jobs"] = (
            _crowd(lot, compute_nodes) if published else _jobs(lot, compute_nodes, network, servers > 0)
        )
        (folder / NAME).write_text(toml_writer.document(tree), encoding="utf-8")
        for name, content in machine.files.items():
            (folder / name).write_bytes(content)
        (folder / PROGRAM).write_bytes(Path(rank_program.__file__).read_bytes())
        ways = _ways(lot)
        commands = [
            "odonata run scenario.toml -o one --set run.scheduler=sequential --set run.parts=1",
            *(
                f"odonata run {NAME} -o {name} {_settings(way)}"
                for name, way in ways.items()
                if "saved" not in name
            ),
        ]
        return Trial(commands, {"ways": ways})

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """Runs the reference, and all variants."""
        before = calls.contents(folder)
        announce("one queue")
        first = oracle.attempt(
            "one queue", lambda: _run(folder, ["run.scheduler=sequential", "run.parts=1"], EVENTS)
        )
        if first.finding:
            return Verdict("crashed", [first.finding])
        if first.refusal:
            return Verdict("refused", oracle.refusal_rules("run", first.refusal, before))
        if first.value is None:
            return Verdict("out of budget")
        found = oracle.outcome_rules("one queue", first.value[0])
        outcome = str(first.value[0]["outcome"])
        for name, way in trial.about["ways"].items():
            announce(name)
            saved = folder if "saved" in name else None
            other = oracle.attempt(name, partial(_run, folder, way, None, saved))
            if other.finding:
                found.append(other.finding)
            elif other.refusal:
                # The number of parts is bounded by the machine.
                if "run.parts" not in str(other.refusal.key):
                    found.append(Finding("refused on another scheduler", f"{name}: {other.refusal.message}"))
            elif other.value is not None and (difference := _difference(first.value, other.value)):
                seen = f"{name} {way}: {difference}"
                found.append(Finding("depends on the scheduler", seen, difference.partition(" ")[0]))
        return Verdict(outcome, found)


Measured = tuple[dict[str, Any], str]


def _run(folder: Path, settings: list[str], most: int | None, saved: Path | None = None) -> Measured | None:
    """run.json and the fingerprint of a run; None if it has more than `most` events.

    With `saved`, it is saved in that folder as soon as possible, and another simulation continues.
    """
    path = folder / NAME
    text = reading.read_scenario(path)
    simulation = runner.Task(text, str(path), settings, None).build()
    if saved is not None:
        state = simulation.advance(MOMENT_S)
        rounds = random.randrange(1, 40)
        while not state["finished"] and rounds:
            state = simulation.advance(MOMENT_S)
            rounds -= 1
        if not state["finished"]:
            simulation.save(checkpoint.file_in(saved, 0))
            simulation = _core.Simulation(
                text, str(path), [s for s in settings if "optimism" not in s], None, snapshot=saved
            )
    finished, _ = calls.drive(simulation, most if most is not None else 1 << 62)
    if not finished:
        return None
    simulation.finish()
    return json.loads(simulation.run_json()), calls.fingerprint(simulation)


def _difference(one: Measured, other: Measured) -> str:
    """What differs between two runs; empty if nothing does."""
    for key in ("outcome", "detail", "digest", "simulated_s", "messages", "packets", "bytes_delivered"):
        if one[0][key] != other[0][key]:
            return f"{key} {other[0][key]}, with one queue {one[0][key]}"
    return "" if one[1] == other[1] else "tables differ, digests do not"


def _settings(way: list[str]) -> str:
    return " ".join(f"--set {setting}" for setting in way)


def _ways(lot: random.Random) -> dict[str, list[str]]:
    """Eight variants of the run."""

    def parts() -> str:
        return f"run.parts={lot.randint(2, 8)}"

    threads = ["run.scheduler=conservative", "run.threads=2", parts()]
    ahead = [f"run.optimism.events_per_round={one_of(lot, 1, 20, 128, 2000)}"]
    return {
        "two clusters": ["run.scheduler=sequential", "run.parts=2"],
        "clusters": ["run.scheduler=sequential", parts()],
        "windows on one thread": ["run.scheduler=conservative", "run.threads=1", parts()],
        "threads": threads,
        "threads once more": threads,
        "ahead": ["run.scheduler=optimistic", "run.threads=1", parts(), *ahead],
        "ahead on threads": ["run.scheduler=optimistic", "run.threads=2", parts(), *ahead],
        "saved": [
            f"run.scheduler={one_of(lot, 'sequential', 'conservative', 'optimistic')}",
            "run.threads=2",
            parts(),
        ],
    }


def _recorded(lot: random.Random, network: networks.Network) -> dict[str, Any]:
    keys: dict[str, Any] = {
        "message_rows": one_of(lot, 0, 5, 60, 100_000),
        "io_rows": one_of(lot, 0, 3, 1000),
    }
    if not network.clocked:
        keys["blame"] = lot.random() < 0.7
    if lot.random() < 0.3:
        keys["series_interval"] = one_of(lot, "7 us", "1 us")
    if lot.random() < 0.15:
        keys["time_limit"] = one_of(lot, "23 us", "1.048576 us", "2 us")
    return keys


def _faults(lot: random.Random, machine: networks.Machine, network: networks.Network) -> dict[str, Any]:
    """Slow cables, and failed ones if a detour exists."""
    chance = lot.random()
    cables = networks.cables_of(machine) if chance < 0.6 else []
    if not cables:
        return {}
    one, other, _ = lot.choice(cables)
    if chance < 0.2:
        return {"degraded_links": [{"routers": [one, other], "factor": one_of(lot, 0.5, 0.25)}]}
    between = [(one, other) for one, other, kind in cables if kind == "global"]
    if network.routing == "up-down" or lot.random() < 0.05:
        return {"failed_links": [{"routers": [one, other], "index": 0}]}
    if machine.family.startswith("dragonfly") and len(between) > len(_pairs(machine.groups)):
        return {"failed_links": [{"routers": list(lot.choice(between)), "index": 0}]}
    return {}


def _pairs(groups: int) -> list[tuple[int, int]]:
    return [(one, other) for other in range(groups) for one in range(other)]


def _mpi(lot: random.Random) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    if lot.random() < 0.6:
        keys["eager_threshold"] = one_of(lot, "0 B", "1 KiB", "4 KiB", "none")
    if lot.random() < 0.3:
        keys["progress"] = "in-calls"
    if lot.random() < 0.2:
        keys["call_jitter"] = {"min": "0 ns", "max": "20 ns"}
    if lot.random() < 0.3:
        keys["collectives"] = {"library": "open-mpi"}
    return keys


def _storage(lot: random.Random, machine: networks.Machine, servers: int) -> dict[str, Any]:
    nodes = {"per_group": 1} if servers == machine.groups else {"list": [1, 5]}
    storage: dict[str, Any] = {"nodes": nodes, "manager": {"block": "4 KiB", "memory": "16 KiB"}}
    storage["assignment"] = one_of(lot, "by-group", "nearest", "random", "round-robin")
    if lot.random() < 0.4:
        storage["device"] = {
            "capacity": one_of(lot, "100 kB", "1 GB"),
            "rate": {"overhead": "1 us", "seek": "1 us"},
        }
        storage["drain"] = {"bandwidth": "1 GB/s", "latency": "1 us"}
    return storage


def _crowd(lot: random.Random, nodes: int) -> list[dict[str, Any]]:
    """All nodes, with many messages."""
    keys = {"load": one_of(lot, 0.5, 0.9, 1.0), "messages": lot.randint(5, 30)}
    return [{"name": "crowd", "ranks": nodes, "workload": {one_of(lot, "uniform", "next-group"): keys}}]


def _jobs(lot: random.Random, nodes: int, network: networks.Network, storage: bool) -> list[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    for number in range(lot.randint(1, 3)):
        on_a_node = one_of(lot, 1, 1, 1, 2, 3)
        most = min(nodes * on_a_node, 14)
        if most < 2:
            break
        ranks = lot.randint(min(3, most), most)
        nodes -= -(-ranks // on_a_node)
        job: dict[str, Any] = {"name": f"job{number}", "ranks": ranks, "ranks_per_node": on_a_node}
        job["placement"] = one_of(lot, "contiguous", "random", "random-router", "random-group")
        job |= _work(lot, storage)
        if number == 1 and lot.random() < 0.3:
            job["start_after"] = "job0"
        elif lot.random() < 0.2:
            job["start"] = one_of(lot, "2 us", "100 ns")
        if network.classes and lot.random() < 0.6:
            job["traffic_class"] = {one_of(lot, "mpi", "io"): lot.choice(network.classes)}
        jobs.append(job)
    return jobs


def _work(lot: random.Random, storage: bool) -> dict[str, Any]:
    """The work of a job."""
    size = one_of(lot, "0 B", "64 B", "3000 B", "8 KiB", "40 KiB")
    compute = one_of(lot, "0 ns", "1 us", "1.7 us")
    kinds = ["program", "program", "stencil", "traffic", "traffic", "milc", "phases"]
    match lot.choice(kinds + (["checkpoint", "cosmoflow"] if storage else [])):
        case "program":
            args = {"seed": lot.randrange(10_000), "rounds": lot.randint(2, 8), "files": storage}
            return {"python": f"{PROGRAM}:work", "args": args}
        case "traffic":
            pattern = one_of(lot, "uniform", "incast", "tornado", "neighbors", "hot-spot", "all-to-all")
            keys: dict[str, Any] = {"bytes": size, "messages": lot.randint(1, 15)}
            keys["mean_interval"] = one_of(lot, "200 ns", "900 ns", "1 us", "2 us")
            keys["arrival"] = one_of(lot, "exponential", "fixed")
            if pattern == "hot-spot":
                keys["share"] = 0.5
            return {"workload": {pattern: keys}}
        case "milc":
            return {"workload": {"milc": {"iterations": 1, "message": size if size != "0 B" else "64 B"}}}
        case "checkpoint":
            return {"workload": {"checkpoint": {"iterations": 2, "total": "60 KiB", "interval": "3 us"}}}
        case "cosmoflow":
            keys = {"iterations": 2, "elements": 700, "sample": "9 KiB", "compute": compute}
            return {"workload": {"cosmoflow": keys}}
        case "phases":
            sweep = {"iterations": 1, "message": size, "compute": compute, "dimensions": 1}
            return {
                "workload": [{"stencil": sweep}, {"stencil": {**sweep, "allreduce": "5000 B"}}],
                "repeat": 2,
            }
        case _:
            sweep = {"iterations": 2, "message": size, "compute": compute, "dimensions": lot.randint(1, 2)}
            return {"workload": {"stencil": {**sweep, "allreduce": one_of(lot, "0 B", "8 B", "5000 B")}}}
