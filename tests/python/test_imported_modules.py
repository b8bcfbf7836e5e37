"""The libraries that commands import: a command starts quickly because it imports only what it needs."""

import subprocess
import sys

import launcher
import pytest
from conftest import SMALL

#: Carries out a command, and writes the names of all modules that it has imported.
COMMAND = """\
import sys
before = set(sys.modules)
from odonata import cli
code = cli.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write("\\n".join(set(sys.modules) - before))
sys.exit(code)
"""

#: The packages that commands may import, by purpose. pyarrow looks for cloudpickle and dateutil.
WORDS = {"click"}
RUNS = WORDS | {"annotated_types", "typing_extensions"}
TABLES = RUNS | {"pyarrow", "cython_runtime", "cloudpickle", "dateutil"}
PAGES = TABLES | {"rich"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a scenario and its results."""
    made = tmp_path_factory.mktemp("imported")
    (made / "scenario.toml").write_text(SMALL)
    modules(
        made,
        "run",
        "scenario.toml",
        "-o",
        "out",
        "-q",
        "--set",
        "run.lost_time=true",
        "--set",
        "run.lost_time_path=10",
    )
    return made


def modules(folder, *arguments):
    """The modules that a command imports."""
    listed = folder / "modules.txt"
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(listed), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=launcher.PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return set(listed.read_text().split())


def packages(found):
    """The installed packages of modules."""
    names = {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"odonata"}
    # Such modules have a version of Cython or a platform in their names.
    return {name for name in names if not name.startswith(("_cython_", "_sysconfigdata_"))}


def test_the_list_of_commands_imports_none_of_them(folder):
    found = modules(folder, "--help")
    assert packages(found) <= WORDS
    commands = {name for name in found if name.startswith("odonata.commands.")}
    assert commands == {"odonata.commands.declared", "odonata.commands.listed"}


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (("check", "scenario.toml"), WORDS | {"platformdirs", "rich"}),
        (("run", "scenario.toml", "-o", "quiet", "-q"), TABLES),
        (("run", "scenario.toml", "-o", "shown"), PAGES),
        (("run", "scenario.toml", "-o", "alone", "--baselines"), PAGES),
        (("summary", "out"), PAGES),
        (("summary", "out", "--json"), PAGES),
        (("explain", "out"), PAGES),
        (("compare", "out", "out"), PAGES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_command_imports_no_package_that_it_does_not_use(folder, arguments, allowed):
    assert packages(modules(folder, *arguments)) <= allowed


def test_a_quiet_run_computes_nothing_from_its_tables(folder):
    found = modules(folder, "run", "scenario.toml", "-o", "silent", "-q")
    assert not found & {"pyarrow.compute", "pyarrow.dataset"}


def test_a_program_in_python_has_the_whole_of_pyarrow(folder):
    (folder / "arrays.py").write_text(
        "from odonata.operations import compute\n"
        "def arrays(rank, ranks):\n"
        "    import pyarrow as pa\n"
        "    yield compute(float(pa.array([1e-6, 2e-6]).to_numpy().sum()))\n"
        "    yield compute(float(pa.table({'s': [1e-6]}).to_pandas()['s'].sum()))\n"
    )
    scenario = "[machine.torus]\ndims = [4]\n[[jobs]]\npython = 'arrays.py:arrays'\nranks = 2\n"
    (folder / "arrays.toml").write_text(scenario)
    assert {"numpy", "pandas"} <= modules(folder, "run", "arrays.toml", "-o", "arrays")
