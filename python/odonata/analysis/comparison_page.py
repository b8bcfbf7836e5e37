"""The differences between two results, for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from odonata.base.terminal import console, explain, say, show_table, table
from odonata.base.wording import column_words, digits, factor, quantity

#: Most characters of a setting.
LONGEST = 34


#: What times are summed over, which are larger than the run if many of these wait at once.
_SUMMED_OVER = {
    "mpi_network_s": "packets",
    "io_network_s": "packets",
    "io_calls_s": "calls",
    "metadata_calls_s": "calls",
    "io_device_s": "requests",
    "request_time_s": "requests",
    "wait_space_s": "requests",
    "wait_memory_s": "requests",
    "wait_device_s": "requests",
}


def show(found: Mapping[str, Any], least: float, stream: TextIO | None = None) -> None:
    """Prints the comparison `found`, whose metrics change by at least `least`."""
    out = console(stream)
    for side in ("a", "b"):
        say(out, f"{side.upper()}: {_identity(found[side])}")
    same = "equal" if found["equal_digests"] else "different"
    explain(out, f"Digests: {same}.")
    if found["a"]["version"] != found["b"]["version"]:
        explain(out, f"Versions of Odonata: A {found['a']['version']}, B {found['b']['version']}.")
    absent, changes = _split(found["scenario"])
    _section(out, "Scenario", _scenario(changes), "no change")
    explain(out, *_absent(absent))
    which = f"changes of {digits(100 * least)}% and more" if least > 0 else "all metrics"
    none = "no change" if found["jobs_in_both"] else "no common job, so none is compared"
    _section(out, f"Jobs ({which})", _metrics(found["jobs"], "job"), none)
    _section(out, f"Links by class, sums ({which})", _metrics(found["links"], "class"), "no change")
    _section(out, f"Storage servers, sums ({which})", _metrics(found["servers"], None), "no change")
    if found["blame"] is not None:
        title = f"Waits between jobs, sums over packets and requests ({which})"
        _section(out, title, _blame(found["blame"]), "no change")


def _identity(side: dict[str, Any]) -> str:
    name = side["name"] or "run"
    what = name if side["results"] is None else f"{side['results']} ({name})"
    return f"{what}: {side['outcome']}, seed {side['seed']}, digest {side['digest']}"


def _split(changes: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The jobs that one side lacks, and the settings that differ."""

    def is_job(change: dict[str, Any]) -> bool:
        job = change["a"] or change["b"]
        return isinstance(job, dict) and change["key"] == f"jobs.{job.get('name')}"

    jobs = [change for change in changes if is_job(change)]
    return jobs, [change for change in changes if not is_job(change)]


def _absent(jobs: list[dict[str, Any]]) -> list[str]:
    """Sentences on the jobs that one side lacks."""
    notes = []
    for change, side in (("removed", "A"), ("added", "B")):
        names = [job["key"].removeprefix("jobs.") for job in jobs if job["change"] == change]
        if names:
            notes.append(f"Only in {side}, so not compared: {', '.join(names)}.")
    return [*notes, "Links and servers count the traffic of all jobs."] if notes else []


def _scenario(changes: list[dict[str, Any]]) -> Table:
    page = table("key", "A", "B", left=3)
    for change in changes:
        one = "-" if change["change"] == "added" else _setting(change["a"])
        other = "-" if change["change"] == "removed" else _setting(change["b"])
        page.add_row(change["key"], one, other)
    return page


def _setting(value: Any) -> str:
    """A setting, shortened.

    >>> _setting("5.25 GiB/s"), _setting(list(range(40))), _setting({"nodes": list(range(40))})
    ('5.25 GiB/s', '[0, 1, 2, 3, 4, 5, ... 40 in all]', '{"nodes": [0, 1, 2, 3, 4, 5, 6,...')
    """
    if isinstance(value, list) and len(json.dumps(value)) > LONGEST:
        tail = f" ... {len(value)} in all]"
        return json.dumps(value)[: LONGEST - len(tail)].rstrip(" ") + tail
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _metrics(rows: list[dict[str, Any]], group: str | None) -> Table:
    page = table(*([group] if group else []), "metric", "A", "B", "B / A", left=2 if group else 1)
    before = None
    for row in rows:
        name = [] if group is None else ["" if row[group] == before else row[group]]
        before = row[group] if group else None
        page.add_row(*name, _heading(row), *_pair(row, row["unit"]))
    return page


def _heading(row: dict[str, Any]) -> str:
    """A column's name without its unit, which the values show; and over what it is a sum.

    >>> _heading({"metric": "io_bandwidth_bytes_per_s", "unit": "bytes/s"})
    'I/O bandwidth'
    >>> _heading({"metric": "wait_device_s", "unit": "s"})
    'wait device (sum over requests)'
    """
    suffix = {"s": "_s", "bytes/s": "_bytes_per_s"}.get(row["unit"], "")
    name = column_words(str(row["metric"]).removesuffix(suffix))
    over = _SUMMED_OVER.get(row["metric"])
    return f"{name} (sum over {over})" if over else name


def _blame(rows: list[dict[str, Any]]) -> Table:
    page = table("victim", "waited for", "where", "A", "B", "B / A", left=3)
    for row in rows:
        page.add_row(
            f"{row['victim']} ({column_words(row['victim_class'])})",
            f"{row['culprit']} ({column_words(row['culprit_class'])})",
            row["where"],
            *_pair(row, "s"),
        )
    return page


def _pair(row: dict[str, Any], unit: str) -> list[str]:
    values = ["-" if row[side] is None else quantity(row[side], unit) for side in ("a", "b")]
    return [*values, "-" if row["ratio"] is None else factor(row["ratio"])]


def _section(out: Console, title: str, page: Table, otherwise: str) -> None:
    if page.row_count:
        explain(out, "", title)
        show_table(out, page)
    else:
        explain(out, "", f"{title}: {otherwise}")
