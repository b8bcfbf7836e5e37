"""The functions of the package: every command, with Python's names."""

import inspect
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, SMALL
from test_devices import TABLE_ONE

import odonata
from odonata import _core, answers, tool_answers
from odonata.base import json_types
from odonata.cli import app, application
from odonata.commands.declared import COMMANDS
from odonata.errors import InputError, given, in_terminal, input_errors, option

TORUS = {"machine": {"torus": {"dims": [4, 4]}}}
TRAFFIC = {**TORUS, "jobs": [{"ranks": 16, "workload": {"uniform": {"load": 0.1, "messages": 100}}}]}


@pytest.fixture(scope="module")
def results():
    return odonata.run(tomllib.loads(SMALL), baselines=True)


def test_numbers_of_numpy_are_numbers():
    """Ranks, seeds and swept values often come from arrays."""
    scenario = {
        "machine": {"torus": {"dims": [4, 4], "nodes_per_router": np.int64(1)}},
        "jobs": [{"name": "a", "ranks": np.int64(8), "workload": {"stencil": {"iterations": 2}}}],
    }
    plain = odonata.run(scenario, seed=3, overrides={"jobs.a.ranks": 4})
    assert (
        odonata.run(scenario, seed=np.int64(3), overrides={"jobs.a.ranks": np.int32(4)}).run["digest"]
        == (plain.run["digest"])
    )
    found = odonata.sweep(scenario, over={"jobs.a.ranks": np.array([4, 8])}, seeds=np.int64(2))
    assert found.table["jobs.a.ranks"].to_pylist() == [4, 4, 8, 8]


@pytest.mark.parametrize("wrong", ["five", 1.5, [1, 2]])
def test_a_seed_that_is_no_number_is_an_input_error(wrong):
    with pytest.raises(InputError, match="no whole number"):
        odonata.run({"jobs": []}, seed=wrong)


def test_the_package_shows_what_it_offers_and_nothing_else():
    assert dir(odonata) == sorted(odonata.__all__)
    for name in odonata.__all__:
        assert getattr(odonata, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'importlib'"):
        odonata.importlib  # noqa: B018


def test_every_function_says_what_it_takes_and_gives():
    for name in odonata.__all__:
        public = getattr(odonata, name)
        if not inspect.isfunction(public):
            continue
        signature = inspect.signature(public)
        assert signature.return_annotation is not inspect.Parameter.empty, name
        for argument in signature.parameters.values():
            assert argument.annotation is not inspect.Parameter.empty, (name, argument)
            assert f"{argument.name}:" in public.__doc__ or len(signature.parameters) < 3, (name, argument)


def test_there_is_a_function_for_every_command():
    """Under the command's name; some are methods of their input."""
    names = set()
    for name, command in app.commands.items():
        below = getattr(command, "commands", None)
        names |= {name} if below is None else {f"{name} {one}" for one in below}
    elsewhere = {
        "summary": odonata.Results.summary,
        "report": odonata.html_report,
        "bench": odonata.benchmark,
        "device show": odonata.device_preset,
        "schema": odonata.Scenario,
        "timeline": odonata.Results.timeline,
        "explain": odonata.Results.explain,
        "import": odonata.import_scenario,
    }
    missing = {
        name for name in names if name.replace(" ", "_").replace("-", "_") not in odonata.__all__
    } - set(elsewhere)
    assert missing == set()


def test_checks_and_descriptions_take_presets():
    assert odonata.check("theta")["machine"]["nodes"] == 3456
    found = odonata.describe("theta", routing=True, overrides={"machine.dragonfly-2d.groups": 3})
    assert (found["nodes"], found["routing"]["deadlock_free"]) == (1152, True)
    with pytest.raises(odonata.InputError, match="neither a file nor a preset") as raised:
        odonata.check("tehta")
    assert (raised.value.key, raised.value.hint) == ("scenario", "did you mean theta?")


def test_an_error_in_a_dictionary_has_no_line(tmp_path):
    wrong = {**TORUS, "network": {"routing": {"algorithm": "minimall"}}}
    with pytest.raises(odonata.InputError) as raised:
        odonata.check(wrong)
    error = raised.value
    assert (error.file, error.line, error.column) == (None, None, None)
    assert error.key == "network.routing.algorithm"
    assert "-->" not in str(error)


def test_running_a_preset_explains_presets():
    with pytest.raises(odonata.InputError, match="theta is a preset") as raised:
        odonata.run("theta")
    message = str(raised.value)
    assert 'odonata.Scenario(preset="theta", jobs=[...])' in message
    assert "--" not in message.replace("-->", "")


def test_a_description_is_that_of_the_command(shell, tmp_path):
    odonata.Scenario.from_dict(TORUS).save(shell.folder / "torus.toml")
    output = shell("describe", "torus.toml", "--json", "--export", "a.graphml").json
    assert {**odonata.describe(TORUS, export=tmp_path / "b.graphml"), "name": "torus"} == output
    assert (tmp_path / "b.graphml").read_text() == (shell.folder / "a.graphml").read_text()
    with pytest.raises(odonata.InputError, match="exists") as raised:
        odonata.describe(TORUS, export=tmp_path / "b.graphml")
    assert raised.value.hint == "replace it with force=True"


def test_a_summary_is_that_of_the_command(results, shell, small):
    assert (
        json.loads(json.dumps(odonata.load(small).summary())) == shell("summary", str(small), "--json").json
    )
    json_types.check(dict(results.summary()), answers.Summary)


def test_a_load_sweep_measures_writes_and_opens(tmp_path, shell):
    found = odonata.load_sweep(TRAFFIC, tmp_path / "out", loads=(0.1, 0.2), max_samples=6, saturation=None)
    assert (found.outcome, [point["offered"] for point in found.points]) == ("completed", [0.1, 0.2])
    again = odonata.LoadSweep.load(tmp_path / "out")
    assert again.points == found.points
    assert again.saturation == (0.2, None)
    assert {"offered", "accepted", "mean_ns", "saturated"} <= set(again.table.column_names)
    assert again.to_pandas()["offered"].tolist() == [0.1, 0.2]
    odonata.Scenario.from_dict(TRAFFIC).save(shell.folder / "traffic.toml")
    output = shell(
        "load-sweep", "traffic.toml", "--loads", "0.1,0.2", "--max-samples", "6", "--json", "--quiet"
    ).json
    timing = ("cpu_s", "wall_s")
    assert [
        {key: value for key, value in point.items() if key not in timing} for point in output["points"]
    ] == [{key: value for key, value in point.items() if key not in timing} for point in found.points]
    with pytest.raises(odonata.InputError, match="not a load sweep"):
        odonata.LoadSweep.load(tmp_path)


@pytest.mark.parametrize(
    ("call", "key", "message"),
    [
        (lambda: odonata.load_sweep(TRAFFIC, loads=[1.5]), "loads", "loads above 0"),
        (lambda: odonata.load_sweep(TRAFFIC, loads=[]), "loads", "loads above 0"),
        (lambda: odonata.load_sweep(TRAFFIC, method="fast"), "method", "steady or booksim"),
        (lambda: odonata.load_sweep(TRAFFIC, max_samples=4), "max_samples", "at least 5"),
        (lambda: odonata.load_sweep(TRAFFIC, processes=0), "processes", "1 or more"),
        (lambda: odonata.load_sweep(TRAFFIC, latency_threshold="x"), "latency_threshold", "method=steady"),
        (lambda: odonata.load_sweep(TRAFFIC, job="x"), "jobs", "one of uniform"),
        (lambda: odonata.run(TRAFFIC, overrides={"network.packt": "1 KiB"}), "network.packt", "packet"),
        (lambda: odonata.run(TRAFFIC, resume=True), "resume", "a folder"),
        (lambda: odonata.run({**TRAFFIC, "seeds": 3}), "seeds", "seed"),
        (lambda: odonata.sweep(TRAFFIC, over={"jobs.0.rank": [1]}), "over.jobs.0.rank", "rank"),
        (lambda: odonata.device_bench("nvme"), "device", "cori-bb"),
        (lambda: odonata.device_bench("cori-bb", record="1 KX"), "record", "1 KX"),
        (lambda: odonata.device_bench("cori-bb", queue_depth=0), "queue_depth", "1"),
        (lambda: odonata.device_bench("cori-bb", reads=0.5), "reads", "random-mixed"),
        (lambda: odonata.device_fit("nowhere.csv", "ssd"), None, "No such file"),
        (lambda: odonata.device_preset("x"), "device", "cori-bb"),
        (lambda: odonata.trace_info("nowhere"), None, "No such file"),
        (lambda: odonata.trace_convert("nowhere", "x", repeat=0), "repeat", "1 to 2^32"),
        (lambda: odonata.workload_check("nowhere.ncptl"), None, "No such file"),
        (lambda: odonata.workload_compile("nowhere.ncptl", 0), "tasks", "2^24"),
        (lambda: odonata.preset("tehta"), "name", "did you mean theta?"),
        (lambda: odonata.benchmark(["x"]), "name", "one of"),
        (lambda: odonata.html_report(), "folders", "one result"),
        (lambda: odonata.init("x.toml", jobs=["stencyl"]), "job", "did you mean stencil?"),
    ],
)
def test_mistakes_are_reported_in_the_words_of_python(call, key, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(odonata.InputError) as raised:
        call()
    text = str(raised.value)
    assert raised.value.key == key
    assert message in text
    # No option of the command, and no name of its arguments.
    assert " --" not in text.replace("  --> ", "")
    assert list(tmp_path.iterdir()) == []


def test_errors_are_reported_in_the_words_of_the_command_and_of_python():
    hint = "continue with " + given("resume") + ", or start again with " + given("force")
    error = InputError("no", key=option("latency_threshold"), hint=hint)
    assert (error.key, error.hint) == (
        "latency_threshold",
        "continue with resume=True, or start again with force=True",
    )
    message = in_terminal(error)
    assert (message.key, message.hint) == (
        "--latency-threshold",
        "continue with --resume, or start again with --force",
    )


def test_an_option_is_the_place_of_an_error_of_the_command_alone():
    error = InputError("not a list of loads", file=option("loads"), value="x")
    assert (error.file, error.key) == (None, "loads")
    assert "--> --loads" in str(in_terminal(error))


def test_the_core_names_options_that_python_has_not():
    core = json.dumps({"message": "no", "hint": "--job with one of a, b", "file": "--set seed=x"})
    with pytest.raises(InputError) as raised, input_errors():
        raise _core.InputError(core)
    assert (raised.value.hint, raised.value.file) == ("job with one of a, b", 'overrides={"seed": x}')
    message = in_terminal(raised.value)
    assert (message.hint, message.file) == ("--job with one of a, b", "--set seed=x")


def test_other_commands_answer_as_declared(tmp_path):
    """Answers have only declared keys."""

    def whole(content, kind):
        schema = json_types.schema_of(kind)
        json_types.check(json.loads(json.dumps(content)), kind)

        def walk(part, way):
            if isinstance(part, dict):
                for key, value in part.items():
                    # A value without further declaration may hold anything.
                    above = json_types.part(schema, way)
                    if above is not None and ("properties" in above or "additionalProperties" in above):
                        free = above.get("additionalProperties") is True
                        assert free or json_types.part(schema, (*way, key)) is not None, (*way, key)
                        walk(value, (*way, key))
            elif isinstance(part, list):
                for number, value in enumerate(part[:5]):
                    walk(value, (*way, number))

        walk(content, ())

    for trace in sorted((ROOT / "tests/traces/dumpi").iterdir()):
        whole(odonata.trace_info(trace), tool_answers.TraceInfo)
        whole(odonata.trace_lint(trace), list[tool_answers.TraceFinding])
        program = tmp_path / f"{trace.name}.program"
        whole(odonata.trace_convert(trace, program), tool_answers.Converted)
        whole(odonata.trace_info(program), tool_answers.TraceInfo)
    for device in odonata.device_presets():
        whole(odonata.device_bench(device, accesses=20), tool_answers.DeviceBench)
    (tmp_path / "table.csv").write_text(TABLE_ONE)
    whole(odonata.device_fit(tmp_path / "table.csv", "ssd"), tool_answers.DeviceFit)
    program = ROOT / "examples/conceptual.ncptl"
    whole(odonata.workload_check(program), tool_answers.ProgramCheck)
    whole(odonata.workload_compile(program, 2), tool_answers.ProgramRecord)
    wrong = tmp_path / "wrong.ncptl"
    wrong.write_text("task 0 sens a message")
    found = odonata.workload_check(wrong)
    assert found["errors"]
    whole(found, tool_answers.ProgramCheck)
    with pytest.raises(odonata.InputError, match="sens"):
        odonata.workload_compile(wrong, 2)
    whole(odonata.presets(), list[answers.PresetSummary])
    whole(odonata.preset("trinity"), answers.Preset)


def test_the_answer_of_a_command_is_what_its_function_returns():
    """Under the command's name; two commands answer more than their function, or with it as text."""
    application()
    types = vars(answers) | vars(tool_answers)
    compared = 0
    for name, command in COMMANDS.items():
        declared = answers.ANSWERS.get(name.replace(" ", "-"))
        returned = inspect.signature(command.function).return_annotation
        if declared is None or name in ("presets", "trace repeat", "device show", "check", "describe"):
            continue
        assert eval(returned, types) == declared, name
        compared += 1
    assert compared > 10


@pytest.mark.slow
def test_benchmarks_answer_as_declared():
    found = odonata.benchmark_parallel(["hybrid-1056"], quick=True, threads=[1], rounds=1)
    json_types.check(found, answers.ParallelBench)
    for row in found["rows"]:
        assert set(row) <= set(answers.ParallelRow.__annotations__)
        assert row["digest_equal"] is True


def test_init_writes_a_scenario(tmp_path):
    file = odonata.init(tmp_path / "mine.toml", machine="torus", jobs=["stencil:16"])
    assert [job["ranks"] for job in odonata.check(file)["jobs"]] == [16]
    assert odonata.Scenario.load(file).machine.torus.dims == [4, 4, 4]
    with pytest.raises(odonata.InputError, match="exists"):
        odonata.init(file)


def test_frames_of_polars_and_pandas_have_the_same(results):
    polars = pytest.importorskip("polars")
    frame = results.polars("jobs")
    assert isinstance(frame, polars.DataFrame)
    assert frame["job"].to_list() == results.frame("jobs")["job"].tolist() == ["halo", "training", "saver"]


def test_a_report_of_several_results_is_that_of_the_command(results, small, tmp_path):
    page = odonata.html_report(small, file=tmp_path / "page.html")
    assert page == (tmp_path / "page.html").read_text()
    with pytest.raises(odonata.InputError, match="exists"):
        odonata.html_report(small, file=tmp_path / "page.html")


def test_a_sweep_takes_objects_and_makes_a_page(tmp_path):
    made = odonata.Scenario.from_dict({**TRAFFIC, "name": "traffic"})
    found = odonata.sweep(made, over={"network.packet": ["1 KiB", "2 KiB"]}, seeds=2)
    assert (found.description["name"], found.table.num_rows) == ("traffic", 4)
    assert found.report().startswith("<!doctype html>")
    assert "traffic: completed, 2 points" in found._repr_html_()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_given_to_results_gets_the_function_to_read_it(kind, tmp_path):
    with pytest.raises(TypeError, match=r"odonata\.load\(.*takes the contents of run\.json"):
        odonata.Results(kind(tmp_path))
