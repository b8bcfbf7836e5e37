"""What `odonata check` found, for people."""

from __future__ import annotations

from typing import Any, TextIO

from odonata.terminal import console, explain, say, show_table, table
from odonata.wording import cables, digits, duration, factor, rate, share, size

_CLASSES = ("terminal", "local", "global", "column")
_LIMITS = {"credit_delay": "credits", "latency": "packets"}


def show(report: dict[str, Any], stream: TextIO | None = None) -> None:
    """Prints the report of the core to `stream` (default: standard output)."""
    out = console(stream)

    say(out, f"{report['name']}: the scenario is right", "")
    explain(out, "Machine", *_machine(report), "", "Jobs")
    if report["jobs"]:
        show_table(out, _jobs(report["jobs"]))
    else:
        explain(out, "no jobs: it cannot be run")
    explain(out, "", "Routing", *routing(report["routing"]))
    if classes := report["traffic_classes"]:
        explain(out, "", "Traffic classes", *(_traffic_class(one) for one in classes))
    if report["congestion_control"]["kind"] != "none":
        explain(out, "", "Congestion control", _congestion_control(report["congestion_control"]))
    if parallel := report["parallel"]:
        explain(out, "", "Parallel", *_parallel(parallel))
        if len(parallel["division"]["parts"]) > 1:
            show_table(out, _cuts(parallel["division"]["cuts"]))
    if report["cost"]:
        explain(out, "", "Cost", *_cost(report["cost"]))
    if report["warnings"]:
        explain(out, "", "Warnings", *(f"- {warning(one)}" for one in report["warnings"]))


def warning(warning: dict[str, Any]) -> str:
    """Something that is probably not meant, in a line.

    >>> warning({"key": "jobs.0.ranks", "message": "few ranks", "expected": "ranks = 72"})
    'jobs.0.ranks: few ranks; expected ranks = 72'
    """
    return f"{warning['key']}: {warning['message']}; expected {warning['expected']}"


def _machine(report: dict[str, Any]) -> list[str]:
    machine = report["machine"]
    return [
        f"{machine['nodes']} nodes ({machine['compute_nodes']} compute, "
        f"{report['servers']} storage servers), {machine['routers']} routers in {machine['groups']} groups",
        f"cables: {_by_class(machine['cables'])}; free ports: {machine['free_ports']}",
        f"bandwidth of all global cables: {digits(machine['global_to_terminal_bandwidth'])} "
        "of that of all terminal cables",
        *(
            f"{cables(machine[key])} {state}"
            for key, state in (
                ("failed_links", "failed"),
                ("degraded_links", "with less than full bandwidth"),
            )
            if machine[key]
        ),
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


def routing(routing: dict[str, Any]) -> list[str]:
    """Virtual channels, and whether it can deadlock."""
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


def _traffic_class(one: dict[str, Any]) -> str:
    """A traffic class.

    >>> one = {"name": "bulk", "share": 0.25, "priority": -1, "virtual_channels": [1, 2, 0, 0]}
    >>> _traffic_class(one | {"mpi": ["halo"], "io": []})
    'bulk: at least 25 % of a link, priority -1, channels of its own: 1 terminal, 2 local; messages of halo'
    """
    kinds = (("mpi", "messages"), ("io", "I/O"))
    whose = [f"{what} of {_names(one[key])}" for key, what in kinds if one[key]]
    return (
        f"{one['name']}: at least {100 * one['share']:.3g} % of a link, priority {one['priority']}, "
        f"channels of its own: {_by_class(one['virtual_channels'])}; {', '.join(whose) or 'nobody names it'}"
    )


def _names(names: list[str]) -> str:
    """The first of many names.

    >>> _names(["a", "b"]), _names(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d, 2 more')
    """
    shown = names[:4]
    return ", ".join(shown + ([f"{len(names) - 4} more"] if len(names) > len(shown) else []))


def _congestion_control(control: dict[str, Any]) -> str:
    """What is done about sources that fill the network."""
    threshold, interval, recovery = (control[key] for key in ("threshold", "interval", "recovery"))
    if control["kind"] == "ecn":
        return (
            f"ecn: a port marks packets behind which more than {threshold} wait; a flow that hears of it "
            f"loses {100 * control['decrease']:.3g} % of its rate, once in {interval} at most, and recovers "
            f"in {recovery}"
        )
    return (
        f"{control['kind']}: where more than {threshold} wait for the link to a node, its router gives those "
        f"who send to it a rate, a new one every {interval} at most; they recover in {recovery}"
    )


def _parallel(parallel: dict[str, Any]) -> list[str]:
    threads, division = parallel["threads"], parallel["division"]
    lines = [f"{parallel['scheduler']}, on {threads} thread{'s' if threads > 1 else ''}:"]
    lines += [f"- {reason}" for reason in parallel["reasons"]]
    return [*lines, _division(division)]


def _division(division: dict[str, Any]) -> str:
    parts = division["parts"]
    if len(parts) == 1:
        return "The machine is one part."
    routers, nodes = (_span([part[key] for part in parts]) for key in ("routers", "nodes"))
    shares = [part["share"] for part in parts]
    work = dict.fromkeys(share(one, 1) for one in (min(shares), max(shares)))
    each = " to ".join(work)
    text = f"{len(parts)} parts of {routers} routers and {nodes} nodes, each with {each} of the work, which "
    if division["threads"] == 1:
        text += "take turns"
    else:
        text += f"keeps {digits(division['parallelism'])} of {division['threads']} threads busy"
    if division["used"]:
        return f"{text}:"
    if division["lookahead_s"] is None:
        return f"Divided, it would be {text}, and without influence on each other:"
    return (
        f"Divided, it would be {text}; with windows of {duration(division['lookahead_s'])} and about "
        f"{rate(division['events_per_window'])} events, {factor(division['speed_up'])} the speed of one part "
        "is expected:"
    )


def _span(values: list[int]) -> str:
    """The range of `values`.

    >>> _span([8, 8]), _span([4, 7, 5])
    ('8', '4 to 7')
    """
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def _cuts(cuts: list[dict[str, Any]]) -> Any:
    page = table("links", "cables", "cut", "share", "lookahead")
    page.add_column("which is that of", justify="left")
    for cut in cuts:
        page.add_row(
            cut["class"],
            str(cut["cables"]),
            str(cut["cut"]),
            share(cut["cut"], cut["cables"]),
            *((duration(cut["lookahead_s"]), _LIMITS[cut["limit"]]) if cut["cut"] else ("-", "")),
        )
    return page


def _cost(cost: dict[str, Any]) -> list[str]:
    return [
        f"about {rate(cost['packets'])} packets, {rate(cost['packet_hops'])} packet-hops, "
        f"{duration(cost['cpu_s'])} of CPU time (odonata bench measures this machine)"
    ]


def _by_class(values: list[int]) -> str:
    return ", ".join(f"{value} {name}" for value, name in zip(values, _CLASSES, strict=True) if value)
