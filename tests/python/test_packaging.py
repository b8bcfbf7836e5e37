"""Package recipes agree with pyproject.toml and Cargo.toml."""

import ast
import contextlib
import re
import sys
import tomllib
import types
from pathlib import Path

import launcher
import pytest
import yaml
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
CONDA = (ROOT / "packaging/conda/recipe.yaml").read_text()
SPACK = ROOT / "packaging/spack/packages/odonata/package.py"


def spack_calls(name):
    """The text of the first argument of every call of a directive."""
    tree = ast.parse(SPACK.read_text())
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name
    ]
    return [call.args[0].value for call in calls]


def bounds(requirement):
    """Name, least version, and first version that is too new.

    >>> bounds("click>=8.5,<9")
    ('click', '8.5', '9')
    """
    return re.fullmatch(r"([\w-]+) ?>=([\d.]+),<([\d.]+)", requirement).groups()


def test_versions_are_those_of_the_workspace():
    assert re.search(r'^  version: "(.*)"$', CONDA, re.MULTILINE)[1] == WORKSPACE["version"]
    assert spack_calls("version") == [WORKSPACE["version"]]
    assert f"rust@{WORKSPACE['rust-version']}:" in spack_calls("depends_on")
    assert f"rust:{WORKSPACE['rust-version']}-slim" in (ROOT / "packaging/Containerfile").read_text()


def test_conda_has_the_dependencies_of_the_package():
    run = re.search(r"^  run:\n((?:    - .*\n)+)", CONDA, re.MULTILINE)[1]
    found = {line.strip("- ") for line in run.splitlines()} - {"python >=3.11"}
    assert sorted(map(bounds, found)) == sorted(map(bounds, PROJECT["dependencies"]))


def test_spack_has_the_dependencies_of_the_package():
    """An upper bound of Spack is the last allowed version: `:2` for `<3`."""
    found = {
        name: (low, high or low)
        for name, low, high in re.findall(
            r"py-([\w-]+)@([\d.]+):?([\d.]*)", "\n".join(spack_calls("depends_on"))
        )
    }
    for requirement in PROJECT["dependencies"]:
        name, low, above = bounds(requirement)
        assert found[name] == (low, str(int(above) - 1)), requirement


def test_hadolint_finds_nothing_in_the_container_file():
    hadolint = Path(sys.executable).with_name("hadolint")
    done = launcher.run([hadolint, "--no-color", ROOT / "packaging/Containerfile"])
    assert (done.returncode, done.stdout) == (0, "")


def test_the_conda_recipe_has_keys_of_its_format_and_names_files_that_there_are():
    """Keys of recipe format 1 (https://rattler.build/latest/reference/recipe_file/)."""
    recipe = yaml.safe_load(CONDA)
    assert recipe["schema_version"] == 1
    assert set(recipe) == {
        "schema_version", "context", "package", "source", "build", "requirements", "tests", "about"
    }  # fmt: skip
    assert set(recipe["build"]) <= {"number", "script", "python", "noarch", "string", "skip"}
    assert set(recipe["requirements"]) <= {"build", "host", "run", "run_constraints", "ignore_run_exports"}
    folder = ROOT / "packaging/conda"
    assert (folder / recipe["source"]["path"]).resolve() == ROOT
    for licence in recipe["about"]["license_file"]:
        assert (ROOT / licence).is_file(), licence
    point = recipe["build"]["python"]["entry_points"][0].split(" = ")
    assert PROJECT["scripts"] == dict([point])
    [imports, commands] = recipe["tests"]
    assert imports["python"]["pip_check"] is True
    assert all(command.startswith("odonata ") for command in commands["script"])
    variants = yaml.safe_load((folder / "variants.yaml").read_text())
    assert variants == {"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}


class Spec(dict):
    """A concrete spec of Spack: its variants, and its dependencies."""

    def __init__(self, variants, **dependencies):
        super().__init__(dependencies)
        self.variants = variants

    def satisfies(self, wanted):
        return wanted in self.variants


@pytest.mark.parametrize("variants", [(), ("+mpi",)])
def test_the_spack_recipe_is_executed(monkeypatch, variants):
    """With stand-ins for the names of `from spack.package import *`."""
    directives, conditions = [], [None]
    package = types.ModuleType("spack.package")

    def directive(name):
        return lambda *values, **options: directives.append((name, values, options, conditions[-1]))

    @contextlib.contextmanager
    def when(condition):
        conditions.append(condition)
        yield
        conditions.pop()

    for name in ("license", "version", "variant", "depends_on"):
        setattr(package, name, directive(name))
    package.when, package.PythonPackage = when, type("PythonPackage", (), {})
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", package)
    place = {"__name__": "package"}
    exec(compile(SPACK.read_text(), SPACK, "exec"), place)
    recipe = place["Odonata"]()
    # Every condition is on an existing variant.
    known = {values[0] for name, values, _, _ in directives if name == "variant"}
    asked = {options["when"] for _, _, options, _ in directives if "when" in options} | {"+mpi"}
    assert {one.lstrip("+~") for one in asked} == known
    assert ("depends_on", ("mpi",), {}, "+mpi") in directives

    prefix = types.SimpleNamespace(lib="/llvm/lib")
    spec = Spec(
        variants,
        mpi=types.SimpleNamespace(mpicc="/mpi/bin/mpicc"),
        llvm=types.SimpleNamespace(prefix=prefix),
    )
    features = " --features mpi" if variants else ""
    assert recipe.config_settings(spec, None) == {"build-args": f"--profile wheel{features}"}
    recipe.spec, environment = spec, {}
    recipe.setup_build_environment(types.SimpleNamespace(set=environment.__setitem__))
    wanted = {"MPICC": "/mpi/bin/mpicc", "LIBCLANG_PATH": "/llvm/lib"} if variants else {}
    assert environment == wanted
    # The build settings in the recipe exist.
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert "wheel" in cargo["profile"]
    assert "mpi" in tomllib.loads((ROOT / "crates/system/odonata-py/Cargo.toml").read_text())["features"]


def test_no_page_says_that_pip_finds_odonata():
    """It is on no index yet; docs/install.md says so."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]:
        for line in page.read_text(encoding="utf-8").splitlines():
            if re.search(r"pip install ['\"]?odonata", line):
                assert "does not work" in line, (page, line)
