"""All commands: where each is declared, and the first line of its help.

`odonata --help` shows these lines and imports no command. A declaration (`declared.py`) adds the text below
the line.
"""

from __future__ import annotations

import inspect

#: Each command or group, in the order of the help: the module that declares it or holds a function of its
#: name, and the first line of its help.
LISTED: dict[str, tuple[str, str]] = {
    "init": ("commands.scenario", "Write a commented scenario to start from."),
    "presets": ("commands.scenario", "List presets, or show one with its sources."),
    "import": (
        "commands.scenario",
        "Turn a file of CODES, MFNetSim or BookSim, or a job list, into a scenario.",
    ),
    "run": ("cli.run", "Run a scenario."),
    "sweep": ("commands.sweeps", "Run a scenario with many values of its keys and many seeds."),
    "batch": ("commands.batch", "Simulate a batch queue over days."),
    "what-if": ("commands.batch", "Compare variants of a batch file on the same jobs and seeds."),
    "advise": ("commands.advice", "Find better settings of a scenario, confirmed in packets."),
    "load-sweep": ("commands.sweeps", "Measure latency and accepted load over offered load."),
    "check": ("commands.known", "Say what can be known before a run."),
    "describe": ("commands.known", "Describe a machine without its jobs."),
    "fidelity": (
        "commands.tiers",
        "Run a scenario at each fidelity, and compare the results.",
    ),
    "extrapolate": (
        "commands.tiers",
        "Run few iterations of the jobs, and estimate the time of all.",
    ),
    "summary": ("commands.results", "Show the summary of a run."),
    "explain": ("commands.results", "Show the waits that determined the end of a job."),
    "report": ("commands.report", "Write a report of results as an HTML page."),
    "timeline": ("commands.timeline", "Write the timeline of a run for ui.perfetto.dev."),
    "compare": ("commands.results", "Compare two results."),
    "bench": ("commands.measurements", "Measure the simulator on this machine."),
    "schema": ("commands.schema", "Print the reference of scenarios or results."),
    "calibrate": ("commands.measurements", "Fit a machine to measured ping-pongs."),
    "validate": ("commands.measurements", "Compare a preset with measured times of its machine."),
    "device": ("commands.device", "Storage devices alone: measure, fit, show."),
    "trace": ("commands.trace", "Recorded programs: inspect, check, repeat, convert."),
    "workload": ("commands.workload", "Check and list coNCePTuaL programs."),
}


def help_of(name: str, details: str) -> str:
    """The help of a command: its line above, if it has one, and the text below it."""
    line = LISTED[name][1] if name in LISTED else ""
    return "\n\n".join(filter(None, (line, inspect.cleandoc(details))))
