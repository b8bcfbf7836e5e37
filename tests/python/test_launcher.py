"""Commands of tests start alike, however the tests were started, and end with their test."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import launcher
import pytest
import surroundings

HERE = Path(__file__).parent

#: Prints the inherited state of a process.
INHERITED = """\
import json, os, signal, sys
umask = os.umask(0)
print(json.dumps({
    "ignored": [number.name for number in signal.Signals if signal.getsignal(number) == signal.SIG_IGN],
    "blocked": sorted(number.name for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "umask": umask,
    "leads its session": os.getsid(0) == os.getpid(),
    "stdin": sys.stdin.read(),
    "encoding": sys.getfilesystemencoding(),
    "environment": dict(os.environ),
}))
"""

#: Signals that Python itself ignores.
BY_PYTHON = ["SIGPIPE", "SIGXFSZ"]


@contextlib.contextmanager
def ignored_and_blocked(*numbers):
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_command_has_default_signals_whatever_the_tests_have():
    with ignored_and_blocked(signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        plain = subprocess.run(
            [sys.executable, "-c", INHERITED], capture_output=True, stdin=subprocess.DEVNULL
        )
        assert {"SIGINT", "SIGHUP", "SIGTERM"} <= set(json.loads(plain.stdout)["ignored"])
        found = json.loads(launcher.run([sys.executable, "-c", INHERITED]).stdout)
    assert (found["ignored"], found["blocked"]) == (BY_PYTHON, [])
    assert found["leads its session"]
    assert found["stdin"] == ""


def test_a_command_without_room_on_its_disk_leaves_no_part_of_a_compiled_module(tmp_path):
    (tmp_path / "long.py").write_text("\n".join(f"name_{i} = 'a text of its own: {i}'" for i in range(999)))
    program = [sys.executable, "-c", "import long, pathlib; pathlib.Path('large').write_text('x' * 99)"]
    done = launcher.run(program, cwd=tmp_path, largest_file=50)
    assert "File too large" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["large", "long.py"]
    (tmp_path / "large").unlink()
    assert launcher.run(program, cwd=tmp_path, check=True).stderr == ""
    assert (tmp_path / "__pycache__").is_dir()


def test_a_test_process_has_the_same_surroundings_however_it_was_started():
    script = (
        "import os, sys, surroundings\nsurroundings.fix()\nprint(open(os.devnull).encoding)\n"
        f"import launcher\nprint(launcher.run([sys.executable, '-c', {INHERITED!r}]).stdout)"
    )
    odd = {
        **{"FORCE_COLOR": "1", "NO_COLOR": "", "COLUMNS": "20", "LINES": "5", "TERM": "dumb"},
        **{"PYTHONWARNINGS": "error", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "MPLBACKEND": "none"},
        **{"LANG": "tr_TR.UTF-8", "LC_ALL": "POSIX", "LC_NUMERIC": "de_DE", "LANGUAGE": "de"},
        **{"OMPI_MCA_btl": "none", "SLURM_JOB_ID": "7", "PMI_RANK": "3", "RUST_BACKTRACE": "full"},
    }

    def closed():
        os.umask(0o077)
        os.close(0)

    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE, env=os.environ | odd, capture_output=True, preexec_fn=closed
    )
    encoding, _, rest = done.stdout.partition(b"\n")
    assert encoding.lower() == b"utf-8"
    found = json.loads(rest)
    environment = found["environment"]
    assert {name: environment.get(name) for name in surroundings.PRINTED} == surroundings.PRINTED
    left = {name for name in environment if surroundings.is_removed(name)} - set(surroundings.PRINTED)
    # Python sets it without a locale.
    assert left <= {"LC_CTYPE"}
    assert (found["umask"], found["encoding"], found["stdin"]) == (0o022, "utf-8", "")


#: Starts a process in a session of its own, and waits with it. Both say when they run: until then, a process
#: that has been started may show an empty environment.
FAMILY = """\
import subprocess, sys, time
child = [sys.executable, "-c", "import time; print('there', flush=True); time.sleep(3600)"]
started = subprocess.Popen(child, start_new_session=True, stdout=subprocess.PIPE, text=True)
print(started.stdout.readline(), end="", flush=True)
time.sleep(3600)
"""


def family():
    process = launcher.start([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "there\n"
    assert len(launcher.descendants("test")) == 2
    return process


def assert_none_is_left():
    until = time.monotonic() + launcher.PATIENCE_S
    while launcher.descendants("test"):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_what_a_test_leaves_behind_is_killed_and_what_that_has_started():
    process = family()
    launcher.end_all()
    assert process.returncode == -signal.SIGKILL
    assert_none_is_left()


def test_a_command_is_killed_where_its_test_fails():
    with pytest.raises(AssertionError), family() as process:
        raise AssertionError
    assert process.returncode == -signal.SIGKILL


def test_a_command_that_hangs_is_killed():
    with pytest.raises(subprocess.TimeoutExpired):
        launcher.run([sys.executable, "-c", FAMILY], timeout=0.5)
    launcher.end_all()
    assert_none_is_left()


TESTS = f"""\
import os, signal, sys
sys.path.insert(0, {str(HERE)!r})
import launcher, pytest

@pytest.fixture(autouse=True)
def end():
    yield
    launcher.end_all()

def test_it():
    process = launcher.start([sys.executable, "-c", "import time; time.sleep(3600)"])
    with open("pid", "w") as file:
        file.write(str(process.pid))
    os.rename("pid", "started")
    process.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="prctl(2) is a call of Linux")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_command_outlives_tests_that_are_interrupted_or_killed(tmp_path, number):
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    with launcher.start(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as tests:
        until = time.monotonic() + launcher.PATIENCE_S
        while not (tmp_path / "started").exists():
            assert tests.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        pid = int((tmp_path / "started").read_text())
        assert not launcher.is_gone(pid)
        tests.send_signal(number)
        tests.wait(timeout=launcher.PATIENCE_S)
    while not launcher.is_gone(pid):
        assert time.monotonic() < until
        time.sleep(0.01)
