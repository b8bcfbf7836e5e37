"""The configuration language of CODES: sections in braces, `key = "value";`, lists in parentheses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from odonata.errors import InputError

_TOKEN = re.compile(r'\s*(?:#[^\n]*\n\s*)*("[^"]*"|[{}();=,]|[^\s{}();=,"#]+)')


@dataclass
class Section:
    """Keys and sections of a section."""

    values: dict[str, list[str]] = field(default_factory=dict)
    sections: dict[str, Section] = field(default_factory=dict)

    def get(self, key: str) -> str | None:
        """The value of a key."""
        found = self.values.get(key)
        return found[0] if found else None

    def whole(self, key: str, path: Path) -> int:
        """The value of a key as an integer, 0 if absent; raises `InputError` for other values."""
        value = self.get(key)
        if value is None:
            return 0
        if not re.fullmatch(r"[0-9]{1,15}", value):
            raise InputError("not a number", file=str(path), key=key, value=value, expected="a whole number")
        return int(value)


def parse(text: str, path: Path) -> Section:
    """Parses a whole file; raises `InputError` with the line of an error."""
    tokens: list[tuple[str, int]] = []
    place = 0
    text += "\n"
    while True:
        found = _TOKEN.match(text, place)
        if found is None:
            break
        tokens.append((found[1], found.start(1)))
        place = found.end()
    rest = re.sub(r"#[^\n]*", "", text[place:])
    tokens.append(("", len(text)))
    here = 0

    def wrong(expected: str) -> InputError:
        token, at = tokens[here]
        line = text.count("\n", 0, at) + 1
        return InputError(
            "not a configuration of CODES",
            file=str(path),
            line=min(line, text.count("\n")),
            value=repr(token) if token else "the end of the file",
            expected=expected,
        )

    if rest.strip():
        raise wrong("no stray character")

    def section(depth: int) -> Section:
        nonlocal here
        made = Section()
        while tokens[here][0] not in ("}", ""):
            name = tokens[here][0].strip('"')
            if name in "{();=,":
                raise wrong("the name of a key or section")
            here += 1
            match tokens[here][0]:
                case "{":
                    if depth > 16:
                        raise wrong("at most 16 nested sections")
                    here += 1
                    made.sections[name] = section(depth + 1)
                    if tokens[here][0] != "}":
                        raise wrong("}")
                    here += 1
                case "=":
                    here += 1
                    made.values[name] = value()
                    if tokens[here][0] != ";":
                        raise wrong(";")
                    here += 1
                case _:
                    raise wrong("= or {")
        return made

    def value() -> list[str]:
        nonlocal here
        if tokens[here][0] != "(":
            if tokens[here][0] in ("", "{", "}", ")", ";", "=", ","):
                raise wrong("a value")
            here += 1
            return [tokens[here - 1][0].strip('"')]
        here += 1
        values = []
        while tokens[here][0] != ")":
            if tokens[here][0] in ("", "{", "}", "(", ";", "="):
                raise wrong(")")
            if tokens[here][0] != ",":
                values.append(tokens[here][0].strip('"'))
            here += 1
        here += 1
        return values

    made = section(0)
    if tokens[here][0]:
        raise wrong("the end of the file")
    return made
