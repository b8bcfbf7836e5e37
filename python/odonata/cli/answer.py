"""What commands print, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import typer

from odonata.errors import HOST_FAILED, INPUT_WRONG, INTERRUPTED, InputError, RunSuspended


def say(text: str) -> None:
    """Prints what is not the answer: to standard error."""
    print(text, file=sys.stderr)


def warn(warnings: list[dict[str, Any]]) -> None:
    """Says what is probably not meant, as the core has found it."""
    from odonata.check_report import warning

    for one in warnings:
        say(f"warning: {warning(one)}")


def print_json(content: Any) -> None:
    """Prints an answer for machines."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


@contextlib.contextmanager
def open_pipe() -> Iterator[None]:
    """Bears that nobody reads to the end what is printed inside (`odonata summary DIR | head`)."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer has to go somewhere when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"error: the answer could not be printed: {error.strerror or error}")
            raise typer.Exit(HOST_FAILED) from None


@contextlib.contextmanager
def reported(as_json: bool) -> Iterator[None]:
    """Shows errors that a user can mend as one block, and ends with their exit code."""
    try:
        yield
    except InputError as error:
        say(f"error: {error}")
        if as_json:
            print_json({"error": error.as_dict()})
        raise typer.Exit(INPUT_WRONG) from None
    except RunSuspended as error:
        say(f"{error}; {left(error)}")
        raise typer.Exit(INTERRUPTED) from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        say(f"error: {error.strerror or error}{place}; {left(error)}")
        raise typer.Exit(HOST_FAILED) from None
    except MemoryError as error:
        say(f"error: not enough memory; {left(error)}")
        raise typer.Exit(HOST_FAILED) from None
    except BaseException as error:
        # A panic of the core is an error of ours, and is no Exception; it gets a sentence all the same.
        if type(error).__name__ != "PanicException":
            raise
        say(f"error: Odonata itself failed, please report it: {error}; {left(error)}")
        raise typer.Exit(HOST_FAILED) from None


def left(error: BaseException) -> str:
    """What an error has left of a run, as whoever cleaned up has noted."""
    return "; ".join(getattr(error, "__notes__", [])) or "nothing was written"
