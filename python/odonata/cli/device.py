"""`odonata device`: storage devices alone."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from odonata.calibration import devices
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.errors import InputError, given, option
from odonata.scenario.reading import LARGEST_SEED

app = typer.Typer(
    help="Storage devices alone: measure, fit, show.",
    no_args_is_help=True,
)


class Pattern(StrEnum):
    """In which order a file is accessed, and how."""

    SEQUENTIAL_READ = "sequential-read"
    SEQUENTIAL_WRITE = "sequential-write"
    SEQUENTIAL_MIXED = "sequential-mixed"
    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    RANDOM_MIXED = "random-mixed"


class Model(StrEnum):
    """Models of devices."""

    RATE = "rate"
    SSD = "ssd"
    NVME = "nvme"
    HDD = "hdd"


@app.command("bench")
def device_bench(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="Preset, or device file (TOML).")],
    pattern: Annotated[Pattern, typer.Option("--pattern", help="Order and direction of the accesses.")] = (
        Pattern.SEQUENTIAL_READ
    ),
    file: Annotated[str, typer.Option("--file", metavar="SIZE", help="Size of the file.")] = "512 MiB",
    record: Annotated[
        str | None,
        typer.Option(
            "--record",
            metavar="SIZE",
            help="Size of an access. [default: 512 KiB in sequence, a page at random]",
        ),
    ] = None,
    page: Annotated[
        str, typer.Option("--page", metavar="SIZE", help="Alignment of random accesses.")
    ] = "4 KiB",
    queue_depth: Annotated[
        int, typer.Option("--queue-depth", min=1, max=65536, metavar="N", help="Outstanding accesses.")
    ] = 1,
    accesses: Annotated[
        int | None,
        typer.Option(
            "--accesses",
            min=1,
            max=10_000_000,
            metavar="N",
            help="Total accesses. [default: the records of the file]",
        ),
    ] = None,
    reads: Annotated[
        float | None,
        typer.Option(
            "--reads", min=0.0, max=1.0, metavar="X", help="Share of reads in mixed patterns. [default: 0.5]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=LARGEST_SEED, help="Seed of random values.")] = 1,
    as_json: Json = False,
) -> None:
    """Measure a storage device alone under one access pattern.

    The next access starts when one ends. The time includes the flush of caches after the last write. `odonata
    device show` lists the presets.
    """
    with reported(as_json, writes=False):
        if reads is not None and not pattern.endswith("mixed"):
            raise InputError(
                "only mixed patterns have a share of reads",
                key=option("reads"),
                value=str(reads),
                expected=given("pattern", "random-mixed"),
            )
        chosen: dict[str, Any] = {"record": record, "accesses": accesses, "reads": reads}
        workload = {key: value for key, value in chosen.items() if value is not None}
        workload |= {
            "pattern": pattern.value,
            "file": file,
            "page": page,
            "queue_depth": queue_depth,
            "seed": seed,
        }
        report = devices.bench(device, workload)
    with open_pipe():
        if as_json:
            print_json(report)
        else:
            devices.show_bench(report)


@app.command("fit")
def device_fit(
    measurements: Annotated[
        Path,
        typer.Argument(
            metavar="MEASUREMENTS",
            help="CSV file with the columns operation (read, write), pattern (sequential, random), "
            "record, queue_depth (optional), and one of iops, bandwidth, latency.",
        ),
    ],
    model: Annotated[Model, typer.Option("--model", help="Model to fit.")],
    page: Annotated[
        str | None, typer.Option("--page", metavar="SIZE", help="Page of an SSD. [default: 4 KiB]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Derive the parameters of a storage device from a few measurements.

    Least squares of relative errors over the rows with one outstanding access. Prints a device file for
    `bench`, with residuals as comments. Parameters that the measurements do not determine are refused.
    """
    with reported(as_json, writes=False):
        if page is not None and model is not Model.SSD:
            raise InputError(
                "only an SSD has pages", key=option("page"), value=page, expected=given("model", "ssd")
            )
        fitted = devices.fit(measurements, model.value, page)
    with open_pipe():
        if as_json:
            print_json(fitted)
        else:
            devices.show_fit(fitted)


@app.command("show")
def device_show(
    device: Annotated[
        str | None,
        typer.Argument(metavar="[PRESET]", help="Preset of a device. [default: list all]"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a preset, with the source of each number.

    Without a name, list all presets.
    """
    with reported(as_json, writes=False):
        text = None if device is None else devices.preset(device)
    with open_pipe():
        if as_json:
            print_json(devices.presets() if text is None else {"name": device, "toml": text})
        else:
            print("\n".join(devices.presets()) if text is None else text.rstrip())
