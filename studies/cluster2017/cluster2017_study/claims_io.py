"""Sections V-F and V-G: the duration of the checkpoint (figures 7 to 9), and the best choice."""

from __future__ import annotations

from collections.abc import Sequence

from study_tools.claims import Claim, Grade, Value, between, near, yes

from cluster2017_study.claims import NOTICED, groups, pairs, sizes, where
from cluster2017_study.measures import Run

Runs = Sequence[Run]


def whole_s(run: Run, seconds: float) -> float:
    """A time as it would be for the whole checkpoint, if it took as much longer as it is larger."""
    return seconds * run.whole


def ssd_no_bottleneck(runs: Runs) -> list[Value]:
    return [
        Value("busiest device", run.name, run.device_busy, "%", yes(run.device_busy < 0.9)) for run in runs
    ]


def ssd_ten_seconds(runs: Runs) -> list[Value]:
    smallest = where(runs, nodes=min(sizes(runs), default=0), placement="contiguous", buffers="nearest")
    values = []
    for run in smallest:
        seconds = whole_s(run, run.device_busy * run.checkpoint_s)
        values.append(Value("", run.name, seconds, "s", near(seconds, 10)))
    return values


def small_with_random(runs: Runs) -> list[Value]:
    return _random_over_nearest(runs, sizes(runs)[:1], faster=True)


def large_with_nearest(runs: Runs) -> list[Value]:
    return _random_over_nearest(runs, sizes(runs)[-1:], faster=False)


def _random_over_nearest(runs: Runs, of: Sequence[int], *, faster: bool) -> list[Value]:
    values = []
    for nearest, random in pairs(runs, "buffers", "nearest", "random"):
        if nearest.nodes in of:
            ratio = random.checkpoint_s / nearest.checkpoint_s
            grade = yes(ratio < 1 - NOTICED if faster else ratio > 1 + NOTICED)
            values.append(Value("random / nearest", nearest.name, ratio, "x", grade))
    return values


def ten_buffers(runs: Runs) -> list[Value]:
    smallest = where(runs, nodes=min(sizes(runs), default=0), buffers="nearest")
    return [
        Value(run.placement, run.name, run.buffers_used, "", yes(run.buffers_used <= 10)) for run in smallest
    ]


def continuous(runs: Runs) -> list[Value]:
    return [
        Value("steps", run.name, run.steps, "", yes(run.steps <= 3)) for run in _figure_nine(runs, "random")
    ]


def forty_times(runs: Runs) -> list[Value]:
    values = []
    for run in _figure_nine(runs, "random"):
        ratio = run.last_rank_s / run.first_rank_s
        values += [
            Value("last / first", run.name, ratio, "x", between(ratio, 20, 80, 5)),
            Value("first", run.name, whole_s(run, run.first_rank_s), "s"),
            Value("last", run.name, whole_s(run, run.last_rank_s), "s"),
        ]
    return values


def stepwise(runs: Runs) -> list[Value]:
    return [
        Value("steps", run.name, run.steps, "", yes(run.steps >= 3)) for run in _figure_nine(runs, "nearest")
    ]


def _figure_nine(runs: Runs, buffers: str) -> list[Run]:
    return where(runs, nodes=min(sizes(runs), default=0), routing="minimal", buffers=buffers)


def adaptive_helps_random(runs: Runs) -> list[Value]:
    return _adaptive(where(runs, buffers="random"), faster=True)


def adaptive_helps_nearest(runs: Runs) -> list[Value]:
    nearest = where(runs, buffers="nearest")
    return _adaptive([run for run in nearest if run.placement != "contiguous"], faster=True)


def adaptive_hurts_contiguous(runs: Runs) -> list[Value]:
    return _adaptive(where(runs, buffers="nearest", placement="contiguous"), faster=False)


def _adaptive(runs: Runs, *, faster: bool) -> list[Value]:
    values = []
    for minimal, adaptive in pairs(runs, "routing", "minimal", "adaptive"):
        ratio = adaptive.checkpoint_s / minimal.checkpoint_s
        grade = yes(ratio < 1 - NOTICED if faster else ratio > 1 + NOTICED)
        values.append(Value("adaptive / minimal", minimal.name, ratio, "x", grade))
    return values


def placement_matters(runs: Runs) -> list[Value]:
    """Slowest / fastest placement; the largest job covers the machine, and counts like any other."""
    values = []
    for (nodes, routing), members in groups(where(runs, buffers="nearest"), "nodes", "routing").items():
        times = [run.checkpoint_s for run in members]
        ratio = max(times) / min(times)
        values.append(Value("slowest / fastest", f"{nodes}-{routing}", ratio, "x", yes(ratio >= 1.1)))
    return values


def contiguous_idle_buffers(runs: Runs) -> list[Value]:
    values = []
    for (nodes, routing), members in groups(where(runs, buffers="nearest"), "nodes", "routing").items():
        used = {run.placement: run.buffers_used for run in members}
        if "contiguous" in used and "random-node" in used:
            grade = yes(used["contiguous"] < used["random-node"])
            values += [
                Value("contiguous", f"{nodes}-{routing}", used["contiguous"], "", grade),
                Value("random node", f"{nodes}-{routing}", used["random-node"], ""),
            ]
    return values


def random_placements_faster(runs: Runs) -> list[Value]:
    values = []
    for other in ("random-node", "random-router"):
        for one, two in pairs(where(runs, buffers="nearest"), "placement", "contiguous", other):
            ratio = one.checkpoint_s / two.checkpoint_s
            values.append(Value(f"contiguous / {other}", one.name, ratio, "x", yes(ratio > 1 + NOTICED)))
    return values


def five_times(runs: Runs) -> list[Value]:
    ratios = [
        one.checkpoint_s / two.checkpoint_s
        for one, two in pairs(where(runs, buffers="nearest"), "placement", "contiguous", "random-node")
    ]
    if not ratios:
        return []
    return [
        Value("largest", "all", max(ratios), "x", near(max(ratios), 5, 0.3)),
        Value("smallest", "all", min(ratios), "x"),
    ]


def router_slower(runs: Runs) -> list[Value]:
    ratios = [
        (router, router.checkpoint_s / node.checkpoint_s)
        for router, node in pairs(where(runs, buffers="nearest"), "placement", "random-router", "random-node")
    ]
    if not ratios:
        return []
    top = max(ratio for _, ratio in ratios)
    return [
        Value("largest", "all", top, "x", near(top, 1.5)),
        *(
            Value(
                "",
                router.name,
                ratio,
                "x",
                Grade.YES if ratio >= 1.2 else Grade.PART if ratio > 1.02 else Grade.NO,
            )
            for router, ratio in ratios
        ),
    ]


def random_node_fast(runs: Runs) -> list[Value]:
    values = []
    for (nodes, routing, buffers), members in groups(runs, "nodes", "routing", "buffers").items():
        chosen = where(members, placement="random-node")
        if chosen and len(members) > 1:
            ratio = chosen[0].checkpoint_s / min(run.checkpoint_s for run in members)
            values.append(Value("", f"{nodes}-{routing}-{buffers}", ratio, "x", yes(ratio <= 1.1)))
    return values


def least_perturbation_slow(runs: Runs) -> list[Value]:
    values = []
    for (nodes,), members in groups(runs, "nodes").items():
        quiet = min(members, key=lambda run: run.latency_max_s)
        ratio = quiet.checkpoint_s / min(run.checkpoint_s for run in members)
        grade = Grade.YES if ratio >= 2 else Grade.PART if ratio >= 1.2 else Grade.NO
        values.append(Value("", f"{nodes} ({quiet.name})", ratio, "x", grade))
    return values


def efficient_perturbs(runs: Runs) -> list[Value]:
    values = []
    for (nodes,), members in groups(runs, "nodes").items():
        fast = min(members, key=lambda run: run.checkpoint_s)
        ratio = fast.latency_max_s / min(run.latency_max_s for run in members)
        grade = Grade.YES if ratio >= 10 else Grade.PART if ratio >= 2 else Grade.NO
        values.append(Value("", f"{nodes} ({fast.name})", ratio, "x", grade))
    return values


def best_choice(runs: Runs) -> list[Value]:
    """Nearest, minimal, random node or router: near the fastest, and perturbing little."""
    values = []
    for members in groups(runs, "nodes").values():
        fastest = min(run.checkpoint_s for run in members)
        quietest = min(run.latency_max_s for run in members)
        chosen = [
            run
            for run in where(members, routing="minimal", buffers="nearest")
            if run.placement != "contiguous"
        ]
        for run in chosen:
            slow, loud = run.checkpoint_s / fastest, run.latency_max_s / quietest
            values += [
                Value("time", run.name, slow, "x", yes(slow <= 1.25)),
                Value("worst packet", run.name, loud, "x", yes(loud <= 2)),
            ]
    return values


CLAIMS: list[Claim[Runs]] = [
    Claim(
        "ssd-no-bottleneck",
        "V-F",
        "the SSDs are not the bottleneck of any checkpoint",
        "none",
        "the busiest device writes less than 90% of the time, run by run",
        ssd_no_bottleneck,
    ),
    Claim(
        "ssd-10-s",
        "V-F",
        "30 nodes write 60 GiB to one SSD, which takes 10 s at worst",
        "10 s",
        "smallest job, contiguous, nearest: writing time of the busiest device, times the scale, near 10 s",
        ssd_ten_seconds,
    ),
    Claim(
        "small-random",
        "V-F, fig. 7, 8",
        "smaller jobs checkpoint faster with random buffers",
        "faster",
        "smallest job: time with random / nearest buffers below 0.98, per placement and routing",
        small_with_random,
    ),
    Claim(
        "large-nearest",
        "V-F, fig. 7, 8",
        "larger jobs checkpoint faster with nearest buffers",
        "faster",
        "largest job: time with random / nearest buffers above 1.02, per placement and routing",
        large_with_nearest,
    ),
    Claim(
        "ten-buffers",
        "V-F, fig. 8",
        "the 512-node nearest jobs use no more than 10 buffers",
        "<= 10",
        "smallest job, nearest: buffers that took data, at most 10, per placement and routing",
        ten_buffers,
    ),
    Claim(
        "random-continuous",
        "V-F, fig. 9a",
        "with random buffers the time to complete increases continuously from node to node",
        "continuously",
        "smallest job, minimal, random: at most 3 steps (gaps of a twentieth of all) between ranks' ends",
        continuous,
    ),
    Claim(
        "random-40-times",
        "fig. 9",
        "from 0.4 to 16 s",
        "40x",
        "smallest job, minimal, random: last / first rank 20 to 80; in part from 5",
        forty_times,
    ),
    Claim(
        "nearest-steps",
        "V-F, fig. 9b",
        "with nearest buffers groups of nodes complete earlier than others, in steps",
        "steps",
        "smallest job, minimal, nearest: at least 3 steps",
        stepwise,
    ),
    Claim(
        "adaptive-random",
        "V-F",
        "adaptive routing slightly improves the time with random buffers",
        "less",
        "random: time, adaptive / minimal below 0.98, case by case",
        adaptive_helps_random,
    ),
    Claim(
        "adaptive-nearest",
        "V-F",
        "and that with nearest buffers under random node and random router placement",
        "less",
        "nearest, random placements: time, adaptive / minimal below 0.98, case by case",
        adaptive_helps_nearest,
    ),
    Claim(
        "adaptive-contiguous",
        "V-F",
        "but slows it down under contiguous placement",
        "more",
        "nearest, contiguous: time, adaptive / minimal above 1.02, case by case",
        adaptive_hurts_contiguous,
    ),
    Claim(
        "placement-matters",
        "V-F, fig. 8",
        "placement has a noticeable impact with nearest buffers",
        "noticeable",
        "nearest: slowest / fastest placement at least 1.1, per size and routing",
        placement_matters,
    ),
    Claim(
        "contiguous-idle",
        "V-F",
        "contiguous placement leaves the rest of the buffers idle",
        "fewer",
        "nearest: fewer buffers used than under random node placement, per size and routing",
        contiguous_idle_buffers,
    ),
    Claim(
        "random-placements",
        "V-F, fig. 8",
        "random node and random router placement are faster with nearest buffers",
        "faster",
        "nearest: time, contiguous / either above 1.02, case by case",
        random_placements_faster,
    ),
    Claim(
        "five-times",
        "V-G",
        "contiguous placement increases the I/O completion time by up to 5 times",
        "5x",
        "nearest: largest time, contiguous / random node within 30% of 5",
        five_times,
    ),
    Claim(
        "router-1.5",
        "V-G",
        "random router is 1.5 times slower than random node",
        "1.5x",
        "nearest: largest time, random router / random node within 20% of 1.5; case by case at least 1.2, "
        "in part from 1.02",
        router_slower,
    ),
    Claim(
        "random-node-fast",
        "V-G",
        "random node has a high-performing completion time in all cases",
        "fast",
        "time at most 1.1 times that of the fastest placement, case by case",
        random_node_fast,
    ),
    Claim(
        "quiet-is-slow",
        "I, VI",
        "configurations that perturb least can slow down the I/O substantially",
        "substantially",
        "per size, time of the configuration with the least worst packet / the fastest at least 2, part 1.2",
        least_perturbation_slow,
    ),
    Claim(
        "fast-is-loud",
        "I",
        "configurations with efficient I/O perturb background traffic significantly",
        "significantly",
        "per size, worst packet of the fastest configuration / the least one at least 10; in part from 2",
        efficient_perturbs,
    ),
    Claim(
        "best-choice",
        "V-G",
        "minimal routing, nearest buffers, random placements: little perturbation and buffers well used",
        "both",
        "time at most 1.25 times that of the fastest configuration, worst packet at most twice the least, "
        "per size and placement",
        best_choice,
    ),
]
