"""The check of plain English passes for all pages and sources, and finds faults."""

import doctest

import prose
import pytest
from conftest import ROOT


def test_the_examples_of_the_check_are_right():
    """Each rule finds its fault."""
    found = doctest.testmod(prose)
    assert found.attempted >= 7
    assert found.failed == 0


@pytest.mark.parametrize("name", prose.pages())
def test_a_page_is_plain(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert list(prose.faults(text)) == []
    assert prose.size_fault(name, text) is None


def test_all_pages_together_are_short():
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in prose.pages() if prose.counts(name)]
    assert prose.size_fault_of_all(texts) is None


def test_comments_and_docstrings_of_sources_are_plain():
    names = prose.sources()
    assert len(names) > 1_000
    faults = [
        f"{name}:{line}: {fault}"
        for name in names
        for line, fault in prose.source_faults(name, (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert faults == []


def test_pages_left_out_are_there():
    """A page that is renamed or removed goes from the lists too."""
    for name in prose.GENERATED:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("## Which waits?\n", (1, "a heading is a question")),
        ("| a | b |\n|---|---|\n| x | waits for whoever sends |\n", (3, 'name the thing, not "whoever"')),
        (
            "- one\n- " + "word " * 40,
            (2, 'a sentence of 40 words, more than 35: "word word word word word word ..."'),
        ),
        ("Text.\n\n```\nwho?\n```\n\nA synchronised clock.\n", (7, 'American spelling: "synchronised"')),
    ],
)
def test_a_fault_is_reported_with_its_line(text, fault):
    assert list(prose.faults(text)) == [fault]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.rs", "let a = 1; // one\n// For nobody.\n", (2, 'name the thing, not "nobody"')),
        ("a.py", "a = 1  # for nobody\n", (1, 'name the thing, not "nobody"')),
        (
            "a.py",
            'def f(a):\n    """Waits.\n\n    Args:\n        a: Who waits.\n    """\n',
            (5, 'name the thing, not "Who"'),
        ),
        (
            "a.py",
            '"""' + "word " * 40 + '"""\n',
            (1, 'a sentence of 40 words, more than 35: "word word word word word word ..."'),
        ),
    ],
)
def test_a_fault_of_a_comment_is_reported_with_its_line(name, text, fault):
    assert list(prose.source_faults(name, text)) == [fault]


def test_examples_and_directives_of_python_are_no_fault():
    text = '"""One.\n\n>>> who(\n...     "nobody")\n"""\na = 1  # type: ignore[nobody]\n'
    assert list(prose.source_faults("a.py", text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "It is for operators who choose a placement.\n",
        "```console\n$ echo who is nobody\n```\n",
        "`who` is a command, [" + "word " * 20 + "](a.md).\n",
    ],
)
def test_people_and_code_are_no_fault(text):
    assert list(prose.faults(text)) == []
