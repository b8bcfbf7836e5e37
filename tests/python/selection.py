"""Selection of tests: kinds that take long, or need more than `make setup` installs, run on request.

A test belongs to a kind by a marker of that name. `pytest` alone runs the tests of no kind, `--only=KIND`
those of that kind alone, `--all` every test, `--quick` those of `make check`. Other tests are skipped with a
reason that names their command.
"""

from __future__ import annotations

import pytest

#: Name of the marker -> requirement of its tests, and the command that runs them.
KINDS = {
    "slow": ("take long", "make test-all"),
    "mpi": ("need an MPI library", "make test-mpi"),
    "slurm": ("need Slurm", "make test-slurm"),
    "browser": ("need Chromium", "make test-browser"),
    "reference": ("need traces of real programs", "make test-reference"),
}

#: Files that `--quick` leaves out: they start many commands, and take three quarters of all time.
MANY_COMMANDS = {
    *("test_baselines", "test_calibrate", "test_commands", "test_darshan", "test_docs"),
    *("test_environment", "test_memory", "test_nsys", "test_otf2", "test_programs"),
    *("test_report", "test_resume", "test_run", "test_signals", "test_sweep"),
    *("test_sweep_errors", "test_sweep_resume"),
    *("test_timeline", "test_tpds2016_study", "test_trace_merge", "test_traces"),
}

#: First words of the reason of a test that was left out on purpose.
LEFT_OUT = "left out: "


def add_options(parser: pytest.Parser) -> None:
    """Declares `--only` and `--all`."""
    group = parser.getgroup("selection")
    group.addoption(
        "--only", action="append", choices=list(KINDS), default=[], help="run the tests of this kind"
    )
    group.addoption("--all", action="store_true", help="run the tests of every kind")
    group.addoption("--quick", action="store_true", help="leave out files that start many commands")


def declare_markers(config: pytest.Config) -> None:
    """A marker for each kind."""
    for name, (need, command) in KINDS.items():
        config.addinivalue_line("markers", f"{name}: tests that {need} ({command})")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Refuses parameters in a set: its order changes between the processes that share the tests."""
    for mark in metafunc.definition.iter_markers("parametrize"):
        if isinstance(mark.args[1], (set, frozenset)):
            raise pytest.UsageError(f"{metafunc.definition.nodeid}: the values of {mark.args[0]!r} are a set")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    only = set(config.getoption("--only"))
    others = []
    for item in list(items):
        kinds = {mark.name for mark in item.iter_markers()} & KINDS.keys()
        quick_enough = not config.getoption("--quick") or item.path.stem not in MANY_COMMANDS
        if not quick_enough or (only and not kinds & only):
            others.append(item)
            items.remove(item)
        # A selected kind includes its long tests.
        elif left_out := sorted(kinds - only - ({"slow"} if only else set())):
            need, command = KINDS[left_out[0]]
            # First: a test of a kind may have a skip reason of its own.
            mark = pytest.mark.skip(reason=f"{LEFT_OUT}tests that {need} ({command})")
            item.add_marker(mark, append=False)
    if others:
        config.hook.pytest_deselected(items=others)
