"""Errors of functions in the words of Python: arguments instead of options of the command."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from odonata.errors import InputError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

#: What the command says, and what it is here. The first that fits counts.
_WORDS = [
    (re.compile(r"odonata run --resume"), "odonata.run(..., resume=True)"),
    (re.compile(r"odonata trace convert --repeat"), "odonata.trace_convert(..., repeat=2)"),
    (re.compile(r"odonata (trace|device|workload) (\w+)"), r"odonata.\1_\2"),
    (re.compile(r"odonata (check|describe|summary|report|compare)\b"), r"odonata.\1"),
    (re.compile(r"--no-([a-z][a-z-]*)"), r"\1=False"),
    (re.compile(r"--(force|resume|baselines|incomplete|strict|ignore-unknown-backend)\b"), r"\1=True"),
    (re.compile(r"--set ([\w.\"'-]+)=(.*)"), r'overrides={"\1": \2}'),
    (re.compile(r"--set\b"), "overrides"),
    (re.compile(r"--([a-z][a-z-]*) ([A-Z]+|[a-z][\w.-]*)\b"), r"\1=\2"),
    (re.compile(r"--([a-z][a-z-]*)"), r"\1"),
    (re.compile(r" with -o\b"), " with out"),
]

#: Arguments of commands that have another name here.
_KEYS = {"SCENARIO|PRESET": "scenario", "MEASUREMENTS": "file", "PRESET": "name", "OUT": "out"}


def spoken(text: str) -> str:
    """A text of the command in the words of Python.

    >>> spoken("replace it with --force"), spoken("--latency-threshold"), spoken("--method steady")
    ('replace it with force=True', 'latency_threshold', 'method=steady')
    >>> spoken("--set network.routing.bias=3.0")
    'overrides={"network.routing.bias": 3.0}'
    """
    for pattern, words in _WORDS:
        text = pattern.sub(lambda found, words=words: _underscored(found, words), text)  # type: ignore[misc]
    return text


def _underscored(found: re.Match[str], words: str) -> str:
    option = found.group(1) if found.re.groups and "-" in (found.group(1) or "") else None
    text = found.expand(words)
    if option is not None and found[0].startswith("--") and "." not in option:
        text = text.replace(option, option.replace("-", "_"), 1)
    return text


@contextmanager
def python_errors() -> Iterator[None]:
    """Says in the words of Python what is wrong with the input of a function."""
    try:
        yield
    except InputError as error:
        _translate(error)
        raise


def _translate(error: InputError) -> None:
    error.key = error.key or None
    if error.key is None and error.file is not None and re.fullmatch(r"--[a-z-]+", error.file):
        # An option stands where else a file does.
        error.key, error.file = error.file, None
    if error.key is not None:
        key = _KEYS.get(error.key, error.key)
        # The name of an argument, not how it would be given.
        error.key = key[2:].removeprefix("no-").replace("-", "_") if key.startswith("--") else key
        if key.isupper():
            error.key = key.lower()
    for name in ("file", "message", "expected", "hint"):
        text = getattr(error, name)
        if text is not None:
            setattr(error, name, spoken(text))
    error.args = (error.message,)
    if hasattr(error, "__notes__"):
        error.__notes__ = [spoken(note) for note in error.__notes__]


def speaks_python(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A function whose errors are in the words of Python."""

    @functools.wraps(function)
    def told(*args: Parameters.args, **options: Parameters.kwargs) -> Result:
        with python_errors():
            return function(*args, **options)

    return told
