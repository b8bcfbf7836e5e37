"""Chakra execution traces as a trace format, for the commands for traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, size
from odonata.errors import InputError, call, option
from odonata.traces.chakra import files, program, survey
from odonata.traces.converted import Converted, ConvertOptions, lint_as_program, refuse_bandwidth

#: Most sentences in the output.
MOST_SENTENCES = 20


class ChakraTrace:
    """The format; the protobuf library is loaded on first use."""

    name = "Chakra trace"
    files = files.FILES

    def detect(self, path: Path) -> bool:
        """Detects the format by its ending, and JSON also by its first bytes."""
        return files.is_at(path)

    def info(self, path: Path, *, incomplete: bool) -> dict[str, Any]:
        """Nodes by type, dependencies, times and bytes, in total and per rank."""
        found = survey.take(path)
        return {"name": found.name, "format": self.name, **survey.info(found)}

    def show(self, report: dict[str, Any], stream: TextIO | None) -> None:
        """Nodes by type, and collectives."""
        out = console(stream)
        ranks = counted(report["nranks"], "rank")
        say(out, f"{report['name']}: Chakra trace, {ranks}, {report['nodes']} nodes", "")
        lines = [
            f"nodes take {duration(report['sum_duration_micros'] / 1e6)} in all, one after the other",
            f"{report['data_deps']} data and {report['ctrl_deps']} control dependencies",
            f"{report['total_sends']} messages of {size(report['total_send_bytes'])} in all",
            f"collectives of {size(report['sum_comm_size'])}, as each rank says",
        ]
        lines += [f"no file of rank {rank}" for rank in report["missing_ranks"]]
        lines += [f"note: {text}" for text in report["notes"][:MOST_SENTENCES]]
        explain(out, *lines, "")
        page = table("node", "count")
        for name, count in report["node_types"].items():
            page.add_row(name, str(count))
        show_table(out, page)
        if report["total_collective_calls"]:
            say(out, "", "Collectives with a type")
            page = table("kind", "count")
            for name, count in report["total_collective_calls"].items():
                page.add_row(name, str(count))
            show_table(out, page)

    def lint(self, path: Path) -> list[dict[str, str]]:
        """Cycles, missing or duplicate nodes, ranks without a file; then errors of the converted program."""
        found = survey.take(path)
        findings = [
            {"severity": "error", "check": "graph", "text": f"{where}: {text}"}
            for where, text in found.errors
        ]
        findings += [{"severity": "note", "check": "replay", "text": text} for text in found.notes]
        if not found.errors:
            findings += lint_as_program(self, path)
        return findings

    def inputs(self, path: Path) -> list[Path]:
        """The files of all ranks."""
        return [file.path for file in files.find(path)[1]]

    def convert(
        self, path: Path, folder: Path, options: ConvertOptions, progress: Callable[[int, int, int], None]
    ) -> Converted:
        """Converts the graphs of all ranks to streams, with the known messages and collectives."""
        for key, given in ((option("interface"), options.interface), (option("without"), options.without)):
            if given:
                raise InputError("a Chakra trace has no access to files", key=key, expected="a Darshan log")
        refuse_bandwidth(options, path)
        found = survey.take(path)
        if found.errors:
            where, text = found.errors[0]
            raise InputError(
                f"{where}: {text}",
                file=str(path),
                expected="a complete graph without cycles",
                hint=call("trace lint") + " says all that is wrong",
            )
        copies = options.ranks
        if copies is not None:
            if len(found.files) > 1:
                raise InputError(
                    f"the trace has files of {len(found.files)} ranks",
                    file=str(path),
                    key=option("ranks"),
                    expected="a trace of one rank, which others are to do alike",
                )
            if found.ranks[0].sends or found.ranks[0].types["COMM_RECV"]:
                raise InputError(
                    "the rank sends messages to ranks by number, so that others cannot do the same",
                    file=str(path),
                    key=option("ranks"),
                    expected="a rank with collectives only",
                )
        if options.flops is not None and not any(rank.silent for rank in found.ranks):
            raise InputError(
                "all nodes with num_ops have a duration",
                file=str(path),
                key=option("flops"),
                expected="a trace with nodes that have num_ops and no duration",
            )
        ranks, operations, assumed = program.write(found, folder, copies, options.flops, progress)
        all_notes = found.notes_with(options.flops)
        notes = all_notes[:MOST_SENTENCES] + assumed
        if len(all_notes) > MOST_SENTENCES:
            notes.append(f"and {len(all_notes) - MOST_SENTENCES} more notes, which odonata trace info prints")
        if len(found.files) == 1 and copies is None:
            notes.append("the trace has one rank: its collectives send nothing; --ranks N has N do the same")
        return Converted(ranks, operations, f"Chakra trace {found.name}", notes)
