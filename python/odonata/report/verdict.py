"""The verdict: who slowed whom, by how much and where, in words."""

from __future__ import annotations

from odonata import blame, run_fidelity
from odonata.report.blocks import Block, Facts, Section, Text, duration
from odonata.report.contents import Contents
from odonata.wording import factor, rate, share, size

#: Ratio of times from which on a job counts as slowed down.
SLOWED = 1.02

#: Jobs of which a sentence is said.
MOST = 12


def section(contents: Contents) -> Section:
    """The first section."""
    blocks: list[Block] = [Text(sentences(contents), items=True), Facts(_facts(contents))]
    return Section("verdict", "Verdict", headline(contents), blocks)


def headline(contents: Contents) -> str:
    """The most important thing, in a sentence."""
    slowed = _slowed(contents)
    if slowed:
        job, ratio = slowed[0]
        if ratio < SLOWED:
            return "No job took noticeably longer than it takes alone."
        said = f"{job} was slowed most: {_times(contents, job)}, {factor(ratio)} as long as alone."
        culprit = _culprit(contents, job)
        return f"{said} It waited most for {culprit}." if culprit else said
    others = [found for found in _worth(contents) if found.victim != found.culprit]
    if others:
        found = max(others, key=lambda found: found.share)
        return f"{found.words()}."
    if contents.blames and len(contents.names) > 1:
        return "No job waited for another for as much as 1 % of the time."
    if len(contents.names) == 1:
        return f"{contents.names[0]} had the machine for itself."
    return "Who slowed whom was not measured in this run."


def sentences(contents: Contents) -> list[str]:
    """What else there is to say, the most important first."""
    lines = []
    if contents.results.outcome != "completed":
        lines.append(f"The run did not complete: {contents.results.ending}.")
    slowed = _slowed(contents)
    # The first is the headline.
    for job, ratio in slowed[1 if slowed and slowed[0][1] >= SLOWED else 0 :][:MOST]:
        said = f"{job} took {_times(contents, job)}, {factor(ratio)} as long as alone"
        culprit = _culprit(contents, job)
        lines.append(f"{said}; it waited most for {culprit}." if culprit else f"{said}.")
    if not contents.slowdowns:
        heavy = sorted(_worth(contents), key=lambda found: -found.share)
        others = [found for found in heavy if found.culprit != found.victim][1:]
        lines += [f"{found.words()}." for found in others][: blame.MOST_FINDINGS]
    links = contents.summary["links"]
    if links:
        link = links[0]
        said = (
            f"The busiest link, {link['name']} ({link['class']}), transmitted "
            f"{share(link['busy_share'] or 0.0, 1.0)} of the time"
        )
        # Flows and the analytic model have no buffers.
        if link["saturation_s"]:
            said += f"; packets found the buffers behind it full for {duration(link['saturation_s'])}"
        elif link["saturation_s"] is not None:
            said += "; packets never found the buffers behind it full"
        lines.append(f"{said}.")
    servers = contents.summary["servers"]
    if servers:
        server = servers[0]
        lines.append(
            f"The busiest storage server, {server['server']} (node {server['node']}), was busy "
            f"{share(server['busy_share'] or 0.0, 1.0)} of the time; a request took "
            f"{duration(server['request_mean_s'])} on average."
        )
    return lines


def _times(contents: Contents, job: str) -> str:
    elapsed = contents.slowdowns[job]["elapsed"]
    return f"{duration(elapsed['together'])} instead of {duration(elapsed['alone'])}"


def _slowed(contents: Contents) -> list[tuple[str, float]]:
    """Jobs and how much longer they took than alone, the most slowed first."""
    ratios = {
        job: metrics["elapsed"]["ratio"]
        for job, metrics in contents.slowdowns.items()
        if "elapsed" in metrics
    }
    known = [(job, ratio) for job, ratio in ratios.items() if ratio is not None]
    return sorted(known, key=lambda one: -one[1])


def _worth(contents: Contents) -> list[blame.Finding]:
    return [
        found
        for found in contents.findings
        if found.culprit and found.in_calls and found.whole_s > 0 and found.share >= blame.LEAST_SHARE
    ]


def _heaviest(contents: Contents, job: str) -> blame.Finding | None:
    """What a job waited for most, of the others, weighed by what that kind of waiting is of its time."""
    row = next(row for row in contents.jobs if row["job"] == job)
    whole = row["compute_s"] + row["non_compute_s"] or 1.0

    def weight(found: blame.Finding) -> float:
        at_servers = found.where in ("servers", "below")
        blocked = row["io_s"] if at_servers or found.victim_class == "io" else row["mpi_s"]
        return float(found.share * blocked / whole)

    others = [found for found in _worth(contents) if found.victim == job and found.culprit != job]
    return max(others, key=weight, default=None)


def _culprit(contents: Contents, job: str) -> str | None:
    """Whom a job waited for most, of the others, and where."""
    found = _heaviest(contents, job)
    if found is None:
        return None
    if found.where in ("servers", "below"):
        where = f"at {found.places} of its {found.servers} storage servers"
        if found.where == "below":
            where = f"at {found.places} storage servers below its own"
        elif found.servers == 1:
            where = "at its storage server"
        return f"{found.culprit}, {where}: {_part(found)} of its I/O time"
    traffic = "messages" if found.culprit_class == "mpi" else "I/O"
    own = "messages" if found.victim_class == "mpi" else "I/O"
    return (
        f"{found.culprit}'s {traffic} in the network, {_part(found)} of the time that its "
        f"{own} spent there, most on {found.most} ({found.most_place})"
    )


def foremost(contents: Contents) -> blame.Finding | None:
    """The wait for another job that the verdict is about, if it is about one."""
    slowed = _slowed(contents)
    if slowed and slowed[0][1] >= SLOWED and (found := _heaviest(contents, slowed[0][0])):
        return found
    others = [found for found in _worth(contents) if found.victim != found.culprit]
    return max(others, key=lambda found: found.share, default=None)


def _part(found: blame.Finding) -> str:
    return ("at most " if found.at_most else "") + share(found.share, 1.0)


def _facts(contents: Contents) -> list[tuple[str, str]]:
    run = contents.run
    machine = f"{run['nodes']:,} nodes"
    if contents.groups:
        groups = len(set(contents.groups))
        machine += f", {len(contents.groups):,} routers in {groups} group{'s' if groups > 1 else ''}"
    if "servers" in contents.results.tables and (count := contents.results.table("servers").num_rows):
        machine += f", {count:,} storage server{'s' if count > 1 else ''}"
    moved = f"{rate(run['messages'])} messages, {size(run['bytes_delivered'])}"
    if contents.fidelity.has_packets:
        moved += f", {rate(run['packets'])} packets"
    return [
        ("Outcome", contents.results.outcome),
        ("Machine", machine),
        ("Messages go", run_fidelity.WORDS[contents.fidelity.of_run]),
        ("Simulated", f"{duration(contents.simulated_s)} in {duration(run['wall_s'])}"),
        ("Moved", moved),
        ("Seed", str(run["scenario"].get("seed", "-"))),
    ]
