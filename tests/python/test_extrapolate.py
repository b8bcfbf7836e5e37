"""`odonata extrapolate`: few iterations against all of them."""

import json

import launcher
import pytest
from conftest import ODONATA

import odonata
from odonata.answers import ANSWERS
from odonata.base import json_types

MACHINE = {
    "dragonfly": {"groups": 3, "routers_per_group": 4, "nodes_per_router": 2, "global_ports_per_router": 1}
}


def scenario(*jobs, **more):
    return {"machine": MACHINE, "run": {"blame": False}, "jobs": list(jobs), **more}


def solver(iterations, **keys):
    workload = {"stencil": {"message": "16 KiB", "iterations": iterations, "compute": "5 us"}}
    return {"name": "solver", "ranks": 8, "placement": "random", "workload": workload, **keys}


def whole(content):
    return {row["job"]: row for row in odonata.run(content).rows("jobs")}


def assert_within(found, content, part):
    rows = whole(content)
    for job in found["jobs"]:
        row = rows[job["job"]]
        assert job["elapsed_s"] == pytest.approx(row["elapsed_s"], rel=part)
        assert abs(job["elapsed_s"] / row["elapsed_s"] - 1) <= max(job["error"], 1e-6)
        assert job["mpi_s"] == pytest.approx(row["mpi_s"], rel=part)
        assert job["io_s"] == pytest.approx(row["io_s"], rel=part)


def test_a_steady_solver_is_extrapolated():
    content = scenario(solver(400))
    found = odonata.extrapolate(content)
    json_types.check(dict(found), ANSWERS["extrapolate"])
    assert found["steady"]
    assert found["skipped"] > 0.8
    assert found["jobs"][0]["iterations"] == 400
    assert_within(found, content, 0.02)


def test_phases_with_their_checkpoint_are_iterations():
    phases = [
        {"stencil": {"message": "16 KiB", "iterations": 5, "compute": "5 us"}},
        {"checkpoint": {"total": "8 MB", "interval": "20 us", "iterations": 1}},
    ]
    job = {"name": "solver", "ranks": 8, "placement": "random", "repeat": 200, "workload": phases}
    content = scenario(job, storage={"nodes": {"per_group": 1}})
    found = odonata.extrapolate(content, tolerance=0.02)
    assert found["steady"]
    assert found["skipped"] > 0.7
    assert found["jobs"][0]["io_s"] > 0
    assert_within(found, content, 0.02)


def test_traffic_until_the_end_of_a_job_ends_with_it():
    traffic = {
        "name": "rest",
        "ranks": 8,
        "until": "solver",
        "workload": {"uniform": {"bytes": "4 KiB", "mean_interval": "5 us"}},
    }
    found = odonata.extrapolate(scenario(solver(800), traffic), tolerance=0.05)
    assert [job["iterations"] for job in found["jobs"]] == [800, None]
    assert found["jobs"][1]["elapsed_s"] is None
    assert found["steady"]


def test_what_is_not_steady_is_run_in_full():
    # The second job ends in the middle of the first, which is faster from then on.
    other = solver(60) | {"name": "other"}
    content = scenario(solver(120), other)
    found = odonata.extrapolate(content)
    assert not found["steady"]
    assert found["skipped"] == 0
    assert found["runs"][-1] == 1
    rows = whole(content)
    for job in found["jobs"]:
        assert (job["elapsed_s"], job["error"]) == (rows[job["job"]]["elapsed_s"], 0)


def test_few_iterations_are_run_in_full():
    found = odonata.extrapolate(scenario(solver(20)))
    assert (found["runs"], found["skipped"]) == ([1], 0)


def test_the_same_again_gives_the_same():
    content = scenario(solver(300))
    first, second = (odonata.extrapolate(content, seed=5) for _ in range(2))
    assert first["jobs"] == second["jobs"]


def test_a_job_that_does_not_repeat_itself_is_named_with_its_line(tmp_path):
    (tmp_path / "s.toml").write_text(
        "[machine.torus]\ndims = [4, 4]\n"
        '[[jobs]]\nname = "solver"\nranks = 4\nworkload = { allreduce = { bytes = "8 B", iterations = 9 } }\n'
        '\n[[jobs]]\nname = "once"\nranks = 4\nworkload = { allreduce = { bytes = "8 B", iterations = 1 } }\n'
    )
    refused = launcher.run([*ODONATA, "extrapolate", "s.toml"], cwd=tmp_path)
    assert refused.returncode == 2
    output = " ".join(refused.stderr.split())
    assert 'job "once" has no repetitions --> s.toml:8 8 | [[jobs]] key jobs.1' in output


@pytest.mark.parametrize(
    ("content", "options", "key"),
    [
        (scenario(solver(1)), {}, "jobs.0"),
        (scenario(solver(50)), {"tolerance": 0}, "tolerance"),
        (scenario(solver(50), run={"time_limit": "1 ms"}), {}, "run.time_limit"),
    ],
)
def test_what_cannot_be_extrapolated_is_refused(content, options, key):
    with pytest.raises(odonata.InputError) as refused:
        odonata.extrapolate(content, **options)
    assert refused.value.key == key


def test_the_command_answers_in_words_and_as_json(tmp_path):
    text = "[machine.dragonfly]\n" + "".join(
        f"{key} = {value}\n" for key, value in MACHINE["dragonfly"].items()
    )
    text += "[[jobs]]\nname = 'solver'\nranks = 8\n"
    text += "workload.stencil = { message = '16 KiB', iterations = 300, compute = '5 us' }\n"
    (tmp_path / "s.toml").write_text(text)

    def call(*options):
        return launcher.run([*ODONATA, "extrapolate", "s.toml", *options], cwd=tmp_path, check=True).stdout

    assert "of the iterations were skipped" in call()
    answer = json.loads(call("--json"))
    json_types.check(answer, ANSWERS["extrapolate"])
    assert answer["steady"]
