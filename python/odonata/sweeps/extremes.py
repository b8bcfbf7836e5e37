"""The points of a sweep at which each job takes longest and shortest, in a sentence per job.

Points are compared by the time of the job, seed by seed where they have common seeds. The ratio to its time
alone says what other jobs cost it; it cannot say which point is faster, because the time alone differs from
point to point too. Differences within `NOISE` or within the confidence intervals are none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odonata.base.wording import duration, factor
from odonata.sweeps import labels
from odonata.sweeps.pairs import Pairs
from odonata.sweeps.statistics import Paired
from odonata.sweeps.values import shown

if TYPE_CHECKING:
    from odonata.sweeps.result import Sweep

#: Relative differences up to this one count as none.
NOISE = 0.01


def sentences(sweep: Sweep) -> list[str]:
    """For each job where it takes longest and shortest, or that its points do not differ."""
    jobs: dict[str, dict[str, dict[int, dict[str, Any]]]] = {}
    rows = sweep.intervals("elapsed_s", "elapsed_ratio").to_pylist()
    for row in labels.collapsed(sweep.swept, rows)[1]:
        jobs.setdefault(row["job"], {}).setdefault(row["measure"], {})[row["point"]] = row
    keys, _ = labels.leading(sweep)
    units = {one["key"]: one["unit"] for one in sweep.description["swept"]}

    def place(row: dict[str, Any]) -> str:
        return ", ".join(f"{key} = {shown(row[key], units.get(key, ''))}" for key in keys)

    pairs = Pairs(sweep.table, ("elapsed_s",), float(sweep.description.get("confidence", 0.95)))

    def pair(job: str, times: dict[int, dict[str, Any]]) -> Paired | None:
        longest, shortest = _ends(times)
        return pairs.compare(job, "elapsed_s", longest["point"], shortest["point"])

    return [
        f"- {job}{_compared(times, found.get('elapsed_ratio', {}), place, pair(job, times))}."
        for job, found in jobs.items()
        if (times := found.get("elapsed_s"))
    ]


def is_certain(row: dict[str, Any]) -> bool:
    """Whether several seeds gave one result."""
    return bool(row["seeds"] > 1 and row.get("results") == 1)


def _ends(times: dict[int, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The points with the longest and the shortest time."""
    return (
        max(times.values(), key=lambda row: row["mean"]),
        min(times.values(), key=lambda row: row["mean"]),
    )


def _compared(
    times: dict[int, dict[str, Any]], ratios: dict[int, dict[str, Any]], place: Any, pair: Paired | None
) -> str:
    """What to say of a job, after its name."""
    longest, shortest = _ends(times)
    undisturbed = bool(ratios) and all(abs(row["mean"] - 1) <= NOISE for row in ratios.values())
    ending = "; other jobs do not slow it down" if undisturbed else ""

    def with_ratio(row: dict[str, Any]) -> str:
        ratio = ratios.get(row["point"])
        alone = "" if ratio is None or undisturbed else f", {factor(ratio['mean'])} as long as alone"
        return duration(row["mean"]) + alone

    if longest["mean"] <= shortest["mean"] * (1 + NOISE):
        everywhere = " at every point" if len(times) > 1 else ""
        return f" takes {duration(shortest['mean'])}{everywhere}{ending or _range(ratios)}"
    by_seed = pair is not None and pair.pairs > 1
    if pair is not None and by_seed and not pair.differs:
        between = f"{duration(shortest['mean'])} to {duration(longest['mean'])}"
        return (
            f" takes {between}; seed by seed the shortest is {pair.with_interval} as long as the longest, "
            f"so no point is known to be faster{ending}"
        )
    if not by_seed and _overlap(longest, shortest):
        between = f"{duration(shortest['mean'])} to {duration(longest['mean'])}"
        return f" takes {between}; the intervals overlap, so no point is known to be faster{ending}"
    text = (
        f" takes longest at {place(longest)} ({with_ratio(longest)}), "
        f"shortest at {place(shortest)} ({with_ratio(shortest)})"
    )
    if pair is not None and by_seed:
        return f"{text}; shortest / longest is {pair.in_words}{ending}"
    certain = all(is_certain(row) or row["half_width"] is not None for row in (longest, shortest))
    return f"{text}{ending}" if certain else f"{text}{ending}; more seeds would show whether this is chance"


def _overlap(longest: dict[str, Any], shortest: dict[str, Any]) -> bool:
    """Whether two means may be equal; an interval that does not exist has no width."""
    low, high = longest["low"], shortest["high"]
    return bool((longest["mean"] if low is None else low) <= (shortest["mean"] if high is None else high))


def _range(ratios: dict[int, dict[str, Any]]) -> str:
    """The ratios of a job whose times are equal at all points.

    >>> _range({}), _range({0: {"mean": 1.2}}), _range({0: {"mean": 1.2}, 1: {"mean": 1.5}})
    ('', ', 1.20x as long as alone', ', 1.20x to 1.50x as long as alone')
    """
    if not ratios:
        return ""
    texts = list(dict.fromkeys(factor(mean) for mean in sorted(row["mean"] for row in ratios.values())))
    return f", {' to '.join(texts[:: max(1, len(texts) - 1)])} as long as alone"
