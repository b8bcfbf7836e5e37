"""Commands that read results: `odonata summary`, `odonata explain`, `odonata compare`.

Each imports what it shows when it is called, so that a command does not wait for the libraries of the others.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from odonata.base.arrow import import_alone
from odonata.commands.declared import Shown, argument, command, option, switch
from odonata.errors import InputError
from odonata.errors import option as named
from odonata.results.results import Results
from odonata.sweeps.store import SWEEP_FILE

if TYPE_CHECKING:
    from odonata.answers.compare import Comparison


def load(folder: str | os.PathLike[str]) -> Results:
    """Opens a result folder of `odonata run`.

    >>> import odonata
    >>> odonata.load("results/interference").outcome  # doctest: +SKIP
    'completed'

    Raises:
        FileNotFoundError: `folder` holds no run.json.
    """
    return Results.load(folder)


def _summary(folder: Path, *, as_json: bool) -> Shown:
    import_alone("pyarrow.compute", "pyarrow.parquet")
    from odonata.analysis import summary, summary_page

    page = summary.collect(Results.load(folder))
    return Shown(page, lambda: summary_page.show(page))


command(
    "summary",
    terminal=_summary,
    folder=argument("DIR", "Result folder of `odonata run`."),
)(Results.summary)


def _explain(
    folder: Path,
    *,
    job_name: str | None,
    job: str | None,
    rank: int | None,
    iteration: int | None,
    most: int,
    as_json: bool,
) -> Shown:
    import_alone("pyarrow.compute", "pyarrow.parquet")
    from odonata.analysis import explain, explain_page

    if job_name is not None and job is not None:
        raise InputError("two jobs", key=named("job"), value=job, expected=f"{job_name} alone")
    job = job_name if job is None else job
    found = explain.of_jobs(Results.load(folder), job=job, rank=rank, iteration=iteration)
    answer = {"chains": [chain.as_dict() for chain in found]}
    return Shown(answer, lambda: explain_page.show(found, most))


command(
    "explain",
    """
    Each wait has its rank, place, time, length and culprit, followed backwards from the end. The
    run must record the waits (run.lost_time, run.lost_time_path).
    """,
    terminal=_explain,
    folder=argument("DIR", "Folder that `odonata run` wrote."),
    job_name=argument("[JOB]", "Explain this job. Default: all.", type=str, default=None),
    job=option("The same as JOB.", metavar="JOB"),
    rank=option("Explain this rank. Default: the last to end.", metavar="R", type=int, least=0),
    iteration=option(
        "Explain the end of this iteration. Default: the end of the job.", metavar="I", type=int, least=0
    ),
    most=option(
        "Show at most this many waits of a chain.", "--waits", metavar="N", type=int, least=0, default=20
    ),
)(Results.explain)


def _compare(a: Path, b: Path, *, least: float, everything: bool, as_json: bool) -> Shown:
    import_alone("pyarrow.compute", "pyarrow.parquet")
    from odonata.analysis import comparison, comparison_page

    threshold = 0.0 if everything else least / 100
    if not math.isfinite(least):
        raise InputError(
            "not a number", key=named("least", "--min"), value=str(least), expected="a percentage"
        )
    if os.path.isfile(a / SWEEP_FILE) and os.path.isfile(b / SWEEP_FILE):
        from odonata.sweeps import compared
        from odonata.sweeps.result import Sweep

        sweeps = compared.compare(Sweep.load(a), Sweep.load(b), threshold)
        return Shown(sweeps, lambda: compared.show(sweeps))
    found = comparison.collect(Results.load(a), Results.load(b), threshold)
    return Shown(found, lambda: comparison_page.show(found, threshold))


@command(
    "compare",
    """
    Different settings, then the metrics of common jobs, sums over links and
    servers, and interference between jobs. Ratios are B / A. Of two sweeps, points with equal values
    are compared seed by seed, with confidence intervals.
    """,
    terminal=_compare,
    a=argument("A", "Result folder of `odonata run` or `odonata sweep`."),
    b=argument("B", "Second result folder, such as DIR/baselines/JOB."),
    least=option(
        "Hide metrics that change less.", "--min", metavar="PERCENT", type=float, least=0.0, default=1.0
    ),
    everything=switch("Also show unchanged metrics.", "--all"),
)
def compare(
    a: Results | str | os.PathLike[str], b: Results | str | os.PathLike[str], *, least: float = 0.01
) -> Comparison:
    """Compares two results, or a result and one of its baselines.

    That is settings, metrics of jobs, sums over links and servers, and interference. The keys are
    those of `odonata compare --json` (docs/results.md); a notebook shows it as a page.

    Args:
        a: Results or their folder.
        b: The other results; ratios are b / a.
        least: Leave out metrics that change by a smaller share.

    >>> import pyarrow as pa
    >>> from odonata import Results, compare
    >>> scenario = {"seed": 1, "jobs": []}
    >>> run = {"outcome": "completed", "digest": "12", "version": "0.1.0", "scenario": scenario}
    >>> quick, slow = (
    ...     Results(run, {"jobs": pa.table({"job": ["milc"], "elapsed_s": [time]})}) for time in (0.2, 0.3)
    ... )
    >>> [(row["metric"], round(row["ratio"], 2)) for row in compare(quick, slow)["jobs"]]
    [('elapsed_s', 1.5)]

    Raises:
        FileNotFoundError: A folder holds no run.json.
    """
    from odonata.analysis import comparison, comparison_page
    from odonata.base.html_page import Answer

    results = [given if isinstance(given, Results) else load(given) for given in (a, b)]
    found = comparison.collect(results[0], results[1], least)

    def show(answer: Any, stream: Any) -> None:
        comparison_page.show(answer, least, stream)

    return cast("Comparison", Answer(cast("dict[str, Any]", found), show))
