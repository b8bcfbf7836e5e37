"""Messages of `make setup` about a missing requirement: one line that names it, before any build."""

import os
import shutil
import stat
import subprocess
import sys

import pytest
import reference

#: Programs that the script needs beside those that a test provides.
TOOLS = ("awk", "bash", "cut", "df", "dirname", "grep", "head", "id", "sed", "sort", "tail")


@pytest.fixture
def checkout(tmp_path):
    """A folder with the script, and a PATH of working stand-ins."""
    return Checkout(tmp_path)


class Checkout:
    def __init__(self, folder):
        self.folder = folder / "my code"
        self.programs = folder / "bin"
        (self.folder / "packaging").mkdir(parents=True)
        self.programs.mkdir()
        for name in ("packaging/setup.sh", "Cargo.toml", "Cargo.lock", "pyproject.toml"):
            shutil.copy(reference.ROOT / name, self.folder / name)
        for name in TOOLS:
            (self.programs / name).symlink_to(shutil.which(name))
        self.plant("cc", "")
        self.plant("cargo", "")
        self.plant(
            "rustc",
            'case $1 in -vV) echo "host: x86_64" ;; *) echo "rustc 1.95.0 (5980 2026)" ;; esac',
        )
        self.python()

    def plant(self, name, script):
        path = self.programs / name
        path.write_text(f"#!/bin/bash\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def python(self, name="python3", version="3.12.1", modules=0):
        """A Python of that version; `modules`: the exit code of imports."""
        self.plant(name, f'case "$2" in *platform*) echo {version} ;; *venv*) exit {modules} ;; esac')

    def __call__(self, *step, **environment):
        done = subprocess.run(
            [self.folder / "packaging/setup.sh", *(step or ("prerequisites", "python3"))],
            capture_output=True,
            text=True,
            env={"PATH": str(self.programs), "HOME": str(self.folder), **environment},
            timeout=120,
        )
        return done.returncode, done.stdout, done.stderr

    def refused(self, *step, **environment):
        """The one line with which a step is refused."""
        code, _, err = self(*step, **environment)
        assert code == 1
        assert err.startswith("make: ")
        assert err.count("\n") == 1
        return err


def test_nothing_is_reported_where_all_is_there(checkout):
    assert checkout() == (0, "", "")


def test_an_old_python_is_named_and_so_is_one_that_will_do(checkout):
    checkout.python(version="3.10.13")
    assert "python3 is Python 3.10.13, Odonata needs 3.11 or newer: install one" in checkout.refused()
    checkout.python("python3.12")
    assert "this machine has python3.12: make PYTHON=python3.12" in checkout.refused()


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("python3", "python3 is missing: install Python 3.11 or newer"),
        ("cargo", "cargo is missing: install Rust"),
        ("cc", "cc is missing: Rust links with a C compiler (Debian, Ubuntu: apt install gcc libc6-dev)"),
    ],
)
def test_a_program_that_is_missing_is_named_with_what_brings_it(checkout, missing, message):
    (checkout.programs / missing).unlink()
    assert message in checkout.refused()


def test_python_without_venv(checkout):
    checkout.python(modules=1)
    assert "python3 has no venv: install it (Debian, Ubuntu: apt install python3-venv)" in checkout.refused()


def test_an_old_rust_and_one_without_a_toolchain(checkout):
    checkout.plant("rustc", "echo 'rustc 1.85.1 (4eb1 2025-03-15)'")
    assert "Rust 1.85.1 is too old, Odonata needs 1.88 or newer: rustup update stable" in checkout.refused()
    checkout.plant("rustc", "echo 'error: no default toolchain' >&2; exit 1")
    assert "rustc does not run: install a toolchain (rustup toolchain install stable)" in checkout.refused()


def test_a_disk_without_room(checkout):
    (checkout.programs / "df").unlink()
    checkout.plant("df", "echo Filesystem 1048576-blocks Used Available; echo /dev/x 1000 980 20")
    message = checkout.refused()
    assert "the disk is full: 20 MB are free in" in message
    assert "a build takes" in message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into a folder that is read-only")
def test_a_checkout_that_cannot_be_written(checkout):
    checkout.folder.chmod(0o555)
    try:
        assert "my code cannot be written: the build puts .venv/ and target/ there" in checkout.refused()
    finally:
        checkout.folder.chmod(0o755)


def test_no_way_to_python_packages(checkout):
    (checkout.programs / "python3").unlink()
    (checkout.programs / "python3").symlink_to(sys.executable)
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": os.devnull,
    }
    message = checkout.refused("tools", "python3", ".venv", **nowhere)
    assert message.startswith("make: pip cannot install what Odonata needs (is the network there?): ERROR:")


def test_no_way_to_crates(checkout):
    checkout.plant("python3", 'case $2 in venv) mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;; esac')
    (checkout.programs / "mkdir").symlink_to(shutil.which("mkdir"))
    (checkout.programs / "cp").symlink_to(shutil.which("cp"))
    checkout.plant(
        "cargo", "echo 'error: failed to download from `https://index.crates.io/config.json`' >&2; exit 101"
    )
    message = checkout.refused("tools", "python3", ".venv")
    assert (
        "cargo cannot download what Odonata needs (is the network there?): error: failed to download"
        in message
    )


def test_a_disk_that_fills_during_the_build(checkout):
    (checkout.folder / "v/bin").mkdir(parents=True)
    for name, script in (("maturin", "exit 1"), ("python", "")):
        checkout.plant(name, script)
        (checkout.programs / name).rename(checkout.folder / "v/bin" / name)
    assert "the build failed, the reason stands above" in checkout.refused("build", "v")
    (checkout.programs / "df").unlink()
    checkout.plant("df", "echo Filesystem 1048576-blocks Used Available; echo /dev/x 1000 999 1")
    assert "the disk is full: 1 MB are free" in checkout.refused("build", "v")
