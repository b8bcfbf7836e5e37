"""Campaigns: trials, each made from a seed and its number alone, and the rules that each must satisfy.

A campaign makes the files of a trial in an empty folder (`make`) and runs the trial there (`run`). Both
happen in a worker process (`worker.py`), which may crash or hang. The parent process makes the files of a
trial with findings once more, to keep them.
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

#: Name: module and class, in the order of execution.
CAMPAIGNS = {
    "scenarios": "hostile.scenarios:Scenarios",
    "combinations": "hostile.combinations:Combinations",
    "digests": "hostile.digests:Digests",
    "programs": "hostile.programs:Programs",
    "commands": "hostile.commands:Commands",
    "damage": "hostile.damaged:Damaged",
    "extremes": "hostile.extremes:Extremes",
}

#: Called with the next step of a trial, so that a hang or crash can be located.
Announce = Callable[[str], None]


@dataclass
class Trial:
    """The result of `make`, beside the files in the folder."""

    #: The commands that reproduce it for a user, in the folder.
    commands: list[str]
    #: Data for `run`, in JSON.
    about: dict[str, Any] = field(default_factory=dict)
    #: Whether it has endless user code, so that only the limit of CPU time ends it.
    endless: bool = False


@dataclass
class Verdict:
    """The result of a trial."""

    #: The outcome in a word, for the counts: "refused", "completed", ...
    ending: str
    findings: list[Finding] = field(default_factory=list)


class Campaign(ABC):
    """One kind of trials."""

    #: Its part of the time.
    share: float = 1.0
    #: Address space of a worker in bytes, which protects the computer.
    memory: int = 4 << 30
    #: CPU time in seconds after which a trial counts as hung.
    patience_s: float = 10.0

    def __init__(self, fixtures: Path) -> None:
        #: A folder for files of all trials, made by `prepare`.
        self.fixtures = fixtures

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Makes the files of all trials, once, in `fixtures`."""

    @abstractmethod
    def make(self, lot: random.Random, folder: Path) -> Trial:
        """Makes the files of a trial, drawn from `lot`, in the empty `folder`."""

    @abstractmethod
    def run(self, trial: Trial, folder: Path, announce: Announce) -> Verdict:
        """Runs the trial in `folder`, which may end in any state."""


def campaign(name: str, fixtures: Path) -> Campaign:
    """The campaign of this name; another one as MODULE:CLASS."""
    module, _, which = CAMPAIGNS.get(name, name).partition(":")
    made = getattr(import_module(module), which)(fixtures)
    assert isinstance(made, Campaign)
    return made


def lot_of(seed: int, name: str, number: int) -> random.Random:
    """The random choices of a trial; the same in every process."""
    return random.Random(f"{seed} {name} {number}")
