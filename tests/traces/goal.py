"""Writes GOAL schedules in both forms, with the results that a reader and the LogGOPS model must find.

The forms are those of LogGOPSim (see `crates/formats/odonata-goal/src/text.rs` and `binary.rs`). The writer
counts its records and shares nothing with Odonata's reader. `schedules.py` has the schedules, with the closed
form of each rank's end.
"""

from __future__ import annotations

import json
from pathlib import Path
from struct import pack
from typing import Any

COOKIE = 4223
SEND, RECV, CALC = 1, 2, 3
KINDS = {SEND: "sends", RECV: "recvs", CALC: "calcs"}


class Rank:
    """The tasks of a rank, and their dependencies."""

    def __init__(self) -> None:
        self.tasks: list[tuple[int, int, int]] = []  # kind, peer, bytes or ns
        self.waiting: list[list[int]] = []
        self.unmet: list[int] = []

    def _task(self, kind: int, peer: int, size: int, after: tuple[int, ...]) -> int:
        number = len(self.tasks)
        self.tasks.append((kind, peer, size))
        self.waiting.append([])
        self.unmet.append(len(after))
        for other in after:
            self.waiting[other].append(number)
        return number

    def send(self, to: int, size: int, *after: int) -> int:
        return self._task(SEND, to, size, after)

    def recv(self, source: int, size: int, *after: int) -> int:
        return self._task(RECV, source, size, after)

    def calc(self, ns: int, *after: int) -> int:
        return self._task(CALC, 0, ns, after)

    def text(self) -> str:
        lines = []
        for number, (kind, peer, size) in enumerate(self.tasks):
            what = {SEND: f"send {size}b to {peer}", RECV: f"recv {size}b from {peer}", CALC: f"calc {size}"}
            lines.append(f"l{number + 1}: {what[kind]}")
            lines += [
                f"l{number + 1} requires l{before + 1}"
                for before, waiting in enumerate(self.waiting)
                if number in waiting
            ]
        return "".join(f"{line}\n" for line in lines)

    def binary(self) -> bytes:
        roots = [number for number, unmet in enumerate(self.unmet) if unmet == 0]
        nodes, waiting = b"", []
        for (kind, peer, size), others, unmet in zip(self.tasks, self.waiting, self.unmet, strict=True):
            nodes += pack("<IBIQIBB", unmet, kind, peer, size, 0, 0, 0)
            nodes += pack("<IIII", len(others), len(waiting), 0, len(waiting))
            waiting += others
        head = pack(f"<II{len(roots)}I", len(self.tasks), len(roots), *roots)
        return head + nodes + pack(f"<{len(waiting)}I", *waiting)

    def truth(self, number: int) -> dict[str, int]:
        counts = {name: sum(task[0] == kind for task in self.tasks) for kind, name in KINDS.items()}
        sums = {kind: sum(size for this, _, size in self.tasks if this == kind) for kind in KINDS}
        return {
            "rank": number,
            **counts,
            "send_bytes": sums[SEND],
            "recv_bytes": sums[RECV],
            "calc_total": sums[CALC],
            "requires": sum(map(len, self.waiting)),
            "irequires": 0,
            "roots": self.unmet.count(0),
        }


def write(folder: Path, ranks: list[Rank], ends: list[dict[str, Any]]) -> None:
    """Writes both forms and the expected results; `ends` are parameters with the end of each rank in ns."""
    folder.mkdir(parents=True)
    text = "".join(f"\nrank {number} {{\n{rank.text()}}}\n" for number, rank in enumerate(ranks))
    (folder / f"{folder.name}.goal").write_text(f"num_ranks {len(ranks)}\n{text}", encoding="ascii")
    parts = [rank.binary() for rank in ranks]
    table, at = b"", 6 + 16 * len(parts)
    for part in parts:
        table += pack("<QQ", at, at + len(part))
        at += len(part)
    head = pack("<QIBB", COOKIE, len(parts), 0, 0)
    (folder / f"{folder.name}.goal.bin").write_bytes(head + table + b"".join(parts))
    truth = {
        "name": folder.name,
        "num_ranks": len(ranks),
        "ranks": [rank.truth(number) for number, rank in enumerate(ranks)],
        "loggopsim": ends,
    }
    (folder / "ground-truth.json").write_text(json.dumps(truth) + "\n", encoding="ascii")
