"""pyarrow without numpy and pandas.

pyarrow imports both, but tables need neither, and the imports take longer than reading most tables.
Commands that only read and write tables therefore import it alone. pyarrow looks for numpy when its modules
are imported, and for pandas when it converts its first value. It never looks again, so it makes no arrays
and no frames in such a process. No code of users may run there afterwards.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import cast


def import_alone(*modules: str) -> None:
    """Imports `modules` of pyarrow, such as `pyarrow.compute`, without the libraries of arrays and frames.

    If pyarrow or one of these libraries is there already, it is imported as ever.
    """
    if "pyarrow" in sys.modules:
        return
    loaded = cast("dict[str, ModuleType | None]", sys.modules)
    absent = [name for name in ("numpy", "pandas") if name not in loaded]
    # A module that is None cannot be imported.
    loaded.update(dict.fromkeys(absent))
    try:
        import pyarrow as pa

        for name in modules:
            importlib.import_module(name)
        pa.scalar(0)
    finally:
        for name in absent:
            del loaded[name]
