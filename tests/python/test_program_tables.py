"""The tables of a program in files, operation by operation."""

from __future__ import annotations

import pytest

from odonata import operations
from odonata.errors import InputError
from odonata.programs.program_tables import LARGEST, ProgramTables


def test_operations_and_lists_of_sizes_are_read_as_they_were_written(tmp_path):
    with ProgramTables(tmp_path, 3, "by hand", "a test", tmp_path) as tables:
        tables.communicator(1, [2, 0])
        for rank in range(3):
            first = [tables.add(rank, "compute", {"duration_ps": 5}, stream=stream) for stream in range(6)]
            assert first == [0, 1, 2, 3, 4, 5]
            # Six others: two rows name them.
            assert tables.add(rank, "barrier", {"comm": 0}, stream=7, after=first) == 7
            counts = tables.sizes(rank, by_giver=[1, 2, 3])
            tables.add(rank, "allgatherv", {"comm": 0, "counts": counts}, stream=7)
        assert tables.operations == 27
    program = operations.read(tmp_path)
    rows = [row for row in program.operations.to_pylist() if row["rank"] == 2]
    assert [row["after"] for row in rows][6:] == [[0, 1, 2, 3], [4, 5], None]
    assert rows[6]["duration_ps"] == 0
    assert program.communicators.to_pylist()[0]["members"] == [2, 0]
    assert [row["by_giver"] for row in program.counts.to_pylist()] == [[1, 2, 3]] * 3


def test_a_number_without_a_place_in_a_table_is_an_error_that_names_the_source(tmp_path):
    with (
        pytest.raises(InputError, match="rank 0, send: bytes would be 9223372036854775808") as caught,
        ProgramTables(tmp_path, 1, "", "", tmp_path / "trace") as tables,
    ):
        tables.add(0, "send", {"peer": 0, "bytes": LARGEST + 1})
    assert caught.value.file == str(tmp_path / "trace")
