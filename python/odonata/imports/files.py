"""Detection of configuration files, and their combination to one scenario."""

from __future__ import annotations

import re
from pathlib import Path

from odonata.base import foreign
from odonata.errors import InputError
from odonata.imports import booksim, codes, codes_conf, codes_jobs
from odonata.imports.draft import Draft

#: Bytes of the largest file.
LONGEST = 1 << 24

_WORKLOAD = re.compile(r"\d+[ \t]+[^\s=;{}]+[ \t]*")
_ALLOCATION = re.compile(r"\d+([ \t]+\d+)*[ \t]*")


def load(paths: list[Path]) -> Draft:
    """The scenario of the files of one run of a simulator.

    A BookSim configuration stands alone. CODES' network configuration may come with a workload file (lines
    `RANKS NAME`) and an allocation file (a line of numbers per job). Raises `InputError` for other files, and
    for essential settings without a counterpart.
    """
    found: dict[str, list[tuple[Path, str]]] = {}
    for path in paths:
        text = _text(path)
        found.setdefault(_kind(path, text), []).append((path, text))
    for kind, files in found.items():
        if len(files) > 1:
            raise InputError(
                f"a second file that is {kind}", file=str(files[1][0]), expected="one of each kind"
            )
    if "a BookSim configuration" in found:
        if len(found) > 1:
            other = next(files[0][0] for kind, files in found.items() if kind != "a BookSim configuration")
            raise InputError("a BookSim configuration stands alone", file=str(other), expected="one file")
        return booksim.load(*found["a BookSim configuration"][0])
    if "a CODES configuration" not in found:
        raise InputError(
            'no network configuration among the files', file=str(paths[0]),
            expected="a configuration of CODES (LPGROUPS, PARAMS) or BookSim (key = value;)",
        )  # fmt: skip
    path, text = found["a CODES configuration"][0]
    conf = codes_conf.parse(text, path)
    draft = codes.load(path, conf)
    workload, allocation = found.get("a workload file"), found.get("an allocation file")
    if allocation is not None and workload is None:
        raise InputError("nodes of no jobs", file=str(allocation[0][0]), expected="a workload file beside it")
    if workload is not None:
        rows = [line.split() for line in workload[0][1].splitlines() if line.strip()]
        jobs = (workload[0][0], [(int(row[0]), row[1]) for row in rows])
        places = None
        if allocation is not None:
            lines = [line.split() for line in allocation[0][1].splitlines() if line.strip()]
            places = (allocation[0][0], [[int(word) for word in line] for line in lines])
        codes_jobs.add_jobs(draft, conf, jobs, places)
    return draft


def _text(path: Path) -> str:
    """The text of a file; raises `InputError` for other content."""
    try:
        data = foreign.read_bytes(path, LONGEST)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", file=str(path), expected="a configuration"
        ) from None
    if len(data) > LONGEST:
        raise InputError(f"more than {LONGEST} bytes", file=str(path), expected="a configuration")
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InputError("not text in UTF-8", file=str(path), expected="a configuration") from None


def _kind(path: Path, text: str) -> str:
    """The kind of a file, by its content."""
    lines = [line for line in text.splitlines() if line.strip()]
    if re.search(r"\b(LPGROUPS|PARAMS)\s*\{", re.sub(r"#[^\n]*", "", text)):
        return "a CODES configuration"
    if lines and all(_ALLOCATION.fullmatch(line.strip()) for line in lines):
        return "an allocation file"
    if lines and all(_WORKLOAD.fullmatch(line.strip()) for line in lines):
        return "a workload file"
    if "=" in text:
        return "a BookSim configuration"
    raise InputError(
        'unknown kind of file', file=str(path),
        expected="a configuration of CODES (LPGROUPS, PARAMS) or BookSim (key = value;), lines RANKS NAME, "
        "or lines of numbers",
    )  # fmt: skip
