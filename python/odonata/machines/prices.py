"""What a network costs: routers, cables by length, and storage servers.

Prices are estimates: those of FDR10 InfiniBand (40 Gbit/s) in 2013, cited after M. Besta, T. Hoefler, "Slim
Fly: A Cost Effective Low-Diameter Network Topology", SC 2014, and not checked against the paper. A router of
k ports costs 350.4 k - 892.3. A cable of x meters costs 0.4079 x + 0.5771 per Gbit/s in copper, and
0.0919 x + 2.7452 as fiber. Old prices still compare networks with one another; a file with other prices
replaces them. The price of a server is an assumption.

The length of a cable follows from the latency of its class at 5 ns/m.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.errors import input_errors
from odonata.running import runner
from odonata.sweeps import reader

#: Time of a signal per meter of cable.
SECONDS_PER_METER = 5e-9


@dataclass(frozen=True)
class Prices:
    """A table of prices, in dollars."""

    #: A router, and each of its ports.
    router: float = -892.3
    port: float = 350.4
    #: A cable per Gbit/s, and per Gbit/s and meter.
    copper: float = 0.5771
    copper_meter: float = 0.4079
    fiber: float = 2.7452
    fiber_meter: float = 0.0919
    #: The longest copper cable, in meters.
    copper_reach: float = 7.0
    #: A storage server with its devices.
    server: float = 10_000.0


@dataclass(frozen=True)
class Cost:
    """What a machine's network and storage servers cost, in dollars."""

    routers: float
    cables: float
    servers: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.routers + self.cables + self.servers


def read(file: Path | None) -> Prices:
    """The prices of a TOML file; keys that it leaves out, and all without a file, are the defaults."""
    if file is None:
        return Prices()
    table = reader.read(file)
    names = [one.name for one in fields(Prices)]
    table.refuse_others(names)
    given = {name: table.get(name, (int, float), "a number of dollars, or of meters") for name in names}
    return Prices(**{name: float(value) for name, value in given.items() if value is not None})


def cable(meters: float, gbit_per_s: float, prices: Prices) -> float:
    """The price of a cable: copper as far as it reaches, then fiber.

    >>> round(cable(1.0, 40.0, Prices()), 2), round(cable(20.0, 40.0, Prices()), 2)
    (39.4, 183.33)
    """
    if meters <= prices.copper_reach:
        return gbit_per_s * (prices.copper + prices.copper_meter * meters)
    return gbit_per_s * (prices.fiber + prices.fiber_meter * meters)


def cost(task: runner.Task, prices: Prices) -> Cost:
    """The cost of the machine of a scenario; raises `InputError` if it cannot be built."""
    with input_errors():
        described = json.loads(_core.describe(task.text, task.path, task.overrides))
        nodes = json.loads(_core.batch_nodes(task.text, task.path, task.overrides))
    return of_machine(described, int(nodes["servers"]), prices)


def of_machine(described: Mapping[str, Any], servers: int, prices: Prices) -> Cost:
    """The cost of a described machine.

    A router with 2 nodes and a link to another one, each with 1 m of copper of 40 Gbit/s, and no server:

    >>> links = [
    ...     {"class": "terminal", "cables": 4, "bandwidth_bytes_per_s": 5e9, "latency_s": 5e-9},
    ...     {"class": "local", "cables": 1, "bandwidth_bytes_per_s": 5e9, "latency_s": 5e-9},
    ... ]
    >>> found = of_machine({"routers": 2, "nodes": 4, "free_ports": 0, "links": links}, 0, Prices())
    >>> round(found.routers, 1), round(found.cables)  # 6 ports; 5 cables
    (317.8, 197)
    """
    links = described["links"]
    ends = sum(one["cables"] * (1 if one["class"] == "terminal" else 2) for one in links)
    ports = ends + described["free_ports"]
    cables = sum(
        one["cables"]
        * cable(one["latency_s"] / SECONDS_PER_METER, one["bandwidth_bytes_per_s"] * 8e-9, prices)
        for one in links
    )
    return Cost(prices.router * described["routers"] + prices.port * ports, cables, prices.server * servers)
