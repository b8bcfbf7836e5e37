"""`odonata calibrate`: parameters of a machine from measurements of a user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from odonata.base.terminal import console, say, show_table, table
from odonata.base.wording import duration, size
from odonata.calibration import machine as calibration
from odonata.cli.answer import open_pipe, print_json, reported
from odonata.cli.arguments import Json
from odonata.errors import InputError, option


def calibrate(
    measurements: Annotated[
        Path,
        typer.Argument(
            metavar="MEASUREMENTS",
            help="CSV with the columns bytes, latency (half a round trip); optional: from, to.",
        ),
    ],
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Machine to fit (TOML).")],
    fit: Annotated[
        str,
        typer.Option(
            "--fit", metavar="NAMES", help="Parameters to fit: software, bandwidth, per-byte, hop, eager."
        ),
    ] = "software,bandwidth",
    nodes: Annotated[
        str, typer.Option("--nodes", metavar="A,B", help="Nodes of measurements without from and to.")
    ] = "0,1",
    as_json: Json = False,
) -> None:
    """Fit a machine to measured ping-pongs.

    Parameters: software overhead, link rate, eager threshold and others. Prints the keys for the scenario and
    the residuals between measured and simulated times, by size.
    Parameters that the measurements do not determine are refused (docs/calibrate.md).
    """

    def progress(runs: int, residual: float) -> None:
        if sys.stderr.isatty():
            print(
                f"\r{runs} ping-pongs, residual {100 * residual:.3f}% ", end="", file=sys.stderr, flush=True
            )

    with reported(as_json, writes=False):
        words = nodes.split(",")
        if len(words) != 2 or not all(word.strip().isdecimal() and len(word) < 10 for word in words):
            raise InputError(
                "not a pair of nodes", key=option("nodes"), value=nodes, expected="two numbers, such as 0,5"
            )
        pair = int(words[0]), int(words[1])
        measured = calibration.read(measurements, pair)
        names = tuple(name.strip() for name in fit.split(",") if name.strip())
        found = calibration.fit(scenario, measured, names, progress)
        answer = calibration.answer(measured, found)
    with open_pipe():
        if as_json:
            print_json(answer)
            return
        if sys.stderr.isatty():
            print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
        out = console()
        say(out, "Fitted settings, for the scenario or --set:", "")
        for key, value in found.settings.items():
            say(out, f"  {key} = {value if value == 'none' else repr(value).replace(chr(39), chr(34))}")
        say(out, "", f"Residual {100 * found.residual:.2f}% (root mean square), {found.runs} ping-pongs", "")
        page = table("size", "from", "to", "measured", "simulated", "residual", left=0)
        for row in answer["sizes"]:
            page.add_row(
                size(row["bytes"]),
                str(row["from"]),
                str(row["to"]),
                duration(row["measured_s"]),
                duration(row["simulated_s"]),
                f"{100 * row['residual']:+.2f}%",
            )
        show_table(out, page)
