"""OTF2 archives as a trace format, for the commands for traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, size
from odonata.errors import InputError, option
from odonata.traces.converted import (
    Converted,
    ConvertOptions,
    lint_as_program,
    refuse_bandwidth,
    refuse_flops,
)
from odonata.traces.otf2_archive import program, reader

_SENDS = ("MpiSend", "MpiIsend")
#: Kinds of events that a conversion uses, as printed; others are counted and named.
_USED = (
    "ENTER",
    "LEAVE",
    "MPI_SEND",
    "MPI_RECV",
    "MPI_ISEND",
    "MPI_ISEND_COMPLETE",
    "MPI_IRECV",
    "MPI_IRECV_REQUEST",
    "MPI_REQUEST_TEST",
    "MPI_REQUEST_CANCELLED",
    "MPI_COLLECTIVE_BEGIN",
    "MPI_COLLECTIVE_END",
    "NON_BLOCKING_COLLECTIVE_REQUEST",
    "NON_BLOCKING_COLLECTIVE_COMPLETE",
    "PROGRAM_BEGIN",
    "PROGRAM_END",
    "COMM_CREATE",
    "COMM_DESTROY",
)


class Otf2Archive:
    """The format; a separate process loads the package otf2 on first use."""

    name = "OTF2 archive"
    files = reader.FILES

    def detect(self, path: Path) -> bool:
        """Detects an archive by the ending of its anchor file."""
        return reader.is_at(path)

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """Events by kind, in total and per location, messages, bytes and collectives."""
        archive = reader.read(path, incomplete=incomplete)
        totals: Counter[str] = Counter()
        for counts in archive.counts.values():
            totals += Counter(counts)
        sent: Counter[int] = Counter()
        events = archive.events.select(["kind", "location", "bytes"]).to_pylist()
        for event in events:
            if event["kind"] in _SENDS:
                sent[event["location"]] += event["bytes"]
        spans = [(ticks[1] - ticks[0]) * 10**9 // archive.resolution for ticks in archive.ticks.values()]
        return {
            "name": archive.path.stem,
            "format": self.name,
            "nranks": len(archive.mpi_locations) or len(archive.locations),
            "total_records": sum(totals.values()),
            "total_op_counts": dict(totals),
            "total_sends": totals["MPI_SEND"] + totals["MPI_ISEND"],
            "total_send_bytes": sum(sent.values()),
            "total_recvs_posted": totals["MPI_RECV"] + totals["MPI_IRECV_REQUEST"],
            "total_persistent_starts": 0,
            "total_collective_calls": archive.collectives,
            "locations": len(archive.locations),
            "event_counts": dict(totals),
            "collectives": archive.collectives,
            "ticks_per_second": archive.resolution,
            "max_rank_span_ns": max(spans, default=0),
            "per_location": {
                str(location["ref"]): {
                    "name": location["name"],
                    "process": location["process"],
                    "events": archive.counts.get(location["ref"], {}),
                    "send_bytes": sent[location["ref"]],
                    "first_tick": archive.ticks.get(location["ref"], [None, None])[0],
                    "last_tick": archive.ticks.get(location["ref"], [None, None])[1],
                }
                for location in archive.locations
            },
            "not_converted": {kind: count for kind, count in sorted(totals.items()) if kind not in _USED},
            "not_whole": [
                f"location {ref} has {there} events of {defined}" for ref, there, defined in archive.short
            ]
            + ([archive.problem] if archive.problem else []),
        }

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """Events by kind, and collectives."""
        out = console(stream)
        say(
            out,
            f"{report['name']}: OTF2 archive, {counted(report['nranks'], 'rank')}, "
            f"{counted(report['locations'], 'location')}, "
            f"{report['total_records']} events",
            "",
        )
        explain(
            out,
            f"{report['total_sends']} messages of {size(report['total_send_bytes'])} in all, "
            f"{report['total_recvs_posted']} receives",
            f"{sum(report['collectives'].values())} collective calls, counted at every rank",
            f"longest location: {duration(report['max_rank_span_ns'] / 1e9)}",
            *(f"not whole: {text}" for text in report["not_whole"][:10]),
            "",
        )
        for heading, key in (("event", "event_counts"), ("collective", "collectives")):
            if report[key]:
                page = table(heading, "count")
                for name, count in sorted(report[key].items(), key=lambda item: (-item[1], item[0])):
                    page.add_row(name, str(count))
                show_table(out, page)
                say(out, "")

    def lint(self, path: Path) -> list[dict[str, str]]:
        """Missing events and calls that do not nest; then errors of the converted program."""
        archive = reader.read(path, incomplete=True)
        findings = [
            {
                "severity": "error",
                "check": "complete",
                "text": f"location {ref} has {there} events, where the definitions say {defined}",
            }
            for ref, there, defined in archive.short
        ]
        if archive.problem:
            findings.append({"severity": "error", "check": "complete", "text": archive.problem})
        for ref, counts in archive.counts.items():
            if counts.get("ENTER", 0) != counts.get("LEAVE", 0):
                findings.append(
                    {
                        "severity": "error",
                        "check": "calls",
                        "text": f"location {ref} enters {counts.get('ENTER', 0)} regions and leaves "
                        f"{counts.get('LEAVE', 0)}",
                    }
                )
        if findings:
            return findings
        findings = [{"severity": "note", "check": "replay", "text": text} for text in _left_out(archive)]
        return findings + lint_as_program(self, path)

    def inputs(self, path: Path) -> list[Path]:
        """The anchor file, the definitions, and the files of the locations."""
        anchor = reader.anchor_of(path)
        parts = anchor.with_suffix("").rglob("*")
        return [anchor, anchor.with_suffix(".def"), *sorted(part for part in parts if not part.is_dir())]

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Converts messages, collectives and the computation between them, for each rank."""
        for key, given in (
            (option("interface"), options.interface),
            (option("without"), options.without),
            (option("ranks"), options.ranks),
        ):
            if given:
                raise InputError("an OTF2 archive has no choice of it", key=key, expected="no such option")
        refuse_bandwidth(options, path)
        refuse_flops(options, path)
        archive = reader.read(path, incomplete=options.incomplete)
        ranks, operations, notes = program.write(archive, folder, progress, call_time=options.call_time)
        return Converted(ranks, operations, f"OTF2 archive {archive.path.name}", _left_out(archive) + notes)


def _left_out(archive: reader.Archive) -> list[str]:
    """Ignored events, with counts and names."""
    totals: Counter[str] = Counter()
    for counts in archive.counts.values():
        totals += Counter(counts)
    return [f"{count} events {kind}, left out" for kind, count in sorted(totals.items()) if kind not in _USED]
