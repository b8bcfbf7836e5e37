"""The results of a sweep: a table of points, intervals, and failures."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.analysis import parquet, run_record, tables
from odonata.analysis.measured import file_of
from odonata.base.frames import to_pandas, to_polars
from odonata.base.html_page import page_html
from odonata.base.output_file import OutputFile
from odonata.errors import NoResult
from odonata.sweeps import page as pages
from odonata.sweeps import picture, record
from odonata.sweeps import report as sweep_report
from odonata.sweeps import table as sweep_table
from odonata.sweeps.store import INTERVALS, POINTS, SWEEP_FILE

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from odonata.answers.compare_sweeps import SweepComparison

KIND = "sweep"


class Sweep:
    """The results of a sweep: `description` (sweep.json) and tables, from memory or from its folder.

    >>> import pyarrow as pa
    >>> points = pa.table({"point": [0, 0], "job": ["milc", "milc"], "elapsed_s": [1.0, 3.0]})
    >>> sweep = Sweep({"outcome": "completed", "failed": []}, points, points)
    >>> sweep.outcome, sweep.table.num_rows
    ('completed', 2)
    """

    def __init__(
        self, description: dict[str, Any], points: pa.Table, intervals: pa.Table, path: Path | None = None
    ) -> None:
        #: The contents of sweep.json.
        self.description = description
        #: A row per point, seed and job.
        self.table = points
        #: The folder, if there is one.
        self.path = path
        self._intervals = intervals

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Sweep:
        """Opens the folder that `odonata sweep` wrote.

        Raises:
            FileNotFoundError: It holds no sweep.json. The error is also an `InputError`.
            InputError: It is damaged.

        >>> from odonata import Sweep
        >>> Sweep.load("results/placement").outcome  # doctest: +SKIP
        'completed'
        """
        path = Path(folder)
        # `Path.is_file` raises for invalid file names.
        if not os.path.isfile(path / SWEEP_FILE):
            raise NoResult("not a sweep", file=str(path), expected=f"a folder that holds {SWEEP_FILE}")
        description = run_record.read(path / SWEEP_FILE, record.SweepRecord)
        found = [parquet.read(file_of(path, name)) for name in (POINTS, INTERVALS)]
        return cls(description, found[0], found[1], path)

    @property
    def outcome(self) -> str:
        """`completed`, `failed` if a run failed, or `interrupted`.

        >>> import pyarrow as pa
        >>> Sweep({"outcome": "failed"}, pa.table({}), pa.table({})).outcome
        'failed'
        """
        return str(self.description["outcome"])

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The failed runs: point, seed, job (if alone), outcome, detail.

        >>> import pyarrow as pa
        >>> Sweep({"outcome": "completed", "failed": []}, pa.table({}), pa.table({})).failed
        []
        """
        found: list[dict[str, Any]] = self.description["failed"]
        return found

    @property
    def swept(self) -> list[str]:
        """The swept keys, which are columns of both tables.

        >>> import pyarrow as pa
        >>> Sweep({"swept": [{"key": "jobs.a.ranks"}]}, pa.table({}), pa.table({})).swept
        ['jobs.a.ranks']
        """
        return [one["key"] for one in self.description["swept"]]

    def to_pandas(self) -> pd.DataFrame:
        """The table of points, as pandas.

        Raises:
            MissingPackage: pandas is not installed.

        >>> import pyarrow as pa
        >>> len(Sweep({}, pa.table({"point": [0]}), pa.table({})).to_pandas())
        1
        """
        return to_pandas(self.table, "Sweep.to_pandas")

    def to_polars(self) -> pl.DataFrame:
        """The table of points, as polars.

        Raises:
            MissingPackage: polars is not installed.
        """
        return to_polars(self.table, "Sweep.to_polars")

    def intervals(self, *measures: str) -> pa.Table:
        """Mean and confidence interval per point, job and measure, for the given measures or all.

        >>> import pyarrow as pa
        >>> found = pa.table({"measure": ["elapsed_ratio", "mpi_s"], "mean": [1.2, 3.0]})
        >>> Sweep({}, pa.table({}), found).intervals("mpi_s")["mean"].to_pylist()
        [3.0]

        Raises:
            KeyError: There is no such measure.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        found = self._intervals
        if not measures:
            return found
        there = set(found["measure"].to_pylist())
        for name in measures:
            if name not in there and name not in self.table.schema.names and there:
                raise KeyError(f"no measure {name!r}; there are {', '.join(sorted(there))}")
        return found.filter(pc.is_in(found["measure"], pa.array(measures)))

    def pairs(self, *measures: str, against: int = 0) -> pa.Table:
        """Every other point compared with the point `against`, seed by seed, for the given measures or all.

        A row has the ratio to that point, its confidence interval, and the number of seeds with which the
        measure fell and rose. Runs of two points with the same seed share what the seed draws, so these
        intervals are often narrower than those of the means.

        >>> import pyarrow as pa
        >>> points = pa.table(
        ...     {
        ...         "point": [0, 0, 1, 1], "seed": [1, 2, 1, 2], "job": ["milc"] * 4,
        ...         "outcome": ["completed"] * 4, "digest": ["a", "b", "c", "d"],
        ...         "elapsed_s": [1.0, 2.0, 0.8, 1.6],
        ...     }
        ... )
        >>> sweep = Sweep({"swept": [], "confidence": 0.95}, points, pa.table({}))
        >>> found = sweep.pairs("elapsed_s").to_pylist()[0]
        >>> found["pairs"], round(found["ratio"], 2), found["fell"]
        (2, 0.8, 2)
        """
        return sweep_table.pairs_table(
            self.table, self.swept, float(self.description["confidence"]), against, measures
        )

    def compare(self, other: Sweep, *, least: float = 0.01) -> SweepComparison:
        """Compares another sweep with this one: points with equal values, seed by seed.

        Args:
            other: The other sweep; ratios are its values / those of this one.
            least: Leave out ratios that differ from 1 by less.

        Raises:
            InputError: The common keys do not tell the points of a sweep apart.

        >>> from odonata import Sweep
        >>> before, after = Sweep.load("results/before"), Sweep.load("results/after")  # doctest: +SKIP
        >>> before.compare(after)["rows"][0]["words"]  # doctest: +SKIP
        '0.83x (0.81x to 0.85x) in all 5 seeds'
        """
        from odonata.sweeps import compared

        return compared.compare(self, other, least)

    def plot(self, measure: str = "elapsed_ratio", *, x: str | None = None) -> Any:
        """A matplotlib figure: a measure of every job over a swept key, with its intervals.

        Args:
            measure: A column of the table.
            x: A swept key. Default: the first one; the others distinguish lines.

        Raises:
            MissingPackage: matplotlib is not installed.
            InputError: There is no such measure or key.

        >>> from odonata import Sweep
        >>> Sweep.load("results/placement").plot().savefig("slowdown.png")  # doctest: +SKIP
        """
        return picture.figure(self, measure, x)

    def report(self, file: str | os.PathLike[str] | None = None, *, force: bool = False) -> str:
        """One HTML page of the sweep, with selectable axes (docs/report.md).

        Args:
            file: Also write the page to this file, whole or not at all.
            force: Replace an existing file.

        Returns:
            The page.

        Raises:
            InputError: `file` cannot be written, or exists.
        """
        output = None if file is None else OutputFile(file, key="file", replace=force)
        with tempfile.TemporaryDirectory(prefix="odonata-") as scratch:
            place = self.path
            if place is None:
                place = Path(scratch)
                tables.write(self.table, place, POINTS)
            page = sweep_report.html(file_of(place, POINTS))
        if output is not None:
            output.write(page)
        return page

    def _repr_html_(self) -> str:
        return page_html(lambda stream: pages.show(self, stream))

    def __repr__(self) -> str:
        place = f", path={str(self.path)!r}" if self.path else ""
        return f"Sweep(outcome={self.outcome!r}, points={self.description.get('points')}{place})"
