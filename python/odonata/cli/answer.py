"""What commands print, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import typer

from odonata.base.optional_packages import missing
from odonata.errors import (
    HOST_FAILED,
    INPUT_WRONG,
    INTERRUPTED,
    InputError,
    RunSuspended,
    in_terminal,
    terminal,
)


def say(text: str) -> None:
    """Prints what is not the answer: to standard error."""
    # Whoever does not want to hear it (a closed pipe, a full disk) does not change how a command ends.
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def warn(warnings: list[dict[str, Any]]) -> None:
    """Says what is probably not meant, as the core has found it."""
    from odonata.scenario.check_report import warning

    for one in warnings:
        say(f"warning: {warning(one)}")


def print_json(content: Any) -> None:
    """Prints an answer for machines."""
    # An encoding that has not all characters would spoil it.
    print(json.dumps(content, indent=2, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


@contextlib.contextmanager
def open_pipe(results: object = None) -> Iterator[None]:
    """Bears that nobody reads to the end what is printed inside (`odonata summary DIR | head`).

    Where it cannot be printed for another reason, `results` says where the results are all the same.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # What is still in the buffer has to go somewhere when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            place = "" if results is None else f"; the results are in {results}"
            say(f"error: the answer could not be printed: {error.strerror or error}{place}")
            raise typer.Exit(HOST_FAILED) from None


@contextlib.contextmanager
def reported(as_json: bool, *, writes: bool = True) -> Iterator[None]:
    """Shows what a user or the computer is to blame for as one block, and ends with the exit code for it.

    Only a command that `writes` something says what of it is left.
    """

    def refuse(error: InputError) -> typer.Exit:
        said = in_terminal(error)
        say(f"error: {said}")
        for note in getattr(error, "__notes__", []):
            say(f"  {terminal(note)}")
        if as_json:
            with open_pipe():
                print_json({"error": said.as_dict()})
        return typer.Exit(INPUT_WRONG)

    def fail(text: str, error: BaseException, code: int) -> typer.Exit:
        state = left(error, writes=writes)
        say(f"{text}; {state}" if state else text)
        return typer.Exit(code)

    try:
        yield
    except InputError as error:
        raise refuse(error) from None
    except RunSuspended as error:
        raise fail(str(error), error, INTERRUPTED) from None
    except KeyboardInterrupt as error:
        raise fail("stopped", error, INTERRUPTED) from None
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        raise fail(f"error: {error.strerror or error}{place}", error, HOST_FAILED) from None
    except MemoryError as error:
        raise fail(f"error: {error or 'not enough memory'}", error, HOST_FAILED) from None
    except (typer.Exit, typer.Abort, SystemExit):
        raise
    except BaseException as error:
        if isinstance(error, ImportError) and (package := missing(error)) is not None:
            raise refuse(package) from None
        # A panic of the core is no Exception, and gets a sentence all the same.
        if sys.flags.dev_mode or not _is_ours(error):
            raise
        raise fail(
            f"error: Odonata itself failed, please report it: {_told(error)}", error, HOST_FAILED
        ) from None


def left(error: BaseException, *, writes: bool = True) -> str:
    """What an error has left of a run, as whoever cleaned up has noted."""
    return "; ".join(map(terminal, getattr(error, "__notes__", []))) or (
        "nothing was written" if writes else ""
    )


def _is_ours(error: BaseException) -> bool:
    """Whether it is for a person: an error, or a panic of the core."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _told(error: BaseException) -> str:
    """What failed, and where, in one line. `python -X dev -m odonata` shows all of it."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place, trace = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}", trace.tb_next
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({place})"
