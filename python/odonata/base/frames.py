"""Tables as frames of pandas and polars."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odonata.base.optional_packages import require

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def to_pandas(table: pa.Table, asked: str) -> pd.DataFrame:
    """Converts `table` to pandas for the method `asked`; raises `MissingPackage`."""
    require("pandas", asked)
    frame: pd.DataFrame = table.to_pandas()
    return frame


def to_polars(table: pa.Table, asked: str) -> pl.DataFrame:
    """Converts `table` to polars for the method `asked`; raises `MissingPackage`."""
    frame: pl.DataFrame = require("polars", asked).from_arrow(table)
    return frame
