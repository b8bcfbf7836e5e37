"""Tables as frames of pandas and polars, which are extras."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa


def to_pandas(table: pa.Table, asked: str) -> pd.DataFrame:
    """`table`, as pandas; `ImportError` says how to come by it to whoever has `asked`."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        raise ImportError(f"{asked} needs pandas: pip install pandas") from None
    frame: pd.DataFrame = table.to_pandas()
    return frame


def to_polars(table: pa.Table, asked: str) -> pl.DataFrame:
    """`table`, as polars; `ImportError` says how to come by it to whoever has `asked`."""
    try:
        import polars
    except ImportError:
        raise ImportError(f"{asked} needs polars: pip install polars") from None
    frame: pl.DataFrame = polars.from_arrow(table)
    return frame
