"""TOML tables of a sweep file: typed values, and errors that name the line, the key and the nearest name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata.base.nearest import did_you_mean, nearest
from odonata.errors import InputError
from odonata.scenario.reading import read_scenario


@dataclass(frozen=True)
class Source:
    """The text of a specification; None: options of the command or arguments of a function."""

    file: Path | None = None
    text: str = ""

    def error(
        self, problem: str, key: str, *, value: Any = None, expected: str, hint: str | None = None
    ) -> InputError:
        """An error about a key of the source."""
        line = line_of(self.text, key) if self.file is not None else None
        file = None if self.file is None else str(self.file)
        if self.file is None and key.startswith("--over "):
            # For an option the place is the option, as for --set of other commands; the key follows.
            file, key = key, key.removeprefix("--over ").partition("=")[0].strip()
        return InputError(
            problem,
            file=file,
            line=line,
            key=key,
            value=None if value is None else shown(value),
            expected=expected,
            hint=hint,
        )


@dataclass(frozen=True)
class Table:
    """A table of a sweep file, and its place."""

    values: Mapping[str, Any]
    source: Source
    path: str = ""

    def key(self, name: str) -> str:
        """The full name of one of its keys."""
        return f"{self.path}.{name}" if self.path else name

    def refuse_others(self, known: Iterable[str]) -> None:
        """Raises `InputError` for a key outside `known`."""
        names = list(known)
        for name in self.values:
            if name not in names:
                raise unknown(self.source, self.key(name), name, names)

    def table(self, name: str) -> Table | None:
        """The table `name` inside this one."""
        value = self.get(name, dict, "a table")
        return None if value is None else Table(value, self.source, self.key(name))

    def get(self, name: str, kind: type | tuple[type, ...], words: str) -> Any:
        """The value of a key, checked for its type; None if absent."""
        value = self.values.get(name)
        if value is None:
            return None
        # In Python, a boolean is also an integer.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.error("a value of the wrong type", name, value, words)
        return value

    def count(self, name: str, default: int, least: int = 1, most: int = 1_000_000) -> int:
        """A whole number in these bounds."""
        value = self.get(name, int, f"a whole number from {least} to {most}")
        if value is None:
            return default
        if not least <= value <= most:
            raise self.error("a number out of range", name, value, f"{least} to {most}")
        return int(value)

    def share(self, name: str, default: float) -> float:
        """A number between 0 and 1."""
        value = self.get(name, (int, float), "a number between 0 and 1")
        if value is None:
            return default
        if not 0 < value < 1:
            raise self.error("a number out of range", name, value, "a number between 0 and 1")
        return float(value)

    def one_of(self, name: str, names: tuple[str, ...], default: str) -> str:
        """One of these names."""
        value = self.get(name, str, f"one of {', '.join(names)}")
        if value is None:
            return default
        if value not in names:
            raise unknown(self.source, self.key(name), value, names, "unknown name")
        return str(value)

    def error(
        self, problem: str, name: str, value: Any, expected: str, hint: str | None = None
    ) -> InputError:
        """An error about one of its keys."""
        return self.source.error(problem, self.key(name), value=value, expected=expected, hint=hint)


def read(file: Path) -> Table:
    """The content of a TOML file, or an `InputError`."""
    text = read_scenario(file)
    try:
        return Table(tomllib.loads(text), Source(file, text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        raise InputError(
            f"not TOML: {str(error).partition(' (at')[0]}",
            file=str(file),
            line=int(place[1]) if place else None,
            column=int(place[2]) if place else None,
            expected="a sweep in TOML",
        ) from None


def unknown(
    source: Source,
    key: str,
    name: str,
    names: Iterable[str],
    problem: str = "unknown key",
    meant: str | None = None,
) -> InputError:
    """The error for an unknown name, with `meant` or the most similar name as a hint."""
    known = [str(one) for one in names]
    return source.error(
        f'{problem} "{name}"',
        key,
        value=name,
        expected=f"one of {', '.join(known)}" if known else "none",
        hint=did_you_mean(meant or nearest(name, known), '"'),
    )


def shown(value: Any) -> str:
    """A value, shortened."""
    text = str(value) if not isinstance(value, str) else f'"{value}"'
    return text if len(text) <= 80 else f"{text[:77]}..."


def line_of(text: str, key: str) -> int | None:
    r"""The line of `text` that most probably gives a key; tomllib does not report it.

    It is the line that assigns the longest end of the key, in the table that the beginning of the key names.

    >>> line_of('seeds = 5\n[grid]\njobs.a.ranks = [1, 2]\n', "grid.jobs.a.ranks")
    3
    >>> line_of('[grid]\n"jobs.a.ranks" = [1]\n', "grid.jobs.a.ranks"), line_of("a = 1", "b")
    (2, None)
    """
    wanted = _plain(key)
    table, best = "", None
    items: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*(\[\[?)(.+?)\]\]?\s*(#|$)", line):
            table = _plain(header[2])
            if header[1] == "[[":
                items[table] = items.get(table, -1) + 1
                table = f"{table}.{items[table]}"
            if table == wanted:
                best = best or number
        elif assigned := re.match(r"""\s*([\w."'-][^=\[{]*?)\s*=""", line):
            found = f"{table}.{_plain(assigned[1])}" if table else _plain(assigned[1])
            if found == wanted:
                return number
            if wanted.startswith(f"{found}."):
                best = number
    return best


def _plain(key: str) -> str:
    return re.sub(r"""["'\s]""", "", key)
