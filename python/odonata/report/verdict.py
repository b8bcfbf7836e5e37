"""The verdict: interference between jobs, its size and its places, in words."""

from __future__ import annotations

import math

from odonata.analysis import blame
from odonata.base.wording import factor, rate, sentence_case, share, size
from odonata.report.blocks import Block, Facts, Section, Text, duration
from odonata.report.contents import Contents
from odonata.scenario import run_fidelity

#: Least ratio of times of a slowed job.
SLOWED = 1.02

#: Most jobs with a sentence.
MOST = 12


def section(contents: Contents) -> Section:
    """The first section."""
    blocks: list[Block] = [Text(sentences(contents), items=True), Facts(_facts(contents))]
    return Section("verdict", "Verdict", headline(contents), blocks)


def headline(contents: Contents) -> str:
    """The most important finding, in a sentence or two."""
    slowed = _slowed(contents)
    if slowed:
        job, ratio = slowed[0]
        if ratio < SLOWED:
            return "No job took noticeably longer than alone."
        return sentence_case(
            f"{job} slowed down most: it took {_times(contents, job)}.{_cause(contents, job)}"
        )
    others = [found for found in _worth(contents) if found.victim != found.culprit]
    if others:
        found = max(others, key=lambda found: found.share)
        return f"{found.words()}."
    if contents.blames and len(contents.names) > 1:
        return "No job spent 1% of its time or more waiting behind another."
    if len(contents.names) == 1:
        return sentence_case(f"{contents.names[0]} had the machine to itself.")
    return "This run did not measure interference between jobs."


def sentences(contents: Contents) -> list[str]:
    """All other findings, the most important first."""
    lines = []
    if contents.results.outcome != "completed":
        lines.append(f"The run did not complete: {contents.results.ending}.")
    slowed = _slowed(contents)
    # The first is the headline.
    for job, _ in slowed[1 if slowed and slowed[0][1] >= SLOWED else 0 :][:MOST]:
        lines.append(sentence_case(f"{job} took {_times(contents, job)}.{_cause(contents, job)}"))
    if not contents.slowdowns:
        heavy = sorted(_worth(contents), key=lambda found: -found.share)
        others = [found for found in heavy if found.culprit != found.victim][1:]
        lines += [f"{found.words()}." for found in others][: blame.MOST_FINDINGS]
    links = contents.summary["links"]
    if links:
        link = links[0]
        words = (
            f"The busiest link, {link['name']} ({link['class']}), transmitted "
            f"{share(link['busy_share'] or 0.0, 1.0)} of the time"
        )
        # Flows and the analytic model have no buffers.
        if link["saturation_s"]:
            words += f"; packets found the next buffer full for {duration(link['saturation_s'])}"
        elif link["saturation_s"] is not None:
            words += "; packets never found the next buffer full"
        lines.append(f"{words}.")
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
    ratio = math.nan if elapsed["ratio"] is None else elapsed["ratio"]
    return f"{duration(elapsed['together'])}, {factor(ratio)} its {duration(elapsed['alone'])} alone"


def _slowed(contents: Contents) -> list[tuple[str, float]]:
    """The slowed jobs with their ratios to the time alone, the largest first."""
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
    """The heaviest wait behind another job, weighed by the share of such waits in the job's time."""
    row = next(row for row in contents.jobs if row["job"] == job)
    whole = row["compute_s"] + row["non_compute_s"] or 1.0

    def weight(found: blame.Finding) -> float:
        at_servers = found.where in ("servers", "below")
        blocked = row["io_s"] if at_servers or found.victim_class == "io" else row["mpi_s"]
        return float(found.share * blocked / whole)

    others = [found for found in _worth(contents) if found.victim == job and found.culprit != job]
    return max(others, key=weight, default=None)


def _cause(contents: Contents, job: str) -> str:
    """A sentence about the other job behind which a job waited most, after a space; empty without one."""
    found = _heaviest(contents, job)
    return "" if found is None else f" {found.words(pronoun=True)}."


def foremost(contents: Contents) -> blame.Finding | None:
    """The wait for another job that the verdict names; None if it names none."""
    slowed = _slowed(contents)
    if slowed and slowed[0][1] >= SLOWED and (found := _heaviest(contents, slowed[0][0])):
        return found
    others = [found for found in _worth(contents) if found.victim != found.culprit]
    return max(others, key=lambda found: found.share, default=None)


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
        ("Messages", run_fidelity.WORDS[contents.fidelity.of_run]),
        ("Simulated", f"{duration(contents.simulated_s)} in {duration(run['wall_s'])}"),
        ("Moved", moved),
        ("Seed", str(run["scenario"].get("seed", "-"))),
    ]
