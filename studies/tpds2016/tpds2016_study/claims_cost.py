"""Section 7: the cost of simulations (figure 17), speed beside other simulators (18), equal results."""

from __future__ import annotations

from collections.abc import Callable

from study_tools.claims import Claim, Kind, Value, near, yes

from tpds2016_study.claims_machines import Evidence

#: Bytes that the paper's programs send.
PUBLISHED = {"AMG": 10 * 2**30, "Multigrid": 326 * 2**30, "Crystal Router": 2 * 2**40}


def router_dearest(evidence: Evidence) -> list[Value]:
    """Packet-hops, in proportion to the bytes that the paper's programs send."""
    values = []
    machines = {(run.machine, run.shape, run.routing) for run in evidence.runs}
    for machine in sorted(machines):
        hops = {
            run.program: run.packet_hops * PUBLISHED[run.program] / run.bytes
            for run in evidence.runs
            if (run.machine, run.shape, run.routing) == machine
        }
        if len(hops) == len(PUBLISHED):
            ratio = hops.pop("Crystal Router") / max(hops.values())
            case = machine[2] if machine[0] == "dragonfly" else machine[1]
            values.append(Value("over the next", case, ratio, "x", yes(ratio > 1.0)))
    return values


def dragonfly_dearer(evidence: Evidence) -> list[Value]:
    solids = [run for run in evidence.runs if run.program == "AMG" and run.machine == "3D"]
    values = []
    for run in evidence.runs:
        if run.program == "AMG" and run.machine == "dragonfly":
            cubes = [solid for solid in solids if solid.ranks == run.ranks]
            if cubes:
                base = min(cubes, key=lambda solid: solid.latency_s)
                ratio = run.packet_hops / base.packet_hops
                case = f"{run.ranks}, {run.routing}"
                values.append(Value("packet-hops, dragonfly / 3D", case, ratio, "x", near(ratio, 4.0)))
    return values


#: "80 minutes to execute on 64 cores"; on 8 cores "2 hours to execute on the dragonfly"; core-seconds.
CORE_SECONDS = {"Multigrid": 80 * 60 * 64, "AMG": 2 * 3600 * 8}


def modest_cores(evidence: Evidence) -> list[Value]:
    """CPU time of complete runs over that of the paper."""
    return [
        Value("CPU time, ours / the paper's", row.program, ratio, "%", yes(ratio <= 1.0))
        for row in evidence.full
        if row.outcome == "completed" and row.program in CORE_SECONDS
        for ratio in [row.cpu_s / CORE_SECONDS[row.program]]
    ]


def not_run(_: Evidence) -> list[Value]:
    """Nothing: the other simulator was not run here."""
    return []


def router_rollbacks(evidence: Evidence) -> list[Value]:
    found = {cost.program: cost for cost in evidence.costs if cost.scheduler == "optimistic"}
    if len(found) < 2:
        return []
    undone = {name: 1.0 - cost.efficiency for name, cost in found.items()}
    return [
        Value(name, "optimistic", share, "%", yes(share > undone["AMG"]) if name != "AMG" else None)
        for name, share in undone.items()
    ]


def faster_than_booksim(routing: str, least: float) -> Callable[[Evidence], list[Value]]:
    """At least as many times as fast as BookSim as the paper's simulator at its slowest."""

    def values(evidence: Evidence) -> list[Value]:
        return [
            Value("", f"load {row.load:g}", row.times, "x", yes(row.times >= least))
            for row in evidence.speeds
            if row.routing == routing
        ]

    return values


def same_results(evidence: Evidence) -> list[Value]:
    values = []
    for what, rows in (("schedulers", evidence.costs), ("processes", evidence.splits)):
        for program in {row.program: None for row in rows}:
            digests = len({row.digest for row in rows if row.program == program})
            values.append(Value("digests", f"{program}, {what}", digests, "", yes(digests == 1)))
    return values


CLAIMS: list[Claim[Evidence]] = [
    Claim(
        "router-dearest",
        "7, fig. 17",
        "Crystal Router consumes the most time on both networks, as it transfers most",
        "most",
        "packet-hops, in proportion to the bytes of the paper's programs: Crystal Router over "
        "the larger of the two others more "
        "than 1",
        router_dearest,
    ),
    Claim(
        "amg-dragonfly",
        "7, fig. 17",
        "AMG takes 30 minutes on the torus and 2 hours on the dragonfly, on 8 cores",
        "4x",
        "packet-hops of AMG on the dragonfly over those on the 3D torus: within 20% of 4",
        dragonfly_dearer,
    ),
    Claim(
        "router-rollbacks",
        "7",
        "frequent synchronization of Crystal Router leads to a large number of rollbacks in optimistic mode",
        "more",
        "share of events that were taken back, two threads: more than of AMG",
        router_rollbacks,
    ),
    Claim(
        "booksim-speed-minimal",
        "7, fig. 18",
        "one core, minimal routing: 5 to 11 times as fast as BookSim",
        "5-11x",
        "cycles of 1,056 nodes per second of CPU time, ours over BookSim 2's, at each load: at least 5",
        faster_than_booksim("minimal", 5.0),
    ),
    Claim(
        "booksim-speed-adaptive",
        "7, fig. 18",
        "one core, adaptive routing: 5.3 to 12.38 times as fast as BookSim",
        "5.3-12.38x",
        "likewise: at least 5.3",
        faster_than_booksim("adaptive", 5.3),
    ),
    Claim(
        "same-results",
        "7",
        "what a simulation gives does not depend on the scheduler, the threads and the processes",
        "same",
        "digests over sequential, conservative and optimistic runs, and over processes: one per program",
        same_results,
        kind=Kind.OWN,
    ),
    Claim(
        "modest-cores",
        "7, fig. 17",
        "110K nodes run on a modest number of cores in a reasonable time: Multigrid 80 minutes on 64 cores, "
        "AMG 2 hours on 8 cores on the dragonfly",
        "80 min, 2 h",
        "complete runs on the dragonfly, minimal routing: CPU time at most the paper's time on all its cores",
        modest_cores,
    ),
    Claim(
        "bigsim-speed",
        "7",
        "the torus model of CODES is an order of magnitude faster than that of BigSim",
        "10x",
        "not judged: a comparison of two other simulators in an earlier paper",
        not_run,
    ),
    Claim(
        "sst-speed",
        "7",
        "the torus model of CODES takes half of the time of that of SST",
        "50%",
        "not judged: likewise",
        not_run,
    ),
]
