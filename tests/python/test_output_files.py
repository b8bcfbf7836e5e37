"""Output files: whole or not at all, never over another file; and remains of killed commands."""

import importlib
import json
import os
import signal
import stat
import subprocess

import launcher
import pytest
from conftest import ENDLESS, ODONATA, SMALL, StartedShell
from launcher import PATIENCE_S
from long_runs import LONG
from test_resume import killed, place
from test_traces import SCRIPT
from waiting import await_that

from odonata import InputError, operations
from odonata.base import output_file, partial
from odonata.base.partial import LOCK, clear, hidden, make_file, make_folder

#: Larger than 2 KiB as text, and in every output made from it.
PROGRAM = "FOR 3 Repetitions { all tasks SYNCHRONIZE }\n# " + "long " * 500 + "\n"

#: One switch, whose curve is measured quickly.
SWITCH = """\
name = "switch"
machine.dragonfly = { groups = 1, routers_per_group = 1, nodes_per_router = 16, global_ports_per_router = 1 }

[[jobs]]
name = "traffic"
ranks = 16
workload.uniform = { load = 0.5 }
"""

SWEEP = ("load-sweep", "switch.toml", "--loads", "0.2,0.4", "--max-samples", "5", "--sample-period", "3 us")

#: Commands that write to `out` with an ending: arguments, and the option that names it.
FILES = {
    "export": (["describe", "small.toml", "--export"], "out.graphml", "--export"),
    "matrix": (["trace", "info", "ring", "--matrix"], "out.png", "--matrix"),
    "plot": ([*SWEEP, "--plot"], "out.svg", "--plot"),
}
FOLDERS = {
    "run": (["run", "small.toml", "-o"], "out", "--out"),
    "run with baselines": (["run", "small.toml", "--baselines", "-o"], "out", "--out"),
    "run with snapshots": (
        ["run", "small.toml", "--set", "run.checkpoint_interval=1 h", "-o"],
        "out",
        "--out",
    ),
    "sweep": ([*SWEEP, "-o"], "out", "--out"),
    "repeat": (["trace", "repeat", "ring", "-n", "40", "-o"], "out", "--out"),
    "convert": (["trace", "convert", "ring"], "out", "OUT"),
    "convert job": (["trace", "convert", "small.toml", "--job", "halo"], "out", "OUT"),
}
ALL = FILES | FOLDERS


@pytest.fixture
def full(shell, tmp_path, monkeypatch):
    """A folder with all inputs of the commands above."""
    shell.write(SMALL, "small.toml")
    shell.write(SWITCH, "switch.toml")
    shell.write(PROGRAM, "long.ncptl")
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, "docs/traces.md", "exec"), {"__name__": "example"})
    return shell


def contents(shell):
    """Everything below the folder, with contents and permissions."""
    return {
        name: (os.lstat(path).st_mode, path.read_bytes() if path.is_file() else None)
        for name, path in ((name, shell.folder / name) for name in shell.files())
    }


@pytest.mark.parametrize("name", [*ALL, "format"])
def test_a_full_disk_is_the_computers_fault_and_leaves_nothing(full, name):
    before = contents(full)
    arguments, out, _ = ALL.get(name, (["workload", "format", "--write"], "long.ncptl", None))
    done = full(*arguments, out, largest_file=1024)
    assert done.code == 1, done
    assert done.out == ""
    error = done.err.splitlines()[-1]
    assert error.startswith("error: File too large")
    assert error.endswith("; nothing was written")
    # By its final name, not by that of a hidden file.
    assert f"({out}" in error or "(.out.unfinished/" in error
    assert ".partial" not in error
    assert contents(full) == before


def test_a_picture_that_does_not_fit_does_not_cost_the_curve(full):
    importlib.import_module(
        "matplotlib.font_manager"
    )  # writes its cache when it is imported for the first time
    done = full(*SWEEP, "-o", "out", "--plot", "out.svg", "-q", largest_file=12_000)
    assert done.code == 1
    assert done.err == "error: File too large (out.svg); the curve is in out, without a picture\n"
    assert len(json.loads((full.folder / "out/sweep.json").read_text())["points"]) == 2
    assert not [name for name in full.files() if "svg" in name]


@pytest.mark.parametrize("name", ALL)
def test_what_cannot_be_named_so_is_refused_before_any_work(full, name):
    arguments, out, key = ALL[name]
    before = contents(full)
    names = [f"{'x' * 300}{out}", f"small.toml/{out}", f"{'x/' * 2100}{out}"]
    # The folder of a file must exist; the parents of a folder are made.
    names += [f"no/{out}"] if name in FILES else [f"no/{'x' * 300}"]
    for named in names:
        done = full(*arguments, named)
        assert (done.code, done.out) == (2, ""), done
        assert f"  key       {key}\n" in done.err
        assert contents(full) == before


def test_the_longest_name_that_there_is_will_do(full):
    longest = "x" * 255
    assert full("run", "small.toml", "-q", "-o", longest).code == 0
    assert full("run", "small.toml", "-q", "-o", longest, "--force").code == 0
    assert full("run", "small.toml", "-q", "-o", longest).code == 2
    snapshots = ("--set", "run.checkpoint_interval=1 h")
    assert full("run", "small.toml", "-q", "-o", "y" * 250, *snapshots).code == 0
    assert full("describe", "small.toml", "--export", "z" * 255).code == 0
    assert sorted(name for name in os.listdir(full.folder) if len(name) > 200) == [
        longest,
        "y" * 250,
        "z" * 255,
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_replaced_only_when_told_so(full, name):
    arguments, out, key = FILES[name]
    file = full.write("dear to somebody", out)
    file.chmod(0o640)
    done = full(*arguments, out)
    assert (done.code, done.out) == (2, "")
    assert f"error: the file exists\n  key       {key}\n  found     {out}\n" in done.err
    assert "--force" in done.err
    assert file.read_text() == "dear to somebody"
    (full.folder / "link.svg").symlink_to(out)
    linked = "link.svg" if name != "export" else "link.graphml"
    if name == "export":
        (full.folder / linked).symlink_to(out)
    if name == "matrix":
        linked = out
    assert full(*arguments, linked).code == 2
    assert full(*arguments, linked, "--force").code == 0
    assert b"dear to somebody" not in file.read_bytes()
    assert (file.stat().st_mode & 0o777, file.is_symlink()) == (0o640, False)
    assert not [name for name in os.listdir(full.folder) if name.endswith(".partial")]


@pytest.mark.parametrize("name", FILES)
def test_a_new_file_has_the_permissions_of_any_other(full, name):
    arguments, out, _ = FILES[name]
    assert full(*arguments, out).code == 0
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((full.folder / out).stat().st_mode) == 0o666 & ~mask


def test_nothing_that_is_read_is_ever_replaced(full):
    folder = full.folder
    assert full("describe", "small.toml", "--export", "m.graphml").code == 0
    full.write('[machine.graph]\nfile = "m.graphml"\n', "graph.toml")
    full.write(SWITCH.replace("ranks = 16", 'ranks = 16\nplacement = { file = "slots.svg" }'), "placed.toml")
    slots = "slot,rank,terminal\n" + "".join(f"0,{rank},{rank}\n" for rank in range(16))
    full.write(slots, "slots.svg")
    (folder / "link").symlink_to("small.toml")
    os.link(folder / "small.toml", folder / "other-name")
    (folder / "trace.png").symlink_to("ring/ring-0001.bin")
    assert full("trace", "convert", "ring", "ring.program").code == 0
    full.write(SWITCH.replace("workload.uniform = { load = 0.5 }", 'trace = "ring.program"'), "traced.toml")
    before = contents(full)
    for arguments in (
        ["describe", "small.toml", "--export", "small.toml"],
        ["describe", "small.toml", "--export", "./ring/../small.toml"],
        ["describe", "small.toml", "--export", "link"],
        ["describe", "link", "--export", "small.toml"],
        ["describe", "small.toml", "--export", "other-name"],
        ["describe", "graph.toml", "--export", "m.graphml"],
        ["describe", "small.toml", "--set", "machine.graph.file=m.graphml", "--export", "m.graphml"],
        ["describe", "traced.toml", "--export", "ring.program/operations.parquet"],
        ["trace", "info", "ring", "--matrix", "trace.png"],
        ["load-sweep", "placed.toml", "--plot", "slots.svg"],
        ["trace", "convert", "ring.program", "ring.program"],
        ["trace", "convert", "traced.toml", "ring.program"],
    ):
        done = full(*arguments, "--force")
        assert (done.code, done.out) == (2, ""), (arguments, done)
        assert "is an input" in done.err
        assert contents(full) == before


def test_a_scenario_in_the_folder_that_is_to_be_replaced_is_kept(full):
    assert full("run", "small.toml", "-q", "-o", "out").code == 0
    full.write(SMALL, "out/small.toml")
    full.write(
        '[machine.graph]\nfile = "out/m.graphml"\n[[jobs]]\nranks = 2\nworkload.stencil = {}\n', "g.toml"
    )
    assert full("describe", "small.toml", "--export", "out/m.graphml").code == 0
    before = contents(full)
    for scenario in ("out/small.toml", "g.toml"):
        done = full("run", scenario, "-o", "out", "--force")
        assert (done.code, done.out) == (2, "")
        assert "is an input, and lies in the folder to replace" in done.err
        assert contents(full) == before


def test_the_keys_that_name_files_are_all_known(shell):
    """A scenario reads the files of these keys; the schema describes each as a path."""
    schema = json.loads(shell("schema").out)
    found = {
        name
        for one in [schema, *schema["$defs"].values()]
        for kind in [one, *one.get("oneOf", []), *one.get("anyOf", [])]
        for name, key in kind.get("properties", {}).items()
        if "relative to the scenario's folder" in " ".join(key.get("description", "").split())
    }
    assert found <= set(output_file.FILE_KEYS)
    assert {"program", "file"} <= found


def test_devices_and_pipes_are_written_to_as_they_are(full):
    # Like a user: into a pipe.
    done = StartedShell(full.folder)("describe", "small.toml", "--export", "/dev/stdout", "--json")
    assert done.code == 0
    assert "<graphml" in done.out
    done = full("describe", "small.toml", "--export", "/dev/full")
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: No space left on device (/dev/full); nothing was written\n"
    done = full("describe", "small.toml", "--export", "ring")
    assert done.code == 2
    assert "the path is not a file" in done.err


def test_force_is_for_something(full):
    for arguments in (["describe", "small.toml"], ["trace", "info", "ring"]):
        done = full(*arguments, "--force")
        assert done.code == 2
        assert "--force" in done.err


def test_a_file_created_meanwhile_is_not_overwritten(tmp_path):
    target = tmp_path / "out"
    output = output_file.OutputFile(target, key="--export")
    target.write_text("theirs")
    with pytest.raises(InputError, match="File exists"):
        output.write("ours")
    assert target.read_text() == "theirs"
    assert os.listdir(tmp_path) == ["out"]


def test_programs_are_written_from_python_in_the_same_way(tmp_path):
    def program(rank, ranks):
        yield operations.barrier()

    target = tmp_path / "x.program"
    assert operations.write(target, program, 4) == (4, 4)
    with pytest.raises(InputError, match="exists"):
        operations.write(target, program, 4)
    assert operations.write(target, program, 5, force=True) == (5, 5)

    def wrong(rank, ranks):
        yield operations.send(99, 8)

    with pytest.raises(InputError) as caught:
        operations.write(tmp_path / "y.program", wrong, 4)
    # By its final name.
    assert caught.value.file == str(tmp_path / "y.program" / "operations.parquet")
    assert ".partial" not in str(caught.value)
    assert os.listdir(tmp_path) == ["x.program"]


def begun(shell, pattern, *arguments):
    """A command that has started: a file of the name `pattern` exists."""
    process = launcher.start(
        [*ODONATA, *arguments], cwd=shell.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    await_that(lambda: list(shell.folder.glob(pattern)), process)
    return process


def hidden_names(shell):
    return [name for name in os.listdir(shell.folder) if name.startswith(".")]


def test_the_next_run_removes_what_a_killed_one_has_left_and_nothing_of_a_living_one(shell):
    shell.write(ENDLESS, "endless.toml")
    shell.write(SMALL, "small.toml")
    dead = begun(shell, ".dead.*.partial/.odonata-lock", "run", "endless.toml", "-q", "-o", "dead")
    (of_dead,) = hidden_names(shell)
    alive = begun(shell, ".alive.*.partial/.odonata-lock", "run", "endless.toml", "-q", "-o", "alive")
    # Both processes live.
    done = shell("run", "small.toml", "-o", "one", "-q")
    assert (done.code, len(hidden_names(shell))) == (0, 2)
    dead.kill()
    dead.communicate()
    done = shell("run", "small.toml", "-o", "two")
    assert done.code == 0
    assert done.err == f"{of_dead} is removed, which a process that was killed had left\n"
    (of_alive,) = hidden_names(shell)
    assert of_alive.startswith(".alive.")
    # It is unaffected.
    alive.send_signal(signal.SIGINT)
    _, err = alive.communicate(timeout=PATIENCE_S)
    assert alive.returncode == 130, err
    assert (shell.folder / "alive/run.json").is_file()
    assert hidden_names(shell) == []


def test_a_killed_run_that_can_be_resumed_is_left_to_be_resumed(shell):
    killed(shell, LONG)
    shell.write(SMALL, "small.toml")
    done = shell("run", "small.toml", "-o", "other")
    assert (done.code, done.err) == (0, "")
    assert place(shell).is_dir()
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--resume").code == 0
    assert hidden_names(shell) == []


#: A job whose program takes forever to write.
LARGE = SMALL.replace("iterations = 5,", "iterations = 100000000,")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_program_that_is_not_complete_leaves_nothing_for_long(shell, number):
    shell.write(LARGE, "large.toml")
    shell.write(SMALL, "small.toml")
    convert = ("trace", "convert", "large.toml", "--job", "halo", "x.program")
    process = begun(shell, ".x.program.*.partial/operations.parquet", *convert)
    left = hidden_names(shell)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err
    if number == signal.SIGINT:
        assert (process.returncode, err) == (130, "stopped; nothing was written\n")
        assert hidden_names(shell) == []
        return
    assert hidden_names(shell) == left
    done = shell("trace", "convert", "small.toml", "--job", "halo", "x.program")
    assert (done.code, hidden_names(shell)) == (0, [])
    assert left[0] in done.err


def test_a_file_that_a_killed_command_was_writing_is_removed(shell, tmp_path):
    shell.write(SMALL, "small.toml")
    script = (
        "import os, signal, pathlib\n"
        "from odonata.base.output_file import whole_file\n"
        "with whole_file(pathlib.Path('m.graphml')) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    launcher.run([ODONATA[0], "-c", script], cwd=tmp_path, text=False)
    assert len(hidden_names(shell)) == 1
    assert shell("describe", "small.toml", "--export", "other.graphml").code == 0
    assert shell.files() == ["other.graphml", "small.toml"]


def test_files_that_may_belong_to_another_process_stay(tmp_path):
    ours = make_folder(tmp_path / "out")
    (ours.path / "table").write_text("")
    file = make_file(tmp_path / "out.svg")
    elsewhere = hidden(tmp_path / "x", "partial").name.replace("".join(partial._here()), 16 * "0")
    (tmp_path / elsewhere).mkdir()
    (tmp_path / elsewhere / LOCK).write_text("")
    # Unfinished, by a process that has not locked it yet.
    unlocked = hidden(tmp_path / "y", "partial")
    unlocked.mkdir()
    (unlocked / "table").write_text("")
    for name in (".x.partial", ".cache.partial", ".rsync.0123456789abcdef01234567.partial"):
        (tmp_path / name).write_text("of another program")
    hidden(tmp_path / "z", "partial").symlink_to("elsewhere")
    before = sorted(tmp_path.rglob("*"))
    assert clear(tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before
    ours.remove()
    file.remove()
    assert not ours.path.exists()
    assert not file.path.exists()


@pytest.mark.parametrize("same", [0, 1])
def test_this_computer_is_known_by_its_name_or_by_its_kernel(tmp_path, same):
    """A container has another name each time; a rebooted computer has another kernel."""
    digits = partial._here()[same]
    other = {0: digits + 8 * "0", 1: 8 * "0" + digits}[same]
    left = tmp_path / hidden(tmp_path / "x", "partial").name.replace("".join(partial._here()), other)
    left.mkdir()
    (left / LOCK).write_text("")
    assert len(clear(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


def test_an_empty_folder_without_a_lock_is_made_again_by_its_owner(tmp_path):
    hidden(tmp_path / "x", "partial").mkdir()
    assert clear(tmp_path) == []
    assert os.listdir(tmp_path) == []


def test_a_folder_that_was_about_to_be_replaced_gets_its_name_back(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("old")
    retired = make_folder(tmp_path / "out", "replaced")
    (tmp_path / "out").rename(retired.path / "old")
    # Killed at this moment.
    retired.release()
    (warning,) = clear(tmp_path)
    assert "out is back" in warning
    assert (tmp_path / "out" / "run.json").read_text() == "old"
    # Killed when the successor had the name.
    retired = make_folder(tmp_path / "out", "replaced")
    (retired.path / "old").mkdir()
    retired.release()
    assert len(clear(tmp_path)) == 1
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == ["out", "out/run.json"]
