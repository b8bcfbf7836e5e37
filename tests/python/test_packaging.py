"""Recipes of packages say what pyproject.toml and Cargo.toml say."""

import ast
import re
import tomllib

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

    >>> bounds("typer>=0.20,<1")
    ('typer', '0.20', '1')
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
    """An upper bound of Spack is the last version that fits: `:2` for `<3`."""
    found = {
        name: (low, high or low)
        for name, low, high in re.findall(
            r"py-([\w-]+)@([\d.]+):?([\d.]*)", "\n".join(spack_calls("depends_on"))
        )
    }
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["plot"]]
    wanted += PROJECT["optional-dependencies"]["pandas"]
    for requirement in wanted:
        name, low, above = bounds(requirement)
        assert found[name] == (low, str(int(above) - 1)), requirement


def test_no_page_says_that_pip_finds_odonata():
    """It is on no index yet; docs/install.md says so."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "python").rglob("*.py")]:
        for line in page.read_text(encoding="utf-8").splitlines():
            if re.search(r"pip install ['\"]?odonata", line):
                assert "does not work" in line, (page, line)
