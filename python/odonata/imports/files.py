"""Detection of configuration files, and their combination to one scenario."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from odonata.base import foreign
from odonata.errors import InputError
from odonata.imports import anynet, booksim, codes, codes_conf, codes_jobs, graphml, htsim, network_graph, ns3
from odonata.imports.draft import Draft

#: Bytes of the largest file.
LONGEST = 1 << 24

#: Files that stand alone: kinds with their readers.
_NETWORKS: dict[str, Callable[[Path, str], Draft]] = {
    "a BookSim configuration": booksim.load,
    "a file of BookSim's anynet": lambda path, text: _anynet(path, text),
    "a topology of ns-3": ns3.load,
    "a topology of htsim": htsim.load,
    "GraphML": graphml.load,
}

_WORKLOAD = re.compile(r"\d+[ \t]+[^\s=;{}]+[ \t]*")
_ALLOCATION = re.compile(r"\d+([ \t]+\d+)*[ \t]*")


def load(paths: list[Path]) -> Draft:
    """The scenario of the files of one run of a simulator.

    A BookSim configuration or a topology stands alone. CODES' network configuration may come with a workload
    file (lines `RANKS NAME`) and an allocation file (a line of numbers per job). Raises `InputError` for
    other files, and for essential settings without a counterpart.
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
    for kind, read in _NETWORKS.items():
        if kind not in found:
            continue
        if len(found) > 1:
            other = next(files[0][0] for one, files in found.items() if one != kind)
            raise InputError(f"{kind} stands alone", file=str(other), expected="one file")
        return read(*found[kind][0])
    if "a CODES configuration" not in found:
        raise InputError(
            'no network configuration among the files', file=str(paths[0]),
            expected="a configuration of CODES (LPGROUPS, PARAMS) or BookSim (key = value;), or a topology",
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
    if re.search(r"(?m)^\s*\[\[?(machine|network|jobs)\b", text):
        raise InputError(
            "it is a scenario of Odonata already",
            file=str(path),
            expected="a file of another simulator",
            hint=f"odonata check {path} explains it",
        )
    lines = [line for line in text.splitlines() if line.strip()]
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        return "GraphML"
    if re.search(r"\b(LPGROUPS|PARAMS)\s*\{", re.sub(r"#[^\n]*", "", text)):
        return "a CODES configuration"
    if ns3.is_topology(text):
        return "a topology of ns-3"
    if htsim.is_topology(text):
        return "a topology of htsim"
    if lines and re.match(r"(router|node)[ \t]+[0-9]", lines[0].strip()):
        return "a file of BookSim's anynet"
    if lines and all(_ALLOCATION.fullmatch(line.strip()) for line in lines):
        return "an allocation file"
    if lines and all(_WORKLOAD.fullmatch(line.strip()) for line in lines):
        return "a workload file"
    if "=" in text:
        return "a BookSim configuration"
    raise InputError(
        'unknown kind of file', file=str(path),
        expected="a configuration of CODES (LPGROUPS, PARAMS) or BookSim (key = value;), lines RANKS NAME, "
        "lines of numbers, or a topology of ns-3, SimAI, htsim, BookSim's anynet or GraphML",
    )  # fmt: skip


def _anynet(path: Path, text: str) -> Draft:
    """The machine of a file of anynet without its configuration."""
    draft = Draft(path.stem, [f"From the BookSim 2 network {path.name}."], path, "booksim")
    network_graph.put(draft, anynet.parse(text, path, draft))
    draft.put("network.routing", "algorithm", '"shortest-paths"', "routing_function = min")
    return draft
