"""Allowed skips: only the tests in `tests/skips.toml`, with their reasons.

The check is active if `ODONATA_NO_SKIPS` is 1, as in `.ci/run`: other machines may lack an MPI library. Tests
left out by `selection.py` do not count as skipped.
"""

from __future__ import annotations

import os
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from selection import LEFT_OUT

ALLOWED = Path(__file__).parents[1] / "skips.toml"

_skipped: dict[str, str] = {}


def unexpected(names: list[str]) -> list[str]:
    """The skipped tests that match no pattern of the list."""
    patterns = [entry["test"] for entry in tomllib.loads(ALLOWED.read_text())["skip"]]
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)]


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not reason.removeprefix("Skipped: ").startswith(LEFT_OUT):
            _skipped[report.nodeid] = reason


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _note(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    _note(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Processes of pytest-xdist report to the one that counts.
    if os.environ.get("ODONATA_NO_SKIPS") != "1" or hasattr(session.config, "workerinput"):
        return
    wrong = unexpected(sorted(_skipped))
    for name in wrong:
        print(f"\nskipped, and not in {ALLOWED.name}: {name}: {_skipped[name]}", file=sys.stderr)
    if wrong and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
