"""The libraries that commands import: a command starts quickly because it imports only what it needs."""

import subprocess
import sys

import launcher
import pytest
from conftest import SMALL

#: Carries out a command, and writes the names of all modules that are imported by then.
COMMAND = """\
import sys
from odonata import cli
code = cli.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write("\\n".join(sys.modules))
sys.exit(code)
"""
ARRAYS = {"numpy", "pandas", "pyarrow.dataset"}
TABLES = {"pyarrow", *ARRAYS}
PAGES = {"rich.console", "jinja2", "matplotlib"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a scenario and its results."""
    made = tmp_path_factory.mktemp("imported")
    (made / "scenario.toml").write_text(SMALL)
    modules(made, "run", "scenario.toml", "-o", "out", "-q", "--set", "run.lost_time=true")
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


def test_the_list_of_commands_imports_none_of_them(folder):
    found = modules(folder, "--help")
    assert not found & (TABLES | PAGES)
    commands = {name for name in found if name.startswith("odonata.commands.")}
    assert commands == {"odonata.commands.declared", "odonata.commands.listed"}


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (("check", "scenario.toml"), TABLES),
        (("run", "scenario.toml", "-o", "quiet", "-q"), ARRAYS | PAGES | {"pyarrow.compute"}),
        (("run", "scenario.toml", "-o", "told"), ARRAYS),
        (("run", "scenario.toml", "-o", "alone", "--baselines"), ARRAYS),
        (("summary", "out"), ARRAYS),
        (("summary", "out", "--json"), ARRAYS | {"matplotlib"}),
        (("compare", "out", "out"), {"numpy", "pandas"}),
    ],
    ids=lambda value: " ".join(value if isinstance(value, tuple) else sorted(value)),
)
def test_a_command_imports_no_library_that_it_does_not_use(folder, arguments, absent):
    assert not modules(folder, *arguments) & absent


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
