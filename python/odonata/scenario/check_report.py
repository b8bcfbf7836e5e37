"""The findings of `odonata check`, for people."""

from __future__ import annotations

import os
from typing import Any, TextIO

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import counted, digits, duration, rate, share, size
from odonata.scenario import run_fidelity

_CLASSES = ("terminal", "local", "global", "column")
#: Most jobs whose traffic estimate is explained.
_MOST_COUNTED = 8
_LIMITS = {"credit_delay": "credits", "latency": "packets"}


def show(report: dict[str, Any], stream: TextIO | None = None, *, verbose: bool = True) -> None:
    """Prints the report of the core to `stream` (default: standard output).

    Without `verbose`, only placement, cost and warnings.
    """
    out = console(stream)
    say(out, f"{report['name']}: the scenario is valid", "")
    if not verbose:
        _show_short(out, report)
        return
    explain(out, "Machine", *_machine(report), *_fidelity(report["cost"]), "")
    _show_jobs(out, report["jobs"])
    if report["tiers"]:
        explain(out, "", "Storage tiers")
        show_table(out, _tiers(report["tiers"]))
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
        explain(
            out, "", "Cost", *_cost(report["cost"]), *_memory(report["memory"], report["cost"]["baselines"])
        )
    if report["warnings"]:
        explain(out, "", "Warnings", *(f"- {warning(one)}" for one in report["warnings"]))


def _show_short(out: Any, report: dict[str, Any]) -> None:
    """Prints placement, cost and warnings."""
    machine = report["machine"]
    explain(
        out,
        f"on {machine['compute_nodes']} compute nodes"
        + (
            f" and {report['servers']} storage server{'s' * (report['servers'] > 1)}"
            if report["servers"]
            else ""
        )
        + f", {machine['routers']} routers in {machine['groups']} groups",
        *_fidelity(report["cost"]),
        "",
    )
    _show_jobs(out, report["jobs"])
    if report["cost"]:
        explain(
            out, "", "Cost", *_time(report["cost"]), *_memory(report["memory"], report["cost"]["baselines"])
        )
    wrong = [warning(one) for one in report["warnings"]]
    if not report["routing"]["deadlock_free"]:
        wrong += routing(report["routing"])[1:]
    if wrong:
        explain(out, "", "Warnings", *(f"- {one}" for one in wrong))
    explain(out, "", "--verbose adds the machine, its routing, traffic classes, parts and threads.")


def _show_jobs(out: Any, jobs: list[dict[str, Any]]) -> None:
    explain(out, "Jobs")
    if jobs:
        show_table(out, _jobs(jobs))
        explain(out, *_counted(jobs))
    else:
        explain(out, "no jobs: nothing to run")


def _fidelity(cost: dict[str, Any] | None) -> list[str]:
    """The fidelity of messages, in words.

    >>> _fidelity({"fidelity": "flow"}), _fidelity(None)
    (['messages go as flows'], [])
    """
    return [] if cost is None else [f"messages go {run_fidelity.WORDS[cost['fidelity']]}"]


def _counted(jobs: list[dict[str, Any]]) -> list[str]:
    """The basis of each job's traffic estimate, for jobs whose operations were not all counted.

    >>> job = {"name": "halo", "ranks": 128, "counted_ranks": 16, "counted_share": 0.0087, "at_least": False}
    >>> _counted([job])
    ['traffic of halo: extrapolated from 0.87% of the operations of 16 of its 128 ranks']
    >>> print(*_counted([job | {"at_least": True}]))
    traffic of halo: a lower bound; 16 of its 128 ranks have more operations than counted
    >>> _counted([job | {"counted_share": 1.0}])
    ['traffic of halo: extrapolated from 16 of its 128 ranks']
    >>> _counted([job | {"counted_share": 1.0, "counted_ranks": 128}])
    []
    """
    lines = []
    for job in jobs:
        ranks = f"{job['counted_ranks']:,} of its {job['ranks']:,} ranks"
        part = f"{digits(100 * job['counted_share'])}%"
        if job["at_least"]:
            how = f"a lower bound; {ranks} have more operations than counted"
        elif job["counted_share"] < 1.0:
            whose = ranks if job["counted_ranks"] < job["ranks"] else "its ranks"
            how = f"extrapolated from {part} of the operations of {whose}"
        elif job["counted_ranks"] < job["ranks"]:
            how = f"extrapolated from {ranks}"
        else:
            continue
        lines.append(f"traffic of {job['name']}: {how}")
    more = len(lines) - _MOST_COUNTED
    return lines if more <= 0 else [*lines[:_MOST_COUNTED], f"and likewise for {more} more jobs"]


def warning(warning: dict[str, Any]) -> str:
    """A warning in a line.

    >>> warning({"key": "jobs.0.ranks", "message": "few ranks", "expected": "ranks = 72"})
    'jobs.0.ranks: few ranks; expected ranks = 72'
    """
    expected = f"; expected {warning['expected']}" if warning["expected"] else ""
    return f"{warning['key']}: {warning['message']}{expected}"


def _machine(report: dict[str, Any]) -> list[str]:
    machine = report["machine"]
    return [
        f"{machine['nodes']} nodes ({machine['compute_nodes']} compute, "
        f"{report['servers']} storage servers), {machine['routers']} routers in {machine['groups']} groups",
        f"cables: {_by_class(machine['cables'])}; free ports: {machine['free_ports']}",
        # A torus, for one, has none.
        *(
            [
                f"bandwidth of all global cables: {digits(machine['global_to_terminal_bandwidth'])} "
                "times that of all terminal cables"
            ]
            if machine["cables"][_CLASSES.index("global")]
            else []
        ),
        *(
            f"{counted(machine[key], 'cable')} {state}"
            for key, state in (
                ("failed_links", "failed"),
                ("degraded_links", "degraded"),
            )
            if machine[key]
        ),
    ]


def _jobs(jobs: list[dict[str, Any]]) -> Any:
    tiers = len({job["fidelity"] for job in jobs}) > 1
    page = table("job", "ranks", *(["messages"] * tiers), "nodes", "groups", "servers", "traffic")
    page.add_column("workload", justify="left", no_wrap=False)
    rules = any(job["rules"] for job in jobs)
    if rules:
        page.add_column("when", justify="left", no_wrap=False)
    for job in jobs:
        page.add_row(
            job["name"],
            str(job["ranks"]),
            *([run_fidelity.LABELS[job["fidelity"]]] * tiers),
            *(str(job[key]) for key in ("nodes", "groups", "servers")),
            _traffic(job),
            job["workload"],
            *([job["rules"]] if rules else []),
        )
    return page


def _traffic(job: dict[str, Any]) -> str:
    """The counted messages and I/O of a job."""
    if not job["estimated_bytes"]:
        return "open"
    return f"{'>' if job['at_least'] else '~'} {size(job['estimated_bytes'])}"


def routing(routing: dict[str, Any]) -> list[str]:
    """Virtual channels, and whether the routing can deadlock."""
    lines = [_waits(routing)]
    if routing["waits_for"] == "nothing":
        return [*lines, "free of deadlock: no packet waits for another"]
    graph = f"{routing['channels']} channels, {routing['dependencies']} dependencies"
    if routing["deadlock_free"]:
        lines.append(f"free of deadlock: proved on {routing['proved_on']} ({graph}, no cycle)")
    else:
        lines.append(f"CAN DEADLOCK, on {routing['proved_on']} ({graph}); this cycle can fill:")
        lines += [f"  {hop}" for hop in routing["cycle"]]
    return lines


def _waits(routing: dict[str, Any]) -> str:
    """What packets wait for.

    >>> _waits({"waits_for": "nothing"})
    'no virtual channels: switches drop or trim packets that find no room'
    """
    match routing["waits_for"]:
        case "nothing":
            return "no virtual channels: switches drop or trim packets that find no room"
        case "pauses":
            return "no virtual channels: switches pause the links of their inputs"
        case _:
            return (
                f"virtual channels: {_by_class(routing['virtual_channels'])} "
                f"(needed: {_by_class(routing['virtual_channels_needed'])})"
            )


def _traffic_class(one: dict[str, Any]) -> str:
    """A traffic class, in words.

    >>> one = {"name": "bulk", "share": 0.25, "priority": -1, "virtual_channels": [1, 2, 0, 0]}
    >>> _traffic_class(one | {"mpi": ["halo"], "io": []})
    'bulk: at least 25% of a link, priority -1, channels of its own: 1 terminal, 2 local; messages of halo'
    """
    kinds = (("mpi", "messages"), ("io", "I/O"))
    whose = [f"{what} of {_names(one[key])}" for key, what in kinds if one[key]]
    return (
        f"{one['name']}: at least {100 * one['share']:.3g}% of a link, priority {one['priority']}, "
        f"channels of its own: {_by_class(one['virtual_channels'])}; {', '.join(whose) or 'used by no job'}"
    )


def _names(names: list[str]) -> str:
    """The first of a list of names, and the number of the others.

    >>> _names(["a", "b"]), _names(["a", "b", "c", "d", "e", "f"])
    ('a, b', 'a, b, c, d, 2 more')
    """
    shown = names[:4]
    return ", ".join(shown + ([f"{len(names) - 4} more"] if len(names) > len(shown) else []))


def _congestion_control(control: dict[str, Any]) -> str:
    """The congestion control, in words."""
    threshold, interval, recovery = (control[key] for key in ("threshold", "interval", "recovery"))
    if control["kind"] == "ecn":
        return (
            f"ecn: a port marks packets with more than {threshold} queued behind them; a notified "
            f"flow loses {100 * control['decrease']:.3g}% of its rate, at most once in {interval}"
            f", and recovers in {recovery}"
        )
    if control["kind"] == "per-pair":
        return (
            f"per-pair: if more than {threshold} wait for the link to a node, its router limits the packets "
            f"that sources have in flight to it, together to those of {interval}; without packets for "
            f"{recovery} a source is unlimited"
        )
    return (
        f"{control['kind']}: if more than {threshold} wait for the link to a node, its router "
        f"limits the rate of the sources, at most once in {interval}; they recover in {recovery}"
    )


def _parallel(parallel: dict[str, Any]) -> list[str]:
    threads, division = parallel["threads"], parallel["division"]
    lines = [f"{parallel['scheduler']}, on {threads} thread{'s' if threads > 1 else ''}:"]
    lines += [f"- {reason}" for reason in parallel["reasons"]]
    return [*lines, _division(division)]


def _division(division: dict[str, Any]) -> str:
    parts = division["parts"]
    if len(parts) == 1:
        return "The machine is a single part."
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
        return f"Divided, the machine would have {text}, independent of each other:"
    return f"Divided, the machine would have {text}; windows of {duration(division['lookahead_s'])}:"


def _span(values: list[int]) -> str:
    """The range of `values`.

    >>> _span([8, 8]), _span([4, 7, 5])
    ('8', '4 to 7')
    """
    least, most = min(values), max(values)
    return str(least) if least == most else f"{least} to {most}"


def _cuts(cuts: list[dict[str, Any]]) -> Any:
    page = table("links", "cables", "cut", "share", "lookahead")
    page.add_column("source", justify="left")
    for cut in cuts:
        page.add_row(
            cut["class"],
            str(cut["cables"]),
            str(cut["cut"]),
            share(cut["cut"], cut["cables"]),
            *((duration(cut["lookahead_s"]), _LIMITS[cut["limit"]]) if cut["cut"] else ("-", "")),
        )
    return page


#: The bound on the rate of a tier, in words.
_TIER_BOUNDS = {
    "device": "its devices",
    "interface": "its interfaces",
    "next-tier": "the next tier",
    "link": "the links of the I/O nodes",
    "object-servers": "the object servers",
}


def _tiers(tiers: list[dict[str, Any]]) -> Any:
    page = table("tier", "servers", "nodes", "capacity", "drains at", "all I/O in")
    page.add_column("limited by", justify="left")
    for tier in tiers:
        drains = tier["drain_rate"]
        page.add_row(
            tier["name"],
            str(tier["servers"]),
            str(tier["nodes"]),
            size(tier["capacity"]) if tier["capacity"] is not None else "-",
            f"{size(drains)}/s" if drains is not None else "-",
            duration(tier["drain_s"]),
            _TIER_BOUNDS.get(tier["bound"], ""),
        )
    return page


#: Shorter times are not told apart.
_SHORT_S = 0.1


def _cost(cost: dict[str, Any]) -> list[str]:
    """The counted work, and its time.

    >>> cost = {"operations": 9e3, "messages": 6e3, "bytes": 2**30, "packets": 120e3, "packet_hops": 480e3}
    >>> cost |= {"longest_packet_hops": 960e3, "fidelity": "packet", "time": None, "at_least": False}
    >>> print(*_cost(cost | {"baselines": 0}), sep="\\n")
    about 9 k operations, 6 k messages with 1 GiB
    about 120 k packets, 480 k packet-hops (960 k with detours)
    """
    least = "at least" if cost["at_least"] else "about"
    operations = [f"{rate(cost['operations'])} operations"] if cost["operations"] else []
    counts = [*operations, f"{rate(cost['messages'])} messages with {size(cost['bytes'])}"]
    lines = [f"{least} {', '.join(counts)}"]
    if cost["packet_hops"]:
        longest = cost["longest_packet_hops"]
        detours = f" ({rate(longest)} with detours)" if longest > 1.01 * cost["packet_hops"] else ""
        lines.append(
            f"{least} {rate(cost['packets'])} packets, {rate(cost['packet_hops'])} packet-hops{detours}"
        )
    return [*lines, *_time(cost)]


def _time(cost: dict[str, Any]) -> list[str]:
    """The CPU time.

    >>> cost = {"time": {"least_s": 0.12, "most_s": 0.3, "source": "rates", "trial": None}, "baselines": 0}
    >>> print(*_time(cost))
    time: 120 ms to 300 ms on one core, by the speed of this computer
    >>> print(_time(cost | {"baselines": 2})[1])
    with 2 baselines, each job alone: 240 ms to 600 ms of CPU time
    >>> _time({"time": cost["time"] | {"least_s": 5e-7, "most_s": 1e-6}, "baselines": 0})
    ['time: less than 100 ms on one core, plus startup']
    >>> trial = {"cpu_s": 2.0, "simulated_s": 1e-3, "messages": 5, "fraction": 0.25}
    >>> time = {"least_s": 7.0, "most_s": 8.0, "source": "trial", "trial": trial}
    >>> print(*_time({"time": time, "baselines": 0}))
    time: 7 s to 8 s on one core, by a trial of 2 s, which completed 25% of the run
    >>> print(*_time({"time": time | {"trial": trial | {"fraction": 1.0}}, "baselines": 0}))
    time: 7 s to 8 s on one core, by a trial, which completed the run
    """
    found = cost["time"]
    if found is None:
        return []
    trial = found["trial"]
    if trial is None:
        source = "by the speed of this computer"
    elif trial["fraction"] >= 1.0:
        source = "by a trial, which completed the run"
    else:
        done = share(trial["fraction"], 1)
        source = f"by a trial of {duration(trial['cpu_s'])}, which completed {done} of the run"
    if found["most_s"] is not None and found["most_s"] < _SHORT_S:
        lines = [f"time: less than {duration(_SHORT_S)} on one core, plus startup"]
    else:
        lines = [f"time: {_range(found, 1)} on one core, {source}"]
    if baselines := cost["baselines"]:
        # Each packet belongs to one job, so all baselines together cost what the run costs.
        lines.append(f"with {baselines} baselines, each job alone: {_range(found, 2)} of CPU time")
    return lines


def _range(time: dict[str, Any], times: int) -> str:
    """So many times a range of times.

    >>> _range({"least_s": 1.0, "most_s": None}, 2), _range({"least_s": 1.0, "most_s": 1.0}, 1)
    ('more than 2 s', 'about 1 s')
    """
    if time["most_s"] is None:
        return f"more than {duration(times * time['least_s'])}"
    least, most = (duration(times * time[key]) for key in ("least_s", "most_s"))
    return f"about {least}" if least == most else f"{least} to {most}"


#: The limit of memory, in words.
_BOUNDS = {
    "free": "free",
    "control-group": "in this process's control group",
    "address-space": "of address space",
    "run.memory_limit": "of run.memory_limit",
}


def _memory(memory: dict[str, Any], baselines: int, cores: int | None = None) -> list[str]:
    """The memory of the run; each of the `baselines` needs at most as much again.

    At most `cores` (default: those of this computer) runs execute at a time, including the run itself.

    >>> item = {"what": "9 ranks of milc", "key": "jobs.0.ranks", "bytes": 2**30}
    >>> memory = {"bytes": 1.2 * 2**30, "available": 2**33, "bound": "free", "items": [item]}
    >>> print(_memory(memory, 0)[0])
    memory: about 1.2 GiB, of 8 GiB free; 1 GiB for 9 ranks of milc
    >>> print(_memory(memory, 3, cores=2)[1])
    with baselines, 2 parallel runs: at most 2.4 GiB
    """
    text = f"memory: about {size(memory['bytes'])}"
    if memory["available"] is not None:
        text += f", of {size(memory['available'])} {_BOUNDS[memory['bound']]}"
    # Small items are left out.
    large = [item for item in memory["items"] if item["bytes"] > memory["bytes"] / 10][:3]
    items = [f"{size(item['bytes'])} for {item['what']}" for item in large]
    lines = ["; ".join([text, ", ".join(items)]) if items else text]
    if baselines:
        together = min(cores or os.cpu_count() or 1, baselines + 1)
        most = size(together * memory["bytes"])
        lines.append(f"with baselines, {together} parallel runs: at most {most}")
    return lines


def _by_class(values: list[int]) -> str:
    return ", ".join(f"{value} {name}" for value, name in zip(values, _CLASSES, strict=True) if value)
