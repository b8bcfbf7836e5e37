"""A result folder appears whole or not at all, and no file is replaced by accident."""

import os

import pytest

from odonata import InputError
from odonata.base.folder import ResultFolder


def write_result(target, text, **options):
    with ResultFolder(target, **options) as folder:
        (folder.path / "run.json").write_text(text)
        return folder.publish()


def test_the_folder_appears_only_when_published(tmp_path):
    target = tmp_path / "a" / "b"
    with ResultFolder(target) as folder:
        (folder.path / "run.json").write_text("{}")
        assert not target.exists()
        folder.publish()
    assert (target / "run.json").read_text() == "{}"
    assert os.listdir(tmp_path / "a") == ["b"]


def test_a_failure_leaves_neither_the_folder_nor_parents_made_for_it(tmp_path):
    def fail_half_way():
        with ResultFolder(tmp_path / "a" / "b") as folder:
            (folder.path / "jobs.parquet").write_bytes(b"half a table")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail_half_way()
    assert os.listdir(tmp_path) == []


def test_parents_that_were_there_stay(tmp_path):
    (tmp_path / "a").mkdir()
    with ResultFolder(tmp_path / "a" / "b"):
        pass
    assert os.listdir(tmp_path) == ["a"]
    assert os.listdir(tmp_path / "a") == []


def test_an_existing_folder_is_refused_and_untouched(tmp_path):
    target = write_result(tmp_path / "out", "old")
    with pytest.raises(InputError, match="exists"):
        write_result(target, "new")
    assert (target / "run.json").read_text() == "old"


def test_an_existing_result_is_replaced_when_told_so(tmp_path):
    target = write_result(tmp_path / "out", "old")
    write_result(target, "new", replace=True)
    assert (target / "run.json").read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_not_a_result_is_never_replaced(tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter-1.tex").write_text("It was")
    (tmp_path / "notes").write_text("a file")
    (tmp_path / "link").symlink_to(tmp_path / "thesis")
    for name in ("thesis", "notes", "link"):
        with pytest.raises(InputError, match="not a result"):
            ResultFolder(tmp_path / name, replace=True)
    assert (tmp_path / "thesis" / "chapter-1.tex").exists()


def test_results_created_meanwhile_are_not_overwritten(tmp_path):
    with ResultFolder(tmp_path / "out") as folder:
        (folder.path / "run.json").write_text("ours")
        theirs = write_result(tmp_path / "out", "theirs")
        ours = folder.publish()
    assert (theirs / "run.json").read_text() == "theirs"
    assert ours.name == "out-2"
    assert (ours / "run.json").read_text() == "ours"


def test_a_new_result_has_the_permissions_of_the_umask(tmp_path):
    target = write_result(tmp_path / "out", "{}")
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o777 & ~mask
