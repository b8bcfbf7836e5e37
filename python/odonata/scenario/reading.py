"""Readers of scenario files and presets. An `InputError` names the kind of any other path."""

from __future__ import annotations

import json
import numbers
import os
from pathlib import Path

from odonata import _core
from odonata.base import foreign
from odonata.base.nearest import did_you_mean, nearest
from odonata.errors import InputError, Phrase, Text, call, check_text, is_mistake, option

#: The longest scenario, in bytes; the core refuses those that are longer.
LONGEST_SCENARIO = 16 << 20

#: Largest seed: a scenario is TOML, whose whole numbers have 63 bits and a sign.
LARGEST_SEED = 2**63 - 1


def check_seed(seed: int | None) -> None:
    """Raises an `InputError` for a seed that no scenario can have.

    >>> check_seed("five")
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: the seed is no whole number
      key       seed
      found     'five'
      expected  0 to 9223372036854775807
    """
    if seed is not None and not isinstance(seed, numbers.Integral):
        raise InputError(
            "the seed is no whole number", key="seed", value=repr(seed), expected=f"0 to {LARGEST_SEED}"
        )
    if seed is not None and not 0 <= seed <= LARGEST_SEED:
        raise InputError(
            "the seed is out of range", key="seed", value=str(seed), expected=f"0 to {LARGEST_SEED}"
        )


def read_scenario(path: Path) -> str:
    """The text of a scenario file, or an `InputError`.

    >>> read_scenario(Path("theta"))
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: theta is a preset, a set of keys to start from, without jobs that could be run
    ...
    """
    check_text(path, option("scenario", "SCENARIO"))
    refuse_preset(path)
    try:
        return foreign.read_bytes(path, LONGEST_SCENARIO).decode("utf-8")
    except OSError as error:
        if not is_mistake(error):
            error.filename = str(path)
            raise
        problem = f"the scenario cannot be read: {error.strerror}"
        hint = None if os.path.exists(path) else _meant(path)
    except UnicodeDecodeError as error:
        problem, hint = f"the scenario is not UTF-8 text (byte {error.start})", None
    raise InputError(problem, file=str(path), expected="a scenario in TOML", hint=hint)


def _meant(path: Path) -> str | None:
    """A hint with the file or preset whose name is most similar to that of a missing file."""
    try:
        beside = [str(path.parent / name) for name in os.listdir(path.parent) if name.endswith(".toml")]
    except (OSError, ValueError):
        beside = []
    if hint := did_you_mean(nearest(str(path), beside)):
        return hint
    if alike := nearest(str(path), _core.preset_names()):
        return f"did you mean the preset {alike}? " + call("init", preset=alike) + " starts from it"
    return None


def refuse_preset(path: Path) -> None:
    """Raises an `InputError` that explains presets, if the path is one and no file has its name."""
    # `Path.exists` raises for invalid file names; `os.path.exists` returns False.
    if str(path) not in _core.preset_names() or os.path.exists(path):
        return
    raise InputError(
        f"{path} is a preset, a set of keys to start from, without jobs that could be run",
        key=option("scenario", "SCENARIO"),
        value=str(path),
        expected=f'a scenario file (TOML) with jobs, in which preset = "{path}"',
        hint=call("init", preset=str(path))
        + " writes one; "
        + Text(Phrase(f'odonata.preset("{path}")', f"odonata presets {path}"), " shows the preset"),
    )


def preset_or_scenario(source: Path) -> str:
    """Returns the scenario in a file, or one with only a preset; `InputError` if it is neither.

    A file takes precedence over a preset of the same name.

    >>> preset_or_scenario(Path("theta"))
    'preset = "theta"\\n'
    """
    # `Path.exists` raises for invalid file names; `os.path.exists` returns False.
    if os.path.exists(source) or source.suffix or len(source.parts) != 1:
        return read_scenario(source)
    if _core.preset_text(str(source)) is not None:
        return f'preset = "{source}"\n'
    presets = _core.preset_names()
    hint = did_you_mean(nearest(str(source), presets))
    if str(source) in _families():
        hint = f"{source} is a family of networks: " + call("init", machine=str(source))
        hint += " writes a scenario with one"
    raise InputError(
        "neither a file nor a preset",
        key=option("scenario", "SCENARIO|PRESET"),
        value=str(source),
        expected=f"a scenario file, or one of {', '.join(presets)}",
        hint=hint,
    )


def _families() -> list[str]:
    """Names of the families of networks, the tables of `machine`.

    >>> "dragonfly" in _families(), "theta" in _families()
    (True, False)
    """
    return list(json.loads(_core.schema())["$defs"]["Machine"]["properties"])
