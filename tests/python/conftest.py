"""What the tests share: a small scenario, and the command as a user types it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import launcher
import many_commands
import mpi_library
import pytest
import reference
import selection
import surroundings
from selection import pytest_collection_modifyitems, pytest_generate_tests  # noqa: F401
from skips import pytest_collectreport, pytest_runtest_logreport, pytest_sessionfinish  # noqa: F401

import odonata

surroundings.fix()

#: The repository.
ROOT = Path(__file__).parents[2]

#: The command, from the interpreter that runs the tests.
ODONATA = [sys.executable, "-m", "odonata"]

# A home of their own: what the user has configured, and what runs have told of this computer's speed, changes
# no test, and no test changes it.
_HOME = tempfile.TemporaryDirectory(prefix="odonata-home-")
os.environ["HOME"] = _HOME.name

#: Files whose tests are about how commands start, and what they take: they start them as users do.
STARTED = {"test_commands", "test_environment", "test_memory", "test_parallel", "test_sweep_clusters"}

#: Three jobs on 40 nodes, 5 of them storage servers; simulated in well under a second.
SMALL = """\
name = "small"
seed = 3

[machine.dragonfly]
groups = 5
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2

[network.links.global]
bandwidth = "4.7 GiB/s"
buffer = "16 KiB"

[network.routing]
algorithm = "progressive-adaptive"

[storage]
nodes = { per_group = 1 }
device = { capacity = "1 GB" }

[[jobs]]
name = "halo"
ranks = 16
placement = "random"
workload = { stencil = { dims = [4, 4], message = "16 KiB", iterations = 5, compute = "10 us" } }

[[jobs]]
name = "training"
ranks = 8
placement = "random"
workload = { cosmoflow = { iterations = 2, elements = 100000, sample = "1 MiB", compute = "100 us" } }

[[jobs]]
name = "saver"
ranks = 4
workload = { checkpoint = { iterations = 2, total = "16 MB", interval = "100 us" } }
"""

#: Uniform traffic on the same machine that takes minutes: for tests that interrupt it.
ENDLESS = (
    SMALL.partition("[storage]")[0]
    + """\
[run]
message_rows = 0

[[jobs]]
name = "traffic"
ranks = 40
workload = { uniform = { bytes = "4 KiB", mean_interval = "2 us", messages = 1000000000 } }
"""
)

#: Sources that offer thirty times what their links carry, without end.
OVERLOADED = """\
name = "overloaded"

[machine.dragonfly]
groups = 5
routers_per_group = 4
nodes_per_router = 2
global_ports_per_router = 2

[run]
message_rows = 0
scheduler = "sequential"

[[jobs]]
name = "flood"
ranks = 40
workload = { uniform = { bytes = "4 KiB", mean_interval = "8 ns", stop = "10 s" } }
"""


@dataclass(frozen=True)
class Transcript:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


class Shell:
    """A scratch folder with scenario files, and the command `odonata` in it.

    A command is a process of its own, forked from one that has imported the libraries already: see
    `many_commands`.
    """

    def __init__(self, folder: Path, server: many_commands.Server) -> None:
        self.folder = folder
        self.server = server

    def __call__(self, *arguments: str, largest_file: int | None = None) -> Transcript:
        return Transcript(*self.server(self.folder, *arguments, largest_file=largest_file))

    def write(self, text: str, name: str = "scenario.toml") -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def files(self) -> list[str]:
        """Everything below the folder, hidden files included."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


class StartedShell(Shell):
    """The same with the command started as a user starts it, for tests of processes, memory and signals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> Transcript:
        done = launcher.run([*ODONATA, *arguments], cwd=self.folder)
        return Transcript(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session", autouse=True)
def _lasting_commands_end():
    yield
    launcher.end_all("lasting")


@pytest.fixture(autouse=True)
def _commands_end():
    """What a test has started ends with it, also where the test fails or is interrupted."""
    yield
    launcher.end_all()


@pytest.fixture(scope="session")
def server():
    with many_commands.Server() as server:
        yield server


@pytest.fixture
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> Shell:
    if request.module.__name__ in STARTED:
        return StartedShell(tmp_path)
    return Shell(tmp_path, request.getfixturevalue("server"))


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The result folder of the small scenario, run once for all tests that only read."""
    shell = StartedShell(tmp_path_factory.mktemp("small"))
    shell.write(SMALL)
    done = shell("run", "scenario.toml", "-o", "out", "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    return shell.folder / "out"


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> odonata.Results:
    """The results of the long scenario without a break, and without a snapshot."""
    from long_runs import LONG, unbroken

    return unbroken(LONG, tmp_path_factory.mktemp("whole"))


def pytest_configure(config: pytest.Config) -> None:
    selection.declare_markers(config)
    try:
        reference.folder()
    except reference.NotThere as error:
        raise pytest.UsageError(str(error)) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    selection.add_options(parser)
    parser.addoption("--kills", type=int, default=20, help="how often runs are killed to be resumed")


@pytest.fixture(params=mpi_library.names())
def mpi(request: pytest.FixtureRequest) -> mpi_library.Mpi:
    return mpi_library.library(request.param)
