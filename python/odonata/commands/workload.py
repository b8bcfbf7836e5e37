"""Programs in coNCePTuaL: `odonata workload`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.commands.declared import Shown, argument, command, option, switch
from odonata.errors import FORMAT_DIFFERS, INPUT_WRONG, InputError, given
from odonata.errors import option as named
from odonata.programs import conceptual
from odonata.scenario import reading

if TYPE_CHECKING:
    from odonata.commands.declared import PathLike
    from odonata.tool_answers import ProgramCheck, ProgramRecord

PROGRAM = argument("FILE", "Program (.ncptl).")
STRICT = switch("Accept only the language of reference release 1.5.1b.")
IGNORE_UNKNOWN_BACKEND = switch("Skip text for unknown back ends, with a warning.")


def _check(program: Path, *, strict: bool, ignore_unknown_backend: bool, as_json: bool) -> Shown:
    report = conceptual.checked(program, strict=strict, ignore_unknown_backend=ignore_unknown_backend)

    def show() -> None:
        if report["valid"]:
            print(f"{program}: valid")
            for p in report["parameters"]:
                print(f"  {p['long']}, {p['short']}  {p['about']} (default {p['default']})")

    notes = [*(error["shown"] for error in report["errors"]), *report["warnings"]]
    return Shown(report, show, notes, code=0 if report["valid"] else INPUT_WRONG)


@command(
    "workload check",
    "Check a program, and list its options.",
    terminal=_check,
    program=PROGRAM,
    strict=STRICT,
    ignore_unknown_backend=IGNORE_UNKNOWN_BACKEND,
)
def workload_check(
    program: PathLike, *, strict: bool = False, ignore_unknown_backend: bool = False
) -> ProgramCheck:
    """Checks a coNCePTuaL program, and returns its errors and options.

    Args:
        program: File of the program (.ncptl).
        strict: Accept only the language of reference release 1.5.1b.
        ignore_unknown_backend: Skip text for unknown back ends.

    Raises:
        InputError: The program cannot be read.

    >>> import odonata
    >>> odonata.workload_check("examples/conceptual.ncptl")["valid"]
    True
    """
    found = conceptual.checked(Path(program), strict=strict, ignore_unknown_backend=ignore_unknown_backend)
    return cast("ProgramCheck", found)


def _format(program: Path, *, write: bool, check: bool, as_json: bool) -> Shown:
    if write and check:
        raise InputError("one of them", key=named("write"), expected=given("write") + " or " + given("check"))
    before, after = conceptual.formatted(program)
    if write and before != after:
        conceptual.replace(program, after)

    def show() -> None:
        if not write and not check:
            print(after, end="")
        elif before != after:
            print(f"{program}: {'formatted' if write else 'would be formatted'}")

    return Shown(after, show, code=FORMAT_DIFFERS if check and before != after else 0)


@command(
    "workload format",
    """Print a program in one layout.

    That is indentation, spaces, keywords in lower case.

    Line breaks and comments stay in place. The meaning does not change: words, numbers, strings and signs
    stay the same.
    """,
    terminal=_format,
    writes="write",
    has_json=False,
    program=PROGRAM,
    write=switch("Replace the file if it differs.", "--write", "-w"),
    check=switch("Write nothing; exit with code 1 if the file differs."),
)
def workload_format(program: PathLike) -> str:
    """Returns a coNCePTuaL program in one layout: indentation, spaces, keywords in lower case.

    Raises:
        InputError: The program cannot be read or is invalid.

    >>> import odonata
    >>> odonata.workload_format("examples/conceptual.ncptl").splitlines()[-2].strip()
    'task 0 computes aggregates'
    """
    return conceptual.formatted(Path(program))[1]


def _compile(program: Path, tasks: int, args: list[str] | None, *, as_json: bool, **options: Any) -> Shown:
    content, failure = conceptual.record(program, tasks, args or [], **options)

    def show() -> None:
        if failure is None:
            print("\n".join(conceptual.listing(content)))

    if failure is not None:
        return Shown(content, show, [failure], code=INPUT_WRONG)
    return Shown(content, show, [] if as_json else [f"warning: {text}" for text in content["warnings"]])


@command(
    "workload compile",
    """List all operations, and report whether all tasks finish.

    Without a clock, timed loops have three passes and one warm-up pass.
    """,
    terminal=_compile,
    program=PROGRAM,
    tasks=option("Number of tasks.", "--tasks", "-n", metavar="N", type=int, least=1, most=1 << 24),
    args=argument("[-- ARGS]", "Command line of the program.", list[str], default=None),
    seed=option("Seed of random tasks.", metavar="N", type=int, least=0, most=reading.LARGEST_SEED),
    strict=STRICT,
    ignore_unknown_backend=IGNORE_UNKNOWN_BACKEND,
)
def workload_compile(
    program: PathLike,
    tasks: int,
    args: Sequence[str] = (),
    *,
    seed: int = 1,
    strict: bool = False,
    ignore_unknown_backend: bool = False,
) -> ProgramRecord:
    """Returns every operation of every task of a coNCePTuaL program, and whether all tasks finish.

    Args:
        program: File of the program (.ncptl).
        tasks: Number of tasks.
        args: Command line of the program.
        seed: Seed of random tasks.
        strict: As in `workload_check`.
        ignore_unknown_backend: As in `workload_check`.

    Raises:
        InputError: The program cannot be read, is invalid, or fails with this command line.

    >>> import odonata
    >>> found = odonata.workload_compile("examples/conceptual.ncptl", 2, ["--reps", "1"])
    >>> found["completion"]
    ['complete']
    """
    reading.check_seed(seed)
    if not 1 <= tasks <= 1 << 24:
        raise InputError("no number of tasks", key="tasks", value=str(tasks), expected="1 to 2^24")
    record, failure = conceptual.record(
        Path(program),
        tasks,
        list(args),
        seed=seed,
        strict=strict,
        ignore_unknown_backend=ignore_unknown_backend,
    )
    if failure is not None:
        raise InputError(failure.removeprefix("error: "), file=str(program))
    return cast("ProgramRecord", record)
