"""Runs the tests stage by stage, and ends with one line: passed tests, tests left out, and the commands for
those.

    python tests/run.py                    # the tests of Rust, the digests, the tests of Python
    python tests/run.py --only mpi         # Python tests of one kind (tests/python/selection.py)
    python tests/run.py --all              # everything, slow tests too

A failing stage does not stop the others. Exit code: 0, or 1 if a test failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]

#: Folder of pytest's reports: one for each choice of tests, as several may run at a time.
REPORTS = ROOT / "target"

#: The command for tests of Rust: the build of the package, so that nothing is compiled twice.
CARGO_TEST = ["cargo", "test", "--release", "--workspace", "--locked"]

#: The same in a build with debug assertions and overflow checks.
CARGO_TEST_DEBUG = ["cargo", "test", "--workspace", "--locked"]

#: Tests of Rust that read reference traces, as arguments of `cargo test`.
REFERENCE = (["--test", "loggopsim", "--test", "truth", "--test", "replay"], ["--test", "all", "traces::"])

#: Lines of `cargo test`: the running binary, the result of a test, the end of a binary.
RUNNING = re.compile(
    r"^\s+(?:Running (?:unittests )?(?P<source>\S+) \(.*[/\\](?P<binary>\w+)-\w+\)|Doc-tests (?P<crate>\S+))$"
)
IGNORED = re.compile(r"^test (.+?) \.\.\. ignored(?:, (.*))?$")
RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")

#: Reason for an ignored test of Rust -> the counted reason.
SLOW = {"takes long": "take long (make test-all)"}

#: pytest's message about a test that was left out on purpose.
LEFT_OUT = re.compile(r"^(?:Skipped: )?left out: tests that (?P<need>.*) \((?P<command>.*)\)$")


@dataclass
class Tally:
    """The results of the tests so far."""

    passed: int = 0
    failed: int = 0
    #: Reason -> number of tests left out.
    left_out: Counter[str] = field(default_factory=Counter)

    def line(self) -> str:
        """The last line of the run."""
        text = f"{self.passed:,} passed, {self.failed:,} failed"
        if self.left_out:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.left_out.most_common())
            text += f", {self.left_out.total():,} left out: {reasons}"
        return text


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="KIND", help="Python tests of this kind"
    )
    parser.add_argument("--all", action="store_true", help="everything, slow tests too")
    parser.add_argument("--quick", action="store_true", help="those of single functions and short commands")
    asked = parser.parse_args()
    tally = Tally()
    if asked.only:
        for tests in REFERENCE if "reference" in asked.only else ():
            stage("Rust tests", lambda tests=tests: rust(tally, [*CARGO_TEST, *tests]))
    else:
        stage("Rust tests", lambda: rust(tally, [*CARGO_TEST, *(["--lib"] * asked.quick)], slow=asked.all))
        if asked.all:
            stage("Rust tests with debug assertions", lambda: rust(tally, CARGO_TEST_DEBUG))
        if not asked.quick:
            stage("digests", lambda: digests(tally, whole=asked.all))
    options = [f"--only={kind}" for kind in asked.only] + ["--all"] * asked.all + ["--quick"] * asked.quick
    stage("Python tests", lambda: python(tally, options, alone="mpi" in asked.only))
    print(tally.line(), flush=True)
    return 1 if tally.failed else 0


def stage(name: str, run) -> None:
    """Runs one stage; prints its start and duration."""
    print(f"== {name}", flush=True)
    begun = time.monotonic()
    run()
    print(f"== {name}: {time.monotonic() - begun:.0f} s", flush=True)


def rust(tally: Tally, cargo: list[str], *, slow: bool = False) -> None:
    """Compiles and runs tests of Rust; shows a line per binary, and the output of a failing one.

    `slow` includes ignored tests that take long.
    """
    print("compiling; the first time takes some minutes", flush=True)
    build = [*cargo, "--no-run"]
    if cargo in (CARGO_TEST, CARGO_TEST_DEBUG):
        # The same without a line for each of 40 binaries.
        build = ["build" if word == "test" else word for word in [*cargo, "--tests", "--examples"]]
    if subprocess.run(build, cwd=ROOT, check=False).returncode:
        tally.failed += 1
        print("the tests of Rust do not compile", flush=True)
        return
    with subprocess.Popen(
        [*cargo, "--no-fail-fast", *(["--", "--include-ignored"] if slow else [])],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        assert running.stdout is not None
        seen = count_rust(running.stdout, tally)
    if running.returncode and not seen:
        tally.failed += 1


def count_rust(lines, tally: Tally) -> int:
    """Reads the output of `cargo test`; returns the number of failed tests."""
    name, printed, failures = "", [], 0
    for line in lines:
        if found := RUNNING.match(line):
            name = f"{found['crate']}, documentation"
            if found["binary"]:
                name = f"{found['binary']}, {found['source']}"
            printed = []
            continue
        printed.append(line)
        found = IGNORED.match(line)
        if found and found[2] in SLOW:
            tally.left_out[SLOW[found[2]]] += 1
        elif found:
            print(f"ignored without a reason that is known: {found[1]}", flush=True)
            tally.failed += 1
            failures += 1
        if found := RESULT.match(line):
            passed, failed = int(found[1]), int(found[2])
            tally.passed += passed
            tally.failed += failed
            failures += failed
            if failed:
                print("".join(printed), end="", flush=True)
            if passed or failed:
                print(f"{name}: {passed} passed, {failed} failed", flush=True)
    return failures


def digests(tally: Tally, *, whole: bool) -> None:
    """Compares the results of scenarios with those recorded; a scenario counts as a test."""
    command = [sys.executable, "tests/digests/check.py", *([] if whole else ["--quick"])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    found = re.search(r"^(\d+) cases in .*: (?:(\d+) differ|all as recorded)$", done.stdout, re.M)
    cases, differ = (int(found[1]), int(found[2] or 0)) if found else (0, 1)
    tally.passed += cases - min(differ, cases)
    tally.failed += max(differ, 1 if done.returncode else 0)


def python(tally: Tally, options: list[str], *, alone: bool) -> None:
    """Runs pytest, with one process per core unless its tests use all cores themselves."""
    report = REPORTS / f"pytest{''.join(options).replace('--', '-').replace('=', '-')}.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    spread = [] if alone else ["--numprocesses", "auto", "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", "-q", *spread, f"--junitxml={report}", *options]
    done = subprocess.run(command, cwd=ROOT, check=False)
    if not report.is_file():
        tally.failed += 1
        return
    failures = count_python(ElementTree.parse(report).getroot(), tally)
    if done.returncode and not failures:
        tally.failed += 1


def count_python(report: ElementTree.Element, tally: Tally) -> int:
    """Reads the report of pytest; returns the number of failed tests."""
    failures = 0
    for case in report.iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failures += 1
        elif skipped is not None:
            tally.left_out[reason(skipped.get("message") or "")] += 1
        else:
            tally.passed += 1
    tally.failed += failures
    return failures


def reason(message: str) -> str:
    """The short reason why a test was not run, with the command that runs it."""
    if found := LEFT_OUT.match(message):
        return f"{found['need']} ({found['command']})"
    return message.removeprefix("Skipped: ").strip() or "skipped"


if __name__ == "__main__":
    sys.exit(main())
