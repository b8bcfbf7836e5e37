"""The page: sections, template, styles and scripts in one HTML text.

Nothing is fetched from anywhere. A content security policy lets only the scripts run that are part of the
page as it was written, by their hashes, so that text of users, were it ever taken for HTML, could do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from odonata import _core
from odonata.base.wording import with_units
from odonata.report.blocks import Chart, Drawing, Section, plain

FOLDER = Path(__file__).parent
PLOTLY = FOLDER / "vendor/plotly-cartesian.min.js"
SCRIPTS = ("report.js", "machine.js", "sweep.js")

#: Keys of a trace whose texts are names, which plotly.js must not take for HTML.
NAMES = ("name", "x", "y", "text", "customdata")


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["with_units"] = with_units
    drawings = [
        block for section in sections for block in section.blocks if isinstance(block, Chart | Drawing)
    ]
    used = {block.script for block in drawings if isinstance(block, Drawing)}
    names = [name for name in SCRIPTS if name == "report.js" or name.removesuffix(".js") in used]
    scripts = [(FOLDER / "templates" / name).read_text(encoding="utf-8") for name in names]
    if drawings:
        scripts.insert(0, PLOTLY.read_text(encoding="utf-8"))
    return environment.get_template("page.html").render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        version=_core.__version__,
        style=(FOLDER / "templates/report.css").read_text(encoding="utf-8"),
        # In the order of their running: what the scripts are that come last is told by those before.
        scripts=scripts,
        hashes=[_hash(text) for text in scripts],
        data=script_json({block.id: _described(block) for block in drawings}),
    )


def _hash(script: str) -> str:
    """What a content security policy calls a script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def script_json(value: Any) -> str:
    r"""JSON that may stand within a script element: nothing in it ends the element, and no number is missing.

    >>> script_json({"job": "</script>", "ratio": float("nan")})
    '{"job":"\\u003c/script>","ratio":null}'
    """
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _finite(value: Any) -> Any:
    """The same with None for what JSON has no number for, and floats of nine digits."""
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value


def _described(block: Chart | Drawing) -> dict[str, Any]:
    """What the script of the page gets to know about a chart."""
    if isinstance(block, Drawing):
        return {"kind": block.script, "height": block.height, "data": block.data, "title": block.title}
    made = asdict(block)
    made["traces"] = [_trace(trace) for trace in block.traces]
    return {key: made[key] for key in ("kind", "title", "traces", "layout", "height", "time")}


def _trace(trace: Mapping[str, Any]) -> dict[str, Any]:
    """A trace in which no name is HTML, and nothing is None."""
    made = {key: value for key, value in trace.items() if value is not None}
    return made | {key: _plain(made[key]) for key in NAMES if key in made}


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
