"""The findings of `odonata describe`, for people."""

from __future__ import annotations

from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, duration, size
from odonata.scenario.check_report import routing


def show(
    description: dict[str, Any], proof: dict[str, Any] | None = None, stream: TextIO | None = None
) -> None:
    """Prints a description, and the proof of the routing, to `stream` (default: standard output)."""
    out = console(stream)
    say(out, f"{description['name']}: a machine of kind {description['kind']}", "")
    explain(out, "Machine", *_machine(description), "", "Links")
    show_table(out, _links(description))
    if proof is not None:
        explain(out, "", "Routing", *routing(proof))


def _machine(description: dict[str, Any]) -> list[str]:
    diameter, bisection = description["diameter"], description["bisection"]
    groups = description["groups"]
    lines = [
        f"{description['nodes']} nodes, {_span(description['nodes_per_router'])} per router",
        f"{description['routers']} routers of {_span(description['ports_per_router'])} ports, "
        f"{description['free_ports']} ports free",
        f"{groups} group{'s' if groups != 1 else ''} of {_span(description['routers_per_group'])} routers "
        f"and {_span(description['nodes_per_group'])} nodes",
        f"diameter: {'' if diameter['exact'] else 'at least '}{diameter['nodes']} cables between routers "
        f"with nodes, {diameter['routers']} between any two",
        f"bisection: {'' if bisection['defined'] else 'at most '}{counted(bisection['cables'], 'cable')}"
        + (" as built, those that failed included" if description["failed_links"] else ""),
    ]
    if failed := description["failed_links"]:
        lines.append(f"{counted(failed, 'cable')} failed")
    if degraded := description["degraded_links"]:
        lines.append(f"{counted(degraded, 'cable')} with less than full bandwidth")
    if own := description["own_latencies"]:
        shortest, longest = duration(own["shortest_s"]), duration(own["longest_s"])
        span = shortest if shortest == longest else f"{shortest} to {longest}"
        lines.append(f"{counted(own['cables'], 'cable')} with a latency of their own: {span}")
    return lines


def _links(description: dict[str, Any]) -> Any:
    page = table("class", "cables", "bandwidth", "latency")
    for links in description["links"]:
        page.add_row(
            links["class"],
            str(links["cables"]),
            f"{size(links['bandwidth_bytes_per_s'])}/s",
            duration(links["latency_s"]),
        )
    return page


def _span(bounds: list[int]) -> str:
    """A range that may be a single number.

    >>> _span([8, 8]), _span([0, 4])
    ('8', '0 to 4')
    """
    least, most = bounds
    return str(least) if least == most else f"{least} to {most}"
