"""Exports of Nsight Systems as a trace format, for the commands for traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, size
from odonata.errors import InputError, option
from odonata.traces.converted import Converted, ConvertOptions, lint_as_program
from odonata.traces.nsys_export import files, program
from odonata.traces.nsys_export import job as jobs
from odonata.traces.nsys_export.job import Job, Rank

#: Most kernels listed by name for people, and in `info`.
MOST_NAMES, ALL_NAMES = 10, 1000


class NsysExport:
    """The format; a separate process reads SQLite."""

    name = "Nsight Systems export"
    files = files.FILES

    def detect(self, path: Path) -> bool:
        """Detects the format by the ending of its files."""
        return files.is_at(path)

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """Kernels, copies, calls of NCCL, bytes and times, in total and per rank."""
        found = jobs.read(path)
        ranks = [_numbers(rank) for rank in found.ranks]
        calls: Counter[str] = Counter()
        sent = 0
        for rank in found.ranks:
            for activity in rank.activities:
                calls += Counter(call.kind for call in activity.calls)
                sent += sum(call.bytes or 0 for call in activity.calls if call.kind == "send")
        names: Counter[str] = Counter()
        for rank in found.ranks:
            names += Counter(activity.name for activity in rank.activities if activity.is_kernel)
        return {
            "name": found.name,
            "format": self.name,
            "nranks": len(found.ranks),
            "total_records": sum(found.counts.values()),
            "total_op_counts": dict(sorted(found.counts.items())),
            "total_sends": calls.pop("send", 0),
            "total_send_bytes": sent,
            "total_recvs_posted": calls.pop("recv", 0),
            "total_persistent_starts": 0,
            "total_collective_calls": dict(sorted(calls.items())),
            "files": [file.name for file in found.files],
            "ranks_by_nccl": found.numbered,
            "kernels": dict(names.most_common(ALL_NAMES)),
            "copied_bytes": dict(sorted(found.copied.items())),
            "communicators": found.members,
            "communicator_sizes": dict(sorted(found.sizes.items())),
            "nccl_kernels_without_size": dict(sorted(found.unsized.items())),
            "gpu_time_ns": dict(sorted(found.took_ns.items())),
            "gpu_time_not_used_ns": dict(sorted(found.not_used_ns.items())),
            "rows_not_used": dict(sorted(found.not_used.items())),
            "per_rank": ranks,
            "notes": notes(found),
        }

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """Times of ranks, calls of NCCL, and the most frequent kernels."""
        out = console(stream)
        say(
            out,
            f"{report['name']}: export of Nsight Systems, {counted(report['nranks'], 'rank')}, "
            f"{counted(report['total_op_counts'].get('kernel', 0), 'kernel')}",
            "",
        )
        longest = max(report["per_rank"], key=lambda rank: int(rank["span_ns"]))
        explain(
            out,
            f"longest rank: {duration(longest['span_ns'] / 1e9)}; summed over its streams, computation and "
            f"copies {duration(longest['compute_ns'] / 1e9)}, NCCL {duration(longest['nccl_ns'] / 1e9)}",
            f"{report['total_sends']} messages of {size(report['total_send_bytes'])} in all, "
            f"{report['total_recvs_posted']} receives",
            f"{sum(report['total_collective_calls'].values())} collective calls, counted at every rank",
            *(f"note: {text}" for text in report["notes"]),
            "",
        )
        for heading, rows in (
            ("collective", report["total_collective_calls"]),
            ("kernel", dict(list(report["kernels"].items())[:MOST_NAMES])),
        ):
            if rows:
                page = table(heading, "count")
                for name, count in rows.items():
                    page.add_row(name[:100], str(count))
                show_table(out, page)
                say(out, "")

    def lint(self, path: Path) -> list[dict[str, str]]:
        """Omissions and missing sizes; then errors of the converted program."""
        findings = [{"severity": "note", "check": "replay", "text": text} for text in notes(jobs.read(path))]
        return findings + lint_as_program(self, path)

    def inputs(self, path: Path) -> list[Path]:
        """The databases of all processes."""
        return files.find(path)

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Kernels, copies and calls of NCCL of each rank, on streams."""
        for key, given in ((option("interface"), options.interface), (option("without"), options.without)):
            if given:
                raise InputError("an export has no access to files", key=key, expected="a Darshan log")
        found = jobs.read(path)
        if options.ranks is not None:
            if len(found.ranks) > 1:
                raise InputError(
                    f"the export has {len(found.ranks)} ranks",
                    file=str(path),
                    key=option("ranks"),
                    expected="an export of one rank, which others are to do alike",
                )
            if any(call.peer is not None for one in found.ranks[0].activities for call in one.calls):
                raise InputError(
                    "the rank sends messages to ranks by number, so that others cannot do the same",
                    file=str(path),
                    key=option("ranks"),
                    expected="a rank with collectives only",
                )
        ranks, operations, assumed = program.write(
            found,
            folder,
            progress,
            copies=options.ranks,
            incomplete=options.incomplete,
            bus_bandwidth=options.bus_bandwidth,
        )
        return Converted(ranks, operations, f"export of Nsight Systems, {found.name}", notes(found) + assumed)


def notes(job: Job) -> list[str]:
    """Unknown, unrecorded or omitted parts, with counts."""
    found = []
    if not job.numbered and len(job.ranks) > 1:
        found.append(
            "ranks are in the order of files, processes and devices, as NCCL's own numbers are not recorded "
            "for all"
        )
    if job.unsized:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(job.unsized.items())[:MOST_NAMES])
        found.append(
            f"{sum(job.unsized.values())} NCCL kernels without a recorded size: {named}; "
            "--bytes-from-time derives the size of collectives"
        )
    whole = job.took_ns.total() + job.not_used_ns.total()
    if job.counts["graph"]:
        found.append(
            f"{job.counts['graph']} launches of CUDA graphs, recorded as a whole "
            f"({_share(job.took_ns['graph'], whole)} of the GPUs' time): computation of their time, with the "
            "calls of NCCL in them; nsys profile --cuda-graph-trace=node records their kernels"
        )
    if job.not_used_ns:
        named = ", ".join(
            f"{table} ({_share(time, whole)})" for table, time in sorted(job.not_used_ns.items())[:MOST_NAMES]
        )
        found.append(f"GPU time that is not replayed, of tables that are not used: {named}")
    found += [f"{count} {what}" for what, count in sorted(job.left_out.items())]
    if job.not_used:
        named = ", ".join(f"{table} ({count})" for table, count in sorted(job.not_used.items()))
        found.append(f"{sum(job.not_used.values())} rows of tables that are not used: {named[:500]}")
    return found


def _share(time_ns: int, whole_ns: int) -> str:
    """A time on GPUs and its share of the total."""
    return f"{duration(time_ns / 1e9)}, {100 * time_ns / max(1, whole_ns):.1f}%"


def _numbers(rank: Rank) -> dict[str, Any]:
    spent = {"compute": 0, "nccl": 0}
    for activity in rank.activities:
        is_nccl = activity.is_kernel and activity.name.startswith("nccl")
        spent["nccl" if is_nccl else "compute"] += activity.end - activity.start
    return {
        "file": rank.file.name,
        "device": rank.device,
        "pid": rank.process >> 24 & 0xFFFFFF,
        "streams": len({activity.stream for activity in rank.activities}),
        "activities": len(rank.activities),
        "span_ns": max(activity.end for activity in rank.activities) - rank.activities[0].start,
        "compute_ns": spent["compute"],
        "nccl_ns": spent["nccl"],
    }
