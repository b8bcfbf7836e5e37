"""Darshan logs as a trace format, for the commands for traces."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, size
from odonata.errors import InputError, option
from odonata.traces.converted import Converted, ConvertOptions, refuse_bandwidth, refuse_flops
from odonata.traces.darshan_log import accesses, findings, header, program, reader, statistics

#: Values of the option for the interface, and their modules.
INTERFACES = {"posix": "POSIX", "mpi-io": "MPI-IO"}
#: Most files and sentences in the output.
MOST_FILES = 10
MOST_SENTENCES = 20


class DarshanLog:
    """The format; numpy and PyDarshan are loaded on first use."""

    name = "Darshan log"
    files = header.FILES

    def detect(self, path: Path) -> bool:
        """Detects a log by its ending or magic number; a folder by its logs, if it holds no other trace."""
        return header.is_at(path)

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """Statistics by module, and the replayed part of each file."""
        path = header.log_of(path)
        log = reader.read(path, incomplete=incomplete)
        counts, files = accesses.counted(log)
        return {
            "name": path.name,
            "format": self.name,
            "nranks": log.ranks,
            "total_records": sum(counts.values()),
            "total_op_counts": counts,
            "total_sends": 0,
            "total_send_bytes": 0,
            "total_recvs_posted": 0,
            "total_persistent_starts": 0,
            "total_collective_calls": {},
            "total_bytes_read": sum(file.bytes_read for file in files),
            "total_bytes_written": sum(file.bytes_written for file in files),
            **statistics.info(log),
            "files": [
                {
                    "id": str(file.record),
                    "name": file.name,
                    "interfaces": file.interfaces,
                    "opens": file.opens,
                    "reads": file.reads,
                    "writes": file.writes,
                    "bytes_read": file.bytes_read,
                    "bytes_written": file.bytes_written,
                    "stripe_bytes": file.stripe_bytes,
                    "stripe_count": file.stripe_count,
                }
                for file in files
            ],
            "not_read": [f"{where}: {text}" for where, text in log.problems],
        }

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """The job, its modules, and the files with the most bytes."""
        out = console(stream)
        job = report["job"]
        say(out, f"{report['name']}: Darshan log {job['log_ver']}, {counted(report['nranks'], 'rank')}", "")
        moved = report["total_bytes_read"], report["total_bytes_written"]
        lines = [
            f"job {job['jobid']}: {report['exe']}",
            f"ran for {duration(job['run_time'])}; {size(moved[0])} read and {size(moved[1])} written, "
            f"in {counted(len(report['files']), 'file')}",
        ]
        partial = [name for name, module in report["modules"].items() if module["partial"]]
        if partial:
            lines.append(f"partial: Darshan had no room for all of {', '.join(partial)}")
        lines += [f"not read: {text}" for text in report["not_read"][:MOST_SENTENCES]]
        explain(out, *lines, "")
        page = table("module", "version", "records", "what there is", left=1)
        for name, module in report["modules"].items():
            page.add_row(name, str(module["ver"]), str(module.get("records", "-")), _what(name, module))
        show_table(out, page)
        files = sorted(report["files"], key=lambda file: -file["bytes_read"] - file["bytes_written"])
        if not files:
            return
        say(out, "", "Files, at the interface that is replayed")
        page = table("file", "opens", "reads", "writes", "read", "written", "stripes")
        for file in files[:MOST_FILES]:
            stripes = (
                "-"
                if file["stripe_bytes"] is None
                else f"{file['stripe_count']} x {size(file['stripe_bytes'])}"
            )
            page.add_row(
                file["name"] or file["id"],
                str(file["opens"]),
                str(file["reads"]),
                str(file["writes"]),
                size(file["bytes_read"]),
                size(file["bytes_written"]),
                stripes,
            )
        show_table(out, page)
        if len(files) > MOST_FILES:
            say(out, f"and {len(files) - MOST_FILES} more")

    def lint(self, path: Path) -> list[dict[str, str]]:
        """Gaps, contradictions and impossible times; notes state the assumptions of a replay."""
        log = reader.read(header.log_of(path))
        return findings.check(log, accesses.find(log))

    def inputs(self, path: Path) -> list[Path]:
        """The log."""
        return [header.log_of(path)]

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Opens, reads, writes and closes of each rank, and `origin.json`."""
        interface = INTERFACES.get(options.interface or "posix")
        if interface is None:
            raise InputError(
                "no such interface",
                key=option("interface"),
                value=repr(options.interface),
                expected="one of " + ", ".join(INTERFACES),
            )
        if options.ranks is not None:
            raise InputError(
                "the log says how many ranks there are",
                key=option("ranks"),
                expected="a Chakra trace of one rank",
            )
        refuse_bandwidth(options, path)
        refuse_flops(options, path)
        log = reader.read(header.log_of(path), incomplete=options.incomplete)
        found = accesses.find(log, interface, _left_out(log.names, options.without))
        ranks, operations = program.write(log, found, folder, progress, call_time=options.call_time)
        notes = [f"not known: {text}" for text in found.unknown]
        notes += [f"contradiction: {text}" for text in found.contradictions[:MOST_SENTENCES]]
        if len(found.contradictions) > MOST_SENTENCES:
            notes.append(
                f"and {len(found.contradictions) - MOST_SENTENCES} more contradictions, in origin.json"
            )
        notes += [f"not read: {where}: {text}" for where, text in log.problems[:MOST_SENTENCES]]
        return Converted(ranks, operations, program.description(log), notes)


def _left_out(names: dict[int, str], patterns: tuple[str, ...]) -> frozenset[int]:
    """Records of files that are left out; raises `InputError` for a pattern without a match."""
    found: set[int] = set()
    for pattern in patterns:
        fits = {number for number, name in names.items() if fnmatch.fnmatchcase(name, pattern)}
        if not fits:
            raise InputError(
                "no file of the log fits",
                key=option("without"),
                value=pattern,
                expected="a name with * and ?",
            )
        found |= fits
    return frozenset(found)


def _what(name: str, module: dict[str, Any]) -> str:
    """A module in a few words."""
    if "error" in module:
        return f"not read: {module['error']}"
    if "write_segments" in module:
        return (
            f"{module['write_segments']} writes of {size(module['write_bytes'])}, "
            f"{module['read_segments']} reads of {size(module['read_bytes'])}, each with its time"
        )
    if "layouts" in module:
        return "; ".join(
            f"{one['components']} x {one['stripe_count']} stripes of {size(one['stripe_bytes'])}"
            for one in module["layouts"][:3]
        )
    if "heatmaps" in module:
        return ", ".join(f"{text}: {one['nbins']} bins" for text, one in module["heatmaps"].items())
    sums = {
        key.partition("_BYTES_")[2]: value["sum"]
        for key, value in module.get("counters", {}).items()
        if key.endswith(("_BYTES_READ", "_BYTES_WRITTEN"))
    }
    if sums:
        return f"{size(max(0, sums.get('READ', 0)))} read, {size(max(0, sums.get('WRITTEN', 0)))} written"
    return str(module.get("note", "counters" if "counters" in module else "-"))
