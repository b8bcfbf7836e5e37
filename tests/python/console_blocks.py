"""Commands of a page with their output: run and compared by tests, or renewed.

A block ```` ```console ```` has commands after `$ ` and the output of each: answers on success, errors on
failure. bash runs the blocks of a page one after the other, in a temporary folder with the files of the
repository that users have (`SHOWN`), after the blocks with a title, which are files.

A line `...` stands for any lines. Output that depends on the computer (`VARIES`) may differ. A command fails
if and only if the first line shown starts with `error:`.

Below a block with output that depends on the computer stands its *stamp*: date, commit and machine of the run
that printed it, and a hash over the block. A block with another hash was edited by hand, and is refused.

`python tests/python/console_blocks.py [--fresh] PAGE...` renews blocks, each whole from one run. Shown lines
stay the same lines, found again by the first line of each passage between `...`. Without `--fresh`, a block
stays unchanged if only output that depends on the computer differs. `make docs` does so for all pages, `make
readme` renews README.md with `--fresh`.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import launcher
import surroundings

from odonata.benchmarks import bench

ROOT = Path(__file__).parents[2]

#: Folders of a clone that commands on pages may use.
SHOWN = ("examples", "programs", "studies", "tests")

#: Output that depends on the computer.
VARIES = re.compile(
    r"in [\d.]+ (?:ms|s|min) \(as packets, [\d.]+ [kM] packet-hops per CPU-second\)"
    r"|runs? in [\d.]+ (?:ms|s|min)"
    # Times and free memory of `odonata check`, and its baselines at a time.
    r"|(?<=^time: ).* on one core\b|(?<=each job alone: ).* of CPU time$|(?<=, of )[\d.]+ \wiB free\b"
    r"|(?<=^with baselines, ).*"
    # The last column of load-sweep.
    r"|(?<= \d{4})  +[\d.]+ m?s$|(?<= \d{5})  +[\d.]+ m?s$|(?<=packets) +CPU$"
)

#: How many threads a run took, and why: only of a run that lasts a second, which depends on the computer.
THREADS = re.compile(r"^\d+ threads?(?: for \d+% of the events)?: ")

#: Least similarity (`difflib`) by which a renewed line is found again.
ALIKE = 0.7

#: Seconds after which a command counts as hung.
PATIENCE_S = 600

_BLOCK = re.compile(
    r"^```(?P<language>\w*)[ ]*(?P<info>[^\n]*)\n(?P<text>.*?)^```$(?P<stamp>\n\n[^\n]*<!-- block \w* -->$)?",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Command:
    """A command of a page with the lines below it."""

    text: str
    lines: list[str]

    @property
    def fails(self) -> bool:
        """Whether the page shows that it fails."""
        return bool(self.lines) and self.lines[0].startswith("error:")


def pages() -> list[Path]:
    """All pages with such blocks."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if "\n```console\n" in page.read_text(encoding="utf-8")]


def commands(block: str) -> list[Command]:
    r"""The commands of a block.

    >>> commands("$ echo a \\\n  b\na b\n$ true\n")
    [Command(text='echo a \\\n  b', lines=['a b']), Command(text='true', lines=[])]
    """
    found: list[Command] = []
    lines = iter(block.splitlines())
    for line in lines:
        if line.startswith("$ "):
            text = line[2:]
            while text.endswith("\\"):
                text += "\n" + next(lines)
            found.append(Command(text, []))
        else:
            found[-1].lines.append(line)
    return found


def passages(lines: list[str]) -> Iterator[list[str]]:
    """The passages between lines `...`."""
    passage: list[str] = []
    for line in lines:
        if line.strip() == "...":
            yield passage
            passage = []
        else:
            passage.append(line)
    yield passage


def _same(line: str) -> str:
    return VARIES.sub("*", line).rstrip()


def differences(shown: list[str], printed: list[str]) -> str | None:
    """The first line of `shown` that was not printed, or None.

    >>> differences(["a", "...", "c"], ["a", "b", "c"])
    >>> differences(["a", "...", "d"], ["a", "b", "c"])
    "not printed: 'd'"
    >>> differences(["a", "b"], ["a", "2 threads: 41% less elapsed time", "b"])
    """
    found, shown = ([_same(line) for line in lines if not THREADS.match(line)] for lines in (printed, shown))
    parts = list(passages(shown))
    place = 0
    for number, passage in enumerate(parts):
        wanted, last = passage, number == len(parts) - 1
        if not wanted:
            continue
        starts = [place] if number == 0 else range(place, len(found) - len(wanted) + 1)
        if last and number:
            starts = [len(found) - len(wanted)]
        at = next((start for start in starts if found[start : start + len(wanted)] == wanted), None)
        if at is None:
            missing = [line for line in wanted if line not in found[place:]]
            return f"not printed: {missing[0]!r}" if missing else f"not printed in this order: {wanted!r}"
        place = at + len(wanted)
    if len(parts) == 1 and place < len(found):
        return f"not shown: {found[place]!r}"
    return None


def hash_of(block: str) -> str:
    """The hash in the stamp of a block, over all its lines."""
    return hashlib.sha256(block.encode()).hexdigest()[:16]


def varies(block: str) -> bool:
    """Whether a block shows output that depends on the computer.

    >>> varies("$ odonata run a.toml\\na: 1 run in 2.5 s\\n"), varies("$ odonata run a.toml\\ndone\\n")
    (True, False)
    """
    return any(VARIES.search(line) for command in commands(block) for line in command.lines)


def stamp_of(block: str, load: float) -> str:
    """The stamp of a block with output that depends on the computer, with its empty line; else empty."""
    if not varies(block):
        return ""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=9", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    machine = bench.machine()
    where = f"{machine['cpu']}, {machine['cores']} cores, load {load:.1f} before the run"
    return f"\n\n*Printed on {date.today()} at commit {commit}: {where}.* <!-- block {hash_of(block)} -->"


def edited(page: Path) -> list[str]:
    """The blocks of a page that were edited by hand, by their first lines."""
    found = []
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["language"] != "console":
            continue
        first = block["text"].partition("\n")[0]
        stamp = block["stamp"] or ""
        if varies(block["text"]) and f"<!-- block {hash_of(block['text'])} -->" not in stamp:
            found.append(
                f"{page}: {first}: only some lines were renewed; `make docs` writes the block from one run"
            )
    return found


def renewed(shown: list[str], printed: list[str]) -> list[str]:
    """The lines of the new output that correspond to `shown`.

    >>> renewed(["a", "...", "Table", "1  2", "..."], ["b", "Table", "3  4", "end"])
    ['b', '...', 'Table', '3  4', '...']
    >>> renewed(["a", "b", "..."], ["a", "1 thread: 2 took more CPU time", "b", "c"])
    ['a', '1 thread: 2 took more CPU time', 'b', '...']
    """
    if "..." not in map(str.strip, shown):
        return printed
    # A passage keeps its length, besides the line on threads: not every run prints it.
    parts = list(passages([line for line in shown if not THREADS.match(line)]))
    found: list[str] = []
    place = 0
    for number, passage in enumerate(parts):
        if number:
            found.append("...")
        if not passage:
            continue
        if number == 0:
            at = 0
        elif number == len(parts) - 1:
            at = len(printed) - len(passage)
        else:
            at = _found(passage[0], printed, place)
        place = at + len(passage)
        place += sum(1 for line in printed[at:place] if THREADS.match(line))
        found += printed[at:place]
    return found


def _found(line: str, printed: list[str], start: int) -> int:
    """The position of `line` from `start` on, or of the most similar line: columns may have other widths."""

    def words(text: str) -> str:
        return " ".join(_same(text).split())

    likeness = {
        at: difflib.SequenceMatcher(None, words(line), words(printed[at])).ratio()
        for at in range(start, len(printed))
    }
    at = max(likeness, key=likeness.__getitem__, default=-1)
    if likeness.get(at, 0.0) < ALIKE:
        raise LookupError(line)
    return at


class Kept:
    """Output and files of examples, which depend on no page; several pages show the same."""

    RUN = re.compile(r"odonata run examples/[\w-]+\.toml -o (results/[\w-]+)( --baselines)?")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, tuple[Path, int, list[str]]] = {}

    def again(self, command: str, place: Path) -> tuple[int, list[str]] | None:
        """The earlier output of `command`; its files are copied to `place`."""
        run = self.RUN.fullmatch(command)
        if run is None or command not in self.found:
            return None
        results, code, printed = self.found[command]
        shutil.copytree(results, place / run[1])
        return code, printed

    def keep(self, command: str, place: Path, code: int, printed: list[str]) -> None:
        """Stores a successful run."""
        run = self.RUN.fullmatch(command)
        if run is not None and code == 0:
            results = self.folder / str(len(self.found))
            shutil.copytree(place / run[1], results)
            self.found[command] = results, code, printed


class Place:
    """The temporary folder for the commands of a page."""

    def __init__(self, folder: Path, kept: Kept | None = None) -> None:
        self.folder = folder
        self.kept = kept
        for name in SHOWN:
            (folder / name).symlink_to(ROOT / name)
        programs = folder / ".bin"
        programs.mkdir()
        for name, what in {"odonata": "-m odonata", "python": ""}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {what} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}:{os.environ['PATH']}"
        self.environment = os.environ | {"MPLBACKEND": "Agg", "PATH": path}

    def run(self, command: str) -> tuple[int, list[str]]:
        """Exit code and output of a command: answers on success, else errors too."""
        if self.kept is not None and (again := self.kept.again(command, self.folder)):
            return again
        done = launcher.run(
            ["bash", "-c", command], cwd=self.folder, env=self.environment, timeout=PATIENCE_S
        )
        printed = done.stdout if done.returncode == 0 else done.stdout + done.stderr
        lines = printed.rstrip("\n").split("\n") if printed else []
        if self.kept is not None:
            self.kept.keep(command, self.folder, done.returncode, lines)
        return done.returncode, lines

    def page(self, text: str) -> Iterator[tuple[re.Match[str], Command, int, list[str]]]:
        """Runs a page: for each command its block, itself, its exit code and its output."""
        for block in _BLOCK.finditer(text):
            title = re.search(r'title="([^"]+)"', block["info"])
            if title is not None:
                path = self.folder / title[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block["text"], encoding="utf-8")
            elif block["language"] == "console":
                for command in commands(block["text"]):
                    yield block, command, *self.run(command.text)


def mistakes(page: Path, folder: Path, kept: Kept | None = None) -> list[str]:
    """The differences between a page and the actual output."""
    found = []
    for _, command, code, printed in Place(folder, kept).page(page.read_text(encoding="utf-8")):
        wrong = differences(command.lines, printed)
        if (code != 0) != command.fails:
            found.append(f"$ {command.text}\nends with exit code {code}:\n" + "\n".join(printed))
        elif wrong is not None:
            found.append(f"$ {command.text}\n{wrong}\n" + "\n".join(printed))
    return found


def renew(page: Path, kept: Kept | None = None, *, fresh: bool = False) -> bool:
    """Renews the blocks of a page, each whole from one run; returns whether anything has changed."""
    text = page.read_text(encoding="utf-8")
    load = os.getloadavg()[0]
    blocks: dict[tuple[int, int], re.Match[str]] = {}
    runs: dict[tuple[int, int], list[tuple[Command, list[str]]]] = {}
    with tempfile.TemporaryDirectory(prefix="odonata-page-") as folder:
        for block, command, _, printed in Place(Path(folder), kept).page(text):
            blocks[block.span()] = block
            runs.setdefault(block.span(), []).append((command, printed))
    for (start, end), block in sorted(blocks.items(), reverse=True):
        as_shown = all(differences(one.lines, printed) is None for one, printed in runs[start, end])
        stamped = not varies(block["text"]) or hash_of(block["text"]) in (block["stamp"] or "")
        if as_shown and stamped and not (fresh and varies(block["text"])):
            continue
        lines: list[str] = []
        for command, printed in runs[start, end]:
            try:
                lines += [f"$ {command.text}", *renewed(command.lines, printed)]
            except LookupError:
                sys.exit(
                    f"{page}: $ {command.text}\nno longer prints what the page shows:\n" + "\n".join(printed)
                )
        whole = "".join(f"{line.rstrip()}\n" for line in lines)
        head = text[start : block.start("text")]
        text = f"{text[:start]}{head}{whole}```{stamp_of(whole, load)}{text[end:]}"
    changed = text != page.read_text(encoding="utf-8")
    if changed:
        page.write_text(text, encoding="utf-8")
    return changed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes blocks of commands anew.")
    parser.add_argument("pages", nargs="*", type=Path, metavar="PAGE", help="all without")
    parser.add_argument(
        "--fresh", action="store_true", help="also where only the computer makes a difference"
    )
    chosen = parser.parse_args()
    surroundings.fix()
    with tempfile.TemporaryDirectory(prefix="odonata-kept-") as kept_folder:
        runs = Kept(Path(kept_folder))
        for each in [page.resolve() for page in chosen.pages] or pages():
            print(f"{each}: {'written anew' if renew(each, runs, fresh=chosen.fresh) else 'as it was'}")
