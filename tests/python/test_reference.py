"""Reference pages and Parquet schemas agree with the core."""

import importlib.util
import json
import re
from collections import Counter

import pyarrow.parquet as pq
import pytest
from conftest import ROOT, SMALL

import odonata
from odonata import _core
from odonata.analysis import json_reference, run_record, slowdown
from odonata.analysis.parquet import documentation
from odonata.analysis.reference import OUTCOMES, tables_page
from odonata.base import json_types
from odonata.cli import app
from odonata.cli.run import exit_code
from odonata.scenario.reference import scenario_page


def test_the_page_of_the_scenario_is_current():
    """If not: `make docs`."""
    assert (ROOT / "docs/scenario.md").read_text() == scenario_page(json.loads(_core.schema()))


def test_the_page_of_the_results_is_current():
    """If not: `make docs`."""
    assert (ROOT / "docs/results.md").read_text() == tables_page(documentation())


def site_reference():
    """The module that writes the pages of commands and of Python."""
    spec = importlib.util.spec_from_file_location("site_reference", ROOT / "docs/site/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["commands", "api", "operations"])
def test_the_pages_of_commands_and_of_python_are_current(page):
    """If not: `make docs`."""
    assert (ROOT / f"docs/{page}.md").read_text() == site_reference().PAGES[page]()


def test_the_page_of_commands_has_every_command_and_option():
    page = (ROOT / "docs/commands.md").read_text()

    def missing(command, path):
        if command.hidden:
            return
        if f"## `{path}`\n" not in page:
            yield path
        section = page.partition(f"## `{path}`\n")[2].partition("\n## ")[0]
        yield from (
            flag
            for option in command.params
            for flag in option.opts
            if flag.startswith("--") and not re.search(rf"{flag}\b", section)
        )
        for name, below in getattr(command, "commands", {}).items():
            yield from missing(below, f"{path} {name}")

    assert list(missing(app, "odonata")) == []


def test_examples_and_sections_of_docstrings_become_markdown():
    text = "One.\n\nArgs:\n    size: Bytes,\n        at least 1.\n\n>>> half(2)  # doctest: +SKIP\n1.0"
    expected = "One.\n\n**Args**\n\n- `size`: Bytes,\n  at least 1.\n\n```pycon\n>>> half(2)\n1.0\n```\n"
    assert site_reference().described(text) == expected


def test_keys_that_many_tables_have_stand_once():
    # Rows of keys; values of a choice (`| `"auto"``) may be common to several.
    lines = (ROOT / "docs/scenario.md").read_text().splitlines()
    rows = Counter(line for line in lines if line.startswith("| `") and not line.startswith('| `"'))
    text, times = rows.most_common(1)[0]
    assert times < 4, text
    assert sum(row.startswith("| `mean_interval`") for row in rows.elements()) == 1


def test_every_key_of_a_scenario_is_described():
    def missing(schema, path, is_variant=False):
        # A variant of an enumeration is a table of one key, described by the variant.
        properties = {} if is_variant and schema.get("description") else schema.get("properties", {})
        for key, value in properties.items():
            if not ({"description", "$ref", "const"} & set(value)):
                yield f"{path}.{key}"
        for part in schema.get("oneOf", []) + schema.get("anyOf", []):
            yield from missing(part, path, is_variant=True)

    schema = json.loads(_core.schema())
    found = [*missing(schema, "")]
    for name, definition in schema["$defs"].items():
        found += missing(definition, name)
    assert found == []


def test_every_key_of_networks_has_a_default_or_is_required():
    """In the column, or in its text; tables have those of their keys. The same for synthetic traffic."""
    schema = json.loads(_core.schema())
    definitions = schema["$defs"]

    def is_table(value):
        parts = [value, *value.get("anyOf", [])]
        names = [part["$ref"].rpartition("/")[2] for part in parts if "$ref" in part]
        return any("properties" in definitions[name] for name in names)

    networks = {
        *("Machine", "Dragonfly", "Dragonfly2d", "DragonflyPlus", "Torus", "FatTree", "SlimFly", "HyperX"),
        *("Graph", "Exception", "FailedLink", "DegradedLink", "Network", "Links", "Link", "Routing"),
        *("ClassVcs", "Pipeline", "TrafficClass", "CongestionControl", "Nic", "Uniform", "WorstCase"),
        *("PolarFly", "RailOptimized"),
    }
    assert networks <= set(definitions)
    assert [
        f"{name}.{key}"
        for name in sorted(networks)
        for key, value in definitions[name]["properties"].items()
        if not is_table(value)
        and key not in definitions[name].get("required", [])
        and value.get("default", []) in ([], None, {})
        and not any(word in value.get("description", "") for word in ("efault", "equired"))
    ] == []


def test_run_json_has_the_declared_keys_in_their_order(small):
    run = json.loads((small / "run.json").read_text())
    # The run has recorded no timeline.
    assert [key for key in run_record.Run.__annotations__ if key != "timeline_cut"] == list(run)
    schema = json_types.schema_of(run_record.Run)
    assert set(run) <= set(json_reference.meanings(schema))
    inner = [("schedule", key) for key in run["schedule"]]
    inner += [("schedule", "processes", 0, key) for key in run["schedule"]["processes"][0]]
    assert len(inner) == 11
    assert all(json_types.part(schema, way) for way in inner)


def test_everything_declared_of_an_answer_is_described():
    """Except for keys that only hold others, whose meanings suffice."""
    for name, schema in json_reference.schemas().items():
        meanings = json_reference.meanings(schema)
        parts, place = (schema, "") if "properties" in schema else (schema["items"], "[].")
        inner = json_types.resolved(parts, schema.get("$defs", {}))
        # A list of names is described as a whole.
        assert "properties" in inner or "description" in inner
        for key in inner.get("properties", {}):
            key = place + key
            assert any(one == key or one.startswith((f"{key}[", f"{key}.")) for one in meanings), (name, key)


def test_exit_codes_are_the_documented_ones():
    assert {name: exit_code(name) for name in OUTCOMES} == {
        name: code for name, (code, _) in OUTCOMES.items()
    }


def test_parquet_files_have_the_documented_columns_with_units(small, shell):
    # A run with all tables but that of baselines and those of an Ethernet.
    shell.write(SMALL)
    over_ethernet = ("network.fidelity=ethernet", "run.blame=false")
    queues = ("run.series_interval=5 us", 'run.queue_links=["*>*"]')
    settings = ("run.timeline={}", 'run.time_limit="20 us"', *queues)
    done = shell("run", "scenario.toml", "-o", "out", "--quiet", *(f"--set={one}" for one in settings))
    assert done.code == 0, done.err
    done = shell(
        "run", "scenario.toml", "-o", "ethernet", "--quiet", *(f"--set={one}" for one in over_ethernet)
    )
    assert done.code == 0, done.err
    for table in documentation():
        folder = "ethernet" if table["table"].startswith("ethernet") else "out"
        if table["table"] == "slowdown":  # only with baselines
            schema = slowdown.table(odonata.load(small), {}).schema
        else:
            schema = pq.read_schema(shell.folder / f"{folder}/{table['table']}.parquet")
        assert schema.names == [column["name"] for column in table["columns"]]
        assert schema.metadata[b"description"].decode() == table["doc"]
        for column, field in zip(table["columns"], schema, strict=True):
            assert {"double": "float64"}.get(str(field.type), str(field.type)) == column["type"]
            assert field.metadata[b"description"].decode() == column["doc"]
            assert field.metadata.get(b"unit", b"").decode() == column["unit"]
