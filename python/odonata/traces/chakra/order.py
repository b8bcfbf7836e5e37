"""A topological order of a rank's nodes, or the reason why there is none.

Data dependencies define the order of execution, as in the converters and feeders of Chakra. Control
dependencies of traces from PyTorch name the call that created a node. They may name calls outside the file,
or the node itself. They count only if all of them can be satisfied.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from odonata.traces.chakra.reader import RankTrace


@dataclass
class Graph:
    """The nodes of a rank by their position in the file."""

    #: Positions of the nodes in topological order; of several possible next nodes, the one with the smallest
    #: id comes first. Empty if there is an error.
    order: list[int] = field(default_factory=list)
    #: Positions of the nodes that each node depends on.
    before: list[list[int]] = field(default_factory=list)
    #: Errors that prevent a conversion, in sentences.
    errors: list[str] = field(default_factory=list)
    #: Reasons why control dependencies do not count, in sentences.
    notes: list[str] = field(default_factory=list)
    #: Whether control dependencies are among `before`.
    by_control: bool = False


def dependency_graph(trace: RankTrace) -> Graph:
    """The graph of a rank."""
    graph = Graph()
    places: dict[int, int] = {}
    twice: list[int] = []
    for place, node in enumerate(trace.nodes):
        if places.setdefault(node.id, place) != place:
            twice.append(node.id)
    if twice:
        graph.errors.append(f"{len(twice)} nodes have the id of another: {_some(twice)}")
    data = [[places[id] for id in node.data_deps if id in places] for node in trace.nodes]
    lost = [
        (node.id, id) for node in trace.nodes for id in node.data_deps if id not in places
    ]  # fmt: skip
    if lost:
        named = _some([f"{id} of node {of}" for of, id in lost])
        graph.errors.append(f"{len(lost)} data dependencies are on nodes that are not there: {named}")
    if graph.errors:
        return graph
    ids = [node.id for node in trace.nodes]
    graph.order = _sorted(data, ids)
    if len(graph.order) < len(ids):
        cycle = _cycle(data, graph.order)
        graph.order = []
        shown = " needs ".join(str(ids[place]) for place in cycle[:8])
        graph.errors.append(
            f"data dependencies go in a circle of {len(cycle) - 1}: {shown}"
            + (" ..." if len(cycle) > 8 else "")
        )
        return graph
    graph.before = data
    _by_control(trace, graph, places, ids)
    return graph


def _by_control(trace: RankTrace, graph: Graph, places: dict[int, int], ids: list[int]) -> None:
    """Adds control dependencies, if all of them can be satisfied."""
    if not any(node.ctrl_deps for node in trace.nodes):
        return
    lost = sum(id not in places for node in trace.nodes for id in node.ctrl_deps)
    own = sum(node.id in node.ctrl_deps for node in trace.nodes)
    if lost or own:
        total = sum(len(node.ctrl_deps) for node in trace.nodes)
        graph.notes.append(
            f"{lost} of {total} control dependencies are on missing nodes, {own} on the node "
            "itself: they record callers, not order"
        )
        return
    both = [
        graph.before[place] + [places[id] for id in node.ctrl_deps] for place, node in enumerate(trace.nodes)
    ]
    order = _sorted(both, ids)
    if len(order) < len(ids):
        cycle = _cycle(both, order)
        shown = " needs ".join(str(ids[place]) for place in cycle[:8])
        graph.notes.append(
            f"control dependencies contradict the data dependencies (node {shown}): they count for no order"
        )
        return
    graph.order, graph.before, graph.by_control = order, both, True


def _sorted(before: list[list[int]], ids: list[int]) -> list[int]:
    """Kahn's algorithm, the smallest id first; nodes of cycles and their successors are missing."""
    waits = [len(places) for places in before]
    behind: list[list[int]] = [[] for _ in before]
    for place, places in enumerate(before):
        for other in places:
            behind[other].append(place)
    ready = [(ids[place], place) for place, count in enumerate(waits) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, place = heapq.heappop(ready)
        order.append(place)
        for other in behind[place]:
            waits[other] -= 1
            if waits[other] == 0:
                heapq.heappush(ready, (ids[other], other))
    return order


def _cycle(before: list[list[int]], order: list[int]) -> list[int]:
    """Positions on a cycle, with its first one again at the end."""
    done = bytearray(len(before))
    for place in order:
        done[place] = 1
    place = next(place for place, is_done in enumerate(done) if not is_done)
    seen: dict[int, int] = {}
    path: list[int] = []
    while place not in seen:
        seen[place] = len(path)
        path.append(place)
        # A remaining node depends on another remaining node.
        place = next(other for other in before[place] if not done[other])
    return [*path[seen[place] :], place]


def _some(things: list[int] | list[str]) -> str:
    text = ", ".join(str(thing) for thing in things[:5])
    return text + (", ..." if len(things) > 5 else "")
