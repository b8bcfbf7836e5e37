"""The output of commands as HTML: notebooks show results, summaries, checks and scenarios this way.

The pages for the terminal (`summary_page.py`, `check_report.py`, ...) are written once. This module turns
their lines into paragraphs and their tables into HTML tables.
"""

from __future__ import annotations

import html
import io
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.table import Table

from odonata.base import toml_text
from odonata.base.terminal import Recorder, table

if TYPE_CHECKING:
    from odonata.scenario.table import ScenarioTable

#: Style of all pages. Colors are those of the notebook, so that dark themes work too.
_STYLE = """\
<style>
.odonata { max-width: 70em; line-height: 1.4 }
.odonata p { margin: .25em 0 }
.odonata .odonata-title { font-weight: 600; font-size: 1.05em }
.odonata .odonata-heading { font-weight: 600; margin-top: .9em }
.odonata ul { margin: .25em 0; padding-left: 1.4em }
.odonata table { border-collapse: collapse; margin: .25em 0; font-variant-numeric: tabular-nums }
.odonata th, .odonata td { padding: .15em .6em; text-align: right; vertical-align: top; border: 0;
  background: none; white-space: normal }
.odonata td:not(.odonata-left) { white-space: nowrap }
.odonata th { font-weight: 600; border-bottom: 1px solid color-mix(in srgb, currentColor 35%, transparent) }
.odonata table .odonata-left { text-align: left !important }
.odonata pre { margin: .4em 0; font-size: .92em }
</style>
"""


class HtmlPage(Recorder):
    """A page that accepts lines and tables."""

    def html(self) -> str:
        """The whole page."""
        return f'{_STYLE}<div class="odonata">{"".join(self._blocks())}</div>'

    def _blocks(self) -> Iterator[str]:
        items: list[str] = []
        first = True
        for number, part in enumerate(self.parts):
            if items and not (isinstance(part, str) and part.startswith("- ")):
                yield f"<ul>{''.join(items)}</ul>"
                items = []
            if isinstance(part, Table):
                yield table_html(part)
            elif part.startswith("- "):
                items.append(f"<li>{html.escape(part[2:])}</li>")
            elif part:
                kind = ""
                if first:
                    kind = ' class="odonata-title"'
                elif self._is_heading(number):
                    kind = ' class="odonata-heading"'
                first = False
                yield f"<p{kind}>{html.escape(part)}</p>"
        if items:
            yield f"<ul>{''.join(items)}</ul>"

    def _is_heading(self, number: int) -> bool:
        """Whether the line is a short line after a blank one, with text below it."""
        text = self.parts[number]
        before, after = self.parts[number - 1], [*self.parts[number + 1 :], ""][0]
        return (
            isinstance(text, str) and before == "" and after != "" and len(text) < 60 and text[-1] not in ".:"
        )


def table_html(page: Table) -> str:
    """A table for people, as HTML.

    >>> from odonata.base.terminal import table
    >>> page = table("job", "ranks")
    >>> page.add_row("a<b", "4")
    >>> table_html(page)[-71:]
    '<tr><td class="odonata-left">a&lt;b</td><td>4</td></tr></tbody></table>'
    """
    marks = [' class="odonata-left"' if column.justify == "left" else "" for column in page.columns]
    cells = [[str(cell) for cell in column.cells] for column in page.columns]
    headings = (html.escape(" ".join(str(column.header).split())) for column in page.columns)
    head = "".join(f"<th{mark}>{text}</th>" for mark, text in zip(marks, headings, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(
            # Indents of keys are kept.
            f"<td{mark}>{html.escape(text).replace('  ', '&emsp;')}</td>"
            for mark, text in zip(marks, row, strict=True)
        )
        + "</tr>"
        for row in zip(*cells, strict=True)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def page_html(show: Callable[[Any], None]) -> str:
    """Calls `show` with a stream and returns the page that it printed."""
    page = HtmlPage(file=io.StringIO())
    show(page)
    return page.html()


class Answer(dict[str, Any]):
    """An answer of a command: a dictionary that notebooks show as a page."""

    def __init__(self, content: dict[str, Any], show: Callable[[Any, Any], None]) -> None:
        super().__init__(content)
        self._show = show

    def _repr_html_(self) -> str:
        return page_html(lambda stream: self._show(self, stream))


def scenario_html(scenario: ScenarioTable) -> str:
    """A scenario: its jobs, and every key that was set."""
    values = scenario.to_dict()
    jobs = table("job", "ranks")
    for heading in ("placement", "workload"):
        jobs.add_column(heading, justify="left")
    for number, job in enumerate(values.get("jobs", [])):
        what = next((key for key in ("program", "python", "trace") if job.get(key)), None)
        workload = job.get(what) if what else job.get("workload", {})
        names = workload if isinstance(workload, list) else [workload]
        workloads = ", ".join(" ".join(name) if isinstance(name, dict) else _name(name) for name in names)
        placement = job.get("placement", "contiguous")
        placement = placement if isinstance(placement, str) else toml_text.value_text(placement)
        name = job.get("name") or workloads or f"job {number}"
        jobs.add_row(name, str(job.get("ranks", "-")), placement, workloads)
    machine = [
        f"preset {values['preset']}" if "preset" in values else "",
        *(
            f"{kind} ({', '.join(f'{key} = {toml_text.value_text(size)}' for key, size in sizes.items())})"
            for kind, sizes in values.get("machine", {}).items()
            if isinstance(sizes, dict)
        ),
    ]
    parts = [
        f'<p class="odonata-title">{html.escape(values.get("name") or "scenario")}</p>',
        f"<p>{html.escape(', '.join(filter(None, machine)) or 'no machine')}</p>",
        table_html(jobs) if jobs.row_count else "<p>no jobs</p>",
    ]
    functions = {**values, "jobs": [_named(job) for job in values.get("jobs", [])]}
    text = toml_text.pages({key: value for key, value in functions.items() if value != []})
    parts.append(f"<details><summary>TOML</summary><pre>{html.escape(text)}</pre></details>")
    return f'{_STYLE}<div class="odonata">{"".join(parts)}</div>'


def _name(program: Any) -> str:
    return str(getattr(program, "__name__", program))


def _named(job: dict[str, Any]) -> dict[str, Any]:
    return {**job, "python": f"<function {_name(job['python'])}>"} if callable(job.get("python")) else job
