"""SimPy processes whose messages cross a network of Odonata; needs `pip install simpy`.

Run it as `python examples/backend/simpy_ping_pong.py`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import simpy

import odonata


class Bridge:
    """Keeps the times of a SimPy environment (seconds) and of a network (picoseconds) together.

    While a message is in flight, a process advances the network to the next delivery or to the next event of
    SimPy, whichever is first, so that neither runs ahead of the other.
    """

    def __init__(self, environment: simpy.Environment, network: odonata.Network) -> None:
        self.environment, self.network = environment, network
        self._is_advancing = False

    def send(self, source: int, target: int, size: int) -> simpy.Event:
        """An event that succeeds when the last byte has arrived; its value is the number of the message."""
        done = self.environment.event()
        self.network.advance(round(self.environment.now * 1e12))
        self.network.send(source, target, size, on_delivered=lambda *arrival: self._arrive(done, *arrival))
        if not self._is_advancing:
            self._is_advancing = True
            self.environment.process(self._advance())
        return done

    def _arrive(self, done: simpy.Event, message: int, at_ps: int) -> None:
        """Lets `done` succeed at the time of the arrival, to which the environment has yet to come."""
        wait = self.environment.timeout(max(0.0, at_ps * 1e-12 - self.environment.now), message)
        wait.callbacks.append(lambda event: done.succeed(event.value))

    def _advance(self) -> Generator[simpy.Event, Any, None]:
        # Let the other processes of this instant send first.
        yield self.environment.timeout(0)
        while not self.network.is_idle:
            # Events of SimPy at the time reached come before anything later in the network.
            limit = self.environment.peek()
            self.network.step(None if limit == float("inf") else round(limit * 1e12))
            wait = self.network.now_ps * 1e-12 - self.environment.now
            yield self.environment.timeout(max(0.0, wait))
        self._is_advancing = False


def main() -> None:
    """Two nodes exchange a message ten times, and the program prints the time of each exchange."""
    environment = simpy.Environment()
    network = odonata.Network({"machine": {"torus": {"dims": [4, 4]}}})
    bridge = Bridge(environment, network)

    def ping_pong() -> Generator[simpy.Event, Any, None]:
        for exchange in range(10):
            yield bridge.send(0, 10, 65_536)
            yield bridge.send(10, 0, 65_536)
            print(f"{exchange}: {environment.now * 1e6:.3f} us")

    environment.process(ping_pong())
    environment.run()


if __name__ == "__main__":
    main()
