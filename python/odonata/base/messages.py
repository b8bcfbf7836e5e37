"""Messages on standard error, and answers as JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any


def say(text: str) -> None:
    """Prints a message to standard error."""
    # A closed pipe or a full disk does not change the exit code of a command.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def print_json(content: Any) -> None:
    """Prints an answer as JSON."""
    # Encodings other than UTF-8 lack characters.
    print(json.dumps(content, indent=2, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def listed(detail: str) -> list[str]:
    """The details of an outcome as lines; each blocked rank has its own.

    >>> listed("2 ranks have not ended; waiting longest: w rank 0: Recv; w rank 1: Recv")
    ['2 ranks have not ended', '- waiting longest: w rank 0: Recv', '- w rank 1: Recv']
    >>> listed("rank 3 yields 7; expected an operation")
    ['rank 3 yields 7; expected an operation']
    """
    if "waiting longest: " not in detail:
        return [detail]
    first, *others = detail.split("; ")
    return [first, *(f"- {other}" for other in others)]
