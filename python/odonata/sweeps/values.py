"""Values of swept keys as columns: numbers in base units if all are quantities of one kind, else text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from odonata.base import quantities, toml_text
from odonata.base.wording import quantity, setting_size

#: Factor to the base unit, and the base unit, by unit.
UNITS: dict[str, tuple[float, str]] = (
    {name: (float(factor), "s") for name, factor in quantities.TIMES.items()}
    | {name: (float(factor), "bytes") for name, factor in quantities.SIZES.items()}
    | {f"{name}/s": (float(factor), "bytes/s") for name, factor in quantities.SIZES.items()}
)

_QUANTITY = re.compile(r"\s*([+-]?\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\s*([A-Za-z][A-Za-z/]*)\s*")


def parse(text: str) -> tuple[float, str] | None:
    """Number and unit of a quantity; None for other text.

    >>> parse("64 KiB"), parse("1.5us"), parse("random"), parse("3 apples")
    ((64.0, 'KiB'), (1.5, 'us'), None, None)
    """
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2] not in UNITS:
        return None
    return float(found[1].replace("_", "")), found[2]


def column(values: Sequence[Any]) -> tuple[list[Any], str]:
    """The column of a key's values, and their unit.

    >>> column(["4 KiB", "1 MiB", None])
    ([4096.0, 1048576.0, None], 'bytes')
    >>> column([1, 2.5]), column(["random", 3]), column([{"stencil": {}}])
    (([1, 2.5], ''), (['random', '3'], ''), (['{ stencil = {} }'], ''))
    """
    given = [value for value in values if value is not None]
    if given and all(isinstance(value, str) for value in given):
        quantities = [parse(value) for value in given]
        units = {UNITS[one[1]][1] if one else None for one in quantities}
        if len(units) == 1 and None not in units:
            return [None if value is None else _base(value) for value in values], str(units.pop())
        return list(values), ""
    for kind in (bool, int, (int, float)):
        if all(isinstance(value, kind) and isinstance(value, bool) == (kind is bool) for value in given):
            return list(values), ""
    return [None if value is None else text(value) for value in values], ""


def _base(value: str) -> float:
    found = parse(value)
    assert found is not None
    factor = UNITS[found[1]][0]
    # 3 us is 3e-06, not 3 * 1e-06.
    return found[0] * factor if factor >= 1 else found[0] / round(1 / factor)


def text(value: Any) -> str:
    """A value in readable form; non-text values in TOML."""
    return value if isinstance(value, str) else toml_text.value_text(value)


def shown(value: Any, unit: str) -> str:
    """A value of a swept key whose column has this unit, as people read it.

    >>> shown(4e8, "bytes"), shown(2e9, "bytes/s"), shown(None, ""), shown(0.25, "")
    ('400 MB', '2 GB/s', '-', '0.25')
    """
    if value is None:
        return "-"
    if unit and isinstance(value, int | float):
        if unit.startswith("bytes"):
            return setting_size(value) + unit.removeprefix("bytes")
        return quantity(value, unit)
    return f"{value:g}" if isinstance(value, float) else text(value)
