"""A missing package is named with the line that installs it, never as an internal error."""

import subprocess
import sys

import pytest
from conftest import ROOT

import odonata
from odonata import plot
from odonata.base import optional_packages, pictures
from odonata.base.optional_packages import MissingPackage

sys.path.insert(0, str(ROOT / "tests/traces"))

from darshan_writer import Writer

#: Runs the command without the modules of its first argument.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv[1].split(",")))
sys.argv = ["odonata", *sys.argv[2:]]
from odonata.__main__ import main
main()
"""
SWEEP = 'scenario = "base.toml"\nseeds = 2\n'


@pytest.fixture
def without(tmp_path):
    def run(modules, *arguments):
        command = [sys.executable, "-c", WITHOUT, modules, *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def log(tmp_path):
    log = Writer(1)
    log.record("POSIX", 7, "/a", 0, OPENS=1, F_OPEN_START_TIMESTAMP=0.1, F_OPEN_END_TIMESTAMP=0.2)
    log.write(tmp_path / "x.darshan")


@pytest.mark.parametrize(
    ("missing", "installed", "arguments"),
    [
        ("numpy", "numpy", ("trace", "info", "x.darshan")),
        ("darshan", "darshan", ("trace", "info", "x.darshan")),
        ("darshan", "darshan", ("trace", "convert", "x.darshan", "out")),
        ("matplotlib", "matplotlib", ("sweep", "sweep.toml", "--plot", "a.png")),
        ("numpy", "numpy", ("sweep", "sweep.toml", "--plot", "a.png")),
        ("distributed", "distributed dask-jobqueue", ("sweep", "sweep.toml", "--dask", "tcp://127.0.0.1:1")),
        ("scipy", "scipy", ("sweep", "sobol.toml")),
        ("jinja2", "jinja2", ("report", "run")),
    ],
)
def test_a_command_names_the_line_that_installs_a_missing_package(
    without, log, tmp_path, missing, installed, arguments
):
    (tmp_path / "base.toml").write_text((ROOT / "examples/uniform.toml").read_text())
    (tmp_path / "sweep.toml").write_text(SWEEP)
    sobol = '[sample]\nmethod = "sobol"\ncount = 2\nover."network.packet" = ["1 KiB", "2 KiB"]\n'
    (tmp_path / "sobol.toml").write_text(SWEEP + sobol)
    if arguments[0] == "report":
        odonata.run(tmp_path / "base.toml", out=tmp_path / "run", overrides={"run.time_limit": "10 us"})
    done = without(missing, *arguments)
    assert done.returncode == 2, done.stderr
    assert f"pip install {installed}" in done.stderr
    assert "itself failed" not in done.stderr
    assert missing in done.stderr


def test_methods_raise_an_import_error_that_names_the_line(small_results, monkeypatch):
    for module, ask in [
        ("polars", lambda: small_results.polars("jobs")),
        ("pandas", lambda: small_results.frame("jobs")),
        ("matplotlib.figure", lambda: plot.link_map(small_results)),
    ]:
        pictures._kind.cache_clear()
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, module, None)
            with pytest.raises(ImportError, match="pip install " + module.partition(".")[0]) as raised:
                ask()
            assert isinstance(raised.value, odonata.InputError)
    pictures._kind.cache_clear()
    assert small_results.frame("jobs").shape[0] == 1


@pytest.fixture(scope="module")
def small_results():
    return odonata.run(
        {
            "machine": {"torus": {"dims": [2, 2]}},
            "jobs": [{"ranks": 4, "workload": {"uniform": {"load": 0.1, "messages": 10}}}],
        }
    )


def test_a_package_that_is_broken_or_lacks_another_is_distinguished(monkeypatch):
    def refuse(error):
        def imported(name):
            raise error

        monkeypatch.setattr(optional_packages.importlib, "import_module", imported)

    refuse(ImportError("numpy.core.multiarray failed to import", name="numpy"))
    with pytest.raises(MissingPackage, match=r"cannot be imported: numpy\.core") as raised:
        optional_packages.require("pandas", "a frame")
    assert raised.value.hint == "pip install --force-reinstall pandas"
    refuse(ModuleNotFoundError("No module named 'numpy'", name="numpy"))
    with pytest.raises(MissingPackage, match="needs numpy, which is not installed") as raised:
        optional_packages.require("pandas", "a frame", key="--plot")
    assert (raised.value.hint, raised.value.key) == ("pip install numpy", "--plot")


def test_faults_of_odonata_itself_stay_faults():
    for module in ("odonata.nothing", "json.nothing", None):
        assert optional_packages.missing(ModuleNotFoundError("gone", name=module)) is None
    found = optional_packages.missing(ModuleNotFoundError("gone", name="typing_extensions"))
    assert found.hint == "pip install typing-extensions"
