"""The results of a run: `run`, a dictionary, and tables as pyarrow, pandas or polars.

Baseline processes import this module, so methods import pyarrow, reports and timelines on demand.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.analysis import run_record, slowdown
from odonata.analysis.measured import GOOD_OUTCOMES, file_of, needed
from odonata.base.folder import RUN_FILE
from odonata.base.frames import to_pandas, to_polars
from odonata.base.nearest import nearest
from odonata.base.output_file import OutputFile
from odonata.errors import InputError, NoResult

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from odonata.analysis.slowdown import Slowdown
    from odonata.answers.explain import ExplainAnswer
    from odonata.answers.summary import Summary
    from odonata.answers.timeline import TimelineAnswer


def _other_kind(path: Path) -> str | None:
    """A hint for the folder of another command than `odonata run`; None for other paths."""
    # Both kinds of sweeps have a sweep.json; a load sweep has its points as text.
    if os.path.isfile(path / "sweep.json") and os.path.isfile(path / "points.csv"):
        return (
            f"it is a load sweep: odonata report {path} shows it, odonata.LoadSweep.load reads it, "
            "its table is points.csv"
        )
    if os.path.isfile(path / "sweep.json"):
        return f"it is a sweep: odonata report {path} shows it, odonata.Sweep.load reads it"
    if os.path.isfile(path / "batch.json"):
        return (
            f"it is a batch queue: odonata report {path} shows it, its answer is batch.json, its tables are "
            "Parquet files"
        )
    if os.path.isfile(path / "what-if.json"):
        return (
            "it is a what-if, whose answer is what-if.json; for a report of one variant: "
            "odonata batch BATCH --set KEY=VALUE -o DIR, then odonata report DIR"
        )
    if os.path.isfile(path / "advice.json"):
        return (
            "it is an advice, whose answer is advice.json; its runs are sweeps: "
            f"odonata report {path}/packets shows them"
        )
    return None


def _results_near(path: Path) -> str | None:
    """A hint for a path that is no result: results near it, or a scenario."""
    if path.suffix == ".toml" and os.path.isfile(path):
        return f"odonata run {path} writes a result, by default below results/"
    if not os.path.lexists(path):
        return _similar(path)
    try:
        with os.scandir(path) as entries:
            found = sorted(entry.path for entry in entries if os.path.isfile(Path(entry.path) / RUN_FILE))
    except (OSError, ValueError):
        return None
    shown = ", ".join(found[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    return f"there are results in it: {shown}" if found else None


def _similar(path: Path) -> str:
    """A hint for a path that does not exist: results with a similar name beside it, or below results/."""
    for folder in (path.parent, path.parent / "results"):
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries if os.path.isfile(Path(entry.path) / RUN_FILE)]
        except (OSError, ValueError):
            continue
        if alike := nearest(path.name, names):
            return f"there is no such folder; did you mean {folder / alike}?"
    return "there is no such folder"


class Results:
    """The measurements of a run, from memory or from the folder that `odonata run` wrote.

    >>> import pyarrow as pa
    >>> results = Results({"outcome": "completed"}, {"jobs": pa.table({"job": ["milc"], "elapsed_s": [0.2]})})
    >>> results.outcome, results.tables
    ('completed', ['jobs'])
    >>> results.table("jobs")["elapsed_s"].to_pylist()
    [0.2]
    """

    def __init__(
        self,
        run: dict[str, Any],
        tables: Mapping[str, pa.Table] | None = None,
        path: Path | None = None,
        baselines: Mapping[str, Results] | None = None,
    ) -> None:
        given: object = run
        if isinstance(given, (str, Path)):
            raise TypeError(
                f"a result is read by odonata.load({str(given)!r}); Results takes the contents of run.json"
            )
        #: Outcome, digest, rates, seed, version, the resolved scenario: the contents of run.json.
        self.run = run
        #: The folder; None if the results were not written.
        self.path = path
        self._tables: dict[str, pa.Table] = dict(tables or {})
        self._baselines: dict[str, Results] | None = None if baselines is None else dict(baselines)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Opens a result folder; tables are read on demand.

        Raises:
            FileNotFoundError: `folder` holds no run.json. The error is also an `InputError`.
            InputError: A key of run.json is missing or has the wrong type.
        """
        path = Path(folder)
        # `Path.is_file` raises for invalid file names.
        if not os.path.isfile(path / RUN_FILE):
            other = _other_kind(path)
            raise NoResult(
                "not a result of Odonata" if other is None else "not the result of a run",
                file=str(path),
                expected=f"a folder that holds {RUN_FILE}",
                hint=_results_near(path) if other is None else other,
            )
        return cls(run_record.read(path / RUN_FILE, run_record.Run), path=path)

    @property
    def outcome(self) -> str:
        """The outcome of the run in one word; `completed` means success.

        >>> Results({"outcome": "stalled"}).outcome
        'stalled'
        """
        return str(self.run["outcome"])

    @property
    def completed(self) -> bool:
        """Whether every job ran to its end.

        >>> Results({"outcome": "time-limit"}).completed
        False
        """
        return self.outcome == "completed"

    @property
    def failed(self) -> bool:
        """Whether the run ended neither by completion nor by its time limit.

        >>> Results({"outcome": "time-limit"}).failed, Results({"outcome": "interrupted"}).failed
        (False, True)
        """
        return self.outcome not in GOOD_OUTCOMES

    @property
    def ending(self) -> str:
        """The outcome of the run, in a sentence.

        >>> Results({"outcome": "stalled", "detail": "rank 3 waits"}).ending
        'stalled: rank 3 waits'
        """
        detail = self.run.get("detail")
        return f"{self.outcome}: {detail}" if detail else self.outcome

    @property
    def failed_baselines(self) -> dict[str, str]:
        """The failed or missing baselines: job -> outcome, in a sentence.

        >>> lost = {"outcome": "out-of-memory", "detail": "no room", "folder": None}
        >>> Results({"outcome": "completed", "baselines": {"milc": lost}}).failed_baselines
        {'milc': 'out-of-memory: no room'}
        """
        return {
            job: f"{ending['outcome']}: {ending['detail']}" if ending["detail"] else ending["outcome"]
            for job, ending in self.run.get("baselines", {}).items()
            if ending["outcome"] not in GOOD_OUTCOMES
        }

    @property
    def baselines(self) -> dict[str, Results]:
        """The results of every job alone, by name; empty unless the run had baselines, and without missing
        ones.

        >>> Results({"outcome": "completed"}).baselines
        {}
        """
        if self._baselines is None:
            folders = {job: ending["folder"] for job, ending in self.run.get("baselines", {}).items()}
            place = self.path
            self._baselines = (
                {}
                if place is None
                else {job: Results.load(place / folder) for job, folder in folders.items() if folder}
            )
        return self._baselines

    @property
    def tables(self) -> list[str]:
        """Names of the tables, in alphabetical order.

        >>> Results({"outcome": "completed"}).tables
        []
        """
        if self.path is None:
            return sorted(self._tables)
        # Not `Path.glob`: a summary asks often, and it takes ten times as long.
        try:
            names = os.listdir(self.path)
        except OSError:
            return []
        return sorted(name.removesuffix(".parquet") for name in names if name.endswith(".parquet"))

    def table(self, name: str) -> pa.Table:
        """Table `name`, as pyarrow; `polars.from_arrow()` accepts it.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"]})}).table("jobs").num_rows
        1

        Raises:
            KeyError: There is no such table; the message lists the existing ones.
            InputError: Its file is damaged.
        """
        if name not in self._tables:
            if name not in self.tables:
                raise KeyError(f"no table {name!r}; there are {', '.join(self.tables)}")
            # Imported late: a command that needs no tables should answer at once.
            from odonata.analysis import parquet

            assert self.path is not None
            self._tables[name] = parquet.read(file_of(self.path, name))
        return self._tables[name]

    def frame(self, name: str) -> pd.DataFrame:
        """Table `name`, as pandas.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"], "ranks": [8]})}).frame("jobs")["ranks"].sum()
        np.int64(8)

        Raises:
            MissingPackage: pandas is not installed.
            KeyError: There is no such table.
        """
        return to_pandas(self.table(name), "Results.frame")

    def polars(self, name: str) -> pl.DataFrame:
        """Table `name`, as polars.

        Raises:
            MissingPackage: polars is not installed.
            KeyError: There is no such table.

        >>> import pyarrow as pa
        >>> results = Results({}, {"jobs": pa.table({"job": ["milc"], "ranks": [8]})})
        >>> results.polars("jobs")["ranks"].sum()  # doctest: +SKIP
        8
        """
        return to_polars(self.table(name), "Results.polars")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Table `name` as a list of dictionaries, for small tables.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"], "ranks": [8]})}).rows("jobs")
        [{'job': 'milc', 'ranks': 8}]
        """
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def slowdown(self) -> dict[str, dict[str, Slowdown]]:
        """The slowdown of each job: job -> metric -> (alone, together, ratio).

        The metrics are those of the table `slowdown` (docs/results.md): `elapsed`, `mpi`, `io`,
        `message_latency_p99`, `io_bandwidth` and others. `frame("slowdown")` returns the whole table. Metrics
        that do not apply to a job are left out. A ratio is NaN if it is undefined, as for jobs that did not
        end.

        >>> import odonata
        >>> results = odonata.load("results/interference")  # doctest: +SKIP
        >>> results.slowdown()["training"]["elapsed"].ratio  # doctest: +SKIP
        1.41

        Raises:
            KeyError: The run had no baselines.
            InputError: The table is damaged.
        """
        if slowdown.NAME not in self.tables:
            raise KeyError("no slowdowns: the run had no baselines (run.baselines = true, with several jobs)")
        return slowdown.of_jobs(needed(self, slowdown.NAME, slowdown.COLUMNS))

    def blame_matrix(
        self, *, resource: str | None = None, place: str | None = None, victim_class: str | None = None
    ) -> dict[str, dict[str, float]]:
        """Waits of all jobs: victim -> culprit -> seconds waited.

        The table `blame` (docs/results.md) charges waits of packets on links, of messages at network
        interfaces and of requests at servers; select a place to keep them apart. The culprit "" comes after
        the jobs. It stands for waits that the end of the run cut short, and for faults.
        `pandas.DataFrame(matrix).T` has victims as rows.

        Args:
            resource: Only waits for this resource: "link", "credit", "input"; at servers "space", "memory",
                "device", "reserve", "lock"; at metadata servers "thread", "directory"; at either "fault".
            place: Only waits at this place: "nic", "terminal", "local", "global", "server", "file-system" or
                "metadata".
            victim_class: Only waits of the victims' "mpi" or "io" traffic.

        >>> import pyarrow as pa
        >>> blame = {"victim": ["milc"], "culprit": ["noise"], "place": ["local"], "waited_s": [2.5]}
        >>> jobs = pa.table({"job": ["milc", "noise"]})
        >>> Results({}, {"jobs": jobs, "blame": pa.table(blame)}).blame_matrix(place="local")
        {'milc': {'milc': 0.0, 'noise': 2.5}, 'noise': {'milc': 0.0, 'noise': 0.0}}

        Raises:
            KeyError: The run did not measure blame.
            ValueError: There is no such resource, place or class.
            InputError: A table is damaged.
        """
        from odonata.analysis import blame

        if not blame.measured(self):
            raise KeyError("no blame: the run did not measure it (run.blame = true)")
        chosen = {"resource": resource, "place": place, "victim_class": victim_class}
        columns = ["victim", "culprit", "waited_s", *(name for name, value in chosen.items() if value)]
        jobs = needed(self, "jobs", ["job"])["job"].to_pylist()
        return blame.matrix(needed(self, "blame", columns), jobs, chosen)

    def explain(
        self, *, job: str | None = None, rank: int | None = None, iteration: int | None = None
    ) -> ExplainAnswer:
        """The chain of waits that ended each job: rank, place, time, length and culprit of each wait.

        The keys are those of `odonata explain --json` (docs/results.md).

        Args:
            job: Explain this job only.
            rank: Explain this rank, instead of the one that ended last.
            iteration: Explain the end of this iteration, instead of the job's.

        Raises:
            InputError: The run has recorded no waits (run.lost_time_path), or none of that job, rank or
                iteration.

        >>> import odonata
        >>> keys = {"run.lost_time": True, "run.lost_time_path": 100}
        >>> results = odonata.run("examples/ring.toml", overrides=keys)  # doctest: +SKIP
        >>> results.explain(job="ring")["jobs"]  # doctest: +SKIP
        """
        from odonata.analysis import explain

        return explain.collect(self, job=job, rank=rank, iteration=iteration)

    def summary(self) -> Summary:
        """The summary: times of jobs, busiest links and servers, interference between jobs.

        The keys are those of `odonata summary --json` (docs/results.md); a notebook shows it as a page.

        Raises:
            InputError: A table is missing or damaged.

        >>> import odonata
        >>> results = odonata.run("examples/uniform.toml", overrides={"run.time_limit": "20 us"})
        >>> results.summary()["jobs"][0]["ranks"]
        72
        """
        from odonata.analysis import summary, summary_page
        from odonata.base.html_page import Answer

        return cast("Summary", Answer(cast("dict[str, Any]", summary.collect(self)), summary_page.show))

    def report(self, file: str | os.PathLike[str] | None = None, *, force: bool = False) -> str:
        """The results as one HTML page, which works offline (docs/report.md).

        Args:
            file: Also write the page to this file, whole or not at all.
            force: Replace an existing file.

        Returns:
            The page.

        Raises:
            InputError: A table is damaged, or `file` cannot be written or exists.

        >>> import odonata
        >>> results = odonata.run("examples/uniform.toml", overrides={"run.time_limit": "20 us"})
        >>> results.report()[:15]
        '<!doctype html>'
        """
        from odonata.report import single

        output = None if file is None else OutputFile(file, key="file", replace=force)
        page = single.html(self)
        if output is not None:
            output.write(page)
        return page

    def timeline(
        self,
        file: str | os.PathLike[str],
        *,
        jobs: Iterable[str] | None = None,
        ranks: Iterable[int] | str | None = None,
        from_s: float = 0.0,
        until_s: float = math.inf,
        max_events: int = 1_000_000,
        force: bool = False,
    ) -> TimelineAnswer:
        """Writes the activity of ranks, servers and links as a trace for https://ui.perfetto.dev
        (docs/timeline.md).

        The run must have recorded it, with the key ``run.timeline``.

        Args:
            file: The file to write, whole or not at all.
            jobs: Jobs whose ranks are shown. Default: all recorded jobs.
            ranks: Their ranks, as numbers or as text: "0,5,8-15", "every:16". Default: all.
            from_s: Start of the trace in simulated seconds.
            until_s: End of the trace in simulated seconds.
            max_events: Most begins and ends of slices and values of counters; beyond it, the trace shows
                every n-th rank and server.
            force: Replace an existing file.

        Returns:
            The content of the trace, and the omissions; the keys are those of `odonata timeline --json`.

        Raises:
            InputError: The run has recorded nothing of the selection, a table is damaged, or `file` cannot be
                written or exists.

        >>> import odonata
        >>> results = odonata.load("results/interference")  # doctest: +SKIP
        >>> results.timeline("interference.pftrace", ranks="0-15")["messages"]  # doctest: +SKIP
        3120
        """
        from odonata.timeline.selection import Ranks, choose
        from odonata.timeline.write import write

        names = list(needed(self, "jobs", ["job"])["job"].to_pylist())
        chosen = None
        if ranks is not None:
            chosen = Ranks.read(ranks) if isinstance(ranks, str) else Ranks.from_numbers(ranks)
        selection = choose(names, jobs, chosen, (from_s, until_s))
        output = OutputFile(file, key="file", replace=force)
        answer = write(self, selection, output.opened, max_events)
        return answer | {"file": str(output.target)}

    def in_memory(self) -> Results:
        """The same results with all tables in memory, for use after their folder is removed.

        >>> Results({"outcome": "completed"}).in_memory().path is None
        True
        """
        tables = {name: self.table(name) for name in self.tables}
        baselines = {job: results.in_memory() for job, results in self.baselines.items()}
        return Results(self.run, tables, baselines=baselines)

    def _repr_html_(self) -> str | None:
        from odonata.base.html_page import Answer

        try:
            page = self.summary()
        except (InputError, KeyError):
            # Unfinished results lack tables; a notebook shows them as they are.
            return None
        return cast("Answer", page)._repr_html_()

    def __repr__(self) -> str:
        place = f", path={str(self.path)!r}" if self.path else ""
        return f"Results(outcome={self.outcome!r}, tables={self.tables}{place})"
