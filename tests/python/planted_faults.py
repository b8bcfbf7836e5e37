"""A campaign in which every trial fails in another way, to test that each failure is found."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

from hostile import calls
from hostile.campaign import Announce, Campaign, Trial, Verdict

import odonata


class PanicException(BaseException):
    """Has the name of the core's exception."""


#: Number of the trial: the failure, and the rule that finds it.
FAULTS = {
    0: ("nothing", None),
    1: ("a key error", "traceback"),
    2: ("a panic", "panic"),
    3: ("a panic that somebody catches", "panic"),
    4: ("an abort", "crash"),
    5: ("an endless loop", "hang"),
    6: ("a wait for nothing", "hang"),
    7: ("more memory than there is", "out of memory"),
    8: ("a file that is left", "left behind"),
    9: ("nothing again", None),
    10: ("an endless program", None),
    11: ("an endless program that waits", "hang"),
}


def _fault() -> str:
    return FAULTS[int(os.environ.get("PLANTED", "0"))][0]


class Planted(Campaign):
    memory = 3 << 30
    patience_s = 2.0

    def make(self, lot: random.Random, folder: Path) -> Trial:
        (folder / "scenario.toml").write_text("[machine.torus]\ndims = [4]\n")
        endless = _fault().startswith("an endless program")
        return Trial(["odonata check scenario.toml"], {"draw": lot.randrange(1000)}, endless)

    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        fault = _fault()
        announce(fault)
        match fault:
            case "a key error":
                raise KeyError("planted")
            case "a panic":
                raise PanicException("planted")
            case "a panic that somebody catches":
                os.write(2, b"thread 'main' panicked at planted.rs:1:1\n")
            case "an abort":
                os.abort()
            case "an endless loop" | "an endless program":
                while True:
                    pass
            case "a wait for nothing" | "an endless program that waits":
                time.sleep(1_000)
            case "more memory than there is":
                bytearray(4 << 30)
            case "a file that is left":
                before = calls.contents(folder)
                done = calls.command(folder, "check", "scenario.toml")
                (folder / "left").touch()
                return Verdict("left", calls.command_rules(done, before, calls.contents(folder)))
            case _:
                odonata.check(folder / "scenario.toml")
        return Verdict("well")
