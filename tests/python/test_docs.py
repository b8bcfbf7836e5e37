"""Pages show commands with their actual output, existing options, and valid links."""

import re
import shlex

import console_blocks
import pytest
from conftest import ROOT

from odonata.cli import app

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    return console_blocks.Kept(tmp_path_factory.mktemp("kept"))


@pytest.mark.slow
@pytest.mark.parametrize("page", console_blocks.pages(), ids=name)
def test_commands_of_a_page_print_what_it_shows(page, tmp_path, kept):
    """Otherwise `make docs` renews the output. Look at the change."""
    assert console_blocks.mistakes(page, tmp_path, kept) == []


def test_a_page_that_shows_something_else_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\ntwo\n$ false\n$ echo error: no\nerror: no\n```\n")
    (tmp_path / "place").mkdir()
    assert len(console_blocks.mistakes(page, tmp_path / "place")) == 3


def test_outputs_are_written_anew_where_they_were_shown(tmp_path):
    page = tmp_path / "page.md"
    shown = "```console\n$ {command}\n...\nTable\n{row}\n...\n```\n"
    command = r"printf 'a\nTable\n5 6\nb\n'"
    page.write_text(shown.format(command=command, row="3 4"))
    assert console_blocks.renew(page)
    assert page.read_text() == shown.format(command=command, row="5 6")
    assert not console_blocks.renew(page)


RUN = "run.toml: completed, 1 s simulated in {wall} s (as packets, {rate} M packet-hops per CPU-second)"


def timed_page(tmp_path, wall, rate, row):
    """A page whose command prints a time, a rate and a row that does not depend on the machine."""
    page = tmp_path / "page.md"
    command = rf"printf '{RUN.format(wall=wall, rate=rate)}\nhops {row}\n'"
    page.write_text(
        f"```console\n$ {command}\n{RUN.format(wall=wall, rate=rate)}\nhops {row}\n```\n\nText.\n"
    )
    return page


def test_a_block_with_times_is_stamped_and_no_line_of_it_changes_alone(tmp_path):
    page = timed_page(tmp_path, "2.50", "1.5", "7")
    assert len(console_blocks.edited(page)) == 1
    assert console_blocks.renew(page)
    stamped = page.read_text()
    assert console_blocks.edited(page) == []
    stamp = r"\*Printed on [\d-]+ at commit \w{9}: .+, load [\d.]+ before the run\.\* <!-- block \w{16} -->"
    assert re.search(rf"\n```\n\n{stamp}\n\nText", stamped)
    # One digit edited by hand: of a time, of a rate, of a fixed value.
    for old, new in [("in 2.50 s", "in 2.40 s"), ("1.5 M", "1.6 M"), ("hops 7\n```", "hops 8\n```")]:
        page.write_text(stamped.replace(old, new))
        assert page.read_text() != stamped
        assert len(console_blocks.edited(page)) == 1, new


def test_a_block_is_renewed_whole_or_stays_whole(tmp_path):
    """The page showed 2.50 s and 7 hops. Now the command prints 9.99 s, and 7 or 8 hops."""
    page = timed_page(tmp_path, "2.50", "1.5", "7")
    console_blocks.renew(page)
    shown = page.read_text()
    head, _, tail = shown.partition("\n" + RUN.format(wall="2.50", rate="1.5"))
    for row, fresh, expected in [("7", False, "2.50"), ("7", True, "9.99"), ("8", False, "9.99")]:
        slower = head.replace("2.50", "9.99").replace("1.5 M", "0.4 M").replace("hops 7", f"hops {row}")
        page.write_text(f"{slower}\n{RUN.format(wall='2.50', rate='1.5')}{tail}")
        # Its command is part of the block: the stamp is that of the changed block.
        text = page.read_text()
        block = text.partition("```console\n")[2].partition("```")[0]
        page.write_text(re.sub(r"block \w{16}", f"block {console_blocks.hash_of(block)}", text))
        console_blocks.renew(page, fresh=fresh)
        found = page.read_text().partition("hops " + row + "\\n'\n")[2]
        assert f"in {expected} s" in found, (row, fresh)
        assert f"hops {row}" in found
        assert console_blocks.edited(page) == []


@pytest.mark.parametrize("page", console_blocks.pages(), ids=name)
def test_no_line_of_a_block_was_renewed_alone(page):
    assert console_blocks.edited(page) == []


def commands():
    """Every call of `odonata` in a block or a line of code, without the part after a pipe or a comment."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        blocks = re.findall(r"^```(?:console|bash|)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = [line for block in blocks for line in block.splitlines()]
        for line in [*lines, *re.findall(r"`(odonata [^`]+)`", text)]:
            found = re.search(r"(?:^|\$ |&& |/)(odonata .*)", line.partition(" #")[0])
            if found and not re.search(r"DIR\.\.\.|\.\.\.`|KEY=", line):
                yield name(page), re.split(r" \||&&|>", found[1])[0].strip()


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())))
def test_a_command_has_the_options_that_a_page_gives_it(page, command):
    at = app
    words = shlex.split(command)[1:]
    while words and hasattr(at, "commands"):
        # `odonata --seed` and the like mean an option of several commands.
        if words[0] not in at.commands:
            assert words[0].startswith("-") or words[0].isupper(), command
            return
        at = at.commands[words.pop(0)]
    options = {flag for option in at.params for flag in (*option.opts, *option.secondary_opts)} | {
        "--help",
        "-h",
    }
    for word in words[: words.index("--") if "--" in words else None]:
        if re.match(r"--?[a-z]", word):
            assert word.partition("=")[0] in options, command


def test_files_of_the_examples_stand_in_pages_once_each():
    """Two blocks of one name on a page would become one file."""
    for page in PAGES:
        titles = re.findall(r'^```\w+ title="([^"]+)"', page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(titles) == len(set(titles)), page
