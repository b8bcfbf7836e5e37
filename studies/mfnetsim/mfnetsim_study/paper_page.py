"""PAPER.md and its figures, from the stored results of `paper.py --store`.

`data/claims.txt` has the claims with their numbers, `data/verdicts.csv` their verdicts, and
`data/figures.parquet` the measures of our figures. The authors' measures come from the reference values.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from study_tools import parquet, shown
from study_tools.shown import Shown

from mfnetsim_study import claim_report, figures
from mfnetsim_study.cases import Case
from mfnetsim_study.claim_report import Judged

STUDY = Path(__file__).parents[1]
CLAIMS = STUDY / "data" / "claims.txt"
VERDICTS = STUDY / "data" / "verdicts.csv"
MEASURED = STUDY / "data" / "figures.parquet"
FIGURES = STUDY.parents[1] / "docs" / "figures"

_SIZE = "the paper's"
_COMMAND = "make study-mfnetsim-paper RUNS=--store"
#: The figures and tables of the paper beside ours.
SHOWN = (
    Shown(
        "Table 1, devices",
        "[comparison](../../docs/storage-devices.md#comparison-with-two-devices)",
        (),
        "make validation",
        "the paper's file of 512 MB",
    ),
    Shown(
        "Fig. 10a, message latency of Checkpoint",
        "figure 10",
        ("checkpoint-short-messages-counted", "checkpoint-longest-message"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 10b, I/O time of Checkpoint",
        "figure 10",
        ("checkpoint-io-time", "checkpoint-contiguous-io"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 11a, local link traffic",
        "figure 11",
        ("checkpoint-spread", "checkpoint-minimal", "checkpoint-router-traffic"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 11b, saturation of global links",
        "figure 11",
        ("global-alone", "global-cont-min", "global-cont-par", "global-random"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 12a, message latency of CosmoFlow", "figure 12", ("cosmoflow-distribution",), _COMMAND, _SIZE
    ),
    Shown(
        "Fig. 12b, I/O time of CosmoFlow",
        "figure 12",
        ("cosmoflow-io", "cosmoflow-io-network", "cosmoflow-contiguous"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 12c, communication time of CosmoFlow",
        "figure 12",
        ("cosmoflow-communication", "cosmoflow-contiguous-total"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 13a, message latency of Nekbone and MILC",
        "figure 13",
        ("nekbone-latency", "milc-latency", "latency-contiguous"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Fig. 13b, communication time of Nekbone and MILC",
        "figure 13",
        ("communication-random", "nekbone-variability"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        'Section 8, the "bully"',
        "claims",
        ("heavy-io", "heavy-communication"),
        _COMMAND,
        _SIZE,
    ),
    Shown(
        "Section 8, placement and routing",
        "claims",
        ("random-faster", "random-degrades", "adaptive-risk"),
        _COMMAND,
        _SIZE,
    ),
)


def verdicts() -> dict[str, str]:
    """The stored verdict on each claim, without artifacts."""
    with VERDICTS.open(newline="", encoding="utf-8") as file:
        return {row["claim"]: row["verdict"] for row in csv.DictReader(file)}


def text() -> str:
    """PAPER.md."""
    body = CLAIMS.read_text(encoding="utf-8")
    known = {claim.key: "not judged" for claim in claim_report.CLAIMS} | verdicts()
    ours = (
        "Ours are all mixes and baselines as the paper describes them."
        if MEASURED.exists()
        else "Ours are not stored yet."
    )
    return (
        (STUDY / "paper-page.md")
        .read_text(encoding="utf-8")
        .format(claims=body.strip(), shown=shown.of_verdicts(SHOWN, known).markdown().strip(), ours=ours)
    )


def write() -> None:
    """Writes PAPER.md and the figures."""
    measured = figures.authors()
    if MEASURED.exists():
        measured += parquet.read(MEASURED, figures.Measured)
    # Equal drawings are equal files.
    with matplotlib.rc_context({"svg.hashsalt": "mfnetsim"}):
        files = figures.draw(FIGURES, measured)
    (STUDY / "PAPER.md").write_text(text(), encoding="utf-8")
    print("\n".join(f"written: {file}" for file in [STUDY / "PAPER.md", *files]))


def store(judged: Sequence[Judged], paper: Sequence[Case], published: Sequence[Case]) -> None:
    """Stores the claims of a run, their verdicts, and the measures of its figures."""
    CLAIMS.parent.mkdir(exist_ok=True)
    CLAIMS.write_text(claim_report.measurements(judged, paper, published), encoding="utf-8")
    with VERDICTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["claim", "verdict"])
        writer.writerows([one.claim.key, one.without.verdict] for one in judged)
    parquet.write(MEASURED, figures.Measured, figures.of_cases(paper))
    print(f"kept: {CLAIMS.parent}")
