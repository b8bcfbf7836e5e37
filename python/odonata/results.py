"""The results of a run: `run`, a dictionary, and tables as pyarrow or pandas."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.folder import RUN_FILE

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from odonata.slowdown import Slowdown

#: Outcomes that a scenario asks for: its jobs have ended, or its time limit has come.
GOOD_OUTCOMES = ("completed", "time-limit")


class Results:
    """What a run measured, from memory or from the folder that `odonata run` wrote.

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
        #: Outcome, digest, rates, seed, version, the resolved scenario: the contents of run.json.
        self.run = run
        #: The folder, if the results were written.
        self.path = path
        self._tables: dict[str, pa.Table] = dict(tables or {})
        self._baselines: dict[str, Results] | None = None if baselines is None else dict(baselines)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Opens a result folder; tables are read when they are asked for.

        Raises:
            FileNotFoundError: `folder` holds no run.json.
        """
        path = Path(folder)
        try:
            run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(f"{path} is not a result of odonata: it has no {RUN_FILE}") from None
        return cls(run, path=path)

    @property
    def outcome(self) -> str:
        """How the run ended, in one word; `completed` is the good one.

        >>> Results({"outcome": "stalled"}).outcome
        'stalled'
        """
        return str(self.run["outcome"])

    @property
    def completed(self) -> bool:
        """Whether every job ended as it should.

        >>> Results({"outcome": "time-limit"}).completed
        False
        """
        return self.outcome == "completed"

    @property
    def failed(self) -> bool:
        """Whether the run ended otherwise than the scenario asks for: by completion or by its time limit.

        >>> Results({"outcome": "time-limit"}).failed, Results({"outcome": "interrupted"}).failed
        (False, True)
        """
        return self.outcome not in GOOD_OUTCOMES

    @property
    def ending(self) -> str:
        """How the run ended, in a sentence.

        >>> Results({"outcome": "stalled", "detail": "rank 3 waits"}).ending
        'stalled: rank 3 waits'
        """
        detail = self.run.get("detail")
        return f"{self.outcome}: {detail}" if detail else self.outcome

    @property
    def failed_baselines(self) -> dict[str, str]:
        """The baselines that failed or are missing: job -> how it ended, in a sentence.

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
        """Every job alone, by its name; empty unless the run had baselines, and without missing ones.

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
        return sorted(file.stem for file in self.path.glob("*.parquet"))

    def table(self, name: str) -> pa.Table:
        """Table `name`, as pyarrow; `polars.from_arrow()` takes it from there.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"]})}).table("jobs").num_rows
        1

        Raises:
            KeyError: There is no such table; the message lists those that there are.
        """
        if name not in self._tables:
            if name not in self.tables:
                raise KeyError(f"no table {name!r}; there are {', '.join(self.tables)}")
            # Imported late: the command should answer at once where it needs no tables.
            import pyarrow.parquet as pq

            assert self.path is not None
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    def frame(self, name: str) -> pd.DataFrame:
        """Table `name`, as pandas.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"], "ranks": [8]})}).frame("jobs")["ranks"].sum()
        np.int64(8)

        Raises:
            ImportError: pandas is not installed.
            KeyError: There is no such table.
        """
        try:
            import pandas  # noqa: F401
        except ImportError:
            raise ImportError(
                "Results.frame needs pandas: pip install 'odonata[pandas]', or take Results.table"
            ) from None
        frame: pd.DataFrame = self.table(name).to_pandas()
        return frame

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Table `name` as a list of dictionaries, for small tables.

        >>> import pyarrow as pa
        >>> Results({}, {"jobs": pa.table({"job": ["milc"], "ranks": [8]})}).rows("jobs")
        [{'job': 'milc', 'ranks': 8}]
        """
        rows: list[dict[str, Any]] = self.table(name).to_pylist()
        return rows

    def slowdown(self) -> dict[str, dict[str, Slowdown]]:
        """What sharing the machine cost each job: job -> metric -> (alone, together, ratio).

        The metrics are those of the table `slowdown` (docs/results.md), which `frame("slowdown")` has as a
        whole: `elapsed`, `mpi`, `io`, `message_latency_p99`, `io_bandwidth` and others. Those that do not
        apply to a job are left out; a ratio is not a number where it cannot be told, as for jobs that did
        not end.

        >>> import odonata
        >>> results = odonata.load("results/interference")  # doctest: +SKIP
        >>> results.slowdown()["training"]["elapsed"].ratio  # doctest: +SKIP
        1.41

        Raises:
            KeyError: The run had no baselines.
        """
        from odonata import slowdown

        if slowdown.NAME not in self.tables:
            raise KeyError("no slowdowns: the run had no baselines (run.baselines = true, with several jobs)")
        return slowdown.of_jobs(self.table(slowdown.NAME))

    def blame_matrix(
        self, *, resource: str | None = None, place: str | None = None, victim_class: str | None = None
    ) -> dict[str, dict[str, float]]:
        """Who waited for whom: victim -> culprit -> seconds waited, over all jobs.

        Waits are summed over packets on links, over messages at network interfaces and over requests at
        servers (docs/results.md, table `blame`); only a choice of places keeps these apart. The culprit ""
        stands, after the jobs, for waits that the end of the run cut short. `pandas.DataFrame(matrix).T` has
        victims as rows.

        Args:
            resource: Only waits for this: "link", "credit", "input", "space", "memory" or "device".
            place: Only waits here: "nic", "terminal", "local", "global" or "server".
            victim_class: Only waits of the victims' "mpi" or "io".

        >>> import pyarrow as pa
        >>> blame = {"victim": ["milc"], "culprit": ["noise"], "place": ["local"], "waited_s": [2.5]}
        >>> jobs = pa.table({"job": ["milc", "noise"]})
        >>> Results({}, {"jobs": jobs, "blame": pa.table(blame)}).blame_matrix(place="local")
        {'milc': {'milc': 0.0, 'noise': 2.5}, 'noise': {'milc': 0.0, 'noise': 0.0}}

        Raises:
            KeyError: The run did not measure blame.
            ValueError: There is no such resource, place or class.
        """
        from odonata import blame

        if not blame.measured(self):
            raise KeyError("no blame: the run did not measure it (run.blame = true)")
        chosen = {"resource": resource, "place": place, "victim_class": victim_class}
        return blame.matrix(self.table("blame"), [row["job"] for row in self.rows("jobs")], chosen)

    def in_memory(self) -> Results:
        """The same results with all tables read, for when their folder goes away.

        >>> Results({"outcome": "completed"}).in_memory().path is None
        True
        """
        tables = {name: self.table(name) for name in self.tables}
        baselines = {job: results.in_memory() for job, results in self.baselines.items()}
        return Results(self.run, tables, baselines=baselines)

    def __repr__(self) -> str:
        place = f", path={str(self.path)!r}" if self.path else ""
        return f"Results(outcome={self.outcome!r}, tables={self.tables}{place})"
