"""The section about repeating the run: scenario, command, version and expected digest."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePath
from typing import Any

from odonata.base.wording import size
from odonata.report.blocks import Block, Facts, Listing, Section, Text, duration
from odonata.report.contents import Contents


def section(contents: Contents) -> Section:
    """The section."""
    run = contents.run
    blocks: list[Block] = [Facts(_facts(contents))]
    written = run.get("written")
    if written:
        blocks.append(Listing("origin-command", "Command", command(written, run["scenario"])))
        name = PurePath(written["file"]).name if written["file"].endswith(".toml") else "scenario.toml"
        blocks.append(Listing("origin-scenario", "Scenario", written["text"], name, folded=True))
    else:
        blocks.append(
            Text(["This result does not contain the original scenario file; these are its settings:"])
        )
    settings = json.dumps(run["scenario"], indent=2, ensure_ascii=False)
    blocks.append(
        Listing("origin-settings", "All settings, defaults included", settings, "settings.json", folded=True)
    )
    return Section(
        "origin",
        "Repeat this run",
        "The same scenario, seed and version give the same digest on any computer and any number of cores.",
        blocks,
    )


def command(written: dict[str, Any], scenario: dict[str, Any]) -> str:
    """The command that repeats the run."""
    words = ["odonata", "run", PurePath(written["file"]).name or "scenario.toml"]
    if not words[-1].endswith(".toml"):
        words[-1] = "scenario.toml"
    for setting in written["set"]:
        words += ["--set", setting]
    if written["seed"] is not None:
        words += ["--seed", str(written["seed"])]
    if scenario["run"]["baselines"] and not any(one.startswith("run.baselines") for one in written["set"]):
        words.append("--baselines")
    return shlex.join(words)


def _scheduler(run: dict[str, Any]) -> str:
    measured = run["schedule"].get("measured")
    if measured is not None:
        return f"{run['scheduler']}, {measured['why']}"
    return f"{run['scheduler']}, {run['threads']} thread{'s' if run['threads'] != 1 else ''}"


def _facts(contents: Contents) -> list[tuple[str, str]]:
    run = contents.run
    facts = [
        ("Digest", run["digest"]),
        ("Version", f"odonata {run['version']}"),
        ("Seed", str(run["scenario"].get("seed", "-"))),
        ("Scheduler", _scheduler(run)),
        ("Took", f"{duration(run['wall_s'])}, {duration(run['cpu_s'])} of CPU time"),
    ]
    if run.get("peak_rss_bytes"):
        facts.append(("Memory", size(run["peak_rss_bytes"])))
    if contents.results.path is not None:
        facts.append(("Results", str(contents.results.path)))
    return facts
