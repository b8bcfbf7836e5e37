"""Storage devices alone: their performance, and the derivation of parameters from measurements."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base import foreign
from odonata.base.nearest import did_you_mean, nearest
from odonata.base.terminal import console, say
from odonata.base.wording import size
from odonata.errors import InputError, check_text, input_errors, is_mistake, option

#: Bytes of the largest device file or file of measurements.
LONGEST_FILE = 1 << 20

#: Columns of measurements; a row has one of the last three.
COLUMNS = ("operation", "pattern", "record", "queue_depth", "iops", "bandwidth", "latency")

_ROW = re.compile(r"^(?:measurements\[(?P<index>\d+)\]\.?|row (?P<number>\d+): )(?P<key>.*)$")


def bench(device: str, workload: dict[str, Any]) -> dict[str, Any]:
    """Measures `device`, a preset or a file, under `workload`, whose keys are options of the command.

    >>> figures = bench("intel-d3-s4510", {"pattern": "random-read", "accesses": 1000})["figures"]
    >>> round(figures["iops"], 2)
    8474.58
    """
    text, path = _device(device)
    with _options(), input_errors():
        report: dict[str, Any] = json.loads(_core.device_bench(text, path, json.dumps(workload)))
    return {"name": device, **report}


def preset(name: str) -> str:
    """The device file of a preset, with the sources of its numbers; raises `InputError` if unknown."""
    text = _core.device_preset(name)
    if text is None:
        expected = "one of " + ", ".join(_core.device_presets())
        # Part of a product's name is enough: p3608.
        known = _core.device_presets()
        alike = [one for one in known if len(name) > 2 and name.lower() in one]
        # So is the kind of a device: hdd.
        kind = re.compile(rf"^\[?{re.escape(name.lower())}\b", re.MULTILINE)
        alike += [one for one in known if kind.search(_core.device_preset(one) or "")]
        models = {one.rpartition("-")[2]: one for one in known}
        alike += filter(None, (nearest(name, known), models.get(nearest(name, models) or "")))
        raise InputError(
            "no such device",
            key=option("device", "DEVICE"),
            value=repr(name),
            expected=expected,
            hint=did_you_mean(next(iter(alike), None)),
        )
    return text


def presets() -> list[str]:
    """Names of the device presets."""
    return _core.device_presets()


def fit(path: Path, model: str, page: str | None = None) -> dict[str, Any]:
    """Derives a device of a `model` from measurements in a CSV file; raises `InputError` if they do not
    suffice.
    """
    text = _read(path, option("file", "MEASUREMENTS"), "measurements in CSV")
    rows, lines = _measurements(text, path)
    request = {"model": model, "measurements": rows, **({} if page is None else {"page": page})}
    with _fit_errors(path, lines), input_errors():
        fitted: dict[str, Any] = json.loads(_core.device_fit(json.dumps(request)))
    return fitted


def show_bench(report: dict[str, Any]) -> None:
    """Prints the measurements of `bench`, for people."""
    figures, out = report["figures"], console()
    workload, latency = figures["workload"], figures["latency_us"]
    kind = next(iter(report["device"]))
    records = f"{figures['accesses']:,} accesses of {workload['record']} in {workload['file']}"
    rates = f"{figures['iops']:,.2f} accesses/s, {figures['bandwidth_mb_s']:,.2f} MB/s"
    names = {"mean": "mean", "min": "least", "p50": "median", "p95": "95%", "p99": "99%", "max": "most"}
    latencies = ", ".join(f"{name} {latency[key]:,.1f}" for key, name in names.items())
    say(
        out,
        f"{report['name']} ({kind}): {workload['pattern']}, {records}, {workload['queue_depth']} outstanding",
        f"rate       {rates} ({size(figures['bytes'])} in {figures['seconds']:.6g} s)",
        f"latency    in us: {latencies}",
    )
    if figures["flush_s"] > 0:
        say(out, f"flush      {figures['flush_s']:.6g} s at the end, included")


def show_fit(fitted: dict[str, Any]) -> None:
    """Prints a derived device as a file, with remarks as comments."""
    out = console()
    derived, defaults = ", ".join(fitted["derived"]), ", ".join(fitted["defaults"])
    say(out, f"# Derived: {derived}." + (f" Defaults: {defaults}." if defaults else ""))
    for row in fitted["residuals"]:
        rates = f"measured {row['measured_iops']:,.2f} accesses/s, fitted {row['fitted_iops']:,.2f}"
        say(out, f"# Row {row['row']}: {rates}, {row['error']:+.2%}.")
    for note in fitted["notes"]:
        say(out, f"# Note: {note}.")
    say(out, "", fitted["toml"].rstrip())


def _device(device: str) -> tuple[str, str]:
    """The text of a device, and its name in messages."""
    check_text(device, option("device", "DEVICE"))
    text = _core.device_preset(device)
    if text is not None:
        return text, f"preset {device}"
    path = Path(device)
    if not path.suffix and not os.path.exists(path):
        preset(device)
    return _read(path, option("device", "DEVICE"), "a device in TOML"), device


def _read(path: Path, key: str, expected: str) -> str:
    check_text(path, key)
    try:
        content = foreign.read_bytes(path, LONGEST_FILE)
        if len(content) <= LONGEST_FILE:
            return content.decode("utf-8-sig")
        problem = f"more than {LONGEST_FILE:,} bytes"
    except OSError as error:
        if not is_mistake(error):
            error.filename = str(path)
            raise
        problem = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        problem = f"not UTF-8 text (byte {error.start})"
    raise InputError(problem, file=str(path), expected=expected)


def _measurements(text: str, path: Path) -> tuple[list[dict[str, Any]], list[int]]:
    """Rows of measurements with their values, and their line numbers."""
    reader = csv.DictReader(io.StringIO(text), skipinitialspace=True, strict=True)
    rows: list[dict[str, Any]] = []
    lines: list[int] = []

    def wrong(message: str, key: str | None, value: str | None, expected: str) -> InputError:
        line = max(reader.line_num, 1)
        return InputError(message, file=str(path), line=line, key=key, value=value, expected=expected)

    try:
        for name in reader.fieldnames or []:
            if name not in COLUMNS:
                raise wrong("unknown column", None, repr(name), f"columns among {', '.join(COLUMNS)}")
        for cells in reader:
            row: dict[str, Any] = {}
            for name, cell in cells.items():
                if name is None:
                    raise wrong("more cells than columns", None, str(cell), "a cell for each column")
                if cell is None or not cell.strip():
                    continue
                row[name] = cell.strip()
                if name in ("iops", "queue_depth"):
                    try:
                        row[name] = float(cell) if name == "iops" else int(cell)
                    except ValueError:
                        raise wrong("not a number", name, repr(cell), "a number") from None
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise wrong(f"not CSV: {error}", None, None, "cells between commas") from None
    if not rows:
        raise wrong("no measurements", None, None, f"a line with {', '.join(COLUMNS)}, and rows")
    return rows, lines


@contextlib.contextmanager
def _options() -> Iterator[None]:
    """Reports errors of a workload as errors of an option."""
    try:
        yield
    except InputError as error:
        if error.file == "":
            error.file = None
            error.key = option(error.key or "")
        raise


@contextlib.contextmanager
def _fit_errors(path: Path, lines: list[int]) -> Iterator[None]:
    """Reports an error of a measurement at its line of the file; an error of all of them at the file."""
    try:
        yield
    except InputError as error:
        found = _ROW.match(error.key or "")
        error.file = str(path)
        if found:
            index = int(found["index"]) if found["index"] else int(found["number"]) - 1
            error.line, error.key = lines[index], found["key"] or None
        elif error.key in ("model", "page"):
            error.file, error.key = None, option(error.key or "")
        raise
