"""What `odonata check` found, for people."""

from __future__ import annotations

from typing import Any, TextIO

from odonata.terminal import console, explain, say, show_table, table
from odonata.wording import digits, duration, rate, size

_CLASSES = ("terminal", "local", "global")


def show(report: dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints the report of the core to `stream` (default: standard output)."""
    out = console(stream)

    say(out, f"{report['name']}: the scenario is right", "")
    explain(out, "Machine", *_machine(report), "", "Jobs")
    show_table(out, _jobs(report["jobs"]))
    explain(out, "", "Routing", *_routing(report["routing"]), "", "Cost", *_cost(report["cost"]))


def _machine(report: dict[str, Any]) -> list[str]:
    machine = report["machine"]
    return [
        f"{machine['nodes']} nodes ({machine['compute_nodes']} compute, "
        f"{report['servers']} storage servers), {machine['routers']} routers in {machine['groups']} groups",
        f"cables: {_by_class(machine['cables'])}; free ports: {machine['free_ports']}",
        f"bandwidth of all global cables: {digits(machine['global_to_terminal_bandwidth'])} "
        "of that of all terminal cables",
    ]


def _jobs(jobs: list[dict[str, Any]]) -> Any:
    page = table("job", "ranks", "nodes", "groups", "servers", "traffic")
    page.add_column("workload", justify="left", no_wrap=False)
    rules = any(job["rules"] for job in jobs)
    if rules:
        page.add_column("when", justify="left", no_wrap=False)
    for job in jobs:
        page.add_row(
            job["name"],
            *(str(job[key]) for key in ("ranks", "nodes", "groups", "servers")),
            f"~ {size(job['estimated_bytes'])}" if job["estimated_bytes"] else "open",
            job["workload"],
            *([job["rules"]] if rules else []),
        )
    return page


def _routing(routing: dict[str, Any]) -> list[str]:
    lines = [
        f"virtual channels: {_by_class(routing['virtual_channels'])} "
        f"(needed: {_by_class(routing['virtual_channels_needed'])})"
    ]
    graph = f"{routing['channels']} channels, {routing['dependencies']} dependencies"
    if routing["deadlock_free"]:
        lines.append(f"free of deadlock: proved on {routing['proved_on']} ({graph}, no cycle)")
    else:
        lines.append(f"CAN DEADLOCK, on {routing['proved_on']} ({graph}); this cycle can fill:")
        lines += [f"  {hop}" for hop in routing["cycle"]]
    return lines


def _cost(cost: dict[str, Any]) -> list[str]:
    return [
        f"about {rate(cost['packets'])} packets, {rate(cost['packet_hops'])} packet-hops, "
        f"{duration(cost['cpu_s'])} of CPU time (odonata bench measures this machine)"
    ]


def _by_class(values: list[int]) -> str:
    return ", ".join(f"{value} {name}" for value, name in zip(values, _CLASSES, strict=True))
