"""Runs with snapshots, to be killed and resumed."""

from __future__ import annotations

import random
import subprocess
import time
from pathlib import Path

from conftest import SMALL, Shell
from launcher import PATIENCE_S
from waiting import await_that

import odonata
from odonata.running.checkpoint import Checkpoints


def lasting(sweeps: int, steps: int) -> str:
    """Three jobs, the lengths of two of them, saved ten times in a second."""
    return (
        SMALL.replace("iterations = 5,", f"iterations = {sweeps},")
        .replace("iterations = 2, elements", f"iterations = {steps}, elements")
        .replace('iterations = 2, total = "16 MB"', 'iterations = 80, total = "16 MB"')
        + '\n[run]\ncheckpoint_interval = "0.1 s"\nmessage_rows = 2000\n'
    )


#: Takes two or three seconds.
LONG = lasting(1200, 210)

#: Takes as long on two processes of a debug build.
LONG_SHARED = lasting(450, 80)

#: Seconds of a core after which a run is sent a signal: a fast computer ends it before the first of them.
SOONER_S = (0.5, 0.2, 0.1, 0.05, 0.0)

#: Practically endless.
LONGER = lasting(100_000, 210)


def unbroken(text: str, folder: Path) -> odonata.Results:
    """The results of an uninterrupted run of `text` in `folder`, without a snapshot."""
    scenario = folder / "scenario.toml"
    scenario.write_text(text.replace('checkpoint_interval = "0.1 s"', ""), encoding="utf-8")
    return odonata.run(scenario, folder / "out")


def place(shell: Shell) -> Path:
    """The place of the unfinished run `out`."""
    return shell.folder / ".out.unfinished"


def snapshots(shell: Shell, process: int = 0) -> list[Path]:
    """The complete snapshots of a process."""
    try:
        files = list(place(shell).glob(f"checkpoint/run/[0-9]*/{process}.snapshot"))
    except FileNotFoundError:  # the run moved a folder away between its listing and a look into it
        return []
    return [path for path in files if path.parent.name.isdecimal()]


def newest_snapshot(shell: Shell) -> Path:
    """The folder of the newest complete snapshot; a killed run may have the previous one too."""
    saved = Checkpoints(place(shell) / "checkpoint/run", None).latest()
    assert saved is not None
    return saved.folder


def await_snapshot(shell: Shell, process: subprocess.Popen[str]) -> None:
    await_that(lambda: snapshots(shell), process)


def await_fate(
    shell: Shell, process: subprocess.Popen[str], lot: random.Random, within_s: float, *, saved: bool
) -> None:
    """Waits for the moment to kill a run: any, during a snapshot, or while results are written.

    If it must be `saved`, waits for a snapshot first, however slow the computer is.
    """
    patience = time.monotonic() + PATIENCE_S
    while saved and process.poll() is None and not snapshots(shell) and time.monotonic() < patience:
        time.sleep(0.01)
    over = time.monotonic() + lot.uniform(0.0, within_s)
    aim = lot.choice(["", "", "checkpoint/run/*.partial/*", "results/*.parquet"])
    while process.poll() is None and time.monotonic() < over:
        try:
            if aim and any(place(shell).glob(aim)):
                break
        except FileNotFoundError:
            pass  # the run moved a folder away between its listing and a look into it
        time.sleep(0.0005)
