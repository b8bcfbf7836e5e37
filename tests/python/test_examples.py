"""Examples and documentation do what they say."""

import doctest
import re

import pytest
from conftest import ROOT

import odonata

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_right_and_free_of_deadlock(path):
    assert odonata.check(path)["routing"]["deadlock_free"]


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_completes_within_half_a_minute(path):
    run = odonata.run(path).run
    assert run["outcome"] == "completed"
    assert run["cpu_s"] < 30


@pytest.mark.slow
def test_jobs_that_share_the_machine_slow_each_other_down():
    path = ROOT / "examples/interference.toml"
    together = odonata.run(path).rows("jobs")
    apart = odonata.run(path, overrides={"jobs.1.start": "1 s", "jobs.2.start": "2 s"}).rows("jobs")
    for one, other in zip(together, apart, strict=True):
        # Same nodes, same work: what differs is what the jobs do to each other.
        assert one["bytes_sent"] == other["bytes_sent"]
        assert one["elapsed_s"] > 1.02 * other["elapsed_s"], one["job"]


def test_the_examples_of_the_python_guide_run():
    found = doctest.testfile(
        str(ROOT / "docs/python.md"), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert found.attempted > 10
    assert found.failed == 0


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/tutorial.md", "docs/python.md"]
)
def test_links_and_paths_of_a_page_lead_somewhere(page):
    path = ROOT / page
    text = path.read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (path.parent / target).exists(), target
    for target in re.findall(r"`((?:crates|python|docs|examples|studies|tests|benches)/[\w./-]*)`", text):
        assert (ROOT / target).exists() or "NAME" in target, target
