"""What a campaign is: trials, each made from a seed and its number alone, and the rules that are to hold in
each.

A campaign makes the files of a trial in an empty folder (`make`) and carries it out there (`run`). Both
happen in a worker process (`worker.py`), which may crash or hang; the process that deals out the numbers
makes the files of a trial with findings once more, to keep them.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from hostile.oracle import Finding

#: Name: module and class, in the order in which they are run.
CAMPAIGNS = {
    "scenarios": "hostile.scenarios:Scenarios",
    "combinations": "hostile.combinations:Combinations",
    "digests": "hostile.digests:Digests",
    "programs": "hostile.programs:Programs",
    "commands": "hostile.commands:Commands",
    "damage": "hostile.damaged:Damaged",
    "extremes": "hostile.extremes:Extremes",
}

#: Told what a trial is about to do, so that it is known where it hung or crashed.
Tell = Callable[[str], None]


@dataclass
class Trial:
    """What `make` has made beside the files in the folder."""

    #: The commands that show it to a user, as they are typed in the folder.
    commands: list[str]
    #: What `run` has to know; goes through JSON.
    about: dict[str, Any] = field(default_factory=dict)
    #: Whether it has code of a user that comes to no end, so that nothing but the limit of CPU time ends it.
    endless: bool = False


@dataclass
class Verdict:
    """How a trial ended."""

    #: In a word, for the counts: "refused", "completed", ...
    ending: str
    findings: list[Finding] = field(default_factory=list)


class Campaign(ABC):
    """One kind of trials."""

    #: Part of the time that it gets.
    share: float = 1.0
    #: Address space of a worker in bytes, which keeps the computer safe from what takes too much.
    memory: int = 4 << 30
    #: CPU time in seconds after which a trial counts as hung.
    patience_s: float = 10.0

    def __init__(self, fixtures: Path) -> None:
        #: A folder for what all trials need, made by `prepare`.
        self.fixtures = fixtures

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Makes what all trials need, once, in `fixtures`."""

    @abstractmethod
    def make(self, lot: random.Random, folder: Path) -> Trial:
        """Makes the files of a trial, drawn from `lot`, in the empty `folder`."""

    @abstractmethod
    def run(self, trial: Trial, folder: Path, tell: Tell) -> Verdict:
        """Carries it out in `folder`, which it may leave in any state."""


def campaign(name: str, fixtures: Path) -> Campaign:
    """The campaign of this name; of another one than those above as MODULE:CLASS."""
    module, _, which = CAMPAIGNS.get(name, name).partition(":")
    made = getattr(import_module(module), which)(fixtures)
    assert isinstance(made, Campaign)
    return made


def lot_of(seed: int, name: str, number: int) -> random.Random:
    """All random choices of a trial; the same wherever it is made."""
    return random.Random(f"{seed} {name} {number}")
