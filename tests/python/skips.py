"""What may be skipped: nothing but what stands in `tests/skips.toml`, with its reason.

Of Python tests this counts where `ODONATA_NO_SKIPS` is 1, as in `.ci/run`: elsewhere a machine may lack an
MPI library. Tests of reference traces may be skipped where `ODONATA_REFERENCE` names none.
Of Rust tests it counts always: `cargo test | python tests/python/skips.py` passes on what cargo says, and
ends with exit code 1 if a test was ignored.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

ALLOWED = Path(__file__).parents[1] / "skips.toml"

#: A line of `cargo test` for a test that was not run.
IGNORED = re.compile(r"^test (.+?) \.\.\. ignored")

_skipped: dict[str, str] = {}


def unexpected(names: list[str]) -> list[str]:
    """Those of the skipped tests that no pattern of the list fits."""
    patterns = [entry["test"] for entry in tomllib.loads(ALLOWED.read_text())["skip"]]
    return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in patterns)]


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        _skipped[report.nodeid] = reason


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "reference" not in report.keywords or os.environ.get("ODONATA_REFERENCE"):
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


def main() -> int:
    """Passes on what `cargo test` says."""
    ignored = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        if found := IGNORED.match(line):
            ignored.append(found[1])
    wrong = unexpected(ignored)
    for name in wrong:
        print(f"ignored, and not in {ALLOWED.name}: {name}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
