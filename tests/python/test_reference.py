"""Reference pages and Parquet schemas say what the core says."""

import json

import pyarrow.parquet as pq
from conftest import ROOT

from odonata import _core, reference


def test_the_page_of_the_scenario_is_current():
    """If not: `make docs`."""
    assert (ROOT / "docs/scenario.md").read_text() == reference.scenario_page(json.loads(_core.schema()))


def test_the_page_of_the_results_is_current():
    """If not: `make docs`."""
    assert (ROOT / "docs/results.md").read_text() == reference.tables_page(json.loads(_core.table_docs()))


def test_every_key_of_a_scenario_is_described():
    def missing(schema, path):
        for key, value in schema.get("properties", {}).items():
            if not ({"description", "$ref", "const"} & set(value)):
                yield f"{path}.{key}"
        for part in schema.get("oneOf", []) + schema.get("anyOf", []):
            yield from missing(part, path)

    schema = json.loads(_core.schema())
    found = [*missing(schema, "")]
    for name, definition in schema["$defs"].items():
        found += missing(definition, name)
    assert found == []


def test_parquet_files_have_the_documented_columns_with_units(small):
    for table in json.loads(_core.table_docs()):
        schema = pq.read_schema(small / f"{table['table']}.parquet")
        assert schema.names == [column["name"] for column in table["columns"]]
        assert schema.metadata[b"description"].decode() == table["doc"]
        for column, field in zip(table["columns"], schema, strict=True):
            assert {"double": "float64"}.get(str(field.type), str(field.type)) == column["type"]
            assert field.metadata[b"description"].decode() == column["doc"]
            assert field.metadata.get(b"unit", b"").decode() == column["unit"]
