"""Findings with their reproductions, and the summary of a campaign."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hostile.campaign import Campaign, Trial, lot_of
from hostile.oracle import Finding
from hostile.pool import Report

#: Most kept trials of one kind of findings.
MOST_KEPT = 3
#: The description of a kept trial, for `--again`.
ABOUT = "trial.json"


@dataclass
class Ledger:
    """The results of a campaign's trials."""

    name: str
    seed: int
    keep: Path
    trials: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    #: Kind of finding: frequency.
    kinds: Counter[str] = field(default_factory=Counter)
    #: Kind of finding: its first trials.
    kept: dict[str, list[Path]] = field(default_factory=dict)

    def enter(self, report: Report, campaign: Campaign) -> None:
        """Counts a trial, and keeps it if its finding is new."""
        self.trials += 1
        self.endings[report.ending] += 1
        for kind in dict.fromkeys(finding.kind for finding in report.findings):
            self.kinds[kind] += 1
            places = self.kept.setdefault(kind, [])
            if len(places) < MOST_KEPT:
                places.append(self._keep(report, campaign))

    def _keep(self, report: Report, campaign: Campaign) -> Path:
        """Makes the files of a trial once more, in a permanent folder."""
        place = self.keep / f"{self.name.rpartition(':')[2].lower()}-{self.seed}-{report.number}"
        if place.is_dir():
            return place
        files = place / "files"
        files.mkdir(parents=True)
        trial = campaign.make(lot_of(self.seed, self.name, report.number), files)
        about = {
            "campaign": self.name,
            "seed": self.seed,
            "number": report.number,
            "commands": trial.commands,
            "about": trial.about,
        }
        (place / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        (place / "findings.txt").write_text(_page(report, trial, files), encoding="utf-8", errors="replace")
        return place

    def summary(self) -> list[str]:
        """Counts, in lines."""
        endings = ", ".join(f"{count:,} {ending}" for ending, count in self.endings.most_common())
        total = sum(self.kinds.values())
        lines = [f"{self.name}: {self.trials:,} trials ({endings or 'none'}), {total:,} findings"]
        for kind, count in self.kinds.most_common():
            lines.append(f"  {count:>6,} x {kind}")
            lines.append(f"           {self.kept[kind][0]}")
        return lines


def load(place: Path) -> tuple[str, Trial]:
    """The campaign and the trial that was kept at `place`."""
    about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
    return about["campaign"], Trial(about["commands"], about["about"])


def copy_files(place: Path, folder: Path) -> None:
    """Copies the files of a kept trial to `folder`, where it can run without changing the original."""
    shutil.copytree(place / "files", folder, symlinks=True)


def _page(report: Report, trial: Trial, files: Path) -> str:
    lines = [f"cd {files}", *trial.commands, ""]
    for finding in report.findings:
        lines += [f"== {finding.rule}", finding.seen.rstrip(), ""]
    return "\n".join(lines)


def reproduced(findings: list[Finding]) -> str:
    """The findings of a repeated trial, for people."""
    if not findings:
        return "no findings"
    return "\n\n".join(f"== {finding.rule}\n{finding.seen.rstrip()}" for finding in findings)
