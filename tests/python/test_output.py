"""Output: at any width, into closed pipes, as JSON with documented keys."""

import io
import os
import pty
import re

import launcher
import pytest
from conftest import ODONATA, SMALL, Shell
from rich.console import Console
from test_load_sweep import SWITCH

import odonata
from odonata.analysis import json_reference
from odonata.answers import ANSWERS
from odonata.base import json_types, terminal
from odonata.commands.schema import SchemaName


@pytest.fixture(scope="module")
def results(tmp_path_factory, server):
    shell = Shell(tmp_path_factory.mktemp("output"), server)
    shell.write(SMALL)
    assert shell("run", "scenario.toml", "-o", "out", "-q", "--baselines").code == 0
    return shell


def on_a_terminal(shell, width, *arguments):
    """The output of a command on a terminal of this width, without colors."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": str(width), "TERM": "xterm"}
    with launcher.start(
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


@pytest.mark.parametrize("width", [80, pytest.param(100, marks=pytest.mark.slow), 120])
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
    done = launcher.run([*ODONATA, *command], cwd=results.folder, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_pipe_does_not_change_how_a_run_ended(shell):
    shell.write(SMALL.replace('capacity = "1 GB"', 'capacity = "5 MB"'))
    reader, writer = os.pipe()
    os.close(reader)
    done = launcher.run([*ODONATA, "run", "scenario.toml", "-o", "out"], cwd=shell.folder, stdout=writer)
    os.close(writer)
    assert done.returncode == 3
    assert "storage-full" in done.stderr
    assert "Traceback" not in done.stderr
    assert (shell.folder / "out/run.json").exists()


def test_an_answer_that_cannot_be_printed_is_an_error(results):
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = launcher.run([*ODONATA, "summary", "out"], cwd=results.folder, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "error: the answer could not be printed: No space left on device\n"


def assert_declared(found, command):
    """Checks that an answer has exactly the declared keys."""
    json_types.check(found, ANSWERS[command])
    schema = json_types.schema_of(ANSWERS[command])

    def undeclared(value, way=()):
        declared = json_types.part(schema, way)
        if isinstance(value, list):
            for number, item in enumerate(value):
                yield from undeclared(item, (*way, number))
        elif declared is None:
            yield way
        elif isinstance(value, dict) and {"properties", "additionalProperties"} & set(declared):
            if isinstance(declared.get("additionalProperties", {}), bool):
                return  # of any keys
            for key, item in value.items():
                yield from undeclared(item, (*way, key))

    assert [*undeclared(found)] == []
    assert [*missing(found, schema)] == []


def missing(value, schema, way=()):
    """Declared required keys that are missing, also in objects of the core."""
    declared = json_types.part(schema, way) or {}
    if isinstance(value, dict):
        yield from ((*way, key) for key in declared.get("required", ()) if key not in value)
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from missing(item, schema, (*way, key))


def test_the_summary_in_json_is_as_declared(results):
    found = results("summary", "out", "--json").json
    assert_declared(found, "summary")
    assert found["slowdown"]["halo"]["elapsed"]["ratio"] > 0.99
    assert sum(found["jobs"][0][f"{part}_share"] for part in ("compute", "mpi", "io")) == pytest.approx(
        1, abs=0.05
    )


def test_the_comparison_in_json_is_as_declared(results):
    found = results("compare", "out", "out/baselines/saver", "--json").json
    assert_declared(found, "compare")
    assert all(found[part] for part in ("scenario", "jobs", "links", "servers"))


@pytest.mark.parametrize("command", [["check"], ["describe"], ["describe", "--routing"]])
def test_what_the_core_answers_is_as_declared(results, command):
    found = results(*command, "scenario.toml", "--json").json
    assert_declared(found, command[0])
    assert found["name"] == "small"


def test_the_benchmark_in_json_is_as_declared(results):
    found = results("bench", "--quick", "--json", "torus-1024").json
    assert_declared(found, "bench")
    assert found["cases"][0]["name"] == "torus-1024"


def test_the_load_sweep_in_json_is_as_declared(shell):
    shell.write(SWITCH)
    found = shell("load-sweep", "scenario.toml", "--loads", "0.1", "--json").json
    assert_declared(found, "load-sweep")
    assert found["points"][0]["offered"] == 0.1


def test_every_schema_can_be_asked_for():
    assert {*SchemaName} == {"scenario", *json_reference.schemas()}


@pytest.mark.parametrize("what", ["run", *ANSWERS])
def test_the_schema_of_an_answer_can_be_printed(shell, what):
    schema = shell("schema", what).json
    assert schema["type"] == ("array" if what in ("presets", "trace-lint", "devices") else "object")
    page = shell("schema", what, "--markdown").out
    assert page.count("\n") == 2 + len(json_reference.meanings(schema))


def test_an_answer_has_no_tables(shell):
    done = shell("schema", "run", "--tables")
    assert done.code == 2
    assert "--tables" in done.err


#: A job whose name Rich would take for markup and an emoji, on a machine without global cables.
TORUS = """\
name = "a :smile: [red]scenario"

[machine.torus]
dims = [4, 4]

[[jobs]]
name = "a[bold]b :32:"
ranks = 16
workload = { stencil = { dims = [4, 4], message = "16 KiB", iterations = 5, compute = "10 us" } }
"""


@pytest.fixture
def torus(shell):
    shell.write(TORUS, "ring[b]:32:.toml")
    return shell


def test_text_of_users_is_shown_as_it_is(torus):
    """Not as markup: text in brackets or between colons stays."""
    done = torus("run", "ring[b]:32:.toml", "-o", "out[b]:32:")
    assert done.out.startswith("a :smile: [red]scenario: completed")
    assert done.out.count("a[bold]b :32:") == 2
    assert "Tables: out[b]:32:/*.parquet" in done.out
    for command in (["check", "ring[b]:32:.toml"], ["summary", "out[b]:32:"]):
        assert "a[bold]b :32:" in torus(*command).out
    assert "A: out[b]:32: (a :smile: [red]scenario)" in torus("compare", *2 * ["out[b]:32:"]).out
    assert "--> no[b]:32:.toml" in torus("check", "no[b]:32:.toml").err
    assert "--> no[b]:32:.toml" in torus("workload", "check", "no[b]:32:.toml").err
    assert "--> no[b]:32:" in torus("trace", "info", "no[b]:32:").err


def test_a_machine_without_global_cables_is_not_held_against_them(torus, shell):
    assert "global" not in torus("check", "ring[b]:32:.toml").out
    shell.write(SMALL)
    assert "bandwidth of all global cables: 0." in shell("check", "scenario.toml", "--verbose").out


def test_what_does_not_fit_goes_on_below_its_row(torus):
    lines = torus("check", "ring[b]:32:.toml").out.splitlines()
    row = next(line for line in lines if line.startswith("a[bold]b :32:"))
    assert "stencil, 4 x 4 torus" in row
    assert "neighbor" in lines[lines.index(row) + 1]
    narrow = on_a_terminal(torus, 60, "check", "ring[b]:32:.toml").splitlines()
    heading = next(number for number, line in enumerate(narrow) if line.startswith("job "))
    assert narrow[heading + 1].startswith("a[bold]b ")
    assert narrow[heading + 1].endswith("stencil, 4")
    assert narrow[heading + 2].startswith(":32: ")


def test_the_time_after_the_last_job_is_reported(shell):
    """For half of the time servers drain, which reduces the shares of jobs."""
    drain = 'drain = { bandwidth = "1 GB/s", latency = "100 us", threshold = "0 B" }\n'
    shell.write(SMALL.replace("[[jobs]]", drain + "\n[[jobs]]", 1))
    done = shell("run", "scenario.toml", "-o", "out")
    page = shell("summary", "out", "--json").json
    ended_s = max(
        row["start_s"] + row["elapsed_s"] for row in odonata.load(shell.folder / "out").rows("jobs")
    )
    assert page["after_jobs_s"] == pytest.approx(page["simulated_s"] - ended_s)
    assert page["after_jobs_s"] > 0.01 * page["simulated_s"]
    assert "and servers drained for another" in " ".join(done.out.split())
    shell.write(SMALL)
    assert "drained" not in shell("run", "scenario.toml", "-o", "without").out


@pytest.mark.parametrize("width", range(8, 40))
def test_no_line_of_a_sentence_ends_between_a_number_and_its_unit(width):
    written = io.StringIO()
    console = Console(file=written, width=width)
    sentence = "- it waited 9% of 12.5 ms, on 3 links at 25 GiB/s, of which 1.2 us, 3 s and 4 KiB are its own"
    terminal.explain(console, sentence)
    lines = written.getvalue().splitlines()
    assert " ".join(line.strip() for line in lines) == sentence
    assert not [line for line in lines[1:] if re.match(r" *(%|ms|us|s|GiB/s|KiB)\b|  %", line)]


def test_the_heading_of_a_wide_table_breaks_keys_at_their_dots():
    written = io.StringIO()
    console = Console(file=written, width=40)
    page = terminal.table("network.ethernet.transport", "network.routing.algorithm", "job", "time", left=3)
    page.add_row("roce", "minimal", "solver", "3.96 ms")
    terminal.show_table(console, page)
    assert written.getvalue().splitlines()[2].split() == ["transport", "algorithm", "job", "time"]
