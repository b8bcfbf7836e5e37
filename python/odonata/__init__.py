"""Odonata simulates a supercomputer's network and storage, packet by packet, and the jobs that share them.

>>> import odonata
>>> results = odonata.run("examples/interference.toml", baselines=True)  # doctest: +SKIP
>>> results.outcome  # doctest: +SKIP
'completed'
>>> results.slowdown()["training"]["elapsed"].ratio  # doctest: +SKIP
1.43

- `run` simulates a scenario: a file, a dictionary, or a `Scenario` with completion and checks.
- `check` checks a scenario without running it, `describe` describes a machine, `presets` lists the presets.
- `Network` is the network of a machine for a simulator of your own.
- `write_routes` writes the routes that a function gives for a machine.
- `fidelity` runs a scenario in packets, as flows and by the analytic model, and compares.
- `extrapolate` runs few iterations of a scenario's jobs, and estimates the time of all.
- `sweep` runs a scenario at many points of its keys, `load_sweep` measures a latency-load curve.
- `batch` simulates a job list in a batch queue over days, and the contention of the jobs that run together.
- `what_if` compares variants of a batch file on the same jobs and seeds.
- `advise` finds settings of a scenario that are better, confirmed in packets.
- `load` opens the folder that `odonata run` wrote, `compare` lists the differences between two, `html_report`
  shows them as a page.
- `plot` draws figures by matplotlib.

docs/python.md is a short guide. All times are simulated seconds, all sizes bytes; the name of every column
has its unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from odonata import operations, plot, scenario
    from odonata._core import __version__
    from odonata.analysis.slowdown import Slowdown
    from odonata.commands.advice import advise
    from odonata.commands.batch import batch, what_if
    from odonata.commands.device import device_bench, device_fit, device_preset, device_presets
    from odonata.commands.known import check, describe
    from odonata.commands.measurements import benchmark, benchmark_parallel, calibrate, validate
    from odonata.commands.report import html_report
    from odonata.commands.results import compare, load
    from odonata.commands.runs import run
    from odonata.commands.scenario import import_scenario, init, preset, presets
    from odonata.commands.tiers import extrapolate, fidelity
    from odonata.commands.trace import trace_convert, trace_info, trace_lint, trace_merge, trace_repeat
    from odonata.commands.workload import workload_check, workload_compile, workload_format
    from odonata.errors import InputError, RunFailed, RunSuspended
    from odonata.load_curves.load_sweep import LoadSweep, load_sweep
    from odonata.machines.routes import write_routes
    from odonata.results.results import Results
    from odonata.running.network import Network
    from odonata.running.runner import Progress
    from odonata.scenario import Scenario
    from odonata.sweeps.result import Sweep
    from odonata.sweeps.run import sweep
    from odonata.sweeps.spec import Slurm

__all__ = [
    "InputError",
    "LoadSweep",
    "Network",
    "Progress",
    "Results",
    "RunFailed",
    "RunSuspended",
    "Scenario",
    "Slowdown",
    "Slurm",
    "Sweep",
    "__version__",
    "advise",
    "batch",
    "benchmark",
    "benchmark_parallel",
    "calibrate",
    "check",
    "compare",
    "describe",
    "device_bench",
    "device_fit",
    "device_preset",
    "device_presets",
    "extrapolate",
    "fidelity",
    "html_report",
    "import_scenario",
    "init",
    "load",
    "load_sweep",
    "operations",
    "plot",
    "preset",
    "presets",
    "run",
    "scenario",
    "sweep",
    "trace_convert",
    "trace_info",
    "trace_lint",
    "trace_merge",
    "trace_repeat",
    "validate",
    "what_if",
    "workload_check",
    "workload_compile",
    "workload_format",
    "write_routes",
]

#: The module of each name. Modules are imported on demand: the command sets up Ctrl-C before heavy imports.
_MODULES = {
    "InputError": "errors",
    "LoadSweep": "load_curves.load_sweep",
    "Network": "running.network",
    "Progress": "running.runner",
    "Results": "results.results",
    "RunFailed": "errors",
    "RunSuspended": "errors",
    "Scenario": "scenario",
    "Slowdown": "analysis.slowdown",
    "Slurm": "sweeps.spec",
    "Sweep": "sweeps.result",
    "__version__": "_core",
    "advise": "commands.advice",
    **dict.fromkeys(("batch", "what_if"), "commands.batch"),
    "run": "commands.runs",
    **dict.fromkeys(("check", "describe"), "commands.known"),
    **dict.fromkeys(("compare", "load"), "commands.results"),
    "html_report": "commands.report",
    **dict.fromkeys(("extrapolate", "fidelity"), "commands.tiers"),
    "load_sweep": "load_curves.load_sweep",
    **dict.fromkeys(("benchmark", "benchmark_parallel", "calibrate", "validate"), "commands.measurements"),
    **dict.fromkeys(("import_scenario", "init", "preset", "presets"), "commands.scenario"),
    **dict.fromkeys(("device_bench", "device_fit", "device_preset", "device_presets"), "commands.device"),
    **dict.fromkeys(
        ("trace_convert", "trace_info", "trace_lint", "trace_merge", "trace_repeat"), "commands.trace"
    ),
    **dict.fromkeys(("workload_check", "workload_compile", "workload_format"), "commands.workload"),
    **dict.fromkeys(("operations", "plot", "scenario"), ""),
    "sweep": "sweeps.run",
    "write_routes": "machines.routes",
}


def __getattr__(name: str) -> object:
    import importlib

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place = _MODULES[name]
    if not place:
        return importlib.import_module(f"{__name__}.{name}")
    found = getattr(importlib.import_module(f"{__name__}.{place}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
