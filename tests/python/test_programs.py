"""Programs in Python and in files: examples of the guide and of the format, commands, errors, digests."""

import json
import re

import pytest
from conftest import ROOT
from reference_traces import TRACES

import odonata
from odonata import operations as ops

PAGE = "".join((ROOT / f"docs/{name}.md").read_text() for name in ("programs", "program-format"))
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
TORUS = {"machine": {"torus": {"dims": [4, 4]}}}
DRAGONFLY = {
    "machine": {
        "dragonfly": {
            "groups": 9,
            "routers_per_group": 4,
            "nodes_per_router": 2,
            "global_ports_per_router": 2,
        }
    }
}
STORAGE = {
    "nodes": {"per_group": 1},
    "device": {"capacity": "1 TB", "rate": {"write": "5 GB/s", "read": "5 GB/s", "overhead": "20 us"}},
}


def block(text):
    """The example of the page that contains this text."""
    (found,) = [block for block in BLOCKS if text in block]
    return found


def ring(rank, ranks, *, rounds=10, size=65536):
    for number in range(rounds):
        yield ops.irecv((rank - 1) % ranks, size, request=0)
        yield ops.isend((rank + 1) % ranks, size, request=1)
        yield ops.compute(20e-6)
        yield ops.wait_all(0, 2)
        yield ops.alltoallv(
            [(rank + to) * 64 for to in range(ranks)], [(rank + giver) * 64 for giver in range(ranks)]
        )
        yield ops.allreduce(8, comm=1)
        yield ops.mark(number)


ring = ops.communicators(lambda ranks, **_: {1: [range(0, ranks, 2), range(1, ranks, 2)]})(ring)


def digest(scenario, **how):
    results = odonata.run(scenario, **how)
    assert results.outcome == "completed"
    return results.run["digest"]


def test_the_python_examples_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ring.py").write_text(block("def ring("))
    blocks = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    (toml,) = (text for text in blocks if "ring.py:ring" in text)
    (tmp_path / "ring.toml").write_text(toml)
    results = odonata.run(tmp_path / "ring.toml")
    (job,) = results.rows("jobs")
    # Per round a message and an all-reduce of 16 ranks: 4 steps.
    assert (results.outcome, job["ranks"], job["messages"]) == ("completed", 16, 16 * 20 * 5)
    # Instead of the user's file.
    (tmp_path / "ping.py").write_text(block("def ping(") + "\nassert results.outcome == 'completed'\n")
    exec(compile((tmp_path / "ping.py").read_text(), str(tmp_path / "ping.py"), "exec"), {"__name__": "ping"})
    monkeypatch.syspath_prepend(tmp_path)
    names = {}
    exec(compile(block("operations.write("), "page", "exec"), names)
    assert names["program"].operations.num_rows == 16 * 20 * 6
    spaces = {}
    (tmp_path / "halves.py").write_text(block("def halves("))
    exec(compile(block("def halves("), str(tmp_path / "halves.py"), "exec"), spaces)
    assert digest({**TORUS, "jobs": [{"python": spaces["halves"], "ranks": 8}]})


def test_a_program_written_with_pyarrow_alone_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block("pair.program"), "page", "exec"), {})
    results = odonata.run({**TORUS, "jobs": [{"trace": "pair.program"}]})
    (job,) = results.rows("jobs")
    assert (results.outcome, job["messages"], job["bytes_sent"]) == ("completed", 1, 1024)


def test_every_scheduler_gives_a_python_program_the_same_digest():
    scenario = {**DRAGONFLY, "jobs": [{"python": ring, "ranks": 24, "args": {"rounds": 8}, "repeat": 2}]}
    sequential = digest(scenario, scheduler="sequential")
    for scheduler in ("conservative", "optimistic"):
        how = {"run.parts": 5}
        assert digest(scenario, scheduler=scheduler, threads=2, overrides=how) == sequential, scheduler


def test_a_program_in_python_and_the_same_in_files_give_one_digest(tmp_path):
    file = tmp_path / "ring.program"
    assert ops.write(file, ring, 12, args={"rounds": 5}) == (12, 12 * 5 * 7)
    alone = {**DRAGONFLY, "jobs": [{"python": ring, "ranks": 12, "args": {"rounds": 5}}]}
    assert digest({**DRAGONFLY, "jobs": [{"trace": str(file)}]}) == digest(alone)
    program = ops.read(file)
    assert program.description["ranks"] == 12
    assert program.communicators.to_pylist() == [
        {"comm": 1, "members": [0, 2, 4, 6, 8, 10], "users": []},
        {"comm": 1, "members": [1, 3, 5, 7, 9, 11], "users": []},
    ]
    (row,) = [row for row in program.rank(5) if row["kind"] == "mark" and row["iteration"] == 4]
    assert row["bytes"] is None


@pytest.mark.parametrize("workload", ["cosmoflow", "milc", "stencil", "phases"])
def test_a_skeleton_and_its_file_give_one_digest(shell, tmp_path, workload):
    works = {
        "cosmoflow": "{ cosmoflow = { iterations = 3, compute = '1 ms' } }",
        "milc": "{ milc = { iterations = 3 } }",
        "stencil": "{ stencil = { iterations = 3 } }",
        "phases": "[{ stencil = { iterations = 2 } }, { checkpoint = { iterations = 2, total = '8 MB' } }]",
    }
    machine = (
        "[machine.dragonfly]\ngroups = 9\nrouters_per_group = 4\nnodes_per_router = 2\n"
        "global_ports_per_router = 2\n[storage]\nnodes = { per_group = 1 }\n"
        "device = { capacity = '1 TB', rate = { write = '5 GB/s', read = '5 GB/s', overhead = '20 us' } }\n"
        "[[jobs]]\nname = 'one'\n"
    )
    native = tmp_path / "native.toml"
    native.write_text(f"{machine}ranks = 16\nworkload = {works[workload]}\n")
    done = shell("trace", "convert", str(native), "--job", "one", str(tmp_path / "one.program"))
    assert done.code == 0, done.err
    assert "one.program: 16 ranks, " in done.out
    (tmp_path / "file.toml").write_text(f"{machine}trace = 'one.program'\n")
    assert digest(tmp_path / "file.toml") == digest(native)
    # And three times, once in the file and once by the key.
    again = str(tmp_path / "again.program")
    assert shell("trace", "convert", str(tmp_path / "one.program"), again, "--repeat", "3").code == 0
    (tmp_path / "again.toml").write_text(f"{machine}trace = 'again.program'\n")
    assert digest(tmp_path / "again.toml") == digest(native, overrides={"jobs.0.repeat": 3})


@pytest.mark.parametrize("trace", TRACES)
def test_traces_and_their_files_give_one_digest(tmp_path, shell, trace):
    target = tmp_path / f"{trace.name}.program"
    assert shell("trace", "convert", str(trace), str(target)).code == 0
    found = json.loads(shell("trace", "info", str(target), "--json").out)
    assert found["nranks"] == json.loads((trace / "ground-truth.json").read_text())["nranks"]
    assert shell("trace", "lint", str(target)).code == 0, trace
    job = {"name": "traced", "compute_scale": 0.01}
    runs = [
        {**DRAGONFLY, "storage": STORAGE, "jobs": [{**job, "trace": str(path)}]} for path in (trace, target)
    ]
    assert digest(runs[0]) == digest(runs[1]), trace


def fails(rank, ranks):
    yield ops.compute(1e-6)
    if rank == 3:
        raise LookupError("no such number")
    yield ops.compute(1e-6)


def wrong(rank, ranks):
    yield ops.compute(1e-6)
    yield 5


def test_an_exception_ends_the_run_with_rank_operation_and_traceback():
    for scheduler in ("sequential", "optimistic"):
        scenario = {**TORUS, "jobs": [{"name": "bad", "python": fails, "ranks": 4}]}
        results = odonata.run(scenario, must_succeed=False, scheduler=scheduler)
        assert results.outcome == "program-error"
        detail = results.run["detail"]
        assert detail.startswith('job "bad" rank 3: the Python program ')
        assert "failed before operation 1: LookupError: no such number\n" in detail
        assert 'raise LookupError("no such number")' in detail


def fails_last(rank, ranks):
    # Other ranks have ended long before, so that their positions are invalid in this program.
    yield ops.compute(1e-6)
    if rank == ranks - 1:
        yield from [ops.compute(1e-6)] * 50
        raise LookupError("no such number")


@pytest.mark.parametrize("scheduler", ["sequential", "conservative", "optimistic"])
def test_a_rank_of_any_part_says_why_its_program_failed(scheduler):
    scenario = {**DRAGONFLY, "jobs": [{"name": "bad", "python": fails_last, "ranks": 72}]}
    whole = odonata.run(scenario, must_succeed=False, overrides={"run.parts": 1})
    parts = odonata.run(
        scenario, must_succeed=False, scheduler=scheduler, threads=2, overrides={"run.parts": 9}
    )
    assert whole.outcome == parts.outcome == "program-error"
    assert whole.run["detail"].startswith('job "bad" rank 71: ')
    assert "LookupError: no such number" in whole.run["detail"]
    assert parts.run["detail"] == whole.run["detail"]
    assert parts.run["digest"] == whole.run["digest"]


def test_an_error_names_the_type_of_a_value_that_is_no_operation(tmp_path):
    results = odonata.run({**TORUS, "jobs": [{"python": wrong, "ranks": 2}]}, must_succeed=False)
    assert results.outcome == "program-error"
    message = "operation 1: it yielded 5 (of type int); expected an operation of odonata.operations"
    assert message in results.run["detail"]
    with pytest.raises(odonata.InputError, match="it yielded 5"):
        ops.write(tmp_path / "x.program", wrong, 2)

    def nobody(rank, ranks):
        yield ops.send(7, 1)

    with pytest.raises(odonata.InputError, match=r"column peer: 7 on a communicator of 2 ranks"):
        ops.write(tmp_path / "x.program", nobody, 2)
    assert list(tmp_path.iterdir()) == []


def unmatched(rank, ranks, *, what):
    yield ops.compute(1e-6)
    if rank == 0 and what == "receive":
        yield ops.irecv(1, 8, request=3, tag=7)
    elif rank == 0 and what == "message":
        yield ops.send(1, 8, tag=7)
    elif what == "request":
        yield ops.isend(1, 8, request=3, tag=7) if rank == 0 else ops.recv(0, 8, tag=7)


LEFT_BEHIND = {
    "receive": "rank 0: a receive from rank 1 with tag 7 (world) (operation 1) got no message",
    "message": "rank 1: a message of 8 B from rank 0 with tag 7 (world) was never received",
    "request": "rank 0: request 3, a send (operation 1), was never waited for",
}


@pytest.mark.parametrize("what", LEFT_BEHIND)
def test_what_a_program_leaves_behind_is_its_error_under_every_scheduler(what):
    job = {"name": "bad", "python": unmatched, "ranks": 2, "args": {"what": what}}
    for scheduler in ("sequential", "conservative", "optimistic"):
        scenario = {**TORUS, "run": {"parts": 2}, "jobs": [job]}
        results = odonata.run(scenario, must_succeed=False, scheduler=scheduler)
        assert results.ending == f'program-error: job "bad" {LEFT_BEHIND[what]}'


def test_a_failing_program_has_the_exit_code_of_a_failed_run(shell):
    shell.write("[machine.torus]\ndims = [4]\n[[jobs]]\npython = 'bad.py:bad'\nranks = 2\n")
    (shell.folder / "bad.py").write_text("def bad(rank, ranks):\n    yield 1 / rank\n")
    done = shell("run", "scenario.toml", "-o", "out")
    assert done.code == 3
    assert "ZeroDivisionError" in done.err + done.out
    (shell.folder / "bad.py").write_text("def bad(rank, ranks):\n    return 3\n")
    done = shell("run", "scenario.toml", "-o", "out", "--force")
    assert done.code == 3
    assert "it returned 3; a program yields its operations" in done.err


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"python": "missing.py:f"}, "missing.py"),
        ({"python": "nothing"}, "names no function"),
        ({"python": f"{__file__}:nothing"}, "has no function nothing"),
        ({"python": f"{__file__}:fials"}, "has no function fials; did you mean fails?"),
        ({"python": f"{__file__}:fails", "args": {"size": 3}}, "unexpected keyword argument 'size'"),
        ({"python": f"{__file__}:fails", "args": ["3"]}, "a list of arguments"),
        ({"workload": {"milc": {}}, "args": {"size": 3}}, "a table of arguments"),
        ({"python": f"{__file__}:fails", "trace": "x"}, ""),
    ],
)
def test_a_job_that_cannot_be_started_is_an_error_at_its_key(job, message):
    with pytest.raises(odonata.InputError) as caught:
        odonata.check({**TORUS, "jobs": [{"ranks": 4, **job}]})
    assert caught.value.key.startswith("jobs.0")
    assert message in str(caught.value)


def test_convert_refuses_an_existing_target_and_an_invalid_program(shell, tmp_path):
    shell.write("[machine.torus]\ndims = [4]\n[[jobs]]\nranks = 4\nworkload.stencil = { iterations = 1 }\n")
    target = str(tmp_path / "x.program")
    assert shell("trace", "convert", "scenario.toml", target).code == 0
    again = shell("trace", "convert", "scenario.toml", target)
    assert (again.code, "exists" in again.err) == (2, True)
    assert shell("trace", "convert", "scenario.toml", target, "--force").code == 0
    assert shell("trace", "convert", "scenario.toml", target, "--force", "--job", "nobody").code == 2
    page = shell("trace", "info", target)
    assert page.code == 0
    assert "x.program: 4 ranks" in page.out
    (tmp_path / "x.program/operations.parquet").write_bytes(b"PAR1 something else PAR1")
    broken = shell("trace", "lint", target)
    assert broken.code == 2
    assert "operations.parquet" in broken.err


def test_the_example_scenario_runs():
    results = odonata.run(ROOT / "examples/python.toml")
    assert results.outcome == "completed"
    assert [job["ranks_finished"] for job in results.rows("jobs")] == [32, 27]


def ncptl(shell, tmp_path, text: str) -> None:
    (tmp_path / "job.ncptl").write_text(text)
    shell.write("[machine.torus]\ndims = [4]\n[[jobs]]\nname = 'job'\nranks = 4\nprogram = 'job.ncptl'\n")


RING = "asynchronously send a 2K byte message to task (t+1) mod num_tasks then all tasks await completion"


def test_a_conceptual_program_is_converted_with_equal_results(shell, tmp_path):
    ncptl(
        shell,
        tmp_path,
        f'For 5 repetitions {{ all tasks t {RING} }} then all tasks log elapsed_usecs as "t".',
    )
    done = shell("trace", "convert", "scenario.toml", "job.program")
    assert (done.code, done.err) == (0, "")
    # 4 ranks, 5 passes: a receive, a send and a wait.
    assert done.out == "job.program: 4 ranks, 60 operations\n"
    (tmp_path / "file.toml").write_text(
        "[machine.torus]\ndims = [4]\n[[jobs]]\nname = 'job'\ntrace = 'job.program'\n"
    )
    assert digest(tmp_path / "file.toml") != digest(tmp_path / "scenario.toml"), (
        "what is logged is not in files"
    )
    found = json.loads(shell("trace", "info", "job.program", "--json").out)
    assert (found["total_records"], found["total_sends"], found["total_recvs_posted"]) == (60, 20, 20)
    assert found["total_send_bytes"] == 20 * 2048
    assert shell("trace", "lint", "job.program").code == 0


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (f"For 3 milliseconds {{ all tasks t {RING} }}", "a timed loop"),
        (f"If elapsed_usecs > 5 then all tasks t {RING}", "elapsed_usecs outside LOGS and OUTPUTS"),
        ("All tasks t compute for elapsed_usecs microseconds", "elapsed_usecs outside LOGS and OUTPUTS"),
    ],
)
def test_a_program_that_depends_on_the_time_of_the_run_is_not_converted(shell, tmp_path, statement, what):
    ncptl(shell, tmp_path, f"All tasks synchronize.\n{statement}.")
    refused = shell("trace", "convert", "scenario.toml", "job.program")
    assert refused.code == 2
    assert "operations depend on simulated time" in refused.err
    assert "job.ncptl:2:" in refused.err
    assert what in refused.err
    assert not (tmp_path / "job.program").exists()
    direct = shell("trace", "convert", "job.ncptl", "job.program")
    assert (direct.code, "keys of a job" in direct.err) == (2, True)


@pytest.mark.parametrize("folder", TRACES)
def test_a_trace_and_its_conversion_have_the_same_totals(shell, tmp_path, folder):
    same = ["nranks", "total_sends", "total_persistent_starts"]
    target = str(tmp_path / f"{folder.name}.program")
    assert shell("trace", "convert", str(folder), target).code == 0
    trace, program = (json.loads(shell("trace", "info", str(one), "--json").out) for one in (folder, target))
    keys = list(same)
    # These reuse numbers of datatypes: a trace's statistics use the sizes in its files, a replay those of the
    # calls that made the types. One also cancels receives, which are not replayed.
    if folder.name not in ("hpcc-4", "scalapack-lu-8"):
        keys += ["total_send_bytes", "total_recvs_posted"]
    assert {key: trace[key] for key in keys} == {key: program[key] for key in keys}, folder
    calls = [sum(one["total_collective_calls"].values()) for one in (trace, program)]
    assert calls[0] == calls[1], folder
