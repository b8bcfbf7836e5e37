"""What the tests share: a small scenario, and the command as a user types it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

#: The repository.
ROOT = Path(__file__).parents[2]

#: The command, from the interpreter that runs the tests.
ODONATA = [sys.executable, "-m", "odonata"]

#: Seconds after which a command counts as hung.
PATIENCE_S = 120


@dataclass(frozen=True)
class Transcript:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Shell:
    """A scratch folder with scenario files, and the command `odonata` in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> Transcript:
        done = subprocess.run(
            [*ODONATA, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1"},
        )
        return Transcript(done.returncode, done.stdout, done.stderr)

    def write(self, text: str, name: str = "scenario.toml") -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def files(self) -> list[str]:
        """Everything below the folder, hidden files included."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
