"""Section V-E and the abstract: the effect of the checkpoint on the background traffic (figures 5 and 6)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from study_tools.claims import NEAR, Claim, Grade, Value, between, yes

from cluster2017_study.claims import NOTICED, groups, pairs, sizes, where
from cluster2017_study.measures import Run

Runs = Sequence[Run]


def baseline(runs: Runs) -> list[Value]:
    return [
        Value(
            "",
            run.name,
            1e3 * run.latency_mean_alone_s,
            "ms",
            yes(0.0005 <= 1e3 * run.latency_mean_alone_s < 0.0015),
        )
        for run in runs
    ]


def mean_modest(runs: Runs) -> list[Value]:
    values = []
    for (nodes,), members in groups(runs, "nodes").items():
        ratio = max(run.latency_mean_s for run in members) / min(run.latency_mean_s for run in members)
        values.append(Value("", f"{nodes}", ratio, "x", between(ratio, 1, 1.5, 1 if ratio < 3 else math.inf)))
    return values


def minimum_modest(runs: Runs) -> list[Value]:
    values = []
    for (nodes,), members in groups(runs, "nodes").items():
        ratio = max(run.latency_min_s for run in members) / min(run.latency_min_s for run in members)
        values.append(Value("", f"{nodes}", ratio, "x", yes(ratio <= 1.5)))
    return values


def maximum_varies(runs: Runs) -> list[Value]:
    values = []
    for (nodes,), members in groups(runs, "nodes").items():
        ratio = max(run.latency_max_s for run in members) / min(run.latency_max_s for run in members)
        values.append(Value("", f"{nodes}", ratio, "x", yes(ratio >= 10)))
    return values


def nearest_minimal_least(runs: Runs) -> list[Value]:
    values = []
    for (nodes, placement), members in groups(runs, "nodes", "placement").items():
        chosen = where(members, buffers="nearest", routing="minimal")
        others = [run.latency_max_s for run in members if run not in chosen]
        if chosen and others:
            ratio = chosen[0].latency_max_s / min(others)
            values.append(Value("", f"{nodes}-{placement}", ratio, "x", yes(ratio <= 1 + NOTICED)))
    return values


def nearest_minimal_worst(runs: Runs) -> list[Value]:
    return [
        Value("", run.name, run.slowest_packet, "x", yes(5 <= run.slowest_packet <= 25))
        for run in where(runs, buffers="nearest", routing="minimal")
    ]


def random_adaptive_milliseconds(runs: Runs) -> list[Value]:
    chosen = where(runs, buffers="random", routing="adaptive")
    return [
        Value("", run.name, 1e3 * run.latency_max_s, "ms", between(1e3 * run.latency_max_s, 1, 10, 0.1))
        for run in chosen
    ]


def thousands(runs: Runs) -> list[Value]:
    ratios = [
        run.latency_max_s / run.latency_mean_alone_s
        for run in where(runs, buffers="random", routing="adaptive")
    ]
    if not ratios:
        return []
    return [
        Value("largest", "all", max(ratios), "x", between(max(ratios), (1 - NEAR) * 4700, math.inf, 1000)),
        Value("smallest", "all", min(ratios), "x"),
    ]


def adaptive_longer(runs: Runs) -> list[Value]:
    return [
        Value("", minimal.name, ratio, "x", yes(ratio > 1 + NOTICED))
        for minimal, adaptive in pairs(runs, "routing", "minimal", "adaptive")
        for ratio in [adaptive.latency_max_s / minimal.latency_max_s]
    ]


def adaptive_most_with_random(runs: Runs) -> list[Value]:
    ratios = {
        (minimal.nodes, minimal.placement, minimal.buffers): adaptive.latency_max_s / minimal.latency_max_s
        for minimal, adaptive in pairs(runs, "routing", "minimal", "adaptive")
    }
    values = []
    for (nodes, placement, buffers), ratio in ratios.items():
        nearest = ratios.get((nodes, placement, "nearest"))
        if buffers == "random" and nearest is not None:
            name = f"{nodes}-{placement}"
            values += [
                Value("random", name, ratio, "x", yes(ratio > nearest)),
                Value("nearest", name, nearest, "x"),
            ]
    return values


def routing_and_mean(runs: Runs) -> list[Value]:
    return [
        Value("", minimal.name, ratio, "x", yes(abs(ratio - 1) <= 0.2))
        for minimal, adaptive in pairs(runs, "routing", "minimal", "adaptive")
        for ratio in [adaptive.latency_mean_s / minimal.latency_mean_s]
    ]


def random_buffers_more(runs: Runs) -> list[Value]:
    return [
        Value("", nearest.name, ratio, "x", yes(ratio > 1 + NOTICED))
        for nearest, random in pairs(runs, "buffers", "nearest", "random")
        for ratio in [random.latency_max_s / nearest.latency_max_s]
    ]


def contiguous_least(runs: Runs) -> list[Value]:
    values = []
    for (nodes, routing, buffers), members in groups(runs, "nodes", "routing", "buffers").items():
        chosen = where(members, placement="contiguous")
        others = [run.latency_max_s for run in members if run not in chosen]
        if chosen and others:
            ratio = chosen[0].latency_max_s / min(others)
            values.append(Value("", f"{nodes}-{routing}-{buffers}", ratio, "x", yes(ratio <= 1 + NOTICED)))
    return values


def random_node_most(runs: Runs) -> list[Value]:
    values = []
    for (nodes, routing, buffers), members in groups(runs, "nodes", "routing", "buffers").items():
        chosen = where(members, placement="random-node")
        others = [run.latency_max_s for run in members if run not in chosen]
        if chosen and others:
            ratio = chosen[0].latency_max_s / max(others)
            values.append(Value("", f"{nodes}-{routing}-{buffers}", ratio, "x", yes(ratio >= 1 - NOTICED)))
    return values


def random_node_grows(runs: Runs) -> list[Value]:
    values = []
    for (routing, buffers), members in groups(
        where(runs, placement="random-node"), "routing", "buffers"
    ).items():
        by_size = [where(members, nodes=nodes)[0].latency_max_s for nodes in sizes(members)]
        if len(by_size) < 2:
            continue
        rising = all(b >= a for a, b in itertools.pairwise(by_size))
        grade = Grade.YES if rising else Grade.PART if by_size[-1] > by_size[0] else Grade.NO
        values.append(
            Value("largest / smallest job", f"{routing}-{buffers}", by_size[-1] / by_size[0], "x", grade)
        )
    return values


def router_below_node(runs: Runs) -> list[Value]:
    return [
        Value("", router.name, ratio, "x", yes(ratio < 1 - NOTICED))
        for router, node in pairs(runs, "placement", "random-router", "random-node")
        for ratio in [router.latency_max_s / node.latency_max_s]
    ]


CLAIMS: list[Claim[Runs]] = [
    Claim(
        "mean-alone",
        "V-E, fig. 5, 6",
        "the mean packet latency without I/O traffic is 0.001 ms",
        "0.001 ms",
        "mean latency of the background traffic alone: rounds to 0.001 ms",
        baseline,
    ),
    Claim(
        "mean-modest",
        "V-E",
        "the average packet latency shows only modest sensitivity to allocation and routing",
        "modest",
        "per size, largest / smallest of all configurations' mean latencies at most 1.5; in part up to 3",
        mean_modest,
    ),
    Claim(
        "minimum-modest",
        "V-E",
        "so does the minimum",
        "modest",
        "per size, largest / smallest of the least latencies of all configurations at most 1.5",
        minimum_modest,
    ),
    Claim(
        "maximum-varies",
        "abstract, V-E",
        "the maximum packet latency varies significantly with allocation and routing",
        "significantly",
        "per size, largest / smallest of the worst packets of all configurations at least 10",
        maximum_varies,
    ),
    Claim(
        "nearest-minimal-least",
        "V-E",
        "nearest buffers with minimal routing perturb least, regardless of placement",
        "least",
        "per size and placement: worst packet not above that of any other routing and buffers",
        nearest_minimal_least,
    ),
    Claim(
        "nearest-minimal-worst",
        "V-E, fig. 6b",
        "with them the worst packet is 5-25 times slower than without checkpoint",
        "5-25x",
        "nearest, minimal: worst packet with / without checkpoint between 5 and 25",
        nearest_minimal_worst,
    ),
    Claim(
        "random-adaptive-ms",
        "V-E, fig. 5a",
        "random buffers with adaptive routing: worst packet of a few milliseconds",
        "few ms",
        "random, adaptive: worst packet 1 to 10 ms; in part from 0.1 ms",
        random_adaptive_milliseconds,
    ),
    Claim(
        "4700-times",
        "abstract, I, VI",
        "single packets are delayed by a factor of 4,700 or more of the average latency",
        "4,700x",
        "random, adaptive: the largest worst packet / mean without checkpoint at least 4,700, less 20%; "
        "in part from 1,000",
        thousands,
    ),
    Claim(
        "adaptive-longer",
        "V-E",
        "adaptive routing produces longer worst-case latency than minimal in all cases",
        "longer",
        "worst packet, adaptive / minimal above 1.02, case by case",
        adaptive_longer,
    ),
    Claim(
        "adaptive-longer-random",
        "V-E",
        "the difference is most pronounced with random buffers",
        "most",
        "worst packet, adaptive / minimal: more with random than nearest buffers, per size and placement",
        adaptive_most_with_random,
    ),
    Claim(
        "routing-mean",
        "V-E",
        "the routing policy has only a minor effect on average packet latency",
        "minor",
        "mean latency, adaptive / minimal within 20%",
        routing_and_mean,
    ),
    Claim(
        "random-buffers-more",
        "V-E",
        "random buffers perturb network performance more than nearest ones",
        "more",
        "worst packet, random / nearest above 1.02, case by case",
        random_buffers_more,
    ),
    Claim(
        "contiguous-least",
        "V-E, V-G",
        "contiguous placement brings the least perturbation in all cases",
        "least",
        "worst packet not above that of the two other placements, case by case",
        contiguous_least,
    ),
    Claim(
        "random-node-most",
        "V-E, V-G",
        "random node placement brings maximum jitter",
        "most",
        "worst packet not below that of the two other placements, case by case",
        random_node_most,
    ),
    Claim(
        "random-node-grows",
        "V-E",
        "which increases as more nodes are involved, at constant volume",
        "increases",
        "random node: worst packet rises from size to size; in part if it does from smallest to largest",
        random_node_grows,
    ),
    Claim(
        "router-below-node",
        "V-G",
        "random router placement causes less perturbation than random node",
        "less",
        "worst packet, random router / random node below 0.98, case by case",
        router_below_node,
    ),
]
