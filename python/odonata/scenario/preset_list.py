"""Presets: named sets of keys that a scenario starts from, each number with its source.

The files are part of the core (`crates/system/odonata-system/presets/`). A comment above a key, or above its
table, is the key's source; the comment at the head says what the preset is.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from odonata import _core
from odonata.base import toml_text
from odonata.base.nearest import did_you_mean, nearest
from odonata.base.terminal import console, explain, say, show_table, table
from odonata.errors import InputError, input_errors, option
from odonata.scenario import agreement

if TYPE_CHECKING:
    from odonata.answers.presets import Preset, PresetKey, PresetMachine, PresetSummary


def presets() -> list[PresetSummary]:
    """All presets, with description and size of the machine."""
    return [_summary(name, _core.preset_text(name) or "") for name in _core.preset_names()]


def preset(name: str) -> Preset:
    """The preset `name`: description, keys with values and sources, and its text; raises `InputError` if
    unknown.
    """
    text = _core.preset_text(name)
    if text is None:
        raise unknown(name)
    lines = list(_lines(text))
    return {
        **_summary(name, text),
        "description": _head(text),
        "keys": [_key(line) for line in lines if line.value is not None],
        "toml": text,
    }


def unknown(name: str, key: str = option("name", "PRESET")) -> InputError:
    """The error for an unknown preset."""
    names = _core.preset_names()
    return InputError(
        "no such preset",
        key=key,
        value=name,
        expected=f"one of {', '.join(names)}",
        hint=did_you_mean(nearest(name, names)),
    )


def show_list(found: list[PresetSummary], stream: TextIO | None = None) -> None:
    """Prints all presets, for people."""
    out = console(stream)
    page = table("preset", "machine", "nodes", left=2)
    page.add_column("about", justify="left", no_wrap=False)
    for one in found:
        machine = one["machine"]
        kind, nodes = (machine["kind"], f"{machine['nodes']:,}") if machine else ("-", "-")
        page.add_row(one["name"], kind, nodes, one["about"])
    show_table(out, page)
    explain(
        out,
        "",
        "odonata presets NAME shows one with the source of each number, odonata describe NAME its machine; "
        'odonata init --preset NAME writes a scenario that starts from it (preset = "NAME").',
    )


def show(found: Preset, stream: TextIO | None = None) -> None:
    """Prints a preset, for people."""
    out = console(stream)
    explain(out, *found["description"].splitlines())
    if machine := found["machine"]:
        groups = machine["groups"]
        say(
            out,
            "",
            f"{machine['nodes']:,} nodes, {machine['routers']:,} routers in {groups} "
            f"group{'s' if groups != 1 else ''}; {machine['kind']}",
        )
    if agreement_text := agreement.sentence(found["name"]):
        explain(out, "", agreement_text)
    page = table("key", "value", left=2)
    page.add_column("source", justify="left", no_wrap=False, ratio=1)
    for line in _lines(found["toml"]):
        if line.value is None:
            page.add_row(f"[{line.key}]", "", line.source)
        else:
            page.add_row(f"  {line.name}", toml_text.value_text(line.value), line.source)
    say(out, "")
    show_table(out, page)
    explain(
        out, "", "The source of a key without one of its own is that of its table, or of the key above it."
    )


class _Line(NamedTuple):
    """A key of a file, or the head of a table, which has no value."""

    key: str
    value: Any
    #: The key without its table.
    name: str
    #: The comment directly above it.
    source: str
    #: The comment above its table.
    of_table: str


def _lines(text: str) -> Iterator[_Line]:
    """Keys and tables of a preset, in their order."""
    name = of_table = ""
    comment: list[str] = []
    pending = ""
    for line in text.splitlines():
        if pending:
            line = f"{pending}\n{line}"
        elif line.startswith("#"):
            comment.append(line.removeprefix("#").strip())
            continue
        elif not line.strip():
            comment = []
            continue
        source = " ".join(comment)
        try:
            inner = tomllib.loads(line)
        except tomllib.TOMLDecodeError:
            # The value continues on the next line.
            pending = line
            continue
        pending, comment = "", []
        if line.startswith("["):
            name, of_table = line.strip("[] "), source
            yield _Line(name, None, "", source, "")
            continue
        for key, value in inner.items():
            yield _Line(f"{name}.{key}" if name else key, value, key, source, of_table)


def _key(line: _Line) -> PresetKey:
    return {"key": line.key, "value": line.value, "source": line.source or line.of_table or None}


def _head(text: str) -> str:
    """The description of a preset: the comment at its head."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").removeprefix(" "))
    # Paragraphs are wrapped on output; tables stay unchanged.
    joined = ""
    for before, line in zip(["", *lines], lines, strict=False):
        goes_on = line and before and not line.startswith(" ") and not before.startswith(" ")
        joined += (" " if goes_on else "\n") + line
    return joined.strip("\n")


def _summary(name: str, text: str) -> PresetSummary:
    head = _head(text).splitlines()[0]
    return {"name": name, "about": _first_clause(head), "machine": _machine(name, text)}


def _first_clause(text: str) -> str:
    """The text up to its first full stop, colon or semicolon outside brackets.

    >>> _first_clause("Theta (Cray XC40. Argonne) as CODES has it: 9 groups, which is the machine of 2016.")
    'Theta (Cray XC40. Argonne) as CODES has it'
    """
    depth = 0
    for place, (sign, after) in enumerate(zip(text, f"{text[1:]} ", strict=True)):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign in ".:;" and after == " ":
            return text[:place]
    return text


def _machine(name: str, text: str) -> PresetMachine | None:
    if "machine" not in tomllib.loads(text):
        return None
    with input_errors():
        found = json.loads(_core.describe(f'preset = "{name}"\n', name))
    return {key: found[key] for key in ("kind", "nodes", "routers", "groups")}  # type: ignore[return-value]
