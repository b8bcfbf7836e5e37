"""Latency-load curves in Python: `odonata.load_sweep` measures one, a `LoadSweep` holds it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import answers
from odonata.analysis import run_record
from odonata.base.folder import ResultFolder
from odonata.base.frames import to_pandas, to_polars
from odonata.base.html_page import page_html
from odonata.errors import InputError, NoResult
from odonata.load_curves import curve as load_curve
from odonata.load_curves import figure, page
from odonata.load_curves import page as load_sweep_page
from odonata.load_curves import request as load_request
from odonata.running import runner
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from odonata.scenario.given import ScenarioLike


class LoadSweep:
    """Latency and accepted load for a series of offered loads.

    >>> point = {"offered": 0.1, "accepted": 0.1, "latency_ns": {"mean": 5.0}, "saturated": False}
    >>> sweep = LoadSweep({"outcome": "completed", "points": [point]})
    >>> sweep.table["mean_ns"].to_pylist()
    [5.0]
    """

    def __init__(self, description: dict[str, Any], path: Path | None = None) -> None:
        #: The contents of sweep.json (docs/results.md).
        self.description = description
        #: The folder, if there is one.
        self.path = path

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> LoadSweep:
        """Opens the folder that `odonata load-sweep -o` wrote.

        Raises:
            FileNotFoundError: It holds no sweep.json. The error is also an `InputError`.
            InputError: It is damaged.
        """
        file = Path(folder) / load_curve.SWEEP_FILE
        if not os.path.isfile(file):
            raise NoResult("not a load sweep", file=str(folder), expected=f"a folder that holds {file.name}")
        found = run_record.read(file, answers.LoadSweep)
        if found["kind"] != "load-sweep":
            raise InputError(
                "not a load sweep", file=str(file), key="kind", value=found["kind"], expected="load-sweep"
            )
        return cls(found, Path(folder))

    @property
    def outcome(self) -> str:
        """`completed`, `interrupted`, or `failed` if a point failed for another reason than saturation."""
        return str(self.description["outcome"])

    @property
    def points(self) -> list[dict[str, Any]]:
        """The points by load, as in `odonata load-sweep --json`."""
        found: list[dict[str, Any]] = self.description["points"]
        return found

    @property
    def saturation(self) -> tuple[float | None, float | None]:
        """The largest load that the network accepts, and the smallest that it does not; None if not found.

        >>> ends = {"last_stable": 0.4, "first_saturated": 0.5, "tolerance": None}
        >>> LoadSweep({"saturation": ends}).saturation
        (0.4, 0.5)
        """
        found = self.description["saturation"]
        return found["last_stable"], found["first_saturated"]

    @property
    def table(self) -> pa.Table:
        """A row per point: offered and accepted load, latencies in ns and clock cycles, hops."""
        import pyarrow as pa

        return pa.Table.from_pylist([load_curve.flat(point) for point in self.points])

    def to_pandas(self) -> pd.DataFrame:
        """`table`, as pandas.

        Raises:
            MissingPackage: pandas is not installed.
        """
        return to_pandas(self.table, "LoadSweep.to_pandas")

    def to_polars(self) -> pl.DataFrame:
        """`table`, as polars.

        Raises:
            MissingPackage: polars is not installed.
        """
        return to_polars(self.table, "LoadSweep.to_polars")

    def plot(self) -> Any:
        """The curve as a matplotlib figure.

        Raises:
            MissingPackage: matplotlib is not installed.
        """
        return figure.draw(self.description)

    def __repr__(self) -> str:
        place = f", path={str(self.path)!r}" if self.path else ""
        return f"LoadSweep(outcome={self.outcome!r}, points={len(self.points)}{place})"

    def _repr_html_(self) -> str:
        return page_html(lambda stream: load_sweep_page.show(self.description, stream))


def load_sweep(
    scenario: ScenarioLike,
    out: str | os.PathLike[str] | None = None,
    *,
    loads: Sequence[float] | None = None,
    job: str | None = None,
    method: str = "steady",
    sample_period: str | int | None = None,
    warmup_periods: int | None = None,
    max_samples: int | None = None,
    latency_threshold: str | float | None = None,
    precision: float | None = None,
    saturation: float | None = None,
    overrides: Mapping[str, Any] | None = None,
    seed: int | None = None,
    processes: int | None = None,
    force: bool = False,
    progress: Callable[[load_curve.Progress], None] | bool | None = None,
) -> LoadSweep:
    """Measures latency and accepted load over offered load (docs/load-sweep.md).

    Every load is simulated from an empty network and measured in its steady state. Loads are fractions of the
    terminal link's bandwidth.

    Args:
        scenario: A scenario with synthetic traffic, as for `odonata.run`.
        out: Folder to write: sweep.json, points.csv.
        loads: Offered loads, above 0 and at most 1. Default: 0.05 to 1 in steps of 0.05.
        job: The job whose load varies. Default: the only one.
        method: Measurement method: "steady" or "booksim".
        sample_period: Length of a sampling period: a time such as "1 us", or clock cycles.
        warmup_periods: Periods before the measured ones (steady: at most).
        max_samples: Most periods (booksim: in all; steady: measured).
        latency_threshold: Mean latency of a saturated network. booksim: a time or clock cycles. steady: a
            multiple of the idle network's latency.
        precision: steady: half-width of the 95% confidence interval, relative. Default: 0.02.
        saturation: Search the saturation point down to this tolerance.
        overrides: Settings that replace those of the scenario, by dotted key.
        seed: Replaces the scenario's seed.
        processes: Simultaneous loads. Default: one per core.
        force: Replace an existing folder.
        progress: Called about ten times a second; or whether to show a line. Default: only in notebooks.

    Raises:
        InputError: The scenario, an argument or `out` is invalid; nothing was run.

    >>> import odonata
    >>> found = odonata.load_sweep("examples/uniform.toml", loads=[0.1], max_samples=5)
    >>> found.points[0]["saturated"]
    False
    """
    asked = load_request.Request(
        load_request.parse_loads(None if loads is None else ",".join(str(float(load)) for load in loads)),
        load_request.method_options(
            method,
            sample_period=sample_period,
            warmup_periods=warmup_periods,
            max_samples=max_samples,
            latency_threshold=latency_threshold,
            precision=precision,
        ),
        job,
        saturation,
        processes,
    )
    text, path = text_and_path(scenario)
    task = runner.Task(text, path, override_list(overrides), seed)
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(runner.StopRequest())
        folder = None
        if out is not None:
            folder = ResultFolder(
                out, replace=force, marker=load_curve.SWEEP_FILE, key="out", inputs=task.inputs()
            )
            stack.enter_context(folder)
        shown = stack.enter_context(page.load_progress(progress))
        report = load_curve.measure(task, asked, stop=stop, report=shown, folder=folder)
        return LoadSweep(report, None if folder is None else folder.publish())
