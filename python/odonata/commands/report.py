"""Results as a page for a browser: `odonata report`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from odonata.base.output_file import OutputFile
from odonata.batch_queue import report as batch_report
from odonata.batch_queue.run import BATCH_FILE
from odonata.commands.declared import FORCE, Shown, argument, command, option, switch
from odonata.errors import InputError
from odonata.errors import option as named
from odonata.load_curves import report as load_report
from odonata.load_curves.curve import SWEEP_FILE, TABLE_FILE
from odonata.load_curves.load_sweep import LoadSweep
from odonata.report import several, single
from odonata.results.results import Results
from odonata.sweeps import report as sweep_report

#: The table of a sweep, in the folder of one: that of `odonata sweep`, or one that a user has made.
SWEEP_FILES = ("points.parquet", "sweep.parquet")


def page(paths: Sequence[Path]) -> str:
    """The page about what is at `paths`.

    Raises:
        InputError: There is no result, or it is damaged.
    """
    if len(paths) == 1:
        if os.path.isfile(paths[0] / BATCH_FILE):
            return batch_report.html(paths[0])
        table = sweep_table(paths[0])
        if table is not None:
            return sweep_report.html(table)
        if _is_load_sweep(paths[0]):
            return load_report.html([LoadSweep.load(paths[0])])
        return single.html(Results.load(paths[0]))
    for number, path in enumerate(paths):
        if sweep_table(path) is not None:
            raise InputError(
                "reports do not compare sweeps",
                key=named("folders", "DIR"),
                value=str(path),
                expected="a single sweep",
            )
        if any(path.resolve() == other.resolve() for other in paths[:number]):
            raise InputError(
                "the same result is given twice",
                key=named("folders", "DIR"),
                value=str(path),
                expected="different results",
            )
    if all(_is_load_sweep(path) for path in paths):
        return load_report.html([LoadSweep.load(path) for path in paths])
    return several.html([Results.load(path) for path in paths])


def _is_load_sweep(path: Path) -> bool:
    """Whether `path` is the folder of a load sweep."""
    return os.path.isfile(path / SWEEP_FILE) and os.path.isfile(path / TABLE_FILE)


def sweep_table(path: Path) -> Path | None:
    """The table of a sweep at `path`: itself, or in the folder `path`; None if it is no sweep."""
    if os.path.isfile(path) and path.suffix == ".parquet":
        return path
    files = (path / name for name in SWEEP_FILES)
    return next((file for file in files if os.path.isfile(file)), None)


def _target(folders: list[Path]) -> Path:
    """The default file: in the folder of one result, else in the current folder."""
    if len(folders) == 1 and os.path.isdir(folders[0]):
        return folders[0] / "report.html"
    return Path("report.html")


def _inputs(folders: list[Path]) -> list[Path]:
    """The files that the report reads and must not replace."""
    return [
        file
        for folder in folders
        for file in (
            [folder / "run.json", folder / BATCH_FILE, folder / SWEEP_FILE, *folder.glob("*.parquet")]
            if os.path.isdir(folder)
            else [folder]
        )
    ]


def _report(folders: list[Path], out: Path | None, *, force: bool, show: bool, as_json: bool) -> Shown:
    target = _target(folders) if out is None else out
    output = OutputFile(target, key=named("out"), replace=force, inputs=_inputs(folders))
    output.write(page(folders))

    def show_place() -> None:
        print(f"Report: {target}", flush=True)

    def browse() -> list[str]:
        if not show:
            return []
        import webbrowser

        found = webbrowser.open(target.resolve().as_uri())
        return [] if found else ["no browser found; open the file yourself"]

    return Shown(None, show_place, after=browse)


@command(
    "report",
    """
    One file with the verdict in words, charts and tables. It needs no network: keep it or send it to others.
    """,
    terminal=_report,
    writes=True,
    has_json=False,
    folders=argument(
        "DIR...",
        "Result folder of `odonata run` or `odonata load-sweep`; several folders of a kind are compared. Or "
        "one of `odonata batch`, or one table of a sweep (Parquet).",
        list[Path],
    ),
    out=option(
        "File to write. Default: report.html in DIR.", "--out", "-o", metavar="FILE", type=Path, default=None
    ),
    force=FORCE,
    show=switch("Open the report in the browser.", "--open"),
)
def html_report(
    *folders: str | os.PathLike[str],
    file: str | os.PathLike[str] | None = None,
    force: bool = False,
) -> str:
    """Writes one HTML page about several results, load sweeps or a table of a sweep (docs/report.md).

    `Results.report` makes the page of one result.

    Args:
        folders: Result folders of `odonata run` or `odonata load-sweep`, or one of a sweep.
        file: File to write the page to.
        force: Replace an existing file.

    Returns:
        The page.

    Raises:
        InputError: A folder holds no result or a damaged one; `file` exists or cannot be written.

    >>> import odonata
    >>> page = odonata.html_report("results/a", "results/b", file="both.html")  # doctest: +SKIP
    """
    if not folders:
        raise InputError("nothing to show", key="folders", expected="one result or more")
    output = None if file is None else OutputFile(file, key="file", replace=force)
    content = page([Path(folder) for folder in folders])
    if output is not None:
        output.write(content)
    return content
