"""An input is a regular file, or an error that names its kind; no command blocks on it."""

import os
import socket

import pytest

MACHINE = "[machine.torus]\ndims = [4]\n"
JOB = "[[jobs]]\nranks = 2\nworkload = { uniform = { load = 0.1, messages = 3 } }\n"

#: A scenario that reads the file `odd`, by its purpose.
READERS = {
    "program": MACHINE + '[[jobs]]\nranks = 2\nprogram = "odd"\n',
    "python": MACHINE + '[[jobs]]\nranks = 2\npython = "odd:f"\n',
    "graph": '[machine.graph]\nfile = "odd"\nnodes_per_router = 1\n' + JOB,
    "placement": MACHINE + JOB + 'placement = { file = "odd" }\n',
}


def make(path, kind):
    """A file of this kind, and its name in errors."""
    if kind == "pipe":
        os.mkfifo(path)
        return "a named pipe"
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))
        return "a socket"
    if kind == "device":
        path.symlink_to("/dev/zero")
        return "a device"
    path.mkdir()
    return "a folder"


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
@pytest.mark.parametrize("reader", READERS)
def test_a_scenario_reads_regular_files_only(shell, reader, kind):
    what = make(shell.folder / "odd", kind)
    shell.write(READERS[reader])
    done = shell("check", "scenario.toml")
    assert done.code == 2, done.out
    assert f"it is {what}, not a regular file" in done.err
    assert "odd" in done.err


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
@pytest.mark.parametrize(
    "command",
    [["run"], ["check"], ["describe"], ["load-sweep"], ["workload", "check"], ["workload", "format"]],
    ids=" ".join,
)
def test_a_command_reads_regular_files_only(shell, command, kind):
    what = make(shell.folder / "odd", kind)
    done = shell(*command, "odd")
    assert done.code == 2, done.out
    assert f"it is {what}, not a regular file" in done.err
    assert "odd" in done.err


@pytest.mark.parametrize("name", ["t-0000.bin", "t.meta"])
def test_a_trace_is_of_regular_files_only(shell, name):
    folder = shell.folder / "trace"
    folder.mkdir()
    (folder / "t-0000.bin").write_bytes(b"")
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    for command in ("info", "lint"):
        done = shell("trace", command, "trace")
        assert done.code == 2
        assert "it is a named pipe, not a regular file" in done.err
        assert name in done.err
