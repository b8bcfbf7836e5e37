"""Scenarios that trials start from: small ones of `seeds`, the project's own, and their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from odonata import _core

ROOT = Path(__file__).parents[2]
SEEDS = Path(__file__).parent / "seeds"

#: Presets are machines without jobs; on the large ones few ranks send few messages.
JOBS = """
[[jobs]]
name = "halo"
ranks = 8
placement = "random"
workload = { stencil = { iterations = 2, message = "8 KiB", compute = "1 us" } }
"""


@dataclass(frozen=True)
class Base:
    """A scenario, and the files beside it that it names."""

    name: str
    text: str
    files: dict[str, bytes] = field(default_factory=dict)


def _beside(path: Path, text: str) -> dict[str, bytes]:
    """The files beside a scenario that it names."""
    others = [other for other in path.parent.iterdir() if other.suffix in (".py", ".ncptl", ".txt")]
    return {other.name: other.read_bytes() for other in sorted(others) if other.name in text}


def _of(folder: Path, pattern: str = "*.toml") -> list[Base]:
    paths = sorted(folder.glob(pattern))
    texts = [path.read_text(encoding="utf-8") for path in paths]
    return [Base(path.stem, text, _beside(path, text)) for path, text in zip(paths, texts, strict=True)]


@cache
def small_bases() -> list[Base]:
    """Those on a few nodes, of every family."""
    return _of(SEEDS)


@cache
def all_bases() -> list[Base]:
    """All of them, in an order that does not change."""
    found = small_bases() + _of(ROOT / "examples")
    for name in sorted(_core.preset_names()):
        machine = "[machine.mesh]\ndims = [4, 4]\n" if name == "booksim" else ""
        found.append(Base(name, f'preset = "{name}"\n{machine}{JOBS}'))
    for base in _of(ROOT / "studies/booksim/scenarios"):
        # Made for load sweeps: endless traffic.
        found.append(Base(base.name, base.text.replace(" load = ", " messages = 20, load = ")))
    lists = sorted((ROOT / "studies/mfnetsim/nodes").glob("*.csv"))
    nodes = {path.name: path.read_bytes() for path in lists}
    for base in _of(ROOT / "studies/mfnetsim/scenarios", "*-wkld3.toml"):
        found.append(Base(base.name, base.text.replace("../nodes/", ""), nodes))
    return found
