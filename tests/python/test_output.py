"""What is printed: at any width, into closed pipes, as JSON with documented keys."""

import os
import pty
import re
import subprocess

import pytest
from conftest import ODONATA, SMALL, Shell

from odonata.json_reference import COMPARE_KEYS, SUMMARY_KEYS, keys_of


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    shell = Shell(tmp_path_factory.mktemp("output"))
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--baselines").code == 0
    return shell


def on_a_terminal(shell, width, *arguments):
    """What the command prints on a terminal of this width, without colours."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(width), "TERM": "xterm"}
    with subprocess.Popen(
        [*ODONATA, *arguments], cwd=shell.folder, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not chunk:
                break
            text += chunk
    os.close(ours)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r", "")


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("command", [["summary", "out"], ["compare", "out", "out/baselines/halo"]])
def test_no_number_is_cut_and_no_table_is_wider_than_the_terminal(results, width, command):
    text = on_a_terminal(results, width, *command)
    assert "…" not in text
    whole = ("Tables: ", "Digest: ", "A: ", "B: ")
    assert max(len(line) for line in text.splitlines() if not line.startswith(whole)) <= width


def test_check_fits_on_80_columns(results):
    text = on_a_terminal(results, 80, "check", "scenario.toml")
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


@pytest.mark.parametrize(
    "command",
    [["summary", "out"], ["summary", "out", "--json"], ["schema"], ["compare", "out", "out/baselines/saver"]],
)
def test_a_reader_that_leaves_early_hears_no_complaint(results, command):
    # The reader is gone before the first line.
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*ODONATA, *command], cwd=results.folder, stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_does_not_change_how_a_run_ended(shell):
    shell.write(SMALL.replace('capacity = "1 GB"', 'capacity = "5 MB"'))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*ODONATA, "run", "scenario.toml", "-o", "out"],
        cwd=shell.folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.returncode == 3
    assert "storage-full" in done.stderr
    assert "Traceback" not in done.stderr
    assert (shell.folder / "out/run.json").exists()


def test_an_answer_that_cannot_be_printed_is_an_error(results):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [*ODONATA, "summary", "out"], cwd=results.folder, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert done.stderr == "error: the answer could not be printed: No space left on device\n"


def test_the_summary_in_json_has_the_documented_keys(results):
    found = results("summary", "out", "--json").json
    keys = set(keys_of(found, ("slowdown", "failed_baselines")))
    assert keys <= set(SUMMARY_KEYS)
    # Nobody failed; and what nobody waited for is not there.
    missing = {key for key in SUMMARY_KEYS if key not in keys}
    assert missing <= {"slowdown", "failed_baselines.JOB"} | {
        k for k in SUMMARY_KEYS if k.startswith("blame")
    }
    assert found["slowdown"]["halo"]["elapsed"]["ratio"] > 0.99
    assert sum(found["jobs"][0][f"{part}_share"] for part in ("compute", "mpi", "io")) == pytest.approx(
        1, abs=0.05
    )


def test_the_comparison_in_json_has_the_documented_keys(results):
    found = results("compare", "out", "out/baselines/saver", "--json").json
    keys = set(keys_of(found))
    # Settings have structure of their own.
    keys = {re.sub(r"^(scenario\[\]\.[ab])\..*|^(scenario\[\]\.[ab])\[\].*", r"\1\2", key) for key in keys}
    assert keys <= set(COMPARE_KEYS)
    assert {key for key in COMPARE_KEYS if key not in keys} <= {"blame"}
