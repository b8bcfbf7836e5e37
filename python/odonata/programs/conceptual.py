"""The commands `odonata workload`: programs in coNCePTuaL without a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base import foreign
from odonata.base.output_file import OutputFile
from odonata.errors import InputError, call, is_mistake, option

#: The longest program text, in bytes.
LONGEST = 4 << 20


def read_program(path: Path) -> str:
    """The text of a program.

    >>> read_program(Path("missing.ncptl"))
    Traceback (most recent call last):
    ...
    odonata.errors.InputError: the program cannot be read: No such file or directory
    ...
    """
    expected = "a program in coNCePTuaL, at most 4 MiB"
    try:
        content = foreign.read_bytes(path, LONGEST)
    except OSError as error:
        if not is_mistake(error):
            raise
        raise InputError(
            f"the program cannot be read: {error.strerror or error}", file=str(path), expected=expected
        ) from None
    if len(content) > LONGEST:
        raise InputError(f"the program has more than {LONGEST} bytes", file=str(path), expected=expected)
    if path.suffix == ".toml":
        raise InputError(
            "a file in TOML is no program",
            file=str(path),
            expected=expected,
            hint="a scenario is checked by: " + call("check", str(path)),
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the program is not UTF-8 text (byte {error.start})", file=str(path), expected=expected
        ) from None


def checked(path: Path, *, strict: bool = False, ignore_unknown_backend: bool = False) -> dict[str, Any]:
    """Errors and warnings about a program, and its parameters."""
    text = _core.conceptual_check(read_program(path), str(path), strict, ignore_unknown_backend)
    report: dict[str, Any] = json.loads(text)
    return report


def formatted(path: Path) -> tuple[str, str]:
    """The text of a program, and its common layout; raises `InputError` for other text."""
    text = read_program(path)
    try:
        return text, _core.conceptual_format(text, str(path))
    except ValueError as error:
        raise InputError(str(error), file=str(path), expected="a program in coNCePTuaL") from None


def replace(path: Path, text: str) -> None:
    """Writes `text` to the file at `path`, which has the old or the new text at any time."""
    OutputFile(path, key=option("file", "FILE"), replace=True).write(text)


def record(
    path: Path,
    tasks: int,
    args: list[str],
    *,
    seed: int = 1,
    strict: bool = False,
    ignore_unknown_backend: bool = False,
) -> tuple[dict[str, Any], str | None]:
    """Every operation of every task, and the reason why tasks end without operations."""
    text, failure = _core.conceptual_record(
        read_program(path), str(path), path.parent, tasks, args, seed, strict, ignore_unknown_backend
    )
    return json.loads(text), failure


def listing(content: dict[str, Any]) -> list[str]:
    """A record as readable lines."""
    lines = []
    for rank, runs in enumerate(content["ranks"]):
        lines.append(f"task {rank}")
        lines.extend(f"  {_times(repeat)}{_words(op)}" for repeat, op in runs)
    summary = content["summary"]
    lines.append(
        f"{summary['p2p_messages']} messages, {summary['p2p_bytes']} bytes; {summary['barriers']} barriers, "
        f"{summary['multicasts']} multicasts, {summary['reductions']} reductions"
    )
    lines.extend(_end(end) for end in content["completion"])
    return lines


def _times(repeat: int) -> str:
    return f"{repeat} x " if repeat > 1 else ""


def _words(op: list[Any]) -> str:
    """An operation in words.

    >>> _words(["send", 3, 4096, "async", 7])
    'send 4096 bytes to task 3, asynchronously, tag 7'
    >>> _words(["mcast", 0, [1, 2], 50])
    'multicast 50 bytes from task 0 to tasks 1, 2'
    """
    kind, *rest = op
    tasks = _tasks
    match kind:
        case "send" | "recv":
            peer, size, mode, *tag = rest
            way = "send" if kind == "send" else "receive"
            end = "to" if kind == "send" else "from"
            text = f"{way} {size} bytes {end} task {peer}"
            text += ", asynchronously" if mode == "async" else ""
            return text + "".join(f", tag {t}" for t in tag)
        case "waitall":
            return "await completion"
        case "barrier":
            return f"synchronize with tasks {tasks(rest[0])}"
        case "mcast":
            return f"multicast {rest[2]} bytes from task {rest[0]} to tasks {tasks(rest[1])}"
        case "reduce":
            return f"reduce {rest[2]} bytes of tasks {tasks(rest[0])} to tasks {tasks(rest[1])}"
        case "compute_us" | "sleep_us":
            return f"{kind.removesuffix('_us')} for {rest[0]} us"
        case "touch":
            return f"touch {rest[3]} words of {rest[1]} bytes in a region of {rest[0]} bytes"
        case "output":
            return f"output {json.dumps(rest[0], ensure_ascii=False)}"
        case "log":
            return "log " + ", ".join(f"{label} = {value:g}" for label, value in rest)
        case "backend":
            return f"execute {json.dumps(rest[0], ensure_ascii=False)}"
        case "read" | "write":
            return f"{kind} {rest[0]} bytes"
        case "open" | "close":
            return f"{kind} file {rest[0]}"
        case "aggregate":
            return "compute aggregates"
        case _:
            return f"{kind} counters"


def _tasks(tasks: list[int]) -> str:
    if len(tasks) > 8:
        return f"{', '.join(map(str, tasks[:4]))}, ... ({len(tasks)} in all)"
    return ", ".join(map(str, tasks))


def _end(end: str | list[Any]) -> str:
    """An ending of the program in words.

    >>> _end(["never-received", 0, 1, 2])
    'never received: 2 messages from task 0 to task 1'
    """
    if isinstance(end, str):
        return "all tasks come to their end"
    kind, *rest = end
    match kind:
        case "deadlock":
            return f"deadlock: each of these tasks waits for the next: {', '.join(map(str, rest[0]))}"
        case "never-satisfied":
            return f"never satisfied: task {rest[0]} waits for task {rest[1]}, which has ended ({rest[2]})"
        case "never-received":
            return f"never received: {rest[2]} messages from task {rest[0]} to task {rest[1]}"
        case _:
            return f"never awaited: {rest[1]} of kind {rest[2]} at task {rest[0]}"
