"""Runs a case together and job by job: the time of each job, predicted and actual time alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import odonata
from lost_time_study.cases import Case
from odonata.analysis import lost_time

SETTINGS = {"run.lost_time": True, "run.blame": True, "run.baselines": True, "run.threads": 1}


@dataclass(frozen=True)
class Prediction:
    """Of one job."""

    case: str
    job: str
    adaptive: bool
    together_s: float
    predicted_s: float
    alone_s: float

    @property
    def slowdown(self) -> float:
        """Delay by the other jobs, as a share of the time alone."""
        return self.together_s / self.alone_s - 1

    @property
    def error(self) -> float:
        """Error of the prediction, as a share of the time alone."""
        return self.predicted_s / self.alone_s - 1


def run(case: Case) -> list[Prediction]:
    """The jobs of a case that end by themselves."""
    results = odonata.run(case.scenario, overrides=case.overrides | SETTINGS, processes=1)
    return [
        Prediction(case.name, of.job, case.adaptive, of.elapsed_s, of.predicted_s, of.alone_s)
        for of in lost_time.of_jobs(results) or []
        if of.alone_s is not None
    ]


def read(file: Path) -> list[Prediction]:
    """What is kept."""
    return [Prediction(**one) for one in json.loads(file.read_text(encoding="utf-8"))]


def write(file: Path, found: Sequence[Prediction]) -> None:
    """Keeps it."""
    rows = ",\n".join(json.dumps(asdict(one)) for one in found)
    file.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
