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
