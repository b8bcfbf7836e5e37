"""A skipped test that is not allowed fails the check."""

import os
import sys

import launcher
import pytest
import skips

TESTS = """
import pytest

def test_that_runs():
    pass

@pytest.mark.skip(reason="no time")
def test_that_does_not():
    pass
"""


def run_pytest(folder, *options, **environment):
    (folder / "conftest.py").write_text(
        f"import sys\nsys.path.insert(0, {os.path.dirname(skips.__file__)!r})\n"
        "from skips import pytest_collectreport, pytest_runtest_logreport, pytest_sessionfinish\n"
    )
    (folder / "test_it.py").write_text(TESTS)
    clean = {key: value for key, value in os.environ.items() if key != "ODONATA_NO_SKIPS"}
    return launcher.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, folder],
        env=clean | environment,
        cwd=folder,
    )


@pytest.mark.parametrize("options", [[], ["--numprocesses", "1"]])
def test_a_skipped_test_fails_where_none_may_be_skipped(tmp_path, options):
    assert run_pytest(tmp_path, *options).returncode == 0
    done = run_pytest(tmp_path, *options, ODONATA_NO_SKIPS="1")
    assert done.returncode == 1
    assert "not in skips.toml: test_it.py::test_that_does_not: Skipped: no time" in done.stderr


def test_a_module_that_is_skipped_counts_too(tmp_path):
    (tmp_path / "test_other.py").write_text("import pytest\n\npytest.importorskip('no_such_module')\n")
    done = run_pytest(tmp_path, "-k", "runs", ODONATA_NO_SKIPS="1")
    assert done.returncode == 1
    assert "not in skips.toml: test_other.py: " in done.stderr


def test_what_is_on_the_list_may_be_skipped(tmp_path, monkeypatch):
    listed = tmp_path / "skips.toml"
    listed.write_text('[[skip]]\ntest = "a.py::test_*"\nreason = "it is slow"\n')
    monkeypatch.setattr(skips, "ALLOWED", listed)
    assert skips.unexpected(["a.py::test_one", "b.py::test_one"]) == ["b.py::test_one"]


def test_the_list_is_short_and_gives_a_reason_for_every_test():
    entries = skips.tomllib.loads(skips.ALLOWED.read_text())["skip"]
    assert len(entries) < 10
    assert all(entry.keys() == {"test", "reason"} and len(entry["reason"]) > 10 for entry in entries)
