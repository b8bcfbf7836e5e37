"""Errors that a user can correct, and their renderings.

An `InputError` names the place (file, line, key), the value found, the expectation and the remedy. It is
raised before anything is created. Its texts name options as `Text`, which have two renderings: arguments of
Python (`str(error)`, `force=True`) and options of the command (`in_terminal`, `--force`).

A `RunFailed` holds the results of a run that did not complete. A `RunSuspended` states that the run can be
resumed.
"""

from __future__ import annotations

import errno
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Exit codes of the command (see `cli`).
COMPLETED, HOST_FAILED, INPUT_WRONG, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
#: Exit code of `odonata trace lint` for a readable trace with errors.
TRACE_WRONG = 1
#: Exit code of `odonata workload format --check` for a program in another layout.
FORMAT_DIFFERS = 1

_PARTS = ("message", "file", "line", "column", "key", "value", "expected", "hint")
_LABELS = {"key": "key", "value": "found", "expected": "expected", "hint": "hint"}


@dataclass(frozen=True)
class Option:
    """An option of a command, which is an argument of its function."""

    #: The argument, as `queue_depth`.
    name: str
    #: Its value; True or False: a switch; None: only the name.
    value: object = None
    #: The name in the command, if it is not derived from `name`, as `--queue-depth` from `queue_depth`.
    flag: str | None = None

    def python(self) -> str:
        """The option as a Python argument."""
        return self.name if self.value is None else f"{self.name}={self.value}"

    def terminal(self) -> str:
        """The option on a command line."""
        flag = self.name.replace("_", "-")
        if self.value is False:
            return self.flag or f"--no-{flag}"
        flag = self.flag or f"--{flag}"
        return flag if self.value is None or self.value is True else f"{flag} {self.value}"


@dataclass(frozen=True)
class Call:
    """A command, which is a function of the package."""

    #: The command, as `trace lint`.
    name: str
    #: The options of the command.
    options: tuple[Option, ...] = ()
    #: First argument: a name or file; `...` leaves it open.
    first: str | None = None

    def python(self) -> str:
        """The command as a Python call, or the function's name if there are no arguments."""
        function = f"odonata.{self.name.replace(' ', '_').replace('-', '_')}"
        given = [] if self.first is None else [self.first if self.first == "..." else f'"{self.first}"']
        given += [
            f'{one.name}="{one.value}"' if isinstance(one.value, str) else one.python()
            for one in self.options
        ]
        return f"{function}({', '.join(given)})" if given else function

    def terminal(self) -> str:
        """The command as a command line."""
        first = [] if self.first in (None, "...") else [str(self.first)]
        return " ".join(["odonata", self.name, *first, *(one.terminal() for one in self.options)])


@dataclass(frozen=True)
class Setting:
    """A setting KEY=VALUE that overrides one of the scenario."""

    text: str

    def python(self) -> str:
        """The setting as an entry of the argument `overrides`."""
        key, _, value = self.text.partition("=")
        return f'overrides={{"{key}": {value}}}'

    def terminal(self) -> str:
        """The setting as an option."""
        return f"--set {self.text}"


@dataclass(frozen=True)
class Phrase:
    """A text with two independent renderings."""

    in_python: str
    in_terminal: str

    def python(self) -> str:
        """The text for Python."""
        return self.in_python

    def terminal(self) -> str:
        """The text for the command line."""
        return self.in_terminal


#: A part of a text.
Part = str | Option | Call | Setting | Phrase


class Text(str):
    """A text that names options and commands: the string itself is in Python's words, `terminal` in the
    command's.

    >>> hint = "replace it with " + given("force") + ", or ask " + call("trace lint")
    >>> print(hint)
    replace it with force=True, or ask odonata.trace_lint
    >>> terminal(hint)
    'replace it with --force, or ask odonata trace lint'
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Text:
        """Joins the parts."""
        made = super().__new__(
            cls, "".join(part if isinstance(part, str) else part.python() for part in parts)
        )
        made.parts = parts
        return made

    @property
    def terminal(self) -> str:
        """The text in the words of the command."""
        return "".join(part if isinstance(part, str) else part.terminal() for part in self.parts)

    def __add__(self, other: str) -> Text:
        return Text(*self.parts, *_parts(other))

    def __radd__(self, other: str) -> Text:
        return Text(*_parts(other), *self.parts)


def _parts(text: str) -> tuple[Part, ...]:
    return text.parts if isinstance(text, Text) else (text,)


def terminal(text: str) -> str:
    """A text in the words of the command."""
    return text.terminal if isinstance(text, Text) else text


def option(name: str, flag: str | None = None) -> Text:
    """The name of an option: an argument in Python; `--queue-depth` or `flag` in the command.

    >>> option("queue_depth"), terminal(option("queue_depth")), terminal(option("scenario", "SCENARIO"))
    ('queue_depth', '--queue-depth', 'SCENARIO')
    """
    return Text(Option(name, None, flag))


def given(name: str, value: object = True, flag: str | None = None) -> Text:
    """An option with its value.

    >>> given("method", "steady"), terminal(given("method", "steady")), terminal(given("storage", False))
    ('method=steady', '--method steady', '--no-storage')
    """
    return Text(Option(name, value, flag))


def call(name: str, first: str | None = None, **options: object) -> Text:
    """A command line, or the equivalent Python call.

    >>> call("init", preset="theta"), terminal(call("init", preset="theta"))
    ('odonata.init(preset="theta")', 'odonata init --preset theta')
    """
    return Text(Call(name, tuple(Option(key, value) for key, value in options.items()), first))


def setting(text: str) -> Text:
    """A setting KEY=VALUE.

    >>> setting("network.routing.bias=3.0"), terminal(setting("seed=x"))
    ('overrides={"network.routing.bias": 3.0}', '--set seed=x')
    """
    return Text(Setting(text))


#: Options and commands in texts of the core, which does not know whether Python or the command calls it.
_OF_THE_CORE: dict[str, Text] = {
    "odonata trace convert --repeat": Text(
        Phrase("odonata.trace_convert(..., repeat=2)", "odonata trace convert --repeat")
    ),
    "odonata trace convert": call("trace convert"),
    "odonata trace lint": call("trace lint"),
    "odonata workload check": call("workload check"),
    "odonata describe": call("describe"),
    "odonata check": call("check"),
    "--ignore-unknown-backend": given("ignore_unknown_backend"),
    "--incomplete": given("incomplete"),
    "--job NAME": given("job", "NAME"),
    "--job": option("job"),
}


def _option_of_the_core(place: str | None) -> str | None:
    """Returns a file or key of the core, or the option that it names."""
    name = (place or "").removeprefix("--")
    if place is None or name == place:
        return place
    if name.startswith("set "):
        return setting(name.removeprefix("set "))
    return option(name.replace("-", "_"))


def _of_the_core(text: str) -> str:
    """Returns a text of the core with its options as data."""
    # Of two names with the same beginning, the longer one comes first.
    for name, words in _OF_THE_CORE.items():
        before, found, after = text.partition(name)
        if found:
            return _of_the_core(before) + words + _of_the_core(after)
    return text


#: Names for the TOML that is made from a dictionary and from a `Scenario`. Its lines are in no file.
NO_FILES = ("<dict>", "<scenario>")


class InputError(ValueError):
    """The input is wrong. Attributes that do not apply are None.

    >>> error = InputError("negative size", file="a.toml", line=3, key="a.bytes", value="-1", expected=">= 0")
    >>> print(error)
    negative size
      --> a.toml:3
      key       a.bytes
      found     -1
      expected  >= 0
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        key: str | None = None,
        value: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if file is not None and os.path.basename(file) in NO_FILES:
            file = line = column = None
        self.file = file
        self.line = line
        self.column = column
        self.key = key or None
        self.value = value
        self.expected = expected
        self.hint = hint
        #: Whether the place is an option; the command prints it where it prints a file otherwise.
        self._is_option = isinstance(file, Text) and not key and isinstance(file.parts[0], Option)
        if self._is_option:
            self.key, self.file = file, None

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {name: getattr(self, name) for name in _PARTS}

    def __str__(self) -> str:
        lines = [self.message]
        if self.file is not None:
            place = [self.file, *(str(part) for part in (self.line, self.column) if part is not None)]
            lines.append("  --> " + ":".join(place))
            lines.extend(self._source())
        for name, label in _LABELS.items():
            if text := getattr(self, name):
                lines.append(f"  {label:<9} {text}")
        return "\n".join(lines)

    def _source(self) -> list[str]:
        """The source line of the error, with a mark under the column."""
        if self.file is None or self.line is None:
            return []
        try:
            source = Path(self.file).read_text(encoding="utf-8").splitlines()[self.line - 1]
        except (OSError, ValueError, IndexError):
            return []
        number = f"{self.line:>6} | "
        shown = [number + source[:160].replace("\t", " ")]
        if self.column is not None:
            shown.append(" " * (len(number) - 2) + "| " + " " * (self.column - 1) + "^")
        return shown


def in_terminal(error: InputError) -> InputError:
    """The same error in the words of the command."""
    parts: dict[str, Any] = {
        name: terminal(part) if isinstance(part, str) else part for name, part in error.as_dict().items()
    }
    if error._is_option:
        parts |= {"file": parts["key"], "key": None}
    return InputError(**parts)


class NoResult(InputError, FileNotFoundError):
    """The folder is no result of Odonata: it has no run.json.

    >>> str(NoResult("not a result of Odonata", file="thesis")).splitlines()
    ['not a result of Odonata', '  --> thesis']
    """


class RunFailed(RuntimeError):
    """A run or a baseline failed or was interrupted; `results` holds the measurements up to then.

    >>> from odonata import Results
    >>> str(RunFailed(Results({"outcome": "stalled", "detail": "rank 3 waits"})))
    'stalled: rank 3 waits'
    """

    def __init__(self, results: Results) -> None:
        self.results = results
        endings = [results.ending] if results.failed else []
        endings += [f"{job}, alone: {ending}" for job, ending in results.failed_baselines.items()]
        super().__init__("; ".join(endings))


class RunSuspended(RuntimeError):
    """The run was stopped by SIGTERM, and saved; `resume` continues it.

    >>> str(RunSuspended())
    'the run was saved, and stopped by SIGTERM'
    """

    def __init__(self) -> None:
        super().__init__("the run was saved, and stopped by SIGTERM")


@contextmanager
def input_errors() -> Iterator[None]:
    """Turns the core's input errors, and text that the core cannot accept, into `InputError`."""
    try:
        yield
    except _core.InputError as error:
        parts = json.loads(error.args[0])
        for name in ("message", "expected", "hint"):
            if parts.get(name):
                parts[name] = _of_the_core(parts[name])
        for name in ("file", "key"):
            parts[name] = _option_of_the_core(parts.get(name))
        # A key of another kind of file; settings of options have no line.
        misplaced = parts["message"].startswith("unknown key") or parts.get("key") == "jobs"
        if misplaced and parts.get("line") and (other := _of_another_kind(parts["file"])):
            raise other from None
        raise InputError(parts.pop("message"), **parts) from None
    except UnicodeEncodeError as error:
        raise _no_text(error.object) from None


def of_another_kind(file: str, values: Mapping[str, Any], wanted: str) -> InputError | None:
    """The error for a TOML file that is a batch file or a sweep, where `wanted` is needed; None for others.

    >>> print(of_another_kind("day.toml", {"preset": "theta", "jobs": "day.csv"}, "a scenario").message)
    it is a batch file, not a scenario
    """
    # Only a batch file names a job list, and beside it only a sweep names its scenario.
    if isinstance(values.get("jobs"), str):
        kind, command, does = "a batch file", "batch", "simulates"
    elif isinstance(values.get("scenario"), str):
        kind, command, does = "a sweep", "sweep", "runs"
    else:
        return None
    if kind == wanted:
        return None
    hint = call(command, file) + f" {does} it"
    return InputError(f"it is {kind}, not {wanted}", file=file, expected=wanted, hint=hint)


def _of_another_kind(file: str) -> InputError | None:
    """The same for the file at a path that should be a scenario."""
    place = Path(file)
    try:
        # A pipe cannot be read twice.
        values = tomllib.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
        return of_another_kind(file, values, "a scenario")
    except (OSError, ValueError, RecursionError):
        return None


#: Errors of the system for a wrong name or missing right. All others (such as a full disk) are not mistakes
#: of the user.
_MISTAKES = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EINVAL,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOTDIR,
        errno.ENXIO,
        errno.EPERM,
        errno.EROFS,
    }
)


def is_mistake(error: OSError) -> bool:
    """Whether the user can correct this by another file name: exit code 2 then, else 1.

    >>> is_mistake(OSError(errno.ENAMETOOLONG, "too long")), is_mistake(OSError(errno.ENOSPC, "disk full"))
    (True, False)
    """
    return error.errno in _MISTAKES


def check_text(text: str | os.PathLike[str], key: str) -> None:
    r"""Refuses a name that is not UTF-8 text, which neither results nor JSON could hold, with an
    `InputError`.

    >>> check_text(os.fsdecode(b"caf\xe9"), option("out"))
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: not UTF-8 text
      key       out
      found     'caf\udce9'
      expected  text in UTF-8
    """
    name = os.fspath(text)
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _no_text(name, key) from None
    if "\0" in name:
        raise InputError("no name of a file", key=key, value=ascii(name), expected="text without NUL")


def _no_text(text: str, key: str | None = None) -> InputError:
    shown = ascii(text)
    return InputError(
        "not UTF-8 text",
        key=key,
        value=shown if len(shown) <= 80 else f"{shown[:77]}...",
        expected="text in UTF-8",
    )
