"""Output of commands, and their exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from odonata.base.messages import print_json, say
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


def warn(warnings: list[dict[str, Any]]) -> None:
    """Prints the warnings of the core."""
    from odonata.scenario.check_report import warning

    for one in warnings:
        say(f"warning: {warning(one)}")


@contextlib.contextmanager
def open_pipe(results: object = None) -> Iterator[None]:
    """Ignores a reader that closes the pipe early (`odonata summary DIR | head`).

    If printing fails for another reason, the error names the folder `results`.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes the rest of the buffer when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            place = "" if results is None else f"; the results are in {results}"
            say(f"error: the answer could not be printed: {error.strerror or error}{place}")
            raise click.exceptions.Exit(HOST_FAILED) from None


@contextlib.contextmanager
def reported(as_json: bool, *, writes: bool = True) -> Iterator[None]:
    """Prints errors of the input and of the computer as one block, and exits with their code.

    A command that `writes` files also says which of them are left.
    """

    def refuse(error: InputError) -> click.exceptions.Exit:
        rendered = in_terminal(error)
        say(f"error: {rendered}")
        for note in getattr(error, "__notes__", []):
            say(f"  {terminal(note)}")
        if as_json:
            with open_pipe():
                print_json({"error": rendered.as_dict()})
        return click.exceptions.Exit(INPUT_WRONG)

    def fail(text: str, error: BaseException, code: int) -> click.exceptions.Exit:
        state = left(error, writes=writes)
        say(f"{text}; {state}" if state else text)
        return click.exceptions.Exit(code)

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
    except (click.exceptions.Exit, click.Abort, SystemExit):
        raise
    except BaseException as error:
        if isinstance(error, ImportError) and (package := missing(error)) is not None:
            raise refuse(package) from None
        # A panic of the core is not an `Exception`, but is reported like one.
        if sys.flags.dev_mode or not _is_ours(error):
            raise
        raise fail(
            f"error: Odonata itself failed, please report it: {_in_one_line(error)}", error, HOST_FAILED
        ) from None


def left(error: BaseException, *, writes: bool = True) -> str:
    """Returns the notes of an error about files that it left."""
    return "; ".join(map(terminal, getattr(error, "__notes__", []))) or (
        "nothing was written" if writes else ""
    )


def _is_ours(error: BaseException) -> bool:
    """Whether it is an error or a panic of the core."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _in_one_line(error: BaseException) -> str:
    """Returns error and place in one line. `python -X dev -m odonata` shows the traceback."""
    place, trace = "", error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place, trace = f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}", trace.tb_next
    return f"{type(error).__name__}: {' '.join(str(error).split())} ({place})"
