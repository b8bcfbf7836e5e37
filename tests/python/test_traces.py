"""Recorded programs: the commands, and the example of docs/traces.md."""

import json
import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import odonata

PAGE = (ROOT / "docs/traces.md").read_text()
SCRIPT = re.search(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)[1]
SCENARIO = re.search(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)[1]

#: What the example sends: ranks, rounds, bytes of a message.
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
    # Three barriers of 8 ranks are 3 messages of nothing for each.
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
def test_info_draws_who_sends_to_whom(shell, ring, tmp_path, ending):
    pytest.importorskip("matplotlib")
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
    # Cut off in the midst of its records.
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


def test_repeat_writes_a_trace_that_does_it_again(shell, ring, tmp_path):
    target = tmp_path / "again"
    assert shell("trace", "repeat", str(ring), "-n", "4", "-o", str(target)).code == 0
    found = json.loads(shell("trace", "info", str(target), "--json").out)
    assert found["total_sends"] == 4 * RANKS * ROUNDS
    assert found["total_op_counts"]["MPI_Init"] == RANKS
    assert shell("trace", "lint", str(target)).code == 0
    # What is there is never replaced.
    assert shell("trace", "repeat", str(ring), "-n", "2", "-o", str(target)).code == 2
    assert shell("trace", "info", str(target)).code == 0


def test_a_job_whose_trace_is_missing_is_an_error_at_its_key(shell):
    shell.write('[machine.torus]\ndims = [4]\n[[jobs]]\ntrace = "nowhere"\n')
    done = shell("check", "scenario.toml")
    assert done.code == 2
    assert "jobs.0.trace" in done.err


def test_reference_traces_are_as_the_reference_says(shell):
    sets = sorted((ROOT / "../shared/traces/dumpi").glob("*/ground-truth.json"))
    if not sets:
        pytest.skip("no reference traces beside the project")
    for truth in sets:
        assert json.loads(shell("trace", "info", str(truth.parent), "--json").out) == json.loads(
            truth.read_text()
        ), truth


def test_the_script_of_the_page_needs_nothing_but_python():
    imports = set(re.findall(r"^(?:from|import) (\w+)", SCRIPT, flags=re.MULTILINE))
    assert imports <= sys.stdlib_module_names


def test_the_study_of_a_trace_says_where_the_trace_was_looked_for(tmp_path):
    script = ROOT / "studies/amg/routings.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        env=os.environ | {"ODONATA_SHARED": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path}/traces/dumpi/df-amg-27" in done.stderr
