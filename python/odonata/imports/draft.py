"""A scenario in the making: keys with comments, and settings that could not be converted."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from odonata.base import toml_text
from odonata.errors import InputError


@dataclass(frozen=True)
class Left:
    """A setting of a configuration that the scenario lacks or changes."""

    key: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.key} = {self.value}: {self.reason}" if self.value else f"{self.key}: {self.reason}"


@dataclass(frozen=True)
class Beside:
    """A file beside the scenario."""

    table: str
    key: str
    #: Replaces the ending of the scenario's file.
    suffix: str
    text: str


@dataclass
class Draft:
    """Tables of a scenario in their order; values are TOML text."""

    name: str
    #: The origins of the scenario, a line each.
    sources: list[str]
    #: The network configuration that the scenario comes from.
    path: Path
    preset: str | None = None
    tables: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    #: Tables of jobs: keys and values.
    jobs: list[list[tuple[str, str]]] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    #: The file that a key of the scenario names.
    beside: Beside | None = None

    def name_beside(self, file: str) -> None:
        """Names the file of `beside` in its key."""
        assert self.beside is not None
        rows = self.tables[self.beside.table]
        rows[:] = [
            (key, toml_text.value_text(file) if key == self.beside.key else value, comment)
            for key, value, comment in rows
        ]

    def put(self, table: str, key: str, value: str, comment: str = "") -> None:
        """Adds a key to a table."""
        self.tables.setdefault(table, []).append((key, value, comment))

    def leave(self, key: str, value: object, reason: str) -> None:
        """Records a setting that is not converted."""
        self.left.append(Left(key, "" if value is None else str(value), reason))

    def wrong(self, error: InputError) -> InputError:
        """Attributes the core's error about the generated scenario to the configuration."""
        table, _, key = (error.key or "").rpartition(".")
        origin = next(
            (origin for name, _, origin in self.tables.get(table, []) if name == key and origin), ""
        )
        hint = (
            f"{error.key} of the scenario comes from: {origin}"
            if origin
            else "a key of the scenario that it makes"
        )
        return InputError(
            error.message, file=str(self.path), key=error.key, value=error.value, expected=error.expected,
            hint=error.hint or (hint if error.key else None),
        )  # fmt: skip

    def text(self) -> str:
        """The scenario."""
        lines = [f"# {source}" for source in self.sources]
        if self.left:
            lines += ["#", "# Not imported, or changed:"]
            lines += [f"# - {one}" for one in self.left]
        lines += ["", f'name = "{self.name}"']
        if self.preset:
            lines.append(f'preset = "{self.preset}"')
        for table, rows in self.tables.items():
            lines += ["", f"[{table}]"]
            for key, value, comment in rows:
                lines.append(f"{key} = {value}" + (f"  # {comment}" if comment else ""))
        for job in self.jobs:
            lines += ["", "[[jobs]]", *(f"{key} = {value}" for key, value in job)]
        return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """A number without trailing digits.

    >>> number(4.0), number(238.4185791015625)
    ('4', '238.4185791015625')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def integers(values: list[int], width: int = 100) -> str:
    """A list of whole numbers over several lines.

    >>> print(integers([1, 2, 3]))
    [1, 2, 3]
    """
    words = [str(value) for value in values]
    if sum(len(word) + 2 for word in words) <= width:
        return f"[{', '.join(words)}]"
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) + 2 > width:
            lines.append(line.rstrip())
            line = ""
        line += f"{word}, "
    return "[\n  " + "\n  ".join([*lines, line.rstrip()]) + "\n]"
