"""Rows of a dataclass as a Parquet file: a column per field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

Row = TypeVar("Row")


def write(file: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    """Stores rows of a dataclass."""
    plain: list[dict[str, Any]] = [asdict(row) for row in rows]  # type: ignore[call-overload]
    columns = {field.name: [row[field.name] for row in plain] for field in fields(kind)}  # type: ignore[arg-type]
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file, compression="zstd")


def read(file: Path, kind: type[Row]) -> list[Row]:
    """Reads the rows that `write` stored."""
    return [kind(**row) for row in pq.read_table(file).to_pylist()]
