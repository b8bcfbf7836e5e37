"""Points of a sweep compared seed by seed.

Runs of two points with the same seed share what the seed draws, such as random placement. Their ratio varies
less than the runs themselves do, so the interval of the ratios may decide where those of the means overlap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from odonata.analysis.measured import GOOD_OUTCOMES
from odonata.sweeps.statistics import Paired, paired

if TYPE_CHECKING:
    import pyarrow as pa

#: Columns that the comparison needs.
_NEEDED = ("point", "seed", "job", "outcome", "digest")


class Pairs:
    """The measures of a table of points by job, point and seed."""

    def __init__(self, points: pa.Table, measures: tuple[str, ...], confidence: float) -> None:
        #: The measures that the table has.
        self.measures = [name for name in measures if name in points.schema.names]
        self._confidence = confidence
        is_whole = all(name in points.schema.names for name in _NEEDED)
        columns = [*_NEEDED, *self.measures]
        self._rows: dict[tuple[str, int], dict[int, dict[str, Any]]] = {}
        for row in points.select(columns).to_pylist() if is_whole else []:
            if row["outcome"] in GOOD_OUTCOMES:
                self._rows.setdefault((row["job"], row["point"]), {})[row["seed"]] = row

    def jobs(self, point: int) -> list[str]:
        """The jobs of a point."""
        return [job for job, place in self._rows if place == point]

    def compare(
        self, job: str, measure: str, before: int, after: int, others: Pairs | None = None
    ) -> Paired | None:
        """A measure at point `after` (of `others`) / that at `before`; None without common seeds."""
        one = self._rows.get((job, before), {})
        other = (others or self)._rows.get((job, after), {})
        found: list[tuple[float, float]] = []
        seen = set()
        for seed in sorted(one.keys() & other.keys()):
            first, second = one[seed].get(measure), other[seed].get(measure)
            # Equal runs are one observation, whatever the number of seeds.
            digests = one[seed]["digest"], other[seed]["digest"]
            if first is None or second is None or digests in seen:
                continue
            seen.add(digests)
            found.append((first, second))
        if not found:
            return None
        return paired([pair[0] for pair in found], [pair[1] for pair in found], self._confidence)

    def rows(self, against: int) -> list[dict[str, Any]]:
        """Every other point compared with the point `against`."""
        found = []
        for job, point in self._rows:
            if point == against:
                continue
            for measure in self.measures:
                pair = self.compare(job, measure, against, point)
                if pair is not None:
                    found.append(
                        {
                            "point": point, "against": against, "job": job, "measure": measure,
                            "pairs": pair.pairs, "ratio": pair.ratio,
                            "low": None if math.isnan(pair.low) else pair.low,
                            "high": None if math.isnan(pair.high) else pair.high,
                            "fell": pair.fell, "rose": pair.rose,
                        }
                    )  # fmt: skip
        return found
