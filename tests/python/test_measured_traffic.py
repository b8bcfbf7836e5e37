"""Workloads shaped by traces, compared with every entry of the traces' files, if present.

The byte matrices and the DUMPI trace `df-amg-27` are reference traces (`tests/traces/reference.py`). A matrix
is a comment with the bytes of all pairs that are not listed, then lines of source, destination and bytes.
`crates/workload/odonata-workload/tests/measured_traffic.rs` tests the facts that need no files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.parquet
import pytest
import reference_traces

#: Workload, keys beside the defaults, and the matrix that shapes it.
SHAPED = {
    "df-fillboundary-1000": ("fill-boundary", ""),
    "df-multigrid-c-1000": ("multigrid", ""),
    "df-crystalrouter-1000": ("crystal-router", 'header = "0 B"'),
}

RANKS = 1_000


def convert(shell, source: str) -> pyarrow.Table:
    """The operations of a trace, or of the only job of a scenario."""
    done = shell("trace", "convert", source, "one.program", "--force")
    assert done.code == 0, done.err
    path = shell.folder / "one.program/operations.parquet"
    return pyarrow.parquet.read_table(path, columns=["rank", "kind", "peer", "bytes"])


def measured(folder: Path) -> tuple[int, dict[tuple[int, int], int]]:
    """Bytes of pairs that are not listed, and of the listed ones."""
    first, *lines = (folder / "matrix.tsv").read_text().splitlines()
    others = int(first.partition("all_other_pairs=")[2].split()[0])
    entries = (tuple(map(int, line.split())) for line in lines if not line.startswith("#"))
    return others, {(source, to): count for source, to, count in entries}


def sent(operations: pyarrow.Table) -> dict[tuple[int, int], int]:
    """Bytes of each pair.

    Collectives count as in the tool that made the matrices: 8 B between all pairs for each.
    """
    kinds = operations["kind"].cast(pyarrow.string())
    isends = operations.filter(pyarrow.compute.equal(kinds, "isend"))
    pairs = isends.group_by(["rank", "peer"]).aggregate([("bytes", "sum")]).to_pydict()
    found = {
        (source, to): count
        for source, to, count in zip(pairs["rank"], pairs["peer"], pairs["bytes_sum"], strict=True)
    }
    first = Counter(kinds.filter(pyarrow.compute.equal(operations["rank"], 0)).to_pylist())
    allreduces, broadcasts = first["allreduce"], first["broadcast"]
    if allreduces or broadcasts:
        for source in range(RANKS):
            more = 8 * (allreduces + (broadcasts if source else 0))
            for to in range(RANKS):
                if to != source:
                    found[source, to] = found.get((source, to), 0) + more
    return found


def rows(operations: pyarrow.Table) -> Iterator[tuple[int, str, int, int]]:
    """Rank, kind, peer and bytes of all operations."""
    columns = [operations[name].to_pylist() for name in ("rank", "kind", "peer", "bytes")]
    yield from zip(*columns, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "folder", [param for name in SHAPED for param in reference_traces.one("matrices", name)]
)
def test_the_matrix_of_a_workload_is_that_of_its_trace(shell, folder):
    workload, keys = SHAPED[folder.name]
    shell.write(
        "[machine.torus]\ndims = [10, 10, 10]\n[[jobs]]\nname = 'one'\nranks = 1000\n"
        f"workload = {{ {workload} = {{ {keys} }} }}\n"
    )
    others, listed = measured(folder)
    ours = sent(convert(shell, "scenario.toml"))
    pairs = [(source, to) for source in range(RANKS) for to in range(RANKS) if source != to]
    theirs = {pair: listed.get(pair, others) for pair in pairs}
    assert set(ours) == {pair for pair in pairs if theirs[pair]}
    assert sum(ours.values()) == pytest.approx(sum(theirs.values()), rel=1e-3)
    if workload != "crystal-router":
        assert {pair: count for pair, count in ours.items() if count != theirs[pair]} == {}
        return
    assert len(ours) == 9_976
    off = {pair: ours[pair] / theirs[pair] - 1 for pair in ours}
    assert sum(abs(one) > 0.01 for one in off.values()) == 9
    assert max(abs(one) for one in off.values()) < 0.04


def exchanges(operations: pyarrow.Table) -> list[tuple[int, int]]:
    """(messages, bytes) of each exchange of 27 ranks: ranks that wait for the same messages, in order.

    The n-th message of a pair is its n-th receive, so that the messages that two ranks wait for together are
    one exchange.
    """
    sends: dict[tuple[int, int], list[tuple[int, int]]] = {}
    receives: dict[tuple[int, int], list[int]] = {}
    waits = Counter()
    for rank, kind, peer, count in rows(operations):
        if kind == "isend":
            sends.setdefault((rank, peer), []).append((waits[rank], count))
        elif kind == "irecv":
            receives.setdefault((peer, rank), []).append(waits[rank])
        elif kind in ("wait", "wait_all"):
            waits[rank] += 1
    longest = max(waits.values())
    # The number of an exchange among all: for ranks that take part in all of them, and for their partners.
    place = {(rank, number): number for rank in waits if waits[rank] == longest for number in range(longest)}
    messages = [
        ((source, number), (to, taken), count)
        for (source, to), all_sent in sends.items()
        for (number, count), taken in zip(all_sent, receives[source, to], strict=True)
    ]
    while True:
        before = len(place)
        for one, other, _ in messages:
            if one in place:
                place.setdefault(other, place[one])
            elif other in place:
                place[one] = place[other]
        if len(place) == before:
            break
    sums = [(0, 0)] * longest
    for one, other, count in messages:
        assert place[one] == place[other]
        sums[place[one]] = (sums[place[one]][0] + 1, sums[place[one]][1] + count)
    return sums


@pytest.mark.parametrize("folder", reference_traces.one("dumpi", "df-amg-27"))
def test_the_exchanges_of_amg_are_those_of_its_trace(shell, folder):
    theirs = exchanges(convert(shell, str(folder)))
    shell.write(
        "[machine.torus]\ndims = [3, 3, 3]\n[[jobs]]\nname = 'one'\nranks = 27\nworkload = { amg = {} }\n"
    )
    operations = convert(shell, "scenario.toml")
    # In the workload, computation begins each exchange, whether or not a rank has messages in it.
    ours: dict[int, tuple[int, int]] = {}
    begun: Counter[int] = Counter()
    for rank, kind, _, count in rows(operations):
        if kind == "compute":
            begun[rank] += 1
        elif kind == "isend":
            messages, together = ours.get(begun[rank], (0, 0))
            ours[begun[rank]] = (messages + 1, together + count)
    assert len(theirs) == 60
    assert [ours[number] for number in range(2, 62)] == theirs
