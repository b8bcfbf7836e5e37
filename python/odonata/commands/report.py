"""Results as a page for a browser: `odonata report`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from odonata.base.output_file import OutputFile
from odonata.commands.declared import FORCE, Shown, argument, command, option, switch
from odonata.errors import InputError
from odonata.errors import option as named
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
        table = sweep_table(paths[0])
        if table is not None:
            return sweep_report.html(table)
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
    return several.html([Results.load(path) for path in paths])


def sweep_table(path: Path) -> Path | None:
    """The table of a sweep at `path`: itself, or in the folder `path`; None if it is no sweep."""
    if os.path.isfile(path) and path.suffix == ".parquet":
        return path
    files = (path / name for name in SWEEP_FILES)
    return next((file for file in files if os.path.isfile(file)), None)


def _target(folders: list[Path]) -> Path:
    """Where the page of these goes if nobody says: into the folder of one result, else into this one."""
    if len(folders) == 1 and os.path.isdir(folders[0]):
        return folders[0] / "report.html"
    return Path("report.html")


def _inputs(folders: list[Path]) -> list[Path]:
    """What is read: no page replaces a table. A page within a result's folder is none of them."""
    return [
        file
        for folder in folders
        for file in ([folder / "run.json", *folder.glob("*.parquet")] if os.path.isdir(folder) else [folder])
    ]


def _report(folders: list[Path], out: Path | None, *, force: bool, show: bool, as_json: bool) -> Shown:
    target = _target(folders) if out is None else out
    output = OutputFile(target, key=named("out"), replace=force, inputs=_inputs(folders))
    output.write(page(folders))

    def tell() -> None:
        print(f"Report: {target}", flush=True)

    def browse() -> list[str]:
        if not show:
            return []
        import webbrowser

        found = webbrowser.open(target.resolve().as_uri())
        return [] if found else ["no browser found; open the file yourself"]

    return Shown(None, tell, after=browse)


@command(
    "report",
    """Write a report of results as an HTML page.

    One file with the verdict in words, charts and tables. It needs no network: keep it or send it to others.
    """,
    terminal=_report,
    writes=True,
    has_json=False,
    folders=argument(
        "DIR...",
        "Result folder of `odonata run`; several folders are compared. Or one table of a sweep (Parquet).",
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
    """One HTML page about several results, or a table of a sweep: `odonata report DIR...` (docs/report.md).

    Of one result `Results.report` makes it.

    Args:
        folders: Folders that `odonata run` wrote, or one of a sweep.
        file: Where to write the page too, whole or not at all.
        force: Replace a file that is there.

    Returns:
        The page.

    Raises:
        InputError: A folder is no result or damaged, or `file` cannot be written, or is there already.

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
