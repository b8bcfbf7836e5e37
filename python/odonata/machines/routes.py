"""Routes of any machine by a Python function, as the file of `network.routing.routes`."""

from __future__ import annotations

import os
import xml.etree.ElementTree as tree
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.base.output_file import OutputFile
from odonata.errors import InputError, input_errors
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.scenario.given import ScenarioLike

_SPACE = "{http://graphml.graphdrawing.org/xmlns}"


@dataclass(frozen=True)
class RouterGraph:
    """The routers of a machine and the cables between them."""

    #: The names of the routers, which are numbers in most machines.
    routers: list[str]
    #: The number of nodes of each router.
    nodes: dict[str, int]
    #: The neighbors of each router, in the order of its ports; one for each cable.
    neighbors: dict[str, list[str]]

    def distances(self, start: str) -> dict[str, int]:
        """The distance of every reachable router from `start`, in cables."""
        found, waiting = {start: 0}, deque([start])
        while waiting:
            router = waiting.popleft()
            for far in self.neighbors[router]:
                if far not in found:
                    found[far] = found[router] + 1
                    waiting.append(far)
        return found


Route = Callable[[RouterGraph, str, str], Sequence[str] | Sequence[Sequence[str]]]


def write_routes(
    scenario: ScenarioLike,
    route: Route,
    file: str | os.PathLike[str],
    *,
    overrides: Mapping[str, Any] | None = None,
    force: bool = False,
) -> Path:
    """Writes the routes that a function gives for a machine, for `network.routing.routes`.

    Args:
        scenario: As in `run`, or the name of a preset. It needs no jobs.
        route: Gets the graph (`routers`, `nodes`, `neighbors`, `distances(router)`), and the names of two
            routers with nodes. Returns the path between them as names of routers, or several paths.
        file: The CSV file to write.
        overrides: Settings that replace those of the scenario, by dotted key.
        force: Replace an existing file.

    Returns:
        The file. A scenario reads it with `network.routing.algorithm = "table"`, which checks all paths.

    Raises:
        InputError: The scenario is invalid, a path does not connect its routers, or the file cannot be
            written.

    >>> import odonata
    >>> def clockwise(graph, source, destination):
    ...     ring = len(graph.routers)
    ...     steps = (int(destination) - int(source)) % ring
    ...     return [str((int(source) + step) % ring) for step in range(steps + 1)]
    >>> odonata.write_routes({"machine": {"torus": {"dims": [5]}}}, clockwise, "routes.csv")  # doctest: +SKIP
    """
    text, path = text_and_path(scenario, presets=True)
    output = OutputFile(Path(file), key="file", replace=force)
    # The scenario may name the file that does not exist yet.
    settings = [*override_list(overrides), "network.routing.algorithm=up-down"]
    with input_errors():
        graph = _graph(_core.graphml(text, path, settings))
    rows = ["from,to,path"]
    ends = [router for router in graph.routers if graph.nodes[router]]
    for source in ends:
        for destination in ends:
            if source != destination:
                rows += _rows(route(graph, source, destination), source, destination)
    output.write(("\n".join(rows) + "\n").encode())
    return Path(file)


def _rows(found: Any, source: str, destination: str) -> list[str]:
    """The rows of the paths from `source` to `destination`."""
    paths = [found] if not found or isinstance(found[0], str | int) else list(found)
    rows = []
    for path in paths:
        names = [str(router) for router in path]
        if not names or names[0] != source or names[-1] != destination:
            raise InputError(
                f"the path from {source} to {destination} does not connect them",
                key="route", value=" ".join(names),
                expected="the names of routers, from the first to the last",
            )  # fmt: skip
        rows.append(f"{_field(source)},{_field(destination)},{_field(' '.join(names))}")
    return rows


def _field(text: str) -> str:
    """A field of CSV."""
    return '"' + text.replace('"', '""') + '"' if any(char in text for char in ',"#') else text


def _graph(text: bytes | str) -> RouterGraph:
    """The graph in the GraphML of the core."""
    root = tree.fromstring(text)
    keys = {key.get("id"): key.get("attr.name") for key in root.iter(f"{_SPACE}key")}

    def value(element: tree.Element, name: str) -> str | None:
        found = (one.text for one in element.findall(f"{_SPACE}data") if keys.get(one.get("key")) == name)
        return next(found, None)

    nodes = {one.get("id", ""): int(value(one, "nodes") or 0) for one in root.iter(f"{_SPACE}node")}
    ports: dict[str, list[tuple[int, str]]] = {router: [] for router in nodes}
    for edge in root.iter(f"{_SPACE}edge"):
        ends = edge.get("source", ""), edge.get("target", "")
        places = int(edge.get("sourceport") or 0), int(edge.get("targetport") or 0)
        for here, far, place in ((ends[0], ends[1], places[0]), (ends[1], ends[0], places[1])):
            for cable in range(int(value(edge, "cables") or 1)):
                ports[here].append((place + cable, far))
    neighbors = {router: [far for _, far in sorted(found)] for router, found in ports.items()}
    return RouterGraph(list(nodes), nodes, neighbors)
