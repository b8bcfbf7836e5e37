"""Errors that a user can mend, and how they are shown.

An `InputError` says where the input is wrong (file, line, key), what was seen, what was expected and what to
do. It is raised before anything is created. A `RunFailed` holds the results of a run that ended otherwise
than completed; a `RunSuspended` says that it can be resumed.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core

if TYPE_CHECKING:
    from odonata.results.results import Results

#: Exit codes of the command: see `cli`.
COMPLETED, HOST_FAILED, INPUT_WRONG, RUN_FAILED, INTERRUPTED = 0, 1, 2, 3, 130
#: That of `odonata trace lint` for a trace that can be read and is wrong.
TRACE_WRONG = 1
#: That of `odonata workload format --check` for a program in another layout.
FORMAT_DIFFERS = 1

_LABELS = {"key": "key", "value": "found", "expected": "expected", "hint": "hint"}


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
        self.file = file
        self.line = line
        self.column = column
        self.key = key
        self.value = value
        self.expected = expected
        self.hint = hint

    def as_dict(self) -> dict[str, Any]:
        """All parts, for machines."""
        names = ("message", "file", "line", "column", "key", "value", "expected", "hint")
        return {name: getattr(self, name) for name in names}

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
        """The line of the file that is meant, with a mark under the column."""
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


class NoResult(InputError, FileNotFoundError):
    """A folder that is no result of odonata: it has no run.json.

    >>> str(NoResult("not a result of odonata", file="thesis")).splitlines()
    ['not a result of odonata', '  --> thesis']
    """


class RunFailed(RuntimeError):
    """A run or a baseline failed or was interrupted; `results` holds what was measured until then.

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
    """The run was told to make room (SIGTERM), and saved; `resume` goes on with it.

    >>> str(RunSuspended())
    'the run was saved, and stopped by SIGTERM'
    """

    def __init__(self) -> None:
        super().__init__("the run was saved, and stopped by SIGTERM")


@contextmanager
def input_errors() -> Iterator[None]:
    """Turns the core's input errors, and text that cannot be handed to it, into `InputError`."""
    try:
        yield
    except _core.InputError as error:
        parts = json.loads(error.args[0])
        # The one key that every sweep file has, and no scenario.
        misplaced = parts.get("key") == "scenario" and parts["message"].startswith("unknown key")
        if misplaced and parts.get("file"):
            parts["hint"] = f"it is a sweep: odonata sweep {parts['file']} runs it"
        raise InputError(parts.pop("message"), **parts) from None
    except UnicodeEncodeError as error:
        raise _no_text(error.object) from None


#: What the system says where a name or a right is wrong. All else (a full disk, a broken one) is nobody's
#: mistake.
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
    """Whether whoever named the file can mend this: exit code 2 then, else 1.

    >>> is_mistake(OSError(errno.ENAMETOOLONG, "too long")), is_mistake(OSError(errno.ENOSPC, "disk full"))
    (True, False)
    """
    return error.errno in _MISTAKES


def check_text(text: str | os.PathLike[str], key: str) -> None:
    r"""Refuses, with an `InputError`, a name that is not UTF-8 text: neither results nor JSON could hold it.

    >>> check_text(os.fsdecode(b"caf\xe9"), "--out")
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: not UTF-8 text
      key       --out
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
