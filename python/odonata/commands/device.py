"""Storage devices alone: `odonata device`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from odonata.calibration import devices
from odonata.commands.declared import Shown, argument, command, option
from odonata.errors import InputError, given
from odonata.errors import option as named
from odonata.scenario.reading import LARGEST_SEED

if TYPE_CHECKING:
    from odonata.commands.declared import PathLike
    from odonata.tool_answers import DeviceBench, DeviceFit

    Pattern = Literal[
        "sequential-read",
        "sequential-write",
        "sequential-mixed",
        "random-read",
        "random-write",
        "random-mixed",
    ]


class PatternName(StrEnum):
    """Access patterns."""

    SEQUENTIAL_READ = "sequential-read"
    SEQUENTIAL_WRITE = "sequential-write"
    SEQUENTIAL_MIXED = "sequential-mixed"
    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    RANDOM_MIXED = "random-mixed"


class ModelName(StrEnum):
    """Device models."""

    RATE = "rate"
    SSD = "ssd"
    NVME = "nvme"
    HDD = "hdd"


@command(
    "device bench",
    """Measure a storage device alone under one access pattern.

    The next access starts when one ends. The time includes the flush of caches after the last write. `odonata
    device show` lists the presets.
    """,
    shown=devices.show_bench,
    device=argument("DEVICE", "Preset, or device file (TOML).", str),
    pattern=option("Order and direction of the accesses.", type=PatternName),
    file=option("Size of the file.", metavar="SIZE"),
    record=option("Size of an access. [default: 512 KiB in sequence, a page at random]", metavar="SIZE"),
    page=option("Alignment of random accesses.", metavar="SIZE"),
    queue_depth=option("Outstanding accesses.", metavar="N", type=int, least=1, most=65536),
    accesses=option(
        "Total accesses. [default: the records of the file]", metavar="N", type=int, least=1, most=10_000_000
    ),
    reads=option(
        "Share of reads in mixed patterns. [default: 0.5]", metavar="X", type=float, least=0.0, most=1.0
    ),
    seed=option("Seed of random values.", metavar="N", type=int, least=0, most=LARGEST_SEED),
)
def device_bench(
    device: PathLike,
    pattern: Pattern = "sequential-read",
    *,
    file: str = "512 MiB",
    record: str | None = None,
    page: str = "4 KiB",
    queue_depth: int = 1,
    accesses: int | None = None,
    reads: float | None = None,
    seed: int = 1,
) -> DeviceBench:
    """Measures a storage device alone under one access pattern (docs/storage-devices.md).

    Args:
        device: A preset (`device_presets`) or a device file (TOML).
        pattern: Order and direction of the accesses.
        file: Size of the file.
        record: Size of an access. Default: 512 KiB in sequence, a page at random.
        page: Alignment of random accesses.
        queue_depth: Outstanding accesses.
        accesses: Total accesses. Default: the records of the file.
        reads: Share of reads in mixed patterns. Default: 0.5.
        seed: Seed of random values.

    Raises:
        InputError: There is no such device, or an argument is wrong.

    >>> import odonata
    >>> round(odonata.device_bench("intel-d3-s4510", "random-read", accesses=100)["figures"]["iops"], 2)
    8474.58
    """
    if reads is not None and not pattern.endswith("mixed"):
        raise InputError(
            "only mixed patterns have a share of reads",
            key=named("reads"),
            value=str(reads),
            expected=given("pattern", "random-mixed"),
        )
    chosen: dict[str, Any] = {"record": record, "accesses": accesses, "reads": reads}
    workload = {key: value for key, value in chosen.items() if value is not None}
    workload |= {
        "pattern": str(pattern),
        "file": file,
        "page": page,
        "queue_depth": queue_depth,
        "seed": seed,
    }
    return cast("DeviceBench", devices.bench(os.fspath(device), workload))


@command(
    "device fit",
    """Derive the parameters of a storage device from a few measurements.

    Least squares of relative errors over the rows with one outstanding access. Prints a device file for
    `bench`, with residuals as comments. Parameters that the measurements do not determine are refused.
    """,
    shown=devices.show_fit,
    file=argument(
        "MEASUREMENTS",
        "CSV file with the columns operation (read, write), pattern (sequential, random), record, "
        "queue_depth (optional), and one of iops, bandwidth, latency.",
    ),
    model=option("Model to fit.", type=ModelName),
    page=option("Page of an SSD. [default: 4 KiB]", metavar="SIZE"),
)
def device_fit(
    file: PathLike, model: Literal["rate", "ssd", "nvme", "hdd"], *, page: str | None = None
) -> DeviceFit:
    """Derives the parameters of a storage device from a few measurements.

    Args:
        file: CSV with the columns operation, pattern, record, queue_depth (optional), and one of iops,
            bandwidth, latency.
        model: Model to fit.
        page: Page of an SSD. Default: 4 KiB.

    Raises:
        InputError: The measurements cannot be read, or do not determine the parameters.

    >>> import odonata
    >>> odonata.device_fit("measured.csv", "ssd")["derived"]  # doctest: +SKIP
    ['page_read', 'read_switch']
    """
    if page is not None and model != "ssd":
        raise InputError(
            "only an SSD has pages", key=named("page"), value=page, expected=given("model", "ssd")
        )
    return cast("DeviceFit", devices.fit(Path(file), str(model), page))


def device_presets() -> list[str]:
    """Returns the names of all device presets.

    >>> import odonata
    >>> "intel-d3-s4510" in odonata.device_presets()
    True
    """
    return devices.presets()


def _shown(name: str | None, *, as_json: bool) -> Shown:
    """One preset, or the names of all."""
    if name is None:
        names = devices.presets()
        return Shown(names, lambda: print("\n".join(names)))
    text = devices.preset(name)
    return Shown({"name": name, "toml": text}, lambda: print(text.rstrip()))


@command(
    "device show",
    """Print a preset, with the source of each number.

    Without a name, list all presets.
    """,
    terminal=_shown,
    name=argument("[PRESET]", "Preset of a device. [default: list all]", str, default=None),
)
def device_preset(name: str) -> str:
    """Returns the device file (TOML) of a preset, with the source of each number as a comment.

    Raises:
        InputError: There is no such device.

    >>> import odonata
    >>> "page_read" in odonata.device_preset("intel-d3-s4510")
    True
    """
    return devices.preset(name)
