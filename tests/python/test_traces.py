"""Recorded programs: the commands, and the example of docs/traces.md."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import launcher
import pytest
from conftest import ODONATA, ROOT
from reference_traces import OUR_SCHEDULES, OUR_TRACES, TRACES
from waiting import await_that

import odonata

PAGE = (ROOT / "docs/traces.md").read_text()
SCRIPT = re.search(r"```python[^\n]*\n(.*?)```", PAGE, flags=re.DOTALL)[1]
SCENARIO = re.search(r"```toml[^\n]*\n(.*?)```", PAGE, flags=re.DOTALL)[1]

#: Size of the example: ranks, rounds, bytes of a message.
RANKS, ROUNDS, MESSAGE = 8, 10, 4_000


@pytest.fixture
def ring(tmp_path, monkeypatch):
    """The folder with the trace that the page's script writes."""
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPT, "docs/traces.md", "exec"), {"__name__": "example"})
    return tmp_path / "ring"


def test_the_example_of_the_page_runs(ring, tmp_path):
    (tmp_path / "ring.toml").write_text(SCENARIO)
    results = odonata.run(tmp_path / "ring.toml")
    (job,) = results.rows("jobs")
    assert (results.outcome, job["ranks"], job["messages"]) == ("completed", RANKS, 3 * RANKS * (ROUNDS + 3))
    # Three barriers of 8 ranks are 3 empty messages for each.
    assert job["bytes_sent"] == 3 * RANKS * ROUNDS * MESSAGE


def test_info_says_what_is_in_a_trace(shell, ring):
    found = json.loads(shell("trace", "info", str(ring), "--json").out)
    assert (found["nranks"], found["total_sends"]) == (RANKS, RANKS * ROUNDS)
    assert found["total_send_bytes"] == RANKS * ROUNDS * MESSAGE
    assert found["total_collective_calls"] == {"MPI_Barrier": RANKS}
    assert found["ranks"][2]["sends"]["by_dest_comm"] == [[3, 2, ROUNDS, ROUNDS * MESSAGE]]
    page = shell("trace", "info", str(ring))
    assert page.code == 0
    assert "8 ranks, 184 calls" in page.out
    assert re.search(r"MPI_Send +80\n", page.out)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_info_draws_the_traffic_matrix(shell, ring, tmp_path, ending):
    picture = tmp_path / f"matrix.{ending}"
    assert shell("trace", "info", str(ring), "--matrix", str(picture)).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG" if ending == "png" else b"<?xml")
    refused = shell("trace", "info", str(ring), "--matrix", str(tmp_path / "matrix.txt"))
    assert refused.code == 2
    assert "--matrix" in refused.err


def test_lint_tells_right_wrong_and_unreadable_apart(shell, ring):
    good = shell("trace", "lint", str(ring))
    assert (good.code, good.out) == (0, "nothing is wrong\n")
    whole = (ring / "ring-0003.bin").read_bytes()
    # Cut off within its records.
    (ring / "ring-0003.bin").write_bytes(whole[:600])
    wrong = shell("trace", "lint", str(ring), "--json")
    assert wrong.code == 1
    findings = json.loads(wrong.out)
    assert {"complete", "messages", "collectives"} <= {finding["check"] for finding in findings}
    assert all(finding["severity"] == "error" for finding in findings)
    (ring / "ring-0003.bin").write_bytes(b"something else, and long enough to be looked at")
    unreadable = shell("trace", "lint", str(ring))
    assert unreadable.code == 2
    assert "ring-0003.bin" in unreadable.err
    assert "byte 0" in unreadable.err


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data + b"\0"], ids=["cut", "longer"])
def test_an_incomplete_trace_is_used_on_request_only(shell, ring, tmp_path, damage):
    text = SCENARIO.replace('trace = "ring"', f'trace = "{ring}"')
    shell.write(text)
    whole = json.loads(shell("trace", "info", str(ring), "--json").out)
    for file in ring.glob("*.bin"):
        file.write_bytes(damage(file.read_bytes()))
    for command in (
        ["trace", "info", str(ring)],
        ["trace", "convert", str(ring), str(tmp_path / "x.program")],
        ["trace", "repeat", str(ring), "-n", "2", "-o", str(tmp_path / "again")],
        ["check", "scenario.toml"],
        ["run", "scenario.toml", "-o", str(tmp_path / "results")],
    ):
        refused = shell(*command)
        assert refused.code == 2, command
        assert "ring-0000.bin" in refused.err
        assert re.search(r"byte \d+: (a truncated|an) index of", refused.err)
        assert "incomplete" in refused.err or command[1] == "repeat"
        assert "a complete trace" in refused.err or command[0] == "trace"
    assert not [path for name in ("x.program", "again", "results") if (path := tmp_path / name).exists()]
    lint = shell("trace", "lint", str(ring), "--json")
    assert lint.code == 1
    assert [finding["check"] for finding in json.loads(lint.out)] == ["complete"] * RANKS
    # With the option, the output has the existing part, and a note that it is incomplete.
    found = json.loads(shell("trace", "info", str(ring), "--json", "--incomplete").out)
    assert found["total_sends"] == whole["total_sends"]
    assert "ring-0003.bin" in found["ranks"][3]["incomplete"]
    assert found["damage"] in " ".join(shell("trace", "info", str(ring), "--incomplete").out.split())
    shell.write(text + "incomplete_trace = true\n")
    checked = shell("check", "scenario.toml")
    assert checked.code == 0
    # The same words, whatever reads the trace.
    assert found["damage"].startswith("8 of 8 files are truncated and read up to their last whole record: ")
    assert found["damage"] in " ".join((checked.out + checked.err).split())
    done = shell("run", "scenario.toml", "-o", str(tmp_path / "results"))
    assert done.code == 0
    assert "8 of 8 files are truncated" in done.err


def test_repeat_writes_a_trace_that_does_it_again(shell, ring, tmp_path):
    target = tmp_path / "again"
    assert shell("trace", "repeat", str(ring), "-n", "4", "-o", str(target)).code == 0
    found = json.loads(shell("trace", "info", str(target), "--json").out)
    assert found["total_sends"] == 4 * RANKS * ROUNDS
    assert found["total_op_counts"]["MPI_Init"] == RANKS
    assert shell("trace", "lint", str(target)).code == 0
    # An existing file is never replaced.
    assert shell("trace", "repeat", str(ring), "-n", "2", "-o", str(target)).code == 2
    assert shell("trace", "info", str(target)).code == 0


def test_a_job_whose_trace_is_missing_is_an_error_at_its_key(shell):
    shell.write('[machine.torus]\ndims = [4]\n[[jobs]]\ntrace = "nowhere"\n')
    done = shell("check", "scenario.toml")
    assert done.code == 2
    assert "jobs.0.trace" in done.err


@pytest.mark.parametrize("trace", TRACES)
def test_traces_are_as_their_ground_truth_says(shell, trace):
    found = json.loads(shell("trace", "info", str(trace), "--json").out)
    assert found == json.loads((trace / "ground-truth.json").read_text()), trace


def test_the_traces_of_the_repository_are_those_that_its_writer_writes(tmp_path):
    script = ROOT / "tests/traces/write.py"
    launcher.run([sys.executable, script, tmp_path], check=True, text=False)
    ours = ROOT / "tests/traces"
    there = [path.relative_to(ours) for folder in OUR_TRACES + OUR_SCHEDULES for path in folder.rglob("*")]
    written = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(written) == sorted(path for path in there if (ours / path).is_file())
    for path in written:
        assert (tmp_path / path).read_bytes() == (ours / path).read_bytes(), path


def test_the_traces_of_the_repository_are_without_fault(shell):
    for trace in OUR_TRACES:
        found = shell("trace", "lint", str(trace), "--json")
        assert found.code == 0, found.out
        assert all("polls" in finding["text"] for finding in json.loads(found.out)), trace


def test_the_script_of_the_page_needs_nothing_but_python():
    imports = set(re.findall(r"^(?:from|import) (\w+)", SCRIPT, flags=re.MULTILINE))
    assert imports <= sys.stdlib_module_names


@pytest.mark.parametrize("script", ["studies/amg/routings.py", "benches/traces.py"])
def test_programs_that_need_reference_traces_say_where_they_looked(tmp_path, script):
    def output(named):
        done = launcher.run([sys.executable, ROOT / script], env=os.environ | {"ODONATA_REFERENCE": named})
        assert (done.returncode, done.stdout) == (2, "")
        return done.stderr

    assert output("").startswith("ODONATA_REFERENCE is not set: no traces/dumpi/")
    assert output(f"{tmp_path}/no") == f"ODONATA_REFERENCE names {tmp_path}/no: there is no such folder\n"
    (tmp_path / "traces").mkdir()
    assert output(str(tmp_path)).startswith(f"{tmp_path} has no traces/dumpi/")


@pytest.fixture
def endless(tmp_path):
    """A trace of one rank that takes minutes to read: endless empty messages, in a sparse file."""
    folder = tmp_path / "endless"
    folder.mkdir()
    with (folder / "endless-0000.bin").open("wb") as file:
        file.write(bytes.fromhex("ffaadd44554d5049") + bytes(8))
        file.truncate(1 << 36)
    return folder


def open_files(pid):
    """The open files of a process, without those that it closes meanwhile."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(link)


@pytest.mark.parametrize(
    "command",
    [
        ["lint"],
        ["info", "--incomplete"],
        ["info", "--incomplete", "--json"],
        ["convert", "--incomplete", "x.program"],
        ["repeat", "-n", "4000000000", "-o", "again"],
    ],
    ids=" ".join,
)
def test_a_signal_ends_the_reading_of_a_long_trace_at_once(shell, ring, endless, command):
    # An incomplete trace is not repeated: there, writing takes long.
    name, read = ("ring", ring) if command[0] == "repeat" else ("endless", endless)
    process = launcher.start(
        [*ODONATA, "trace", command[0], name, *command[1:]],
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        await_that(lambda: any(file.endswith(".bin") for file in open_files(process.pid)), process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=launcher.PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out) == (130, ""), (out, err)
    assert "stopped" in err
    assert sorted(path.name for path in shell.folder.iterdir()) == ["endless", "ring"]
    assert read.is_dir()


def test_what_is_of_no_format_is_named_with_those_that_there_are(shell, tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("app.trc", "app.prv"):
        (tmp_path / name).write_bytes(b"#Paraver")
    expected = (
        "a program folder, or a GOAL schedule (.goal, LogGOPSim's binary form, or the folder of one), "
        "or the folder of a DUMPI trace, or its .meta file"
    )
    for name, seen in [
        ("empty", "the folder is empty"),
        ("app.trc", "a file ending in .trc is not in a known format"),
        ("app.prv", "a Paraver trace (Extrae), an unsupported format"),
        ("nowhere", "cannot be read: No such file"),
    ]:
        for command in (["info", name], ["lint", name], ["repeat", name, "-n", "2", "-o", "again"]):
            refused = shell("trace", *command)
            assert (refused.code, refused.out) == (2, ""), command
            assert seen in " ".join(refused.err.split())
            assert expected in " ".join(refused.err.split())
    # A file that is neither a trace nor TOML is called no trace, not invalid TOML.
    for name, seen in [
        ("app.trc", "a file ending in .trc is not in a known format"),
        ("app.prv", "an unsupported format"),
    ]:
        refused = shell("trace", "convert", name, "x.program")
        assert refused.code == 2
        message = " ".join(refused.err.split())
        assert seen in message
        assert message.endswith(", or a scenario (TOML)")
    (tmp_path / "scenario.txt").write_text("[machine.torus]\ndims = [4]\nnodes_per_ruter = 1\n")
    assert "nodes_per_ruter" in shell("trace", "convert", "scenario.txt", "x.program").err
    shell.write('[machine.torus]\ndims = [4]\n[[jobs]]\ntrace = "empty"\n')
    for command in ("info", "lint"):
        assert "it is a scenario, not a trace" in shell("trace", command, "scenario.toml").err
    refused = shell("check", "scenario.toml")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "the folder is empty" in message
    assert message.count(expected) == 1


def test_a_format_that_is_not_repeated_says_what_does(shell, ring, tmp_path):
    assert shell("trace", "convert", "ring", "x.program").code == 0
    refused = shell("trace", "repeat", "x.program", "-n", "2", "-o", "again")
    assert refused.code == 2
    assert "odonata trace convert --repeat" in " ".join(refused.err.split())
    assert shell("trace", "convert", "x.program", "y.program", "--repeat", "2").code == 0
    found = [json.loads(shell("trace", "info", name, "--json").out) for name in ("x.program", "y.program")]
    assert found[1]["total_sends"] == 2 * found[0]["total_sends"]
