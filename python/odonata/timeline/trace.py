"""A trace in Perfetto's protobuf format: tracks, slices, flows, counters.

The messages come from the package `perfetto`, generated from `perfetto_trace.proto`; fields and rules are
explained at https://perfetto.dev/docs/reference/synthetic-track-event. A trace is a sequence of packets, each
written when it is made. Names are interned: the first packet that uses a name declares its number.

Perfetto counts in nanoseconds. Times are rounded down, which keeps their order; exact times are annotations
(`duration_ps`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import BinaryIO

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from perfetto.trace_builder.proto_builder import StreamingTraceProtoBuilder

#: Picoseconds per nanosecond.
NS = 1000
#: The one packet sequence of a trace, the scope of interned names.
SEQUENCE = 1
#: Characters of a name that are kept.
LONGEST_NAME = 200
#: Number of interned names; each packet repeats further ones.
MOST_NAMES = 20_000

_EVENT = pb.TrackEvent
_PACKET = pb.TracePacket

#: Value of an annotation. Text is interned.
Value = int | float | bool | str


def ps(seconds: float) -> int:
    """Simulated seconds from tables in picoseconds: exact up to 2.5 hours, as tables are.

    >>> ps(0.3), ps(1e-12)
    (300000000000, 1)
    """
    return round(seconds * 1e12)


def shortened(name: str) -> str:
    """A name, cut to `LONGEST_NAME` and on one line.

    >>> shortened("a" * 300)[-3:], shortened("two\\nlines")
    ('aa…', 'two lines')
    """
    name = "".join(character if character.isprintable() else " " for character in name[: LONGEST_NAME + 1])
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


class _Names:
    """Interned names of one kind."""

    def __init__(self, field: str) -> None:
        self.field = field
        self.numbers: dict[str, int] = {}

    def number(self, name: str, packet: pb.TracePacket) -> int | None:
        """The number of a name, which `packet` declares if it is new; None beyond `MOST_NAMES`."""
        number = self.numbers.get(name)
        if number is None and len(self.numbers) < MOST_NAMES:
            number = self.numbers[name] = len(self.numbers) + 1
            entry = getattr(packet.interned_data, self.field).add()
            entry.iid = number
            if self.field == "debug_annotation_string_values":
                entry.str = name.encode()
            else:
                entry.name = name
        return number


class TraceWriter:
    """Writes packets to `file`. Tracks are numbered as they are declared, from 1."""

    def __init__(self, file: BinaryIO) -> None:
        self._builder = StreamingTraceProtoBuilder(file)
        self._names = _Names("event_names")
        self._categories = _Names("event_categories")
        self._annotations = _Names("debug_annotation_names")
        self._texts = _Names("debug_annotation_string_values")
        self._tracks = 0
        self._fresh = True
        #: Number of written events: begins and ends of slices, and values of counters.
        self.events = 0

    def process(self, name: str, pid: int) -> int:
        """Adds a group of tracks that the viewer shows as a process; returns the number of its track."""
        packet, track = self._track(name)
        track.process.pid = pid
        track.process.process_name = shortened(name)
        self._builder.write_packet(packet)
        return int(track.uuid)

    def thread(self, name: str, pid: int, tid: int) -> int:
        """Adds a track within process `pid` that the viewer shows as a thread."""
        packet, track = self._track(name)
        track.thread.pid, track.thread.tid = pid, tid
        track.thread.thread_name = shortened(name)
        self._builder.write_packet(packet)
        return int(track.uuid)

    def track(self, name: str, parent: int) -> int:
        """Adds a track below another one. The viewer merges tracks of one name below the same parent."""
        packet, track = self._track(name)
        track.parent_uuid = parent
        self._builder.write_packet(packet)
        return int(track.uuid)

    def counter(self, name: str, parent: int, unit: str) -> int:
        """Adds a track of values in `unit`."""
        packet, track = self._track(name)
        track.parent_uuid = parent
        if unit == "bytes":
            track.counter.unit = pb.CounterDescriptor.UNIT_SIZE_BYTES
        elif unit == "count":
            track.counter.unit = pb.CounterDescriptor.UNIT_COUNT
        else:
            track.counter.unit_name = unit
        self._builder.write_packet(packet)
        return int(track.uuid)

    def begin(
        self,
        track: int,
        at: int,
        name: str,
        category: str,
        annotations: Mapping[str, Value] | None = None,
        flows: Iterable[int] = (),
    ) -> None:
        """Begins a slice at `at`, in ps, from which `flows` start."""
        packet, event = self._event(track, at, _EVENT.TYPE_SLICE_BEGIN)
        name = shortened(name)
        number = self._names.number(name, packet)
        if number is None:
            event.name = name
        else:
            event.name_iid = number
        number = self._categories.number(category, packet)
        if number is None:
            event.categories.append(category)
        else:
            event.category_iids.append(number)
        for key, value in (annotations or {}).items():
            self._annotate(packet, event, key, value)
        event.flow_ids.extend(flows)
        self._builder.write_packet(packet)

    def end(self, track: int, at: int, flows: Iterable[int] = ()) -> None:
        """Ends the slice that began last, in which `flows` end."""
        packet, event = self._event(track, at, _EVENT.TYPE_SLICE_END)
        event.terminating_flow_ids.extend(flows)
        self._builder.write_packet(packet)

    def value(self, track: int, at: int, value: int | float) -> None:
        """The value of a counter from `at` on."""
        packet, event = self._event(track, at, _EVENT.TYPE_COUNTER)
        if isinstance(value, int):
            event.counter_value = value
        else:
            event.double_counter_value = value
        self._builder.write_packet(packet)

    def _packet(self) -> pb.TracePacket:
        packet: pb.TracePacket = self._builder.create_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        packet.sequence_flags = (
            _PACKET.SEQ_INCREMENTAL_STATE_CLEARED if self._fresh else _PACKET.SEQ_NEEDS_INCREMENTAL_STATE
        )
        self._fresh = False
        return packet

    def _track(self, name: str) -> tuple[pb.TracePacket, pb.TrackDescriptor]:
        packet = self._packet()
        self._tracks += 1
        track = packet.track_descriptor
        track.uuid = self._tracks
        track.name = shortened(name)
        return packet, track

    def _event(self, track: int, at: int, kind: int) -> tuple[pb.TracePacket, pb.TrackEvent]:
        packet = self._packet()
        packet.timestamp = at // NS
        event = packet.track_event
        event.type = kind
        event.track_uuid = track
        self.events += 1
        return packet, event

    def _annotate(self, packet: pb.TracePacket, event: pb.TrackEvent, key: str, value: Value) -> None:
        annotation = event.debug_annotations.add()
        number = self._annotations.number(key, packet)
        if number is None:
            annotation.name = key
        else:
            annotation.name_iid = number
        if isinstance(value, bool):
            annotation.bool_value = value
        elif isinstance(value, int):
            if value < 0:
                annotation.int_value = value
            else:
                annotation.uint_value = value
        elif isinstance(value, float):
            annotation.double_value = value
        else:
            text = shortened(value)
            number = self._texts.number(text, packet)
            if number is None:
                annotation.string_value = text
            else:
                annotation.string_value_iid = number
