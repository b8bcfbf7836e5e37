"""The rules that hold for every trial. A violated rule is a finding.

- Nothing panics, ends in a traceback, aborts or hangs.
- A refusal is an `InputError` with a file, and a line or a key, before anything is made.
- A run ends in one of the outcomes of docs/results.md, and not in an internal error; `completed` means that
  all requested work has been done.
- A command ends with the exit code of docs and README, and leaves its result or nothing.
"""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import odonata
from odonata.analysis.reference import OUTCOMES

T = TypeVar("T")

#: Exit codes: README.md.
CODES = (0, 1, 2, 3, 130)
#: Outcomes that mean an internal error.
OWN_ERRORS = ("conservation-violated",)
#: Synthetic traffic in which every rank sends, for any number of ranks.
EVERYBODY_SENDS = ("uniform", "shift", "all-to-all")
#: More consecutive digits are unreadable.
MOST_DIGITS = 40


@dataclass(frozen=True)
class Finding:
    """A violated rule."""

    #: The rule, in a word or two.
    rule: str
    #: The observation, the most important line first.
    seen: str
    #: The common part of findings with one cause, if that is not the first line.
    cause: str | None = None

    @property
    def kind(self) -> str:
        """Usually the same for findings of one cause: without numbers, names and places."""
        line = (self.seen if self.cause is None else self.cause).strip().partition("\n")[0]
        line = re.sub(r"'[^']*'|\"[^\"]*\"", '"."', line)
        line = re.sub(r"\S*/\S+", "PATH", line)
        line = re.sub(r"\b[0-9a-f]{16,}\b|[-+]?\d[\d_.,]*(e[-+]?\d+)?", "N", line)
        return f"{self.rule}: {line[:140]}"


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """The end of a call: one of the three is not None, or all are and the value is None."""

    value: T | None = None
    refusal: odonata.InputError | None = None
    finding: Finding | None = None


def attempt(what: str, call: Callable[[], T]) -> Attempt[T]:
    """Calls, and returns how the call ended. `what` names the call."""
    try:
        return Attempt(value=call())
    except odonata.InputError as error:
        return Attempt(refusal=error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Attempt(finding=failure(what, error))


def failure(what: str, error: BaseException) -> Finding:
    """The finding for an exception that must never reach a user."""
    name = type(error).__name__
    rule = {"PanicException": "panic", "MemoryError": "out of memory"}.get(name, "traceback")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/hostile/" not in frame.filename] or list(frames)
    where = f"{Path(own[-1].filename).name}, {own[-1].name}" if own else "nowhere"
    trace = "".join(traceback.format_exception(error))
    return Finding(rule, f"{what}: {name}: {error} ({where})\n{trace}", f"{name} in {where}")


def refusal_rules(what: str, error: odonata.InputError, files: Mapping[str, bytes]) -> list[Finding]:
    """Whether an error names its place. `files` are the possible files, by name."""

    def wrong(problem: str) -> Finding:
        return Finding("error without a place", f"{what}: {problem}: {error.message}\n{error.as_dict()}")

    found = []
    if not error.message.strip():
        found.append(wrong("no message"))
    if not error.file:
        return [*found, wrong("no file")]
    if error.line is None and not error.key and not error.expected and not error.hint:
        found.append(wrong("no line, no key, and nothing expected"))
    if error.line is not None:
        content = next((files[name] for name in files if Path(error.file).name == Path(name).name), None)
        if content is not None:
            # Lines as in editors and Python: a carriage return ends a line, too.
            lines = len(
                content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
            )
            if not 1 <= error.line <= lines:
                found.append(wrong(f"line {error.line} of {lines}"))
    try:
        shown = str(error).encode()
        json.dumps(error.as_dict(), ensure_ascii=False).encode()
    except Exception as failed:
        found.append(failure(f"{what}: the error cannot be shown", failed))
    else:
        found += text_rules(what, shown.decode())
    return found


def agreement_rules(checked: Attempt[dict[str, Any]], ran: Attempt[Any]) -> list[Finding]:
    """`check` and `run` refuse the same scenarios.

    Only `check` accepts one without jobs, or one for a larger computer.
    """
    if checked.finding or ran.finding:
        return []
    if checked.value is not None and ran.refusal is not None and checked.value["jobs"]:
        seen = f"{ran.refusal.message} ({ran.refusal.key})"
        return [] if "memory" in seen else [Finding("check accepts what run refuses", seen)]
    if checked.refusal is not None and ran.refusal is None:
        return [
            Finding("check refuses what run accepts", f"{checked.refusal.message} ({checked.refusal.key})")
        ]
    return []


def outcome_rules(what: str, run: Mapping[str, Any]) -> list[Finding]:
    """Whether run.json has a known outcome."""
    outcome, detail = run.get("outcome"), run.get("detail")
    if outcome not in OUTCOMES:
        return [Finding("unknown outcome", f"{what}: {outcome}")]
    if outcome in OWN_ERRORS:
        return [Finding("own error", f"{what}: {outcome}: {detail}")]
    found = []
    if outcome not in ("completed", "interrupted", "time-limit") and not detail:
        found.append(Finding("no detail", f"{what}: {outcome} says no more"))
    if not re.fullmatch(r"[0-9a-f]{32}", str(run.get("digest"))):
        found.append(Finding("no digest", f"{what}: {run.get('digest')}"))
    return found


def whole_rules(
    what: str,
    run: Mapping[str, Any],
    jobs: Sequence[Mapping[str, Any]],
    sent: Mapping[str, int] | None = None,
) -> list[Finding]:
    """Whether `completed` means that everything was done.

    `jobs` are rows of the table; `sent` has the number of messages that the ranks of a job have sent.
    """
    if run["outcome"] != "completed":
        return []
    found = []
    for job in jobs:
        if job["ranks_finished"] != job["ranks"]:
            seen = f"{what}: completed with {job['ranks_finished']} of {job['ranks']} ranks"
            found.append(Finding("half is called whole", seen))
    for name, expected in asked_messages(run["scenario"]).items():
        if sent is not None and sent[name] != expected:
            seen = f"{what}: completed with {sent[name]} of {expected} messages of {name}"
            found.append(Finding("half is called whole", seen))
    return found


def asked_messages(scenario: Mapping[str, Any]) -> dict[str, int]:
    """Messages that jobs of synthetic traffic must send, if the resolved scenario states the number."""
    limit = scenario["run"]["time_limit"]
    asked = {}
    for job in scenario["jobs"]:
        keys = job["workload"].get("synthetic") if isinstance(job["workload"], dict) else None
        if not keys or not keys["messages"] or job["ranks"] < 2 or job["until"] or job["repeat"] != 1:
            continue
        # A job's own stop time reduces the number; the time limit of the run does not.
        if keys["stop"] in (None, limit) and name_of(keys["pattern"]) in EVERYBODY_SENDS:
            asked[job["name"]] = job["ranks"] * keys["messages"]
    return asked


def name_of(choice: Any) -> str:
    """The name of a choice, with or without parameters."""
    return next(iter(choice)) if isinstance(choice, dict) else str(choice)


def text_rules(what: str, text: str) -> list[Finding]:
    """Whether the output is readable."""
    found = []
    for sign in ("Traceback (most recent call last)", "Odonata itself failed", "panicked at"):
        if sign in text:
            where = text.index(sign)
            rule = "panic" if "panic" in sign else "traceback"
            last = text[where:].strip().splitlines()[-1]
            found.append(Finding(rule, f"{what}: {last}\n{text[where:][:4000]}", last))
    if digits := re.search(rf"\d{{{MOST_DIGITS},}}", text):
        before = text[max(0, digits.start() - 60) : digits.start()]
        found.append(
            Finding("digits without end", f"{what}: {before}{digits[0]}", before.split("\n")[-1][-30:])
        )
    return found
