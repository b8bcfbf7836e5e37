"""Types of the answers of commands with `--json`: a module per command.

For objects that the core makes, the core provides the schema (`core`). Only the reference page, `odonata
schema` and type checkers use these declarations.
"""

from __future__ import annotations

from typing import Annotated, Any

from odonata.answers.advice import Advice
from odonata.answers.batch import Batch
from odonata.answers.bench import Bench, ParallelBench
from odonata.answers.compare import Comparison
from odonata.answers.compare_sweeps import SweepComparison
from odonata.answers.core import Core, WithRouting
from odonata.answers.explain import ExplainAnswer
from odonata.answers.extrapolate import ExtrapolationAnswer
from odonata.answers.fidelity import FidelityAnswer
from odonata.answers.load_sweep import LoadSweep
from odonata.answers.presets import Preset, PresetSummary
from odonata.answers.summary import Summary
from odonata.answers.timeline import TimelineAnswer
from odonata.answers.what_if import WhatIf
from odonata.tool_answers import TOOL_ANSWERS, TOOL_COMMANDS

__all__ = [
    "ANSWERS",
    "COMMANDS",
    "Advice",
    "Batch",
    "Bench",
    "Comparison",
    "ExplainAnswer",
    "ExtrapolationAnswer",
    "FidelityAnswer",
    "LoadSweep",
    "ParallelBench",
    "Preset",
    "PresetSummary",
    "Summary",
    "SweepComparison",
    "TimelineAnswer",
    "WhatIf",
]

#: Commands whose answers have another name than the command.
COMMANDS = {
    "preset": "presets PRESET",
    "compare-sweeps": "compare SWEEP SWEEP",
    "bench-parallel": "bench --parallel",
    **TOOL_COMMANDS,
}


#: Answers by command.
ANSWERS: dict[str, Any] = {
    "summary": Summary,
    "explain": ExplainAnswer,
    "compare": Comparison,
    "compare-sweeps": SweepComparison,
    "check": Annotated[dict[str, Any], Core("check")],
    "describe": Annotated[dict[str, Any], WithRouting("describe")],
    "presets": list[PresetSummary],
    "preset": Preset,
    "batch": Batch,
    "what-if": WhatIf,
    "advise": Advice,
    "bench": Bench,
    "bench-parallel": ParallelBench,
    "load-sweep": LoadSweep,
    "extrapolate": ExtrapolationAnswer,
    "fidelity": FidelityAnswer,
    "timeline": TimelineAnswer,
    **TOOL_ANSWERS,
}
