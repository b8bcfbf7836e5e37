"""GOAL schedules on the command line: content, errors, and conversion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import reference_traces

SCHEDULE = """num_ranks 3
rank 0 { a: calc 500 b: send 64b to 1 tag 7 b requires a c: recv 64b from 2 tag 7 cpu 1 }
rank 1 { c: recv 64b from 0 tag 7 b: send 64b to 2 tag 7 b requires c }
rank 2 { c: recv 64b from -1 tag -1 b: send 64b to 0 tag 7 b requires c d: calc 90 d irequires c }
"""


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    path = tmp_path / "ring.goal"
    path.write_text(SCHEDULE)
    return path


def test_info_counts_tasks_and_dependencies(shell, schedule):
    found = json.loads(shell("trace", "info", "ring.goal", "--json").out)
    assert (found["format"], found["form"], found["nranks"]) == ("goal", "text", 3)
    assert found["total_op_counts"] == {"calc": 2, "recv": 3, "send": 3}
    assert (found["total_requires"], found["total_irequires"]) == (3, 1)
    assert found["ranks"][0]["cpus"] == 2
    output = shell("trace", "info", "ring.goal").out
    assert "3 dependencies on ends, 1 on starts" in output


def test_a_folder_stands_for_the_only_schedule_in_it(shell, schedule, tmp_path):
    folder = tmp_path / "schedules"
    folder.mkdir()
    (folder / "README.md").write_text("how it was made\n")
    (folder / "topology.bin").write_bytes(b"of something else")
    schedule.rename(folder / "ring.goal")
    assert json.loads(shell("trace", "info", "schedules", "--json").out)["name"] == "ring.goal"
    assert shell("trace", "lint", "schedules").code == 0
    assert shell("trace", "convert", "schedules", "ring.program").code == 0
    scenario = '[machine.torus]\ndims = [4]\n[[jobs]]\ntrace = "schedules"\n'
    shell.write(scenario)
    assert shell("check", "scenario.toml").code == 0

    (folder / "other.goal").write_text(SCHEDULE)
    for command in (["info", "schedules"], ["lint", "schedules"], ["convert", "schedules", "x.program"]):
        refused = shell("trace", *command)
        assert refused.code == 2
        message = " ".join(refused.err.split())
        assert "the folder holds 2 GOAL schedules: other.goal, ring.goal" in message
        assert "--> schedules expected the path of one of them" in message
    assert not (tmp_path / "x.program").exists()
    assert "the folder holds 2 GOAL schedules" in " ".join(shell("check", "scenario.toml").err.split())


def test_lint_tells_right_wrong_and_unreadable_apart(shell, schedule):
    assert shell("trace", "lint", "ring.goal").code == 0
    wrong = SCHEDULE.replace("to 2 tag 7", "to 2 tag 8").replace("from -1 tag -1", "from 1 tag 7")
    schedule.write_text(wrong)
    assert shell("trace", "lint", "ring.goal").code == 1
    schedule.write_text(SCHEDULE.replace("b requires a", "b requires q"))
    refused = shell("trace", "lint", "ring.goal")
    assert refused.code == 2
    message = " ".join(refused.err.split())
    assert "ring.goal" in message
    assert "line 2" in message
    assert 'label "q" is not defined' in message


def test_a_converted_schedule_sends_the_same_and_runs(shell, schedule):
    assert shell("trace", "convert", "ring.goal", "ring.program").code == 0
    found = json.loads(shell("trace", "info", "ring.program", "--json").out)
    assert (found["total_sends"], found["total_send_bytes"], found["total_recvs_posted"]) == (3, 192, 3)
    for trace in ("ring.goal", "ring.program"):
        shell.write(f'[machine.torus]\ndims = [4]\n[[jobs]]\ntrace = "{trace}"\n')
        ran = shell("run", "scenario.toml", "-o", f"out-{trace}", "--quiet")
        assert ran.code == 0, ran.err
    folders = [schedule.parent / f"out-ring.{end}" for end in ("goal", "program")]
    results = [json.loads((folder / "run.json").read_text()) for folder in folders]
    assert results[0]["digest"] == results[1]["digest"]


@pytest.mark.parametrize("folder", reference_traces.sets("goal", reference_traces.OUR_SCHEDULES))
def test_schedules_hold_what_their_truth_says(shell, folder):
    truth = json.loads((folder / "ground-truth.json").read_text())
    for ending in (".goal", ".goal.bin"):
        path = folder / f"{folder.name}{ending}"
        found = json.loads(shell("trace", "info", str(path), "--json").out)
        for ours, theirs in zip(found["ranks"], truth["ranks"], strict=True):
            assert ours.pop("calc_ns") == theirs["calc_total"]
            ours = {key: value for key, value in ours.items() if key not in ("cpus", "nics")}
            assert ours == {key: theirs[key] for key in ours}
        assert shell("trace", "lint", str(path)).code == 0
