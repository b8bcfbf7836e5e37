"""A network that another program drives: the backend of a simulator of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from odonata import _core
from odonata.errors import InputError, input_errors
from odonata.scenario import reading
from odonata.scenario.given import override_list, text_and_path

if TYPE_CHECKING:
    from odonata.scenario.given import ScenarioLike

#: Called with the number of a message and the time in picoseconds.
Callback = Callable[[int, int], object]

#: The latest time that a network reaches.
LATEST_PS = 1 << 62


def _check_time(until_ps: int) -> None:
    """Raises an `InputError` for a time that no network reaches."""
    if not 0 <= until_ps <= LATEST_PS:
        raise InputError(
            "the time is out of range", key="until_ps", value=str(until_ps), expected=f"0 to {LATEST_PS}"
        )


class Network:
    """The network of a machine, without jobs: send messages, advance the time, get callbacks.

    Times are whole picoseconds. The same calls give the same times. A message that is sent at some time
    reaches its interface a picosecond later, or at `at_ps`.

    >>> import odonata
    >>> network = odonata.Network({"machine": {"torus": {"dims": [4, 4]}}})
    >>> arrived = []
    >>> number = network.send(0, 5, 4096, on_delivered=lambda message, at_ps: arrived.append(message))
    >>> network.run()
    >>> arrived == [number], network.totals()["bytes"]
    (True, 4096)
    """

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        overrides: Mapping[str, Any] | None = None,
        seed: int | None = None,
    ) -> None:
        """Builds the network.

        Args:
            scenario: As in `run`, or the name of a preset. Its jobs and its storage are left out.
            overrides: Settings that replace those of the scenario, by dotted key.
            seed: Replaces the scenario's seed.

        Raises:
            InputError: The scenario is invalid.
        """
        text, path = text_and_path(scenario, presets=True)
        reading.check_seed(seed)
        with input_errors():
            self._core = _core.Network(text, path, override_list(overrides), seed)
        self._sent: dict[int, Callback] = {}
        self._delivered: dict[int, Callback] = {}

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return self._core.nodes

    @property
    def now_ps(self) -> int:
        """The time that the network has reached."""
        return self._core.now_ps

    @property
    def is_idle(self) -> bool:
        """Whether no message is in flight."""
        return self._core.is_idle

    @property
    def next_event_ps(self) -> int | None:
        """When something happens next within the network; None if nothing is in flight.

        No callback comes earlier, so another simulator may advance to this time on its own.
        """
        return self._core.next_event_ps

    def send(
        self,
        source: int,
        target: int,
        size: int,
        *,
        at_ps: int | None = None,
        on_delivered: Callback | None = None,
        on_sent: Callback | None = None,
    ) -> int:
        """Sends a message.

        Args:
            source: The sending node.
            target: The receiving node.
            size: Bytes.
            at_ps: When the message reaches its interface, if that is later than now.
            on_delivered: Called when the last byte has arrived, with the number of the message and the time.
            on_sent: Called when the last packet starts to leave the node, whose buffer is free then.

        Returns:
            The number of the message, from 0.

        Raises:
            InputError: There is no such node, or a number is out of range.
        """
        try:
            number = self._core.send(source, target, size, at_ps, on_sent is not None)
        except (ValueError, OverflowError) as error:
            raise self._refused(source, target, size, at_ps, error) from None
        if on_sent is not None:
            self._sent[number] = on_sent
        if on_delivered is not None:
            self._delivered[number] = on_delivered
        return number

    def _refused(
        self, source: int, target: int, size: int, at_ps: int | None, error: Exception
    ) -> InputError:
        """The error of a send that the network refused."""
        nodes, sizes, times = f"a node, 0 to {self.nodes - 1}", "0 to 2^50 bytes", f"0 to {LATEST_PS}"
        for key, value, most, expected in [
            ("source", source, self.nodes - 1, nodes),
            ("target", target, self.nodes - 1, nodes),
            ("size", size, 1 << 50, sizes),
            ("at_ps", at_ps or 0, LATEST_PS, times),
        ]:
            if not 0 <= value <= most:
                return InputError("out of range", key=key, value=str(value), expected=expected)
        return InputError(str(error), key="send", value=f"{source}, {target}, {size}")

    def advance(self, until_ps: int) -> None:
        """Advances the time to `until_ps`.

        Callbacks come in the order of time, may send, and see their time as now.

        Raises:
            InputError: The time is negative or after `LATEST_PS`.
        """
        _check_time(until_ps)
        while self._core.now_ps < until_ps:
            self._call(self._core.advance(until_ps))

    def step(self, until_ps: int | None = None) -> bool:
        """Advances to the next callback; returns whether messages are in flight.

        Args:
            until_ps: The time not to go beyond. Without it, the network goes on until nothing is in flight.

        Raises:
            InputError: The time is negative or after `LATEST_PS`.
        """
        if until_ps is not None:
            _check_time(until_ps)
        events = self._core.advance(until_ps)
        while events and not any(self._waits(*event) for event in events):
            events = self._core.advance(until_ps)
        self._call(events)
        return not self._core.is_idle

    def _waits(self, message: int, is_delivered: bool, _: int) -> bool:
        """Whether a callback waits for an event."""
        return message in (self._delivered if is_delivered else self._sent)

    def run(self) -> None:
        """Advances until no message is in flight."""
        while self.step():
            pass

    def _call(self, events: list[tuple[int, bool, int]]) -> None:
        for message, is_delivered, at_ps in events:
            waiting = self._delivered if is_delivered else self._sent
            if (callback := waiting.pop(message, None)) is not None:
                callback(message, at_ps)

    def totals(self) -> dict[str, Any]:
        """The counters of all messages: messages, packets and bytes delivered, hops, packet latencies."""
        found: dict[str, Any] = json.loads(self._core.totals())
        return found

    def links(self) -> list[dict[str, Any]]:
        """The counters of each direction of a link: its ends, bytes, packets, time busy and stalled."""
        found: list[dict[str, Any]] = json.loads(self._core.links())
        return found
