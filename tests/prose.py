"""Checks that pages and comments are plain English: `python tests/prose.py [--statistics] [FILE...]`.

A sentence has at most 35 words. Packets, ranks and jobs are named, not replaced by pronouns for people. A
heading is a noun phrase or a task, no question. Spelling is American; percentages have no space. Blocks of
code, and the length of table cells, are left out. The README has at most 120 lines, a guide 1,500 words,
ARCHITECTURE.md 2,500, all pages together 72,000; pages that describe data of tests and studies do not count.
Comments of Rust and Python follow the rules for names and spelling, docstrings also that for sentences; texts
of programs have American spelling. Exit code: 0, or 1 with a line `FILE:LINE: fault` for each.

`--statistics` prints the words of each page, and the median and the 90th percentile of its sentences.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: Pages of `docs` that are generated. Those of studies have templates, which are checked.
GENERATED_PAGES = (
    *("api", "commands", "operations", "results", "scenario"),
    *("lost-time-accuracy", "real-machines", "validation"),
)

#: Files generated from sources with rules of their own: types, help texts, docstrings, templates of studies.
GENERATED = {
    *(f"docs/{name}.md" for name in GENERATED_PAGES),
    "python/odonata/scenario/objects.py",
    "studies/mfnetsim/PAPER.md",
    "studies/real_machines/ABLATION.md",
    *(f"studies/{name}/README.md" for name in ("cluster2017", "gpcnet", "theta", "tpds2016", "trinity2017")),
    *(
        f"studies/{name}/APPENDIX.md"
        for name in ("cluster2017", "gpcnet", "theta", "tpds2016", "trinity2017")
    ),
}

#: Folders whose pages describe data of tests and studies. They follow the rules, but do not count as words.
DATA_FOLDERS = (
    "crates",
    "fuzz",
    "python",
    "studies/booksim/reference",
    "studies/mfnetsim/reference",
    "tests",
)

#: Folders whose Python sources are checked.
PYTHON_FOLDERS = ("benches", "docs", "examples", "packaging", "python/odonata", "studies", "tests")

#: This check and its tests: their texts are wrong on purpose.
WRONG_ON_PURPOSE = {"tests/prose.py", "tests/python/test_prose.py"}

#: Most words of a sentence, of a guide, of single pages; most lines of the README.
LONGEST = 35
LONGEST_GUIDE = 1_500
LONGEST_PAGE = {"ARCHITECTURE.md": 2_500, "CHANGELOG.md": 1_200}
LONGEST_README = 120

#: Most words of all pages together: 70,000, and room for what is new.
LONGEST_IN_ALL = 72_800

#: Reference and explanation pages in `docs`, which may be longer than guides.
LONG = {
    f"docs/{name}.md"
    for name in (
        *("blame", "engine", "fidelity", "model", "storage", "storage-devices"),
        *("glossary", "networks", "program-format", "router", "routing", "trace-formats"),
    )
}

#: Tables that a program has written or printed, between two marks. They do not count as words.
GENERATED_PASSAGE = re.compile(
    r"(?ms)^<!-- [\w ]+: (?:generated|studies/\S+ page|(?:printed|written) by [^>]+) -->$"
    r".*?^<!-- (?:end[\w ]*|[\w ]+: end) -->$"
)

PERSONS = re.compile(r"\b(?:who|whom|whoever|somebody|someone|nobody|everybody)\b", re.IGNORECASE)

#: Nouns for people, which may have a relative clause.
PEOPLE = re.compile(r"\b(?:architects|authors|engineers|operators|people|readers|researchers|users) who\b")

BRITISH = re.compile(
    r"\b(?:\w*(?:behaviour|colour|favour|honour|neighbour|licence|centre)\w*"
    r"|(?:categor|general|initial|maxim|minim|normal|optim|organ|recogn|serial|summar|synchron|util|visual)"
    r"is(?:e|ed|es|ing|ation))\b"
)

#: A percent sign apart from its number.
PERCENT = re.compile(r"\d %(?=[\s,.;:)]|$)")

#: Starts of comments that tools read.
DIRECTIVES = ("# fmt:", "# type:", "# noqa", "#!", "# ruff:", "# pragma")

#: Section titles and names of parameters in docstrings.
SECTION = re.compile(r"(?m)^(?:Args|Attributes|Example|Raises|Returns|Yields):$")
PARAMETER = re.compile(r"(?m)^ {4}\*{0,2}[\w.]+: ")

#: A literal of a program.
LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')

FENCE = re.compile(r"^(```+|~~~+)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[*]*[A-Z])")


def pages() -> list[str]:
    """All hand-written pages that are checked."""
    found = [ROOT / name for name in ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md")]
    for folder in ("benches", "docs", "programs", "studies"):
        found += sorted((ROOT / folder).rglob("*.md"))
    for folder in ("crates", "fuzz", "python", "tests"):
        found += sorted((ROOT / folder).rglob("README.md"))
    names = dict.fromkeys(str(page.relative_to(ROOT)) for page in found)
    return [name for name in names if name not in GENERATED]


def counts(name: str) -> bool:
    """Whether the words of a page count among those of all pages.

    >>> counts("docs/storage.md"), counts("tests/digests/README.md")
    (True, False)
    """
    return not name.startswith(tuple(f"{folder}/" for folder in DATA_FOLDERS))


def sources() -> list[str]:
    """All sources of Rust and Python whose comments are checked."""
    found = sorted(ROOT.glob("crates/**/*.rs"))
    for folder in PYTHON_FOLDERS:
        found += sorted((ROOT / folder).rglob("*.py"))
    names = [str(path.relative_to(ROOT)) for path in found]
    return [name for name in names if name not in GENERATED]


def comments(code: str) -> str:
    """The comments of Rust code as Markdown, each on its line.

    >>> comments("/// The wait.\\nlet a = 0; // not read\\n    // A `b`.")
    'The wait.\\n\\nA `b`.'
    """
    found = [re.match(r"\s*//[/!]? ?(.*)", line) for line in code.splitlines()]
    return "\n".join(line[1] if line else "" for line in found)


def python_texts(code: str) -> Iterator[tuple[int, bool, str]]:
    """Line, whether it is a docstring, and text of each docstring and block of comments of Python code.

    >>> list(python_texts("#: The wait.\\na = 0\\ndef b():\\n    'Waits.'\\n    # A\\n    # loop."))
    [(1, False, 'The wait.'), (4, True, 'Waits.'), (5, False, 'A\\nloop.')]
    """
    found = []
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            text = inspect.cleandoc(node.value.value)
            text = re.sub(r"(?m)^ *>>> .*(?:\n.+)*", lambda code: "\n" * code[0].count("\n"), text)
            text = SECTION.sub("", PARAMETER.sub("- ", text))
            found.append((node.lineno, True, text))
    block: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(DIRECTIVES):
            if block and block[-1][0] != token.start[0] - 1:
                found.append((block[0][0], False, "\n".join(line for _, line in block)))
                block = []
            block.append((token.start[0], token.string.lstrip("#:!").strip()))
    if block:
        found.append((block[0][0], False, "\n".join(line for _, line in block)))
    yield from sorted(found)


def plain(text: str) -> str:
    """Text without marks of Markdown: code is one word, a link its text.

    >>> plain("See [the `odonata run` page](a.md) (J. Kim et al., 2008) **now**.")
    'See the CODE page now.'
    """
    text = re.sub(r"<!--.*?-->", "", text)
    text = re.sub(r"`+[^`]+`+", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\s*\([^()]*\b(?:19|20)\d\d\b[^()]*\)", "", text)
    text = re.sub(r"\b([A-Z])\. ", r"\1 ", text)
    text = re.sub(r"\b(et al|vs|e\.g|i\.e)\.", r"\1", text)
    return re.sub(r"\*+|(?<!\w)_|_(?!\w)", "", text)


def paragraphs(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, kind (`heading`, `table`, `text`) and content of each paragraph outside of blocks of code."""
    start, lines, fence = 0, [], ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if mark := FENCE.match(line.strip()):
            if not fence:
                fence = mark[1]
            elif line.strip().startswith(fence):
                fence = ""
        code = bool(fence or mark or (line.startswith("    ") and not lines))
        kind = "heading" if line.startswith("#") else "table" if line.lstrip().startswith("|") else "text"
        if lines and (code or not line.strip() or kind != "text" or ITEM.match(line)):
            yield start, "text", " ".join(lines)
            lines = []
        if code or not line.strip():
            continue
        if kind != "text":
            yield number, kind, line.strip("# ")
            continue
        if not lines:
            start = number
        lines.append(ITEM.sub("", line).strip())


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph.

    >>> sentences("One is here. Two has `a. B` in it: (see J. Kim). *Three* ends")
    ['One is here.', 'Two has CODE in it: (see J Kim).', 'Three ends']
    """
    return [one for one in END.split(plain(paragraph)) if one.strip()]


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def faults(text: str) -> Iterator[tuple[int, str]]:
    """Line and description of every fault in a page.

    >>> list(faults("# Who waits?\\n\\nA packet that nobody sends has a colour."))
    [(1, 'a heading is a question'), (3, 'name the thing, not "nobody"'), (3, 'American spelling: "colour"')]
    >>> list(faults("A load of 5 % is low."))
    [(1, 'no space before the percent sign: "5 %"')]
    >>> list(faults("word " * 36))
    [(1, 'a sentence of 36 words, more than 35: "word word word word word word ..."')]
    """
    for line, kind, paragraph in paragraphs(text):
        wording = PEOPLE.sub("", plain(paragraph))
        if kind == "heading" and paragraph.rstrip().endswith("?"):
            yield line, "a heading is a question"
            continue
        yield from ((line, f'name the thing, not "{found}"') for found in PERSONS.findall(wording))
        if "rail-optimized" not in paragraph:
            yield from ((line, f'American spelling: "{found}"') for found in BRITISH.findall(wording))
        yield from (
            (line, f'no space before the percent sign: "{found}"') for found in PERCENT.findall(wording)
        )
        if kind != "text":
            continue
        for sentence in sentences(paragraph):
            if (count := words(sentence)) > LONGEST:
                start = " ".join(sentence.split()[:6])
                yield line, f'a sentence of {count} words, more than {LONGEST}: "{start} ..."'


def comment_faults(code: str) -> Iterator[tuple[int, str]]:
    """Line and description of every fault of names and spelling in comments; sentences may be longer.

    >>> list(comment_faults("// " + "word " * 36 + "\\n\\n/// Nobody's."))
    [(3, 'name the thing, not "Nobody"')]
    """
    for line, kind, paragraph in paragraphs(comments(code)):
        if kind == "heading":
            continue
        wording = PEOPLE.sub("", plain(paragraph))
        yield from ((line, f'name the thing, not "{found}"') for found in PERSONS.findall(wording))
        yield from ((line, f'American spelling: "{found}"') for found in BRITISH.findall(wording))
        yield from (
            (line, f'no space before the percent sign: "{found}"') for found in PERCENT.findall(wording)
        )


def python_faults(code: str) -> Iterator[tuple[int, str]]:
    """Line and description of every fault in comments and docstrings; sentences of comments may be longer.

    >>> list(python_faults("# Nobody's.\\nclass A:\\n    'A neighbour.'"))
    [(1, 'name the thing, not "Nobody"'), (3, 'American spelling: "neighbour"')]
    """
    for start, is_docstring, text in python_texts(code):
        found = faults(text) if is_docstring else comment_faults(re.sub("(?m)^", "// ", text))
        yield from ((start + line - 1, fault) for line, fault in found)


def literal_faults(code: str) -> Iterator[tuple[int, str]]:
    """Line and description of every fault of spelling in texts of a program; a name is no text.

    >>> list(literal_faults('show("to the neighbour"); kind("neighbour")'))
    [(1, 'American spelling: "neighbour"')]
    """
    for line, text in enumerate(code.splitlines(), 1):
        texts = " ".join(literal for literal in LITERAL.findall(text) if " " in literal)
        yield from ((line, f'American spelling: "{found}"') for found in BRITISH.findall(texts))


def source_faults(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Line and description of every fault in a source."""
    yield from python_faults(text) if name.endswith(".py") else comment_faults(text)
    if name not in WRONG_ON_PURPOSE:
        yield from literal_faults(text)


def statistics(text: str) -> tuple[int, int, int]:
    """Words of a page outside of blocks of code, median and 90th percentile of its sentences.

    >>> statistics("Two words.\\n\\n<!-- a: generated -->\\n\\nMany more.\\n\\n<!-- a: end -->")
    (2, 2, 2)
    """
    total, lengths = 0, []
    for _, kind, paragraph in paragraphs(GENERATED_PASSAGE.sub("", text)):
        total += words(paragraph.replace("|", " "))
        if kind == "text":
            lengths += [words(one) for one in sentences(paragraph)]
    lengths = sorted(lengths) or [0]
    return total, lengths[len(lengths) // 2], lengths[len(lengths) * 9 // 10]


def size_fault(name: str, text: str) -> str | None:
    """The fault of a page's size; None without one.

    >>> size_fault("README.md", "line\\n" * 121)
    '121 lines, more than 120'
    >>> size_fault("docs/sweeps.md", "word " * 1501)
    '1501 words, more than 1500'
    >>> size_fault("docs/networks.md", "word " * 1501)
    >>> size_fault("ARCHITECTURE.md", "word " * 2501)
    '2501 words, more than 2500'
    """
    if name == "README.md" and (lines := len(text.splitlines())) > LONGEST_README:
        return f"{lines} lines, more than {LONGEST_README}"
    is_guide = name.startswith("docs/") and name not in LONG
    most = LONGEST_GUIDE if is_guide else LONGEST_PAGE.get(name)
    if most is not None and (total := statistics(text)[0]) > most:
        return f"{total} words, more than {most}"
    return None


def size_fault_of_all(texts: Iterable[str]) -> str | None:
    """The fault of the size of all pages together; None without one.

    >>> size_fault_of_all(["word " * 40_000] * 2)
    '80,000 words in all pages, more than 72,800'
    """
    total = sum(statistics(text)[0] for text in texts)
    return f"{total:,} words in all pages, more than {LONGEST_IN_ALL:,}" if total > LONGEST_IN_ALL else None


def main(arguments: list[str]) -> int:
    """Prints the faults or statistics."""
    chosen = [name for name in arguments if not name.startswith("--")] or pages() + sources()
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in chosen}
    codes = {name: texts.pop(name) for name in chosen if name.endswith((".rs", ".py"))}
    if "--statistics" in arguments:
        for name, text in texts.items():
            total, median, most = statistics(text)
            print(f"{name}: {total} words, sentences of {median} words in the median, {most} at 90 %")
        return 0
    found = [f"{name}:{line}: {fault}" for name, text in texts.items() for line, fault in faults(text)]
    found += [
        f"{name}:{line}: {fault}" for name, code in codes.items() for line, fault in source_faults(name, code)
    ]
    found += [f"{name}:1: {fault}" for name, text in texts.items() if (fault := size_fault(name, text))]
    if fault := size_fault_of_all(text for name, text in texts.items() if counts(name)):
        found.append(f"docs:1: {fault}")
    print("\n".join(found) or f"{len(texts)} pages and the comments of {len(codes)} sources are plain")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
