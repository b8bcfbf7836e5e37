"""Lines of a foreign text file, and checked values of their fields.

Files are hostile: lines, fields, lists and numbers are bounded, and an error names file, line and field.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from odonata.base import foreign
from odonata.errors import InputError

#: Most bytes of a line, bytes of all lines, characters of a name, and nodes of a list.
LONGEST_LINE, LONGEST_FILE, LONGEST_NAME, MOST_LISTED = 1 << 20, 1 << 31, 256, 1 << 20

_HOST = re.compile(r"([^\[\],]+(?:\[[0-9,-]+\][^\[\],]*)*)(?:,|$)")
_BRACKETS = re.compile(r"\[([0-9,-]+)\]")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file."""

    path: Path
    line_number: int
    text: str

    def error(
        self,
        problem: str,
        value: str | None = None,
        field: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> InputError:
        """An error about a field of the line."""
        found = None if value is None else (value if len(value) <= 80 else value[:77] + "...")
        return InputError(
            problem, file=str(self.path), line=self.line_number, key=field, value=found, expected=expected,
            hint=hint,
        )  # fmt: skip

    def number(self, text: str, field: str, least: float = 0.0, most: float = 1e18) -> float:
        """A field as a number in these bounds."""
        try:
            value = float(text) if len(text) <= 64 and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise self.error(
                "not a number in range", text, field, f"a number from {_text(least)} to {_text(most)}"
            )
        return value

    def whole(self, text: str, field: str, least: int = 0, most: int = 1 << 40) -> int:
        """A field as a whole number in these bounds."""
        value = self.number(text, field, least, most)
        if not value.is_integer():
            raise self.error("not a whole number", text, field, f"a whole number from {least} to {most}")
        return int(value)

    def name(self, text: str, field: str) -> str:
        """A field as a name: printable and of bounded length."""
        if len(text) > LONGEST_NAME or not text.isprintable():
            raise self.error("not a name", ascii(text), field, f"at most {LONGEST_NAME} printable characters")
        return text

    def nodes(self, text: str, field: str) -> list[int]:
        """A field as node numbers, such as `0-3 8`."""
        try:
            return node_numbers(text)
        except ValueError as error:
            raise self.error(str(error), text, field, "node numbers such as `0-3 8`, each once") from None

    def hosts(self, text: str, field: str) -> list[str]:
        """A field as names of hosts, such as `nid[0001-0004,7],login1` or `x[1000-1001]c0s[0-7]`."""
        found: list[str] = []
        place = 0
        while place < len(text):
            match = _HOST.match(text, place)
            if match is None:
                raise self.error("not a list of hosts", text, field, "names such as nid[001-004],gpu1")
            place = match.end()
            first, *rest = _BRACKETS.split(match[1])
            self.name(first + "".join(rest[1::2]), field)
            names = [first]
            # The last bracket varies fastest, as in Slurm.
            for numbers, suffix in zip(rest[::2], rest[1::2], strict=True):
                most = (MOST_LISTED - len(found)) // len(names)
                every = self._numbers(numbers, field, text, most)
                names = [f"{name}{number}{suffix}" for name in names for number in every]
            found += names
        if len(set(found)) < len(found):
            raise self.error("a node twice", text, field, "every node once")
        return found

    def _numbers(self, text: str, field: str, whole: str, most: int) -> list[str]:
        """The numbers in a bracket of `whole`, such as `001-004,7`, with their digits."""
        found: list[str] = []
        for part in text.split(","):
            low, _, high = part.partition("-")
            last = high or low
            if (
                not (low.isdigit() and last.isdigit())
                or len(low) > 9
                or len(last) > 9
                or int(last) < int(low)
            ):
                raise self.error("not a range of hosts", part, field, "a range such as 001-004")
            if len(found) + int(last) - int(low) >= most:
                raise self.error("a list with too many nodes", whole, field, f"at most {MOST_LISTED}")
            found += [f"{number:0{len(low)}}" for number in range(int(low), int(last) + 1)]
        return found


def _text(bound: float) -> str:
    """A bound as text, without rounding below a million million.

    >>> _text(1 << 24), _text(0.0), _text(1e15)
    ('16777216', '0', '1e+15')
    """
    return str(int(bound)) if float(bound).is_integer() and abs(bound) < 1e12 else f"{bound:g}"


def node_numbers(text: str, most: int = MOST_LISTED) -> list[int]:
    """The numbers in a list of nodes; raises `ValueError` with the problem.

    >>> node_numbers("0-3 8, 6")
    [0, 1, 2, 3, 8, 6]
    """
    found: list[int] = []
    for part in text.replace(",", " ").split():
        low, dash, high = part.partition("-")
        if not _is_number(low) or (dash and not _is_number(high)):
            raise ValueError("not a list of nodes")
        first, last = int(low), int(high or low)
        if last < first:
            raise ValueError("a range that ends before it begins")
        if len(found) + last - first >= most:
            raise ValueError("a list with too many nodes")
        found.extend(range(first, last + 1))
    if len(set(found)) < len(found):
        raise ValueError("a node twice")
    return found


def _is_number(text: str) -> bool:
    """Whether a text is a node number: at most ten digits."""
    return text.isascii() and text.isdigit() and len(text) <= 10


def read_lines(path: Path) -> Iterator[Line]:
    """The lines of a text file that are not empty, unpacked if it is compressed with gzip.

    Raises:
        InputError: The file cannot be read, is no text, or is longer than allowed.
    """

    def wrong(problem: str, number: int | None = None) -> InputError:
        return InputError(problem, file=str(path), line=number, expected="a job list")

    total = number = 0
    try:
        with foreign.open_unpacked(path) as file:
            while data := file.readline(LONGEST_LINE + 1):
                number += 1
                total += len(data)
                if len(data) > LONGEST_LINE:
                    raise wrong(f"a line of more than {LONGEST_LINE} bytes", number)
                if total > LONGEST_FILE:
                    raise wrong(f"more than {LONGEST_FILE} bytes", number)
                try:
                    text = data.decode("utf-8-sig" if number == 1 else "utf-8").strip("\r\n")
                except UnicodeDecodeError:
                    raise wrong("not text in UTF-8", number) from None
                if text.strip():
                    yield Line(path, number, text)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise wrong(f"damaged gzip: {error}", number + 1) from None
    except OSError as error:
        raise wrong(f"cannot be read: {error.strerror}") from None
