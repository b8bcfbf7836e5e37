"""Scenarios as objects: generated from the schema, validated at once, and equal to files."""

import json
import re
import tomllib
import typing

import pytest
from conftest import ROOT, SMALL

import odonata
from odonata import _core, scenario
from odonata.scenario import model_source
from odonata.scenario.table import Table

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
#: Sweeps, and rules of batch queues, are no scenarios.
STUDIES = sorted(
    path
    for path in (ROOT / "studies").rglob("*.toml")
    if path.parent.name != "sweeps" and path.name != "rules.toml"
)


def test_the_classes_are_current():
    """If not: `make docs`."""
    assert (ROOT / "python/odonata/scenario/objects.py").read_text() == model_source.module(
        json.loads(_core.schema())
    )


@pytest.mark.parametrize(
    "path", EXAMPLES + STUDIES, ids=lambda path: str(path.relative_to(ROOT)).replace("/", "-")
)
def test_a_file_becomes_objects_and_the_same_file_again(path):
    written = tomllib.loads(path.read_text())
    made = odonata.Scenario.load(path)
    assert made.to_dict() == written
    assert tomllib.loads(made.to_toml()) == written
    assert eval(repr(made), vars(scenario)).to_dict() == written


def test_every_key_has_a_field_and_its_default():
    """Default tables have the core's defaults."""
    schema = json.loads(_core.schema())
    known = {
        model_source._RENAMED.get(name, name): part
        for name, part in [*schema["$defs"].items(), ("Scenario", schema)]
    }
    compared = 0
    for name, definition in known.items():
        made = getattr(scenario, name)
        if not (isinstance(made, type) and issubclass(made, Table)) or "properties" not in definition:
            continue
        fields = {field.serialization_alias or key: field for key, field in made.model_fields.items()}
        assert set(fields) == set(definition["properties"])
        for key, inner in definition["properties"].items():
            field = fields[key]
            assert field.is_required() == (key in definition.get("required", ())), (name, key)
            default = inner.get("default")
            if isinstance(default, dict) and field.default_factory is None:
                # The core fills in tables with required keys.
                assert field.default is None, (name, key)
            elif isinstance(default, dict):
                flat = field.default_factory().model_dump(by_alias=True)
                assert all(_same(flat.get(one), value) for one, value in default.items()), (name, key)
            elif not field.is_required():
                assert field.default == default, (name, key)
            compared += 1
    assert compared > 400


def _same(made, message):
    if isinstance(message, dict):
        # A nested table that the core fills in.
        return made is None or all(_same(made.get(key), value) for key, value in message.items())
    return made == message


def test_all_that_a_key_means_stands_in_the_module():
    """Editors show the first words of every description, below its field."""
    text = " ".join((ROOT / "python/odonata/scenario/objects.py").read_text().split())
    schema = json.loads(_core.schema())
    for definition in [schema, *schema["$defs"].values()]:
        for inner in definition.get("properties", {}).values():
            words = " ".join(inner.get("description", "").split()[:6]).replace("\\", "\\\\")
            assert words in text


@pytest.mark.parametrize(
    ("values", "key", "message"),
    [
        ({"nam": "x"}, "nam", "did you mean name?"),
        ({"seed": -1}, "seed", "0 or more"),
        ({"seed": "7"}, "seed", "a whole number"),
        ({"seed": True}, "seed", "a whole number"),
        ({"machine": {"dragonfly-2d": {"row": 3}}}, "machine.dragonfly-2d.row", "did you mean rows?"),
        ({"machine": {"dragonfly_2d": {"row": 3}}}, "machine.dragonfly_2d.row", "did you mean rows?"),
        ({"machine": {"torus": {"dims": 4}}}, "machine.torus.dims", "a list"),
        ({"machine": 3}, "machine", "a table (Machine)"),
        ({"network": {"packet": "4 KB"}}, "network.packet", 'such as "128 B"'),
        ({"network": {"packet": 4096}}, "network.packet", 'such as "128 B"'),
        ({"network": {"router": "input-queue"}}, "network.router", "'input-queued'"),
        ({"run": {"threads": 0}}, "run.threads", "'auto' or 1 or more"),
        ({"jobs": [{"ranks": 4}, {"ranks": 0}]}, "jobs.1.ranks", "1 or more"),
        (
            {"jobs": [{"workload": {"stencil": {"mesage": "1 B"}}}]},
            "jobs.0.workload.stencil.mesage",
            "message?",
        ),
        (
            {"jobs": [{"workload": [{"stencil": {"wrap": 1}}]}]},
            "jobs.0.workload.0.stencil.wrap",
            "true or false",
        ),
        ({"jobs": [{"workload": {"stencil": {}, "milc": {}}}]}, "jobs.0.workload", "exactly one key"),
        ({"jobs": [{"placement": {"node": [1]}}]}, "jobs.0.placement.node", "did you mean nodes?"),
        ({"machine": {"failed_links": [{"index": 0}]}}, "machine.failed_links.0.routers", "missing"),
        ({"machine": {"failed_links": [{"routers": [1]}]}}, "machine.failed_links.0.routers", "2 items"),
    ],
)
def test_a_wrong_key_or_value_names_its_place(values, key, message):
    with pytest.raises(odonata.InputError) as raised:
        odonata.Scenario.from_dict(values)
    assert raised.value.key == key
    assert message in str(raised.value)


def test_what_is_set_later_is_checked_too():
    made = odonata.Scenario.from_toml(SMALL)
    for set_wrong, message in [
        (lambda: setattr(made.network.routing, "algorithm", "minimall"), "'minimal'"),
        (lambda: setattr(made.network.routing, "algoritm", "minimal"), "did you mean algorithm?"),
        (lambda: setattr(made, "seed", 1.5), "a whole number"),
    ]:
        with pytest.raises(odonata.InputError, match=re.escape(message)):
            set_wrong()
    made.network.routing.algorithm = "minimal"
    made.run.baselines = True
    made.jobs[0].ranks = 8
    assert made.to_dict()["network"]["routing"] == {"algorithm": "minimal"}
    assert (made.to_dict()["run"], made.to_dict()["jobs"][0]["ranks"]) == ({"baselines": True}, 8)


def test_numbers_of_numpy_and_tuples_are_taken():
    import numpy

    made = scenario.Job(ranks=numpy.int64(8), args=("--reps", "5"))
    made.ranks_per_node = numpy.int32(2)
    assert made.to_dict() == {"ranks": 8, "args": ["--reps", "5"], "ranks_per_node": 2}
    assert scenario.Torus(dims=numpy.array([4, 4])).to_dict() == {"dims": [4, 4]}


def test_objects_run_as_their_file_does(tmp_path):
    file = tmp_path / "scenario.toml"
    file.write_text(SMALL)
    digest = odonata.run(file).run["digest"]
    made = odonata.Scenario.load(file)
    assert odonata.run(made).run["digest"] == digest
    made.save(tmp_path / "again.toml")
    assert odonata.run(tmp_path / "again.toml").run["digest"] == digest
    with pytest.raises(odonata.InputError, match="exists"):
        made.save(tmp_path / "again.toml")
    made.save(tmp_path / "again.toml", force=True)


def test_file_names_start_from_the_folder_of_the_scenario(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = odonata.Scenario.load(ROOT / "examples/python.toml")
    assert odonata.check(made)["jobs"][0]["name"]


def test_a_function_may_be_the_program_of_a_job():
    def idle(rank, ranks):
        yield from ()

    made = odonata.Scenario.from_toml("[machine.torus]\ndims = [4]")
    made.jobs = [scenario.Job(name="idle", ranks=4, python=idle)]
    assert odonata.run(made).completed
    with pytest.raises(odonata.InputError, match="has no name in a file"):
        made.to_toml()


def test_fields_are_typed_for_editors():
    hints = typing.get_type_hints(scenario.Job)
    assert int in typing.get_args(typing.get_args(hints["ranks"])[0]) or hints["ranks"] == int | None
    assert "random-group" in typing.get_args(typing.get_args(hints["placement"])[0])
