"""Quantities of a resolved scenario, such as "16 MiB" and "8.4 us", as numbers.

The core writes them to `run.json` as a number, a space and a unit of `crates/engine/odonata-units`.
"""

from __future__ import annotations

from decimal import Decimal

#: Sizes in bytes.
SIZES = {
    "B": 1,
    **{unit: 1000**power for power, unit in enumerate(("kB", "MB", "GB", "TB", "PB"), 1)},
    **{unit: 1024**power for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), 1)},
}

#: Times in seconds.
TIMES = {unit: Decimal(1).scaleb(-3 * power) for power, unit in enumerate(("s", "ms", "us", "ns", "ps"))}
TIMES |= {"min": Decimal(60), "h": Decimal(3600)}


def bytes_of(text: str) -> int:
    """A size in bytes.

    >>> bytes_of("16 MiB"), bytes_of("1500 kB"), bytes_of("1000003 B")
    (16777216, 1500000, 1000003)
    """
    number, unit = text.split(" ")
    return int(Decimal(number) * SIZES[unit])


def seconds(text: str) -> float:
    """A time in seconds.

    >>> seconds("8.4 us"), seconds("0 s")
    (8.4e-06, 0.0)
    """
    number, unit = text.split(" ")
    return float(Decimal(number) * TIMES[unit])
