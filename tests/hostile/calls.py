"""Calls of Odonata in trials: simulate within a budget, and run a command like a user.

Both run in this process, a worker that may be killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hostile.oracle import CODES, Finding, text_rules
from odonata import _core
from odonata.analysis.reference import OUTCOMES
from odonata.running import runner
from odonata.scenario import reading

#: Wall time of a slice, in seconds.
SLICE_S = 0.02


@dataclass
class Simulated:
    """A run that ended by itself or exhausted its budget."""

    run: dict[str, Any]
    finished: bool
    events: int
    tables: dict[str, Any] = field(default_factory=dict)

    @property
    def outcome(self) -> str:
        """The outcome, also of an unfinished run."""
        return str(self.run["outcome"]) if self.finished else "out of budget"


def drive(simulation: _core.Simulation, events: int) -> tuple[bool, int]:
    """Advances to the end or for this many events; returns whether it ended, and the number of events."""
    while True:
        state = simulation.advance(SLICE_S)
        if state["finished"] or state["events"] >= events:  # type: ignore[operator]
            return bool(state["finished"]), int(state["events"] or 0)


def simulate(
    path: Path,
    events: int,
    overrides: Sequence[str] = (),
    *,
    tables: Sequence[str] | None = (),
) -> Simulated:
    """Runs the scenario at `path` for about this many events at most; with these tables, or all (None)."""
    simulation = runner.Task(reading.read_scenario(path), str(path), list(overrides), None).build()
    finished, seen = drive(simulation, events)
    simulation.finish(interrupted=not finished)
    from odonata.analysis.tables import from_core

    names = simulation.table_names() if tables is None else tables
    made = {name: from_core(simulation, name) for name in names}
    return Simulated(runner.description(simulation), finished, seen, made)


def rows(simulated: Simulated, table: str) -> list[dict[str, Any]]:
    """The rows of a requested table."""
    found: list[dict[str, Any]] = simulated.tables[table].to_pylist()
    return found


def fingerprint(simulation: _core.Simulation) -> str:
    """A hash over all tables of a finished simulation: the digest covers what they are made from."""
    found = hashlib.blake2b(digest_size=16)
    for name in simulation.table_names():
        table = simulation.table(name)
        for declared, column in zip(table.schema, table.columns, strict=True):
            found.update(f"{name} {declared.name} {declared.type} {len(column)}\n".encode())
            for buffer in filter(None, column.buffers()):
                found.update(buffer)
    return found.hexdigest()


@dataclass(frozen=True)
class Transcript:
    """The output of a command, and its exit code."""

    arguments: tuple[str, ...]
    #: None: it raised an exception that no user should see.
    code: int | None
    out: str
    err: str
    escaped: BaseException | None = None

    @property
    def command(self) -> str:
        """The command line."""
        return "odonata " + " ".join(self.arguments)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Makes `folder` the current folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def command(folder: Path, *arguments: str) -> Transcript:
    """Runs the command `odonata` in `folder`."""
    from odonata import cli

    code: int | None = None
    escaped: BaseException | None = None
    with contextlib.ExitStack() as stack:
        # Files, as from a shell, with Python's error handling for them.
        out = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
        err = stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace"))
        stack.enter_context(inside(folder))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        try:
            end = cli.call(list(arguments))
            code = end if isinstance(end, int) else 0 if end is None else 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            escaped = error
        texts = []
        for file in (out, err):
            try:
                file.flush()
                file.seek(0)
                texts.append(file.read())
            except OSError:
                # If an answer could not be printed, its stream is another file now.
                texts.append("")
    return Transcript(arguments, code, texts[0], texts[1], escaped)


def contents(folder: Path) -> dict[str, bytes]:
    """All files below `folder`, hidden ones too, by their names; folders have a `/` at their end."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path).encode(errors="surrogateescape")
        elif path.is_dir():
            found[f"{name}/"] = b""
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def command_rules(
    done: Transcript,
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    *,
    makes: str | None = None,
    codes: Sequence[int] = (0, 2, 3),
    made_with: Sequence[int] = (0, 3),
) -> list[Finding]:
    """Whether a command ended correctly.

    `makes` is the folder or file that it makes if it ends with one of the codes `made_with`; `codes` are the
    allowed exit codes.
    """
    from hostile.oracle import failure

    what = done.command
    if done.escaped is not None:
        return [failure(what, done.escaped)]
    found = text_rules(what, done.err) + text_rules(what, done.out)
    message = done.err.strip() or done.out.strip()
    if done.code not in CODES or done.code not in codes:
        cause = f"{done.arguments[0]}: {message.split(':')[-1][:40]}"
        found.append(Finding(f"exit code {done.code}", f"{what}: {message}", cause))
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    may_make = makes is not None and done.code in made_with
    left = [name for name in changed if not (may_make and (name == makes or name.startswith(f"{makes}/")))]
    if left:
        found.append(Finding("left behind", f"{what} (exit code {done.code}): {', '.join(left[:5])}"))
    usage = "Usage: " in message
    if done.code == 2 and not usage and "error" not in message.lower():
        found.append(Finding("no error is reported", f"{what}: {message}"))
    if done.code == 2 and not usage and done.out and "--json" not in done.arguments:
        found.append(Finding("an answer beside an error", f"{what}: {done.out[:200]}"))
    if done.code in (0, 3) and done.arguments[0] == "run":
        found += _result_rules(done, before, after)
    return found


def _result_rules(done: Transcript, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[Finding]:
    """Whether the result of a run matches its exit code."""
    made = [
        name
        for name in after
        if name.endswith("run.json") and name not in before and "baselines/" not in name
    ]
    if len(made) != 1:
        return [Finding("no result", f"{done.command} (exit code {done.code}): {made}")]
    outcome = json.loads(after[made[0]])["outcome"]
    expected = OUTCOMES.get(outcome, (None, ""))[0]
    if expected != done.code:
        return [Finding("exit code and outcome", f"{done.command}: exit code {done.code}, outcome {outcome}")]
    return []
