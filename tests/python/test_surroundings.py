"""`odonata` works, with the same results, under hostile conditions."""

import os
import signal
from pathlib import Path

import launcher
import pytest
from conftest import ODONATA, SMALL

import odonata


def closed_input_and_no_interrupts():
    os.umask(0o077)
    os.close(0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


#: Environment, and further steps before the command. None removes a variable.
SURROUNDINGS = {
    "no home, ASCII, closed input, signals ignored": (
        {"HOME": None, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        closed_input_and_no_interrupts,
    ),
    "a home that cannot be written, any umask, scratch space elsewhere, colors": (
        {"HOME": "/proc", "TMPDIR": "/dev/shm", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "COLUMNS": "20"},
        lambda: os.umask(0),
    ),
    "no environment but a home that is not there": (
        dict.fromkeys(os.environ) | {"HOME": "/no/such", "TMPDIR": "/no/such/either"},
        lambda: None,
    ),
    "no docstrings": ({"PYTHONOPTIMIZE": "2", "PYTHONSAFEPATH": "1", "PYTHONHASHSEED": "1"}, lambda: None),
}


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="/dev/shm, a file system of its own, is of Linux")
@pytest.mark.parametrize("name", SURROUNDINGS)
def test_a_run_and_its_summary_are_the_same_in_any_surroundings(tmp_path, small, name):
    variables, before = SURROUNDINGS[name]
    environment = os.environ | {key: value for key, value in variables.items() if value is not None}
    for key in [key for key, value in variables.items() if value is None]:
        del environment[key]
    folder = tmp_path / "a fold\u00e9r"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SMALL, encoding="utf-8")

    def run_command(*arguments):
        done = launcher.run([*ODONATA, *arguments], cwd=folder, env=environment, before=before)
        assert done.returncode == 0, done.stderr
        return done

    done = run_command("run", "scenario.toml", "-o", "out", "--quiet")
    assert (done.stdout, done.stderr) == ("", "")
    assert odonata.load(folder / "out").run["digest"] == odonata.load(small).run["digest"]
    done = run_command("summary", "out", "--json")
    assert done.stdout.startswith('{\n  "name": "small"')
    assert done.stderr == ""
    assert "--baselines" in run_command("run", "--help").stdout
    assert sorted(path.name for path in folder.iterdir()) == ["out", "scenario.toml"]
