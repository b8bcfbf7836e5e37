"""The results of a run: `run`, a dictionary, and tables as pyarrow."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.folder import RUN_FILE

if TYPE_CHECKING:
    import pyarrow as pa


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
        self, run: dict[str, Any], tables: Mapping[str, pa.Table] | None = None, path: Path | None = None
    ) -> None:
        #: Outcome, digest, rates, seed, version, the resolved scenario: the contents of run.json.
        self.run = run
        #: The folder, if the results were written.
        self.path = path
        self._tables: dict[str, pa.Table] = dict(tables or {})

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Results:
        """Opens a result folder; tables are read when they are asked for."""
        path = Path(folder)
        try:
            run = json.loads((path / RUN_FILE).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(f"{path} is not a result of odonata: it has no {RUN_FILE}") from None
        return cls(run, path=path)

    @property
    def outcome(self) -> str:
        """How the run ended, in one word; `completed` is the good one."""
        return str(self.run["outcome"])

    @property
    def completed(self) -> bool:
        """Whether every job ended as it should."""
        return self.outcome == "completed"

    @property
    def failed(self) -> bool:
        """Whether the run ended otherwise than the scenario asks for: by completion or by its time limit."""
        return self.outcome not in ("completed", "time-limit")

    @property
    def ending(self) -> str:
        """How the run ended, in a sentence."""
        detail = self.run.get("detail")
        return f"{self.outcome}: {detail}" if detail else self.outcome

    @property
    def tables(self) -> list[str]:
        """Names of the tables."""
        if self.path is None:
            return list(self._tables)
        return sorted(file.stem for file in self.path.glob("*.parquet"))

    def table(self, name: str) -> pa.Table:
        """Table `name`; `.to_pandas()` or `polars.from_arrow()` take it from there."""
        if name not in self._tables:
            if name not in self.tables:
                raise KeyError(f"no table {name!r}; there are {', '.join(self.tables)}")
            # Imported late: the command should answer at once where it needs no tables.
            import pyarrow.parquet as pq

            assert self.path is not None
            self._tables[name] = pq.read_table(self.path / f"{name}.parquet")
        return self._tables[name]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Table `name` as a list of dictionaries, for small tables."""
        return self.table(name).to_pylist()

    def __repr__(self) -> str:
        place = f", path={str(self.path)!r}" if self.path else ""
        return f"Results(outcome={self.outcome!r}, tables={self.tables}{place})"
