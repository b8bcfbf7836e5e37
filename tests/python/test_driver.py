"""The driver of the tests: what it counts of the reports of `cargo test` and pytest, and its closing line."""

import sys
from xml.etree import ElementTree

import reference

sys.path.insert(0, str(reference.ROOT / "tests"))
import run as driver

CARGO = """\
     Running unittests src/lib.rs (target/release/deps/odonata_units-1)
running 2 tests
test one ... ok
test two::three ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.01s
     Running tests/all/main.rs (target/release/deps/all-2)
running 5 tests
test four ... ok
test five ... FAILED
test six ... ignored, takes a day
test seven ... ignored
test eight ... ignored, takes long

test result: FAILED. 1 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s
"""

PYTEST = """<testsuites><testsuite>
<testcase name="a"/>
<testcase name="b"><failure message="no"/></testcase>
<testcase name="c"><skipped message="left out: tests that need Slurm (make test-slurm)"/></testcase>
<testcase name="d"><skipped message="Skipped: left out: tests that need Slurm (make test-slurm)"/></testcase>
<testcase name="e"><skipped message="Skipped: could not import 'polars'"/></testcase>
</testsuite></testsuites>"""


def test_results_of_rust_are_counted_and_a_test_that_is_ignored_without_a_known_reason_is_a_failure(capsys):
    tally = driver.Tally()
    assert driver.count_rust(CARGO.splitlines(keepends=True), tally) == 3
    assert (tally.passed, tally.failed) == (3, 3)
    assert tally.line() == "3 passed, 3 failed, 1 left out: 1 take long (make test-all)"
    output = capsys.readouterr().out
    assert "odonata_units, src/lib.rs: 2 passed, 0 failed" in output
    assert "all, tests/all/main.rs: 1 passed, 1 failed" in output
    assert "ignored without a reason that is known: six\n" in output
    assert "ignored without a reason that is known: seven\n" in output
    # All that a binary with a failure printed, and nothing of the others.
    assert "test five ... FAILED" in output
    assert "two::three" not in output


def test_results_of_python_are_counted_by_missing_parts_and_their_commands():
    tally = driver.Tally(passed=3)
    assert driver.count_python(ElementTree.fromstring(PYTEST), tally) == 1
    assert tally.line() == (
        "4 passed, 1 failed, 3 left out: 2 need Slurm (make test-slurm), 1 could not import 'polars'"
    )


def test_without_a_test_left_out_the_line_says_no_more():
    assert driver.Tally(passed=1234).line() == "1,234 passed, 0 failed"
