"""Hostile calls of a command: names in any bytes, closed streams, Ctrl-C at any moment."""

import json
import os
import re
import subprocess

import launcher
import pytest
from conftest import ODONATA, ROOT, SMALL, Shell, StartedShell, Transcript

import odonata


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A folder with a scenario and its results `out`."""
    shell = StartedShell(tmp_path_factory.mktemp("environment"))
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q").code == 0
    return shell


def call(shell, *arguments, closed=(), **options):
    """The command as a shell calls it, with these streams closed; arguments may be bytes."""
    environment = os.environ | {"COLUMNS": "110", "NO_COLOR": "1"} | options.pop("environment", {})

    def close():
        for number in closed:
            os.close(number)

    done = launcher.run(
        [*ODONATA, *arguments],
        cwd=shell.folder,
        env=environment,
        stdout=options.pop("stdout", subprocess.PIPE),
        before=close,
        **options,
        text=False,
    )
    out, err = ((text or b"").decode(errors="surrogateescape") for text in (done.stdout, done.stderr))
    return Transcript(done.returncode, out, err)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["run", "scenario.toml", "-o", b"caf\xe9"], "-o"),
        (["run", "scenario.toml", "--set", b"name=caf\xe9"], "--set"),
        (["run", "scenario.toml", b"--out=caf\xe9"], "argument 3"),
        (["run", b"caf\xe9.toml"], "argument 2"),
        (["check", b"caf\xe9.toml"], "argument 2"),
        (["describe", "scenario.toml", "--export", b"caf\xe9.graphml"], "--export"),
        (["summary", b"caf\xe9"], "argument 2"),
        (["compare", "out", b"caf\xe9"], "argument 3"),
        (["trace", "info", b"caf\xe9"], "argument 3"),
        (["workload", "check", b"caf\xe9.ncptl"], "argument 3"),
        (["load-sweep", "scenario.toml", "--job", b"caf\xe9"], "--job"),
        ([b"caf\xe9"], "argument 1"),
    ],
)
def test_an_argument_that_is_not_utf_8_is_named(results, arguments, key):
    before = results.files()
    done = call(results, *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: not UTF-8 text\n")
    assert f"  key       {key}\n" in done.err
    assert "caf\\udce9" in done.err
    assert results.files() == before


def test_an_argument_that_is_not_utf_8_is_an_error_in_json_too(results):
    done = call(results, "run", "scenario.toml", "-o", b"caf\xe9", "--json")
    assert json.loads(done.out)["error"]["expected"] == "text in UTF-8"


def test_names_that_are_not_utf_8_are_named_in_python_too(tmp_path):
    strange = os.fsdecode(b"caf\xe9")
    scenario = tmp_path / "scenario.toml"
    scenario.write_text(SMALL)
    for ask in (
        lambda: odonata.run(tmp_path / strange),
        lambda: odonata.check(tmp_path / strange),
        lambda: odonata.run(scenario, tmp_path / strange),
        lambda: odonata.run(scenario, tmp_path / "with\0nul"),
        lambda: odonata.run(tmp_path / "with\0nul"),
        lambda: odonata.check(scenario, overrides={"name": strange}),
        lambda: odonata.check({"name": strange}),
    ):
        with pytest.raises(odonata.InputError):
            ask()
    assert os.listdir(tmp_path) == ["scenario.toml"]


@pytest.mark.slow
def test_a_folder_above_may_have_any_name(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    shell = StartedShell(folder)
    shell.write(SMALL)
    done = call(shell, "run", "scenario.toml", "-o", "out")
    assert (done.code, done.err) == (0, "")
    assert call(shell, "summary", "out").out.startswith("small: completed")


#: Tables, JSON, the version and a help page; other commands print in one of these ways.
COMMANDS = [
    ["summary", "out"],
    ["describe", "scenario.toml", "--json"],
    ["--version"],
    ["run", "--help"],
    pytest.param(["summary", "out", "--json"], marks=pytest.mark.slow),
    pytest.param(["compare", "out", "out"], marks=pytest.mark.slow),
    pytest.param(["check", "scenario.toml"], marks=pytest.mark.slow),
    pytest.param(["schema"], marks=pytest.mark.slow),
    pytest.param(["schema", "--tables", "--markdown"], marks=pytest.mark.slow),
    pytest.param(["--help"], marks=pytest.mark.slow),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_answer_on_a_closed_standard_output_is_an_error(results, arguments):
    done = call(results, *arguments, closed=[1])
    assert done.code == 1
    assert done.err == "error: the answer could not be printed: Bad file descriptor\n"


@pytest.mark.parametrize("arguments", COMMANDS)
def test_an_answer_on_a_full_disk_is_an_error(results, arguments):
    with open("/dev/full", "wb") as full:
        done = call(results, *arguments, stdout=full)
    assert done.code == 1
    assert done.err == "error: the answer could not be printed: No space left on device\n"


def test_a_run_needs_no_streams(shell):
    shell.write(SMALL)
    for number, closed in enumerate(([0], [2], [0, 2], [0, 1, 2])):
        done = call(shell, "run", "scenario.toml", "-q", "-o", f"out{number}", closed=closed)
        assert (done.code, done.out, done.err) == (0, "", "")
        assert odonata.load(shell.folder / f"out{number}").completed
    # Output must not go into a file that gets the number of a closed stream.
    done = call(shell, "run", "scenario.toml", "-o", "loud", closed=[0, 1])
    assert done.code == 1
    assert "the answer could not be printed: Bad file descriptor; the results are in loud" in done.err
    assert odonata.load(shell.folder / "loud").completed
    done = call(shell, "run", "scenario.toml", "-o", "loud", closed=[2])
    assert (done.code, done.out, done.err) == (2, "", "")


def test_a_full_disk_under_standard_error_does_not_end_a_run(shell):
    shell.write(SMALL)
    with open("/dev/full", "wb") as full:
        done = launcher.run(
            [*ODONATA, "run", "scenario.toml", "-o", "out"], cwd=shell.folder, stderr=full, text=False
        )
    assert done.returncode == 0
    assert b"small: completed" in done.stdout


@pytest.mark.slow
def test_any_encoding_of_the_terminal_will_do(results):
    results.write(SMALL.replace('name = "halo"', 'name = "hal\u00f6 \u2192"'), "names.toml")
    for encoding in ("ascii", "latin-1", "utf-8"):
        environment = {"PYTHONIOENCODING": encoding}
        done = call(results, "check", "names.toml", environment=environment)
        assert (done.code, done.err) == (0, "")
        answer = call(results, "check", "names.toml", "--json", environment=environment).out
        text = answer.encode(errors="surrogateescape").decode(encoding)
        assert json.loads(text)["jobs"][0]["name"] == "hal\u00f6 \u2192"


@pytest.mark.slow
def test_names_are_shown_as_they_are(shell):
    """Including text in brackets or between colons."""
    shell.write(SMALL.replace('name = "halo"', 'name = "[/b] :smile: [red]"'))
    for arguments in (["check", "scenario.toml"], ["run", "scenario.toml", "-o", "out"], ["summary", "out"]):
        done = shell(*arguments)
        assert (done.code, done.err) == (0, "")
        assert "[/b] :smile: [red]" in done.out
    assert shell("compare", "out", "out", "--all").code == 0


#: Ctrl-C when MODULE is being imported.
INTERRUPTED = """\
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "MODULE":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["odonata", "summary", "out"]
from odonata.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["odonata.cli", "click", "odonata._core", "rich.table", "pyarrow.lib"])
def test_ctrl_c_while_libraries_are_imported_is_answered_at_once(results, module):
    done = launcher.run([ODONATA[0], "-c", INTERRUPTED.replace("MODULE", module)], cwd=results.folder)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped; nothing was written\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trace", "convert", "nan.toml", "x.program", "--compute-scale", "2"], "--compute-scale"),
        (["trace", "convert", "nan.toml", "x.program", "--compute-scale", "nan"], "--compute-scale"),
        (["load-sweep", "scenario.toml", "--loads", "0.1:0.9:5e-324"], "--loads"),
        (["load-sweep", "scenario.toml", "--saturation", "nan"], "--saturation"),
        (["load-sweep", "scenario.toml", "--precision", "nan"], "invalid parameter of the method"),
        (["load-sweep", "scenario.toml", "--latency-threshold", "inf"], "--latency-threshold"),
        (["compare", "out", "out", "--min", "nan"], "--min"),
    ],
)
def test_numbers_that_are_none_are_named(results, server, arguments, message):
    results.write(SMALL, "nan.toml")
    done = Shell(results.folder, server)(*arguments)
    assert (done.code, done.out) == (2, ""), done
    assert message in done.err
    assert "itself failed" not in done.err


def test_what_is_an_error_of_odonata_is_reported_in_a_line(results):
    """And in full if the interpreter is in development mode."""
    script = (
        "import sys\n"
        "from odonata import cli; from odonata.analysis import summary\n"
        "def fail(results): raise TypeError('no such\\nthing')\n"
        "summary.collect = fail\n"
        "sys.argv = ['odonata', 'summary', 'out']\n"
        "cli.main()\n"
    )
    output = []
    for more in ([], ["-X", "dev"]):
        done = launcher.run([ODONATA[0], *more, "-c", script], cwd=results.folder)
        assert (done.returncode, done.stdout) == (1, "")
        output.append(done.stderr)
    assert re.fullmatch(
        r"error: Odonata itself failed, please report it: TypeError: no such thing \(<string>:3\)\n",
        output[0],
    )
    assert "Traceback" in output[1]


def test_the_entry_point_is_the_one_that_hears_ctrl_c():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"odonata": "odonata.__main__:main"}
